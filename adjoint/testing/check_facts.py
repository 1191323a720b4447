"""What a card says of itself, against its kernel: elementwise, a view, a reduction, linear, made of simpler ops, total, its cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.core.spec import spec_of
from adjoint.ops.card import Op
from adjoint.ops.facts import IndexMap
from adjoint.testing.cases import Case, assert_close, flat


def check_facts(case: Case) -> None:
    """Every fact of the card that a single call can refute."""
    op, xs = case.op, case.xs
    if op.elementwise:
        _check_elementwise(case)
    if op.view:
        shared = all(np.may_share_memory(y, xs[0]) for y in case.results() if y.size > 1)
        assert shared, f"{case}: called a view, but the kernel copies elements"
    if op.reduction:
        kind: Any = getattr(np, op.reduction)
        with np.errstate(all="ignore"):
            want = kind(xs[0], axis=op.axes, keepdims=op.keepdims)  # type: ignore[attr-defined]
        assert np.allclose(case.results()[0], want), f"{case}: not the {op.reduction} that it says it is"
    if op.copies:
        y = case.results()[0]
        given = [np.zeros(1), *(np.real(x) if y.dtype.kind != "c" else x for x in xs)]
        there = np.concatenate([np.asarray(x).astype(y.dtype).ravel() for x in given])
        assert np.isin(y, there).all(), f"{case}: called a copy, but an element is none of the inputs'"
    if op.same_bytes:
        assert np.array_equal(case.results()[0].ravel(), xs[0].ravel()), f"{case}: not the same bytes"
    if (places := op.index_map(xs[0].shape)) is not None:
        _check_index_map(case, places)
    for group in op.linear_in:
        _check_linear(case, group)
    if (simpler := op.expand(OnArrays(), *xs)) is not None:
        assert_close([simpler], case.results(), f"{case} in simpler ops")
    for k, y in enumerate(case.results()):
        if (alone := op.one_result(k)) is not None:
            assert_close([alone.eval(np, *xs)], [y], f"{case}: result {k} alone")
    if op.total:
        _check_total(case)
    specs = [spec_of(x) for x in xs]
    flops = op.flops(op.infer(*specs), *specs)
    assert isinstance(flops, int) and flops >= 0, f"{case}: {flops!r} is no number of operations"


def _check_elementwise(case: Case) -> None:
    """Each element of the result is the result of the elements at its place."""
    whole = case.results()[0]
    spread = [np.broadcast_to(x, whole.shape) for x in case.xs]
    for place in list(np.ndindex(*whole.shape))[:4]:
        one = np.asarray(case.op.eval(np, *(np.array(x[place]) for x in spread)))
        same = one.shape == () and np.allclose(one, whole[place], rtol=1e-12, atol=0, equal_nan=True)
        assert same, f"{case}: called elementwise, but the element at {place} depends on others"


class OnArrays:
    """A Rewriter that computes in place of building a graph."""

    def __call__(self, op: Op, *xs: Any) -> Any:
        return np.asarray(op.eval(np, *xs))

    def const(self, value: Any) -> np.ndarray:
        return np.asarray(value)

    def spec(self, op: Op, *xs: Any) -> Any:
        return op.infer(*map(spec_of, xs))


def _check_index_map(case: Case, places: IndexMap) -> None:
    """Each element of the result is the one of the input that the map names."""
    (x,), y = case.xs, case.results()[0]
    for at in np.ndindex(*y.shape):
        source = tuple(offset + (0 if axis is None else step * at[axis]) for offset, axis, step in places)
        assert min(source, default=0) >= 0 and y[at] == x[source], (
            f"{case}: the element at {at} is not read at {source}"
        )


def _check_linear(case: Case, group: tuple[int, ...]) -> None:
    """The result of a sum is the sum of the results of its terms, one of which may be zero."""
    op, xs, wanted = case.op, case.xs, case.results()[0]

    def result(share: float, inputs: Sequence[int]) -> np.ndarray:
        terms = [share * x if i in inputs else None for i, x in enumerate(xs)]
        return np.broadcast_to(op.linear_part(OnArrays(), terms, *xs), wanted.shape)

    for parts in ([result(0.25, group), result(0.75, group)], [result(1, (i,)) for i in group]):
        assert_close([sum(parts)], [wanted], f"{case}: not linear in its inputs {group}")


def _check_total(case: Case) -> None:
    """No value makes the kernel fail."""
    for value in (0.0, np.inf, -np.inf, np.nan):
        xs = [np.full_like(x, value) if x.dtype.kind in "fc" else x for x in case.xs]
        try:
            flat(case.op.eval(np, *xs))
        except Exception as error:
            raise AssertionError(f"{case}: called total, but fails on {value}: {error}") from error
