"""Functions that pick elements by index or mask, put them there, and reduce segments."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import ops as _ops
from adjoint.core.errors import ArgumentError
from adjoint.core.parameter import Parameter
from adjoint.core.spec import int32, int64, is_inexact, normalize_axis
from adjoint.mindspore.ops.promotion import listed, promoted, sizes, static, tensor, to_dtype
from adjoint.ops.indexing import index_put_add


def check_indices(what: str, index: Any) -> None:
    """Refuse indices that are no integers."""
    if index.dtype.kind not in "iu":
        raise TypeError(f"For '{what}', the indices must be integers, but got {index.dtype}.")


def gather(input_params: Any, input_indices: Any, axis: Any, batch_dims: int = 0) -> Any:
    """The slices at these places along an axis; with `batch_dims`, of each element of a batch for itself.

    >>> from adjoint import Tensor
    >>> print(gather(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1, 0]), 1, 1))
    [2. 3.]
    """
    x, index = tensor(input_params), tensor(input_indices)
    check_indices("Gather", index)
    axis = normalize_axis("gather", static(axis), x.ndim)
    if not batch_dims:
        return _ops.take(x, index, axis)
    lead = batch_dims if batch_dims >= 0 else batch_dims + index.ndim
    x = _ops.moveaxis(x, axis, lead)
    rank = index.ndim
    grid = [
        np.arange(index.shape[a]).reshape([-1 if a == b else 1 for b in builtins.range(rank)])
        for a in builtins.range(lead)
    ]
    found = _ops.getitem(x, (*grid, index))
    between = axis - lead  # axes before the gathered one, which stand behind the indices now
    order = [*builtins.range(lead), *builtins.range(rank, rank + between), *builtins.range(lead, rank)]
    return _ops.transpose(found, [*order, *builtins.range(rank + between, found.ndim)])


def gather_d(x: Any, dim: Any, index: Any) -> Any:
    """The element at an index along an axis, for each place of the index."""
    return _ops.gather_elements(tensor(x), static(dim), tensor(index))


def index_add(x: Any, indices: Any, y: Any, axis: int, use_lock: bool = True, check_index_bound: bool = True) -> Any:
    """The slices of y added at these places along an axis."""
    found = _ops.index_add(x.value() if isinstance(x, Parameter) else x, indices, y, axis)
    if isinstance(x, Parameter):
        x.set_data(found)
    return found


def take(input: Any, index: Any) -> Any:
    """The elements at these places of the flattened Tensor."""
    return _ops.take(_ops.reshape(tensor(input), (-1,)), tensor(index), 0)


def select(condition: Any, input: Any, other: Any) -> Any:
    """Where the condition is true the first, elsewhere the second."""
    return where(condition, input, other)


def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """Where the condition is true the first, elsewhere the second."""
    return _ops.where(tensor(condition), *promoted(input, other))


def masked_fill(input_x: Any, mask: Any, value: Any) -> Any:
    """The Tensor with one value where the mask is true."""
    x = tensor(input_x)
    return _ops.where(tensor(mask), to_dtype(tensor(value), x.dtype), x)


def masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    """The Tensor with elements of a source, one after the other, where the mask is true."""
    x = tensor(input)
    mask = _ops.broadcast_to(tensor(mask), x.shape)
    flat = _ops.reshape(mask, (-1,))
    place = _ops.maximum(_ops.cumsum(_ops.cast(flat, int64), 0) - 1, 0)
    values = _ops.take(_ops.reshape(tensor(source), (-1,)), place, 0)
    return _ops.where(mask, _ops.reshape(values, x.shape), x)


def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """Where the elements are not zero."""
    return _ops.nonzero(tensor(input), as_tuple)


def unique(input: Any) -> tuple[Any, Any]:
    """The elements without repetition in the order of their first appearance, and for each element its place there."""
    x = tensor(input)
    values = x.asnumpy().ravel()
    _, first, back = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    places = np.argsort(order)[back.ravel()]
    found = _ops.take(_ops.reshape(x, (-1,)), np.sort(first), 0)
    return found, tensor(places.reshape(values.shape).astype(np.int64 if x.dtype == int64 else np.int32))


def unique_with_pad(x: Any, pad_num: Any) -> tuple[Any, Any]:
    """As unique, filled up to the size of the input."""
    found, places = unique(x)
    rest = tensor(x).size - found.size
    return _ops.concat([found, _ops.full((rest,), static(pad_num), found.dtype)], 0), places


def unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None) -> Any:
    """The elements, or slices along an axis, without repetitions that follow one another."""
    x = tensor(input)
    line = _ops.reshape(x, (-1,)) if dim is None else x
    axis = 0 if dim is None else normalize_axis("unique_consecutive", dim, x.ndim)
    values = np.moveaxis(line.asnumpy(), axis, 0)
    rows = values.reshape(len(values), -1)
    new = np.concatenate([[True], (rows[1:] != rows[:-1]).any(1)])
    start = np.flatnonzero(new)
    back = np.cumsum(new) - 1
    results = [_ops.take(line, start, axis)]
    if return_inverse:
        results.append(tensor(back.reshape(x.shape if dim is None else (-1,)).astype(np.int64)))
    if return_counts:
        results.append(tensor(np.diff([*start, len(rows)]).astype(np.int64)))
    return results[0] if len(results) == 1 else tuple(results)


def searchsorted(
    sorted_sequence: Any,
    values: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """Where values would have to be put into a sorted sequence to keep it sorted."""
    sequence = tensor(sorted_sequence)
    if sorter is not None:
        sequence = _ops.gather_elements(sequence, -1, sorter)
    found = _ops.searchsorted(sequence, tensor(values), right or side == "right")
    return _ops.cast(found, int32 if out_int32 else int64)


def bucketize(input: Any, boundaries: Any, *, right: bool = False) -> Any:
    """Which of the intervals between boundaries each element lies in."""
    x = tensor(input)
    found = np.searchsorted(np.asarray(static(boundaries), np.float64), x.asnumpy(), "right" if right else "left")
    return tensor(found.astype(np.int32))


# ---------------------------------------------------------------- segments


def _of_segments(x: Any, segment_ids: Any, count: Any, fill: Any, reduce: Callable[[Any], Any]) -> Any:
    """Each segment reduced, with `fill` in the place of what does not belong to it."""
    x, ids = tensor(x), tensor(segment_ids)
    flat, rest = _ops.reshape(ids, (-1,)), tuple(x.shape[ids.ndim :])
    rows = _ops.reshape(x, (flat.shape[0], 1, *rest))
    own = _ops.equal(_ops.reshape(flat, (-1, 1)), np.arange(int(static(count))))
    own = _ops.reshape(own, (*own.shape, *(1 for _ in rest)))
    return reduce(_ops.where(own, rows, fill))


def lowest(dtype: Any) -> Any:
    """The smallest number of a dtype."""
    return float(np.finfo(dtype).min) if is_inexact(dtype) else int(np.iinfo(dtype).min)


def highest(dtype: Any) -> Any:
    """The largest number of a dtype."""
    return float(np.finfo(dtype).max) if is_inexact(dtype) else int(np.iinfo(dtype).max)


def unsorted_segment_sum(input_x: Any, segment_ids: Any, num_segments: Any) -> Any:
    """The sum of the elements with each id; those with negative ids are left out.

    >>> from adjoint import Tensor
    >>> print(unsorted_segment_sum(Tensor([1.0, 2.0, 4.0]), Tensor([0, 1, 0]), 2))
    [5. 2.]
    """
    x, ids, count = tensor(input_x), tensor(segment_ids), int(static(num_segments))
    rest = tuple(x.shape[ids.ndim :])
    flat = _ops.reshape(ids, (-1,))
    flat = _ops.where(_ops.less(flat, 0), count, flat)  # one segment more, which is dropped
    total = _ops.index_add(_ops.zeros((count + 1, *rest), x.dtype), flat, _ops.reshape(x, (flat.shape[0], *rest)), 0)
    return _ops.slice_axis(total, 0, 0, count)


def unsorted_segment_max(x: Any, segment_ids: Any, num_segments: Any) -> Any:
    """The largest of the elements with each id; the smallest number of the dtype for an id without elements."""
    return _of_segments(x, segment_ids, num_segments, lowest(tensor(x).dtype), lambda rows: _ops.amax(rows, 0))


def unsorted_segment_min(x: Any, segment_ids: Any, num_segments: Any) -> Any:
    """The smallest of the elements with each id; the largest number of the dtype for an id without elements."""
    return _of_segments(x, segment_ids, num_segments, highest(tensor(x).dtype), lambda rows: _ops.amin(rows, 0))


def unsorted_segment_prod(x: Any, segment_ids: Any, num_segments: Any) -> Any:
    """The product of the elements with each id; 1 for an id without elements."""
    return _of_segments(x, segment_ids, num_segments, 1, lambda rows: to_dtype(_ops.prod(rows, 0), tensor(x).dtype))


def segments(kind: str) -> Callable[[Any, Any], Any]:
    """A reduction of segments with sorted ids: as many as the last id says, 0 for those without elements."""

    def call(x: Any, segment_ids: Any) -> Any:
        x, ids = tensor(x), tensor(segment_ids)
        numbers = ids.asnumpy()
        count = int(numbers[-1]) + 1
        sizes = np.bincount(numbers, minlength=count).reshape((-1,) + (1,) * (x.ndim - 1))
        reduce = {
            "sum": unsorted_segment_sum,
            "mean": unsorted_segment_sum,
            "max": unsorted_segment_max,
            "min": unsorted_segment_min,
            "prod": unsorted_segment_prod,
        }[kind]
        found = reduce(x, ids, count)
        if kind == "mean":
            found = found / np.maximum(sizes, 1).astype(x.dtype)
        return found if kind in ("sum", "mean", "prod") else _ops.where(sizes > 0, found, 0)

    return call


def sparse_segment_mean(x: Any, indices: Any, segment_ids: Any) -> Any:
    """The means of segments of the slices at these places."""
    return segments("mean")(_ops.take(tensor(x), tensor(indices), 0), segment_ids)


# ---------------------------------------------------------------- scattering


def scatter_nd(indices: Any, updates: Any, shape: Any) -> Any:
    """Zeros with updates added at these places."""
    updates = tensor(updates)
    return _ops.scatter_nd_add(_ops.zeros(sizes(shape), updates.dtype), indices, updates)


def _lines(x: Any, indices: Any, updates: Any) -> tuple[Any, Any, Any]:
    """The Tensor with the indexed axes in one, a place in it for each update, and the updates in a line."""
    x, indices, updates = tensor(x), tensor(indices), tensor(updates)
    k = indices.shape[-1]
    lead, rest = tuple(x.shape[:k]), tuple(x.shape[k:])
    steps = [int(np.prod(lead[a + 1 :])) for a in builtins.range(k)]
    place: Any = 0
    for a in builtins.range(k):
        place = place + _ops.cast(_ops.getitem(indices, (..., a)), int64) * steps[a]
    place = _ops.reshape(place, (-1,))
    return _ops.reshape(x, (int(np.prod(lead)), *rest)), place, _ops.reshape(updates, (place.shape[0], *rest))


def _scattered(combine: Callable[[Any, Any], Any], reduce: Callable[..., Any]) -> Callable[..., Any]:
    def call(input_x: Any, indices: Any, updates: Any) -> Any:
        rows, place, values = _lines(input_x, indices, updates)
        return _ops.reshape(combine(rows, reduce(values, place, rows.shape[0])), tensor(input_x).shape)

    return call


tensor_scatter_max = _scattered(_ops.maximum, unsorted_segment_max)
tensor_scatter_min = _scattered(_ops.minimum, unsorted_segment_min)
tensor_scatter_mul = _scattered(_ops.mul, unsorted_segment_prod)
tensor_scatter_div = _scattered(lambda x, y: to_dtype(x / y, x.dtype), unsorted_segment_prod)


def tensor_scatter_add(input_x: Any, indices: Any, updates: Any) -> Any:
    """The Tensor with updates added at these places."""
    return _ops.scatter_nd_add(tensor(input_x), indices, updates)


def tensor_scatter_sub(input_x: Any, indices: Any, updates: Any) -> Any:
    """The Tensor with updates subtracted at these places."""
    return _ops.scatter_nd_add(tensor(input_x), indices, -tensor(updates))


def tensor_scatter_update(input_x: Any, indices: Any, updates: Any) -> Any:
    """The Tensor with updates at these places."""
    return _ops.tensor_scatter_update(tensor(input_x), indices, updates)


def tensor_scatter_elements(input_x: Any, indices: Any, updates: Any, axis: int = 0, reduction: str = "none") -> Any:
    """The Tensor with updates at, or added at, an index along an axis."""
    if reduction not in ("none", "add"):
        raise ArgumentError(f"tensor_scatter_elements: reduction must be 'none' or 'add', not {reduction!r}")
    return (_ops.scatter if reduction == "none" else _ops.scatter_add)(tensor(input_x), axis, indices, updates)


def index_put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """The Tensor with values at, or added at, the places that index Tensors name."""
    put = index_put_add if accumulate else _ops.setitem
    return put(tensor(x), tuple(indices), values)


def _rows(x: Any, v: Any, indices: Any, change: Callable[[Any, Any, Any], Any]) -> Any:
    places = (indices,) if isinstance(indices, int) else static(indices)
    return change(tensor(x), np.asarray(places), tensor(v))


def inplace_add(x: Any, v: Any, indices: Any) -> Any:
    """The Tensor with v added to these rows."""
    return _rows(x, v, indices, lambda x, i, v: _ops.index_add(x, i, v, 0))


def inplace_sub(x: Any, v: Any, indices: Any) -> Any:
    """The Tensor with v subtracted from these rows."""
    return _rows(x, v, indices, lambda x, i, v: _ops.index_add(x, i, -v, 0))


def inplace_update(x: Any, v: Any, indices: Any) -> Any:
    """The Tensor with v in these rows."""
    return _rows(x, v, indices, lambda x, i, v: _ops.setitem(x, i, v))


def select_scatter(input: Any, src: Any, axis: int, index: int) -> Any:
    """The Tensor with src at one place of an axis."""
    axis = normalize_axis("select_scatter", axis, input.ndim)
    return _ops.setitem(input, (*(builtins.slice(None),) * axis, index), src)


def slice_scatter(input: Any, src: Any, axis: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    """The Tensor with src in a slice of an axis."""
    axis = normalize_axis("slice_scatter", axis, input.ndim)
    return _ops.setitem(input, (*(builtins.slice(None),) * axis, builtins.slice(start, end, step)), src)


def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The Tensor with src on a diagonal."""
    x = _ops.moveaxis(input, (dim1, dim2), (-2, -1))
    n, m = x.shape[-2:]
    i = np.arange(builtins.max(0, -offset), builtins.min(n, m - offset))
    x = _ops.setitem(x, (..., i, i + offset), src)
    return _ops.moveaxis(x, (-2, -1), (dim1, dim2))


__all__ = listed(globals())
