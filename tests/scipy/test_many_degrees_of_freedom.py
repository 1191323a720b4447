"""Student's distribution and the incomplete beta function with large parameters; Bessel functions of large arguments."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.special as sp
import scipy.stats as st

import adjoint as ad

#: Slopes of the distribution function of t by df, of 50-digit arithmetic: df, t, slope.
BY_DF = [
    (1100.0, 2.0, 1.1164744830159786e-07), (1100.0, 4.0, 1.9686133277327e-09), (2e4, 2.7, 1.458373713818902e-10),
    (1e6, -8.0, -6.574333190540553e-25), (1e6, 3.0, 3.323929851838475e-14), (1e6, 0.5, 5.501019028811801e-14),
]  # fmt: skip


@pytest.mark.parametrize("mode", [lambda f: f, ad.jit], ids=["dynamic", "compiled"])
def test_the_distribution_function_by_the_degrees_of_freedom(mode) -> None:
    for df, t, want in BY_DF:
        np.testing.assert_allclose(mode(ad.grad(st.t.cdf, 1))(t, df), want, rtol=1e-9)


def _second_last(f, df, x):
    return f(x, df)


@pytest.mark.parametrize("df", [7e4, 1e6, 1e10, np.inf])
def test_the_normal_distribution_is_the_limit(df: float) -> None:
    for f, g, at in (
        (st.t.cdf, st.norm.cdf, 1.3), (st.t.logpdf, st.norm.logpdf, 1.3), (st.t.ppf, st.norm.ppf, 0.2), (st.t.sf, st.norm.sf, 3.0),
    ):  # fmt: skip
        for order in (1, 2):
            of_student, of_normal = partial(_second_last, f, df), g
            for _ in range(order):
                of_student, of_normal = ad.grad(of_student), ad.grad(of_normal)
            np.testing.assert_allclose(of_student(at), of_normal(at), rtol=20 / df + 1e-14)
        by_df = ad.grad(f, 1)(at, df)  # the difference to the limit goes as 1 / df
        want = (float(g(at)) - float(f(at, df))) / df if df < 1e8 else 0.0
        np.testing.assert_allclose(by_df, want, rtol=1e-3, atol=1e-18)
    for moment in ("var", "entropy"):
        found = ad.value_and_grad(getattr(st.t, moment))(df)
        np.testing.assert_allclose(found[0], getattr(st.norm, moment)(), rtol=20 / df + 1e-14)
        assert abs(found[1]) <= 10 / df**2 + (1e-15 if np.isfinite(df) else 0.0)


def test_the_incomplete_beta_function_of_large_parameters() -> None:
    # its parameters as they come in pairs: the differences are those of the function itself
    for a, b, x in ((3e4, 0.5, 1 - 1e-4), (2e5, 3e5, 0.4003), (1e6, 2.0, 1 - 1e-6)):
        for position, h in ((0, a * 1e-5), (1, b * 1e-5)):
            shifted = [np.array([a, b]) + s * h * np.eye(2)[position] for s in (1, -1)]
            want = (sp.betainc(*shifted[0], x) - sp.betainc(*shifted[1], x)) / (2 * h)
            np.testing.assert_allclose(ad.grad(sp.betainc, position)(a, b, x), want, rtol=2e-4)
    slope = ad.grad(ad.grad(sp.betainc, 0), 1)(3e5, 0.5, 0.99999)
    np.testing.assert_allclose(slope, -4.965913226884816e-07, rtol=1e-9)


def test_scaled_bessel_functions_far_out() -> None:
    # of 60-digit arithmetic; further out the leading terms of the asymptotic series
    for f, x, want in (
        (sp.i0e, 59.0, -0.0004429945268911755), (sp.i0e, 61.0, -0.000421297396436123), (sp.i0e, 1e5, -6.307854959639557e-09),
        (sp.i1e, 61.0, -0.00041089408420395764), (sp.i1e, -61.0, -0.00041089408420395764), (sp.i1e, 1e5, -6.307760341578615e-09),
        (sp.i1e, 1e10, -0.5e-15 / np.sqrt(2 * np.pi)), (sp.i0e, -1e10, 0.5e-15 / np.sqrt(2 * np.pi)),
    ):  # fmt: skip
        np.testing.assert_allclose(ad.grad(f)(x), want, rtol=1e-9 if abs(x) > 1e9 else 3e-14)
    np.testing.assert_allclose(ad.grad(sp.j1)(1e10), sp.j0(1e10) - sp.j1(1e10) / 1e10, rtol=1e-12)
