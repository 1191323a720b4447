"""Numbers and arrays as Python source, exactly."""

from __future__ import annotations

import ast
import base64
from typing import Any

import numpy as np

from adjoint.core.spec import is_half
from adjoint.explanations.rule_formulas import literal
from adjoint.explanations.spelling import NoSpellingError, dtype_name, parsed

#: Elements of an array that is written out as numbers; larger ones are written as their bytes.
WRITTEN = 200
#: Characters of an array that stands inside an expression; longer ones get a name at the head.
INSIDE = 44


def number_tree(value: Any, weak: bool) -> ast.expr:
    """A single number: a plain one where NumPy would take it for what it is, else with its dtype.

    >>> ast.unparse(number_tree(np.float32(0.1), weak=False)), ast.unparse(number_tree(np.float32(0.1), weak=True))
    ('np.float32(0.1)', '0.1')
    """
    if not isinstance(value, (np.ndarray, np.generic)):
        return literal(value)
    scalar: Any = np.asarray(value)[()]
    plain = _shortest(scalar)
    if weak:
        return literal(plain)
    return ast.Call(parsed(dtype_text(scalar.dtype)), [literal(plain)], [])


def dtype_text(dtype: np.dtype) -> str:
    """The name of a dtype; NumPy alone has no bfloat16."""
    if is_half(dtype) and dtype.name != "float16":
        raise NoSpellingError("source: NumPy has no bfloat16: cast to float32 first")
    return dtype_name(dtype)


def _shortest(scalar: Any) -> Any:
    """The Python number with the fewest digits that is this number in its dtype."""
    if scalar.dtype.kind == "f" and scalar.dtype.itemsize < 8 and np.isfinite(scalar):
        short = float(str(scalar))
        if scalar.dtype.type(short) == scalar:
            return short
    return scalar.item()


def array_text(array: np.ndarray) -> str:
    """An array as an expression.

    >>> array_text(np.ones((2, 3), np.float32)), array_text(np.array([1.5, np.nan]))
    ('np.ones((2, 3), np.float32)', 'np.array([1.5, np.nan])')
    """
    dtype = dtype_text(array.dtype)
    said = "" if array.dtype == np.float64 else f", {dtype}"
    shape = f"({array.shape[0]},)" if array.ndim == 1 else str(array.shape)
    if array.size and array.tobytes() == array.flat[0].tobytes() * array.size:
        first = array.flat[0]
        if array.dtype.kind != "c" and not np.signbit(np.asarray(first, np.float64)) and first in (0, 1):
            return f"np.{'ones' if first else 'zeros'}({shape}{said})"
        if array.size > 3:
            return f"np.full({shape}, {ast.unparse(literal(_shortest(first)))}, {dtype})"
    if not array.size:
        return f"np.zeros({shape}{said})"
    if array.size > WRITTEN:
        packed = base64.b85encode(np.ascontiguousarray(array).tobytes()).decode()
        return f"np.frombuffer(base64.b85decode({packed!r}), {dtype}).reshape({shape})"
    plain = array.dtype in (np.dtype(np.float64), np.dtype(np.int64), np.dtype(bool))
    return f"np.array({_nested(array)}{'' if plain else f', {dtype}'})"


def _nested(array: np.ndarray) -> str:
    if array.ndim:
        return "[" + ", ".join(_nested(np.asarray(part)) for part in array) + "]"
    return ast.unparse(literal(_shortest(array[()])))
