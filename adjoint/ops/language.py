"""The op language: the functions that derivative rules are written in, with arguments given in full.

Rules call one another in a circle: the derivative of a sum is a broadcast, that of a broadcast is a sum. This module is
where the circle closes, and the only import cycle inside `ops`: the cards imported here, and the helpers beneath them, see
it as `from adjoint.ops import language as F` and write `F.where(F.equal(x, 0), 1, x)`; all other files import the names.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.spec import dtype_of, shape_of
from adjoint.ops.arithmetic import abs_ as abs
from adjoint.ops.arithmetic import add, div, masked_mul, mod, mul, neg, sign, sub
from adjoint.ops.arithmetic import floor_div as floor_divide
from adjoint.ops.arithmetic import pow_ as pow
from adjoint.ops.bitwise import BitwiseAnd, BitwiseNot, BitwiseOr, BitwiseXor, LeftShift, RightShift
from adjoint.ops.broadcasting import BroadcastTo
from adjoint.ops.card import card
from adjoint.ops.casting import Cast
from adjoint.ops.casting import stop as stop_gradient
from adjoint.ops.compare import (
    ceil,
    equal,
    floor,
    greater,
    greater_equal,
    less,
    less_equal,
    not_equal,
    trunc,
)
from adjoint.ops.compare import where_ as where
from adjoint.ops.complex_parts import conj_ as conj
from adjoint.ops.complex_parts import real
from adjoint.ops.contract import matmul_ as matmul
from adjoint.ops.movement import Reshape, Transpose
from adjoint.ops.reduce import Any as AnyTrue
from adjoint.ops.reduce import Sum
from adjoint.ops.transcendental import log, sqrt

__all__ = [
    "abs", "add", "any_of", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "broadcast_to", "cast", "ceil",
    "conj", "div", "equal", "expand_last", "expand_row", "floor", "floor_divide", "greater", "greater_equal",
    "left_shift", "less", "less_equal", "log", "logical_not", "masked_mul", "matmul", "mod", "moveaxis", "mul", "neg",
    "not_equal", "permute", "pow", "real", "reshape", "right_shift", "sgn", "sign", "sqrt", "squeeze_axis",
    "squeeze_last", "stop_gradient", "sub", "sum_axes", "trunc", "where", "zeros_like",
]  # fmt: skip

bitwise_and, bitwise_or, bitwise_xor, bitwise_not = BitwiseAnd(), BitwiseOr(), BitwiseXor(), BitwiseNot()
left_shift, right_shift = LeftShift(), RightShift()


def sum_axes(x: Any, axes: tuple[int, ...]) -> Any:
    """Sum along these axes, which disappear."""
    return x.sum(axis=axes) if type(x) is np.ndarray else card(Sum, axes, False)(x)


def reshape(x: Any, shape: tuple[int, ...]) -> Any:
    """The same elements under another shape, given in full."""
    return x.reshape(shape) if type(x) is np.ndarray else card(Reshape, shape)(x)


def broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    """Repeat along new axes and axes of size 1."""
    if isinstance(x, np.generic):  # a view of one number, far cheaper to make than np.broadcast_to's
        return np.ndarray(shape, x.dtype, np.asarray(x), 0, (0,) * len(shape))
    return card(BroadcastTo, shape)(x)


def permute(x: Any, perm: tuple[int, ...]) -> Any:
    """The axes in another order."""
    return x.transpose(perm) if type(x) is np.ndarray else card(Transpose, perm)(x)


def moveaxis(x: Any, source: int, target: int) -> Any:
    """One axis moved to another place, both non-negative."""
    order = [a for a in range(len(shape_of(x))) if a != source]
    order.insert(target, source)
    return permute(x, tuple(order))


def expand_last(x: Any) -> Any:
    """A new last axis."""
    return reshape(x, (*shape_of(x), 1))


def expand_row(x: Any) -> Any:
    """A new second last axis."""
    shape = shape_of(x)
    return reshape(x, (*shape[:-1], 1, shape[-1]))


def squeeze_axis(x: Any, axis: int) -> Any:
    """Drop an axis of size 1."""
    shape = shape_of(x)
    return reshape(x, shape[:axis] + shape[axis + 1 :])


def squeeze_last(x: Any) -> Any:
    """Drop a last axis of size 1."""
    return reshape(x, shape_of(x)[:-1])


def cast(x: Any, dtype: Any) -> Any:
    """The values in another dtype."""
    return card(Cast, np.dtype(dtype))(x)


def zeros_like(x: Any) -> Any:
    """Plain zeros of the same shape and dtype."""
    return np.zeros(shape_of(x), dtype_of(x))


def sgn(x: Any) -> Any:
    """x / |x|, and 0 at 0: the sign of a real number, the direction of a complex one."""
    if dtype_of(x).kind != "c":
        return sign(x)
    size = abs(x)
    zero = equal(size, 0)
    return where(zero, 0, x / where(zero, 1, size))


def logical_not(x: Any) -> Any:
    """True where x is zero or false."""
    return equal(x, 0)


def any_of(x: Any) -> Any:
    """Whether any element is true."""
    return card(AnyTrue, tuple(range(len(shape_of(x)))), False)(x)
