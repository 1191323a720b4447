"""`round(x, 2)` of a Python float: its exact decimal value is rounded, where NumPy rounds `x * 100`, which is rounded itself."""

from __future__ import annotations

from typing import Any

from adjoint.core.errors import ArgumentError, called_at
from adjoint.ops.compare import round_
from adjoint.ops.language import abs, bitwise_and, equal, greater, less, stop_gradient, where


def round_decimal(x: Any, digits: int) -> Any:
    """A float rounded to decimal digits as Python's `round` does it: correctly. Its derivative is zero."""
    if not -22 <= digits <= 22:  # 10 ** 23 is no float
        raise ArgumentError(f"round: a number of a graph has 22 digits at most, not {digits}{called_at()}")
    x, scale = stop_gradient(x), 10.0 ** (digits if digits >= 0 else -digits)
    whole = x * scale if digits >= 0 else x / scale
    rest = _rest(x, scale, whole) if digits >= 0 else x - whole * scale
    near = round_(whole)
    off = whole - near
    up, down = (bitwise_and(equal(off, h), side(rest, 0.0)) for h, side in ((0.5, greater), (-0.5, less)))
    near = where(up, near + 1.0, where(down, near - 1.0, near))  # what is a half only after rounding
    return where(less(abs(whole), 2.0**52), near / scale if digits >= 0 else near * scale, x)


def _rest(x: Any, y: float, product: Any) -> Any:
    """x * y - product, exactly: each factor in two halves, whose products are floats."""
    (a, b), (c, d) = _halves(x), _halves(y)
    return ((a * c - product) + a * d + b * c) + b * d


def _halves(v: Any) -> tuple[Any, Any]:
    wide = v * 134217729.0  # 2 ** 27 + 1
    high = wide - (wide - v)
    return high, v - high
