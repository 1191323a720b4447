"""Functions of complex numbers in functions of their parts, with NumPy's results where numbers are infinite, NaN or signed zeros.

NumPy computes with the formulas below, or asks the C library, whose results at the edges the C standard (annex G) lays down.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp as e_to_the
from math import inf, nan
from math import log as natural_log
from typing import Any

import numpy as np

from adjoint.backends.native.rewrite.real_numbers import CopySign, Hypot, RealNumber, SquareLessOne, function
from adjoint.graph.node import Builder
from adjoint.ops import language as F
from adjoint.ops import transcendental, trigonometric

real_exp, real_expm1 = function(transcendental.Exp()), function(transcendental.Expm1())
real_log, real_log1p = function(F.log), function(transcendental.Log1p())
real_sqrt = function(F.sqrt)
real_sin, real_cos = function(trigonometric.sin), function(trigonometric.cos)
real_sinh, real_cosh = function(trigonometric.sinh), function(trigonometric.cosh)
real_atan2 = function(trigonometric.atan2)
copysign, hypot, square_less_one = function(CopySign()), function(Hypot()), function(SquareLessOne())


@dataclass(frozen=True)
class Complex:
    """A complex number; one that was a real number until now has no imaginary part."""

    re: RealNumber
    imaginary: RealNumber | None = None

    @property
    def im(self) -> RealNumber:
        return self.re.number(0.0) if self.imaginary is None else self.imaginary

    def scaled(self, factor: RealNumber) -> Complex:
        """Both parts times a number."""
        return Complex(self.re * factor, self.im * factor)

    def turned(self) -> Complex:
        """i times it."""
        return Complex(-self.im, self.re)

    def turned_back(self) -> Complex:
        """-i times it."""
        return Complex(self.im, -self.re)

    def is_zero(self) -> RealNumber:
        zero = self.re.is_(0.0)
        return zero if self.imaginary is None else zero & self.imaginary.is_(0.0)


def real_dtype(dtype: np.dtype) -> np.dtype:
    """That of the parts of a number.

    >>> real_dtype(np.dtype("complex64"))
    dtype('float32')
    """
    return np.zeros((), dtype).real.dtype


def as_complex(builder: Builder, x: Any, dtype: np.dtype) -> Complex:
    """A complex number, or the node of a real one, as one whose parts have this dtype."""
    if not isinstance(x, Complex):
        return Complex(RealNumber(builder, x).cast(dtype))
    return Complex(x.re.cast(dtype), None if x.imaginary is None else x.imaginary.cast(dtype))


def where(test: RealNumber, yes: Complex, no: Complex) -> Complex:
    return Complex(test.where(yes.re, no.re), test.where(yes.im, no.im))


# ---------------------------------------------------------------- arithmetic


def add(z: Complex, w: Complex) -> Complex:
    return Complex(z.re + w.re, z.im + w.im)


def sub(z: Complex, w: Complex) -> Complex:
    return Complex(z.re - w.re, z.im - w.im)


def neg(z: Complex) -> Complex:
    return Complex(-z.re, -z.im)


def conj(z: Complex) -> Complex:
    return Complex(z.re, -z.im)


def mul(z: Complex, w: Complex) -> Complex:
    return Complex(z.re * w.re - z.im * w.im, z.re * w.im + z.im * w.re)


def masked_mul(z: Complex, w: Complex) -> Complex:
    """The product, and 0 where a factor is."""
    none, product = z.is_zero() | w.is_zero(), mul(z, w)
    return Complex(none.where(0.0, product.re), none.where(0.0, product.im))


def div(z: Complex, w: Complex) -> Complex:
    """Smith's quotient, as NumPy has it: the smaller part of the divisor is divided by the larger one."""
    if w.imaginary is None:
        return _over_real(z, w.re)
    wide = abs(w.im) <= abs(w.re)
    large, small = wide.where(w.re, w.im), wide.where(w.im, w.re)
    ratio = small / large
    scale = large.number(1.0) / (large + small * ratio)
    first, second = wide.where(z.re, z.im), wide.where(z.im, z.re)
    im = wide.where(z.im, z.im * ratio) - wide.where(z.re * ratio, z.re)
    quotient = Complex(first + second * ratio, im).scaled(scale)
    return where(w.is_zero(), z.scaled(z.re.number(inf)), quotient)


