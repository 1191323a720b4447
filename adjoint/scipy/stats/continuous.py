"""Continuous distributions of scipy.stats, each by its formulas at loc=0 and scale=1, in ops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.ops import language as F
from adjoint.ops import trigonometric as _g
from adjoint.ops.functional import digamma, erf, erfc, erfinv, gammainc, gammaincc, lgamma, log_sigmoid, xlogy
from adjoint.ops.incomplete import gamma_density
from adjoint.ops.incomplete_beta import beta_density
from adjoint.ops.language import where
from adjoint.ops.numpylike.special_ufuncs import COMPOSED_SPECIAL, betainc
from adjoint.ops.special_slopes import digamma_step, log1p_square, one_minus_exp
from adjoint.ops.special_table import of
from adjoint.ops.student import log_student_density
from adjoint.ops.transcendental import exp, expm1, log, log1p, sqrt
from adjoint.scipy.stats.distribution import ContinuousDistribution
from adjoint.scipy.stats.tails import cauchy_ppf, log_of_share, logistic_cdf, ndtri_of_log

LOG_2PI = math.log(2 * math.pi)
EULER = float(np.euler_gamma)
_ndtr, _log_ndtr, _xlog1py = (COMPOSED_SPECIAL[name] for name in ("ndtr", "log_ndtr", "xlog1py"))
_betaln, _stdtr, _stdtrit, _ndtri = of("betaln"), of("stdtr"), of("stdtrit"), of("ndtri")


def _positive(*_shapes: Any) -> tuple[float, float]:
    return 0.0, math.inf


def _of_unit(*_shapes: Any) -> tuple[float, float]:
    return 0.0, 1.0


def _if_above(a: Any, limit: float, y: Any, otherwise: float) -> Any:
    """`y(a)` for parameters above a limit, where it exists."""
    above = F.greater(a, limit)
    return where(above, y(where(above, a, limit + 1.0)), otherwise)


norm = ContinuousDistribution(
    "norm",
    logpdf=lambda z: -0.5 * z * z - 0.5 * LOG_2PI,
    cdf=_ndtr, sf=lambda z: _ndtr(-z), logcdf=_log_ndtr, logsf=lambda z: _log_ndtr(-z),
    ppf=_ndtri, isf=lambda q: -_ndtri(q),
    mean=lambda: 0.0, var=lambda: 1.0, entropy=lambda: 0.5 * (LOG_2PI + 1),
)  # fmt: skip


def _t_variance(df: Any) -> Any:
    endless = F.equal(df, np.inf)
    finite = _if_above(where(endless, 3.0, df), 2.0, lambda df: df / (df - 2.0), math.inf)
    return where(endless, 1.0, where(F.greater(df, 1), finite, np.nan))


def _t_entropy(df: Any) -> Any:
    endless = F.equal(df, np.inf)
    half = 0.5 * where(endless, 1.0, df)
    student = (half + 0.5) * digamma_step(half, 0.5) + 0.5 * log(2.0 * half) + _betaln(half, 0.5)
    return where(endless, 0.5 * (LOG_2PI + 1), student)


t = ContinuousDistribution(
    "t", ("df",),
    logpdf=lambda z, df: log_student_density(df, z),
    cdf=lambda z, df: _stdtr(df, z), sf=lambda z, df: _stdtr(df, -z),
    ppf=lambda q, df: _stdtrit(df, q), isf=lambda q, df: -_stdtrit(df, q),
    mean=lambda df: where(F.greater(df, 1), 0.0, math.inf), var=_t_variance, entropy=_t_entropy,
)  # fmt: skip

beta = ContinuousDistribution(
    "beta", ("a", "b"), support=_of_unit,
    logpdf=lambda z, a, b: _xlog1py(b - 1.0, -z) + xlogy(a - 1.0, z) - _betaln(a, b),
    pdf_at_edge=lambda z, a, b: beta_density(a, b, z),
    cdf=lambda z, a, b: betainc(a, b, z), sf=lambda z, a, b: of("betaincc")(a, b, z),
    ppf=lambda q, a, b: of("betaincinv")(a, b, q), isf=lambda q, a, b: of("betainccinv")(a, b, q),
    mean=lambda a, b: a / (a + b), var=lambda a, b: a * b / ((a + b + 1.0) * (a + b) * (a + b)),
    entropy=lambda a, b: (
        _betaln(a, b) - (a - 1.0) * digamma(a) - (b - 1.0) * digamma(b) + (a + b - 2.0) * digamma(a + b)
    ),
)  # fmt: skip

gamma = ContinuousDistribution(
    "gamma", ("a",), support=_positive,
    logpdf=lambda z, a: xlogy(a - 1.0, z) - z - lgamma(a), pdf_at_edge=lambda z, a: gamma_density(a, z),
    cdf=lambda z, a: gammainc(a, z), sf=lambda z, a: gammaincc(a, z),
    ppf=lambda q, a: of("gammaincinv")(a, q), isf=lambda q, a: of("gammainccinv")(a, q),
    mean=lambda a: a, var=lambda a: a, entropy=lambda a: digamma(a) * (1.0 - a) + a + lgamma(a),
)  # fmt: skip

chi2 = ContinuousDistribution(
    "chi2", ("df",), support=_positive,
    logpdf=lambda z, df: xlogy(0.5 * df - 1.0, z) - 0.5 * z - lgamma(0.5 * df) - (0.5 * math.log(2.0)) * df,
    pdf_at_edge=lambda z, df: 0.5 * gamma_density(0.5 * df, 0.5 * z),
    cdf=lambda z, df: gammainc(0.5 * df, 0.5 * z), sf=lambda z, df: gammaincc(0.5 * df, 0.5 * z),
    ppf=lambda q, df: 2.0 * of("gammaincinv")(0.5 * df, q), isf=lambda q, df: 2.0 * of("gammainccinv")(0.5 * df, q),
    mean=lambda df: df, var=lambda df: 2.0 * df,
    entropy=lambda df: 0.5 * df + math.log(2.0) + lgamma(0.5 * df) + (1.0 - 0.5 * df) * digamma(0.5 * df),
)  # fmt: skip

expon = ContinuousDistribution(
    "expon", support=_positive,
    logpdf=lambda z: -z, cdf=lambda z: one_minus_exp(-z), sf=lambda z: exp(-z), logsf=lambda z: -z,
    ppf=lambda q: -log1p(-q), isf=lambda q: -log(q), mean=lambda: 1.0, var=lambda: 1.0, entropy=lambda: 1.0,
)  # fmt: skip


def _laplace_cdf(z: Any) -> Any:
    above = F.greater(z, 0)
    e = 0.5 * exp(where(above, -z, z))
    return where(above, 1.0 - e, e)


def _laplace_logcdf(z: Any) -> Any:
    above = F.greater(z, 0)
    return where(above, log1p(-0.5 * exp(-where(above, z, 0.0))), z - math.log(2.0))


def _laplace_ppf(q: Any) -> Any:
    upper = F.greater(q, 0.5)
    return where(upper, -log(2.0 * (1.0 - where(upper, q, 0.75))), log(2.0 * where(upper, 0.25, q)))


laplace = ContinuousDistribution(
    "laplace",
    logpdf=lambda z: -F.abs(z) - math.log(2.0), cdf=_laplace_cdf, sf=lambda z: _laplace_cdf(-z),
    logcdf=_laplace_logcdf, logsf=lambda z: _laplace_logcdf(-z), ppf=_laplace_ppf, isf=lambda q: -_laplace_ppf(q),
    mean=lambda: 0.0, var=lambda: 2.0, entropy=lambda: math.log(2.0) + 1.0,
)  # fmt: skip

uniform = ContinuousDistribution(
    "uniform", support=_of_unit,
    logpdf=lambda z: 0.0 * z * z, cdf=lambda z: z, sf=lambda z: 1.0 - z, ppf=lambda q: q, isf=lambda q: 1.0 - q,
    mean=lambda: 0.5, var=lambda: 1.0 / 12.0, entropy=lambda: 0.0,
)  # fmt: skip


def _lognorm_logpdf(z: Any, s: Any) -> Any:
    edge = F.equal(z, 0)
    logarithm = log(where(edge, 1.0, z))
    return where(edge, -np.inf, -0.5 * F.pow(logarithm / s, 2) - log(s) - logarithm - 0.5 * LOG_2PI)


lognorm = ContinuousDistribution(
    "lognorm", ("s",), support=_positive, flat=True, logpdf=_lognorm_logpdf,
    cdf=lambda z, s: _ndtr(log(z) / s), sf=lambda z, s: _ndtr(-log(z) / s),
    logcdf=lambda z, s: _log_ndtr(log(z) / s), logsf=lambda z, s: _log_ndtr(-log(z) / s),
    ppf=lambda q, s: exp(s * _ndtri(q)), isf=lambda q, s: exp(-s * _ndtri(q)),
    mean=lambda s: exp(0.5 * s * s), var=lambda s: expm1(s * s) * exp(s * s), entropy=lambda s: 0.5 * (1.0 + LOG_2PI) + log(s),
)  # fmt: skip

cauchy = ContinuousDistribution(
    "cauchy",
    logpdf=lambda z: -math.log(math.pi) - log1p_square(z),
    cdf=lambda z: _g.atan2(1.0, -z) / math.pi, sf=lambda z: _g.atan2(1.0, z) / math.pi,
    ppf=cauchy_ppf, isf=lambda q: -cauchy_ppf(q),
    mean=lambda: math.nan, var=lambda: math.nan, entropy=lambda: math.log(4 * math.pi),
)  # fmt: skip

logistic = ContinuousDistribution(
    "logistic", logpdf=lambda z: log_sigmoid(z) + log_sigmoid(-z),
    cdf=logistic_cdf, sf=lambda z: logistic_cdf(-z), logcdf=log_sigmoid, logsf=lambda z: log_sigmoid(-z),
    ppf=lambda q: log(q) - log1p(-q), isf=lambda q: log1p(-q) - log(q),
    mean=lambda: 0.0, var=lambda: math.pi**2 / 3.0, entropy=lambda: 2.0,
)  # fmt: skip

pareto = ContinuousDistribution(
    "pareto", ("b",), support=lambda b: (1.0, math.inf), inside=2.0,
    logpdf=lambda z, b: log(b) - (b + 1.0) * log(z),
    cdf=lambda z, b: one_minus_exp(-b * log(z)), sf=lambda z, b: exp(-b * log(z)), logsf=lambda z, b: -b * log(z),
    ppf=lambda q, b: exp(-log1p(-q) / b), isf=lambda q, b: exp(-log(q) / b),
    mean=lambda b: _if_above(b, 1.0, lambda b: b / (b - 1.0), math.inf),
    var=lambda b: _if_above(b, 2.0, lambda b: b / ((b - 2.0) * (b - 1.0) * (b - 1.0)), math.inf),
    entropy=lambda b: 1.0 + F.div(1.0, b) - log(b),
)  # fmt: skip


def _weibull_variance(c: Any) -> Any:
    first = of("gamma")(1.0 + F.div(1.0, c))
    return of("gamma")(1.0 + F.div(2.0, c)) - first * first


weibull_min = ContinuousDistribution(
    "weibull_min", ("c",), support=_positive,
    logpdf=lambda z, c: log(c) + xlogy(c - 1.0, z) - F.pow(z, c),
    pdf_at_edge=lambda z, c: c * F.pow(z, c - 1.0) * exp(-F.pow(z, c)),
    cdf=lambda z, c: one_minus_exp(-F.pow(z, c)), sf=lambda z, c: exp(-F.pow(z, c)), logsf=lambda z, c: -F.pow(z, c),
    ppf=lambda q, c: F.pow(-log1p(-q), F.div(1.0, c)), isf=lambda q, c: F.pow(-log(q), F.div(1.0, c)),
    mean=lambda c: of("gamma")(1.0 + F.div(1.0, c)), var=_weibull_variance,
    entropy=lambda c: -EULER / c - log(c) + EULER + 1.0,
)  # fmt: skip


def _invgamma_logpdf(z: Any, a: Any) -> Any:
    edge = F.equal(z, 0)
    at = where(edge, 1.0, z)
    return where(edge, -np.inf, -(a + 1.0) * log(at) - lgamma(a) - F.div(1.0, at))


invgamma = ContinuousDistribution(
    "invgamma", ("a",), support=_positive, flat=True, logpdf=_invgamma_logpdf,
    cdf=lambda z, a: gammaincc(a, F.div(1.0, z)), sf=lambda z, a: gammainc(a, F.div(1.0, z)),
    ppf=lambda q, a: F.div(1.0, of("gammainccinv")(a, q)), isf=lambda q, a: F.div(1.0, of("gammaincinv")(a, q)),
    mean=lambda a: _if_above(a, 1.0, lambda a: F.div(1.0, a - 1.0), math.inf),
    var=lambda a: _if_above(a, 2.0, lambda a: F.div(1.0, (a - 1.0) * (a - 1.0) * (a - 2.0)), math.inf),
    entropy=lambda a: a - (a + 1.0) * digamma(a) + lgamma(a),
)  # fmt: skip


def _gumbel_logsf(z: Any) -> Any:
    far = F.greater(z, 20.0)
    near = where(far, 0.0, z)
    share = -exp(-near)
    large = where(far, z, 20.0)
    return where(far, -large - 0.5 * exp(-large), log_of_share(one_minus_exp(share), exp(share)))


gumbel_r = ContinuousDistribution(
    "gumbel_r",
    logpdf=lambda z: -z - exp(-z), cdf=lambda z: exp(-exp(-z)), logcdf=lambda z: -exp(-z), sf=lambda z: one_minus_exp(-exp(-z)),
    logsf=_gumbel_logsf,
    ppf=lambda q: -log(-log(q)), isf=lambda q: -log(-log1p(-q)),
    mean=lambda: EULER, var=lambda: math.pi**2 / 6.0, entropy=lambda: EULER + 1.0,
)  # fmt: skip

gumbel_l = ContinuousDistribution(
    "gumbel_l",
    logpdf=lambda z: z - exp(z), cdf=lambda z: one_minus_exp(-exp(z)), sf=lambda z: exp(-exp(z)), logsf=lambda z: -exp(z), logcdf=lambda z: _gumbel_logsf(-z),
    ppf=lambda q: log(-log1p(-q)), isf=lambda q: log(-log(q)),
    mean=lambda: -EULER, var=lambda: math.pi**2 / 6.0, entropy=lambda: EULER + 1.0,
)  # fmt: skip

_ROOT_HALF = math.sqrt(0.5)


def _halfnorm_logsf(z: Any) -> Any:
    near = F.less(z, 0.7)
    far = where(near, 1.0, z)
    return where(near, log1p(-erf(_ROOT_HALF * where(near, z, 0.0))), math.log(2.0) + _log_ndtr(-far))


halfnorm = ContinuousDistribution(
    "halfnorm", support=_positive,
    logpdf=lambda z: 0.5 * math.log(2 / math.pi) - 0.5 * z * z,
    cdf=lambda z: erf(_ROOT_HALF * z), sf=lambda z: erfc(_ROOT_HALF * z), logsf=_halfnorm_logsf,
    ppf=lambda q: math.sqrt(2.0) * erfinv(q), isf=lambda q: -_ndtri(0.5 * q),
    mean=lambda: math.sqrt(2 / math.pi), var=lambda: 1 - 2 / math.pi, entropy=lambda: 0.5 * math.log(math.pi / 2) + 0.5,
)  # fmt: skip


def _rayleigh_logpdf(z: Any) -> Any:
    far = F.equal(z, np.inf)  # where infinity would be taken from infinity
    z = where(far, 1.0, z)
    return where(far, -np.inf, xlogy(1.0, z) - 0.5 * z * z)


rayleigh = ContinuousDistribution(
    "rayleigh", support=_positive, logpdf=_rayleigh_logpdf, pdf_at_edge=lambda z: z * exp(-0.5 * z * z),
    cdf=lambda z: one_minus_exp(-0.5 * z * z), sf=lambda z: exp(-0.5 * z * z), logsf=lambda z: -0.5 * z * z,
    ppf=lambda q: sqrt(-2.0 * log1p(-q)), isf=lambda q: sqrt(0.0 - 2.0 * log(q)),
    mean=lambda: math.sqrt(math.pi / 2), var=lambda: (4 - math.pi) / 2, entropy=lambda: EULER / 2 + 1 - 0.5 * math.log(2),
)  # fmt: skip


# ---------------------------------------------------------------- the truncated normal distribution


def _log_mass(a: Any, b: Any) -> Any:
    """The logarithm of the normal distribution's mass between a and b: by the tail that both lie in, or by the two outside."""
    right = F.greater(a, 0)
    left = F.bitwise_and(F.logical_not(right), F.less_equal(b, 0))
    low, high = where(right, -b, a), where(right, -a, b)  # in the lower tail
    tail = F.bitwise_or(right, left)
    upper = _log_ndtr(where(tail, high, -1.0))
    below = where(tail, low, -2.0)
    bounded = F.logical_not(F.less_equal(below, -np.inf))
    lower = _log_ndtr(where(bounded, below, -2.0))
    apart = where(bounded, lower - upper, -np.inf)
    same = F.greater_equal(apart, 0)
    in_tail = upper + where(same, -np.inf, log1p(-exp(where(same, -1.0, apart))))
    outside = _ndtr(where(tail, -1.0, a)) + _ndtr(where(tail, -1.0, -b))
    return where(tail, in_tail, log1p(-outside))


