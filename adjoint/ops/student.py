"""Student's distribution: its density, its distribution function, the inverse of that, and their derivatives by the degrees of freedom."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.ops import language as F
from adjoint.ops.card import card
from adjoint.ops.incomplete_beta import beta_slope
from adjoint.ops.removable import polynomial
from adjoint.ops.special import Polygamma
from adjoint.ops.special_slopes import log1p_square
from adjoint.ops.special_table import TABLE, along, of
from adjoint.ops.transcendental import exp, log, log1p

#: The distribution function is that of the normal one less its density times the sum of t P_k(t^2) / df^k, by Fisher's expansion.
_FISHER = (
    (4.0, (1.0, 1.0)),
    (96.0, (-3.0, -5.0, -7.0, 3.0)),
    (384.0, (-15.0, -3.0, 6.0, 14.0, -11.0, 1.0)),
    (92160.0, (945.0, 915.0, -213.0, -939.0, -2141.0, 2225.0, -375.0, 15.0)),
    (368640.0, (17955.0, 5355.0, 180.0, 1140.0, 2490.0, 5994.0, -7516.0, 1764.0, -133.0, 3.0)),
    (
        185794560.0,
        (
            -2463615.0,
            -2329425.0,
            129465.0,
            263115.0,
            -384150.0,
            -876282.0,
            -2253390.0,
            3237542.0,
            -946043.0,
            101115.0,
            -4347.0,
            63.0,
        ),
    ),
)


def _psi(x: Any) -> Any:
    return card(Polygamma, 0)(x)


def log_student_density(df: Any, t: Any) -> Any:
    """The logarithm of the density: of the normal distribution where the degrees of freedom are endless."""
    endless = F.equal(df, np.inf)
    df, z = F.where(endless, 1.0, df), F.where(endless, t, 0.0)
    normal = -0.5 * z * z - 0.5 * math.log(2 * math.pi)
    t = F.where(endless, 0.0, t)
    student = -of("betaln")(0.5 * df, 0.5) - 0.5 * log(df) - (0.5 * (df + 1.0)) * log1p_square(t, df)
    return F.where(endless, normal, student)


def student_density(df: Any, t: Any) -> Any:
    """The density."""
    return exp(log_student_density(df, t))


def student_slope(df: Any, t: Any) -> Any:
    """The derivative of the distribution function by the degrees of freedom."""
    t = F.where(F.equal(F.abs(t), np.inf), 0.0, t)  # where nothing changes, as at 0
    normal = F.stop_gradient(F.bitwise_and(F.greater(df, 1e3), F.less(t * t * (t * t), 0.05 * df)))
    by_expansion = _slope_of_expansion(F.where(normal, df, np.inf), F.where(normal, t, 0.0))
    return F.where(normal, by_expansion, _slope_of_integral(F.where(normal, 1.0, df), F.where(normal, 0.0, t)))


def _slope_of_expansion(df: Any, t: Any) -> Any:
    """The same by Fisher's expansion, where there are many degrees of freedom."""
    square, inverse = t * t, F.div(1.0, df)
    terms = [(k / divisor) * polynomial(c, square) for k, (divisor, c) in enumerate(_FISHER, 1)]
    density = exp(-0.5 * square) * (1.0 / math.sqrt(2 * math.pi))
    return density * t * inverse * inverse * polynomial(terms, inverse)


def _slope_of_integral(df: Any, t: Any) -> Any:
    """The same where the distribution function for t < 0 is betainc(df/2, 1/2, w) / 2.

    Near t = 0, where that form has no derivatives, by the series of the density.
    """
    near = F.stop_gradient(F.less(t * t * (1.0 + F.div(1.0, df)), 0.02))
    far = F.where(near, 1.0, t)
    square = far * far
    w = df / (df + square)
    by_parameter = 0.5 * beta_slope(1, 0)(0.5 * df, 0.5, w)
    along = exp((0.5 * df) * -log1p(square / df) - of("betaln")(0.5 * df, 0.5)) * F.abs(far) / F.sqrt(df + square) / df
    return F.where(near, _slope_of_series(df, F.where(near, t, 0.0)), -0.5 * F.sign(far) * (by_parameter + along))


def _slope_of_series(df: Any, t: Any) -> Any:
    u, a = t * t / df, 0.5 * (df + 1.0)
    of_constant = 0.5 * (_psi(a) - _psi(0.5 * df)) - F.div(0.5, df)
    power: Any = 1.0
    by_power: Any = 0.0
    total = of_constant
    for k in range(1, 15):
        power = power * u * (a + (k - 1.0)) * (-1.0 / k)
        by_power = by_power + F.div(0.5, a + (k - 1.0)) - F.div(1.0, df)
        total = total + power * (of_constant + by_power) * (1.0 / (2 * k + 1))
    return student_density(df, 0.0 * t) * t * total


def _stdtr(y: Any, df: Any, t: Any) -> tuple[Any, ...]:
    return lambda: student_slope(df, t), lambda: student_density(df, t)


def _stdtrit(y: Any, df: Any, p: Any) -> tuple[Any, ...]:
    return lambda: along(student_slope(df, y), student_density(df, y)), lambda: F.div(1.0, student_density(df, y))


TABLE["stdtr"] = _stdtr, ((1.5, 5.0), (-2.0, 2.0))
TABLE["stdtrit"] = _stdtrit, ((1.5, 5.0), (0.1, 0.9))
