"""Reductions of the rows that share a segment: `segment_sum` and its kin, and the running `logcumsumexp`."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.dispatch import Value
from adjoint.core.errors import AdjointError, ArgumentError, DtypeError, IndexingError, ShapeError, called_at
from adjoint.core.spec import dtype_of, int64, is_half, is_inexact, normalize_axis, shape_of
from adjoint.ops.along_axis import argsort, cumsum
from adjoint.ops.broadcasting import broadcast_to
from adjoint.ops.card import card
from adjoint.ops.compare import equal, isfinite, less, less_equal, maximum
from adjoint.ops.functional.reduction import prod
from adjoint.ops.index import Gather, index_array, take_along_axis
from adjoint.ops.indexing import getitem, index_put_add
from adjoint.ops.joining import concat
from adjoint.ops.language import cast, div, stop_gradient, where
from adjoint.ops.movement import reshape
from adjoint.ops.publish import public
from adjoint.ops.slicing import slice_axis
from adjoint.ops.transcendental import logaddexp


def _ids(what: str, data: Any, segment_ids: Any, num_segments: int | None) -> tuple[Any, int, np.ndarray | None]:
    """The segment of each row, their number, and the same as an array where it is known."""
    ids = index_array(segment_ids)
    if dtype_of(ids).kind not in "iu":
        raise DtypeError(f"{what}: segment_ids must be integers, not {dtype_of(ids)}{called_at()}")
    if len(shape_of(ids)) != 1 or shape_of(data)[:1] != shape_of(ids):
        raise ShapeError(
            f"{what}: segment_ids, of shape {shape_of(ids)}, must name a segment for each row of the data, of shape "
            f"{shape_of(data)}{called_at()}"
        )
    try:
        known = ids.asnumpy() if isinstance(ids, Value) else np.asarray(ids)
    except AdjointError:  # known only when a graph runs, or different within a batch
        known = None
    if num_segments is None:
        if known is None:
            raise ArgumentError(
                f"{what}: num_segments must be given where segment_ids are known only when the graph runs, or differ "
                f"within a batch{called_at()}"
            )
        num_segments = int(known.max()) + 1 if known.size else 0
    if num_segments < 0:
        raise ArgumentError(f"{what}: num_segments is {num_segments}, and must be 0 or more{called_at()}")
    if known is not None and known.size and (known.min() < 0 or known.max() >= num_segments):
        wrong = known[(known < 0) | (known >= num_segments)][0]
        raise IndexingError(f"{what}: the segment {wrong} is not one of the {num_segments}{called_at()}")
    if (
        known is None
    ):  # looked at when the graph runs; a negative number would count from the end: it goes below all places
        wide = cast(ids, int64)
        ids = card(Gather, what)(np.arange(num_segments), where(less(wide, 0), wide - num_segments, wide))
    return ids if known is None else known, int(num_segments), known


def _zeros(data: Any, count: int) -> np.ndarray:
    return np.zeros((count, *shape_of(data)[1:]), dtype_of(data))


@public()
def segment_sum(data: Any, segment_ids: Any, num_segments: int | None = None) -> Any:
    """The sum of the rows of each segment; those of one without rows are 0.

    `segment_ids` says for each row, in any order, to which segment it belongs. `num_segments` is by default one more than
    the largest of them, and must be given where they are known only when a compiled function runs.

    >>> from adjoint import ops, Tensor
    >>> print(ops.segment_sum(Tensor([1.0, 2.0, 4.0]), [0, 1, 0]))
    [5. 2.]
    """
    ids, count, _ = _ids("segment_sum", data, segment_ids, num_segments)
    return index_put_add(_zeros(data, count), (ids,), data)


@public()
def segment_mean(data: Any, segment_ids: Any, num_segments: int | None = None) -> Any:
    """The mean of the rows of each segment; 0 for one without rows.

    >>> from adjoint import ops, Tensor
    >>> print(ops.segment_mean(Tensor([1.0, 2.0, 4.0]), [0, 1, 0], 3))
    [2.5 2.  0. ]
    """
    ids, count, _ = _ids("segment_mean", data, segment_ids, num_segments)
    total = index_put_add(_zeros(data, count), (ids,), data)
    dtype = dtype_of(total) if is_inexact(dtype_of(total)) else np.dtype("float64")
    rows = maximum(_counts(ids, count), 1)
    return div(total, cast(_as_rows(rows, total), dtype))


def _counts(ids: Any, count: int) -> Any:
    """How many rows each segment has."""
    return index_put_add(np.zeros(count, np.int64), (ids,), np.ones(shape_of(ids), np.int64))


def _as_rows(x: Any, like: Any) -> Any:
    return reshape(x, (*shape_of(x), *(1,) * (len(shape_of(like)) - 1)))


@public()
def segment_max(data: Any, segment_ids: Any, num_segments: int | None = None) -> Any:
    """The largest element of each segment; minus infinity (of integers, the lowest) for one without rows. Ties share the derivative evenly.

    >>> from adjoint import ops, Tensor
    >>> print(ops.segment_max(Tensor([1.0, 2.0, 4.0]), [0, 1, 0]))
    [4. 2.]
    """
    return _extreme("segment_max", data, segment_ids, num_segments, largest=True)


@public()
def segment_min(data: Any, segment_ids: Any, num_segments: int | None = None) -> Any:
    """The smallest element of each segment; infinity (of integers, the highest) for one without rows. Ties share the derivative evenly.

    >>> from adjoint import ops, Tensor
    >>> print(ops.segment_min(Tensor([1.0, 2.0, 4.0]), [0, 1, 0]))
    [1. 2.]
    """
    return _extreme("segment_min", data, segment_ids, num_segments, largest=False)


def _extreme(what: str, data: Any, segment_ids: Any, num_segments: int | None, largest: bool) -> Any:
    """The rows sorted by value, then by segment: the last of each segment is its extreme."""
    dtype = dtype_of(data)
    if dtype.kind == "c":
        raise DtypeError(f"{what}: complex numbers have no order{called_at()}")
    ids, count, _ = _ids(what, data, segment_ids, num_segments)
    rows = shape_of(data)[0]
    if rows == 0 or count == 0:
        return np.full((count, *shape_of(data)[1:]), _unreached(dtype, largest), dtype)
    flat = reshape(data, (rows, -1)) if all(shape_of(data)) else reshape(data, (rows, 0))
    values = stop_gradient(flat)
    by_value = argsort(values, 0, not largest)
    owner = take_along_axis(broadcast_to(reshape(ids, (rows, 1)), shape_of(flat)), by_value, 0)
    order = take_along_axis(by_value, argsort(owner, 0), 0)
    counts = _counts(ids, count)
    last = maximum(cumsum(counts, 0) - 1, 0)
    best = take_along_axis(values, getitem(order, (last,)), 0)
    best = where(reshape(less(0, counts), (count, 1)), best, _unreached(dtype, largest))
    if is_inexact(dtype):
        # The values stand already; what is added is 0, and brings the derivative: an even share for each tie.
        reached = equal(values, getitem(best, (ids,)))
        finite = where(isfinite(values), flat, 0.0)
        ties = index_put_add(np.zeros((count, shape_of(flat)[1]), _wide(dtype)), (ids,), cast(reached, _wide(dtype)))
        share = div(where(reached, finite, 0.0), cast(getitem(maximum(ties, 1.0), (ids,)), dtype))
        carried = index_put_add(np.zeros((count, shape_of(flat)[1]), dtype), (ids,), share)
        best = best + (carried - stop_gradient(carried))
    return reshape(best, (count, *shape_of(data)[1:]))


def _wide(dtype: np.dtype) -> np.dtype:
    return np.dtype("float32") if is_half(dtype) else dtype


def _unreached(dtype: np.dtype, largest: bool) -> Any:
    """What a maximum or a minimum of nothing is."""
    if is_inexact(dtype):
        return -np.inf if largest else np.inf
    if dtype.kind == "b":
        return not largest
    return np.iinfo(dtype).min if largest else np.iinfo(dtype).max


@public()
def segment_prod(data: Any, segment_ids: Any, num_segments: int | None = None) -> Any:
    """The product of the rows of each segment; 1 for one without rows. Exact derivatives where factors are 0.

    >>> from adjoint import ops, Tensor
    >>> print(ops.segment_prod(Tensor([1.0, 2.0, 4.0]), [0, 1, 0], 3))
    [4. 2. 1.]
    """
    ids, count, known = _ids("segment_prod", data, segment_ids, num_segments)
    rows = shape_of(data)[0]
    if known is None:  # each segment looks at all rows
        mine = equal(reshape(ids, (1, rows)), np.arange(count).reshape(-1, 1))
        mine = reshape(mine, (count, rows, *(1,) * (len(shape_of(data)) - 1)))
        return prod(where(mine, reshape(data, (1, *shape_of(data))), np.ones((), dtype_of(data))), 1)
    longest = int(np.bincount(known, minlength=1).max()) if known.size else 0
    place = np.full((count, longest), rows)  # behind the last row stands a 1
    order = np.argsort(known, kind="stable")
    inside = np.arange(rows) - np.searchsorted(known[order], known[order])
    place[known[order], inside] = order
    padded = concat([data, np.ones((1, *shape_of(data)[1:]), dtype_of(data))], 0)
    return prod(getitem(padded, (place,)), 1)


@public(method=True)
def logcumsumexp(input: Any, axis: int) -> Any:
    """The running log(sum(exp(x))) along an axis, without overflow.

    >>> from adjoint import ops, Tensor
    >>> print(ops.logcumsumexp(Tensor([0.0, 0.0, -1000.0]), 0))
    [0.        0.6931472 0.6931472]
    """
    axis = normalize_axis("logcumsumexp", axis, len(shape_of(input)))
    n, step, dtype = shape_of(input)[axis], 1, dtype_of(input)
    if not is_inexact(dtype):
        dtype = np.dtype("float64")
    y = cast(input, np.float32) if is_half(dtype) else cast(input, dtype)
    if dtype.kind == "c":
        raise DtypeError(f"logcumsumexp: complex numbers have no order{called_at()}")
    # The sum of nothing but minus infinities has a derivative of 0: they are computed as very negative numbers.
    lowest = float(np.finfo(dtype_of(y)).min) / 2
    y = where(less(y, lowest), lowest, y)
    while step < n:  # each element has the sum of the last `step` ones; the others stand ready
        sums = logaddexp(slice_axis(y, axis, step, n), slice_axis(y, axis, 0, n - step))
        y, step = concat([slice_axis(y, axis, 0, step), sums], axis), 2 * step
    y = where(less_equal(y, lowest / 2), -np.inf, y)
    return cast(y, dtype) if is_half(dtype) else y
