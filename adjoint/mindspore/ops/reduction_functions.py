"""Functions that collapse axes, order elements or run along an axis, with MindSpore's arguments and results."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from adjoint import ops as _ops
from adjoint.core.errors import ArgumentError, ArgumentTypeError
from adjoint.core.spec import float32, int32, int64, is_inexact, normalize_axis
from adjoint.mindspore.ops.promotion import axes, in_float, listed, static, tensor, to_dtype


def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum along axes, or of all; integers are summed in int64."""
    x = tensor(input)
    x = to_dtype(x, dtype) if dtype is not None else x if is_inexact(x.dtype) else _ops.cast(x, int64)
    return to_dtype(_ops.sum(x, axes(dim), keepdims=keepdim), x.dtype)


def reduce_sum(x: Any, axis: Any = (), keep_dims: bool = False, skip_mode: bool = False) -> Any:
    """The sum along axes in the dtype of the input; with `skip_mode`, no axes mean none instead of all."""
    x = tensor(x)
    if skip_mode and axes(axis) is None:
        return x
    if x.dtype.kind == "b":
        return _ops.any(x, axes(axis), keep_dims)
    return to_dtype(_ops.sum(x, axes(axis), keepdims=keep_dims), x.dtype)


def mean(x: Any, axis: Any = None, keep_dims: bool = False) -> Any:
    """The mean along axes, or of all; of integers its whole part."""
    x = tensor(x)
    if is_inexact(x.dtype):
        return _ops.mean(x, axes(axis), keepdims=keep_dims)
    found = _ops.mean(_ops.cast(x, np.float64), axes(axis), keepdims=keep_dims)
    return _ops.cast(_ops.trunc(found), x.dtype)


def prod(input: Any, axis: Any = None, keep_dims: bool = False, dtype: Any = None) -> Any:
    """The product along axes, or of all; integers are multiplied in int64."""
    x = tensor(input)
    x = to_dtype(x, dtype) if dtype is not None else x if is_inexact(x.dtype) else _ops.cast(x, int64)
    return to_dtype(_ops.prod(x, axes(axis), keepdims=keep_dims), x.dtype)


def reduce_prod(x: Any, axis: Any = (), keep_dims: bool = False) -> Any:
    """The product along axes in the dtype of the input."""
    x = tensor(x)
    return to_dtype(_ops.prod(x, axes(axis), keepdims=keep_dims), x.dtype)


def reduce_max(x: Any, axis: Any = (), keep_dims: bool = False) -> Any:
    """The largest along axes, or of all."""
    return _ops.amax(tensor(x), axes(axis), keep_dims)


def reduce_min(x: Any, axis: Any = (), keep_dims: bool = False) -> Any:
    """The smallest along axes, or of all."""
    return _ops.amin(tensor(x), axes(axis), keep_dims)


reduce_mean = mean


def all(input: Any, axis: Any = None, keep_dims: bool = False) -> Any:
    """Whether all elements are true."""
    return _ops.all(tensor(input), axes(axis), keep_dims)


def any(input: Any, axis: Any = None, keep_dims: bool = False) -> Any:
    """Whether any element is true."""
    return _ops.any(tensor(input), axes(axis), keep_dims)


def _limited(x: Any, initial: Any, where: Any, largest: bool) -> Any:
    """The input with what `where` leaves out replaced by `initial`, and nothing beyond it."""
    if where is not None:
        if initial is None:
            raise ArgumentError("max, min: `where` needs `initial`")
        x = _ops.where(where, x, to_dtype(tensor(initial), x.dtype))
    if initial is not None:
        bound = to_dtype(tensor(initial), x.dtype)
        x = _ops.maximum(x, bound) if largest else _ops.minimum(x, bound)
    return x


