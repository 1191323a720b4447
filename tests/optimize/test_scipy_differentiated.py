"""Plain scipy.optimize inside a transform: its solutions are differentiated, in both modes; what is not provided says so."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

import adjoint as ad

T = np.linspace(0.0, 1.0, 9)
A = np.array([0.9, 1.4])

SOLVERS = {
    "minimize": lambda a: optimize.minimize(lambda x: ((x - a) ** 2).sum() + (x**4).sum(), np.zeros(2), tol=1e-10).x.sum(),
    "minimize_args": lambda a: optimize.minimize(ad.value_and_grad(lambda x, a: ((x - a) ** 2).sum()), np.zeros(2), args=(a,),
                                                 jac=True, method="L-BFGS-B", bounds=[(0, 1), (0, 5)]).x @ A,
    "least_squares": lambda a: optimize.least_squares(lambda p: p[0] * np.exp(-p[1] * T) - a[0] * np.cos(a[1] * T), [1.0, 1.0],
                                                      ftol=1e-15, xtol=1e-15, gtol=1e-15).x.sum(),
    "curve_fit": lambda a: optimize.curve_fit(lambda t, u, k: u * np.exp(-k * t), T, a[0] * np.cos(a[1] * T))[0].sum(),
    "root": lambda a: optimize.root(lambda x, a: x**3 + x - a, np.ones(2), args=(a,), tol=1e-13).x.sum(),
    "fsolve": lambda a: optimize.fsolve(lambda x: x**3 + x - a, np.ones(2)).sum(),
    "root_scalar": lambda a: optimize.root_scalar(lambda x: x**3 - a[0] * a[1], bracket=(0.0, 4.0)).root,
    "brentq": lambda a: optimize.brentq(lambda x, a: x**3 - a[0] * a[1], 0.0, 4.0, args=(a,)),
    "newton": lambda a: optimize.newton(lambda x: x**3 - a[0] * a[1], 1.5),
    "fixed_point": lambda a: optimize.fixed_point(lambda x: np.cos(0.5 * a * x), np.array([0.5, 0.6])).sum(),
    "rosen": lambda a: optimize.rosen(a * 2.0),
}  # fmt: skip


@pytest.mark.parametrize("name", SOLVERS)
def test_solutions_of_scipy(name):
    f = SOLVERS[name]
    moves = 1e-4 * np.eye(2)
    expected = [(float(f(A + m)) - float(f(A - m))) / 2e-4 for m in moves]  # SciPy itself, outside of any transform
    np.testing.assert_allclose(ad.grad(f)(A), expected, atol=3e-4)


def test_compiled():
    def all_of_them(a):
        return sum(SOLVERS[name](a) for name in ("minimize", "brentq", "rosen"))

    np.testing.assert_allclose(ad.jit(ad.grad(all_of_them))(A), ad.grad(all_of_them)(A), rtol=1e-6)


def test_rosenbrock_and_its_derivatives():
    x, p = np.array([1.3, 0.7, 0.8]), np.array([1.0, -1.0, 0.5])
    np.testing.assert_allclose(ad.grad(optimize.rosen)(x), optimize.rosen_der(x))
    _, moved = ad.jvp(optimize.rosen_der, x, p)
    np.testing.assert_allclose(moved, optimize.rosen_hess(x) @ p)
    _, bent = ad.jvp(lambda x: optimize.rosen_hess_prod(x, p), x, p)
    np.testing.assert_allclose(bent, ad.jvp(lambda x: optimize.rosen_hess(x) @ p, x, p)[1])


def test_what_is_not_provided_is_named():
    with pytest.raises(ad.CutGradientError, match=r"scipy\.optimize\.linprog"):
        ad.grad(lambda a: optimize.linprog([a, 1.0]).fun)(1.0)
    with pytest.raises(ad.ArgumentError, match=r"brentq: full_output"):
        ad.grad(lambda a: optimize.brentq(lambda x: x - a, 0.0, 4.0, full_output=True)[0])(1.0)


def test_a_root_that_is_not_found_is_refused():
    def never(a):
        return optimize.brentq(lambda x: x**3 - a, 0.0, 4.0, maxiter=2)

    for run in (ad.grad(never), ad.jit(never)):
        with pytest.raises(ad.NotConvergedError, match="brentq did not converge|did not converge"):
            run(2.0)
    with pytest.raises(ad.NotConvergedError):
        ad.vmap(never)(np.array([1.0, 2.0]))


SEARCHES = {
    "leastsq": lambda c: optimize.leastsq(lambda x: x - c, [0.0])[0].sum(),
    "minimize_scalar": lambda c: optimize.minimize_scalar(lambda x: (x - c) ** 2).x,
    "fminbound": lambda c: optimize.fminbound(lambda x: (x - c) ** 2, 0.0, 2.0),  # its steps alone would give 0
    "fmin": lambda c: optimize.fmin(lambda x: ((x - c) ** 2).sum(), [0.0]).sum(),
    "basinhopping": lambda c: optimize.basinhopping(lambda x: ((x - c) ** 2).sum(), [0.0]).x.sum(),
    "differential_evolution": lambda c: optimize.differential_evolution(
        lambda x: ((x - c) ** 2).sum(), [(0, 1)]
    ).x.sum(),
    "linear_sum_assignment": lambda c: optimize.linear_sum_assignment(c * np.eye(2))[0].sum(),
}


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("transform", [ad.grad, ad.jit])
def test_searches_that_call_a_function_of_traced_values_are_refused_by_name(name, transform, capfd):
    with pytest.raises(ad.CutGradientError, match=rf"scipy\.optimize\.{name} cannot be differentiated"):
        transform(SEARCHES[name])(1.0)
    assert not capfd.readouterr().err


def test_searches_of_constants_run_inside_a_transform():
    assert ad.grad(lambda c: c * optimize.minimize_scalar(lambda x: (x - 3.0) ** 2).x)(2.0) == pytest.approx(3.0)


def test_a_bracket_that_is_not_known_is_refused():
    with pytest.raises(ad.ArgumentError, match="bisect: the bracket is known only when the graph runs"):
        ad.jit(lambda c: optimize.bisect(lambda x: x * x - 2.0, 0.0, c))(2.0)


def test_a_fit_starts_where_scipy_starts_it():
    data = 2.0 * np.sin(7.3 * T)

    def fit(d, bounds):
        return optimize.curve_fit(lambda t, w, b: b * np.sin(w * t), T, d, bounds=bounds)[0]

    for bounds in (([0.0, 0.0], [14.0, 5.0]), ([5.0, 0.0], [10.0, 5.0]), ([7.0, 0.0], np.inf), (-np.inf, [8.0, 3.0])):
        np.testing.assert_allclose(ad.jvp(lambda d, b=bounds: fit(d, b), data, data)[0], fit(data, bounds), rtol=1e-6)
    upper = np.array([10.0, 5.0])
    np.testing.assert_allclose(ad.jit(lambda u: fit(data, ([5.0, 0.0], u)))(upper), [7.3, 2.0], rtol=1e-6)
    with pytest.raises(ad.ArgumentError, match="outside of the bounds"):
        ad.jit(lambda d: optimize.curve_fit(lambda t, w: w * t, T, d, p0=[1.0], bounds=(5.0, 9.0))[0])(data)
