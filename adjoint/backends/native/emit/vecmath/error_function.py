"""The error function and its complement."""

from __future__ import annotations

from adjoint.backends.native.emit.vecmath.coefficients import ERF, ERF_FAR, ERF_FAR_POLE, ERFCX, ERFCX_POLE, ERFCX_SLOPE
from adjoint.backends.native.emit.vecmath.double_double import divide, fast_two_sum, multiply, two_product, two_sum
from adjoint.backends.native.emit.vecmath.exponential import exp_parts, exp_scaled
from adjoint.backends.native.emit.vecmath.function_body import FunctionBody, VectorValue

# erf is 1 above the first, erfc is 0 above the second.
LIMITS = {"float": (4.0, 10.06), "double": (6.0, 27.24)}


def _erf_far(c: FunctionBody, a: VectorValue) -> VectorValue:
    """erf(a) for a ≥ 1."""
    limit, pole = LIMITS[c.dtype][0], ERF_FAR_POLE[c.dtype]
    a = c.select(a > limit, limit, a)
    inverse = 1.0 / (a + pole)
    tail = inverse * c.polynomial(c.fma(inverse, -2.0 * pole, 1.0), ERF_FAR[c.dtype])
    decay, k = exp_scaled(c, -(a * a))
    return c.fma(-tail * c.power_of_two(k), decay, 1.0)


def erf(c: FunctionBody, x: VectorValue) -> VectorValue:
    """The error function: a polynomial below 1, else 1 - erfc."""
    a = c.abs(x)
    near = c.fma(a, c.polynomial(a * a, ERF[c.dtype]), a)
    return c.copysign(c.select(a < 1.0, near, _erf_far(c, a)), x)


def erfc(c: FunctionBody, x: VectorValue) -> VectorValue:
    """1 - erf(x), as e^(-x²) times a polynomial in 1/(|x| + pole), all in pairs."""
    a = c.abs(x)
    limit, pole = LIMITS[c.dtype][1], ERFCX_POLE
    a = c.select(a > limit, limit, a)
    inverse = divide(c, (c.const(1.0), c.const(0.0)), two_sum(a, c.const(pole)))
    t, t_low = fast_two_sum(c.const(1.0), inverse[0] * (-2.0 * pole))
    t_low = c.fma(inverse[1], -2.0 * pole, t_low)
    first, *others = ERFCX[c.dtype]
    product, rest = two_product(c, t, c.horner(t, others))
    total, lost = two_sum(product, c.const(first))
    correction = c.fma(t_low, c.polynomial(t, ERFCX_SLOPE), first - c.rounded(first))
    scaled = total, correction + (lost + rest)
    square, square_low = two_product(c, a, a)
    high, low, k = exp_parts(c, -square, -square_low)
    high, low = multiply(c, (high, low), multiply(c, scaled, inverse))
    result = c.scale(high + low, k)
    return c.select(x < 0.0, 2.0 - result, result)
