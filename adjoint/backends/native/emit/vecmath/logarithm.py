"""log and the inverse hyperbolic functions. Everywhere x = 2^n (1 + f) with sqrt(1/2) ≤ 1 + f < sqrt(2)."""

from __future__ import annotations

import math

from adjoint.backends.native.emit.vecmath.coefficients import LN2, LOG, LOG2_E, LOG10_2, LOG10_E
from adjoint.backends.native.emit.vecmath.double_double import divide, fast_two_sum, square_root, two_product, two_sum
from adjoint.backends.native.emit.vecmath.function_body import FunctionBody, VectorValue

ROOT_HALF_BITS = {"float": 0x3F3504F3, "double": 0x3FE6A09E667F3BCD}
# Above this, x^2 + 1 is x^2 and log(1 + x) is log(x).
LARGE = {"float": 2.0**30, "double": 2.0**60}


def reduce(c: FunctionBody, x: VectorValue) -> tuple[VectorValue, VectorValue, VectorValue]:
    """f, n and the bits of 2^n for a positive normal x."""
    one = c.bias << c.mantissa
    bits = x.bits()
    # Positive, so that a logical shift gives the exponent.
    biased = bits - (ROOT_HALF_BITS[c.dtype] - one)
    power = biased & -(1 << c.mantissa)
    f = (bits - power + one).floats() - 1.0
    counter = 2.0**c.mantissa
    n = ((biased >> c.mantissa) | c.const(counter).bits()).floats() - (counter + c.bias)
    return f, n, power


def _above_linear(c: FunctionBody, f: VectorValue) -> VectorValue:
    """log(1 + f) - f."""
    return f * f * c.fma(c.polynomial(f, LOG[c.dtype]), f, -0.5)


def normalised(c: FunctionBody, x: VectorValue) -> tuple[VectorValue, VectorValue]:
    """x, or a multiple of it that is not subnormal, and what to add to its exponent."""
    shift = c.mantissa + 2
    tiny = x < 2.0 ** (1 - c.bias)
    return c.select(tiny, x * 2.0**shift, x), c.select(tiny, -float(shift), 0.0)


def _log(c: FunctionBody, x: VectorValue, two: tuple[float, ...], e: tuple[float, ...]) -> VectorValue:
    """A logarithm, from those of 2 and of e in its base, each in parts."""
    normal, shift = normalised(c, x)
    f, n, _ = reduce(c, normal)
    n = n + shift
    small = _above_linear(c, f)
    if e == (1.0,):
        linear, low = f, small
    else:
        linear, low = two_product(c, f, c.const(e[0]))
        low = c.fma(small, e[0], c.fma(f, e[1], low))
    if len(two) > 1:
        low = c.fma(n, two[1], low)
    total, lost = fast_two_sum(n * two[0], linear)
    result = c.select(x < math.inf, total + (low + lost), x)
    return c.select(x > 0.0, result, c.select(x.equals(0.0), -math.inf, math.nan))


def log(c: FunctionBody, x: VectorValue) -> VectorValue:
    """The natural logarithm."""
    return _log(c, x, LN2[c.dtype], (1.0,))


def log2(c: FunctionBody, x: VectorValue) -> VectorValue:
    """The logarithm to base 2."""
    return _log(c, x, (1.0,), LOG2_E[c.dtype])


def log10(c: FunctionBody, x: VectorValue) -> VectorValue:
    """The logarithm to base 10."""
    return _log(c, x, LOG10_2[c.dtype], LOG10_E[c.dtype])


def log1p_of(c: FunctionBody, x: VectorValue, x_low: VectorValue | None = None) -> VectorValue:
    """log(1 + x + x_low) for finite x > -1; a zero loses its sign."""
    total, lost = two_sum(c.const(1.0), x)
    f, n, power = reduce(c, total)
    # 4 · 2^-n, as 2^-n itself can be subnormal.
    inverse = (((2 * c.bias + 2) << c.mantissa) - power).floats()
    f, f_low = fast_two_sum(f, lost * inverse * 0.25)
    if x_low is not None:
        f_low = c.fma(x_low * inverse, 0.25, f_low)
    low = _above_linear(c, f) + f_low * c.fma(f, f - 1.0, 1.0)
    high, lost = fast_two_sum(n * LN2[c.dtype][0], f)
    return high + (c.fma(n, LN2[c.dtype][1], low) + lost)


def log1p(c: FunctionBody, x: VectorValue) -> VectorValue:
    """log(1 + x)."""
    result = c.select(x < math.inf, c.copysign(log1p_of(c, x), x), x)
    return c.select(x > -1.0, result, c.select(x.equals(-1.0), -math.inf, math.nan))


def _log1p_or_large(
    c: FunctionBody, x: VectorValue, argument: tuple[VectorValue, VectorValue], factor: float
) -> VectorValue:
    """log(1 + argument)·factor, or log(2 x) for large x: the ends of asinh and acosh."""
    large = x > LARGE[c.dtype]
    result = log1p_of(c, c.select(large, x, argument[0]), c.select(large, 0.0, argument[1]))
    return c.select(x < math.inf, c.select(large, result + math.log(2.0), result * factor), x)


def asinh(c: FunctionBody, x: VectorValue) -> VectorValue:
    """The inverse hyperbolic sine, log(1 + 2a (a + sqrt(a² + 1))) / 2 with a = |x|."""
    a = c.abs(x)
    square, square_low = two_product(c, a, a)
    total, lost = two_sum(square, c.const(1.0))
    root, root_low = square_root(c, (total, lost + square_low))
    total, lost = fast_two_sum(root, a)
    high, low = two_product(c, a + a, total)
    return c.copysign(_log1p_or_large(c, a, (high, c.fma(a + a, lost + root_low, low)), 0.5), x)


def acosh(c: FunctionBody, x: VectorValue) -> VectorValue:
    """The inverse hyperbolic cosine, log(1 + (x - 1) + sqrt(x² - 1))."""
    square, square_low = two_product(c, x, x)
    total, lost = fast_two_sum(square, c.const(-1.0))
    root, root_low = square_root(c, (total, lost + square_low))
    total, lost = fast_two_sum(root, x - 1.0)
    return c.select(x >= 1.0, _log1p_or_large(c, x, (total, lost + root_low), 1.0), math.nan)


def atanh(c: FunctionBody, x: VectorValue) -> VectorValue:
    """The inverse hyperbolic tangent, log(1 + 2a / (1 - a)) / 2 with a = |x|."""
    a = c.abs(x)
    total, lost = fast_two_sum(c.const(1.0), -a)
    high, low = divide(c, (a + a, c.const(0.0)), (total, lost))
    result = log1p_of(c, high, low) * 0.5
    result = c.select(a < 1.0, result, c.select(a.equals(1.0), math.inf, math.nan))
    return c.copysign(result, x)
