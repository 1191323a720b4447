"""Every card on XLA: values, both derivatives and batches are those of NumPy, in every dtype."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends import interpreter
from adjoint.core.errors import AdjointError
from adjoint.core.spec import bfloat16, is_half, is_inexact, spec_of
from adjoint.graph.derivatives import jvp_graph, vjp_graph
from adjoint.graph.node import Graph
from adjoint.graph.trace import trace
from adjoint.passes import optimise
from adjoint.testing.cases import Case, cases, flat
from on_xla import together

CARDS = sorted(name for name, cls in ops.REGISTRY.items() if not cls.opaque)
PARTS = [CARDS[k::12] for k in range(12)]
EXACT = 1e-11  # of the largest element, in float64


def close(found: Sequence[Any], expected: Sequence[Any], what: str) -> None:
    for a, b in zip(found, map(np.asarray, expected), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), f"{what}: {a.dtype}{a.shape} for {b.dtype}{b.shape}"
        if not is_inexact(b.dtype):
            np.testing.assert_array_equal(a, b, err_msg=what)
            continue
        rounding = 1e-2 if is_half(b.dtype) else 2e-5 if b.dtype.char in "fF" else EXACT
        wide = np.complex128 if b.dtype.kind == "c" else np.float64
        a, b = a.astype(wide), b.astype(wide)
        largest = np.abs(b[np.isfinite(b)]).max(initial=1.0)
        np.testing.assert_allclose(a, b, rtol=rounding, atol=rounding * largest, err_msg=what)


def parted(graph: Graph, found: Sequence[Any], xs: Sequence[Any]) -> Sequence[Any]:
    """The places that part elements are free up to the order within a part: what stands there counts."""
    op: Any = graph.outputs[0].op
    if not isinstance(op, ops.ArgPartition):
        return found
    return [np.sort(np.take_along_axis(xs[0], found[0], op.axis), op.axis)]


@cache
def some_cases(name: str, number: str, count: int) -> list[Case]:
    return [case for case, *_ in list(cases(ops.REGISTRY[name], number, 1))[:count]]


def graph_of(case: Case) -> Graph:
    return trace(lambda *v: flat(case.op(*v)), [spec_of(x) for x in case.xs])[0]


def check(calls: list[tuple[Case, str, Graph, Sequence[Any]]]) -> None:
    found = together([(graph, xs) for _, _, graph, xs in calls])
    with np.errstate(all="ignore"):
        for (case, what, graph, xs), ys in zip(calls, found, strict=True):
            close(parted(graph, ys, xs), parted(graph, interpreter.compile(graph)(*xs), xs), f"{what} of {case}")


def derivatives(case: Case) -> Iterator[tuple[Case, str, Graph, Sequence[Any]]]:
    """The op with its cotangents, its tangents, and a batch of two."""
    graph, xs = graph_of(case), case.xs
    yield case, "the value", graph, xs
    wanted = tuple(i for i, x in enumerate(xs) if is_inexact(x.dtype))
    ys = case.results()
    moving = tuple(i for i, y in enumerate(ys) if is_inexact(y.dtype))
    batch = trace(lambda *v: flat(ad.vmap(case.op)(*v)), [spec_of(np.stack([x, x])) for x in xs])[0]
    yield case, "a batch", batch, [np.stack([x, np.flip(x)]) if x.dtype.kind == "f" else np.stack([x, x]) for x in xs]
    if not (case.op.differentiable and wanted and moving):
        return
    gs, ts = case.directions([ys[i] for i in moving]), case.directions([xs[i] for i in wanted])
    yield case, "the vjp", optimise(vjp_graph(graph, wanted, moving))[0], [*xs, *gs]
    yield case, "the jvp", optimise(jvp_graph(graph, wanted, moving))[0], [*xs, *ts]


@pytest.mark.parametrize("names", PARTS, ids=lambda names: f"{names[0]} and others")
def test_values_and_derivatives(names: list[str]) -> None:
    with np.errstate(all="ignore"):
        check([call for name in names for case in some_cases(name, "float64", 2) for call in derivatives(case)])


# ---------------------------------------------------------------- dtypes

NARROW = [np.dtype(d) for d in ("float32", "float16", "int32", "uint8", "bool")]


def cast(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if not is_inexact(x.dtype):
        return x
    return np.asarray(abs(x) if dtype.kind == "u" else x.real if dtype.kind != "c" else x, dtype)


def in_dtypes(name: str) -> Iterator[tuple[Case, str, Graph, Sequence[Any]]]:
    """Samples of a card in all dtypes that it takes."""
    found = [(case, dtype) for case in some_cases(name, "float64", 1) for dtype in (*NARROW, bfloat16())]
    if ops.REGISTRY[name].complex:
        found += [(c, np.dtype(d)) for c in some_cases(name, "complex", 1) for d in ("complex128", "complex64")]
    for case, dtype in found:
        cased = Case(case.op, tuple(cast(x, dtype) for x in case.xs), case.rng)
        try:
            graph = graph_of(cased)
            interpreter.compile(graph)(*cased.xs)
        except (AdjointError, TypeError, ValueError, np.linalg.LinAlgError):  # not for this dtype, or singular in it
            continue
        yield cased, f"{dtype}", graph, cased.xs


@pytest.mark.parametrize("names", PARTS, ids=lambda names: f"{names[0]} and others")
def test_dtypes(names: list[str]) -> None:
    with np.errstate(all="ignore"):
        calls = [call for name in names for call in in_dtypes(name)]
        assert len(calls) > 3 * len(names)
        check(calls)
