"""Kernels for GPUs, on a machine without one: their text is well-formed, and the same code on the CPU gives the right numbers."""

from __future__ import annotations

import ctypes
import dataclasses
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

import adjoint as ad
import kernel_programs as programs
from adjoint import ops
from adjoint.backends.gpu_kernels import driver, ptx, targets
from adjoint.backends.gpu_kernels.replaced import KernelCall, replaced
from adjoint.backends.gpu_kernels.thread_layout import ThreadLayout
from adjoint.backends.interpreter import Steps
from adjoint.backends.xla import own_kernels
from adjoint.backends.xla.devices import precise
from adjoint.core.errors import GpuKernelError
from adjoint.graph.node import Pick
from adjoint.ops.card import REGISTRY, has_rule
from adjoint.testing.gpu_kernels_on_cpu import registered_on_cpu

SEEDS = [0, 1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 14, 15, 23]


def everywhere(_: Any) -> str:
    return ""


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_give_what_the_interpreter_gives(seed: int) -> None:
    """Called by XLA, through the handler that a GPU's kernels have."""
    function, xs = programs.program(seed)
    graph = programs.graph_of(function, xs)
    with precise():
        found = replaced(graph, registered_on_cpu, everywhere)
        results = programs.on_jax(found.graph, xs)
    for k, (a, b) in enumerate(zip(results, Steps(graph)(*xs), strict=True)):
        assert programs.close(a, b), (seed, k, found.explain())


def test_the_seeds_come_by_every_kind_of_kernel() -> None:
    kinds = {
        (g.kind, g.warp_rows, g.width, len(g.space) > 1)
        for seed in SEEDS
        for g in programs.geometries(*programs.program(seed))
    }
    assert {kind for kind, *_ in kinds} == {"map", "full", "rows"}
    assert {width for _, _, width, _ in kinds} == {1, 4} and len(kinds) > 6


