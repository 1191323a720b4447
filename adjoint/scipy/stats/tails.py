"""Formulas that keep their digits in both tails, and whose derivatives do too."""

from __future__ import annotations

import math
from typing import Any

from adjoint.ops import language as F
from adjoint.ops import trigonometric as _g
from adjoint.ops.language import where
from adjoint.ops.transcendental import exp, log, log1p


def log_of_share(share: Any, rest: Any) -> Any:
    """The logarithm of a probability, given what is left to 1 as well."""
    large = F.greater(share, 0.5)
    return where(large, log1p(-where(large, rest, 0.0)), log(where(large, 1.0, share)))


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
