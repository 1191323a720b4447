"""Comparison, rounding and choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core import watching
from adjoint.core.absent import ZERO
from adjoint.core.errors import DtypeError, called_at
from adjoint.core.spec import bool_, dtype_of, promote
from adjoint.ops import language as F
from adjoint.ops.broadcast import match, push, spread
from adjoint.ops.card import register
from adjoint.ops.families import Discrete, Elementwise, python
from adjoint.ops.publish import public


class Test(Discrete):
    """Ops that give a truth value for each element."""

    emits = "b"

    def computes_in(self, y, *xs):
        return [promote(xs)] * len(xs)


class Comparison(Test):
    """Two inputs, one truth value for each pair of elements."""

    arity, is_operator = 2, True


@register(
    function="less",
    aliases=("lt",),
    method=("less", "lt"),
    ufunc=np.less,
    example="less(Tensor([1.0, 3.0]), 2) -> [ True False]",
)
@dataclass(frozen=True)
class Less(Comparison):
    """x < y."""

    def eval(self, xp, x, y):
        return xp.less(x, y)

    def emit(self, b, x, y):
        return b.compare("lt", x, y)


@register(
    function="less_equal",
    aliases=("le",),
    method=("less_equal", "le"),
    ufunc=np.less_equal,
    example="less_equal(Tensor([1.0, 2.0]), 2) -> [ True  True]",
)
@dataclass(frozen=True)
class LessEqual(Comparison):
    """x <= y."""

    def eval(self, xp, x, y):
        return xp.less_equal(x, y)

    def emit(self, b, x, y):
        return b.compare("le", x, y)


@register(
    function="greater",
    aliases=("gt",),
    method=("greater", "gt"),
    ufunc=np.greater,
    example="greater(Tensor([1.0, 3.0]), 2) -> [False  True]",
)
@dataclass(frozen=True)
class Greater(Comparison):
    """x > y."""

    def eval(self, xp, x, y):
        return xp.greater(x, y)

    def emit(self, b, x, y):
        return b.compare("gt", x, y)


@register(
    function="greater_equal",
    aliases=("ge",),
    method=("greater_equal", "ge"),
    ufunc=np.greater_equal,
    example="greater_equal(Tensor([1.0, 2.0]), 2) -> [False  True]",
)
@dataclass(frozen=True)
class GreaterEqual(Comparison):
    """x >= y."""

    def eval(self, xp, x, y):
        return xp.greater_equal(x, y)

    def emit(self, b, x, y):
        return b.compare("ge", x, y)


@register(
    function="equal",
    aliases=("eq",),
    method=("equal", "eq"),
    ufunc=np.equal,
    example="equal(Tensor([1.0, 2.0]), 2) -> [False  True]",
)
@dataclass(frozen=True)
class Equal(Comparison):
    """x == y."""

    def eval(self, xp, x, y):
        return xp.equal(x, y)

    def emit(self, b, x, y):
        return b.compare("eq", x, y)


@register(
    function="not_equal",
    aliases=("ne",),
    method=("not_equal", "ne"),
    ufunc=np.not_equal,
    example="not_equal(Tensor([1.0, 2.0]), 2) -> [ True False]",
)
@dataclass(frozen=True)
class NotEqual(Comparison):
    """x != y."""

    def eval(self, xp, x, y):
        return xp.not_equal(x, y)

    def emit(self, b, x, y):
        return b.compare("ne", x, y)


@register(
    function="isfinite",
    method=True,
    ufunc=np.isfinite,
    example='isfinite(Tensor([1.0, float("inf")])) -> [ True False]',
)
@dataclass(frozen=True)
class IsFinite(Test):
    """Neither infinite nor NaN."""

    edges = (-np.inf, np.inf, np.nan)

    def eval(self, xp, x):
        return xp.isfinite(x)

    def emit(self, b, x):
        return b.compare("lt", b.abs(x), np.inf) if b.is_float(x) else b.constant(True, bool_)


@register(function="isnan", method=True, ufunc=np.isnan, example='isnan(Tensor([1.0, float("nan")])) -> [False  True]')
@dataclass(frozen=True)
class IsNan(Test):
    """Not a number."""

    edges = (-np.inf, np.inf, np.nan)

    def eval(self, xp, x):
        return xp.isnan(x)

    def emit(self, b, x):
        return b.compare("ne", x, x)


class Rounding(Discrete):
    """To an integer, kept in the input's dtype."""

    is_operator = True
    edges, emits = (-2.5, -0.5, 0.0, 0.5, 1.5, 1e30), "fib"


@register(function="floor", method=True, ufunc=np.floor, example="floor(Tensor([1.7, -1.2])) -> [ 1. -2.]")
@dataclass(frozen=True)
class Floor(Rounding):
    """The largest integer not above x."""

    def eval(self, xp, x):
        return python(xp.floor(x), x)

    def emit(self, b, x):
        return b.floor(x)


@register(function="ceil", method=True, ufunc=np.ceil, example="ceil(Tensor([1.2, -1.7])) -> [ 2. -1.]")
@dataclass(frozen=True)
class Ceil(Rounding):
    """The smallest integer not below x."""

    def eval(self, xp, x):
        return python(xp.ceil(x), x)

    def emit(self, b, x):
        return b.ceil(x)


