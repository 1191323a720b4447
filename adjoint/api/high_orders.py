"""Taylor mode for users: derivatives of any order along a curve in one pass. jet, derivative, nth_derivative."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import e, factorial, log2
from typing import Any

import numpy as np

from adjoint.api.grad import grad
from adjoint.api.inputs import (
    Input,
    binding,
    check_cotangent,
    check_function,
    check_inputs,
    lowered,
    output_leaves,
    whole,
)
from adjoint.core import context, tree
from adjoint.core.absent import ZERO, instantiate
from adjoint.core.dispatch import beside, wrap
from adjoint.core.errors import ArgumentError, boundary, called_at
from adjoint.core.spec import dtype_of, is_inexact, shape_of
from adjoint.ops.stacking import stack
from adjoint.transforms.taylor import Taylor


@boundary
def jet(fn: Callable[..., Any], primals: Any, series: Any) -> tuple[Any, Any]:
    """The derivatives of `fn` along a curve, given those of the curve: `(output, derivatives)`.

    Taylor mode: the cost is polynomial in the order, where `jvp` of `jvp` doubles it with each.

    Args:
        fn: a function or Cell.
        primals: the point of the curve at t = 0: an input, or a tuple of the inputs.
        series: for each input the first to the n-th derivative of the curve by t, stacked: of shape `(n, *input.shape)`.

    Returns the output of `fn`, and its first to n-th derivative by t, stacked in the same way.

    >>> import adjoint as ad
    >>> y, derivatives = ad.jet(lambda x: x ** 3, ad.Tensor(2.0), ad.Tensor([1.0, 0.0, 0.0]))
    >>> print(y, derivatives)
    8.0 [12. 12.  6.]
    """
    check_function("jet", fn)
    several = isinstance(primals, (tuple, list))
    points, curves = (tuple(primals), series) if several else ((primals,), (series,))
    if not isinstance(curves, (tuple, list)) or len(curves) != len(points):
        raise ArgumentError(f"jet: series must be a tuple of {len(points)}, one for each input{called_at()}")
    inputs = check_inputs("jet", points, range(len(points)))
    given = [_unstacked(k, i, x, s) for k, (i, x, s) in enumerate(zip(inputs, points, curves, strict=True))]
    orders = sorted({len(ds) for leaves in given for ds in leaves})
    if len(orders) != 1 or orders == [0]:
        raise ArgumentError(f"jet: the series must have one length, above zero, not {orders}{called_at()}")
    return _along_curve("jet", fn, inputs, given, orders[0], lambda y, ds: stack([wrap(instantiate(d, y)) for d in ds]))


@boundary
def derivative(fn: Callable[..., Any], primals: Any, order: int) -> tuple[Any, Any]:
    """The output of `fn`, and its derivative of an order along the direction in which every input grows at rate one.

    For an elementwise function of one input, that is the derivative of each element.

    >>> import adjoint as ad
    >>> y, third = ad.derivative(ad.ops.sin, ad.Tensor([0.0, 1.0]), 3)
    >>> print(third)
    [-1.        -0.5403023]
    """
    check_function("derivative", fn)
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise ArgumentError(f"derivative: order must be an integer above zero, not {order!r}{called_at()}")
    points = tuple(primals) if isinstance(primals, (tuple, list)) else (primals,)
    inputs = check_inputs("derivative", points, range(len(points)))
    given = [[[beside(np.ones(shape_of(x), dtype_of(x)), x)] + [ZERO] * (order - 1) for x in i.leaves] for i in inputs]
    return _along_curve("derivative", fn, inputs, given, order, lambda y, ds: wrap(instantiate(ds[-1], y)))


@boundary
def nth_derivative(fn: Callable[..., Any], n: int, x: Any) -> Any:
    """What `grad` gives when applied n times. For an elementwise function, the n-th derivative of each element.

    All but the last come by Taylor mode, at a cost polynomial in n.

    >>> import adjoint as ad
    >>> print(ad.nth_derivative(ad.ops.sin, 3, ad.Tensor([0.0])))
    [-1.]
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise ArgumentError(f"nth_derivative: n must be an integer >= 0, not {n!r}{called_at()}")
    if n == 0:
        return wrap(fn(x))
    return grad(fn if n == 1 else lambda x: derivative(context.readable(fn), (x,), n - 1)[1])(x)


def _unstacked(place: int, given: Input, like: Any, series: Any) -> list[list[Any]]:
    """The derivatives of a curve, in a list for each leaf of an input."""
    leaves = [series] if tree.is_leaf(like) else tree.leaves_like(series, like)
    if len(leaves) != len(given.leaves):
        raise ArgumentError(
            f"jet: the series of input {place} has {len(leaves)} leaves, the input {len(given.leaves)}{called_at()}"
        )
    what = f"jet: a derivative in the series of input {place}"
    if not all(isinstance(s, (list, tuple)) or shape_of(s) for s in leaves):
        raise ArgumentError(f"jet: the series of input {place} must have an axis of derivatives in front{called_at()}")
    return [[check_cotangent(what, d, x) for d in s] for s, x in zip(leaves, given.leaves, strict=True)]


def _scale(order: int, k: int) -> float:
    """The k-th derivative in coefficients of the series, whose variable is stretched where these would be too small for float32."""
    stretch = 1 if order <= 20 else 2 ** round(log2(order / e))
    return factorial(k) / stretch**k


def _along_curve(
    what: str,
    fn: Any,
    inputs: Sequence[Input],
    given: Sequence[Any],
    order: int,
    shown: Callable[[Any, list[Any]], Any],
) -> tuple[Any, Any]:
    """The output of a function, and what is shown of the derivatives of each floating-point leaf of it."""
    trace = Taylor(order, what)
    scale = [_scale(order, k) for k in range(1, order + 1)]

    def tracked(x: Any, ds: list[Any]) -> Any:
        return trace.track([x, *(d if d is ZERO else d / s for d, s in zip(ds, scale, strict=True))])

    args = [i.rebuild(list(map(tracked, i.leaves, dss))) for i, dss in zip(inputs, given, strict=True)]
    try:
        with binding({}, functools.partial(lowered, trace)):
            out = whole(context.readable(fn)(*args))
    finally:
        trace.ended = True
    output_leaves(what, fn, out)

    def derivatives(y: Any) -> Any:
        if not is_inexact(dtype_of(y)):
            return y
        later = trace.coefficients(y)[1:]
        return shown(y, [c if c is ZERO else c * s for c, s in zip(later, scale, strict=True)])

    return tree.map(lambda y: lowered(trace, y), out), tree.map(derivatives, out)
