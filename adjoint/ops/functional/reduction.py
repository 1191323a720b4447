"""Sums, means, extremes, norms, running and sorted values."""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core import views
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import dtype_of, float32, is_half, is_inexact, normalize_axis, shape_of
from adjoint.ops import reduce as _r
from adjoint.ops import transcendental as _t
from adjoint.ops.card import card
from adjoint.ops.compare import equal, isfinite, isnan, where
from adjoint.ops.functional.creation import ones_like_shape
from adjoint.ops.functional.elementwise import safe_sqrt
from adjoint.ops.index import take_along_axis
from adjoint.ops.joining import concat
from adjoint.ops.language import bitwise_not, cast, conj, permute, real, reshape, stop_gradient
from adjoint.ops.slicing import slice_axis
from adjoint.ops.stacking import stack

Axis = int | tuple[int, ...] | None


def axes_of(what: str, x: Any, axis: Any) -> tuple[int, ...]:
    """The axes as sorted non-negative numbers; None or () means all of them."""
    ndim = len(shape_of(x))
    if axis is None or (isinstance(axis, tuple) and not axis):
        return tuple(range(ndim))
    if isinstance(axis, (tuple, list)):
        axes = tuple(sorted(normalize_axis(what, operator.index(a), ndim) for a in axis))
        if len(set(axes)) != len(axes):
            raise ArgumentError(f"{what}: axis {axis} names an axis twice{called_at()}")
        return axes
    return (normalize_axis(what, operator.index(axis), ndim),)


def _count(x: Any, axes: tuple[int, ...]) -> int:
    shape = shape_of(x)
    return math.prod(shape[a] for a in axes)


def _keep(keepdims: Any, keep_dims: Any = False) -> bool:
    keep = keep_dims if keepdims is False or keepdims is None else keepdims
    if keep is True or keep is False:
        return keep
    if keep is None or isinstance(keep, (int, np.integer, np.bool_)):
        return bool(keep)
    raise ArgumentError(
        f"keepdims must be True or False, not {keep!r}. A dtype or out= goes to NumPy's function: np.mean(x, axis, dtype){called_at()}"
    )


