"""Unevaluated sums of two floats, the second a correction of the first: results good to half a unit and a bit."""

from __future__ import annotations

from adjoint.backends.native.emit.vecmath.function_body import FunctionBody, VectorValue

Pair = tuple[VectorValue, VectorValue]


def two_sum(a: VectorValue, b: VectorValue) -> Pair:
    """a + b exactly."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def fast_two_sum(a: VectorValue, b: VectorValue) -> Pair:
    """a + b exactly, where |a| ≥ |b| or a = 0."""
    total = a + b
    return total, b - (total - a)


def two_product(c: FunctionBody, a: VectorValue, b: VectorValue) -> Pair:
    """a·b exactly."""
    product = a * b
    return product, c.fma(a, b, -product)


def multiply(c: FunctionBody, a: Pair, b: Pair) -> Pair:
    """A product of pairs."""
    high, low = two_product(c, a[0], b[0])
    return high, c.fma(a[0], b[1], c.fma(a[1], b[0], low))


def divide(c: FunctionBody, a: Pair, b: Pair) -> Pair:
    """A quotient of pairs, with a single division."""
    reciprocal = 1.0 / b[0]
    quotient = a[0] * reciprocal
    rest = c.fma(-quotient, b[0], a[0]) + c.fma(-quotient, b[1], a[1])
    return quotient, rest * reciprocal


def square_root(c: FunctionBody, a: Pair) -> Pair:
    """The root of a pair that is not negative."""
    root = c.sqrt(a[0])
    rest = c.fma(-root, root, a[0]) + a[1]
    return root, rest / c.select(root > 0.0, root + root, 1.0)
