"""Derivatives of special functions where the plain formula is a small difference of large numbers: by series there."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.spec import dtype_of
from adjoint.ops import language as F
from adjoint.ops.card import card, register
from adjoint.ops.removable import polynomial
from adjoint.ops.special import Polygamma, SpecialFunction
from adjoint.ops.transcendental import exp, expm1, log, log1p

ROOT_PI = math.sqrt(math.pi)
#: 1, 3, 3 * 5, ... of the asymptotic series of erfcx' and dawsn' in 1 / (2 x^2).
_ODD_FACTORIALS = [float(math.prod(range(1, 2 * n + 2, 2))) for n in range(14)]
_EVEN_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
#: Terms of the asymptotic series of digamma: B(2k) / 2k.
_OF_PSI = [b / (2 * k) for k, b in enumerate(_EVEN_BERNOULLI, 1)]
_STEPS = 10  # along the recurrence of digamma, after which the series is exact


def is_single(x: Any) -> bool:
    """Whether floating-point numbers have single precision, or less.

    >>> import numpy as np
    >>> is_single(np.float32(1.0)), is_single(1.0)
    (True, False)
    """
    return dtype_of(x).kind not in "biuc" and dtype_of(x).itemsize < 8


def _split(x: Any, size: Any) -> tuple[Any, Any, Any]:
    """Where the size of x is far out, as its precision has it; x there, and x elsewhere."""
    far = F.greater(F.stop_gradient(size), 5.0 if is_single(x) else 10.0)
    return far, F.where(far, x, 10.0), F.where(far, 0.0, x)


def erfcx_slope(y: Any, x: Any) -> Any:
    """The derivative of exp(x^2) erfc(x)."""
    far, large, small = _split(x, x)
    w = F.div(1.0, large * large)
    series = (-1.0 / ROOT_PI) * w * polynomial(_ODD_FACTORIALS, -0.5 * w)
    return F.where(far, series, 2.0 * small * F.where(far, 1.0, y) - 2.0 / ROOT_PI)


def dawsn_slope(y: Any, x: Any) -> Any:
    """The derivative of Dawson's integral."""
    far, large, small = _split(x, F.abs(x))
    w = F.div(0.5, large * large)
    return F.where(far, -w * polynomial(_ODD_FACTORIALS, w), 1.0 - 2.0 * small * F.where(far, 1.0, y))


def scaled_slope(order: int, x: Any, plain: Callable[[Any], Any]) -> Any:
    """The derivative of exp(-abs(x)) I(x) of order 0 or 1: far out by the asymptotic series, as the plain formula cancels there."""
    far = F.stop_gradient(F.greater(F.abs(x), 60.0))
    size = F.where(far, F.abs(x), 60.0)
    terms, c = [], 1.0 / math.sqrt(2 * math.pi)
    for k in range(14):
        terms.append(-(k + 0.5) * c)
        c *= ((2 * k + 1) ** 2 - 4 * order * order) / (8 * (k + 1))
    series = polynomial(terms, F.div(1.0, size)) / (size * F.sqrt(size))
    return F.where(far, series if order else F.sign(x) * series, plain(F.where(far, 0.0, x)))


def log1p_square(x: Any, divisor: Any = None) -> Any:
    """log(1 + x^2 / divisor), also where the square is no number of the precision."""
    near = 1e8 if divisor is None else 1e8 * F.sqrt(divisor)
    far = F.stop_gradient(F.greater(F.abs(x), near))
    large, small = F.where(far, F.abs(x), 1.0), F.where(far, 0.0, x)
    if divisor is None:
        return F.where(far, 2.0 * log(large), log1p(small * small))
    return F.where(far, 2.0 * log(large) - log(divisor), log1p(small * small / divisor))


def one_minus_exp(t: Any) -> Any:
    """1 - exp(t) for t <= 0.

    >>> print(one_minus_exp(-1e-20))
    1e-20
    """
    near = F.greater(t, -0.5)  # further out the derivative of expm1, which is made of its value, has no digits
    return F.where(near, -expm1(F.where(near, t, 0.0)), 1.0 - exp(F.where(near, -1.0, t)))


@register
@dataclass(frozen=True)
class DigammaStep(SpecialFunction):
    """digamma(x + h) - digamma(x) without loss of digits where x is far larger than h, or h is small.

    Both x and x + h are positive: elsewhere it is NaN. It is computed in double precision.
    """

    arity, singular, domain, edges = 2, True, (0.5, 4.0), (1e-8, 1e12)

    def eval(self, xp, x, h):
        kind = xp.asarray(x * 0.5 + h).dtype
        x, h = (xp.asarray(v, np.float64) for v in (x, h))
        total, z = 0.0, x + _STEPS
        for k in range(_STEPS):
            total = total + h / (x + (h + k)) / (x + k)
        w = z + h
        r, inverse, shared = (z / w) * (z / w), 1.0 / (z * z), h / w
        sums, power, rising, terms = 1.0, inverse, r, 0.0
        for c in _OF_PSI:
            terms = terms + c * power * sums
            power, sums, rising = power * inverse, sums + rising, rising * r
        y = total + xp.log1p(h / z) + (0.5 * shared / z + shared * ((z + w) / w) * terms)
        return xp.asarray(xp.where((x > 0) & (x + h > 0), y, np.nan), kind)

    def emit(self, b, x, h):
        kind, double = x.dtype, np.dtype(np.float64)
        x, h = b.cast(x, double), b.cast(h, double)
        total, z = b.mul(x, 0.0), b.add(x, float(_STEPS))
        for k in range(_STEPS):
            total = b.add(total, b.div(b.div(h, b.add(x, b.add(h, float(k)))), b.add(x, float(k))))
        w = b.add(z, h)
        ratio, inverse, shared = b.div(z, w), b.div(1.0, b.mul(z, z)), b.div(h, w)
        r = b.mul(ratio, ratio)
        sums, power, rising, terms = b.constant(1.0, double), inverse, r, b.constant(0.0, double)
        for c in _OF_PSI:
            terms = b.add(terms, b.mul(b.mul(c, power), sums))
            power, sums, rising = b.mul(power, inverse), b.add(sums, rising), b.mul(rising, r)
        last = b.mul(b.mul(shared, b.div(b.add(z, w), w)), terms)
        y = b.add(b.add(total, b.call("log1p", b.div(h, z))), b.add(b.div(b.mul(0.5, shared), z), last))
        plain = b.bitwise_and(b.compare("gt", x, 0.0), b.compare("gt", b.add(x, h), 0.0))
        return b.cast(b.select(plain, y, b.constant(np.nan, double)), kind)

    def partials(self, y, x, h):
        slope = card(Polygamma, 1)
        return lambda: slope(x + h) - slope(x), lambda: slope(x + h)

    @classmethod
    def samples(cls, draw):
        yield cls(), (draw(2, 3, domain=cls.domain), draw(3, domain=cls.domain))


def digamma_step(x: Any, h: Any) -> Any:
    """digamma(x + h) - digamma(x)."""
    psi, plain = card(Polygamma, 0), F.bitwise_and(F.greater(x, 0), F.greater(x + h, 0))
    left, step = F.where(plain, 1.0, x), F.where(plain, 1.0, h)
    reflected = psi(left + step) - psi(left)
    return F.where(plain, card(DigammaStep)(F.where(plain, x, 1.0), F.where(plain, h, 1.0)), reflected)
