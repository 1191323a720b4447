"""sin, cos, tan and their inverses."""

from __future__ import annotations

import math

from adjoint.backends.native.emit.vecmath.coefficients import ASIN, ATAN, COS, HALF_PI, SIN
from adjoint.backends.native.emit.vecmath.double_double import divide, fast_two_sum, two_product
from adjoint.backends.native.emit.vecmath.function_body import BITS, FunctionBody, VectorValue

# Up to here three parts of pi/2 reduce the argument; beyond it, lanes go to libm one by one.
REDUCIBLE = {"float": 2.0**16, "double": 2.0**30}


def _quadrant(c: FunctionBody, a: VectorValue) -> tuple[VectorValue, VectorValue, VectorValue]:
    """r, its correction and the bits of n, with a = n pi/2 + r."""
    first, second, third = HALF_PI[c.dtype]
    n, k = c.round(a, 2.0 / math.pi)
    # Exact: n·first and a are multiples of the last bit of a number below 1.
    exact = c.fma(n, -first, a)
    product, rest = two_product(c, n, c.const(-second))
    high, lost = fast_two_sum(exact, product)
    return *fast_two_sum(high, c.fma(n, -third, lost + rest)), k


def _sin_of(c: FunctionBody, r: VectorValue, low: VectorValue) -> tuple[VectorValue, VectorValue]:
    """sin(r + low) as a pair."""
    z = r * r
    return r, c.fma(z * r, c.polynomial(z, SIN[c.dtype]), low)


def _cos_of(c: FunctionBody, r: VectorValue, low: VectorValue) -> tuple[VectorValue, VectorValue]:
    """cos(r + low) as a pair."""
    z = r * r
    half = z * 0.5
    total, lost = fast_two_sum(c.const(1.0), -half)
    return total, lost + c.fma(z * z, c.polynomial(z, COS[c.dtype]), -(r * low))


def _odd(k: VectorValue) -> VectorValue:
    return (k & 1).equals(1)


def _shift_to_sign(c: FunctionBody, k: VectorValue) -> VectorValue:
    """The second bit of k as a sign."""
    return (k & 2) << (BITS[c.dtype] - 2)


def _flip(x: VectorValue, sign: VectorValue) -> VectorValue:
    return (x.bits() ^ sign).floats()


def sin(c: FunctionBody, x: VectorValue) -> VectorValue:
    """The sine."""
    a = c.abs(x)
    r, low, k = _quadrant(c, a)
    s, t = _sin_of(c, r, low), _cos_of(c, r, low)
    odd = _odd(k)
    fast = c.select(odd, t[0] + t[1], s[0] + s[1])
    fast = _flip(fast, _shift_to_sign(c, k) ^ c.sign_of(x))
    return c.lanes_of("sin", x, a > REDUCIBLE[c.dtype], fast)


def cos(c: FunctionBody, x: VectorValue) -> VectorValue:
    """The cosine."""
    a = c.abs(x)
    r, low, k = _quadrant(c, a)
    s, t = _sin_of(c, r, low), _cos_of(c, r, low)
    odd = _odd(k)
    fast = c.select(odd, s[0] + s[1], t[0] + t[1])
    fast = _flip(fast, _shift_to_sign(c, k + 1))
    return c.lanes_of("cos", x, a > REDUCIBLE[c.dtype], fast)


def tan(c: FunctionBody, x: VectorValue) -> VectorValue:
    """The tangent, sin/cos or -cos/sin by the quadrant."""
    a = c.abs(x)
    r, low, k = _quadrant(c, a)
    s, t = _sin_of(c, r, low), _cos_of(c, r, low)
    odd = _odd(k)
    above = c.select(odd, t[0], s[0]), c.select(odd, t[1], s[1])
    below = c.select(odd, s[0], t[0]), c.select(odd, s[1], t[1])
    quotient, rest = divide(c, fast_two_sum(*above), fast_two_sum(*below))
    fast = _flip(quotient + rest, ((k & 1) << (BITS[c.dtype] - 1)) ^ c.sign_of(x))
    return c.lanes_of("tan", x, a > REDUCIBLE[c.dtype], fast)