@pytest.mark.parametrize("n", [1, 3, 127, 1025, 40_001])
def test_value_and_gradient_of_a_chain_are_one_kernel(n: int) -> None:
    x = np.random.default_rng(n).normal(size=n).astype(np.float32)
    (geometry,) = programs.geometries(ad.value_and_grad(programs.chain), [x])
    assert geometry.kind == "full" and len(geometry.stores) == len(geometry.folds) == 1
    gradient, value, _ = programs.launched(geometry, [x])
    t = x.astype(np.float64)
    exact = np.sum(np.tanh(t) * np.exp(-t * t) + np.sin(t) * np.log1p(t * t))
    slope = (1 - np.tanh(t) ** 2 - 2 * t * np.tanh(t)) * np.exp(-t * t)
    slope += np.cos(t) * np.log1p(t * t) + np.sin(t) * 2 * t / (1 + t * t)
    np.testing.assert_allclose(gradient, slope, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(value, exact, rtol=1e-6, atol=1e-6)


def test_long_rows_are_the_work_of_a_block() -> None:
    x = np.random.default_rng(0).normal(size=(3, 5000)).astype(np.float32)
    (geometry,) = programs.geometries(lambda x: (ops.sum(ops.exp(x), 1), ops.max(x, 1)), [x])
    assert geometry.kind == "rows" and not geometry.warp_rows
    total, most = programs.launched(geometry, [x])
    np.testing.assert_allclose(total, np.exp(x.astype(np.float64)).sum(1), rtol=1e-6)
    np.testing.assert_array_equal(most, x.max(1))


def test_nan_reaches_the_largest_of_a_row() -> None:
    x = np.random.default_rng(0).normal(size=(40, 33)).astype(np.float32)
    x[7, 32] = np.nan
    (geometry,) = programs.geometries(lambda x: ops.max(x, 1), [x])
    (most,) = programs.launched(geometry, [x])
    np.testing.assert_array_equal(most, x.max(1))


@pytest.mark.parametrize(
    ("function", "exact", "bound"), [(ops.sin, np.sin, 1.0), (ops.cos, np.cos, 1.0), (ops.tan, np.tan, 1.4)]
)
def test_sines_of_huge_arguments(function: Any, exact: Any, bound: float) -> None:
    """As good as the native backend's, which calls libm for them."""
    x = programs.huge(60_001)
    (geometry,) = programs.geometries(function, [x])
    (y,) = programs.launched(geometry, [x])
    with np.errstate(all="ignore"):
        wanted = exact(x.astype(np.longdouble))
        unit = np.spacing(np.abs(wanted.astype(np.float32)))
        error = np.abs(y - wanted) / unit
    finite = np.isfinite(x)
    assert np.isnan(y[~finite]).all() and float(error[finite].max()) <= bound
    assert np.signbit(y[x == 0]).tolist() == np.signbit(wanted[x == 0]).tolist()


# ------------------------------------------------------------------ text


@pytest.mark.parametrize("seed", SEEDS[:6])
def test_the_text_is_well_formed(seed: int, tmp_path: Path) -> None:
    for geometry in programs.geometries(*programs.program(seed)):
        check_text(ptx.ptx(geometry), geometry, tmp_path)


def check_text(text: str, geometry: ThreadLayout, folder: Path) -> None:
    entries = re.findall(r"\.entry (\w+)\(", text)
    assert sorted(entries) == sorted(["kernel", "finish"] if geometry.kind == "full" else ["kernel"])
    assert ".extern" not in text and "atom" not in text and "red.global" not in text  # nothing whose order could vary
    assert not re.search(
        r"\b(mul|add|sub)\.f(32|64)\b", text
    )  # rounding is stated: no multiply-add is made of two steps
    assert not re.search(r"(?<!rcp)\.approx|(?<!rcp\.approx)\.ftz", text)  # but for a reciprocal that is made exact
    if assembler := shutil.which("ptxas"):
        (folder / "text.ptx").write_text(text)
        command = [assembler, "-arch=sm_90", str(folder / "text.ptx"), "-o", str(folder / "text.cubin")]
        subprocess.run(command, check=True, capture_output=True)


def test_memory_is_read_and_written_in_vectors() -> None:
    x = np.zeros((64, 64), np.float32)
    (geometry,) = programs.geometries(lambda x, b: ops.tanh(x + b), [x, x[0]])
    text = ptx.ptx(geometry)
    assert text.count("ld.global.nc.v4") == 2 and text.count("st.global.v4") == 1
    assert (
        ".target sm_90" in text
        and ".target sm_80" in ptx.ptx(geometry, 80)
        and ".target sm_90" in ptx.ptx(geometry, 120)
    )


# ------------------------------------------------------------------ which nests


def left(function: Any, *xs: np.ndarray, **options: Any) -> list[str]:
    found = replaced(programs.graph_of(function, list(xs)), lambda _: "nothing", **options)
    return [why.split(": ")[-1] for why in found.left]


X = np.ones((1024, 2048), np.float32)


def test_nests_that_gain_nothing_are_left_to_xla() -> None:
    small = np.ones((256, 256), np.float32)
    assert left(ad.value_and_grad(programs.chain), small) == ["524292 bytes are too few"]
    assert left(lambda x: (ops.sum(x * x), ops.max(x)), X) == ["one pass of XLA's"]
    assert left(ad.grad(programs.chain), X) == left(ad.value_and_grad(programs.chain), X[0]) == []  # not looked at
    assert left(lambda x: (ops.sum(x), ops.exp(x)), X) == ["1 elementary functions are too few"]
    assert left(ad.value_and_grad(programs.chain), X) == []


def test_what_cannot_be_a_kernel_is_named() -> None:
    whole = {"worth": everywhere}
    assert left(lambda x: ops.sum(ops.tanh(x), 0), X, **whole) == ["a reduction along other axes than all or the last"]
    assert left(lambda x: ops.any(x > 0), X, **whole) == ["Any of bool"]
    assert left(ops.exp, X[:0], **whole) == ["a space of (0, 2048)"]
    assert replaced(programs.graph_of(lambda x, y: x @ y, [X[:, :8], X[:8]]), lambda _: "", everywhere).kernels == []
    x = X.astype(np.float64)
    found = replaced(programs.graph_of(ops.sin, [x]), registered_on_cpu, everywhere)
    assert found.kernels == [] and "sin in double precision" in found.explain()


def test_a_kernel_that_cannot_be_loaded_is_left_to_xla() -> None:
    def register(_: ThreadLayout) -> str:
        raise GpuKernelError("cuLibraryLoadData: no")

    graph = programs.graph_of(ops.tanh, [X])
    found = replaced(graph, register, everywhere)
    assert found.graph is graph and found.explain() == "  left to XLA: over (1024, 2048): Tanh: cuLibraryLoadData: no"


def test_a_kernel_between_other_steps() -> None:
    """What a product needs is stored by a kernel, what it gives is read by another."""
    rng = np.random.default_rng(0)
    x, w = (rng.normal(size=s).astype(np.float32) for s in ((20, 30), (30, 40)))

    def loss(x: Any, w: Any) -> Any:
        y = ops.tanh(ops.sin(x) @ w)
        return ops.mean(y * y) + ops.sum(ops.softmax(y, 1)[:, 0])

    graph = programs.graph_of(ad.value_and_grad(loss, (0, 1)), [x, w])
    with precise():
        found = replaced(graph, registered_on_cpu, everywhere)
        results = jax.jit(lambda *a: programs.on_jax(found.graph, a))(x, w)
    assert sum(isinstance(n.op, KernelCall) for n in found.graph.nodes) == len(found.kernels) > 3
    for a, b in zip(results, Steps(graph)(x, w), strict=True):
        assert programs.close(a, b)


# ------------------------------------------------------------------ the call


def test_a_call_with_other_arrays_is_an_error_of_xla() -> None:
    x = np.ones(5, np.float32)
    (geometry,) = programs.geometries(ops.tanh, [x])
    target = registered_on_cpu(geometry)
    result = jax.ShapeDtypeStruct((5,), np.float32)
    with pytest.raises(Exception, match="another number of arrays"):
        jax.block_until_ready(jax.ffi.ffi_call(target, result)(x, x))
    np.testing.assert_allclose(jax.ffi.ffi_call(target, result)(x), np.tanh(x), rtol=1e-6)


def test_a_machine_without_a_driver_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    driver.library.cache_clear()
    with pytest.raises(GpuKernelError, match="there is no NVIDIA driver"):
        targets.on_gpu(0)
    graph = programs.graph_of(ad.value_and_grad(programs.chain), [X])
    gpu = SimpleNamespace(platform="gpu", local_hardware_id=0)
    found = own_kernels.with_own_kernels(graph, [gpu])
    assert found.graph is graph and "all of it (GpuKernelError: there is no NVIDIA driver" in found.explain()
    assert own_kernels.with_own_kernels(graph, [gpu, gpu]).explain() == ""
    monkeypatch.setenv(own_kernels.SWITCH, "0")
    assert own_kernels.with_own_kernels(graph, [gpu]).explain() == "  left to XLA: all of it (ADJOINT_GPU_KERNELS is 0)"
    driver.library.cache_clear()


# ------------------------------------------------------------------ rare arguments

TINY = np.float32(1e-45)
RARE = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    TINY,
    -TINY,
    1e-38,
    3e38,
    -3e38,
    1e-30,
    1e30,
    -1.0,
    1.0,
    2.0**16,
    7e4,
    -1e10,
    104.0,
]


