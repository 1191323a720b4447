"""Norms of vectors and matrices, and what is judged by them: condition and rank. The derivative of a norm at 0 is 0."""

from __future__ import annotations

import builtins
from math import inf
from typing import Any

import numpy as np

from adjoint.core.dispatch import located
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.spec import dtype_of, int64, is_complex, normalize_axis, shape_of
from adjoint.ops import language as F
from adjoint.ops.broadcast import conj, ndim
from adjoint.ops.card import card
from adjoint.ops.functional.elementwise import safe_sqrt
from adjoint.ops.language import cast, div, equal, expand_last, greater, mul, not_equal, real, reshape, sum_axes, where
from adjoint.ops.linalg import Inv, epsilon, inexact, real_dtype
from adjoint.ops.movement import moveaxis
from adjoint.ops.op_habits import OfElements
from adjoint.ops.publish import public
from adjoint.ops.reduce import Any as AnyTrue
from adjoint.ops.reduce import Max, Min, Sum, axes_of
from adjoint.ops.spectral import SVDVals
from adjoint.ops.stacking import array

Axis = int | tuple[int, ...] | None
Order = Any  # a number, a string, or None


@public(method=True)
def norm(input: Any, ord: Order = None, axis: Axis = None, keepdims: bool = False) -> Any:
    """NumPy's norm: of all elements, of vectors along one axis, or of matrices along two.

    >>> import adjoint as ad
    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.norm([3.0, 4.0]), ad.grad(linalg.norm)(ad.Tensor([0.0, 0.0])))
    5.0 [0. 0.]
    """
    x = inexact(input)
    if isinstance(ord, OfElements):
        return vector_norm(x, ord.p, axis, keepdims)
    if axis is None and ord is not None and ndim(x) not in (1, 2):
        raise located(ShapeError(f"norm: name the axes of the vectors or matrices in an input of shape {shape_of(x)}"))
    axes = tuple(range(ndim(x))) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if len(axes) == 1 or (axis is None and ord is None):
        return vector_norm(x, 2 if ord is None else ord, axes, keepdims)
    if len(axes) != 2:
        raise located(ArgumentError(f"norm: axis must name one or two axes, not {axis}"))
    return matrix_norm(x, "fro" if ord is None else ord, axes, keepdims)


def vector_norm(input: Any, ord: Order = 2, axis: Axis = None, keepdims: bool = False) -> Any:
    """The p-norm along an axis, several axes, or all: sum(|x|**p) ** (1 / p), with limits for p = inf, -inf and 0.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.vector_norm([1.0, -2.0, 2.0], 1), linalg.vector_norm([1.0, -2.0, 2.0], float("inf")))
    5.0 2.0
    """
    x = inexact(input)
    if isinstance(ord, str) or ord is None:
        raise located(ArgumentError(f"vector_norm: the order must be a number, not {ord!r}; see matrix_norm"))
    axes = axes_of("vector_norm", x, axis)
    total = card(Sum, axes, keepdims)
    if ord in (inf, -inf):
        return card(Max if ord > 0 else Min, axes, keepdims)(F.abs(x))
    if ord == 0:
        return total(cast(not_equal(x, 0), real_dtype(dtype_of(x))))
    if ord == 1:
        return total(F.abs(x))
    if ord == 2:
        return safe_sqrt(total(_squares(x)))
    if ord > 0 and ord % 2 == 0:  # a polynomial under the root: smooth in every element
        powers = total(_squares(x) ** (ord / 2))
        return _root(powers, ord, equal(powers, 0))
    return _power_norm(x, ord, axes, keepdims)


def _squares(x: Any) -> Any:
    return real(x * conj(x)) if is_complex(x) else x * x


