"""Programs of elementwise steps, broadcasts and reductions, drawn at random, and a way to run graphs with kernels in them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import ops
from adjoint.backends.gpu_kernels import ptx, targets
from adjoint.backends.gpu_kernels.replaced import KernelCall, replaced
from adjoint.backends.gpu_kernels.thread_layout import THREADS, ThreadLayout
from adjoint.graph.node import Const, Graph, Param, Pick

SHAPES = ((1,), (3,), (127,), (1025,), (4, 8), (5, 7), (3, 130), (2, 1, 9), (6, 5, 4), (1, 1), (40, 1032), (0,), (3, 0))
UNARY = (
    *(ops.sin, ops.cos, ops.tanh, ops.sigmoid, ops.erf, ops.atan, ops.square, ops.abs, ops.neg, ops.floor, ops.sign),
    lambda x: ops.exp(-ops.abs(x)),
    lambda x: ops.log1p(ops.abs(x)),
    lambda x: ops.sqrt(ops.abs(x)),
    lambda x: ops.log(ops.square(x) + 0.5),
    lambda x: ops.expm1(ops.minimum(x, 2.0)),
    lambda x: ops.tan(ops.tanh(x)),
)
BINARY = (
    *(ops.add, ops.sub, ops.mul, ops.maximum, ops.minimum),
    lambda x, y: x / (1.0 + y * y),
    lambda x, y: ops.where(x > y, x, -0.5 * y),
    lambda x, y: ops.where(ops.logical_and(x > 0.1, y < 0.3), 1.5, x),
    lambda x, y: ops.atan2(x, y + 0.25),
    lambda x, y: ops.pow(ops.abs(x) + 0.5, ops.tanh(y)),
)


def inputs_of(rng: np.random.Generator, shape: tuple[int, ...], double: bool) -> list[np.ndarray]:
    """Arrays that can be broadcast to a shape: the first has it, the others lack axes or have them of size 1."""
    kind = np.float64 if double else np.float32
    found = [rng.normal(size=shape).astype(kind)]
    for _ in range(int(rng.integers(0, 4))):
        sizes = [n if rng.random() < 0.6 else 1 for n in shape]
        found.append(np.asarray(rng.normal(size=sizes[int(rng.integers(0, len(sizes) + 1)) :])).astype(kind))
    return found


def program(seed: int) -> tuple[Any, list[np.ndarray]]:
    """A function and its inputs."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[seed % len(SHAPES)]
    double = rng.random() < 0.2
    unary = UNARY[2:13] if double else UNARY  # sines of doubles are left to XLA
    xs = inputs_of(rng, shape, double)
    steps = [(int(rng.integers(2)), rng.random(3)) for _ in range(int(rng.integers(3, 12)))]
    endings = rng.integers(0, 7, 3)

    def pick(values: list[Any], r: float) -> Any:
        return values[int(r * len(values))]

    def run(*given: Any) -> Any:
        values = list(given)
        for kind, (a, b, c) in steps:
            if kind:
                values.append(pick(list(unary), a)(pick(values, b)))
            else:
                values.append(pick(list(BINARY), a)(pick(values, b), pick(values, c)))
        whole = values[0] + sum(values[len(given) :])
        return tuple(_ended(int(e), whole, values[-1]) for e in endings)

    return run, xs


def _ended(kind: int, whole: Any, last: Any) -> Any:
    if 0 in whole.shape:
        return (ops.sum(whole), whole)[kind % 2]
    if kind == 0:
        return ops.sum(whole)
    if kind == 1:
        return ops.sum(whole, -1)
    if kind == 2:
        return ops.max(whole, -1) if whole.ndim > 1 else ops.max(whole)
    if kind == 3:
        return ops.mean(whole, -1, keepdims=True) * last
    return (whole, last > 0.0, ops.transpose(whole, tuple(reversed(range(whole.ndim)))) * 2.0)[kind - 4]


def huge(n: int) -> np.ndarray:
    """Numbers of all sizes that float32 holds, the largest and what is no number among them."""
    rng = np.random.default_rng(n)
    x = (rng.normal(size=n) * 10.0 ** rng.integers(-30, 38, n)).astype(np.float32)
    x[: min(n, 6)] = np.array([np.inf, -np.inf, np.nan, 3.4028235e38, -0.0, 1e-45], np.float32)[: min(n, 6)]
    return x


def chain(x: Any) -> Any:
    """The sum with four elementary functions of the benchmarks."""
    return ops.sum(ops.tanh(x) * ops.exp(-x * x) + ops.sin(x) * ops.log1p(x * x))


def graph_of(function: Any, xs: list[np.ndarray]) -> Graph:
    """The optimised graph of a function."""
    return ad.jit(function).graph(*xs)


def on_jax(graph: Graph, arrays: Any) -> list[Any]:
    """The results of a graph, step by step on JAX's arrays."""
    import jax.numpy as jnp

    values: dict[Any, Any] = dict(zip(graph.params, arrays, strict=True))
    for node in graph.nodes:
        if isinstance(node.op, Param):
            continue
        given = [values[i] for i in node.inputs]
        if isinstance(node.op, Const):
            values[node] = jnp.asarray(node.op.value, node.spec.dtype)
        elif isinstance(node.op, Pick):
            values[node] = given[0][node.op.index]
        elif isinstance(node.op, KernelCall):
            values[node] = node.op.run(*given)
        else:
            values[node] = jnp.asarray(getattr(node.op, "op", node.op).eval(jnp, *given), node.spec.dtype)
    return [values[o] for o in graph.outputs]


def close(found: Any, wanted: Any) -> bool:
    """Whether two results are equal to rounding: in single precision, sums in any order."""
    a, b = np.asarray(found), np.asarray(wanted)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":
        return float(np.mean(a != b)) < 0.01 if a.size else True  # a comparison of what differs by rounding
    size = np.max(np.abs(b[np.isfinite(b)]), initial=1.0)
    return bool(np.allclose(a, b, rtol=2e-4, atol=2e-5 * float(size), equal_nan=True))


def geometries(function: Any, xs: list[np.ndarray]) -> list[ThreadLayout]:
    """How all nests of a function are shared among threads."""
    found: list[ThreadLayout] = []

    def register(geometry: ThreadLayout) -> str:
        found.append(geometry)
        return "nothing"

    replaced(graph_of(function, xs), register, lambda _: "")
    return found


_LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_int] * 7, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)


def launched(geometry: ThreadLayout, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of a kernel, launched by hand on the CPU."""
    library = ptx.cpu_library(geometry)
    results = [np.full(s.shape, 7, s.dtype) for s in geometry.results]
    buffers = [np.ascontiguousarray(a) for a in arrays] + results
    names = ("kernel", "finish")
    for name, at in zip(names, targets.launches(geometry, dict.fromkeys(names, 0)), strict=False):
        count = len(at.buffers)
        addresses = (ctypes.c_void_p * count)(*[buffers[k].ctypes.data for k in at.buffers])
        places = (ctypes.c_void_p * count)(*[ctypes.addressof(addresses) + 8 * k for k in range(count)])
        _LAUNCH(library["launch"])(library[name], at.blocks, 1, 1, THREADS, 1, 1, 0, None, places, None)
    return results