@register(function="trunc", method=True, ufunc=np.trunc, example="trunc(Tensor([1.7, -1.7])) -> [ 1. -1.]")
@dataclass(frozen=True)
class Trunc(Rounding):
    """The whole part, towards zero."""

    def eval(self, xp, x):
        return python(xp.trunc(x), x)

    def emit(self, b, x):
        return b.trunc(x)


@register
@dataclass(frozen=True)
class Round(Rounding):
    """The nearest integer, halves to the even one."""

    def eval(self, xp, x):
        return python(xp.round(x), x)

    def emit(self, b, x):
        return b.round(x)


class Extremum(Elementwise):
    """The larger or smaller of two: where they are equal, each gets half of the derivative."""

    arity, edges, emits = 2, (-1.0, 0.0, 1e30), "fi"

    def partials(self, z, x, y):
        if type(x) is type(y) is np.float64 and not _watched:
            return (_HALF, _HALF) if x == y else (_ALL if x == z else _NONE, _ALL if y == z else _NONE)
        return lambda: _share(x, y, z), lambda: _share(y, x, z)


_watched, _ALL, _HALF, _NONE = watching.active, *map(np.float64, (1.0, 0.5, 0.0))


def _share(x, y, z):
    """1 where x is the chosen one, 1/2 where both are."""
    return where_(equal(x, y), 0.5, where_(equal(x, z), 1.0, 0.0))


@register(function="maximum", method=True, ufunc=np.maximum, example="maximum(Tensor([1.0, 3.0]), 2) -> [2. 3.]")
@dataclass(frozen=True)
class Maximum(Extremum):
    """The larger of x and y."""

    def eval(self, xp, x, y):
        return xp.maximum(x, y)

    def emit(self, b, x, y):
        return b.maximum(x, y)


@register(function="minimum", method=True, ufunc=np.minimum, example="minimum(Tensor([1.0, 3.0]), 2) -> [1. 2.]")
@dataclass(frozen=True)
class Minimum(Extremum):
    """The smaller of x and y."""

    def eval(self, xp, x, y):
        return xp.minimum(x, y)

    def emit(self, b, x, y):
        return b.minimum(x, y)


@register
@dataclass(frozen=True)
class Where(Elementwise):
    """x where the condition holds, else y. The side not chosen gets a zero derivative, even if its own is not finite."""

    arity, complex, emits, linear_in = 3, True, "fib", ((1, 2),)

    def linear_part(self, b, terms, c, x, y):
        _, t, s = terms
        zero = b.const(np.zeros((), (t if s is None else s).dtype))
        return b(self, c, zero if t is None else t, zero if s is None else s)

    def computes_in(self, z, c, x, y):
        return [bool_, z.dtype, z.dtype]

    def eval(self, xp, c, x, y):
        return xp.where(c, x, y)

    def emit(self, b, c, x, y):
        return b.select(c, x, y)

    def partials(self, z, c, x, y):
        return ZERO, c, F.logical_not(c)

    def vjp(self, g, z, c, x, y):
        return ZERO, lambda: match(Where()(c, g, 0), x), lambda: match(Where()(c, 0, g), y)

    def jvp(self, ts, z, c, x, y):
        t = push(ts[1:], lambda t: Where()(c, t, 0), lambda t: Where()(c, 0, t))
        return t if t is ZERO else spread(t, z)

    @classmethod
    def samples(cls, draw):
        for shapes in [((), (), ()), ((3,), (3,), ()), ((2, 1), (3,), (2, 3)), ((0,), (0,), (0,))]:
            yield cls(), (draw(*shapes[0], dtype="bool"), *(draw(*s) for s in shapes[1:]))


less, less_equal, greater, greater_equal = Less(), LessEqual(), Greater(), GreaterEqual()
equal, not_equal, isfinite, isnan = Equal(), NotEqual(), IsFinite(), IsNan()
floor, ceil, trunc, round_ = Floor(), Ceil(), Trunc(), Round()
maximum, minimum, where_ = Maximum(), Minimum(), Where()


@public(method=True)
def where(condition: Any, input: Any, other: Any) -> Any:
    """`input` where the condition holds, else `other`. The side not chosen gets a zero derivative.

    >>> from adjoint import ops, Tensor
    >>> print(ops.where(Tensor([True, False]), 1.0, Tensor([5.0, 6.0])))
    [1. 6.]
    """
    return where_(condition, input, other)


@public(method=True)
def round(input: Any, decimals: int = 0) -> Any:
    """The nearest number with this many decimals, halves to the even one. Its derivative is zero.

    >>> from adjoint import ops, Tensor
    >>> print(ops.round(Tensor([0.5, 1.5, 2.6])))
    [0. 2. 3.]
    """
    dtype = dtype_of(input)
    if not decimals or (decimals > 0 and dtype.kind in "iu"):
        return round_(input)
    if dtype.kind == "b":
        raise DtypeError(f"round: truth values have no decimals{called_at()}")
    scale = 10.0 ** abs(decimals)
    if dtype.kind in "iu":
        return F.cast(F.cast(round_(input / scale) * scale, np.int64), dtype)
    return round_(input * scale) / scale if decimals > 0 else round_(input / scale) * scale
