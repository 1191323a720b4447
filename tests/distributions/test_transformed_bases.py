"""TransformedDistribution: batches that the functions make, and bases of integers; MultivariateNormal: what is no covariance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import adjoint as ad
from adjoint import distributions as ds


def test_the_batch_is_that_of_base_and_functions():
    shift, scale = np.array([0.0, 10.0, 20.0]), np.array([1.0, 2.0, 3.0])
    p = ds.TransformedDistribution(ds.Normal(0.0, 1.0), ds.AffineBijector(shift, scale))
    assert (p.batch_shape, p.dtype, p.sample((4,)).shape) == ((3,), np.float64, (4, 3))
    np.testing.assert_allclose(p.log_prob(1.0), stats.norm(shift, scale).logpdf(1.0), rtol=1e-6)
    ad.set_seed(0)
    x = np.asarray(p.sample((20000,)))
    np.testing.assert_allclose(x.mean(0), shift, atol=0.1)
    np.testing.assert_allclose(np.corrcoef(x.T), np.eye(3), atol=0.05)  # each has noise of its own
    assert ds.Independent(p, 1).sample((5,)).shape == (5, 3)
    assert np.shape(ds.Independent(p, 1).log_prob(np.zeros(3))) == ()


@pytest.mark.parametrize("scale", [2.0, -2.0])
def test_a_base_of_integers_has_probabilities(scale):
    base, p = stats.poisson(3), ds.TransformedDistribution(ds.Poisson(np.float64(3.0)), ds.AffineBijector(1.0, scale))
    for y in (1 + scale * np.arange(6.0)).tolist():
        np.testing.assert_allclose(float(p.log_prob(y)), base.logpmf((y - 1) / scale), rtol=1e-6)
    for y in np.arange(-8.0, 12.0, 0.7).tolist():
        k = np.arange(60)
        np.testing.assert_allclose(float(p.cdf(y)), base.pmf(k)[1 + scale * k <= y].sum(), rtol=1e-6, atol=1e-12)
    assert float(p.log_prob(2.0)) == -np.inf
    of_rate = lambda r: ds.TransformedDistribution(ds.Poisson(r), ds.AffineBijector(1.0, scale)).log_prob(1 + 2 * scale)
    np.testing.assert_allclose(float(ad.grad(of_rate)(3.0)), 2 / 3 - 1, rtol=1e-6)


def test_integers_through_other_functions():
    powers = ds.TransformedDistribution(ds.Poisson(3.0), ds.ExpBijector())
    np.testing.assert_allclose(
        powers.log_prob(np.exp(np.arange(8.0))), stats.poisson(3).logpmf(np.arange(8)), rtol=1e-5
    )
    assert float(powers.log_prob(-1.0)) == float(powers.log_prob(2.0)) == -np.inf
    kinds = ds.TransformedDistribution(ds.Categorical([0.2, 0.3, 0.5]), ds.AffineBijector(1.0, 2.0))
    np.testing.assert_allclose([float(kinds.log_prob(y)) for y in (1.0, 3.0, 5.0)], np.log([0.2, 0.3, 0.5]), rtol=1e-6)
    assert float(kinds.log_prob(7.0)) == -np.inf


@pytest.mark.parametrize("run", [lambda f: f, ad.jit], ids=["dynamic", "static"])
def test_a_covariance_is_symmetric(run):
    density = run(lambda c: ds.MultivariateNormal(np.zeros(2), c).log_prob(np.ones(2)))
    with pytest.raises(ad.ArgumentError, match="the covariance must be symmetric"):
        density(np.array([[2.0, 0.5], [0.1, 1.0]]))
    c = np.array([[2.0, 0.5], [0.5, 1.0]])
    np.testing.assert_allclose(
        float(density(c)), stats.multivariate_normal(np.zeros(2), c).logpdf(np.ones(2)), rtol=1e-12
    )


def test_no_count_is_infinite():
    for p in (ds.Poisson(2.0), ds.Geometric(0.3), ds.Binomial(5, 0.3), ds.Bernoulli(0.3)):
        assert float(p.log_prob(np.inf)) == -np.inf
