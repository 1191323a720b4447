"""multivariate_normal and dirichlet on Tensors: values are SciPy's, derivatives those of differences, in both modes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

import adjoint as ad

rng = np.random.default_rng(1)
MEAN = rng.normal(size=3)
ROOT = rng.normal(size=(3, 3))
COV = ROOT @ ROOT.T + np.eye(3)
SINGULAR = np.diag([2.0, 1.0, 0.0])
mvn = st.multivariate_normal


def symmetric(cov):
    return 0.5 * (cov + cov.T)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 1, 3)])
@pytest.mark.parametrize("method", ["pdf", "logpdf"])
def test_densities(method, shape) -> None:
    x, f = rng.normal(size=shape), getattr(mvn, method)
    value, _ = ad.vjp(f, x, MEAN, COV)
    np.testing.assert_allclose(np.asarray(value), f(x, MEAN, COV), rtol=1e-10)
    ad.check_grads(lambda x, m, c: f(x, m, symmetric(c)), x, MEAN, COV, order=1)


def test_second_order() -> None:
    f = lambda x, m, c: mvn.logpdf(x, m, symmetric(c)[:2, :2])
    ad.check_grads(f, np.ones(2), MEAN[:2], COV[:2, :2], order=2)


@pytest.mark.parametrize(
    ("x", "mean", "cov"),
    [
        (0.3, None, 1), (0.3, 0.1, 2.0), ([0.3, 0.5], 0.0, 2.0), ([0.3, 0.5], [0.0, 1.0], 2.0), ([0.3, 0.5], [0.0, 0.1], [1.0, 2.0]),
        ([[0.3, 0.5]], [0.0, 1.0], np.eye(2)), (np.zeros((4, 1)), [0.0], [[2.0]]),
    ],
)  # fmt: skip
def test_arguments_as_scipy_takes_them(x, mean, cov) -> None:
    want = mvn.logpdf(x, mean, cov)
    found = ad.scipy.stats.multivariate_normal.logpdf(x, mean, cov)
    assert found.shape == np.shape(want)
    np.testing.assert_allclose(np.asarray(found), want, rtol=1e-12)


def test_entropy_and_frozen_ones() -> None:
    ad.check_grads(lambda m, c: mvn.entropy(m, symmetric(c)), MEAN, COV, order=1)
    x = rng.normal(size=(4, 3))
    plain, want = mvn(MEAN, COV), ad.grad(lambda x: mvn.logpdf(x, MEAN, COV).sum())(x)
    for mode in (lambda f: f, ad.jit):
        np.testing.assert_allclose(mode(ad.grad(lambda x: plain.logpdf(x).sum()))(x), want, rtol=1e-9)
        traced = mode(ad.grad(lambda m: mvn(m, cov=COV).logpdf(x).sum() + mvn(m, COV).entropy()))(MEAN)
        np.testing.assert_allclose(traced, -np.asarray(want).sum(0), rtol=1e-9)


def test_singular_covariances() -> None:
    x = np.array([0.4, -0.3, 0.0])
    f = lambda x, m: mvn.logpdf(x, m, SINGULAR, allow_singular=True)
    np.testing.assert_allclose(np.asarray(ad.vjp(f, x, 0 * x)[0]), f(x, 0 * x), rtol=1e-12)
    gradient = ad.grad(f)(x, 0 * x)
    np.testing.assert_allclose(gradient, [-0.2, 0.3, 0.0], atol=1e-12)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(x, 0 * x), gradient, atol=1e-12)
    outside = np.array([0.0, 0.0, 1.0])
    assert ad.vjp(f, outside, 0 * x)[0].item() == -np.inf == f(outside, 0 * x)
    with pytest.raises(ad.NotDifferentiableError, match="no derivative by its argument cov"):
        ad.grad(lambda c: mvn.logpdf(x, None, c, allow_singular=True))(SINGULAR)
    with pytest.raises(np.linalg.LinAlgError):
        ad.grad(lambda x: mvn.logpdf(x, None, SINGULAR))(x)


def test_what_has_no_derivative_has_values() -> None:
    """By the names of adjoint.scipy too: SciPy computes it where nothing is traced."""
    ours, given = ad.scipy.stats, {"random_state": 0, "size": 2}
    np.testing.assert_array_equal(ours.dirichlet.rvs(ad.Tensor(ALPHA), **given), st.dirichlet.rvs(ALPHA, **given))
    np.testing.assert_array_equal(ours.multivariate_normal(MEAN, COV).rvs(**given), mvn.rvs(MEAN, COV, **given))
    np.testing.assert_array_equal(ours.norm.rvs(MEAN[0], 2.0, **given), st.norm.rvs(MEAN[0], 2.0, **given))
    assert ours.norm.support() == (-np.inf, np.inf)
    with pytest.raises(ad.CutGradientError, match=r"scipy.stats.dirichlet.rvs cannot be"):
        ad.grad(lambda a: ours.dirichlet.rvs(a))(ALPHA)


def test_what_is_refused() -> None:
    for call, name in ((lambda x: mvn.cdf(x, MEAN, COV), "multivariate_normal.cdf"), (lambda x: mvn(x, COV).rvs(), "multivariate_normal.rvs"),
                       (lambda x: mvn(MEAN, COV).cdf(x), "multivariate_normal.cdf"), (lambda x: st.dirichlet.rvs(x), "dirichlet.rvs")):  # fmt: skip
        with pytest.raises(ad.CutGradientError, match=rf"scipy.stats.{name} cannot be"):
            ad.grad(call)(np.ones(3))
    with pytest.raises(ad.ArgumentError, match="does not fit"):
        ad.grad(lambda m: mvn.logpdf(np.zeros(3), m, np.eye(2)))(MEAN)


ALPHA = np.array([0.7, 2.0, 3.5])


@pytest.mark.parametrize("method", ["pdf", "logpdf"])
def test_dirichlet(method) -> None:
    f = getattr(st.dirichlet, method)
    x = np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(np.asarray(ad.vjp(f, x, ALPHA)[0]), f(x, ALPHA), rtol=1e-12)
    ad.check_grads(lambda a: f(x, a), ALPHA, order=2)
    ad.check_grads(lambda x: f(x / x.sum(), ALPHA), x, order=2)
    ad.check_grads(lambda x: f(x, ALPHA), x[:2], order=2)
    several = rng.dirichlet(ALPHA, 4).T
    np.testing.assert_allclose(np.asarray(ad.vjp(lambda a: f(several, a), ALPHA)[0]), f(several, ALPHA), rtol=1e-12)
    frozen = st.dirichlet(ALPHA)
    want = ad.grad(lambda x: f(x, ALPHA))(x)
    np.testing.assert_allclose(ad.jit(ad.grad(lambda x: getattr(frozen, method)(x)))(x), want)
    by_alpha = ad.jit(ad.grad(lambda a: getattr(st.dirichlet(a), method)(x)))(ALPHA)
    np.testing.assert_allclose(by_alpha, ad.grad(f, 1)(x, ALPHA), rtol=1e-10)
    with pytest.raises(ad.ArgumentError, match="sum to 1"):
        ad.grad(f)(np.array([0.2, 0.3, 0.6]), ALPHA)


def test_moments_of_dirichlet() -> None:
    for method in ("mean", "var", "entropy"):
        f = getattr(st.dirichlet, method)
        np.testing.assert_allclose(np.asarray(ad.vjp(f, ALPHA)[0]), f(ALPHA), rtol=1e-12)
        ad.check_grads(f, ALPHA, order=1)


def test_dirichlet_outside_its_domain_is_nan_where_numbers_are_not_known() -> None:
    logpdf = ad.jit(lambda x, alpha: st.dirichlet.logpdf(x, alpha))
    x = np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(logpdf(x, ALPHA), st.dirichlet.logpdf(x, ALPHA))
    for point, alpha in (([0.3, 1.7, 0.9], ALPHA), ([0.2, 0.3, 0.6], ALPHA), ([-0.5, 0.5, 1.0], ALPHA), (x, -ALPHA), ([0, 0.4, 0.6], 0.5 * ALPHA / ALPHA)):  # fmt: skip
        assert np.isnan(logpdf(np.array(point), alpha))
        with pytest.raises(ad.ArgumentError, match="dirichlet"):
            ad.grad(st.dirichlet.logpdf)(np.array(point), alpha)
    assert np.isnan(ad.vmap(lambda a: st.dirichlet.mean(a))(np.stack([ALPHA, -ALPHA]))).all(1).tolist() == [False, True]
