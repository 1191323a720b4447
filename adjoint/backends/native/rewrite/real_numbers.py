"""Arithmetic with the nodes of a graph, written as one writes it, and the real functions that complex numbers need beside the cards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.graph.node import Builder, Node
from adjoint.ops import language as F
from adjoint.ops.broadcasting import BroadcastTo
from adjoint.ops.card import card
from adjoint.ops.casting import Cast
from adjoint.ops.compare import isfinite, less, less_equal
from adjoint.ops.families import Elementwise
from adjoint.ops.movement import Reshape


class PlainFunction(Elementwise):
    """A function of real numbers for compiled code alone: it is made when all derivatives are taken."""

    keeps_floats = True
    work, expensive = 8, True

    def partials(self, y: Any, *xs: Any) -> Any:
        raise NotImplementedError("it is made when all derivatives are taken")


@dataclass(frozen=True)
class CopySign(PlainFunction):
    """|x| with the sign of y."""

    arity, work, expensive = 2, 1, False

    def eval(self, xp: Any, x: Any, y: Any) -> Any:
        return xp.copysign(x, y)

    def emit(self, b: Any, x: Any, y: Any) -> Any:
        return b.copysign(x, y)


@dataclass(frozen=True)
class Hypot(PlainFunction):
    """sqrt(x**2 + y**2) without overflow on the way: infinite if either is, whatever the other."""

    arity = 2

    def eval(self, xp: Any, x: Any, y: Any) -> Any:
        return xp.hypot(x, y)

    def emit(self, b: Any, x: Any, y: Any) -> Any:
        power = 600 if x.dtype.itemsize == 8 else 70
        x, y = b.abs(x), b.abs(y)
        infinite = b.bitwise_or(b.compare("eq", x, np.inf), b.compare("eq", y, np.inf))
        most = b.maximum(x, y)
        large, small = b.compare("gt", most, 2.0 ** (power // 2)), b.compare("lt", most, 2.0 ** -(power // 2))
        scale, back = (
            b.select(large, b.constant(2.0**-k, x.dtype), b.select(small, b.constant(2.0**k, x.dtype), 1.0))
            for k in (power, -power)
        )
        x, y = b.mul(x, scale), b.mul(y, scale)
        return b.select(infinite, np.inf, b.mul(b.sqrt(b.fma(x, x, b.mul(y, y))), back))


@dataclass(frozen=True)
class SquareLessOne(PlainFunction):
    """x**2 + y**2 - 1 for 1/2 < x**2 + y**2 < 3, exact where it nearly vanishes."""

    arity = 2

    def eval(self, xp: Any, x: Any, y: Any) -> Any:
        wide = xp.longdouble
        return xp.asarray(xp.square(x, dtype=wide) + xp.square(y, dtype=wide) - 1, xp.result_type(x, y))

    def emit(self, b: Any, x: Any, y: Any) -> Any:
        x, y = b.abs(x), b.abs(y)
        most, least = b.maximum(x, y), b.minimum(x, y)
        p, q = b.mul(most, most), b.mul(least, least)
        rest = b.add(b.fma(most, most, b.neg(p)), b.fma(least, least, b.neg(q)))
        return b.add(b.add(b.sub(p, 1.0), q), rest)


class RealNumber:
    """A node of real numbers with the operators of Python. Numbers beside it take its dtype."""

    def __init__(self, builder: Builder, node: Node) -> None:
        self.builder, self.node = builder, node

    @property
    def dtype(self) -> np.dtype:
        return self.node.spec.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.node.shape

    def number(self, value: float) -> RealNumber:
        """A number in the same dtype."""
        return RealNumber(self.builder, self.builder.const(self.dtype.type(value)))

    def cast(self, dtype: np.dtype) -> RealNumber:
        return self if dtype == self.dtype else self.apply(card(Cast, dtype))

    def reshaped(self, shape: tuple[int, ...]) -> RealNumber:
        return self if shape == self.shape else self.apply(card(Reshape, shape))

    def shaped(self, shape: tuple[int, ...]) -> RealNumber:
        """Broadcast to a shape."""
        return (
            self
            if shape == self.shape
            else RealNumber(self.builder, self.builder.build(card(BroadcastTo, shape), [self.node]))
        )

    def apply(self, op: Any, *others: RealNumber | float) -> RealNumber:
        """An op on this number and others."""
        given = [x if isinstance(x, RealNumber) else self.number(x) for x in others]
        return RealNumber(self.builder, self.builder.build(op, [self.node, *(x.node for x in given)]))

    def where(self, yes: RealNumber | float, no: RealNumber | float) -> RealNumber:
        """Of a truth value: one of two numbers, of which one at least is a node."""
        known = next(x for x in (yes, no) if isinstance(x, RealNumber))
        sides = [x if isinstance(x, RealNumber) else known.number(x) for x in (yes, no)]
        return self.apply(F.where, *sides)

    def __add__(self, other: RealNumber | float) -> RealNumber:
        return self.apply(F.add, other)

    def __sub__(self, other: RealNumber | float) -> RealNumber:
        return self.apply(F.sub, other)

    def __mul__(self, other: RealNumber | float) -> RealNumber:
        return self.apply(F.mul, other)

    def __truediv__(self, other: RealNumber | float) -> RealNumber:
        return self.apply(F.div, other)

    def __neg__(self) -> RealNumber:
        return self.apply(F.neg)

    def __abs__(self) -> RealNumber:
        return self.apply(F.abs)

    def __lt__(self, other: RealNumber | float) -> RealNumber:
        return self.apply(less, other)

    def __le__(self, other: RealNumber | float) -> RealNumber:
        return self.apply(less_equal, other)

    def __gt__(self, other: RealNumber | float) -> RealNumber:
        other = other if isinstance(other, RealNumber) else self.number(other)
        return other < self

    def is_(self, other: RealNumber | float) -> RealNumber:
        """Whether two numbers are equal."""
        return self.apply(F.equal, other)

    def is_finite(self) -> RealNumber:
        return self.apply(isfinite)

    def __and__(self, other: RealNumber) -> RealNumber:
        return self.apply(F.BitwiseAnd(), other)

    def __or__(self, other: RealNumber) -> RealNumber:
        return self.apply(F.BitwiseOr(), other)

    def __invert__(self) -> RealNumber:
        return self.apply(F.BitwiseNot())


def function(op: Any) -> Callable[..., RealNumber]:
    """An op as a function of such numbers."""
    return lambda x, *others: x.apply(op, *others)
