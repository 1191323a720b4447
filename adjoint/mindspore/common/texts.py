"""Tensors as MindSpore shows them among other objects: `Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00, ...])`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core.tensor_text import dtype_name

MANY, EDGE = 1000, 3  # of more elements than this, only so many at each end of an axis


def with_values(array: np.ndarray) -> str:
    """A Tensor that holds this array.

    >>> print(with_values(np.array(3.0)), with_values(np.array([1, 20])), with_values(np.arange(1001.0)[:0]))
    Tensor(shape=[], dtype=Float64, value= 3) Tensor(shape=[2], dtype=Int64, value= [ 1, 20]) Tensor(shape=[0], dtype=Float64, value= )
    """
    gap = "\n" if array.ndim > 1 else " "
    return f"Tensor(shape={list(array.shape)}, dtype={dtype_name(array.dtype)}, value={gap}{_values(array)})"


def _values(array: np.ndarray) -> str:
    if array.size == 0:
        return ""
    if array.ndim == 0:
        return _short(array[()])
    kept = array.size <= MANY
    shown = array if kept else array[np.ix_(*(_ends(n) for n in array.shape))]
    write, width, per_line = _style(shown)
    return _block(array, lambda v: write(v).rjust(width), kept, per_line, 1)


def _ends(n: int) -> np.ndarray:
    return np.arange(n) if n <= 2 * EDGE else np.r_[:EDGE, n - EDGE : n]


def _short(v: Any) -> str:
    """A number by itself: six digits of a float are enough."""
    if isinstance(v, np.complexfloating):
        return f"{v.real:g}{v.imag:+g}j"
    return f"{float(v):g}" if v.dtype.kind in "fV" else str(v)


def _style(shown: np.ndarray) -> tuple[Callable[[Any], str], int, int]:
    """How an element is written, how wide, and how many to a line."""
    if shown.dtype.kind == "f":
        digits = 4 if shown.dtype.itemsize == 2 else 8
        return (lambda v: f"{v:.{digits}e}"), digits + 7, 12
    if shown.dtype.kind == "c":
        return _short, 0, 24
    return _short, max(len(_short(v)) for v in shown.flat), 24


def _block(array: np.ndarray, write: Callable[[Any], str], kept: bool, per_line: int, depth: int) -> str:
    """The elements in brackets, one axis inside the other."""
    n = len(array)
    cut = not kept and n > 2 * EDGE
    if array.ndim > 1:
        rows = [_block(array[i], write, kept, per_line, depth + 1) for i in _ends(n)] if cut else [
            _block(row, write, kept, per_line, depth + 1) for row in array
        ]  # fmt: skip
        between = ",\n" + " " * depth
        if cut:
            return f"[{between.join(rows[:EDGE])}{between}...\n{' ' * depth}{between.join(rows[EDGE:])}]"
        return f"[{between.join(rows)}]"
    if cut:
        return f"[{', '.join(map(write, array[:EDGE]))} ... {', '.join(map(write, array[-EDGE:]))}]"
    texts = list(map(write, array))
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, n, per_line)]
    return f"[{(', ' + chr(10) + ' ' * depth).join(lines)}]"
