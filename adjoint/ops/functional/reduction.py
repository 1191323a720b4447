"""Reductions that are composed of others: products, variances, logsumexp, quantiles."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core import views
from adjoint.core.dispatch import wrap
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import dtype_of, is_inexact, normalize_axis, shape_of
from adjoint.ops import transcendental as _t
from adjoint.ops.along_axis import flatten_all, sort
from adjoint.ops.card import card
from adjoint.ops.casting import in_single
from adjoint.ops.compare import equal, isfinite, isnan
from adjoint.ops.functional.creation import ones_like_shape
from adjoint.ops.functional.elementwise import safe_sqrt
from adjoint.ops.functional.running_products import product_of_last, running_products
from adjoint.ops.language import cast, conj, permute, real, reshape, stop_gradient, where
from adjoint.ops.publish import public
from adjoint.ops.reduce import Axis, Max, Sum, axes_of, keep, max, mean, min, sum, with_axes
from adjoint.ops.slicing import slice_axis
from adjoint.ops.stacking import stack


def _count(x: Any, axes: tuple[int, ...]) -> int:
    shape = shape_of(x)
    return math.prod(shape[a] for a in axes)


def wide_integers(x: Any) -> Any:
    """Integers and booleans in 64 bits, as in NumPy: products of them overflow easily."""
    dtype = dtype_of(x)
    if dtype.kind not in "biu" or dtype.itemsize == 8:
        return x
    return cast(x, np.uint64 if dtype.kind == "u" else np.int64)


@public(method=True, as_method=with_axes)
def prod(input: Any, axis: Axis = None, keep_dims: bool = False, keepdims: bool = False, dtype: Any = None) -> Any:
    """The product along an axis, several axes, or all. Its derivative is exact where factors are 0.

    >>> import adjoint as ad
    >>> print(ad.grad(ad.ops.prod)(ad.Tensor([0.0, 2.0, 3.0])))
    [6. 0. 0.]
    """
    x = wide_integers(input) if dtype is None else cast(input, dtype)
    axes = axes_of("prod", x, axis)
    shape = shape_of(x)
    rest = tuple(a for a in range(len(shape)) if a not in axes)
    kept = tuple(shape[a] for a in rest)
    x = reshape(permute(x, rest + axes), (*kept, _count(input, axes)))
    x = product_of_last(x) if shape_of(x)[-1] else ones_like_shape(x, (*kept, 1))
    full = tuple(1 if a in axes else n for a, n in enumerate(shape))
    return views.own(reshape(x, full if keep(keepdims, keep_dims) else kept), input)


@public(method=True, as_method=with_axes)
@in_single
def var(input: Any, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """The mean square distance from the mean, divided by the count less `ddof`.

    >>> from adjoint import ops, Tensor
    >>> print(ops.var(Tensor([1.0, 3.0])), ops.var(Tensor([1.0, 3.0]), ddof=1))
    1.0 2.0
    """
    axes = axes_of("var", input, axis)
    if not isinstance(ddof, (int, float, np.number)):
        raise ArgumentError(
            f"var: ddof must be a number, not {ddof!r}. A dtype goes to NumPy's function: np.var(x, axis, dtype){called_at()}"
        )
    centred = input - mean(input, axes, keepdims=True)
    square = centred * conj(centred) if dtype_of(input).kind == "c" else centred * centred
    total = card(Sum, axes, keep(keepdims))(square)
    freedom = builtins.max(_count(input, axes) - ddof, 0)
    return real(total) / (freedom or np.nan)


@public(method=True, as_method=with_axes)
@in_single
def std(input: Any, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """The square root of the variance. Its derivative is 0 where all elements are equal.

    >>> from adjoint import ops, Tensor
    >>> print(ops.std(Tensor([1.0, 3.0])))
    1.0
    """
    return safe_sqrt(var(input, axis, ddof, keepdims))


@public(method=True, as_method=with_axes)
@in_single
def logsumexp(input: Any, axis: Axis = None, keep_dims: bool = False, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) along an axis, several axes, or all, without overflow.

    >>> from adjoint import ops, Tensor
    >>> print(ops.logsumexp(Tensor([1000.0, 1000.0])).round(2))
    1000.69
    """
    axes = axes_of("logsumexp", input, axis)
    peak, _, _, total = exponentials(input, axes)
    empty = equal(total, 0)  # every element is -inf: 1 / total would make its derivative NaN
    result = where(empty, -np.inf, _t.log(where(empty, 1, total)) + peak)
    if keep(keepdims, keep_dims):
        return result
    return reshape(result, tuple(n for a, n in enumerate(shape_of(input)) if a not in axes))


