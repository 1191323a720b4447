"""Formulas that keep their digits in both tails, and whose derivatives do too."""

from __future__ import annotations

import math
from typing import Any

from adjoint.ops import language as F
from adjoint.ops import trigonometric as _g
from adjoint.ops.language import where
from adjoint.ops.numpylike.special_ufuncs import COMPOSED_SPECIAL
from adjoint.ops.special_slopes import is_single
from adjoint.ops.transcendental import exp, log, log1p, sqrt


def log_of_share(share: Any, rest: Any) -> Any:
    """The logarithm of a probability, given what is left to 1 as well."""
    large = F.greater(share, 0.5)
    part = where(large, 1.0, share)
    # Scaled to 1 where it is so small that its square, which the second derivative divides by, is no number of the precision.
    small = F.stop_gradient(F.bitwise_and(F.less(part, 1e-10), F.greater(part, 1e-37 if is_single(part) else 1e-307)))
    scale = F.stop_gradient(F.div(1.0, where(small, part, 1.0)))
    return where(large, log1p(-where(large, rest, 0.0)), log(part * scale) - log(scale))


def quantile_of_end(q: Any, at: int, formula: Any, value: Any, lower: bool, flat: Any) -> Any:
    """The quantile of 0 or of 1, which is an end of the support, with its derivatives: by the formula where it has them."""
    edge = F.equal(q, at)
    root = sqrt(where(edge, q if at == 0 else 1.0 - q, 1.0))
    steep = value + root if lower else value - root
    if type(value) is float and (flat or not math.isfinite(value)):
        return steep
    found = formula(where(edge, q, at))
    if type(value) is float:
        return found
    known = F.less(F.abs(found), math.inf)
    found = where(known, found, 0.0)
    finite = where(known, F.stop_gradient(value) + (found - F.stop_gradient(found)), value)
    return where(F.less(F.abs(value), math.inf), finite, steep)


def ndtri_of_log(y: Any) -> Any:
    """The quantile of the normal distribution whose logarithm is y, far below 0: by Newton's steps, which have its derivatives too."""
    log_ndtr, size = COMPOSED_SPECIAL["log_ndtr"], -2.0 * y - math.log(2 * math.pi)
    z = -sqrt(size - log(size))
    for _ in range(4):
        mass = log_ndtr(z)
        z = z - (mass - y) * exp(mass + 0.5 * z * z + 0.5 * math.log(2 * math.pi))
    return z


def logistic_cdf(z: Any) -> Any:
    """1 / (1 + exp(-z))."""
    low = F.less(z, 0)
    e = exp(where(low, z, -z))
    return where(low, e, 1.0) / (1.0 + e)


def cauchy_ppf(q: Any) -> Any:
    """tan(pi (q - 1/2))."""
    low, high = F.less(q, 0.25), F.greater(q, 0.75)
    outer = F.bitwise_or(low, high)
    middle = _g.tan(math.pi * (where(outer, 0.5, q) - 0.5))
    far = F.div(1.0, _g.tan(math.pi * where(low, q, where(high, 1.0 - q, 0.25))))
    return where(low, -far, where(high, far, middle))