def amax(input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> Any:
    """The largest along axes, or of all."""
    return _ops.amax(_limited(tensor(input), initial, where, True), axes(axis), keepdims)


def amin(input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> Any:
    """The smallest along axes, or of all."""
    return _ops.amin(_limited(tensor(input), initial, where, False), axes(axis), keepdims)


def max(
    input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None
) -> tuple[Any, Any]:
    """The largest along an axis and where it is; of all elements, with the index 0.

    >>> from adjoint import Tensor
    >>> value, index = max(Tensor([[1.0, 5.0], [3.0, 2.0]]), 1)
    >>> print(value, index)
    [5. 3.] [1 0]
    """
    return _extreme(input, axis, keepdims, initial, where, True)


def min(
    input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None
) -> tuple[Any, Any]:
    """The smallest along an axis and where it is; of all elements, with the index 0."""
    return _extreme(input, axis, keepdims, initial, where, False)


def _extreme(input: Any, axis: Any, keepdims: bool, initial: Any, where: Any, largest: bool) -> tuple[Any, Any]:
    x = tensor(input)
    axis = static(axis)
    if axis is None or x.ndim == 0:
        return (_ops.amax if largest else _ops.amin)(x), _ops.zeros((), int64)
    if initial is not None:
        x = _limited(x, initial, where, largest)
    return value_at(x, axis, keepdims, largest)


def value_at(x: Any, axis: int, keepdims: bool, largest: bool) -> tuple[Any, Any]:
    """The extreme along one axis, taken from where it is: all of the derivative goes there."""
    if x.ndim == 0:
        return x, _ops.zeros((), int64)
    axis = normalize_axis("max", axis, x.ndim)
    index = (_ops.argmax if largest else _ops.argmin)(x, axis, keepdims=True)
    value = _ops.gather_elements(x, axis, index)
    return (value, index) if keepdims else (_ops.squeeze(value, axis), _ops.squeeze(index, axis))


def aminmax(input: Any, *, axis: Any = 0, keepdims: bool = False) -> tuple[Any, Any]:
    """The smallest and the largest along an axis."""
    x = tensor(input)
    if axis is None or x.ndim == 0:
        return _ops.amin(x, None, keepdims), _ops.amax(x, None, keepdims)
    return value_at(x, axis, keepdims, False)[0], value_at(x, axis, keepdims, True)[0]


def argmax(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Where the largest is."""
    return _ops.cast(_ops.argmax(tensor(input), dim, keepdims=keepdim and dim is not None), int64)


def argmin(input: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Where the smallest is."""
    return _ops.cast(_ops.argmin(tensor(input), axis, keepdims=keepdims and axis is not None), int32)


def _freedom(ddof: Any) -> int:
    if not isinstance(ddof, (bool, int)):
        raise ArgumentTypeError(f"ddof must be an integer or a truth value, not {ddof!r}")
    return int(ddof)


def var(input: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
    """The variance along axes, or of all."""
    return _ops.var(in_float(input), axes(axis), _freedom(ddof), keepdims)


def std(input: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
    """The standard deviation along axes, or of all."""
    return _ops.std(in_float(input), axes(axis), _freedom(ddof), keepdims)


def var_mean(input: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> tuple[Any, Any]:
    """The variance and the mean."""
    return var(input, axis, ddof, keepdims), _ops.mean(in_float(input), axes(axis), keepdims=keepdims)


def std_mean(input: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> tuple[Any, Any]:
    """The standard deviation and the mean."""
    return std(input, axis, ddof, keepdims), _ops.mean(in_float(input), axes(axis), keepdims=keepdims)


def logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Any:
    """log(sum(exp(x))) along axes, without overflow."""
    return _ops.logsumexp(in_float(input), axes(dim), keepdims=keepdim)


def count_nonzero(x: Any, axis: Any = (), keep_dims: bool = False, dtype: Any = int32) -> Any:
    """How many elements are not zero."""
    return to_dtype(_ops.count_nonzero(tensor(x), axes(axis), keep_dims), dtype)


def nansum(input: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Any:
    """The sum of what is not NaN."""
    x = tensor(input)
    return sum(_ops.where(_ops.isnan(x), 0, x) if is_inexact(x.dtype) else x, axis, keepdims, dtype=dtype)


def nanmean(input: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Any:
    """The mean of what is not NaN."""
    x = in_float(input)
    number = _ops.sum(_ops.cast(_ops.logical_not(_ops.isnan(x)), x.dtype), axes(axis), keepdims=keepdims)
    return to_dtype(nansum(x, axis, keepdims) / number, dtype)


def median(input: Any, axis: Any = -1, keepdims: bool = False) -> tuple[Any, Any]:
    """The middle element, the lower of two, and where it is."""
    return _middle(tensor(input), axis, keepdims, False)


def nanmedian(input: Any, axis: Any = -1, keepdims: bool = False) -> tuple[Any, Any]:
    """The middle element of those that are not NaN, and where it is."""
    return _middle(tensor(input), axis, keepdims, True)


def _middle(x: Any, axis: int, keepdims: bool, ignore_nan: bool) -> tuple[Any, Any]:
    if x.ndim == 0:
        return x, _ops.zeros((), int64)
    axis = normalize_axis("median", axis, x.ndim)
    ordered, index = _ops.sort(x, axis)
    number = x.shape[axis]
    if ignore_nan:
        found = _ops.sum(_ops.cast(_ops.logical_not(_ops.isnan(x)), int64), axis, keepdims=True)
        place = _ops.maximum(found - 1, 0) // 2
    else:
        nans = _ops.any(_ops.isnan(x), axis, keepdims=True)
        place = _ops.where(nans, number - 1, (number - 1) // 2)  # NaN is sorted to the end
    value, at = _ops.gather_elements(ordered, axis, place), _ops.gather_elements(index, axis, place)
    at = _ops.cast(at, int64)
    return (value, at) if keepdims else (_ops.squeeze(value, axis), _ops.squeeze(at, axis))


def quantile(input: Any, q: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The value below which a part q of the elements lies."""
    return _ops.quantile(tensor(input), static(q), axis, keepdims)


# ---------------------------------------------------------------- along an axis


def cumsum(x: Any, axis: Any, dtype: Any = None) -> Any:
    """The running sum along an axis, in the dtype of the input."""
    x = to_dtype(tensor(x), dtype)
    return to_dtype(_ops.cumsum(x, static(axis)), x.dtype)


def cumprod(input: Any, dim: Any, dtype: Any = None) -> Any:
    """The running product along an axis; integers are multiplied in int64."""
    return _ops.cumprod(tensor(input), static(dim), dtype)


def cummax(input: Any, axis: int) -> tuple[Any, Any]:
    """The running maximum along an axis, and where it is."""
    value, index = _ops.cummax(tensor(input), axis)
    return value, _ops.cast(index, int64)


def cummin(input: Any, axis: int) -> tuple[Any, Any]:
    """The running minimum along an axis, and where it is."""
    value, index = _ops.cummin(tensor(input), axis)
    return value, _ops.cast(index, int32)


def shifted(x: Any, axis: int, first: Any) -> Any:
    """Every element one place further along an axis: what a running sum becomes that leaves out its own element."""
    n = x.shape[axis]
    start = _ops.full_like(_ops.slice_axis(x, axis, 0, 1), first)
    return _ops.concat([start, _ops.slice_axis(x, axis, 0, n - 1)], axis)


def running(function: Any, x: Any, axis: Any, exclusive: bool, reverse: bool, first: Any) -> Any:
    """A running function along an axis, from the end if `reverse`, of the elements before if `exclusive`."""
    axis = normalize_axis("cumulative function", static(axis), x.ndim)
    x = _ops.flip(x, axis) if reverse else x
    found = function(x, axis)
    found = shifted(found, axis, first) if exclusive else found
    return _ops.flip(found, axis) if reverse else found


def logcumsumexp(input: Any, axis: int) -> Any:
    """The running log(sum(exp(x))) along an axis."""
    x = in_float(input)
    axis = normalize_axis("logcumsumexp", static(axis), x.ndim)
    parts = [_ops.slice_axis(x, axis, 0, 1)]
    for i in builtins.range(1, x.shape[axis]):
        parts.append(_ops.logaddexp(parts[-1], _ops.slice_axis(x, axis, i, i + 1)))
    return _ops.concat(parts, axis) if len(parts) > 1 else parts[0]


def sort(input_x: Any, axis: int = -1, descending: bool = False) -> tuple[Any, Any]:
    """The elements in order along an axis, and where each came from."""
    value, index = _ops.sort(tensor(input_x), axis, descending)
    return value, _ops.cast(index, int32)


def argsort(input: Any, axis: int = -1, descending: bool = False) -> Any:
    """Where the elements in order along an axis come from."""
    return _ops.cast(_ops.argsort(tensor(input), axis, descending), int32)


def msort(input: Any) -> Any:
    """The elements in order along the first axis."""
    return sort(input, 0)[0]


def topk(input: Any, k: Any, dim: Any = None, largest: bool = True, sorted: bool = True) -> tuple[Any, Any]:
    """The k largest (or smallest) along an axis, and where they are."""
    value, index = _ops.topk(tensor(input), int(static(k)), dim, largest, sorted)
    return value, _ops.cast(index, int32)


def top_k(input_x: Any, k: Any, sorted: bool = True) -> tuple[Any, Any]:
    """The k largest along the last axis, and where they are."""
    return topk(input_x, k, None, True, sorted)


def reduce_std(x: Any, axis: Any = (), unbiased: bool = True, keep_dims: bool = False) -> tuple[Any, Any]:
    """The standard deviation and the mean along axes."""
    return std_mean(x, axis, int(unbiased), keep_dims)


def histc(input: Any, bins: int = 100, min: Any = 0.0, max: Any = 0.0) -> Any:
    """How many elements lie in each of equally wide bins between two bounds: by default the smallest and largest."""
    x = tensor(input)
    values = x.asnumpy().ravel()
    low, high = (values.min(), values.max()) if min == max and values.size else (min, max)
    low, high = (low - 1, high + 1) if low == high else (low, high)
    counts = np.histogram(values.astype(np.float64), bins, (float(low), float(high)))[0]
    return tensor(counts.astype(x.dtype if x.dtype == int32 else float32))


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each number occurs, or the sum of its weights."""
    found = _ops.bincount(tensor(input), weights, static(minlength))
    return to_dtype(found, float32 if weights is None else tensor(weights).dtype)


__all__ = listed(globals())