def exponentials(x: Any, axes: tuple[int, ...]) -> tuple[Any, Any, Any, Any]:
    """The largest element, the distances from it, their exponentials, which cannot overflow, and the sum of those."""
    peak: Any = 0.0
    if _count(x, axes):
        peak = stop_gradient(card(Max, axes, True)(x))
        peak = where(isfinite(peak), peak, 0)  # exp(inf - inf) would be NaN
    below = x - peak
    powers = _t.exp(below)
    return peak, below, powers, card(Sum, axes, True)(powers)


# ---------------------------------------------------------------- along an axis


@public(method=True)
def cumprod(input: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running product along an axis, or of the flattened input. Its derivative is exact where factors are 0.

    >>> from adjoint import ops, Tensor
    >>> print(ops.cumprod(Tensor([1.0, 2.0, 3.0]), 0))
    [1. 2. 6.]
    """
    x = wide_integers(input) if dtype is None else cast(input, dtype)
    x, axis = (flatten_all(x), 0) if axis is None else (x, normalize_axis("cumprod", axis, len(shape_of(x))))
    return views.own(running_products(x, axis), input)


@public(method=True, as_method=with_axes)
def median(input: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The middle element, or the mean of the two in the middle, along an axis, several axes, or all.

    >>> from adjoint import ops, Tensor
    >>> print(ops.median(Tensor([3.0, 1.0, 2.0, 10.0])))
    2.5
    """
    return _ordered(input, axis, keepdims, lambda n: ((n - 1) / 2,))[0]


def quantile(input: Any, q: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The value below which a part `q` of the elements lies, by linear interpolation.

    >>> from adjoint import ops, Tensor
    >>> print(ops.quantile(Tensor([0.0, 1.0, 2.0, 3.0]), 0.5))
    1.5
    """
    qs = np.asarray(q, float)
    if ((qs < 0) | (qs > 1)).any():
        raise ArgumentError(f"quantile: q must lie between 0 and 1, not {q}{called_at()}")
    found = _ordered(input, axis, keepdims, lambda n: tuple(qs.ravel() * (n - 1)))
    return found[0] if qs.ndim == 0 else stack(found, 0)


def _ordered(x: Any, axis: Axis, keepdims: bool, places: Callable[[int], tuple[float, ...]]) -> list[Any]:
    """Elements at fractional places of the sorted axes; NaN if there is one among them."""
    x = x if is_inexact(dtype_of(x)) else cast(x, np.float64)
    axes = axes_of("median", x, axis)
    shape = shape_of(x)
    rest = tuple(a for a in range(len(shape)) if a not in axes)
    kept = tuple(shape[a] for a in rest)
    flat = reshape(permute(x, rest + axes), (*kept, _count(x, axes)))
    last, n = len(kept), shape_of(flat)[-1]
    out = tuple(1 if a in axes else n for a, n in enumerate(shape)) if keep(keepdims) else kept
    if not n:
        return [wrap(np.full(out, np.nan, dtype_of(x))) for _ in places(n)]
    ordered = sort(flat, -1)[0]
    peak = slice_axis(ordered, last, n - 1, n)  # NaN is sorted to the end
    results = []
    for place in places(n):
        low, part = int(place), float(place) - int(place)
        value = slice_axis(ordered, last, low, low + 1)
        if part:
            value = value * (1 - part) + slice_axis(ordered, last, low + 1, low + 2) * part
        results.append(reshape(where(isnan(peak), peak, value), out))
    return results


@public(method=True, as_method=with_axes)
def count_nonzero(x: Any, axis: Axis = None, keep_dims: bool = False) -> Any:
    """How many elements are not zero.

    >>> from adjoint import ops, Tensor
    >>> print(ops.count_nonzero(Tensor([0.0, 2.0, 3.0])))
    2
    """
    return sum(cast(equal(equal(x, 0), False), np.int64), axis, keepdims=keep_dims)


@public(method=True, as_method=with_axes)
def ptp(input: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The distance from the smallest to the largest element.

    >>> from adjoint import ops, Tensor
    >>> print(ops.ptp(Tensor([1.0, 4.0])))
    3.0
    """
    return max(input, axis, keepdims) - min(input, axis, keepdims)
