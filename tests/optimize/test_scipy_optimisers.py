"""SciPy's own optimisers take our derivatives as they are: every method, dynamic and compiled."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

import adjoint as ad

START = np.array([1.2, 1.0])


def banana(x):
    return (x[0] - 1) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


def residuals(x):
    return np.stack([x[0] - 1, 10 * (x[1] - x[0] ** 2)])


def cube(x):
    return x**3 - 2.0


def disc(x):
    return 1 - x[0] ** 2 - x[1] ** 2


def model(t, a, b):
    return a * np.exp(-b * t)


@pytest.fixture(params=["dynamic", "compiled"], scope="module")
def made(request):
    """The functions a user gives to SciPy, made once for each mode."""
    way = ad.jit if request.param == "compiled" else lambda f: f
    return {
        "fun": way(banana), "both": way(ad.value_and_grad(banana)), "jac": way(ad.grad(banana)),
        "hess": way(ad.hessian(banana)), "hessp": way(ad.hvp(banana)), "residuals": way(residuals),
        "jacobian": way(ad.jacobian(residuals)), "cube": way(cube), "slope": way(ad.grad(cube)),
        "bend": way(ad.grad(ad.grad(cube))), "disc": way(disc), "disc_jac": way(ad.grad(disc)),
        "model": way(model), "cosine": way(np.cos),
    }  # fmt: skip


def plain(result) -> None:
    """SciPy computed with arrays: nothing of ours is left in its result."""
    ours = [key for key, value in result.items() if isinstance(value, ad.Tensor)]
    assert ours == []


@pytest.mark.parametrize("method", ["CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP"])
def test_methods_that_take_a_gradient(made, method):
    for result in (
        optimize.minimize(made["both"], START, jac=True, method=method),
        optimize.minimize(lambda x: made["both"](x), START, jac=True, method=method),
        optimize.minimize(made["fun"], START, jac=made["jac"], method=method),
    ):
        np.testing.assert_allclose(result.x, 1.0, atol=2e-3)
        plain(result)


@pytest.mark.parametrize("method", ["Newton-CG", "trust-constr", "dogleg", "trust-ncg", "trust-exact", "trust-krylov"])
def test_methods_that_take_a_hessian(made, method):
    runs = [optimize.minimize(made["both"], START, jac=True, hess=made["hess"], method=method)]
    if method not in ("dogleg", "trust-exact"):
        runs.append(optimize.minimize(made["both"], START, jac=True, hessp=made["hessp"], method=method))
    for result in runs:
        np.testing.assert_allclose(result.x, 1.0, atol=1e-3)
        plain(result)


@pytest.mark.parametrize("method", ["Nelder-Mead", "Powell", "COBYLA", "COBYQA"])
def test_methods_without_derivatives(made, method):
    if method == "COBYQA" and not hasattr(optimize, "_cobyqa_py"):
        pytest.skip("SciPy 1.14 brought COBYQA")
    result = optimize.minimize(made["fun"], np.array([0.9, 0.8]), method=method)
    assert result.fun < 0.02
    plain(result)


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares(made, method):
    result = optimize.least_squares(made["residuals"], START, jac=made["jacobian"], method=method)
    np.testing.assert_allclose(result.x, 1.0, atol=1e-6)
    plain(result)


def test_least_squares_writes_into_the_jacobian(made):
    """A robust loss scales the rows in place; the Tensor of ours must not change with them, nor refuse."""
    result = optimize.least_squares(
        made["residuals"], START - 1, jac=made["jacobian"], bounds=([-2, -2], [0.5, 2]), loss="soft_l1"
    )
    np.testing.assert_allclose(result.x, [0.5, 0.25], atol=1e-3)
    plain(result)


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_roots_of_systems(made, method):
    result = optimize.root(made["residuals"], START, jac=made["jacobian"], method=method)
    np.testing.assert_allclose(result.x, 1.0, atol=1e-8)
    plain(result)


def test_roots_of_one_number(made):
    true = 2 ** (1 / 3)
    f, slope = made["cube"], made["slope"]
    assert optimize.newton(f, 1.5, fprime=slope) == pytest.approx(true, abs=1e-12)
    assert optimize.root_scalar(f, x0=1.5, fprime=slope).root == pytest.approx(true, abs=1e-12)
    halley = optimize.root_scalar(f, x0=1.5, fprime=slope, fprime2=made["bend"], method="halley")
    assert halley.root == pytest.approx(true, abs=1e-12)
    for method in ("brentq", "brenth", "bisect", "ridder", "toms748"):
        assert getattr(optimize, method)(f, 0.0, 2.0) == pytest.approx(true, abs=1e-9)
    assert optimize.minimize_scalar(lambda x: f(x) ** 2, bracket=(1.0, 1.5)).x == pytest.approx(true, abs=1e-6)
    assert optimize.fixed_point(made["cosine"], 0.5) == pytest.approx(0.7390851332, abs=1e-9)
    np.testing.assert_allclose(optimize.fixed_point(made["cosine"], np.array([0.5, 0.6])), 0.7390851332, atol=1e-9)


def test_checks_and_differences(made):
    assert optimize.check_grad(made["fun"], made["jac"], START) < 1e-4
    np.testing.assert_allclose(optimize.approx_fprime(START, made["fun"]), made["jac"](START).asnumpy(), rtol=1e-5)


def test_constraints(made):
    constraint = {"type": "ineq", "fun": made["disc"], "jac": made["disc_jac"]}
    one = optimize.minimize(made["both"], START, jac=True, method="SLSQP", constraints=[constraint])
    nonlinear = optimize.NonlinearConstraint(made["disc"], 0, np.inf, jac=made["disc_jac"])
    other = optimize.minimize(made["both"], START, jac=True, method="trust-constr", constraints=nonlinear)
    np.testing.assert_allclose(one.x, [0.7864, 0.6177], atol=1e-3)
    np.testing.assert_allclose(other.x, one.x, atol=1e-3)
    plain(one), plain(other)


def test_curves(made):
    t = np.linspace(0, 1, 20)

    def jac(t, a, b):
        return ad.jacobian(lambda p: model(t, p[0], p[1]))(np.array([a, b]))

    for options in ({}, {"jac": jac}, {"jac": jac, "bounds": (0, 9)}):
        found, covariance = optimize.curve_fit(made["model"], t, model(t, 2.0, 3.0), p0=[1.0, 1.0], **options)
        np.testing.assert_allclose(found, [2.0, 3.0], atol=1e-6)
        assert type(found) is type(covariance) is np.ndarray


def test_starting_points_of_every_kind():
    both = ad.value_and_grad(banana)
    for start in (START.astype(np.float32), ad.Tensor(START), [1.2, 1.0], (1, 1)):
        np.testing.assert_allclose(optimize.minimize(both, start, jac=True, method="L-BFGS-B").x, 1.0, atol=1e-3)
    one = optimize.minimize(ad.value_and_grad(lambda x: ((x - 3) ** 2).sum()), 2.0, jac=True, method="SLSQP")
    np.testing.assert_allclose(one.x, [3.0], atol=1e-6)
    moved = ad.value_and_grad(lambda x, a: ((x - a) ** 2).sum())
    np.testing.assert_allclose(optimize.minimize(moved, START, args=(3,), jac=True, method="L-BFGS-B").x, 3.0)


def test_results_elsewhere_stay_tensors():
    """Only SciPy's optimisers get arrays; in a user's code NumPy's functions of Tensors give Tensors."""
    x = ad.Tensor([1.0, 2.0])
    assert isinstance(np.atleast_1d(x), ad.Tensor) and isinstance(np.ones(2) * x, ad.Tensor)
    assert x.astype(ad.float32, copy=False) is x and x.astype(ad.float32) is not x


def test_approx_compares_tensors_as_arrays():
    x = ad.Tensor([1.0, 2.0])
    assert x == pytest.approx([1.0, 2.0]) and pytest.approx([1.0, 2.0]) == x and x != pytest.approx([1.0, 3.0])
    assert x[0] == pytest.approx(1.0) and x[0] != pytest.approx(1.1)