def _over_real(z: Complex, x: RealNumber) -> Complex:
    ratio = x.number(0.0) / x
    quotient = Complex(z.re + z.im * ratio, z.im - z.re * ratio).scaled(x.number(1.0) / x)
    return where(x.is_(0.0), z.scaled(x.number(inf)), quotient)


def absolute(z: Complex) -> RealNumber:
    return hypot(z.re, z.im)


# ---------------------------------------------------------------- powers, exponentials and logarithms


def exp(z: Complex) -> Complex:
    x, y = z.re, z.im
    size, rest = _exp(x)
    unbounded = ~y.is_finite()
    none, endless = x.is_(-inf) & unbounded, x.is_(inf) & unbounded
    re = none.where(0.0, endless.where(inf, real_cos(y) * rest * size))
    im = y.is_(0.0).where(y, none.where(copysign(y.number(0.0), y), real_sin(y) * rest * size))
    return Complex(re, im)


def _exp(x: RealNumber) -> tuple[RealNumber, RealNumber]:
    """Two factors of e**x, neither of which overflows where a product with a sine may not."""
    shift = 700.0 if x.dtype.itemsize == 8 else 80.0
    large = x > shift
    return real_exp(large.where(x - shift, x)), large.where(e_to_the(shift), x.number(1.0))


def expm1(z: Complex) -> Complex:
    half = real_sin(z.im * 0.5)
    re = real_expm1(z.re) * real_cos(z.im) - half * half * 2.0
    return Complex(re, real_exp(z.re) * real_sin(z.im))


def log(z: Complex) -> Complex:
    power, least = (200, 2.0**-960) if z.re.dtype.itemsize == 8 else (40, 2.0**-100)
    tiny = abs(z.re) + abs(z.im) < least
    scale = tiny.where(2.0**power, z.re.number(1.0))
    size = hypot(z.re * scale, z.im * scale)
    near = (size < 1.7) & (size > 0.75) & ~tiny
    far = real_log(size) - tiny.where(power * natural_log(2.0), z.re.number(0.0))
    re = near.where(real_log1p(square_less_one(z.re, z.im)) * 0.5, far)
    return Complex(re, real_atan2(z.im, z.re))


def log1p(z: Complex) -> Complex:
    x = z.re + 1.0
    return Complex(real_log(hypot(x, z.im)), real_atan2(z.im, x))