def _power_norm(x: Any, p: float, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Elements that are 0 are kept away from the power, whose derivative is infinite there."""
    zero = equal(x, 0)
    powers = where(zero, 1, F.abs(x)) ** p
    if p < 0:  # one element 0 makes the norm 0
        return _root(card(Sum, axes, keepdims)(powers), p, card(AnyTrue, axes, keepdims)(zero))
    powers = card(Sum, axes, keepdims)(where(zero, 0, powers))
    return _root(powers, p, equal(powers, 0))


def _root(powers: Any, p: float, zero: Any) -> Any:
    return where(zero, 0, where(zero, 1, powers) ** (1 / p))


def matrix_norm(input: Any, ord: Order = "fro", axis: tuple[int, int] = (-2, -1), keepdims: bool = False) -> Any:
    """A norm of matrices along two axes: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.matrix_norm([[1.0, -2.0], [3.0, 4.0]], 1))
    6.0
    """
    x = inexact(input)
    rows, columns = (normalize_axis("matrix_norm", a, ndim(x)) for a in axis)
    if rows == columns:
        raise located(ArgumentError(f"matrix_norm: axis {axis} names one axis twice"))
    if ord in ("fro", None):
        return vector_norm(x, 2, (rows, columns), keepdims)
    if ord in (1, -1, inf, -inf):
        added, kept = (rows, columns) if ord in (1, -1) else (columns, rows)
        peaks = card(Max if ord > 0 else Min, (kept,), True)(card(Sum, (added,), True)(F.abs(x)))
    elif ord in (2, -2, "nuc"):
        peaks = card({2: Max, -2: Min, "nuc": Sum}[ord], (ndim(x) - 2,))(_singular_values(x, rows, columns))
    else:
        raise located(
            ArgumentError(f"matrix_norm: the order must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, not {ord!r}")
        )
    left = [
        (1 if a in (rows, columns) else n) for a, n in enumerate(shape_of(x)) if keepdims or a not in (rows, columns)
    ]
    return reshape(peaks, tuple(left))


def _singular_values(x: Any, rows: int, columns: int) -> Any:
    """Those of matrices along two axes; at 0, where they have no derivatives, with derivatives that are 0."""
    x = moveaxis(x, (rows, columns), (-2, -1))
    height, width = shape_of(x)[-2:]
    zero = equal(card(AnyTrue, (ndim(x) - 2, ndim(x) - 1), True)(not_equal(x, 0)), False)
    some = np.asarray(np.eye(height, width) * (1.0 + np.arange(width)), dtype_of(x))  # without values that coincide
    return F.abs(where(zero[..., 0], 0, card(SVDVals)(where(zero, some, x))))


def cond(input: Any, p: Order = None) -> Any:
    """The condition number of matrices in the norm `p`: by default the ratio of the extreme singular values, infinite for
    singular matrices.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.cond([[4.0, 0.0], [0.0, 2.0]]))
    2.0
    """
    x = inexact(input)
    if p in (None, 2, -2):
        large, small = matrix_norm(x, 2), matrix_norm(x, -2)
        if p == -2:
            return div(small, large)
        singular = equal(small, 0)
        return where(singular, inf, div(large, where(singular, 1, small)))
    return mul(matrix_norm(x, p), matrix_norm(card(Inv)(x), p))


def matrix_rank(input: Any, tol: Any = None, rtol: float | None = None) -> Any:
    """The number of singular values above `tol`, by default `rtol` times the largest, which is by default rounding.

    An integer, without a derivative.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]))
    1
    """
    x = inexact(input)
    if ndim(x) < 2:
        return cast(card(AnyTrue, tuple(range(ndim(x))))(not_equal(x, 0)), int64)
    values = card(SVDVals)(x)
    last = (ndim(values) - 1,)
    if tol is None:
        rtol = builtins.max(shape_of(x)[-2:]) * epsilon(dtype_of(values)) if rtol is None else rtol
        tol = rtol * card(Max, last, True)(values)
    elif ndim(tol):
        tol = expand_last(array(tol))
    return sum_axes(cast(greater(values, tol), int64), last)
