"""Calls that may fail when the graph runs, in a `try` that would catch it: refused; elsewhere the error is raised by the run."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize

import adjoint as ad
from adjoint import ops

SINGULAR, REGULAR = np.zeros((2, 2)), np.diag([2.0, 4.0])


class Own(Exception):
    pass


def fails(x):
    if x > 1:
        raise Own("host")
    return x


CALLS = {
    "inv": lambda a: np.linalg.inv(a).sum(),
    "solve": lambda a: np.linalg.solve(a, np.ones(2)).sum(),
    "cholesky": lambda a: np.linalg.cholesky(a).sum(),
    "scipy": lambda a: scipy.linalg.cho_factor(a)[0].sum(),
    "eigh": lambda a: np.linalg.eigh(a)[0].sum(),
    "svd": lambda a: np.linalg.svd(a)[1].sum(),
    "triangular": lambda a: scipy.linalg.solve_triangular(a, np.ones(2)).sum(),
    "banded": lambda a: scipy.linalg.solve_banded(
        (1, 1), np.array([[0.0, 1.0], [5.0, 5.0], [1.0, 0.0]]) * a[0, 0], np.ones(2)
    ).sum(),
    "jit": ad.jit(lambda a: np.linalg.inv(a).sum()),
}


def handled(call, kinds):
    def f(a):
        try:
            y = call(a)
        except kinds:
            y = 0.0 * a.sum() - 1.0
        return y

    return f


def suppressed(call, kinds):
    def f(a):
        y = 0.0 * a.sum()
        with contextlib.suppress(kinds):
            y = call(a)
        return y

    return f


@pytest.mark.parametrize("around", [handled, suppressed])
@pytest.mark.parametrize("kinds", [np.linalg.LinAlgError, ValueError, Exception, (KeyError, ValueError)], ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_linear_algebra_whose_failure_is_caught(name, kinds, around):
    with pytest.raises(ad.NeedsNumberError, match=r"whether \w+ fails is known only when the graph runs"):
        ad.jit(around(CALLS[name], kinds))(REGULAR)


@pytest.mark.parametrize("name", CALLS)
def test_linear_algebra_whose_failure_goes_on(name):
    for kinds in (KeyError, ZeroDivisionError, (TypeError, AttributeError)):
        f = handled(CALLS[name], kinds)
        assert np.allclose(ad.jit(f)(REGULAR), f(REGULAR))

    def again(a):
        try:
            return CALLS[name](a)
        except ValueError:
            raise

    assert np.allclose(ad.jit(again)(REGULAR), again(REGULAR))


def test_no_failure_of_constants():
    def f(x):
        try:
            y = np.linalg.inv(SINGULAR)[0, 0]
        except np.linalg.LinAlgError:
            y = 3.0
        return x * y

    assert ad.jit(f)(2.0) == f(2.0) == 6.0


def test_determinants_do_not_fail():
    f = handled(lambda a: np.linalg.det(a) + np.linalg.slogdet(a)[1], ValueError)
    assert np.isclose(ad.jit(f)(REGULAR), f(REGULAR))


@pytest.mark.parametrize("around", [handled, suppressed])
@pytest.mark.parametrize("kinds", [Own, KeyError, Exception], ids=str)
def test_functions_of_the_host(kinds, around):
    def call(x):
        return ad.host_callback(fails, (), x)

    with pytest.raises(ad.NeedsNumberError, match="fails is known only when the graph runs"):
        ad.jit(around(call, kinds))(ops.ones(()))


def test_solvers():
    """What a solver raises when it runs, and what it refuses where it is compiled."""
    for solve in (
        lambda x: scipy.optimize.brentq(lambda y: y * y - x, 0.0, 5.0),
        lambda x: scipy.optimize.root(lambda y: y * y - x, np.ones(1)).x[0],
        lambda x: scipy.integrate.solve_ivp(lambda t, y: -y * x, (0, 1), np.ones(1)).y[0, -1],
    ):
        for around in (handled, suppressed):
            with pytest.raises(ad.NeedsNumberError, match="known only when the graph runs"):
                ad.jit(around(solve, ValueError))(ad.Tensor(2.0))


def test_errors_are_looked_up_where_python_does():
    def f(x):
        try:
            y = x * 2
        except missing.Kind:  # noqa: F821
            y = x
        return y

    assert ad.jit(f)(2.0) == 4.0
