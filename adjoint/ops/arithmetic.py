"""Cards of arithmetic: add, multiply, divide, power."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core import absent, watching
from adjoint.core.absent import ZERO
from adjoint.core.spec import NUMBERS, dtype_of, is_inexact
from adjoint.ops import language as F
from adjoint.ops.broadcast import conj, match, push, spread
from adjoint.ops.card import register
from adjoint.ops.families import Discrete, Elementwise, python
from adjoint.ops.integer_ranges import corners, magnitude, power, remainder, without_zero
from adjoint.ops.power_series import of_product

_watched = watching.active


@register(function="add", method=True, ufunc=np.add, example="add(Tensor([1.0, 2.0]), 3) -> [4. 5.]")
@dataclass(frozen=True)
class Add(Elementwise):
    """x + y, with broadcasting."""

    is_operator = True
    arity, complex, emits, linear_in = 2, True, "fi", ((1, 0),)

    def eval(self, xp, x, y):
        return x + y

    def linear_part(self, b, terms, x, y):
        t, s = terms
        return s if t is None else t if s is None else b(self, t, s)

    def emit(self, b, x, y):
        return b.add(x, y)

    def integers(self, a, b):
        return a[0] + b[0], a[1] + b[1]

    def update(self, x, y):
        np.add(x, y, out=x)

    def partials(self, z, x, y):
        return 1.0, 1.0

    def vjp(self, g, z, x, y):
        if type(g) is type(x) is type(y) is np.float64:
            return g, g
        return lambda: match(g, x), lambda: match(g, y)

    def jvp(self, ts, z, x, y):
        t = push(ts, lambda t: t, lambda t: t)
        return t if t is ZERO else spread(t, z)


@register(
    function="sub",
    aliases=("subtract",),
    method=("sub", "subtract"),
    ufunc=np.subtract,
    example="sub(Tensor([1.0, 2.0]), 3) -> [-2. -1.]",
)
@dataclass(frozen=True)
class Sub(Elementwise):
    """x - y, with broadcasting."""

    is_operator = True
    arity, complex, emits, linear_in = 2, True, "fi", ((1, 0),)

    def eval(self, xp, x, y):
        return x - y

    def linear_part(self, b, terms, x, y):
        t, s = terms
        return b(neg, s) if t is None else t if s is None else b(self, t, s)

    def emit(self, b, x, y):
        return b.sub(x, y)

    def integers(self, a, b):
        return a[0] - b[1], a[1] - b[0]

    def update(self, x, y):
        np.subtract(x, y, out=x)

    def partials(self, z, x, y):
        return 1.0, -1.0

    def vjp(self, g, z, x, y):
        if type(g) is type(x) is type(y) is np.float64:
            return g, -g
        return lambda: match(g, x), lambda: match(-g, y)


@register(
    function="mul",
    aliases=("multiply",),
    method=("mul", "multiply"),
    ufunc=np.multiply,
    example="mul(Tensor([1.0, 2.0]), 3) -> [3. 6.]",
)
@dataclass(frozen=True)
class Mul(Elementwise):
    """x * y, with broadcasting."""

    is_operator = True
    arity, complex, singular, emits, linear_in = 2, True, True, "fi", ((0,), (1,))

    def eval(self, xp, x, y):
        return x * y

    def linear_part(self, b, terms, x, y):
        t, s = terms
        return b(mul, t, y) if s is None else b(mul, s, x)

    def emit(self, b, x, y):
        return b.mul(x, y)

    def integers(self, a, b):
        return corners(operator.mul, a, b)

    def update(self, x, y):
        np.multiply(x, y, out=x)

    def partials(self, z, x, y):
        return y, x

    def coefficient(self, k, z, x, y):
        return of_product(masked_mul, k, x, y)


@register
@dataclass(frozen=True)
class MaskedMul(Elementwise):
    """x * y, and 0 where either is 0, even if the other is infinite or NaN: the product of the chain rule.

    A branch that was not taken sends back a zero, and zero it stays. The rules of the card are the card itself, so that this
    holds at every order.
    """

    arity, complex, emits, linear_in, absorbs_zero = 2, True, "fi", ((0,), (1,)), True
    linear_part = Mul.linear_part

    def eval(self, xp, x, y):
        z = x * y
        if xp is np:  # a finite norm means that nothing is infinite or NaN, and nothing needs a mask
            size: Any = z
            if isinstance(z, np.ndarray):
                size = z.dot(z) if z.ndim == 1 else (flat := z.ravel()).dot(flat)
            if size - size == 0:
                return z
        masked = xp.where(xp.logical_or(xp.equal(x, 0), xp.equal(y, 0)), 0, z)
        return masked.item() if type(z) in NUMBERS else masked

    def emit(self, b, x, y):
        none = b.bitwise_or(b.compare("eq", x, 0), b.compare("eq", y, 0))
        return b.select(none, 0, b.mul(x, y))

    def partials(self, z, x, y):
        return y, x

    def vjp(self, g, z, x, y):
        return lambda: match(self(g, conj(y)), x), lambda: match(self(g, conj(x)), y)

    def coefficient(self, k, z, x, y):
        return of_product(self, k, x, y)

    def jvp(self, ts, z, x, y):
        t = push(ts, lambda t: self(t, y), lambda t: self(x, t))
        return t if t is ZERO else spread(t, z)


@register(
    function="div",
    aliases=("divide", "true_divide"),
    method=("div", "divide", "true_divide"),
    ufunc=np.divide,
    example="div(Tensor([1.0, 2.0]), 2) -> [0.5 1. ]",
)
@dataclass(frozen=True)
class Div(Elementwise):
    """x / y, with broadcasting."""

    is_operator = True
    arity, complex, singular, domain, edges = 2, True, True, (0.5, 2.0), (-1e10, 1e-10, 1e10)
    work, saved, linear_in = 4, True, ((0,),)

    def eval(self, xp, x, y):
        return python(xp.true_divide(x, y), x, y)

    def linear_part(self, b, terms, x, y):
        return b(self, terms[0], y)

    def emit(self, b, x, y):
        return b.div(x, y)

    def partials(self, z, x, y):
        if type(z) is type(y) is np.float64 and not _watched:
            return lambda: 1.0 / y, lambda: -z / y
        return lambda: div(1.0, y), lambda: div(-z, y)

    def coefficient(self, k, z, x, y):
        rest = x[k]
        for i in range(k):
            if z[i] is not ZERO and y[k - i] is not ZERO:
                rest = absent.add(rest, -masked_mul(z[i], y[k - i]))
        return ZERO if rest is ZERO else spread(masked_mul(rest, 1.0 / y[0]), z[0])

    def vjp(self, g, z, x, y):
        if isinstance(y, (int, float)) and y and math.isfinite(y):  # a constant divisor needs no care at 0
            return lambda: match(g / y, x), lambda: self._pull(g, div(-z, y), y)
        return super().vjp(g, z, x, y)


@register(
    function="pow", aliases=("power",), method=True, ufunc=np.power, example="pow(Tensor([1.0, 2.0]), 3) -> [1. 8.]"
)
@dataclass(frozen=True)
class Pow(Elementwise):
    """x ** y, with broadcasting. The derivative in the exponent is 0 where x is 0."""

    fails_where = "negative power"
    is_operator = True
    arity, complex, singular, domain = 2, True, True, (0.5, 2.0)
    work, expensive = 20, True

    def may_fail(self, z, x, y):
        return z.dtype.kind in "iu"  # a negative power of an integer

    def eval(self, xp, x, y):
        return python(xp.power(x, y), x, y) if type(y) is not int or is_inexact(dtype_of(x)) else x**y

    def emit(self, b, x, y):
        return b.call("pow", x, y)

    def integers(self, a, b):
        return power(a, b)

    def partials(self, z, x, y):
        return lambda: _pow_base(x, y), lambda: _pow_exponent(z, x)


def _pow_base(x, y):
    """d(x**y)/dx; a constant exponent of 0 or 1 or 2 takes a shorter way."""
    if isinstance(y, (int, float)):
        return 0.0 if y == 0 else 1.0 if y == 1 else 2.0 * x if y == 2 else y * pow_(x, y - 1)
    both = F.equal(y, 0) & F.equal(x, 0)
    safe = F.where(both, 1, y)  # 0 * 0**-1 would be NaN
    return y * pow_(x, safe - 1)


def _pow_exponent(z, x):
    zero = F.equal(x, 0)
    return F.where(zero, 0, z * F.log(F.where(zero, 1, x)))


@register(
    function="floor_divide",
    aliases=("floor_div",),
    method=True,
    ufunc=np.floor_divide,
    example="floor_divide(Tensor([7.0, -7.0]), 2) -> [ 3. -4.]",
)
@dataclass(frozen=True)
class FloorDiv(Discrete):
    """The largest integer not above x / y."""

    is_operator = True
    arity, domain, work, emits = 2, (0.5, 2.0), 4, "fi"

    def eval(self, xp, x, y):
        return python(xp.floor_divide(x, y), x, y)

    def emit(self, b, x, y):
        return b.floor_div(x, y)

    def integers(self, a, b):
        return without_zero(b) or corners(operator.floordiv, a, b)


@register(
    function="mod",
    aliases=("floor_mod", "remainder", "floormod"),
    method=("mod", "remainder"),
    ufunc=np.remainder,
    example="mod(Tensor([7.0, -7.0]), 4) -> [3. 1.]",
)
@dataclass(frozen=True)
class Mod(Elementwise):
    """x - y * floor(x / y): Python's remainder, with the sign of y."""

    is_operator = True
    arity, singular, domain, work, emits = 2, True, (0.6, 1.9), 4, "fi"

    def eval(self, xp, x, y):
        return python(xp.mod(x, y), x, y)

    def emit(self, b, x, y):
        return b.remainder(x, y)

    def integers(self, a, b):
        return without_zero(b) or remainder(a, b)

    def partials(self, z, x, y):
        return 1.0, lambda: -floor_div(x, y)


