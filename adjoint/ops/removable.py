"""Quotients with a limit where numerator and denominator are both 0: by their series there, so that every derivative is that of the limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.ops import language as F
from adjoint.ops.transcendental import log, log1p
from adjoint.ops.trigonometric import sin, sinh

_LOG1P = [(-1.0) ** k / (k + 1) for k in range(26)]
_SINC = [(-1.0) ** k / math.factorial(2 * k + 1) for k in range(12)]
_SINHC = [1.0 / math.factorial(2 * k + 1) for k in range(12)]
#: The squares of (2n - 1)!! / (2n)!!, times pi / 2: the coefficients of K(m).
_OF_K = [math.pi / 2 * (math.comb(2 * n, n) / 4**n) ** 2 for n in range(31)]
_OF_E = [-c / (2 * n - 1) for n, c in enumerate(_OF_K)]


def polynomial(coefficients: Sequence[float], x: Any) -> Any:
    """The power series of these coefficients at x.

    >>> polynomial([1.0, 2.0, 3.0], 2.0)
    17.0
    """
    total: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def _series_near_zero(x: Any, radius: float, series: Callable[[Any], Any], otherwise: Callable[[Any], Any]) -> Any:
    near = F.less(F.abs(F.stop_gradient(x)), radius)
    return F.where(near, series(F.where(near, x, 0.0)), otherwise(F.where(near, 0.5, x)))


def sin_over(x: Any) -> Any:
    """sin(x) / x, 1 at 0."""
    return _series_near_zero(x, 0.5, lambda x: polynomial(_SINC, x * x), lambda x: F.div(sin(x), x))


def sinh_over(x: Any) -> Any:
    """sinh(x) / x, 1 at 0."""
    return _series_near_zero(x, 0.5, lambda x: polynomial(_SINHC, x * x), lambda x: F.div(sinh(x), x))


def log_over(x: Any) -> Any:
    """log(x) / (x - 1), 1 at 1."""
    near = F.less(F.abs(F.stop_gradient(x) - 1.0), 0.1)
    far = F.where(near, 2.0, x)
    return F.where(near, polynomial(_LOG1P, F.where(near, x - 1.0, 0.0)), F.div(log(far), far - 1.0))


def log1p_over(x: Any, scale: Any) -> Any:
    """log(1 + scale x) / scale, x where scale is 0."""
    endless = F.equal(F.abs(F.stop_gradient(x)), math.inf)
    product = scale * F.where(endless, 0.0, x)
    near = F.bitwise_or(
        F.bitwise_and(F.less(F.abs(F.stop_gradient(product)), 0.1), F.logical_not(endless)), F.equal(scale, 0)
    )
    small, by = F.where(near, product, 0.0), F.where(near, 1.0, scale)
    return F.where(near, x * polynomial(_LOG1P, small), F.div(log1p(by * F.where(near, 1.0, x)), by))


def slope_of_k(m: Any, far: Callable[[Any], Any]) -> Any:
    """The derivative of the elliptic integral K by its parameter: by its series near 0, `far` elsewhere."""
    return _series_near_zero(m, 0.15, lambda m: polynomial(_slopes(_OF_K), m), far)


def slope_of_e(m: Any, far: Callable[[Any], Any]) -> Any:
    """The derivative of the elliptic integral E by its parameter: by its series near 0, `far` elsewhere."""
    return _series_near_zero(m, 0.15, lambda m: polynomial(_slopes(_OF_E), m), far)


def _slopes(coefficients: Sequence[float]) -> list[float]:
    return [n * c for n, c in enumerate(coefficients)][1:]
