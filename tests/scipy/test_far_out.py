"""Far from the middle, where the plain formulas lose their digits: numbers of 50-digit arithmetic, in both modes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special as sp
import scipy.stats as st

import adjoint as ad

MODES = pytest.mark.parametrize("mode", [lambda f: f, ad.jit, ad.vmap], ids=["dynamic", "compiled", "batched"])
D, S = np.float64, np.float32


def check(f, xs, values, slopes, mode, dtype=D, rtol=1e-12) -> None:
    """A function of one number at several, and its derivatives: by the tape, and by tangents."""
    rtol = rtol if dtype is D else 3e-6
    f_of_all = (lambda x: f(x)) if mode is not ad.vmap else mode(f)
    slope = mode(ad.grad(f)) if mode is not ad.vmap else lambda x: mode(ad.grad(f))(np.array([x]))[0]
    x = np.array(xs, dtype)
    with np.errstate(all="ignore"):
        if values is not None:
            found = np.asarray((ad.jit if mode is ad.jit else lambda f: f)(f_of_all)(ad.Tensor(x)))
            np.testing.assert_allclose(found, values, rtol=rtol, atol=0, err_msg="value")
        np.testing.assert_allclose([slope(dtype(v)) for v in xs], slopes, rtol=rtol, atol=0, err_msg="grad")
        if mode is ad.vmap:
            tangent = [ad.jvp(f, dtype(v), dtype(1.0))[1] for v in xs]
            np.testing.assert_allclose(tangent, slopes, rtol=rtol, atol=0, err_msg="jvp")


LOG_NDTR_X = [-10.5, -12.0, -13.5, -14.0, -15.0, -20.0, -29.0]
LOG_NDTR = [-58.404187061073243, -75.410673001568796, -94.652041881282892, -101.56303440744996, -116.1313848457117, -203.91715537109726, -424.78741990973016]  # fmt: skip
LOG_NDTR_SLOPE = [10.593583926132378, 12.082214175254284, 13.573282630296497, 14.070717632184743, 15.066086827167822, 20.049753068527851, 29.034401237736326]  # fmt: skip


@MODES
@pytest.mark.parametrize("dtype", [D, S])
@pytest.mark.parametrize(
    ("f", "sign"),
    [(sp.log_ndtr, 1), (st.norm.logcdf, 1), (st.norm.logsf, -1), (lambda x: st.halfnorm.logsf(x) - math.log(2.0), -1)],
    ids=["log_ndtr", "logcdf", "logsf", "halfnorm"],
)
def test_the_logarithm_of_the_normal_tail(f, sign, dtype, mode) -> None:
    xs = [sign * x for x in LOG_NDTR_X]
    check(f, xs, LOG_NDTR, [sign * s for s in LOG_NDTR_SLOPE], mode, dtype, 1e-11)


#: Slopes by the last argument: the function, where, and the slope.
SLOPES = [
    (sp.erfcx, 6.0, -0.015060353489052321), (sp.erfcx, 1e3, -5.6418873726549667e-07), (sp.erfcx, 1e7, -5.6418958354774784e-15),
    (sp.erfcx, 1e8, -5.6418958354775629e-17), (sp.dawsn, 6.0, -0.014512267694526227), (sp.dawsn, -1e7, -5.0e-15), (sp.dawsn, 1e8, -5.0e-17),
    (lambda b: sp.betaln(3.0, b), 1e12, -2.9999999999970e-12), (lambda b: sp.betaln(1e-10, b), 5.0, -2.2132295573467585e-11),
    (lambda b: sp.beta(1e-7, b), 1e-7, -100000000000001.65), (lambda z: sp.poch(z, 2.0), 1e12, 2e12 + 1),
    (lambda x: sp.pseudo_huber(1.0, x), 1e200, 1.0), (lambda x: sp.pseudo_huber(1e-200, x), -1.0, -1e-200),
    (lambda x: sp.rel_entr(x, 1e200), 1e-200, -920.03403719761827), (lambda y: sp.rel_entr(1e200, y), 1e-100, -1e300),
    (lambda x: sp.rel_entr(x, 1e-200), 1e200, 922.03403719761827), (lambda x: sp.rel_entr(x, 1e-5), 1e5, 24.02585092994046),
]  # fmt: skip


@MODES
@pytest.mark.parametrize(("f", "x", "slope"), SLOPES)
def test_slopes_of_special_functions(f, x, slope, mode) -> None:
    check(f, [x], None, [slope], mode)


def test_relative_entropy_of_close_numbers_and_of_none() -> None:
    np.testing.assert_allclose(ad.vjp(sp.rel_entr, 3.0, 3.0 + 2.0**-24)[0], -5.9604644775390625e-08, rtol=2e-8)
    assert np.isnan([float(ad.vjp(sp.rel_entr, *xs)[0]) for xs in ((np.nan, 1.0), (1.0, np.nan))]).all()