@register(
    function="neg",
    aliases=("negative",),
    method=("neg", "negative"),
    ufunc=np.negative,
    example="neg(Tensor([1.0, -2.0])) -> [-1.  2.]",
)
@dataclass(frozen=True)
class Neg(Elementwise):
    """-x."""

    is_operator = True
    complex, emits, linear_in = True, "fi", ((0,),)

    def eval(self, xp, x):
        return -x

    def linear_part(self, b, terms, x):
        return b(self, terms[0])

    def emit(self, b, x):
        return b.neg(x)

    def integers(self, a):
        return -a[1], -a[0]

    def partials(self, y, x):
        return (-1.0,)

    def vjp(self, g, y, x):
        return (match(-g, x),)

    def jvp(self, ts, y, x):
        return -ts[0]


@register(
    function="abs",
    aliases=("absolute",),
    method=("abs", "absolute"),
    ufunc=np.absolute,
    example="abs(Tensor([1.0, -2.0])) -> [1. 2.]",
)
@dataclass(frozen=True)
class Abs(Elementwise):
    """|x|. The derivative at 0 is 0; that of |z| is z/|z|."""

    is_operator = True
    complex, domain, edges, emits = True, (0.3, 2.0), (-1e3, 0.0, 1e3), "fi"

    def eval(self, xp, x):
        return python(xp.abs(x), x)

    def emit(self, b, x):
        return b.abs(x)

    def integers(self, a):
        return magnitude(a)

    def partials(self, y, x):
        return (sign(x),)

    def vjp(self, g, y, x):
        return (match(g * F.sgn(x), x),)

    def jvp(self, ts, y, x):
        return F.real(conj(F.sgn(x)) * ts[0])


@register(function="sign", method=True, example="sign(Tensor([3.0, -2.0, 0.0])) -> [ 1. -1.  0.]")
@dataclass(frozen=True)
class Sign(Discrete):
    """-1, 0 or 1."""

    domain, edges, emits = (0.3, 2.0), (-3.0, 0.0, 3.0), "fi"

    def eval(self, xp, x):
        return xp.sign(x)

    def emit(self, b, x):
        up, down = b.compare("gt", x, 0), b.compare("lt", x, 0)
        rest = b.select(b.compare("eq", x, 0), 0, x)  # NaN stays NaN
        return b.select(up, 1, b.select(down, -1, rest))


add, sub, mul, div, pow_, neg = Add(), Sub(), Mul(), Div(), Pow(), Neg()
masked_mul, floor_div, mod, abs_, sign = MaskedMul(), FloorDiv(), Mod(), Abs(), Sign()
