"""Kernels of our own on an NVIDIA GPU: checked against NumPy and against their own bits on the CPU, timed against XLA and JAX.

Run it on a machine with a GPU, JAX and llvmlite, from the root of the repository: `python tests/gpu/check_kernels.py [--quick]`.
It ends with 0 if everything is right.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

import adjoint as ad  # noqa: E402
import kernel_programs as programs  # noqa: E402
from adjoint import ops  # noqa: E402
from adjoint.backends.gpu_kernels import targets  # noqa: E402
from adjoint.backends.gpu_kernels.replaced import WithKernels, replaced  # noqa: E402
from adjoint.backends.interpreter import Steps  # noqa: E402
from adjoint.testing.gpu_kernels_on_cpu import registered_on_cpu  # noqa: E402

jax.config.update("jax_enable_x64", True)
problems: list[str] = []


def everywhere(_: Any) -> str:
    """Wants a kernel for every nest."""
    return ""


def with_kernels(graph: Any, worth: Any = everywhere) -> WithKernels:
    return replaced(graph, targets.on_gpu(0), worth)


def expect(good: bool, what: str) -> None:
    if not good:
        problems.append(what)
        print("WRONG:", what)


def check_random_programs(count: int) -> None:
    """All nests of random programs as kernels, against the interpreter; the second run has the bits of the first."""
    kernels = 0
    for seed in range(count):
        function, xs = programs.program(seed)
        graph = programs.graph_of(function, xs)
        found = with_kernels(graph)
        kernels += len(found.kernels)
        run = jax.jit(lambda *a, g=found.graph: programs.on_jax(g, a))
        first, second, wanted = run(*xs), run(*xs), Steps(graph)(*xs)
        for k, (a, b, c) in enumerate(zip(first, second, wanted, strict=True)):
            expect(programs.close(a, c), f"program {seed}, result {k}: another result than the interpreter's")
            expect(
                np.asarray(a).tobytes() == np.asarray(b).tobytes(),
                f"program {seed}, result {k}: other bits in the second run",
            )
    print(f"{count} random programs, {kernels} kernels")


def check_bits() -> None:
    """A GPU gives the bits that the same kernel gives on the CPU."""
    for n in (1, 3, 127, 1025, 100_003, 3_000_000):
        x = np.random.default_rng(n).normal(size=n).astype(np.float32)
        graph = programs.graph_of(ad.value_and_grad(programs.chain), [x])
        on_gpu = jax.jit(lambda x, g=with_kernels(graph).graph: programs.on_jax(g, [x]))(x)
        cpu = jax.devices("cpu")[0]
        same = replaced(graph, registered_on_cpu, everywhere).graph
        on_cpu = jax.jit(lambda x, g=same: programs.on_jax(g, [x]))(jax.device_put(x, cpu))
        for k, (a, b) in enumerate(zip(on_gpu, on_cpu, strict=True)):
            expect(
                np.asarray(a).tobytes() == np.asarray(b).tobytes(),
                f"chain of {n}, result {k}: other bits than on the CPU",
            )
        exact = programs_in_double(x)
        expect(
            abs(float(on_gpu[0]) - exact) <= 1e-6 * max(abs(exact), n**0.5), f"chain of {n}: {on_gpu[0]} for {exact}"
        )


def programs_in_double(x: np.ndarray) -> float:
    t = x.astype(np.float64)
    return float(np.sum(np.tanh(t) * np.exp(-t * t) + np.sin(t) * np.log1p(t * t)))


def check_functions() -> None:
    """Elementary functions over all of float32, in units in the last place of float64 results."""
    x = programs.huge(1_000_001)
    table: dict[str, tuple[Any, Any, np.ndarray]] = {
        "sin": (ops.sin, np.sin, x),
        "cos": (ops.cos, np.cos, x),
        "tan": (ops.tan, np.tan, x),
        "exp": (ops.exp, np.exp, x),
        "tanh": (ops.tanh, np.tanh, x),
        "log1p": (ops.log1p, np.log1p, np.abs(x)),
        "log": (ops.log, np.log, np.abs(x)),
        "sigmoid": (ops.sigmoid, lambda t: 1 / (1 + np.exp(-t)), x),
        "atan": (ops.atan, np.arctan, x),
    }
    for name, (function, exact, given) in table.items():
        graph = programs.graph_of(function, [given])
        (y,) = jax.jit(lambda x, g=with_kernels(graph).graph: programs.on_jax(g, [x]))(given)
        with np.errstate(all="ignore"):
            wanted = exact(given.astype(np.float64))
            near = wanted.astype(np.float32)
            unit = np.spacing(np.maximum(np.abs(near), np.float32(1.2e-38))).astype(np.float64)
            error = np.abs(np.asarray(y).astype(np.float64) - wanted) / unit
        fine = np.isfinite(near) & np.isfinite(unit)
        worst = float(np.max(error[fine]))
        expect(worst < 2.0, f"{name}: {worst:.2f} units in the last place")
        expect(bool(np.array_equal(np.isnan(np.asarray(y)), np.isnan(near))), f"{name}: NaN elsewhere")
        print(f"{name}: {worst:.2f} units in the last place at worst")


def check_compiled() -> None:
    """A compiled function takes the kernel by itself, and says so."""
    x = np.random.default_rng(0).normal(size=3_000_001).astype(np.float32)
    step = ad.jit(ad.value_and_grad(programs.chain), backend="xla", device="gpu")
    text = step.explain(x)
    expect("own kernel: over (3000001,)" in text, f"explain says: {text}")
    value, gradient = step(x)
    again = step(x)
    known, slope = ad.jit(ad.value_and_grad(programs.chain))(x)
    expect(abs(float(value) - float(known)) <= 1e-6 * 3_000_001**0.5, f"compiled: {value} for {known}")
    expect(float(again[0]) == float(value), "compiled: other bits in the second call")
    expect(programs.close(np.asarray(gradient), np.asarray(slope)), "compiled: another gradient than the CPU's")


# ------------------------------------------------------------------ times


def milliseconds(run: Callable[..., Any], *xs: Any, calls: int = 30, runs: int = 7) -> float:
    """The median of some runs of calls, one after another without waiting."""
    jax.block_until_ready(run(*xs))
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        for _ in range(calls):
            y = run(*xs)
        jax.block_until_ready(y)
        times.append((time.perf_counter() - start) / calls * 1e3)
    return statistics.median(times)


def normed(x: Any) -> Any:
    """A layer norm."""
    centred = x - ops.mean(x, -1, keepdims=True)
    return centred / ops.sqrt(ops.mean(centred * centred, -1, keepdims=True) + 1e-5)


CASES: dict[str, tuple[Any, int, Any]] = {
    "chain, value and gradient": (ad.value_and_grad(programs.chain), 1, None),
    "chain, value": (programs.chain, 1, None),
    "chain, gradient": (ad.grad(programs.chain), 1, None),
    "gelu (erf)": (lambda x: 0.5 * x * (1.0 + ops.erf(x * 0.7071067811865476)), 1, None),
    "tanh": (ops.tanh, 1, None),
    "x*y + z": (lambda x, y, z: x * y + z, 3, None),
    "sum of squares": (lambda x: ops.sum(x * x), 1, None),
    "squares and their sum": (lambda x: (ops.sum(x * x), x * x), 1, None),
    "swish of x times y, gradient": (ad.grad(lambda x, y: ops.sum(x * ops.sigmoid(x) * y), (0, 1)), 2, None),
    "softmax, rows of 1024": (lambda x: ops.softmax(x, 1), 1, 1024),
    "layer norm, rows of 1024": (normed, 1, 1024),
    "logsumexp, rows of 256": (lambda x: ops.logsumexp(x, 1), 1, 256),
}


SETS = 6  # of inputs, one after another in one program: the time of a call from Python is that of none of them


def times(sizes: tuple[int, ...]) -> None:
    """Own kernels for all nests, those that are chosen, and none."""
    print(f"\n{'milliseconds':32}{'elements':>10}{'own':>4}{'time':>9}{'chosen':>7}{'time':>9}{'XLA':>9}")
    for name, (function, count, row) in CASES.items():
        for n in sizes:
            shape = (n,) if row is None else (n // row, row)
            rng = np.random.default_rng(0)
            xs = [jnp.asarray(rng.normal(size=shape).astype(np.float32)) for _ in range(count * SETS)]
            graph = programs.graph_of(function, [np.empty(shape, np.float32) for _ in range(count)])
            own, chosen = with_kernels(graph), with_kernels(graph, None)
            runs = [repeated(found, count) for found in (own.graph, chosen.graph, graph)]
            for a, b in zip(jax.tree.leaves(runs[0](*xs)), jax.tree.leaves(runs[2](*xs)), strict=True):
                expect(programs.close(a, b), f"{name}, {n}: another result than XLA's")
            ours, mixed, theirs = (milliseconds(run, *xs, calls=10) / SETS for run in runs)
            text = f"{name:32}{n:10}{len(own.kernels):4}{ours:9.4f}{len(chosen.kernels):7}{mixed:9.4f}{theirs:9.4f}"
            print(text, flush=True)


def repeated(graph: Any, count: int) -> Callable[..., Any]:
    """A program that runs a graph on one set of inputs after another."""

    def run(*xs: Any) -> Any:
        return [programs.on_jax(graph, xs[k : k + count]) for k in range(0, len(xs), count)]

    return jax.jit(run)


def jax_alone(n: int) -> None:
    def chain(x: Any) -> Any:
        return jnp.sum(jnp.tanh(x) * jnp.exp(-x * x) + jnp.sin(x) * jnp.log1p(x * x))

    rng = np.random.default_rng(0)
    xs = [jnp.asarray(rng.normal(size=n).astype(np.float32)) for _ in range(SETS)]
    own = jax.value_and_grad(chain)
    time_of_all = milliseconds(jax.jit(lambda *xs: [own(x) for x in xs]), *xs, calls=10)
    print(f"JAX's own value_and_grad of the chain, {n}: {time_of_all / SETS:.4f} ms")


def main() -> int:
    print(f"jax {jax.__version__} on {jax.devices()[0]}")
    quick = "--quick" in sys.argv
    check_bits()
    check_functions()
    check_random_programs(10 if quick else 40)
    check_compiled()
    jax_alone(16_000_000)
    times((16_000_000,) if quick else (1 << 18, 1 << 20, 1 << 22, 16_000_000))
    print(f"{len(problems)} problems", *problems, sep="\n")
    return min(len(problems), 1)


if __name__ == "__main__":
    sys.exit(main())
