"""NumPy's functions that move, join, split, repeat and pad, with its signatures."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from adjoint.core import views
from adjoint.core.errors import ArgumentError, ArgumentTypeError, ShapeError, called_at
from adjoint.core.spec import normalize_axis
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.compare import where as _where
from adjoint.ops.functional.readonly import read_only
from adjoint.ops.numpylike.common import (
    array_of,
    array_of_known,
    cast,
    one_axis,
    promoted,
    refuse,
    stored,
    tensor,
    tensors,
)
from adjoint.ops.numpylike.result_orders import c_order, f_or_c_order, k_order


def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: Any = None) -> Any:
    """As numpy.reshape; the result never shares memory that can be written to."""
    x = tensor(a)
    shape = tuple(shape) if isinstance(shape, (tuple, list, np.ndarray)) else (shape,)
    if order == "F":
        return _f.transpose(_f.reshape(_f.transpose(x), shape[::-1]))
    _refuse_memory_order("reshape", x, order)
    if order not in ("C", "A"):
        raise ArgumentError(f"reshape: order must be 'C' or 'F', not {order!r}{called_at()}")
    return _f.reshape(x, shape)


def ravel(a: Any, order: str = "C") -> Any:
    """As numpy.ravel."""
    x = tensor(a)
    _refuse_memory_order("ravel", x, order)
    return _f.ravel(x, order) if order in ("C", "F") else reshape(x, -1, "C" if order == "K" else order)


def _refuse_memory_order(what: str, x: Any, order: str) -> None:
    """Orders that depend on where the elements lie, which a graph does not know."""
    if order in ("A", "K") and x.ndim > 1:
        raise ArgumentError(
            f"{what}: order {order!r} depends on how the elements lie in memory; write 'C' or 'F'{called_at()}"
        )


def transpose(a: Any, axes: Any = None) -> Any:
    """As numpy.transpose."""
    return _f.transpose(tensor(a), axes)


permute_dims = transpose


def matrix_transpose(x: Any, /) -> Any:
    """As numpy.matrix_transpose."""
    if tensor(x).ndim < 2:
        raise ShapeError(f"matrix_transpose: a matrix is needed, not shape {tensor(x).shape}{called_at()}")
    return _f.swapaxes(tensor(x), -1, -2)


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """As numpy.swapaxes."""
    return _f.swapaxes(tensor(a), axis1, axis2)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """As numpy.moveaxis."""
    return _f.moveaxis(tensor(a), source, destination)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """As numpy.rollaxis."""
    x = tensor(a)
    axis = normalize_axis("rollaxis", axis, x.ndim)
    start = start + x.ndim if start < 0 else start
    if not 0 <= start <= x.ndim:
        raise ShapeError(f"rollaxis: start {start} for {x.ndim} axes{called_at()}")
    return F.moveaxis(x, axis, start - 1 if axis < start else start)


def squeeze(a: Any, axis: Any = None) -> Any:
    """As numpy.squeeze."""
    return _f.squeeze(tensor(a), axis)


def expand_dims(a: Any, axis: Any) -> Any:
    """As numpy.expand_dims."""
    return _f.expand_dims(tensor(a), axis)


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """As numpy.broadcast_to."""
    size = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(shape)
    return read_only(
        "broadcast_to", tensor(array), lambda x: F.broadcast_to(x, size), lambda x: np.broadcast_to(x, size)
    )


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """As numpy.broadcast_arrays."""
    arrays = tensors(args)
    shape = _f.broadcast_arrays(*arrays)[0].shape if arrays else ()
    return tuple(broadcast_to(x, shape) for x in arrays)


def tile(A: Any, reps: Any) -> Any:
    """As numpy.tile."""
    return _f.tile(tensor(A), tuple(int(n) for n in np.atleast_1d(array_of(reps))))


@c_order
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """As numpy.repeat."""
    return _f.repeat(tensor(a), repeats, axis)


def flip(m: Any, axis: Any = None) -> Any:
    """As numpy.flip."""
    return _f.flip(tensor(m), axis)


def fliplr(m: Any) -> Any:
    """As numpy.fliplr."""
    return flip(m, 1)


def flipud(m: Any) -> Any:
    """As numpy.flipud."""
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """As numpy.rot90."""
    x, (first, second) = tensor(m), axes
    match k % 4:
        case 0:
            return x
        case 2:
            return _f.flip(x, (first, second))
        case 1:
            return _f.swapaxes(_f.flip(x, second), first, second)
        case _:
            return _f.flip(_f.swapaxes(x, first, second), second)


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """As numpy.roll."""
    return (c_order if axis is None else k_order)(_roll)(a, shift, axis)


def _roll(a: Any, shift: Any, axis: Any) -> Any:
    axes, shifts = (v if isinstance(v, (tuple, list)) else (v,) for v in (axis, shift))
    pairs = np.broadcast(np.asarray(shifts), np.asarray(axes))
    x = tensor(a)
    for step, one in pairs:
        x = _f.roll(x, int(step), one)
    return views.own(x, a)


# ---------------------------------------------------------------- joining


def _joined(join: Any, arrays: list[Any], axis: Any, out: Any, dtype: Any, casting: str) -> Any:
    if not arrays:
        raise ArgumentError(f"need at least one array to join{called_at()}")
    wanted = np.dtype(dtype) if dtype is not None else promoted(arrays)
    for a in arrays:
        if not np.can_cast(a.dtype, wanted, casting):  # type: ignore[arg-type]
            raise ArgumentTypeError(f"cannot cast {a.dtype} to {wanted} with casting={casting!r}{called_at()}")
    return stored(out, join([cast(a, wanted) for a in arrays], axis))


def concatenate(
    arrays: Any, /, axis: int | None = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """As numpy.concatenate."""
    parts = tensors(arrays)
    if axis is None:
        parts, axis = [ravel(a) for a in parts], 0
    return _joined(_f.concat, parts, axis, out, dtype, casting)


concat = concatenate


def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """As numpy.stack."""
    return _joined(_f.stack, tensors(arrays), axis, out, dtype, casting)


def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """As numpy.vstack."""
    return concatenate([atleast_2d(a) for a in tup], 0, dtype=dtype, casting=casting)


def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """As numpy.hstack."""
    parts = [atleast_1d(a) for a in tup]
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


def dstack(tup: Any) -> Any:
    """As numpy.dstack."""
    return concatenate([atleast_3d(a) for a in tup], 2)


def column_stack(tup: Any) -> Any:
    """As numpy.column_stack."""
    parts = tensors(tup)
    return concatenate([_f.reshape(a, (-1, 1)) if a.ndim < 2 else a for a in parts], 1)


def block(arrays: Any) -> Any:
    """As numpy.block."""
    depth = _depth(arrays)
    rank = builtins.max(depth, *(tensor(a).ndim for a in _flat(arrays)))
    return _assembled(arrays, depth, rank)


def _depth(arrays: Any) -> int:
    return 1 + builtins.max((_depth(a) for a in arrays), default=0) if isinstance(arrays, list) else 0


def _flat(arrays: Any) -> list[Any]:
    return [leaf for a in arrays for leaf in _flat(a)] if isinstance(arrays, list) else [arrays]


def _assembled(arrays: Any, depth: int, rank: int) -> Any:
    if not isinstance(arrays, list):
        x = tensor(arrays)
        return _f.reshape(x, (1,) * (rank - x.ndim) + x.shape)
    return concatenate([_assembled(a, depth - 1, rank) for a in arrays], axis=rank - depth)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """As numpy.append."""
    return concatenate([arr, values], axis)


@f_or_c_order
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """As numpy.insert."""
    x, axis = one_axis("insert", tensor(arr), axis)
    places = obj if isinstance(obj, slice) else array_of(obj)
    new, n = tensor(values), x.shape[axis]
    new = _f.reshape(new, (1,) * (x.ndim - new.ndim) + new.shape)
    if not isinstance(places, slice) and places.ndim == 0:
        new = F.moveaxis(new, 0, axis)
    count = np.insert(np.zeros(n), places, 0).size - n
    if count == 1:
        count = new.shape[axis]
    new = F.broadcast_to(new, (*x.shape[:axis], count, *x.shape[axis + 1 :]))
    order = np.insert(np.arange(n), places, np.arange(n, n + count))
    return _f.take(_f.concat([x, cast(new, x.dtype)], axis), order, axis)


@f_or_c_order
def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """As numpy.delete."""
    x, axis = one_axis("delete", tensor(arr), axis)
    kept = np.delete(np.arange(x.shape[axis]), obj if isinstance(obj, slice) else array_of_known("delete", obj))
    return _f.take(x, kept, axis)


# ---------------------------------------------------------------- splitting


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """As numpy.array_split."""
    return list(_f.array_split(tensor(ary), indices_or_sections, axis))


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """As numpy.split."""
    x = tensor(ary)
    if isinstance(indices_or_sections, (int, np.integer)):
        size = x.shape[normalize_axis("split", axis, x.ndim)]
        if size % indices_or_sections:
            raise ArgumentError(
                f"split: {size} elements do not make {indices_or_sections} equal pieces; use array_split"
            )
    return array_split(x, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """As numpy.hsplit."""
    return split(ary, indices_or_sections, 1 if tensor(ary).ndim > 1 else 0)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """As numpy.vsplit."""
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """As numpy.dsplit."""
    return split(ary, indices_or_sections, 2)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """As numpy.unstack."""
    return _f.unstack(tensor(x), axis)


# ---------------------------------------------------------------- shapes, diagonals, padding


def _at_least(n: int, shape_of_few: Any, arys: tuple[Any, ...]) -> Any:
    xs = [x if x.ndim >= n else _f.reshape(x, shape_of_few(x.shape)) for x in tensors(arys)]
    return xs[0] if len(xs) == 1 else tuple(xs)


def atleast_1d(*arys: Any) -> Any:
    """As numpy.atleast_1d."""
    return _at_least(1, lambda shape: (1,), arys)


def atleast_2d(*arys: Any) -> Any:
    """As numpy.atleast_2d."""
    return _at_least(2, lambda shape: (1, prod(shape)), arys)


def atleast_3d(*arys: Any) -> Any:
    """As numpy.atleast_3d."""
    return _at_least(3, lambda shape: (*shape, 1) if len(shape) == 2 else (1, prod(shape), 1), arys)


def diag(v: Any, k: int = 0) -> Any:
    """As numpy.diag."""
    return _f.diag(tensor(v), k)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """As numpy.diagonal."""
    return _f.diagonal(tensor(a), offset, axis1, axis2)


def diagflat(v: Any, k: int = 0) -> Any:
    """As numpy.diagflat."""
    return _f.diag_embed(ravel(v), k)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    """As numpy.trace."""
    return stored(out, _f.sum(cast(diagonal(a, offset, axis1, axis2), dtype), -1))


def _square(m: Any) -> Any:
    """A line stands for a square matrix with that line in each row."""
    x = tensor(m)
    return x if x.ndim > 1 else F.broadcast_to(x, (x.size, x.size))


def tril(m: Any, k: int = 0) -> Any:
    """As numpy.tril."""
    return _f.tril(_square(m), k)


def triu(m: Any, k: int = 0) -> Any:
    """As numpy.triu."""
    return _f.triu(_square(m), k)


@c_order
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Any, ...]:
    """As numpy.meshgrid."""
    lines = [ravel(x) for x in xi]
    if not sparse:
        return _f.meshgrid(*lines, indexing=indexing)
    swap = {0: 1, 1: 0} if indexing == "xy" and len(lines) > 1 else {}
    n = len(lines)
    return tuple(_f.reshape(x, tuple(-1 if k == swap.get(i, i) else 1 for k in range(n))) for i, x in enumerate(lines))


def resize(a: Any, new_shape: Any) -> Any:
    """As numpy.resize."""
    x = ravel(a)
    if not x.size:
        return tensor(np.resize(np.zeros(0, x.dtype), new_shape))
    return _f.take(x, np.resize(np.arange(x.size), new_shape), 0)


@f_or_c_order
def pad(array: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Any:
    """As numpy.pad, for the modes constant, edge, reflect, symmetric and wrap."""
    x = tensor(array)
    if isinstance(pad_width, dict):
        pairs: Any = [(0, 0)] * x.ndim
        for axis, pair in pad_width.items():
            pairs[axis] = pair if isinstance(pair, tuple) else (pair, pair)
        pad_width = pairs
    widths = [(int(a), int(b)) for a, b in np.broadcast_to(array_of(pad_width), (x.ndim, 2))]
    if mode != "constant":
        if kwargs.get("reflect_type") == "even":
            kwargs.pop("reflect_type")
        refuse("pad", **kwargs)
        return _f.pad_widths(x, widths, mode)
    values = tensor(kwargs.pop("constant_values", 0))
    refuse("pad", **kwargs)
    values = cast(F.broadcast_to(values, (x.ndim, 2)), x.dtype)
    for axis, (before, after) in enumerate(widths):
        x = _pad_axis(x, axis, before, after, values[axis, 0], values[axis, 1])
    return views.own(x, array)


def _pad_axis(x: Any, axis: int, before: int, after: int, left: Any, right: Any) -> Any:
    if not before and not after:
        return x
    place = np.arange(x.shape[axis] + before + after).reshape((-1,) + (1,) * (x.ndim - axis - 1))
    padded = _f.pad_widths(x, [(before, after) if k == axis else (0, 0) for k in range(x.ndim)])
    return _where(place < before, left, _where(place >= before + x.shape[axis], right, padded))
