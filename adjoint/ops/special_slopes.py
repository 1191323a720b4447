"""Derivatives of special functions where the plain formula is a small difference of large numbers: by series there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from adjoint.core.spec import dtype_of
from adjoint.ops import language as F
from adjoint.ops.card import card, register
from adjoint.ops.removable import polynomial
from adjoint.ops.special import Polygamma, SpecialFunction
from adjoint.ops.transcendental import log, log1p

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


def log1p_square(x: Any, divisor: Any = None) -> Any:
    """log(1 + x^2 / divisor), also where the square is no number of the precision."""
    square = x * x if divisor is None else x * x / divisor
    far = F.stop_gradient(F.greater(square, 1e16))
    large, small = F.where(far, F.abs(x), 1.0), F.where(far, 0.0, x)
    if divisor is None:
        return F.where(far, 2.0 * log(large), log1p(small * small))
    return F.where(far, 2.0 * log(large) - log(divisor), log1p(small * small / divisor))


@register
@dataclass(frozen=True)
class DigammaStep(SpecialFunction):
    """digamma(x + h) - digamma(x) of positive x and x + h: without loss of digits where x is far larger than h, or h is small."""

    arity, singular, domain, edges = 2, True, (0.5, 4.0), (1e-8, 1e12)

    def eval(self, xp, x, h):
        total, z = 0.0, x + _STEPS
        for k in range(_STEPS):
            total = total + h / (x + (h + k)) / (x + k)
        w = z + h
        r, power, sums, terms = (z / w) ** 2, 1 / z**2, 1.0, 0.0
        shared = h / w
        for k, c in enumerate(_OF_PSI):
            terms = terms + c * power * sums
            power, sums = power / z**2, sums + r ** (k + 1)
        return total + xp.log1p(h / z) + 0.5 * shared / z + shared * ((z + w) / w) * terms

    def emit(self, b, x, h):
        total, z = b.mul(x, 0.0), b.add(x, float(_STEPS))
        for k in range(_STEPS):
            total = b.add(total, b.div(b.div(h, b.add(x, b.add(h, float(k)))), b.add(x, float(k))))
        w = b.add(z, h)
        ratio, inverse, shared = b.div(z, w), b.div(1.0, z), b.div(h, w)
        r, s = b.mul(ratio, ratio), b.mul(inverse, inverse)
        sums, power, rising, terms = b.add(b.mul(r, 0.0), 1.0), s, r, b.mul(s, 0.0)
        for c in _OF_PSI:
            terms = b.add(terms, b.mul(b.mul(c, power), sums))
            power, sums, rising = b.mul(power, s), b.add(sums, rising), b.mul(rising, r)
        last = b.add(b.mul(b.mul(0.5, shared), inverse), b.mul(b.mul(shared, b.div(b.add(z, w), w)), terms))
        return b.add(b.add(total, b.call("log1p", b.div(h, z))), last)

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
