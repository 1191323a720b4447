"""Methods of Tensors that the engine has too, with MindSpore's arguments, old and new, and its results."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import ops as _engine
from adjoint.core.errors import ArgumentError
from adjoint.core.spec import dtype_of, is_inexact
from adjoint.core.tensor import Tensor
from adjoint.core.tensor_text import dtype_name
from adjoint.mindspore import ops
from adjoint.mindspore.ops import index_functions as _indexing
from adjoint.mindspore.ops import reduction_functions as _reductions
from adjoint.mindspore.ops.promotion import in_float, sizes, static, tensor, to_dtype

_NONE = object()


def _given(*values: Any, default: Any = None) -> Any:
    """The first of several names of one argument that is given."""
    return next((v for v in values if v is not _NONE), default)


def _extreme(largest: bool) -> Callable[..., Any]:
    function, both = (ops.amax, ops.max) if largest else (ops.amin, ops.min)

    def call(
        x: Any,
        *place: Any,
        axis: Any = _NONE,
        keepdims: Any = _NONE,
        dim: Any = _NONE,
        keepdim: Any = _NONE,
        initial: Any = None,
        where: Any = None,
        return_indices: bool = False,
    ) -> Any:
        along = _given(place[0] if place else _NONE, dim, axis)
        keep = bool(_given(place[1] if len(place) > 1 else _NONE, keepdim, keepdims, default=False))
        new = axis is _NONE and keepdims is _NONE and initial is None and where is None
        if return_indices or (new and isinstance(static(along), builtins.int)):
            return both(x, along, keep, initial=initial, where=where)
        return function(x, along, keep, initial=initial, where=where)

    return call


def _sum(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    *,
    dim: Any = _NONE,
    keepdim: Any = _NONE,
    keep_dims: Any = _NONE,
) -> Any:
    """The sum; the second argument by place is a dtype, or whether to keep the axes."""
    if isinstance(dtype, builtins.bool):
        dtype, keepdims = None, dtype
    keep = builtins.bool(_given(keepdim, keep_dims, keepdims))
    total = ops.sum(x, _given(dim, axis), keep, dtype=dtype)
    return total if initial is None else total + initial


def _mean(
    x: Any,
    axis: Any = None,
    keep_dims: Any = False,
    *,
    dim: Any = _NONE,
    keepdim: Any = _NONE,
    keepdims: Any = _NONE,
    dtype: Any = None,
) -> Any:
    return ops.mean(to_dtype(x, dtype), _given(dim, axis), builtins.bool(_given(keepdim, keepdims, keep_dims)))


def _prod(
    x: Any,
    axis: Any = None,
    keep_dims: Any = False,
    dtype: Any = None,
    *,
    dim: Any = _NONE,
    keepdim: Any = _NONE,
    keepdims: Any = _NONE,
) -> Any:
    return ops.prod(x, _given(dim, axis), builtins.bool(_given(keepdim, keepdims, keep_dims)), dtype)


def _spread(function: Callable[..., Any]) -> Callable[..., Any]:
    """The variance or the standard deviation."""

    def call(
        x: Any,
        axis: Any = None,
        ddof: Any = 0,
        keepdims: Any = False,
        *,
        dim: Any = _NONE,
        correction: Any = _NONE,
        keepdim: Any = _NONE,
        unbiased: Any = _NONE,
    ) -> Any:
        new = correction is not _NONE or unbiased is not _NONE or dim is not _NONE or keepdim is not _NONE
        freedom = _given(correction, unbiased, default=0) if new and ddof == 0 else ddof
        return function(in_float(x), _given(dim, axis), builtins.int(freedom), builtins.bool(_given(keepdim, keepdims)))

    return call


def _truth(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(
        x: Any,
        axis: Any = None,
        keep_dims: Any = False,
        *,
        dim: Any = _NONE,
        keepdim: Any = _NONE,
        keepdims: Any = _NONE,
    ) -> Any:
        return function(x, _given(dim, axis), builtins.bool(_given(keepdim, keepdims, keep_dims)))

    return call


def _index(function: Callable[..., Any]) -> Callable[..., Any]:
    """Where the largest or the smallest is."""

    def call(x: Any, axis: Any = None, keepdims: Any = False, *, dim: Any = _NONE, keepdim: Any = _NONE) -> Any:
        return function(x, _given(dim, axis), builtins.bool(_given(keepdim, keepdims)))

    return call


def _along(function: Callable[..., Any], default: Any = _NONE) -> Callable[..., Any]:
    """A function with an axis, which may be called `dim`, and other arguments."""

    def call(x: Any, *args: Any, dim: Any = _NONE, **kwargs: Any) -> Any:
        if dim is not _NONE:
            kwargs["axis"] = dim
        if default is not _NONE and not args:
            kwargs.setdefault("axis", default)
        return function(x, *args, **kwargs)

    return call


def _sort(x: Any, axis: int = -1, descending: bool = False, *, dim: Any = _NONE, stable: bool = False) -> Any:
    return ops.sort(x, _given(dim, axis), descending)


def _median(x: Any, axis: int = -1, keepdims: Any = False, *, dim: Any = _NONE, keepdim: Any = _NONE) -> Any:
    return ops.median(x, _given(dim, axis), builtins.bool(_given(keepdim, keepdims)))


def _split(
    x: Any, split_size_or_sections: Any = None, axis: int = 0, *, dim: Any = _NONE, split_size: Any = None
) -> Any:
    return ops.split(x, split_size if split_size_or_sections is None else split_size_or_sections, _given(dim, axis))


def _flatten(x: Any, *args: Any, order: str = "C", start_dim: int = 0, end_dim: int = -1) -> Any:
    """All axes in one, or those from the first number to the second."""
    if args and isinstance(args[0], str):
        order, args = args[0], args[1:]
    start, end = [*args, start_dim, end_dim][:2] if not args else [*args, end_dim][:2]
    return _engine.flatten(x, order, start_dim=start, end_dim=end)


def _transpose(x: Any, *axes: Any, dim0: Any = None, dim1: Any = None) -> Any:
    """The axes in another order; two ints exchange two axes."""
    if dim0 is not None:
        axes = (dim0, dim1)
    if len(axes) == 2 and x.ndim != 2:
        return _engine.swapaxes(x, *axes)
    if len(axes) == 2 and axes[0] == axes[1]:
        raise ArgumentError(f"transpose: {axes} names an axis twice")
    return _engine.transpose(x, *(static(a) for a in axes))


def _gather(
    x: Any, input_indices: Any = None, axis: Any = None, batch_dims: int = 0, *, dim: Any = None, index: Any = None
) -> Any:
    """The slices at indices along an axis; with the axis first, the element at each index along it."""
    if dim is not None or isinstance(input_indices, builtins.int):
        along, at = (dim if dim is not None else input_indices), (index if index is not None else axis)
        return ops.gather_elements(x, along, at)
    return ops.gather(x, input_indices, axis, batch_dims)


def _scatter(
    x: Any, axis: Any = None, index: Any = None, src: Any = None, *, dim: Any = None, value: Any = None
) -> Any:
    source = value if src is None else src
    if not isinstance(source, Tensor):
        source = _engine.full(index.shape, source, x.dtype)
    return ops.scatter(x, dim if axis is None else axis, index, source)


def _scatter_add(x: Any, dim: Any, index: Any = None, src: Any = None) -> Any:
    return _engine.scatter_add(x, dim, index, src)


def _take(x: Any, indices: Any, axis: Any = None, mode: str = "clip") -> Any:
    """Elements along an axis, or of all; an index out of bounds is clipped, or goes round."""
    x = _engine.reshape(x, (-1,)) if axis is None else x
    axis = 0 if axis is None else axis
    n, at = x.shape[axis], tensor(indices)
    if mode == "wrap":
        at = _engine.mod(at, n)
    elif mode == "clip":
        at = _engine.clamp(_engine.where(_engine.less(at, 0), at + n, at), 0, n - 1)
    return _engine.take(x, at, axis)


def _where(x: Any, condition: Any, y: Any) -> Any:
    return ops.where(condition, x, y)


def _select(x: Any, *args: Any, condition: Any = None, y: Any = None, axis: Any = None, index: Any = None) -> Any:
    """x where a condition is true, else y; or one slice along an axis."""
    first, second = (*args, *(condition if axis is None else axis, y if index is None else index)[len(args) :])
    if isinstance(first, Tensor) and first.dtype.kind == "b":
        return ops.where(first, x, second)
    return _engine.getitem(x, (*(builtins.slice(None),) * (first % x.ndim), second))


def _scaled(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, other: Any = None, *, alpha: Any = 1, y: Any = None) -> Any:
        other = y if other is None else other
        return function(x, other if alpha == 1 else alpha * other)

    return call


def _repeat(x: Any, *repeats: Any, axis: Any = _NONE) -> Any:
    """The Tensor repeated along each axis; with `axis`, each slice repeated."""
    if axis is not _NONE:
        return _engine.repeat(x, static(repeats[0]), axis)
    return _engine.tile(x, sizes(repeats[0] if len(repeats) == 1 else repeats))


def _tile(x: Any, *dims: Any, reps: Any = None) -> Any:
    dims = (reps,) if reps is not None else dims
    return ops.tile(x, dims[0] if len(dims) == 1 else dims)


def _expand(x: Any, *size: Any) -> Any:
    return ops.broadcast_to(x, size[0] if len(size) == 1 else size)


def _squeeze(x: Any, *axis: Any, **named: Any) -> Any:
    found = next(iter(named.values()), None) if named else axis[0] if len(axis) == 1 else axis or None
    return ops.squeeze(x, found)


def _nonzero(x: Any, *, as_tuple: bool = False) -> Any:
    return _engine.nonzero(x, as_tuple)


def _searchsorted(x: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    return ops.searchsorted(x, v, side=side, sorter=sorter, out_int32=True)


def _choose(x: Any, choices: Any, mode: str = "clip") -> Any:
    """The element of the choice that each index names."""
    table = choices if isinstance(choices, Tensor) else _engine.stack(_engine.broadcast_arrays(*map(tensor, choices)))
    n = table.shape[0]
    at = _engine.mod(x, n) if mode == "wrap" else _engine.clamp(x, 0, n - 1)
    at = _engine.cast(_engine.broadcast_to(at, np.broadcast_shapes(at.shape, table.shape[1:])), np.int64)
    rows = _engine.broadcast_to(table, (n, *at.shape))
    return _engine.squeeze(_engine.gather_elements(rows, 0, _engine.expand_dims(at, 0)), 0)


def _resize(x: Any, *new_shape: Any) -> Any:
    """The elements under another shape, cut off or filled up with zeros."""
    want = sizes(new_shape[0] if len(new_shape) == 1 else new_shape)
    n = builtins.int(np.prod(want))
    line = _engine.reshape(x, (-1,))
    if n > x.size:
        line = _engine.concat([line, _engine.zeros((n - x.size,), x.dtype)], 0)
    return _engine.reshape(_engine.slice_axis(line, 0, 0, n), want)


def _sum_to_size(x: Any, *size: Any) -> Any:
    want = sizes(size[0] if len(size) == 1 else size)
    lead = x.ndim - len(want)
    x = _engine.sum(x, tuple(range(lead))) if lead else x
    shared = tuple(a for a, n in enumerate(want) if n == 1 != x.shape[a])
    return _engine.sum(x, shared, keepdims=True) if shared else x


def _with_value(largest: bool) -> Callable[..., Any]:
    def call(x: Any, axis: Any = 0, keep_dims: bool = False) -> Any:
        return (ops.max if largest else ops.min)(x, axis, keep_dims)

    return call


def _type(x: Any, dtype: Any = None) -> Any:
    return dtype_name(x.dtype) if dtype is None else x.astype(dtype)


def _allclose(x: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    return builtins.bool(_engine.all(ops.isclose(x, other, rtol, atol, equal_nan)))


def _cumprod(x: Any, dim: Any = None, dtype: Any = None, *, axis: Any = None) -> Any:
    return ops.cumprod(x, axis if dim is None else dim, dtype)


def _logsumexp(x: Any, dim: Any = None, keepdim: Any = False, *, axis: Any = None, keep_dims: Any = _NONE) -> Any:
    return ops.logsumexp(x, axis if dim is None else dim, builtins.bool(_given(keep_dims, keepdim)))


def _remainder(x: Any, other: Any = None, *, divisor: Any = None) -> Any:
    return ops.remainder(x, divisor if other is None else other)


def _trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    found = to_dtype(_engine.trace(x, offset, axis1, axis2), x.dtype if is_inexact(dtype_of(x)) else None)
    return to_dtype(found, dtype)


def index_add(x: Any, dim: Any, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """Slices added along an axis."""
    return ops.index_add(x, index, source if alpha == 1 else source * alpha, dim)


#: Methods that take the place of the engine's.
METHODS: dict[str, Callable[..., Any]] = {
    "max": _extreme(True), "min": _extreme(False), "sum": _sum, "mean": _mean, "prod": _prod,
    "std": _spread(_reductions.std), "var": _spread(_reductions.var), "all": _truth(ops.all), "any": _truth(ops.any),
    "argmax": _index(ops.argmax), "argmin": _index(ops.argmin), "sort": _sort, "argsort": _along(ops.argsort),
    "topk": ops.topk, "median": _median, "cumsum": _along(ops.cumsum), "cumprod": _cumprod, "split": _split,
    "chunk": _along(ops.chunk), "flatten": _flatten, "transpose": _transpose, "gather": _gather, "scatter": _scatter,
    "scatter_add": _scatter_add, "take": _take, "where": _where, "add": _scaled(ops.add), "sub": _scaled(ops.sub),
    "mul": ops.mul, "div": ops.div, "pow": ops.pow, "repeat": _repeat, "tile": _tile, "expand": _expand,
    "broadcast_to": _expand, "squeeze": _squeeze, "nonzero": _nonzero, "logsumexp": _logsumexp, "norm": ops.norm,
    "remainder": _remainder, "trace": _trace, "unbind": ops.unbind, "clamp": ops.clamp, "clip": ops.clip, "svd": ops.svd,
    "maximum": ops.maximum, "minimum": ops.minimum, "flip": ops.flip, "roll": ops.roll, "masked_fill": ops.masked_fill,
    "unique": ops.unique, "bincount": ops.bincount, "index_add": index_add,
}  # fmt: skip

#: Methods that the engine has not.
FURTHER: dict[str, Callable[..., Any]] = {
    "argmax_with_value": _with_value(True), "argmin_with_value": _with_value(False), "searchsorted": _searchsorted,
    "choose": _choose, "resize": _resize, "select": _select, "sum_to_size": _sum_to_size, "type": _type,
    "allclose": _allclose, "reshape_as": lambda x, other: _engine.reshape(x, other.shape),
    "repeat_interleave": _along(ops.repeat_interleave), "swapdims": ops.swapdims, "ptp": _engine.ptp,
    "masked_scatter": _indexing.masked_scatter, "index_put": _indexing.index_put,
    "unsorted_segment_sum": ops.unsorted_segment_sum, "tensor_split": _along(ops.tensor_split),
}  # fmt: skip
