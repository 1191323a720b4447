"""At the edges of what parameters, quantiles and supports may be: derivatives from the side where the function is, in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special as sp
import scipy.stats as st

import adjoint as ad

MODES = pytest.mark.parametrize("compiled", [False, True], ids=["dynamic", "compiled"])


def slopes(f, x, compiled, order=1):
    """The derivatives of a function of one number up to an order, without warnings of infinite ones."""
    found = []
    for _ in range(order):
        f = ad.grad(f)
        with np.errstate(all="ignore"):
            found.append(float((ad.jit(f) if compiled else f)(x)))
    return found


#: A probability by its parameter: where, and the first two derivatives of its polynomial there.
PROBABILITIES = [
    (lambda p: st.bernoulli.pmf(1, p), 0.0, (1, 0)), (lambda p: st.bernoulli.pmf(0, p), 0.0, (-1, 0)),
    (lambda p: st.bernoulli.pmf(0, p), 1.0, (-1, 0)), (lambda p: st.binom.pmf(0, 3, p), 0.0, (-3, 6)),
    (lambda p: st.binom.pmf(1, 3, p), 0.0, (3, -12)), (lambda p: st.binom.pmf(2, 3, p), 0.0, (0, 6)),
    (lambda p: st.binom.pmf(2, 3, p), 1.0, (-3, -12)), (lambda p: st.binom.pmf(4, 3, p), 1.0, (0, 0)),
    (lambda m: st.poisson.pmf(1, m), 0.0, (1, -2)), (lambda m: st.poisson.pmf(0, m), 0.0, (-1, 1)),
    (lambda m: st.poisson.pmf(2, m), 0.0, (0, 1)), (lambda p: st.geom.pmf(2, p), 1.0, (-1, -2)),
    (lambda p: st.geom.pmf(1, p), 1.0, (1, 0)), (lambda p: st.nbinom.pmf(1, 2.0, p), 1.0, (-2, -8)),
    (lambda p: st.nbinom.pmf(0, 2.0, p), 1.0, (2, 2)), (lambda p: st.geom.cdf(1, p), 1.0, (1, 0)),
    (lambda p: st.geom.sf(2, p), 1.0, (0, 2)), (lambda m: st.poisson.cdf(0, m), 0.0, (-1, 1)),
    (lambda m: st.poisson.sf(1, m), 0.0, (0, 1)), (lambda p: st.binom.cdf(0, 5, p), 0.0, (-5, 20)),
    (lambda p: st.nbinom.cdf(0, 2.0, p), 1.0, (2, 2)),
]  # fmt: skip


@MODES
@pytest.mark.parametrize("case", range(len(PROBABILITIES)))
def test_probabilities_where_nothing_is_left_to_chance(case: int, compiled: bool) -> None:
    f, at, want = PROBABILITIES[case]
    np.testing.assert_allclose(slopes(f, at, compiled, 1 if compiled else 2), want[: 1 if compiled else 2], atol=1e-12)


#: Functions of one number at an edge of their domain, and their first two derivatives.
EDGES = [
    (lambda x: sp.gammainc(1.0, x), 0.0, (1, -1)), (lambda x: sp.gammaincc(1.0, x), 0.0, (-1, 1)),
    (lambda x: sp.gammainc(2.0, x), 0.0, (0, 1)), (lambda x: sp.gammainc(3.0, x), 0.0, (0, 0)),
    (lambda x: sp.gammainc(0.5, x), 0.0, (math.inf,)), (lambda x: sp.betainc(1.0, 3.0, x), 0.0, (3, -6)),
    (lambda x: sp.betainc(2.0, 3.0, x), 0.0, (0, 12)), (lambda x: sp.betainc(3.0, 1.0, x), 1.0, (3, 6)),
    (lambda x: sp.betaincc(3.0, 1.0, x), 1.0, (-3, -6)), (lambda x: sp.betainc(3.0, 2.0, x), 1.0, (0, -12)),
    (lambda p: sp.gammaincinv(1.0, p), 0.0, (1, 1)), (lambda p: sp.gammainccinv(1.0, p), 1.0, (-1, 1)),
    (lambda p: sp.betaincinv(1.0, 3.0, p), 0.0, (1 / 3, 2 / 9)), (lambda p: sp.betainccinv(1.0, 3.0, p), 1.0, (-1 / 3, 2 / 9)),
    (lambda a: sp.gammaincinv(a, 0.0), 2.0, (0,)), (lambda a: sp.betaincinv(a, 3.0, 1.0), 2.0, (0,)),
    (lambda q: st.expon.ppf(q), 0.0, (1, 1)), (lambda q: st.expon.isf(q), 1.0, (-1, 1)), (lambda q: st.expon.ppf(q), 1.0, (math.inf,)),
    (lambda q: st.uniform.ppf(q, 1.0, 3.0), 1.0, (3, 0)), (lambda q: st.norm.ppf(q), 0.0, (math.inf,)),
    (lambda q: st.norm.isf(q), 0.0, (-math.inf,)), (lambda q: st.halfnorm.ppf(q), 0.0, (math.sqrt(math.pi / 2), 0)),
    (lambda q: st.pareto.ppf(q, 2.0), 0.0, (0.5, 0.75)), (lambda q: st.weibull_min.ppf(q, 0.5), 0.0, (0, 2)),
    (lambda q: st.weibull_min.ppf(q, 2.0), 1.0, (math.inf,)), (lambda q: st.rayleigh.isf(q), 1.0, (-math.inf,)),
    (lambda q: st.lognorm.ppf(q, 0.5), 0.0, (math.inf,)), (lambda q: st.invgamma.isf(q, 2.0), 1.0, (-math.inf,)),
    (lambda q: st.gamma.ppf(q, 1.0), 0.0, (1, 1)), (lambda q: st.beta.ppf(q, 1.0, 3.0), 0.0, (1 / 3, 2 / 9)),
    (lambda a: st.truncnorm.ppf(0.0, a, 2.0), -1.0, (1,)), (lambda b: st.truncnorm.ppf(1.0, -1.0, b), 2.0, (1,)),
    (lambda x: st.expon.cdf(x), 0.0, (1, -1)), (lambda x: st.expon.logsf(x), 0.0, (-1, 0)), (lambda x: st.gamma.cdf(x, 1.0), 0.0, (1, -1)),
    (lambda x: st.uniform.cdf(x), 1.0, (1, 0)), (lambda x: st.uniform.logcdf(x), 1.0, (1, -1)), (lambda x: st.beta.sf(x, 1.0, 3.0), 0.0, (-3, 6)),
    (lambda x: st.lognorm.cdf(x, 0.5), 0.0, (0, 0)), (lambda x: st.invgamma.cdf(x, 2.0), 0.0, (0, 0)),
    (lambda x: st.beta.pdf(x, 2.0, 3.0), 0.0, (12, -48)), (lambda x: st.beta.pdf(x, 3.0, 2.0), 1.0, (-12, -48)),
    (lambda x: st.gamma.pdf(x, 2.0), 0.0, (1, -2)), (lambda x: st.chi2.pdf(x, 4.0), 0.0, (0.25, -0.25)),
    (lambda x: st.weibull_min.pdf(x, 2.0), 0.0, (2, 0)), (lambda x: st.rayleigh.pdf(x), 0.0, (1, 0)),
    (lambda p: st.bernoulli.entropy(p), 0.0, (math.inf,)), (lambda p: st.bernoulli.entropy(p), 1.0, (-math.inf,)),
    (lambda x: sp.gammainc(2.0, x), math.inf, (0, 0)), (lambda x: sp.gammaincc(2.0, x), math.inf, (0, 0)),
    (lambda a: sp.gammainc(a, math.inf), 2.0, (0,)), (lambda p: sp.gammaincinv(2.0, p), 1.0, (math.inf,)),
    (lambda v: sp.stdtr(v, math.inf), 3.0, (0,)), (lambda v: sp.stdtr(v, -math.inf), 3.0, (0,)),
    (lambda loc: st.gamma.pdf(1.0, 2.0, loc, 2.0), 1.0, (-0.25, -0.25)),
]  # fmt: skip


@MODES
@pytest.mark.parametrize("case", range(len(EDGES)))
def test_functions_at_the_edge_of_where_they_are(case: int, compiled: bool) -> None:
    f, at, want = EDGES[case]
    count = 1 if compiled else len(want)
    np.testing.assert_allclose(slopes(f, at, compiled, count), want[:count], rtol=1e-12, atol=1e-12)


def test_the_incomplete_gamma_function_by_both_arguments_at_0() -> None:
    with np.errstate(all="ignore"):
        assert ad.grad(ad.grad(sp.gammainc, 1), 0)(2.0, 0.0) == 0.0
        assert ad.grad(ad.grad(sp.gammainc, 0), 1)(1.0, 0.0) == -math.inf


def test_second_derivatives_of_small_tails() -> None:
    # sf of gamma(2) is (1 + x) exp(-x); logsf'' is -1 / (1 + x)^2
    np.testing.assert_allclose(slopes(lambda x: st.gamma.logsf(x, 2.0), 690.0, False, 2)[1], -1 / 691**2, rtol=1e-6)
    np.testing.assert_allclose(slopes(st.gumbel_r.logsf, 690.0, False, 2), (-1, 0), atol=1e-12)
    np.testing.assert_allclose(slopes(st.gumbel_l.logcdf, -690.0, False, 2), (1, 0), atol=1e-12)
    np.testing.assert_allclose(ad.grad(ad.grad(st.gumbel_r.logsf))(np.float32(60.0)), 0.0, atol=1e-6)
    assert ad.grad(st.gumbel_r.logsf)(800.0) == -1.0


def test_the_logarithm_of_a_tail_that_is_no_number_any_more() -> None:
    assert ad.value_and_grad(lambda p: st.geom.logsf(3000, p))(0.5) == (3000 * math.log(0.5), -6000.0)
    assert ad.jit(ad.grad(lambda p: st.geom.logsf(3000, p)))(0.5) == -6000.0


@MODES
@pytest.mark.parametrize("edges", [(-40.0, -38.0), (38.0, 40.0), (30.0, math.inf), (-math.inf, -25.0), (5.0, 9.0)])
def test_quantiles_of_a_normal_distribution_cut_far_out(edges, compiled: bool) -> None:
    for q in (1e-9, 0.5, 0.9):
        want = st.truncnorm.ppf(q, *edges)
        found, slope = (ad.jit if compiled else lambda f: f)(ad.value_and_grad(lambda q: st.truncnorm.ppf(q, *edges)))(
            q
        )
        np.testing.assert_allclose(found, want, rtol=1e-11)
        np.testing.assert_allclose(slope, 1 / st.truncnorm.pdf(want, *edges), rtol=1e-9)
    by_edge = ad.grad(lambda b: st.truncnorm.ppf(0.5, -45.0, b))(-38.0)
    difference = (st.truncnorm.ppf(0.5, -45.0, -38.0 + 1e-5) - st.truncnorm.ppf(0.5, -45.0, -38.0 - 1e-5)) / 2e-5
    np.testing.assert_allclose(by_edge, difference, rtol=1e-6)
