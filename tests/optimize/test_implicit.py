"""Derivatives of solutions against differences: forward, reverse, second order, compiled, batched, bounded, constrained."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize as scipy_optimize

import adjoint as ad
from adjoint import optimize

A = np.array([[3.0, 1.0], [1.0, 2.0]])
T = np.linspace(0.0, 1.0, 9)
TAIL = np.exp(-2 * T)[3:]
ZEROS = np.zeros(2)


def bowl(x, a):
    return 0.5 * x @ (A @ x) - a @ x + 0.1 * (x**4).sum()


def line(x, b):
    return x[0] + 2 * x[1] - b


def disc(x, r):
    return r - x[0] ** 2 - x[1] ** 2


def decay(p, y):
    return p[0] * np.exp(-p[1] * T) - y


def decaying(a, **options):
    y = np.concatenate([a, TAIL])
    sharp = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}
    return optimize.least_squares(decay, [1.0, 1.0], args=(y,), compiled=False, **sharp, **options).x


def solved(a, **options):
    return optimize.minimize(bowl, ZEROS + 0.1, args=(a,), tol=1e-11, compiled=False, **options)


def under(kind, c, *args):
    return {"constraints": {"type": kind, "fun": c, "args": args}}


SOLUTIONS = {
    "minimum": lambda a: solved(a).x,
    "value": lambda a: solved(a).fun,
    "lower_bound": lambda a: solved(a, bounds=[(0.3, None), (None, 5.0)]).x,
    "bounds_that_move": lambda a: solved(np.ones(2), bounds=scipy_optimize.Bounds(-1, 0.1 * a)).x,
    "gradient_at_a_bound": lambda a: solved(a, bounds=[(0, 0.1), (0, 0.1)]).jac,
    "equation": lambda a: solved(a, **under("eq", line, a[0])).x,
    "multiplier": lambda a: solved(a, **under("eq", line, a[0])).multipliers[0],
    "active_inequality": lambda a: solved(a, **under("ineq", disc, 0.1 * a[1])).x,
    "inactive_inequality": lambda a: solved(a, **under("ineq", disc, 30.0 * a[1])).x,
    "two_constraints": lambda a: solved(a, constraints=[{"type": "ineq", "fun": disc, "args": (0.1 * a[1],)},
                                                        {"type": "eq", "fun": line, "args": (0.2,)}]).x,
    "linear": lambda a: solved(a, constraints=scipy_optimize.LinearConstraint([[1.0, 1.0]], 0.1, 0.2)).x,
    "root": lambda a: optimize.root(lambda x, a: [x[0] ** 2 + x[1] - 3 * a[0], x[1] ** 3 - a[1]], [1.0, 1.0], args=(a,),
                                    tol=1e-12, compiled=False).x,
    "bracket": lambda a: optimize.root_scalar(lambda x, a: x**3 - a[0] * a[1], args=(a,), bracket=(0, 4), xtol=1e-14,
                                              compiled=False).root,
    "newton": lambda a: optimize.root_scalar(lambda x, a: x**3 - a[0], args=(a,), x0=1.5, compiled=False).root,
    "fixed_point": lambda a: optimize.fixed_point(lambda x, a: np.cos(0.5 * a * x), [0.5, 0.6], args=(a,), xtol=1e-13,
                                                  compiled=False).x,
    "tree": lambda a: optimize.minimize(lambda p, a: ((p["w"] - a) ** 2).sum() + (p["b"] - p["w"].sum()) ** 2 + p["b"] ** 4,
                                        {"w": ZEROS, "b": 0.5}, args=(a,), tol=1e-9, compiled=False).x["b"],
}  # fmt: skip
FITS = {
    "linear": {}, "soft_l1": {"loss": "soft_l1", "f_scale": 0.1}, "huber": {"loss": "huber", "f_scale": 0.1},
    "cauchy": {"loss": "cauchy", "f_scale": 0.3}, "arctan": {"loss": "arctan"}, "bounds": {"bounds": (0, [5.0, 1.5])},
}  # fmt: skip


def differences(f, a, step=1e-4):
    moves = step * np.eye(len(a))
    return np.stack([(np.asarray(f(a + m)) - np.asarray(f(a - m))) / (2 * step) for m in moves], -1)


@pytest.mark.parametrize("name", SOLUTIONS)
def test_both_modes(name):
    f, a = SOLUTIONS[name], np.array([0.8, 1.3])
    expected = differences(f, a)
    np.testing.assert_allclose(ad.jacrev(f)(a), expected, atol=1e-5)
    np.testing.assert_allclose(ad.jacfwd(f)(a), expected, atol=1e-5)


@pytest.mark.parametrize("name", FITS)
def test_fits(name):
    a = np.array([1.3, 0.7, 0.55])

    def f(a):
        return decaying(a, **FITS[name])

    np.testing.assert_allclose(ad.jacrev(f)(a), differences(f, a, 1e-4), atol=1e-4)


def test_a_fitted_curve_and_its_covariance():
    a = np.array([1.3, 0.7, 0.55])

    def f(a):
        model = lambda t, u, k: u * np.exp(-k * t)
        p, covariance = optimize.curve_fit(model, T, np.concatenate([a, TAIL]), compiled=False)
        return np.concatenate([p, covariance.reshape(4)])

    np.testing.assert_allclose(ad.jacrev(f)(a), differences(f, a, 1e-4), atol=1e-4)


def closed_over(a):
    return optimize.minimize(lambda x: bowl(x, a), ZEROS, tol=1e-11).x


def in_args(a):
    return optimize.minimize(bowl, ZEROS, args=(a,), tol=1e-11).x


def test_compiled_solvers_in_every_transform():
    a = np.array([0.8, 1.3])
    expected = differences(in_args, a)
    for f in (in_args, closed_over):
        np.testing.assert_allclose(ad.jacrev(f)(a), expected, atol=5e-5)
        np.testing.assert_allclose(ad.jacfwd(f)(a), expected, atol=5e-5)
    batch = np.stack([a, 2 * a, -a])
    each = np.stack([np.asarray(in_args(b)) for b in batch])
    np.testing.assert_allclose(ad.vmap(in_args)(batch), each, atol=1e-8)
    slopes = np.stack([differences(in_args, b) for b in batch])
    np.testing.assert_allclose(ad.vmap(ad.jacrev(in_args))(batch), slopes, atol=5e-5)


def test_inside_jit():
    a = np.array([0.8, 1.3])

    def all_of_it(a):
        result = optimize.minimize(bowl, ZEROS, args=(a,), tol=1e-11)
        near = optimize.minimize(lambda x: ((x - a) ** 2).sum(), ZEROS, bounds=[(0, 1), (0, 1)])
        found = optimize.root_scalar(lambda x, b: x**3 - b, args=(a[0],), bracket=(0.0, 4.0))
        return result.x.sum() + near.x[1] * a[0] + found.root, near.success

    value, success = ad.jit(all_of_it)(a)
    np.testing.assert_allclose(value, all_of_it(a)[0], rtol=1e-11)
    assert bool(success)
    alone = lambda a: all_of_it(a)[0]
    slope = ad.jit(ad.grad(alone))(a)
    np.testing.assert_allclose(slope, differences(alone, a), atol=5e-5)


def test_second_order():
    a = np.array([0.8, 1.3])
    f = lambda a: (SOLUTIONS["minimum"](a) ** 2).sum()
    slope = lambda a: np.asarray(ad.grad(f)(a))
    np.testing.assert_allclose(ad.hessian(f)(a), differences(slope, a, 1e-4), atol=1e-5)


def test_parameters_and_backward():
    w = ad.Parameter(ad.Tensor(np.array([0.8, 1.3])), name="w")
    f = lambda: optimize.minimize(lambda x: bowl(x, w), ZEROS, tol=1e-11).x.sum()
    expected = differences(in_args, w.asnumpy()).sum(0)
    np.testing.assert_allclose(ad.grad(f, None, weights=[w])()[0], expected, atol=1e-5)
    a = ad.Tensor(np.array([0.8, 1.3]), requires_grad=True)
    SOLUTIONS["minimum"](a).sum().backward()
    np.testing.assert_allclose(a.grad, expected, atol=1e-5)


def test_what_has_no_derivative_says_so():
    a = np.array([0.8, 1.3])
    with pytest.raises(ad.CutGradientError, match="Pass it as an argument"):
        ad.grad(lambda a: optimize.minimize(lambda x: bowl(x, a), ZEROS, compiled=False).x.sum())(a)
    few = lambda a: solved(a, options={"maxiter": 1})
    assert not few(a).success
    with pytest.raises(ad.NotConvergedError, match="did not converge"):
        ad.grad(lambda a: few(a).x.sum())(a)
    with pytest.raises(ad.NotConvergedError):
        ad.jvp(lambda a: few(a).x.sum(), a, a)
    flat = lambda a: optimize.minimize(lambda x, a: (x[0] - a[0]) ** 2, ZEROS, args=(a,), compiled=False).x
    with pytest.raises(ad.SingularSystemError, match="rank 1 of 2"):
        ad.grad(lambda a: flat(a).sum())(a)
    endless = lambda a: optimize.fixed_point(
        lambda x, a: x + a, 1.0, args=(a,), maxiter=5, method="iteration", compiled=False
    )
    assert not endless(0.5).success
    with pytest.raises(ad.NotConvergedError):
        ad.grad(lambda a: endless(a).x)(0.5)
    limit = lambda b: scipy_optimize.NonlinearConstraint(lambda x: x[0], b, np.inf)
    with pytest.raises(ad.ArgumentError, match="limits that are being differentiated"):
        ad.grad(lambda b: solved(a, constraints=limit(b)).fun)(0.1)


def test_the_start_has_no_influence():
    f = lambda start: optimize.minimize(bowl, start, args=(np.ones(2),), compiled=False).x.sum()
    np.testing.assert_array_equal(ad.grad(f)(np.array([0.2, 0.3])), 0.0)
