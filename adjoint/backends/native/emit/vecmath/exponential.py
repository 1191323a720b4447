"""exp and what is made of it. Everywhere x = k ln 2 + r with |r| ≤ ln 2 / 2, and e^r is a polynomial."""

from __future__ import annotations

from adjoint.backends.native.emit.vecmath.coefficients import EXP, EXP2, LN2, LOG2_E, TANH
from adjoint.backends.native.emit.vecmath.double_double import Pair, divide, fast_two_sum, two_sum
from adjoint.backends.native.emit.vecmath.function_body import FunctionBody, VectorValue
from adjoint.backends.native.emit.vecmath.logarithm import log1p_of

# Below the first, e^x is 0; above the second it is infinite, and so is e^x / 2 above the third.
LIMITS = {"float": (-104.0, 89.0, 90.0), "double": (-746.0, 710.0, 711.0)}
# Above this, 1 is lost beside e^x.
ONE_IS_LOST = {"float": 20.0, "double": 40.0}


def exp_scaled(c: FunctionBody, x: VectorValue) -> tuple[VectorValue, VectorValue]:
    """y, k with e^x = y·2^k. `x` must be within the limits."""
    n, k = c.round(x, LOG2_E[c.dtype][0])
    r = c.fma(n, -LN2[c.dtype][1], c.fma(n, -LN2[c.dtype][0], x))
    return c.fma(r * r, c.polynomial(r, EXP[c.dtype]), r) + 1.0, k


def exp(c: FunctionBody, x: VectorValue) -> VectorValue:
    """e^x."""
    low, high, _ = LIMITS[c.dtype]
    return c.scale(*exp_scaled(c, c.clamp(x, low, high)))


def exp2(c: FunctionBody, x: VectorValue) -> VectorValue:
    """2^x."""
    low, high = (-151.0, 128.0) if c.dtype == "float" else (-1076.0, 1024.0)
    x = c.clamp(x, low, high)
    n, k = c.round(x)
    r = x - n
    return c.scale(c.fma(r, c.polynomial(r, EXP2[c.dtype]), 1.0), k)


def exp_parts(
    c: FunctionBody, x: VectorValue, x_low: VectorValue | None = None
) -> tuple[VectorValue, VectorValue, VectorValue]:
    """High, low, k with e^(x + x_low) = (high + low)·2^k. `x` must be within the limits."""
    n, k = c.round(x, LOG2_E[c.dtype][0])
    exact = c.fma(n, -LN2[c.dtype][0], x)
    tail = n * -LN2[c.dtype][1] if x_low is None else c.fma(n, -LN2[c.dtype][1], x_low)
    r, r_low = fast_two_sum(exact, tail)
    total, lost = fast_two_sum(c.const(1.0), r)
    rest = c.fma(r * r, c.polynomial(r, EXP[c.dtype]), c.fma(r_low, r, r_low))
    return *fast_two_sum(total, lost + rest), k


def expm1_parts(c: FunctionBody, x: VectorValue) -> tuple[VectorValue, VectorValue, VectorValue]:
    """High, low, k with e^x - 1 = (high + low)·2^k, both near 0 and far from it."""
    n, k = c.round(x, LOG2_E[c.dtype][0])
    exact = c.fma(n, -LN2[c.dtype][0], x)
    tail = n * -LN2[c.dtype][1]
    r = exact + tail
    # 1 - 2^-k is 0 or larger than r.
    one = c.select(x > ONE_IS_LOST[c.dtype], 1.0, 1.0 - c.power_of_two(0 - k))
    total, lost = fast_two_sum(one, exact)
    return *fast_two_sum(total, lost + c.fma(r * r, c.polynomial(r, EXP[c.dtype]), tail)), k


def expm1(c: FunctionBody, x: VectorValue) -> VectorValue:
    """e^x - 1."""
    high, _, k = expm1_parts(c, c.clamp(x, -ONE_IS_LOST[c.dtype], LIMITS[c.dtype][1]))
    return c.copysign(c.scale(high, k), x)


def _decay(c: FunctionBody, x: VectorValue) -> Pair:
    """e^-|x|."""
    a = -c.abs(x)
    high, low, k = exp_parts(c, c.select(a < LIMITS[c.dtype][0], LIMITS[c.dtype][0], a))
    return c.scale(high, k), c.scale(low, k)


def sigmoid(c: FunctionBody, x: VectorValue) -> VectorValue:
    """1 / (1 + e^-x)."""
    high, low = _decay(c, x)
    total, lost = fast_two_sum(c.const(1.0), high)
    positive = x > 0.0
    above = c.select(positive, 1.0, high), c.select(positive, 0.0, low)
    quotient, rest = divide(c, above, (total, lost + low))
    return quotient + rest


def softplus(c: FunctionBody, x: VectorValue) -> VectorValue:
    """log(1 + e^x)."""
    return c.select(x > 0.0, x, 0.0) + log1p_of(c, *_decay(c, x))


def logaddexp(c: FunctionBody, x: VectorValue, y: VectorValue) -> VectorValue:
    """log(e^x + e^y)."""
    distance = c.select(x.equals(y), 0.0, x - y)
    return c.select(x > y, x, y) + log1p_of(c, *_decay(c, distance))


def tanh(c: FunctionBody, x: VectorValue) -> VectorValue:
    """The hyperbolic tangent: a polynomial below 0.8, else 1 - 2 / (e^2|x| + 1)."""
    a = c.abs(x)
    z = a * a
    near = c.fma(a * z, c.polynomial(z, TANH[c.dtype]), a)
    limit = ONE_IS_LOST[c.dtype] / 2
    a = c.select(a > limit, limit, a)
    power, k = exp_scaled(c, a + a)
    far = 1.0 - 2.0 / c.fma(power, c.power_of_two(k), 1.0)
    return c.copysign(c.select(a < 0.8, near, far), x)


def sinh(c: FunctionBody, x: VectorValue) -> VectorValue:
    """The hyperbolic sine, (E + E / (E + 1)) / 2 with E = e^|x| - 1."""
    a = c.abs(x)
    high, low, k = expm1_parts(c, c.select(a > LIMITS[c.dtype][2], LIMITS[c.dtype][2], a))
    half, half_low = c.scale(high, k - 1), c.scale(low, k - 1)
    total, lost = two_sum(half + half, c.const(1.0))
    quotient, rest = divide(c, (half, half_low), (total, lost + half_low * 2.0))
    large = a > ONE_IS_LOST[c.dtype]
    quotient, rest = c.select(large, 0.0, quotient), c.select(large, 0.0, rest)
    total, lost = fast_two_sum(half, quotient)
    return c.copysign(total + c.select(large, half_low, lost + (half_low + rest)), x)


def cosh(c: FunctionBody, x: VectorValue) -> VectorValue:
    """The hyperbolic cosine."""
    a = c.abs(x)
    high, low, k = exp_parts(c, c.select(a > LIMITS[c.dtype][2], LIMITS[c.dtype][2], a))
    half = c.scale(high, k - 1)
    return half + (0.25 / half + c.scale(low, k - 1))