def of_one_number() -> list[Any]:
    """The elementwise cards of one input that take any float32."""
    kinds = [cls for _, cls in sorted(REGISTRY.items()) if cls.elementwise and getattr(cls, "arity", 0) == 1]
    return [
        cls()
        for cls in kinds
        if not dataclasses.fields(cls) and has_rule(cls, "emit") and "f" in cls.emits and not cls.calls
    ]


def test_every_function_of_one_number_at_rare_arguments() -> None:
    """All in one kernel, where one element's flag has others computed again too."""
    x = np.concatenate([np.tile(np.array(RARE, np.float32), 3), np.linspace(-9, 9, 45, dtype=np.float32)])
    cards = of_one_number()
    assert len(cards) > 25
    graph = programs.graph_of(lambda x: tuple(op(x) for op in cards), [x])
    found = replaced(graph, lambda _: "nothing", everywhere)
    results = on_cpu(found.graph, [x])
    with np.errstate(all="ignore"):
        for op, y in zip(cards, results, strict=True):
            wanted = np.asarray(op.eval(np, x))
            np.testing.assert_allclose(y, wanted, rtol=3e-6, atol=1e-37, equal_nan=True, err_msg=str(op))


def on_cpu(graph: Any, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The results of a graph of kernels alone, launched by hand: XLA would flush small numbers to zero."""
    values: dict[Any, Any] = dict(zip(graph.params, arrays, strict=True))
    for node in graph.nodes:
        if isinstance(node.op, KernelCall):
            values[node] = programs.launched(node.op.geometry, [values[i] for i in node.inputs])
        elif isinstance(node.op, Pick):
            values[node] = values[node.inputs[0]][node.op.index]
    return [values[o] for o in graph.outputs]


def test_zero_times_infinity_in_a_branch_that_is_not_taken() -> None:
    x = np.array([*RARE, *np.zeros(11), 0.5, 2.0, 3.0], np.float32)

    def loss(x: Any) -> Any:
        return ops.sum(ops.where(x > 0, ops.log(ops.where(x > 0, x, 0.0)), 0.0) + ops.where(x > 1, 1.0 / x, 0.0))

    graph = programs.graph_of(ad.grad(loss), [x])
    (slope,) = on_cpu(replaced(graph, lambda _: "nothing", everywhere).graph, [x])
    with np.errstate(all="ignore"):
        (wanted,) = Steps(graph)(x)
    np.testing.assert_allclose(slope, wanted, rtol=1e-6, equal_nan=True)
    assert (slope[-14:-3] == 0).all() and np.isfinite(slope[:2]).all()
