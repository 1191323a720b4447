"""Eager mode against PyTorch eager, HIPS autograd and plain NumPy, interleaved in one run.

    make bench-eager        # sets up an environment with the peers, prints the table, writes docs/eager_benchmark.md

Every contender lives in a process of its own, so that thread pools do not fight, and the processes take turns, many times
over, so that noise of the machine falls on all alike. Reported are medians and their ratios to ours. Gradients are compared
with ours before anything is timed.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import ops

try:
    import torch
except ImportError:
    torch = None
try:
    import autograd
    import autograd.numpy as anp
except ImportError:
    autograd = None

Contenders = dict[str, Callable[[], Any]]
ROUNDS = 150


def linear_layer() -> Contenders:
    """Seed 002: gradient of binary cross-entropy by the weight (5, 3) and the bias of a linear layer."""
    rng = np.random.default_rng(0)
    x, y = np.ones(5, np.float32), np.zeros(3, np.float32)
    w, b = rng.normal(size=(5, 3)).astype(np.float32), rng.normal(size=3).astype(np.float32)

    def loss(x, y, w, b):
        z = ops.matmul(x, w) + b
        return ops.binary_cross_entropy_with_logits(z, y, ops.ones_like(z), ops.ones_like(z))

    gradient = ad.grad(loss, (2, 3))
    inputs = tuple(ad.Tensor(a) for a in (x, y, w, b))
    found: Contenders = {"adjoint": lambda: gradient(*inputs)}
    if torch:
        tx, ty = (torch.tensor(a) for a in (x, y))
        tw, tb = (torch.tensor(a, requires_grad=True) for a in (w, b))

        def run_torch():
            z = tx @ tw + tb
            loss = torch.nn.functional.binary_cross_entropy_with_logits
            value = loss(z, ty, torch.ones_like(z), pos_weight=torch.ones_like(z))
            return torch.autograd.grad(value, (tw, tb))

        found["torch"] = run_torch
    if autograd:

        def auto_loss(w, b):
            z = anp.dot(x, w) + b
            return anp.mean(
                anp.ones_like(z) * ((1.0 - y) * anp.logaddexp(0.0, z) + anp.ones_like(z) * y * anp.logaddexp(0.0, -z))
            )

        auto_grad = autograd.grad(auto_loss, (0, 1))
        found["autograd"] = lambda: list(auto_grad(w, b))
    return found


def scalar_chain() -> Contenders:
    """Gradient of 40 operations on one number, one after another."""

    def chain(x, sin, exp):
        for _ in range(10):
            x = sin(x) * 0.9 + exp(-x)
        return x

    gradient = ad.grad(lambda x: chain(x, ops.sin, ops.exp))
    found: Contenders = {"adjoint": lambda: [gradient(0.5)]}
    if torch:

        def run_torch():
            x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
            return torch.autograd.grad(chain(x, torch.sin, torch.exp), x)

        found["torch"] = run_torch
    if autograd:
        auto_grad = autograd.grad(lambda x: chain(x, anp.sin, anp.exp))
        found["autograd"] = lambda: [auto_grad(0.5)]
    return found


def mlp() -> Contenders:
    """Value and gradient of a 512-512-512-512 network on a batch of 128, float32."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(128, 512)).astype(np.float32)
    ws = [(rng.normal(size=(512, 512)) / 23).astype(np.float32) for _ in range(3)]

    def forward(x, ws, tanh):
        for w in ws:
            x = tanh(x @ w)
        return (x * x).sum()

    gradient = ad.grad(lambda ws, x: forward(x, ws, ops.tanh))
    mine, inputs = [ad.Tensor(w) for w in ws], ad.Tensor(x)
    found: Contenders = {"adjoint": lambda: gradient(mine, inputs)}
    if torch:
        tx, tws = torch.tensor(x), [torch.tensor(w, requires_grad=True) for w in ws]
        found["torch"] = lambda: torch.autograd.grad(forward(tx, tws, torch.tanh), tws)
    if autograd:
        auto_grad = autograd.grad(lambda ws: anp.sum(forward_auto(x, ws) ** 2))

        def forward_auto(x, ws):
            for w in ws:
                x = anp.tanh(anp.dot(x, w))
            return x

        found["autograd"] = lambda: auto_grad(ws)
    return found


