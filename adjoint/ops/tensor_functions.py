"""What Tensor's own operators and methods call: the functions that `core.language.Language` states."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from adjoint.ops.casting import replaced
from adjoint.ops.compare import round
from adjoint.ops.functional.decimal_rounding import round_decimal
from adjoint.ops.indexing import getitem, place, setitem
from adjoint.ops.language import (
    abs,
    add,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    cast,
    ceil,
    div,
    equal,
    floor,
    floor_divide,
    greater,
    greater_equal,
    left_shift,
    less,
    less_equal,
    matmul,
    mod,
    mul,
    neg,
    not_equal,
    pow,
    reshape,
    right_shift,
    stop_gradient,
    sub,
    trunc,
)
from adjoint.ops.stacking import array, rows

__all__ = [
    "abs", "add", "array", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "cast", "ceil", "div",
    "equal", "everywhere", "floor", "floor_divide", "getitem", "greater", "greater_equal", "left_shift", "less", "less_equal",
    "matmul", "mod", "mul", "neg", "not_equal", "numpy_function", "numpy_ufunc", "place", "pow", "replaced",
    "reshape", "right_shift", "rows", "round", "round_decimal", "setitem", "stop_gradient", "sub", "trunc", "writes",
]  # fmt: skip


@cache
def _protocol() -> ModuleType:
    """The tables of NumPy's functions, loaded when first needed."""
    from adjoint.ops.numpylike import protocol

    return protocol


def numpy_ufunc(ufunc: Any, method: str, inputs: tuple, options: dict) -> Any:
    """What a NumPy ufunc means for a Tensor."""
    return _protocol().numpy_ufunc(ufunc, method, inputs, options)


def numpy_function(function: Any, args: tuple, kwargs: dict) -> Any:
    """What a NumPy function means for a Tensor."""
    return _protocol().numpy_function(function, args, kwargs)


def everywhere(x: Any, answer: bool) -> Any:
    """The same answer for each element."""
    return array(np.full(x.shape, answer)) if x.shape else answer


def writes(x: Any, new: Any) -> bool:
    """`x += v` writes into x, as in NumPy."""
    return True