def _in_single(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compute on half-precision input in float32 and round once: sums of it overflow easily."""

    @functools.wraps(function)
    def widened(input: Any, *args: Any, **kwargs: Any) -> Any:
        dtype = dtype_of(input)
        if not is_half(dtype):
            return function(input, *args, **kwargs)
        return cast(function(cast(input, float32), *args, **kwargs), dtype)

    return widened


def _wide_whole(x: Any) -> Any:
    """Integers and booleans in 64 bits, as in NumPy: products of them overflow easily."""
    dtype = dtype_of(x)
    if dtype.kind not in "biu" or dtype.itemsize == 8:
        return x
    return cast(x, np.uint64 if dtype.kind == "u" else np.int64)


def sum(input: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, keep_dims: bool = False) -> Any:
    """The sum along an axis, several axes, or all.

    >>> from adjoint import ops, Tensor
    >>> print(ops.sum(Tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0))
    [4. 6.]
    """
    x = input if dtype is None else cast(input, dtype)
    return card(_r.Sum, axes_of("sum", x, axis), _keep(keepdims, keep_dims))(x)


def mean(input: Any, axis: Axis = None, keep_dims: bool = False, keepdims: bool = False) -> Any:
    """The average along an axis, several axes, or all.

    >>> from adjoint import ops, Tensor
    >>> print(ops.mean(Tensor([1.0, 3.0])))
    2.0
    """
    return card(_r.Mean, axes_of("mean", input, axis), _keep(keepdims, keep_dims))(input)


def prod(input: Any, axis: Axis = None, keep_dims: bool = False, keepdims: bool = False, dtype: Any = None) -> Any:
    """The product along an axis, several axes, or all. Its derivative is exact where factors are 0.

    >>> import adjoint as ad
    >>> print(ad.grad(ad.ops.prod)(ad.Tensor([0.0, 2.0, 3.0])))
    [6. 0. 0.]
    """
    x = _wide_whole(input) if dtype is None else cast(input, dtype)
    axes = axes_of("prod", x, axis)
    shape = shape_of(x)
    rest = tuple(a for a in range(len(shape)) if a not in axes)
    kept = tuple(shape[a] for a in rest)
    x = reshape(permute(x, rest + axes), (*kept, _count(input, axes)))
    x = _fold_products(x)
    full = tuple(1 if a in axes else n for a, n in enumerate(shape))
    return views.own(reshape(x, full if _keep(keepdims, keep_dims) else kept), input)


def _fold_products(x: Any) -> Any:
    """The product along the last axis by halving it: no division, so zeros are no special case."""
    axis = len(shape_of(x)) - 1
    while (n := shape_of(x)[-1]) > 1:
        half = n // 2
        folded = slice_axis(x, axis, 0, half) * slice_axis(x, axis, half, 2 * half)
        x = folded if n == 2 * half else concat([folded, slice_axis(x, axis, n - 1, n)], axis)
    return x if shape_of(x)[-1] else ones_like_shape(x, (*shape_of(x)[:-1], 1))


def _extreme(kind: Any, position: Any, x: Any, axis: Any, keepdims: bool, return_indices: bool) -> Any:
    values = card(kind, axes_of(kind.__name__.lower(), x, axis), keepdims)(x)
    if not return_indices:
        return values
    if not isinstance(axis, (int, np.integer)):
        raise ArgumentError(f"return_indices needs one axis, an int{called_at()}")
    where_ = position(x, axis)
    return values, (reshape(where_, shape_of(values)) if keepdims else where_)


def max(
    input: Any, axis: Axis = None, keepdims: bool = False, *, keep_dims: bool = False, return_indices: bool = False
) -> Any:
    """The largest element along an axis, several axes, or all; equal ones share the derivative evenly.

    >>> import adjoint as ad
    >>> print(ad.grad(ad.ops.max)(ad.Tensor([1.0, 3.0, 3.0])))
    [0.  0.5 0.5]
    """
    return _extreme(_r.Max, argmax, input, axis, _keep(keepdims, keep_dims), return_indices)


def min(
    input: Any, axis: Axis = None, keepdims: bool = False, *, keep_dims: bool = False, return_indices: bool = False
) -> Any:
    """The smallest element along an axis, several axes, or all; equal ones share the derivative evenly.

    >>> from adjoint import ops, Tensor
    >>> print(ops.min(Tensor([3.0, 1.0, 2.0])))
    1.0
    """
    return _extreme(_r.Min, argmin, input, axis, _keep(keepdims, keep_dims), return_indices)


amax, amin = max, min


def _position(kind: Any, x: Any, axis: int | None, keepdims: bool) -> Any:
    keepdims = _keep(keepdims)
    if axis is None:
        flat = card(kind, 0)(reshape(x, (int(np.prod(shape_of(x))),)))
        return reshape(flat, (1,) * len(shape_of(x))) if keepdims else flat
    a = normalize_axis(kind.__name__.lower(), axis, len(shape_of(x)))
    found = card(kind, a)(x)
    return reshape(found, (*shape_of(x)[:a], 1, *shape_of(x)[a + 1 :])) if keepdims else found


def argmax(input: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The position of the first largest element, along an axis or in the flattened input.

    >>> from adjoint import ops, Tensor
    >>> print(ops.argmax(Tensor([1.0, 3.0, 2.0])))
    1
    """
    return _position(_r.ArgMax, input, axis, keepdims)


def argmin(input: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """The position of the first smallest element, along an axis or in the flattened input.

    >>> from adjoint import ops, Tensor
    >>> print(ops.argmin(Tensor([3.0, 1.0, 2.0])))
    1
    """
    return _position(_r.ArgMin, input, axis, keepdims)


def any(input: Any, axis: Axis = None, keep_dims: bool = False, keepdims: bool = False) -> Any:
    """Whether some element is true or not zero.

    >>> from adjoint import ops, Tensor
    >>> print(ops.any(Tensor([False, True])))
    True
    """
    return card(_r.Any, axes_of("any", input, axis), _keep(keepdims, keep_dims))(input)


def all(input: Any, axis: Axis = None, keep_dims: bool = False, keepdims: bool = False) -> Any:
    """Whether every element is true or not zero.

    >>> from adjoint import ops, Tensor
    >>> print(ops.all(Tensor([False, True])))
    False
    """
    return card(_r.All, axes_of("all", input, axis), _keep(keepdims, keep_dims))(input)


@_in_single
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
    total = card(_r.Sum, axes, _keep(keepdims))(square)
    freedom = builtins.max(_count(input, axes) - ddof, 0)
    return real(total) / (freedom or np.nan)


@_in_single
def std(input: Any, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """The square root of the variance. Its derivative is 0 where all elements are equal.

    >>> from adjoint import ops, Tensor
    >>> print(ops.std(Tensor([1.0, 3.0])))
    1.0
    """
    return safe_sqrt(var(input, axis, ddof, keepdims))


@_in_single
def logsumexp(input: Any, axis: Axis = None, keep_dims: bool = False, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) along an axis, several axes, or all, without overflow.

    >>> from adjoint import ops, Tensor
    >>> print(ops.logsumexp(Tensor([1000.0, 1000.0])).round(2))
    1000.69
    """
    axes = axes_of("logsumexp", input, axis)
    peak, _, _, total = _exponentials(input, axes)
    empty = equal(total, 0)  # every element is -inf: 1 / total would make its derivative NaN
    result = where(empty, -np.inf, _t.log(where(empty, 1, total)) + peak)
    if _keep(keepdims, keep_dims):
        return result
    return reshape(result, tuple(n for a, n in enumerate(shape_of(input)) if a not in axes))


def _exponentials(x: Any, axes: tuple[int, ...]) -> tuple[Any, Any, Any, Any]:
    """The largest element, the distances from it, their exponentials, which cannot overflow, and the sum of those."""
    peak: Any = 0.0
    if _count(x, axes):
        peak = stop_gradient(card(_r.Max, axes, True)(x))
        peak = where(isfinite(peak), peak, 0)  # exp(inf - inf) would be NaN
    below = x - peak
    powers = _t.exp(below)
    return peak, below, powers, card(_r.Sum, axes, True)(powers)


# ---------------------------------------------------------------- along an axis


def cumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running sum along an axis, or of the flattened input.

    >>> from adjoint import ops, Tensor
    >>> print(ops.cumsum(Tensor([1.0, 2.0, 3.0]), 0))
    [1. 3. 6.]
    """
    x = x if dtype is None else cast(x, dtype)
    x, axis = (flatten_all(x), 0) if axis is None else (x, normalize_axis("cumsum", axis, len(shape_of(x))))
    return card(_r.CumSum, axis, False)(x)


def flatten_all(x: Any) -> Any:
    return reshape(x, (int(np.prod(shape_of(x))),))


def cumprod(input: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running product along an axis, or of the flattened input. Its derivative is exact where factors are 0.

    >>> from adjoint import ops, Tensor
    >>> print(ops.cumprod(Tensor([1.0, 2.0, 3.0]), 0))
    [1. 2. 6.]
    """
    x = _wide_whole(input) if dtype is None else cast(input, dtype)
    x, axis = (flatten_all(x), 0) if axis is None else (x, normalize_axis("cumprod", axis, len(shape_of(x))))
    n, step = shape_of(x)[axis], 1
    while step < n:  # each round doubles the number of factors that have come in
        x = concat(
            [slice_axis(x, axis, 0, step), slice_axis(x, axis, step, n) * slice_axis(x, axis, 0, n - step)], axis
        )
        step *= 2
    return views.own(x, input)


def cummax(input: Any, axis: int) -> tuple[Any, Any]:
    """The largest element so far along an axis, and its position.

    >>> from adjoint import ops, Tensor
    >>> values, positions = ops.cummax(Tensor([1.0, 3.0, 2.0]), 0)
    >>> print(values, positions)
    [1. 3. 3.] [0 1 1]
    """
    axis = normalize_axis("cummax", axis, len(shape_of(input)))
    positions = card(_r.CumArgMax, axis)(input)
    return take_along_axis(input, positions, axis), positions


def cummin(input: Any, axis: int) -> tuple[Any, Any]:
    """The smallest element so far along an axis, and its position.

    >>> from adjoint import ops, Tensor
    >>> print(ops.cummin(Tensor([2.0, 3.0, 1.0]), 0)[0])
    [2. 2. 1.]
    """
    axis = normalize_axis("cummin", axis, len(shape_of(input)))
    opposite = bitwise_not(input) if dtype_of(input).kind in "biu" else -input
    positions = card(_r.CumArgMax, axis)(opposite)
    return take_along_axis(input, positions, axis), positions


def argsort(input: Any, axis: int = -1, descending: bool = False) -> Any:
    """The permutation that sorts an axis; equal elements keep their order.

    >>> from adjoint import ops, Tensor
    >>> print(ops.argsort(Tensor([3.0, 1.0, 2.0])))
    [1 2 0]
    """
    return card(_r.ArgSort, normalize_axis("argsort", axis, len(shape_of(input))), descending)(input)


def sort(input: Any, axis: int = -1, descending: bool = False) -> tuple[Any, Any]:
    """The elements of an axis in order, and where each came from.

    >>> from adjoint import ops, Tensor
    >>> values, positions = ops.sort(Tensor([3.0, 1.0, 2.0]))
    >>> print(values, positions)
    [1. 2. 3.] [1 2 0]
    """
    order = argsort(input, axis, descending)
    return take_along_axis(input, order, axis), order


def topk(input: Any, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True) -> tuple[Any, Any]:
    """The k largest (or smallest) elements of an axis, by default the last, in order, and their positions.

    >>> from adjoint import ops, Tensor
    >>> values, positions = ops.topk(Tensor([3.0, 1.0, 2.0]), 2)
    >>> print(values, positions)
    [3. 2.] [0 2]
    """
    axis = normalize_axis("topk", -1 if dim is None else dim, len(shape_of(input)))
    if not 0 <= k <= shape_of(input)[axis]:
        raise ArgumentError(f"topk: k={k} of an axis with {shape_of(input)[axis]} elements{called_at()}")
    order = slice_axis(argsort(input, axis, largest), axis, 0, k)
    return take_along_axis(input, order, axis), order


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
    ordered = sort(flat, -1)[0]
    last, n = len(kept), shape_of(flat)[-1]
    peak = slice_axis(ordered, last, n - 1, n)  # NaN is sorted to the end
    out = tuple(1 if a in axes else n for a, n in enumerate(shape)) if _keep(keepdims) else kept
    results = []
    for place in places(n):
        low, part = int(place), float(place) - int(place)
        value = slice_axis(ordered, last, low, low + 1)
        if part:
            value = value * (1 - part) + slice_axis(ordered, last, low + 1, low + 2) * part
        results.append(reshape(where(isnan(peak), peak, value), out))
    return results


def count_nonzero(x: Any, axis: Axis = None, keep_dims: bool = False) -> Any:
    """How many elements are not zero.

    >>> from adjoint import ops, Tensor
    >>> print(ops.count_nonzero(Tensor([0.0, 2.0, 3.0])))
    2
    """
    return sum(cast(equal(equal(x, 0), False), np.int64), axis, keepdims=keep_dims)


def ptp(input: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The distance from the smallest to the largest element.

    >>> from adjoint import ops, Tensor
    >>> print(ops.ptp(Tensor([1.0, 4.0])))
    3.0
    """
    return max(input, axis, keepdims) - min(input, axis, keepdims)