def _asin_of(c: FunctionBody, s: VectorValue, z: VectorValue) -> VectorValue:
    """asin(s) - s with z = s² ≤ 1/4."""
    return s * (z * c.polynomial(z, ASIN[c.dtype]))


def _half_angle(c: FunctionBody, a: VectorValue) -> tuple[VectorValue, VectorValue, VectorValue]:
    """Where a > 1/2: set; s and s² with asin(a) = pi/2 - 2 asin(s). Elsewhere s = a."""
    large = a > 0.5
    z = c.select(large, c.fma(a, -0.5, 0.5), a * a)
    return large, c.select(large, c.sqrt(z), a), z


def asin(c: FunctionBody, x: VectorValue) -> VectorValue:
    """The inverse sine."""
    a = c.abs(x)
    large, s, z = _half_angle(c, a)
    rest = _asin_of(c, s, z)
    high, low, _ = HALF_PI[c.dtype]
    # Twice the angle is taken from pi/2 with its second part.
    total, lost = fast_two_sum(c.const(high), s * -2.0)
    return c.copysign(c.select(large, total + (lost + c.fma(rest, -2.0, low)), s + rest), x)


def acos(c: FunctionBody, x: VectorValue) -> VectorValue:
    """The inverse cosine."""
    large, s, z = _half_angle(c, c.abs(x))
    rest = _asin_of(c, s, z)
    high, low, _ = HALF_PI[c.dtype]
    negative = x < 0.0
    # pi/2 - asin(x), pi - 2 asin(s) or 2 asin(s).
    factor = c.select(large, c.select(negative, -2.0, 2.0), c.select(negative, 1.0, -1.0))
    base = c.select(large, c.select(negative, 2.0, 0.0), 1.0)
    total, lost = fast_two_sum(base * high, s * factor)
    return total + (lost + c.fma(rest, factor, base * low))


def _atan_of(c: FunctionBody, t: VectorValue) -> VectorValue:
    """atan(t) - t for 0 ≤ t ≤ 1. The coefficients fall off slowly: even and odd powers apart would cancel."""
    z = t * t
    return t * (z * c.horner(z, ATAN[c.dtype]))


def atan(c: FunctionBody, x: VectorValue) -> VectorValue:
    """The inverse tangent; above 1 as pi/2 - atan(1/x)."""
    a = c.abs(x)
    large = a > 1.0
    t = c.select(large, 1.0 / a, a)
    rest = _atan_of(c, t)
    high, low, _ = HALF_PI[c.dtype]
    total, lost = fast_two_sum(c.const(high), -t)
    return c.copysign(c.select(large, total + (lost + (low - rest)), t + rest), x)


def atan2(c: FunctionBody, y: VectorValue, x: VectorValue) -> VectorValue:
    """The angle of the point (x, y)."""
    b, a = c.abs(y), c.abs(x)
    steep = b > a
    above, below = c.select(steep, a, b), c.select(steep, b, a)
    # Equal infinities are at 45 degrees, and 0/0 is flat.
    t = c.select(above.equals(below), c.select(above.equals(0.0), 0.0, 1.0), above / below)
    rest = _atan_of(c, t)
    high, low, _ = HALF_PI[c.dtype]
    left = c.sign_of(x)
    base = c.select(steep, 1.0, c.select(left.equals(0), 0.0, 2.0))
    minus = c.select(steep, c.sign_of(c.const(-0.0)), c.const(0, "int")) ^ left
    t, rest = _flip(t, minus), _flip(rest, minus)
    total, lost = fast_two_sum(base * high, t)
    return c.copysign(total + (lost + (base * low + rest)), y)