def _truncnorm_ppf(q: Any, a: Any, b: Any) -> Any:
    right = F.greater(a, 0)
    low, high, p = where(right, -b, a), where(right, -a, b), where(right, 1.0 - q, q)
    far = F.less(high, -20.0)  # where the masses soon are no numbers of the precision: by their logarithms
    bottom, top = _ndtr(where(far, -1.0, low)), _ndtr(where(far, 1.0, high))
    bounded = F.greater(low, -np.inf)
    whole = _log_ndtr(where(far, high, -21.0))
    least = where(bounded, _log_ndtr(where(F.bitwise_and(far, bounded), low, -22.0)) - whole, -np.inf)
    share = p + where(bounded, (1.0 - p) * exp(where(bounded, least, -1.0)), 0.0)
    z = where(far, ndtri_of_log(whole + log(where(far, share, 0.5))), _ndtri(bottom + p * (top - bottom)))
    return where(right, -z, z)


def _truncnorm_inside(a: Any, b: Any) -> Any:
    """A point between a and b, either of which may be infinite."""
    low, high = where(F.greater(a, -np.inf), a, 0.0), where(F.less(b, np.inf), b, 0.0)
    return F.stop_gradient(
        where(F.greater(a, -np.inf), where(F.less(b, np.inf), 0.5 * (low + high), low + 1.0), high - 1.0)
    )


truncnorm = ContinuousDistribution(
    "truncnorm", ("a", "b"), positive=(), valid=lambda a, b: F.less(a, b), support=lambda a, b: (a, b), inside=_truncnorm_inside,
    logpdf=lambda z, a, b: -0.5 * z * z - 0.5 * LOG_2PI - _log_mass(a, b),
    cdf=lambda z, a, b: exp(_log_mass(a, z) - _log_mass(a, b)), sf=lambda z, a, b: exp(_log_mass(z, b) - _log_mass(a, b)),
    logcdf=lambda z, a, b: _log_mass(a, z) - _log_mass(a, b), logsf=lambda z, a, b: _log_mass(z, b) - _log_mass(a, b),
    ppf=_truncnorm_ppf, isf=lambda q, a, b: -_truncnorm_ppf(q, -b, -a),
)  # fmt: skip
