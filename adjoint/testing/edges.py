"""Checks at the edges of elementwise ops: kinks, far-out values, and singular points of a branch not taken."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.api.forward import jvp
from adjoint.api.grad import grad
from adjoint.core.spec import float32
from adjoint.ops.families import Elementwise
from adjoint.ops.language import where
from adjoint.testing.cases import Arrays, Case, assert_close, plain


def _grid(op: Elementwise, points: Sequence[float]) -> tuple[np.ndarray, ...]:
    """Every combination of the points, an array for each input."""
    return tuple(np.array(list(itertools.product(points, repeat=op.arity)), float).T)


def at_edges(case: Case) -> Case:
    """A call of the same op at every combination of its edges."""
    op = case.op
    assert isinstance(op, Elementwise)
    return Case(op, _grid(op, op.edges), case.rng)


def check_edges(case: Case) -> int:
    """At the card's edges the precisions agree, and derivatives are numbers between the one-sided slopes."""
    op = case.op
    assert isinstance(op, Elementwise)
    if not op.edges:
        return 0
    at = at_edges(case)
    low = at.cast(float32)
    assert_agree(low.results(), low.widened().results(), f"{op} at its edges {op.edges} in float32 against float64")
    if at.smooth:
        _check_edge_derivatives(at)
        ones = [np.ones(at.xs[0].shape, float32)]
        assert_agree(low.pull(ones), low.widened().pull(ones), f"vjp of {op} at its edges {op.edges} in float32")
    return len(at.xs[0])


def assert_agree(narrow: Arrays, full: Arrays, what: str) -> None:
    """Equal values wherever float32 can hold them."""
    limits = np.finfo(float32)
    for a, b in zip(narrow, full, strict=True):
        expected = np.where(np.abs(b) > limits.max, a, b)
        np.testing.assert_allclose(a, expected, rtol=1e-5, atol=float(limits.tiny), err_msg=what)


def _check_edge_derivatives(at: Case) -> None:
    y = at.outputs()[0]
    pulled = at.pull([np.ones_like(y)])
    for i, p in enumerate(pulled):
        what = f"vjp of {at.op} at its edges {[x.tolist() for x in at.xs]}, input {i}"
        assert not np.isnan(p[np.isfinite(y)]).any(), f"{what} is NaN where the result is finite: {p}"
        left, right = (_one_sided(at, i, side) for side in (-1.0, 1.0))
        # One-sided quotients are accurate to the step: enough to tell a slope from a wrong one.
        slack = 1e-3 * (1.0 + np.abs(p))
        outside = (p < np.minimum(left, right) - slack) | (p > np.maximum(left, right) + slack)
        assert not outside[np.isfinite(y)].any(), f"{what}: {p}, one-sided slopes {left} and {right}"
        pushed = at.push([np.ones_like(x) if k == i else np.zeros_like(x) for k, x in enumerate(at.xs)])
        assert_close(pushed, [p], f"jvp of {at.op} at its edges against its vjp", 1e-12)


def _one_sided(at: Case, i: int, side: float) -> np.ndarray:
    """The difference quotient to one side in input i."""
    x = at.xs[i]
    moved = x + side * np.where(x == 0, 1e-6, 1e-6 * np.abs(x))
    after = at.outputs([moved if k == i else v for k, v in enumerate(at.xs)])[0]
    return (after - at.outputs()[0]) / (moved - x)


def check_masked(case: Case) -> None:
    """Derivatives of a branch that `where` did not take, and along a tangent of 0, are exactly 0 at singular points too."""
    op = case.op
    assert isinstance(op, Elementwise)
    if not case.smooth or len(case.floats) != op.arity:
        return
    xs = _grid(op, sorted({-1.0, 0.0, 1.0, *(e for e in op.edges if np.isfinite(e))}))

    def masked(*xs: Any) -> Any:
        return where(np.zeros(xs[0].shape, bool), op(*xs), 0.0)

    gradient = grad(masked, tuple(range(op.arity)))
    found = {
        "gradient": gradient(*xs),
        "tangent": jvp(op, xs, tuple(np.zeros_like(x) for x in xs))[1],
        "second derivative": jvp(gradient, xs, tuple(np.ones_like(x) for x in xs))[1],
    }
    for what, value in found.items():
        for v in value if isinstance(value, tuple) else (value,):
            assert not plain(v).any(), f"masked {op} at {[x.tolist() for x in xs]}: the {what} is not zero: {plain(v)}"
