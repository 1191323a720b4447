"""Distributions of integers of scipy.stats, each by its formulas at loc=0, in ops."""

from __future__ import annotations

import math
from typing import Any

from adjoint.ops import language as F
from adjoint.ops.functional import gammainc, gammaincc, lgamma, xlogy
from adjoint.ops.language import where
from adjoint.ops.numpylike.special_ufuncs import COMPOSED_SPECIAL, betainc
from adjoint.ops.special_slopes import one_minus_exp
from adjoint.ops.special_table import of
from adjoint.ops.transcendental import exp, log, log1p, sqrt
from adjoint.scipy.stats.distribution import DiscreteDistribution


def _ways(n: Any, k: Any) -> Any:
    """The logarithm of the number of choices of k from n."""
    return lgamma(n + 1.0) - (lgamma(k + 1.0) + lgamma(n - k + 1.0))


_xlog1py, _entr, _betaincc = COMPOSED_SPECIAL["xlog1py"], COMPOSED_SPECIAL["entr"], of("betaincc")


def _counted(*_shapes: Any) -> tuple[float, float]:
    return 0.0, math.inf


def _probability(p: Any) -> Any:
    return F.bitwise_and(F.greater_equal(p, 0), F.less_equal(p, 1))


poisson = DiscreteDistribution(
    "poisson", ("mu",), support=_counted, positive=(), valid=lambda mu: F.greater_equal(mu, 0),
    logpmf=lambda k, mu: xlogy(k, mu) - lgamma(k + 1.0) - mu,
    pmf_at_edge=lambda k, mu: F.pow(mu, k) * exp(-mu - lgamma(k + 1.0)),
    cdf=lambda k, mu: gammaincc(k + 1.0, mu), sf=lambda k, mu: gammainc(k + 1.0, mu),
    mean=lambda mu: mu, var=lambda mu: mu,
)  # fmt: skip


def _binom_logpmf(k: Any, n: Any, p: Any) -> Any:
    return _ways(n, k) + xlogy(k, p) + _xlog1py(n - k, -p)


binom = DiscreteDistribution(
    "binom", ("n", "p"), support=lambda n, p: (0.0, n), positive=(),
    valid=lambda n, p: F.bitwise_and(F.bitwise_and(F.greater_equal(n, 0), F.equal(n % 1.0, 0)), _probability(p)),
    logpmf=_binom_logpmf, pmf_at_edge=lambda k, n, p: exp(_ways(n, k)) * F.pow(p, k) * F.pow(1.0 - p, n - k),
    cdf=lambda k, n, p: _betaincc(k + 1.0, F.where(F.less(k, n), n - k, 1.0), p),
    sf=lambda k, n, p: betainc(k + 1.0, F.where(F.less(k, n), n - k, 1.0), p),
    mean=lambda n, p: n * p, var=lambda n, p: n * p * (1.0 - p),
)  # fmt: skip


def _bernoulli_entropy(p: Any) -> Any:
    edge = F.bitwise_or(F.equal(p, 0), F.equal(p, 1))  # where it is 0, and steep
    inner = where(edge, 0.5, p)
    return where(edge, sqrt(where(edge, p * (1.0 - p), 1.0)), _entr(inner) + _entr(1.0 - inner))


bernoulli = DiscreteDistribution(
    "bernoulli", ("p",), support=lambda p: (0.0, 1.0), positive=(), valid=_probability,
    logpmf=lambda k, p: xlogy(k, p) + _xlog1py(1.0 - k, -p),
    pmf_at_edge=lambda k, p: F.pow(p, k) * F.pow(1.0 - p, 1.0 - k),
    cdf=lambda k, p: 1.0 - p, sf=lambda k, p: p + 0.0 * k,
    mean=lambda p: p, var=lambda p: p * (1.0 - p), entropy=_bernoulli_entropy,
)  # fmt: skip


def _geom_cdf(k: Any, p: Any) -> Any:
    sure = F.equal(p, 1)  # where the logarithm is infinite
    usual = one_minus_exp(log1p(-where(sure, 0.5, p)) * k)
    return where(sure, 1.0 - F.pow(where(sure, 1.0 - p, 1.0), k), usual)


def _geom_sf(k: Any, p: Any) -> Any:
    sure = F.equal(p, 1)
    return where(sure, F.pow(where(sure, 1.0 - p, 1.0), k), exp(k * log1p(-where(sure, 0.5, p))))


def _geom_logsf(k: Any, p: Any) -> Any:
    sure = F.equal(p, 1)
    return where(sure, -math.inf, k * log1p(-where(sure, 0.5, p)))


geom = DiscreteDistribution(
    "geom", ("p",), support=lambda p: (1.0, math.inf), valid=lambda p: F.less_equal(p, 1),
    logpmf=lambda k, p: _xlog1py(k - 1.0, -p) + log(p),
    pmf_at_edge=lambda k, p: p * F.pow(1.0 - p, k - 1.0), cdf=_geom_cdf, sf=_geom_sf, logsf=_geom_logsf,
    mean=lambda p: F.div(1.0, p), var=lambda p: (1.0 - p) / (p * p),
)  # fmt: skip

nbinom = DiscreteDistribution(
    "nbinom", ("n", "p"), support=_counted, valid=lambda n, p: F.less_equal(p, 1),
    logpmf=lambda k, n, p: lgamma(n + k) - lgamma(k + 1.0) - lgamma(n) + n * log(p) + _xlog1py(k, -p),
    pmf_at_edge=lambda k, n, p: exp(lgamma(n + k) - lgamma(k + 1.0) - lgamma(n)) * F.pow(p, n) * F.pow(1.0 - p, k),
    cdf=lambda k, n, p: betainc(n, k + 1.0, p), sf=lambda k, n, p: _betaincc(n, k + 1.0, p),
    mean=lambda n, p: n * (1.0 - p) / p, var=lambda n, p: n * (1.0 - p) / (p * p),
)  # fmt: skip