def sqrt(z: Complex) -> Complex:
    x, y = z.re, z.im
    power = 200 if x.dtype.itemsize == 8 else 40
    least = 2.0 ** (-900 if x.dtype.itemsize == 8 else -100)
    size = hypot(x, y)
    tiny, huge = size < least, size > 1 / least
    scale = tiny.where(2.0**power, huge.where(2.0**-power, x.number(1.0)))
    back = tiny.where(2.0 ** (-power // 2), huge.where(2.0 ** (power // 2), x.number(1.0)))
    u, v = abs(x * scale), y * scale
    root = real_sqrt(u * 0.5 + hypot(u, v) * 0.5)
    other = root.is_(0.0).where(0.0, abs(v) / (root * 2.0))
    left = x < 0.0
    re, im = left.where(other, root) * back, copysign(left.where(root, other) * back, y)
    endless = abs(y).is_(inf)
    re = endless.where(inf, (x.is_(-inf) & y.is_finite()).where(0.0, re))
    im = endless.where(y, abs(x).is_(inf).where(copysign(left.where(abs(x), x.number(0.0)), y), im))
    undefined = abs(x).is_(inf) & ~y.is_(y)
    at_edge = Complex(left.where(nan, x), left.where(abs(x), x.number(nan)))
    return where(undefined, at_edge, Complex(re, im))


def power(z: Complex, w: Complex) -> Complex:
    """exp(w log z), and what NumPy gives where z or w is 0."""
    edge = (w.re > 0.0).where(0.0, z.re.number(nan))
    found = where(z.is_zero(), Complex(edge, edge), exp(mul(w, log(z))))
    one = w.is_zero()
    return Complex(one.where(1.0, found.re), one.where(0.0, found.im))


def whole_power(z: Complex, n: int) -> Complex:
    """z**n by squaring, in NumPy's order."""
    one = Complex(z.re.number(1.0))
    if 1 <= n <= 3:
        result = z
        for _ in range(n - 1):
            result = mul(z, result)
    else:
        result, factor, left = one, z, abs(n)
        while left:
            result = mul(result, factor) if left & 1 else result
            left >>= 1
            factor = mul(factor, factor) if left else factor
    edge = z.re.number(0.0 if n > 0 else nan)
    return where(z.is_zero(), Complex(edge, edge), result if n > 0 else div(one, result))


# ---------------------------------------------------------------- trigonometric and hyperbolic functions


def sinh(z: Complex) -> Complex:
    x, y = z.re, z.im
    c, s, scale = _hyperbolic(x)
    alone = (x.is_(0.0) | abs(x).is_(inf)) & ~y.is_finite()
    re = alone.where(x, real_cos(y) * scale * s)
    return Complex(re, (y.is_(0.0) & ~c.is_finite()).where(y, real_sin(y) * scale * c))


def cosh(z: Complex) -> Complex:
    x, y = z.re, z.im
    c, s, scale = _hyperbolic(x)
    re = (abs(x).is_(inf) & ~y.is_finite()).where(inf, real_cos(y) * scale * c)
    none = (x.is_(0.0) & ~y.is_finite()) | (y.is_(0.0) & ~s.is_finite())
    zero = copysign(x.number(0.0), x) * copysign(y.number(1.0), y)
    return Complex(re, none.where(zero, real_sin(y) * scale * s))


def _hyperbolic(x: RealNumber) -> tuple[RealNumber, RealNumber, RealNumber]:
    """cosh x and sinh x over a factor, which is the third."""
    shift = 700.0 if x.dtype.itemsize == 8 else 80.0
    large = abs(x) > shift
    half = real_exp(abs(x) - shift) * 0.5
    near = large.where(0.0, x)
    c, s = large.where(half, real_cosh(near)), large.where(copysign(half, x), real_sinh(near))
    return c, s, large.where(e_to_the(shift), x.number(1.0))


def sin(z: Complex) -> Complex:
    return sinh(z.turned()).turned_back()


def cos(z: Complex) -> Complex:
    return cosh(z.turned())


def tanh(z: Complex) -> Complex:
    x, y = z.re, z.im
    limit = 20.0 if x.dtype.itemsize == 8 else 10.0
    far = abs(x) > limit
    near = far.where(0.0, x)
    c, s, u, v = real_cosh(near), real_sinh(near), real_cos(y), real_sin(y)
    size = s * s + u * u
    tail = y.is_finite().where(u * v * 4.0 * real_exp(abs(x) * -2.0), copysign(x.number(0.0), y))
    re = x.is_(0.0).where(x, far.where(copysign(x.number(1.0), x), s * c / size))
    undefined = ~y.is_finite() & ~abs(x).is_(inf) & ~x.is_(0.0)
    im = y.is_(0.0).where(y, (far & ~undefined).where(tail, u * v / size))
    return Complex(undefined.where(nan, re), im)


def tan(z: Complex) -> Complex:
    return tanh(z.turned()).turned_back()


ONE_ARGUMENT: dict[type, Any] = {
    type(F.neg): neg,
    type(F.conj): conj,
    transcendental.Exp: exp,
    transcendental.Expm1: expm1,
    type(F.log): log,
    transcendental.Log1p: log1p,
    type(F.sqrt): sqrt,
    trigonometric.Sin: sin,
    trigonometric.Cos: cos,
    trigonometric.Tan: tan,
    trigonometric.Sinh: sinh,
    trigonometric.Cosh: cosh,
    trigonometric.Tanh: tanh,
}
TWO_ARGUMENTS: dict[type, Any] = {
    type(F.add): add,
    type(F.sub): sub,
    type(F.mul): mul,
    type(F.masked_mul): masked_mul,
    type(F.div): div,
}
