"""NumPy's functions that move, repeat and pad, with its signatures."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from adjoint.core import views
from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import normalize_axis
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.functional.readonly import read_only
from adjoint.ops.language import where as _where
from adjoint.ops.numpylike import pad_modes
from adjoint.ops.numpylike.common import (
    array_of,
    cast,
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
    _refuse_memory_order("reshape", x, order)
    return _f.reshape(x, shape, order="C" if order == "A" else order)


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
    """As numpy.pad, in every mode but "empty" and functions of one's own."""
    x = tensor(array)
    if isinstance(pad_width, dict):
        pairs: Any = [(0, 0)] * x.ndim
        for axis, pair in pad_width.items():
            pairs[axis] = pair if isinstance(pair, tuple) else (pair, pair)
        pad_width = pairs
    widths = [(int(a), int(b)) for a, b in np.broadcast_to(array_of(pad_width), (x.ndim, 2))]
    if mode in pad_modes.MODES:
        return pad_modes.padded(x, widths, mode, kwargs)
    if mode != "constant":
        if mode in ("reflect", "symmetric") and kwargs.get("reflect_type") == "odd":
            refuse("pad", **{k: v for k, v in kwargs.items() if k != "reflect_type"})
            return pad_modes.odd_reflection(x, widths, mode)
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
