"""Solutions in small and large units, starts with integers, and what solvers are given: the derivative is that of the problem."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

import adjoint as ad

A = np.array([1.5, 0.3])
OPTIONS = {
    "L-BFGS-B": {"ftol": 0, "gtol": 1e-20}, "SLSQP": {"ftol": 1e-26}, "TNC": {"ftol": 1e-26, "gtol": 1e-20},
}  # fmt: skip


@pytest.mark.parametrize("unit", [1e-10, 1e-6, 1e-3])
@pytest.mark.parametrize("method", OPTIONS)
def test_an_active_bound_is_one_in_any_unit(method, unit):
    def nearest(a):
        return ad.optimize.minimize(
            lambda x, a: unit * ((x - a) ** 2).sum(),
            np.full(2, 0.5),
            (a,),
            method,
            [(0, 1)] * 2,
            options=OPTIONS[method],
        ).x

    np.testing.assert_allclose(np.asarray(nearest(A)), [1, 0.3], atol=1e-5)
    np.testing.assert_allclose(np.asarray(ad.jacobian(nearest)(A)), [[0, 0], [0, 1]], atol=1e-9)


@pytest.mark.parametrize(("unit", "row"), [(1e-10, 1.0), (1e-10, 1e-6), (1e-6, 1e6), (1e-3, 1e6), (1e-3, 1.0)])
def test_an_active_constraint_is_one_in_any_unit(unit, row):
    def nearest(a):
        limit = {"type": "ineq", "fun": lambda x: row * (1 - x.sum())}
        return ad.optimize.minimize(
            lambda x, a: unit * ((x - a) ** 2).sum(),
            np.full(2, 0.1),
            (a,),
            "SLSQP",
            constraints=limit,
            options={"ftol": 1e-26},
        ).x

    np.testing.assert_allclose(np.asarray(ad.jacobian(nearest)(A)), [[0.5, -0.5], [-0.5, 0.5]], atol=1e-6)


def test_least_squares_in_small_units_is_right_or_refused():
    def fit(a, unit):
        return ad.optimize.least_squares(lambda x, a: unit * (x - a), np.full(2, 0.5), (a,), ([0, 0], [1, 1])).x

    np.testing.assert_allclose(np.asarray(ad.jacobian(fit)(A, 1e-3)), [[0, 0], [0, 1]], atol=1e-6)
    with pytest.raises(ad.NotConvergedError):  # SciPy stops where it begins: its tolerance is absolute
        ad.jacobian(fit)(A, 1e-10)


@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov"])
def test_hvp_as_hessp_with_args(method):
    f = lambda x, a: ((x - a) ** 4).sum() + (x[0] * x[1]) ** 2
    for a in (1.5, np.array([1.5, 1.0])):
        given = {
            "jac": lambda x, a: np.asarray(ad.grad(f)(x, a)),
            "method": method,
            "args": (a,),
            "options": {"gtol": 1e-9},
        }
        given["options"] = {"xtol": 1e-10} if method == "Newton-CG" else given["options"]
        value, start = lambda x, a: float(f(x, a)), np.array([2.0, 3.0])
        x = optimize.minimize(value, start, hessp=ad.hvp(f), **given).x
        np.testing.assert_allclose(np.asarray(ad.grad(f)(x, a)), 0, atol=1e-6)
    a = np.array([1.5, 1.0])
    np.testing.assert_allclose(ad.hvp(f)(start, a, start), ad.hessian(f)(start, a) @ start)


def test_integers_of_a_start():
    for x0 in (np.array([1, 2]), [1, 2]):
        np.testing.assert_allclose(ad.optimize.minimize(lambda x: ((x - 1.5) ** 2).sum(), x0).x, [1.5, 1.5], atol=1e-6)
    found = ad.optimize.minimize(
        lambda p: ((p["x"] - 1.5) ** p["n"]).sum() + p["k"].sum() * p["x"][0],
        {"x": np.ones(2), "n": 2, "k": np.array([1, 2])},
    ).x
    np.testing.assert_allclose(found["x"], [0, 1.5], atol=1e-5)
    assert found["n"] == 2 and found["k"].tolist() == [1, 2]


@pytest.mark.parametrize(
    "solve",
    [
        lambda a: ad.optimize.fixed_point(lambda x, a: 0.5 * (x + a / x), 1.0, (a,)),
        lambda a: ad.optimize.minimize(lambda x, a: (x - a) ** 2, 1.0, (a,)),
        lambda a: ad.optimize.root(lambda x, a: x - a, 1.0, (a,)),
    ],
)
def test_a_gradient_is_of_one_entry_of_a_result(solve):
    with pytest.raises(ad.ArgumentError, match=r"the whole result of a solver.*result\.x"):
        ad.grad(solve)(9.0)
    assert np.isfinite(float(ad.grad(lambda a: solve(a).x)(9.0)))
