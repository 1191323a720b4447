"""NumPy's functions that join and split, with its signatures."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.core.spec import normalize_axis
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.numpylike.common import (
    array_of,
    array_of_known,
    cast,
    one_axis,
    promoted,
    stored,
    tensor,
    tensors,
)
from adjoint.ops.numpylike.movement import atleast_1d, atleast_2d, atleast_3d, ravel
from adjoint.ops.numpylike.result_orders import f_or_c_order

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
