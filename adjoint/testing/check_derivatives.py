"""Checks of the derivative rules: against the kernel, against each other, and through the transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.api.forward import jvp
from adjoint.api.grad import vjp
from adjoint.core.absent import ZERO
from adjoint.core.spec import complex128
from adjoint.core.tensor import Tensor
from adjoint.ops.language import cast
from adjoint.testing.cases import (
    Arrays,
    Case,
    assert_close,
    assert_inner,
    assert_like,
    complex_step,
    differences,
    flat,
    inexact,
    plain,
)


def slope(case: Case, ts: Arrays) -> tuple[Arrays, float]:
    """The derivative of the kernel along `ts`, and how far to trust it."""
    rough = differences(case.outputs, case.floats, ts)
    if type(case.op).complex and all(x.dtype.kind == "f" for x in case.floats):
        try:
            exact = complex_step(case.outputs, case.floats, ts)
            assert_close(exact, rough, "", 1e-6)
        except (AssertionError, TypeError, ValueError, AttributeError):  # not holomorphic, or no complex kernel
            return rough, 1e-7
        return exact, 1e-11
    return rough, 1e-7


def check_jvp(case: Case) -> None:
    """`jvp` against difference quotients of the kernel, all tangents at once and one by one."""
    ts = case.directions(case.floats)
    pushed = case.push(ts)
    assert_like(pushed, case.outputs(), f"jvp of {case}: the tangent")
    want, tolerance = slope(case, ts)
    assert_close(pushed, want, f"jvp of {case} against finite differences", tolerance)
    alone = [case.push(_only(i, ts)) for i in range(len(ts))]
    for parts in alone:
        assert_like(parts, pushed, f"jvp of {case}: the tangent with ZERO for other inputs")
    summed = [sum(parts[1:], parts[0]) for parts in zip(*alone, strict=True)]
    assert_close(summed, pushed, f"jvp of {case} with ZERO for all inputs but one", 1e-10)


def check_vjp(case: Case) -> None:
    """`vjp` against `jvp`: <g, J t> = <J' g, t> for each input, and each cotangent fits its input."""
    gs, ts = case.directions(case.outputs()), case.directions(case.floats)
    pulled = case.pull(gs)
    assert_like(pulled, case.floats, f"vjp of {case}: the cotangent")
    for i, (t, p) in enumerate(zip(ts, pulled, strict=True)):
        what = f"vjp of {case} against its jvp, input {i} of those with derivatives"
        assert_inner([p], [t], gs, case.push(_only(i, ts)), what, 1e-10)


def _only(i: int, ts: Arrays) -> list[Any]:
    """The tangents of a change in input i alone."""
    return [t if k == i else ZERO for k, t in enumerate(ts)]


def check_transforms(case: Case) -> None:
    """A tape and dual numbers give what the rules give: for all inputs, for one among constants, for Python numbers."""
    gs, ts = case.directions(case.outputs()), case.directions(case.floats)
    pulled, pushed = case.pull(gs), case.push(ts)
    inputs = [Tensor(x) for x in case.floats]
    assert_close(vjp(case.call, *inputs)[1](*gs), pulled, f"tape of {case} against its vjp", 1e-12)
    assert_close(jvp(case.call_floats, inputs, ts)[1], pushed, f"dual numbers of {case} against its jvp", 1e-12)
    for i, x in enumerate(inputs):
        _, pull = vjp(lambda x, i=i: case.call(*inputs[:i], x, *inputs[i + 1 :]), x)
        assert_close(pull(*gs), [pulled[i]], f"tape of {case} against its vjp, other inputs constant", 1e-12)
    if any(x.ndim == 0 for x in case.floats):
        numbers = [x.item() if x.ndim == 0 else x for x in case.floats]
        _, pull = vjp(case.call, *numbers)
        assert_close(pull(*gs), pulled, f"tape of {case} against its vjp, Python numbers as inputs", 1e-12)


def check_second_order(case: Case) -> None:
    """Derivatives of the derivative, each mode over each, against difference quotients of the first one."""
    n = len(case.floats)
    gs, ts = case.directions(case.outputs()), case.directions(case.floats)
    point = [*case.floats, *gs]
    along = case.directions(point)

    def pulled(*values: Any) -> Any:
        return vjp(case.call, *values[:n])[1](*values[n:])

    def pushed(*values: Any) -> Any:
        return jvp(case.call_floats, values, ts)[1]

    want = differences(lambda v: case.pull(v[n:], v[:n]), point, along)
    got = [plain(t) for t in jvp(pulled, point, along)[1]]
    assert_close(got, want, f"second derivative of {case}: jvp of vjp against finite differences", 1e-6)
    hs = case.directions(got)
    back = [plain(g) for g in vjp(pulled, *point)[1](*hs)]
    assert_inner(back, along, hs, got, f"second derivative of {case}: vjp of vjp against jvp of vjp", 1e-9)
    want = differences(lambda v: case.push(ts, v), case.floats, along[:n])
    got = jvp(pushed, case.floats, along[:n])[1]
    assert_close(got, want, f"second derivative of {case}: jvp of jvp against finite differences", 1e-6)


def check_zero_derivative(case: Case) -> None:
    """An op without derivatives gives exactly zero in every mode, and no error."""
    op, xs = case.op, case.xs
    y = op.eval(np, *xs)
    pulled = op.vjp(y, y, *xs)
    assert len(pulled) == len(xs) and all(c is ZERO for c in pulled), (
        f"vjp of {case}: {pulled}, expected ZERO for each input"
    )
    tangent = op.jvp([np.zeros_like(x) if inexact(x) else ZERO for x in xs], y, *xs)
    assert tangent is ZERO, f"jvp of {case}: {tangent}, expected ZERO"
    if not case.floats:
        return

    def followed(*floats: Any) -> Any:
        return tuple(cast(y, complex128) for y in flat(case.call(*floats)))

    inputs = [Tensor(x) for x in case.floats]
    ys, pull = vjp(followed, *inputs)
    for g in pull(*(np.ones(y.shape, complex) for y in ys)):
        assert not plain(g).any(), f"tape of {case}: the gradient is not zero"
    for t in jvp(followed, inputs, case.directions(case.floats))[1]:
        assert not plain(t).any(), f"dual numbers of {case}: the tangent is not zero"