def recorded_ops(count: int = 200) -> Contenders:
    """`count` recorded multiplications of arrays with 3 elements: forward only, time per op."""
    a = np.full(3, 1.0001)
    found: Contenders = {"numpy": lambda: _repeat(a, a, count)}

    def adjoint():
        tape = Tape()
        x = tape.track(a)
        return _repeat(x, x, count)

    from adjoint.transforms.tape import Tape

    found["adjoint"] = adjoint
    if torch:
        t = torch.tensor(a, requires_grad=True)
        found["torch"] = lambda: _repeat(t, t, count)
    if autograd:
        from autograd.core import make_vjp

        found["autograd"] = lambda: make_vjp(lambda x: _repeat(x, x, count), a)
    return found


def _repeat(x: Any, y: Any, count: int) -> Any:
    for _ in range(count):
        x = x * y
    return x


def agree(contenders: Contenders) -> None:
    """All contenders give our gradients."""
    ours = contenders["adjoint"]()
    for name, run in contenders.items():
        for mine, theirs in zip(ours, run(), strict=True):
            np.testing.assert_allclose(np.asarray(mine), np.asarray(theirs), rtol=2e-4, atol=1e-5, err_msg=name)


def serve(build: Callable[[], Contenders], name: str, calls: int, pipe: Any) -> None:
    """A contender's process: each message asks for one timed round."""
    run = build()[name]
    for _ in range(20):
        run()
    while pipe.recv():
        run()  # wakes this process's threads and caches
        start = time.perf_counter()
        for _ in range(calls):
            run()
        pipe.send((time.perf_counter() - start) / calls)


def timed(build: Callable[[], Contenders], rounds: int, calls: int, pause: float = 0.002) -> dict[str, float]:
    """Median seconds a call, the contenders taking turns."""
    context = get_context("spawn")
    pipes, samples = {}, {}
    for name in build():
        mine, theirs = context.Pipe()
        context.Process(target=serve, args=(build, name, calls, theirs), daemon=True).start()
        pipes[name], samples[name] = mine, []
    for _ in range(rounds):
        for name, pipe in pipes.items():
            pipe.send(True)
            samples[name].append(pipe.recv())
            time.sleep(pause)  # until the threads of this one have stopped spinning
    for pipe in pipes.values():
        pipe.send(False)
    return {name: statistics.median(s) for name, s in samples.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="write the table to this Markdown file")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()

    peers = ["torch", "autograd", "numpy"]
    lines = ["| work | adjoint µs | " + " | ".join(f"{p} µs (ratio)" for p in peers) + " |", "|---" * 5 + "|"]
    for title, build, calls, rounds, pause in [
        ("gradient of seed 002's linear layer", linear_layer, 20, options.rounds, 0.002),
        ("gradient of a 40-op scalar chain", scalar_chain, 5, options.rounds, 0.002),
        ("value and gradient of a 512×512 MLP, batch 128", mlp, 3, options.rounds // 3, 0.05),
    ]:
        agree(build())
        lines.append(row(title, timed(build, rounds, calls, pause), peers))
        print(lines[-1], flush=True)
    per_op = {name: t / 200 for name, t in timed(recorded_ops, options.rounds, 2).items()}
    lines.append(row("one recorded op, 3 elements (NumPy: the bare op)", per_op, peers))
    print(lines[-1], flush=True)
    lines.append(
        row(
            "the same, beyond NumPy's own time",
            {n: t - per_op["numpy"] for n, t in per_op.items() if n != "numpy"},
            peers,
        )
    )
    print(lines[-1], flush=True)
    if options.write:
        options.write.write_text(REPORT.format(machine=machine(), table="\n".join(lines)))


def row(title: str, medians: dict[str, float], peers: list[str]) -> str:
    mine = medians["adjoint"]
    cells = [f"{medians[p] * 1e6:,.2f} ({medians[p] / mine:.2f}x)" if p in medians else "–" for p in peers]
    return f"| {title} | **{mine * 1e6:,.2f}** | " + " | ".join(cells) + " |"


def machine() -> str:
    versions = [f"Python {platform.python_version()}", f"NumPy {np.__version__}"]
    versions += [f"PyTorch {torch.__version__}"] if torch else []
    versions += [f"autograd {autograd.__version__}"] if autograd and hasattr(autograd, "__version__") else []
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    cpu = names[0].split(":")[1].strip() if names else platform.machine()
    return f"{cpu}, {os.cpu_count()} cores, {', '.join(versions)}"


REPORT = """# Eager mode against its peers

Written by `make bench-eager`: medians of interleaved runs, each contender in its own process; a ratio above 1 means that adjoint is faster.
Machine: {machine}.

{table}
"""

if __name__ == "__main__":
    main()
