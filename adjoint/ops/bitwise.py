"""Cards of logic on the bits of integers and on booleans, and shifts."""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np

from adjoint.ops.card import register
from adjoint.ops.families import Discrete
from adjoint.ops.integer_ranges import logic, shifted


class OnBits(Discrete):
    """Ops on the bits of integers."""

    is_operator = True


class Logic(OnBits):
    """Bits of two operands, each with its fellow; booleans stay booleans."""

    arity, emits = 2, "ib"

    def integers(self, a, b):
        return logic(a, b)

    @classmethod
    def samples(cls, draw):
        yield cls(), (draw(2, 3, dtype="int64"), draw(3, dtype="int64"))
        yield cls(), (draw(3, dtype="bool"), draw(3, dtype="bool"))


@register(function="bitwise_and", method=True, ufunc=np.bitwise_and, example="bitwise_and(Tensor([6]), 3) -> [2]")
@dataclass(frozen=True)
class BitwiseAnd(Logic):
    """Bits set in both; logical `and` of booleans."""

    def eval(self, xp, x, y):
        return xp.bitwise_and(x, y)

    def emit(self, b, x, y):
        return b.bitwise_and(x, y)


@register(function="bitwise_or", method=True, ufunc=np.bitwise_or, example="bitwise_or(Tensor([6]), 3) -> [7]")
@dataclass(frozen=True)
class BitwiseOr(Logic):
    """Bits set in either; logical `or` of booleans."""

    def eval(self, xp, x, y):
        return xp.bitwise_or(x, y)

    def emit(self, b, x, y):
        return b.bitwise_or(x, y)


@register(function="bitwise_xor", method=True, ufunc=np.bitwise_xor, example="bitwise_xor(Tensor([6]), 3) -> [5]")
@dataclass(frozen=True)
class BitwiseXor(Logic):
    """Bits set in one of the two; exclusive `or` of booleans."""

    def eval(self, xp, x, y):
        return xp.bitwise_xor(x, y)

    def emit(self, b, x, y):
        return b.bitwise_xor(x, y)


@register(function="bitwise_not", ufunc=np.invert, example="bitwise_not(Tensor([6])) -> [-7]")
@dataclass(frozen=True)
class BitwiseNot(OnBits):
    """Every bit flipped; logical `not` of booleans."""

    emits = "ib"

    def eval(self, xp, x):
        return xp.bitwise_not(x)

    def emit(self, b, x):
        return b.bitwise_not(x)

    def integers(self, a):
        return ~a[1], ~a[0]

    @classmethod
    def samples(cls, draw):
        yield cls(), (draw(2, 3, dtype="int64"),)
        yield cls(), (draw(3, dtype="bool"),)


@register(function="bitwise_left_shift", ufunc=np.left_shift, example="bitwise_left_shift(Tensor([3]), 2) -> [12]")
@dataclass(frozen=True)
class LeftShift(OnBits):
    """x * 2**y for integers."""

    arity, emits = 2, "i"

    def eval(self, xp, x, y):
        return xp.left_shift(x, y)

    def emit(self, b, x, y):
        return b.left_shift(x, y)

    def integers(self, a, b):
        return shifted(operator.lshift, a, b)

    @classmethod
    def samples(cls, draw):
        yield cls(), (draw(2, 3, dtype="int64"), np.array([0, 1, 2]))


@register(function="bitwise_right_shift", ufunc=np.right_shift, example="bitwise_right_shift(Tensor([12]), 2) -> [3]")
@dataclass(frozen=True)
class RightShift(OnBits):
    """x // 2**y for integers."""

    arity, emits, samples = 2, "i", LeftShift.__dict__["samples"]

    def eval(self, xp, x, y):
        return xp.right_shift(x, y)

    def emit(self, b, x, y):
        return b.right_shift(x, y)

    def integers(self, a, b):
        return shifted(operator.rshift, a, b)
