"""Diagonals of matrices as rows of Tensors, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import ops as _ops
from adjoint.core.errors import ArgumentError
from adjoint.mindspore.ops.promotion import listed, static, tensor, to_dtype

ALIGNMENTS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")


def _band(k: Any) -> tuple[int, int]:
    """The lowest and the highest diagonal that is meant."""
    found = static(k)
    if isinstance(found, int):
        return found, found
    return int(found[0]), int(found[-1])


def _length(rows: int, columns: int, k: int) -> int:
    return min(rows + min(k, 0), columns - max(k, 0))


def _places(rows: int, columns: int, low: int, high: int, align: str) -> tuple[np.ndarray, int]:
    """For each diagonal, from the highest down, and each place in its row: the place in the matrix, or -1 for padding."""
    if align not in ALIGNMENTS:
        raise ArgumentError(f"matrix_diag: align must be one of {ALIGNMENTS}, not {align!r}")
    above, below = align.split("_")
    width = max(_length(rows, columns, k) for k in range(low, high + 1))
    found = np.full((high - low + 1, width), -1)
    for row, k in enumerate(range(high, low - 1, -1)):
        n = _length(rows, columns, k)
        left = (k >= 0 and above == "LEFT") or (k <= 0 and below == "LEFT")
        start = 0 if left else width - n
        i = np.arange(n)
        found[row, start : start + n] = (i - min(k, 0)) * columns + i + max(k, 0)
    return found, width


def _spread(diagonals: Any, places: np.ndarray, rows: int, columns: int) -> tuple[Any, np.ndarray]:
    """The matrix that has these diagonals, with anything elsewhere, and where they are."""
    source = np.zeros(rows * columns, np.int64)
    own = np.zeros(rows * columns, bool)
    flat = places.ravel()
    source[flat[flat >= 0]] = np.flatnonzero(flat >= 0)
    own[flat[flat >= 0]] = True
    lead = tuple(diagonals.shape[:-1]) if places.shape[0] == 1 else tuple(diagonals.shape[:-2])
    line = _ops.reshape(diagonals, (*lead, places.size))
    values = _ops.take(line, source, len(lead))
    return _ops.reshape(values, (*lead, rows, columns)), own.reshape(rows, columns)


def matrix_diag(
    x: Any, k: Any = 0, num_rows: Any = -1, num_cols: Any = -1, padding_value: Any = 0, align: str = "RIGHT_LEFT"
) -> Any:
    """Matrices with these diagonals.

    >>> from adjoint import Tensor
    >>> print(matrix_diag(Tensor([1.0, 2.0]), 1))
    [[0. 1. 0.]
     [0. 0. 2.]
     [0. 0. 0.]]
    """
    x = tensor(x)
    low, high = _band(k)
    width = x.shape[-1]
    least = width - min(high, 0), width + max(low, 0)
    rows, columns = int(static(num_rows)), int(static(num_cols))
    if rows == columns == -1:
        rows = columns = max(least)
    rows, columns = least[0] if rows == -1 else rows, least[1] if columns == -1 else columns
    places, _ = _places(rows, columns, low, high, align)
    values, own = _spread(x, places, rows, columns)
    return _ops.where(own, values, to_dtype(tensor(padding_value), x.dtype))


def matrix_diag_part(x: Any, k: Any, padding_value: Any, align: str = "RIGHT_LEFT") -> Any:
    """Diagonals of matrices, one in each row, filled up to the longest."""
    x = tensor(x)
    low, high = _band(k)
    rows, columns = x.shape[-2:]
    places, _ = _places(rows, columns, low, high, align)
    flat = _ops.reshape(x, (*x.shape[:-2], rows * columns))
    values = _ops.take(flat, np.maximum(places, 0), x.ndim - 2)
    values = _ops.where(places >= 0, values, to_dtype(tensor(padding_value), x.dtype))
    return values if low != high else _ops.squeeze(values, -2)


def matrix_set_diag(x: Any, diagonal: Any, k: Any = 0, align: str = "RIGHT_LEFT") -> Any:
    """Matrices with these diagonals in place of their own."""
    x, diagonal = tensor(x), tensor(diagonal)
    low, high = _band(k)
    places, _ = _places(x.shape[-2], x.shape[-1], low, high, align)
    values, own = _spread(diagonal, places, x.shape[-2], x.shape[-1])
    return _ops.where(own, values, x)


def matrix_band_part(x: Any, lower: Any, upper: Any) -> Any:
    """Matrices with zeros but for so many diagonals below and above the middle one; -1 means all."""
    x = tensor(x)
    rows, columns = x.shape[-2:]
    offset = np.arange(columns) - np.arange(rows)[:, None]
    low, high = (_ops.reshape(tensor(v), (*tensor(v).shape, 1, 1)) for v in (lower, upper))
    kept = _ops.logical_and(
        _ops.logical_or(_ops.less(low, 0), _ops.greater_equal(offset + low, 0)),
        _ops.logical_or(_ops.less(high, 0), _ops.less_equal(offset, high)),
    )
    return _ops.where(kept, x, _ops.cast(0, x.dtype))


__all__ = listed(globals())
