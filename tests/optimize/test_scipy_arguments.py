"""Optimisers of SciPy called as people call them: one number to start from, lists and object arrays of traced numbers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize as so

import adjoint as ad

#: Functions of one number, whose derivative at 2 is known, with that derivative.
STARTS = {
    "fsolve": (lambda a: so.fsolve(lambda x: x[0] ** 2 - a, 1.0)[0], 0.5 / np.sqrt(2.0)),
    "fsolve_whole": (lambda a: so.fsolve(lambda x: x**2 - a, 1)[0], 0.5 / np.sqrt(2.0)),
    "root": (lambda a: so.root(lambda x: [x[0] ** 2 - a], 1.0).x[0], 0.5 / np.sqrt(2.0)),
    "minimize": (lambda a: so.minimize(lambda x: (x[0] - a) ** 2, 1.0).x[0], 1.0),
    "minimize_vector": (lambda a: so.minimize(lambda x: (x - a) ** 2, 1.0, bounds=[(0.0, 5.0)]).x[0], 1.0),
    "least_squares": (lambda a: so.least_squares(lambda x: x - a, 1.0).x[0], 1.0),
    "from_a_tensor": (lambda a: so.minimize(lambda x: (x[0] - a) ** 2, 0.5 * a).x[0], 1.0),
    "from_tensors": (lambda a: so.least_squares(lambda x: x**2 - a, [a, 2.0 * a]).x[1], 0.5 / np.sqrt(2.0)),
}
ARRAYS = {
    "least_squares": (lambda a: so.least_squares(lambda x: np.array([x[0] - a, x[1] * 2 - a]), [1.0, 2.0]).x[1], 0.5),
    "root": (lambda a: so.root(lambda x: np.array([x[0] - a, x[1] * 2 - a]), [1.0, 2.0]).x[1], 0.5),
    "fsolve": (lambda a: so.fsolve(lambda x: np.array([x[0] - a, x[1] * 2 - a]), [1.0, 2.0])[1], 0.5),
    "minimize": (lambda a: so.minimize(lambda x: np.array((x[0] - a) ** 2), [1.0]).x[0], 1.0),
    "fixed_point": (lambda a: so.fixed_point(lambda x: np.array([np.cos(x[0] * a)]), [0.5])[0], None),
    "constraint": (
        lambda a: so.minimize(lambda x: (x**2).sum(), [1.0, 2.0], constraints={"type": "eq", "fun": lambda x: np.array([x[0] - a])}).x[0],
        1.0,
    ),
    "nonlinear": (
        lambda a: so.minimize(
            lambda x: (x**2).sum(), [3.0, 5.0], constraints=so.NonlinearConstraint(lambda x: np.array([x[0] - a, x[1] - 2 * a]), 0, np.inf)
        ).x[1],
        2.0,
    ),
}  # fmt: skip
FITS = {  # of y = k x through (0, 0), (1, a), (2, 2.1 a): k is 1.04 a
    "list": (lambda a: so.curve_fit(lambda x, k: k * x, [0.0, 1.0, 2.0], [a * 0.0, a, 2.1 * a])[0][0], 1.04),
    "start": (lambda a: so.curve_fit(lambda x, k: k * x, [0, 1, 2], [a * 0.0, a, 2.1 * a], p0=1.0)[0][0], 1.04),
    "by_elements": (
        lambda a: so.curve_fit(lambda x, k: np.array([k * v for v in x]), [0.0, 1.0, 2.0], [a * 0.0, a, 2.1 * a], p0=1)[0][0],
        1.04,
    ),
    "points": (lambda a: so.curve_fit(lambda x, k: k * x, [a, 2 * a], [1.0, 2.0], p0=[0.7])[0][0], -0.25),
    "starts": (lambda a: so.curve_fit(lambda x, k, b: k * x + b, [0.0, 1.0, 2.0], [a * 0.0, a, 2 * a], p0=[a, a])[0][0], 1.0),
    "spread": (
        lambda a: so.curve_fit(lambda x, k: k * x, [0.0, 1.0, 2.0], [a * 0.0, a, 2.0 * a], sigma=[1.0, a, 1.0])[0][0],
        1.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", [*STARTS.values(), *ARRAYS.values(), *FITS.values()])
def test_what_scipy_takes(case) -> None:
    f, slope = case
    if slope is None:
        slope = (f(2.0 + 1e-4) - f(2.0 - 1e-4)) / 2e-4
    value, found = ad.value_and_grad(f)(2.0)
    np.testing.assert_allclose(value, f(2.0), rtol=1e-5)
    np.testing.assert_allclose(found, slope, rtol=1e-5)


@pytest.mark.parametrize("f", [STARTS["fsolve"][0], ARRAYS["least_squares"][0], FITS["list"][0]])
def test_and_what_it_takes_compiled(f) -> None:
    np.testing.assert_allclose(ad.jit(f)(2.0), f(2.0), rtol=1e-6)


def test_several_starts_at_once_are_refused() -> None:
    with pytest.raises(ValueError, match=r"p0 must be a list of numbers, not of shape \(1, 2\)"):
        ad.grad(lambda a: so.curve_fit(lambda x, k: k * x, [1.0], [a], p0=[[1.0, 2.0]])[0][0])(2.0)
