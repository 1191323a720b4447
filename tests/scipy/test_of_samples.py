"""Statistics of samples of scipy.stats on Tensors: values are SciPy's, derivatives those of differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

import adjoint as ad

X = np.random.default_rng(2).uniform(0.5, 3.0, (5, 2))
W = np.random.default_rng(3).uniform(0.5, 3.0, (5, 2))


CASES = [
    lambda x: st.gmean(x), lambda x: st.gmean(x, axis=None), lambda x: st.gmean(x, weights=W), lambda x: st.hmean(x, axis=1),
    lambda x: st.zscore(x, ddof=1), lambda x: st.zscore(x, axis=None), lambda x: st.sem(x), lambda x: st.sem(x, ddof=0, axis=1),
    lambda x: st.skew(x), lambda x: st.skew(x, bias=False), lambda x: st.kurtosis(x), lambda x: st.kurtosis(x, bias=False, fisher=False),
    lambda x: st.entropy(x), lambda x: st.entropy(x, W, base=2), lambda x: st.entropy(x[:, 0], keepdims=True),
    lambda x: st.pearsonr(x[:, 0], x[:, 1]).statistic, lambda x: st.pearsonr(x[:, 0], x[:, 1])[1],
]  # fmt: skip


@pytest.mark.parametrize("f", CASES)
def test_values_and_derivatives(f) -> None:
    value, _ = ad.vjp(f, X)
    assert value.shape == np.shape(f(X))
    np.testing.assert_allclose(np.asarray(value), f(X), rtol=1e-11)
    ad.check_grads(f, X, order=1)


def test_compiled() -> None:
    f = lambda x: sum((1.0 + k) * f(x).sum() for k, f in enumerate(CASES[:-1]))
    np.testing.assert_allclose(np.asarray(ad.jit(ad.grad(f))(X)), np.asarray(ad.grad(f)(X)), rtol=1e-9)


def test_refusals() -> None:
    for call, words in ((lambda x: st.zscore(x, nan_policy="omit"), "nan_policy"), (lambda x: st.pearsonr(x, x, alternative="less"), "alternative"),
                        (lambda x: st.gmean(x, weights=[1.0, 2.0]), "weights of shape")):  # fmt: skip
        with pytest.raises(ad.AdjointError, match=words):
            ad.grad(lambda x, call=call: call(x)[0])(X[:, 0])
    with pytest.raises(ad.CutGradientError, match=r"scipy.stats.gaussian_kde was given"):
        ad.grad(lambda x: st.gaussian_kde(x)(x).sum())(X[:, 0])


def test_weights_broadcast_and_negative_samples() -> None:
    w = np.arange(1.0, 1.0 + X.shape[1])
    for f in (st.gmean, st.hmean):
        for options in (
            {"axis": 1, "weights": w},
            {"axis": 0, "weights": w},
            {"axis": None, "weights": np.ones(X.size)},
        ):
            g = lambda x, f=f, options=options: f(x, **options)
            np.testing.assert_allclose(np.asarray(ad.vjp(g, X)[0]), g(X), rtol=1e-12)
            ad.check_grads(g, X, order=1)
    assert np.isnan(ad.jit(lambda x: st.hmean(x))(np.array([-1.0, 2.0, 3.0])))
