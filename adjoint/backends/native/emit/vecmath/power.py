"""x to the power y, and the cube root."""

from __future__ import annotations

import math

from adjoint.backends.native.emit.vecmath.coefficients import CBRT, EXP, LN2, LOG, LOGTAIL, THIRD
from adjoint.backends.native.emit.vecmath.double_double import Pair, divide, fast_two_sum, multiply, two_product
from adjoint.backends.native.emit.vecmath.exponential import LIMITS, exp_parts
from adjoint.backends.native.emit.vecmath.function_body import FunctionBody, VectorValue
from adjoint.backends.native.emit.vecmath.logarithm import normalised, reduce


def _log_pair(c: FunctionBody, a: VectorValue) -> Pair:
    """log(a) to about 2^-66, for finite a > 0 in double precision."""
    normal, shift = normalised(c, a)
    f, n, _ = reduce(c, normal)
    n = n + shift
    # log(1 + f) = 2 atanh(s) = 2 s (1 + s² (1/3 + s² tail)), s = f / (2 + f)
    s = fast_two_sum(*divide(c, (f, c.const(0.0)), fast_two_sum(c.const(2.0), f)))
    z = multiply(c, s, s)
    third, third_low = THIRD["double"]
    high, low = fast_two_sum(c.const(third), z[0] * c.polynomial(z[0], LOGTAIL["double"]))
    high, low = multiply(c, z, (high, low + third_low))
    high, low = multiply(c, s, (high, low))
    high, lost = fast_two_sum(s[0], high)
    low = lost + (low + s[1])
    total, lost = fast_two_sum(n * LN2["double"][0], high + high)
    return fast_two_sum(total, lost + c.fma(n, LN2["double"][1], low + low))


def _magnitude(c: FunctionBody, a: VectorValue, y: VectorValue) -> VectorValue:
    """a^y for a ≥ 0 by e^(y log a); the cases that have no logarithm are the caller's."""
    high, low = _log_pair(c, a)
    high = c.select(a.equals(0.0), -math.inf, c.select(a < math.inf, high, a))
    product, product_low = two_product(c, y, high)
    product_low = c.fma(y, low, product_low)
    least, most, _ = LIMITS["double"]
    inside = (product > least) & (product < most)
    clamped = c.clamp(product, least, most)
    high, low, k = exp_parts(c, clamped, c.select(inside, product_low, 0.0))
    return c.scale(high + low, k)


def _float_magnitude(c: FunctionBody, a: VectorValue, y: VectorValue) -> VectorValue:
    """The same for floats as doubles: their spare bits make pairs and long polynomials needless."""
    f, n, _ = reduce(c, a)
    log = c.fma(n, math.log(2.0), c.fma(f * f, c.fma(c.polynomial(f, LOG["mixed"]), f, -0.5), f))
    log = c.select(a.equals(0.0), -math.inf, c.select(a < math.inf, log, a))
    x = c.clamp(y * log, *LIMITS["float"][:2])
    n, k = c.round(x, 1.0 / math.log(2.0))
    r = c.fma(n, -math.log(2.0), x)
    return c.fma(r * r, c.polynomial(r, EXP["float"]), r + 1.0) * c.power_of_two(k)


def pow(c: FunctionBody, x: VectorValue, y: VectorValue) -> VectorValue:
    """x^y with the special cases of IEEE 754. Single precision is worked out in double."""
    a = c.abs(x)
    result = c.in_double(_float_magnitude, a, y) if c.dtype == "float" else _magnitude(c, a, y)
    half = y * 0.5
    integer = c.call("floor", y).equals(y)
    odd = integer & (c.call("floor", half) < half)
    result = (result.bits() ^ c.select(odd, c.sign_of(x), c.const(0, "int"))).floats()
    negative = (x < 0.0) & (x > -math.inf)
    result = c.select(negative & (integer ^ True), math.nan, result)
    # (-1)^±inf is 1; so are x^0 and 1^y, even for a NaN.
    endless = a.equals(1.0) & c.abs(y).equals(math.inf)
    return c.select(x.equals(1.0) | y.equals(0.0) | endless, 1.0, result)


def cbrt(c: FunctionBody, x: VectorValue) -> VectorValue:
    """The cube root: a polynomial guess and Newton's steps, which share one division."""
    a = c.abs(x)
    normal, shift = normalised(c, a)
    f, n, _ = reduce(c, normal)
    n = n + shift
    third, k = c.round(n, 1.0 / 3.0)
    left = c.fma(third, -3.0, n)
    root = c.select(left > 0.0, 2.0 ** (1 / 3), c.select(left < 0.0, 2.0 ** (-1 / 3), 1.0))
    target = (f + 1.0) * c.select(left > 0.0, 2.0, c.select(left < 0.0, 0.5, 1.0))
    y = c.polynomial(f, CBRT) * root
    step = c.const(-1.0 / 3.0) / (y * y)
    for _ in range(1 if c.dtype == "float" else 2):
        square, low = two_product(c, y, y)
        y = c.fma(c.fma(square, y, -target) + low * y, step, y)
    result = c.copysign(y * c.power_of_two(k), x)
    return c.select((a > 0.0) & (a < math.inf), result, x)
