"""`ad.optimize`: every method finds what SciPy finds, from any tree, compiled or not."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from scipy import optimize as theirs

import adjoint as ad
from adjoint import optimize as ours

METHODS = [
    "Nelder-Mead", "Powell", "CG", "BFGS", "Newton-CG", "L-BFGS-B", "TNC", "COBYLA", "COBYQA", "SLSQP", "trust-constr", "dogleg",
    "trust-ncg", "trust-exact", "trust-krylov",
]  # fmt: skip
START = np.array([0.9, 0.8])


def banana(x):
    return (x[0] - 1) ** 2 + 10 * (x[1] - x[0] ** 2) ** 2


@pytest.mark.parametrize("method", METHODS)
def test_every_method(method):
    if method == "COBYQA" and not hasattr(theirs, "_cobyqa_py"):
        pytest.skip("SciPy 1.14 brought COBYQA")
    result = ours.minimize(banana, START, method=method, compiled=False)
    np.testing.assert_allclose(result.x, 1.0, atol=0.05)
    assert result.success and result.fun < 1e-3 and isinstance(result.message, str)
    np.testing.assert_allclose(result.jac, ad.grad(banana)(result.x.asnumpy()), atol=1e-12)


@pytest.mark.parametrize("method", ["BFGS", "trust-exact", "trust-ncg", "trust-constr"])
def test_compiled_as_op_by_op(method):
    one, other = (ours.minimize(banana, START, method=method, compiled=c) for c in (True, False))
    np.testing.assert_allclose(one.x, other.x, atol=1e-6)
    assert one.success and one.nit == other.nit


def test_a_function_is_compiled_once(monkeypatch):
    made = []
    trace = ad.api.tracing.Traced._trace
    monkeypatch.setattr(ad.api.tracing.Traced, "_trace", lambda self, *args: made.append(self) or trace(self, *args))
    far = lambda x, a: ((x - a) ** 2).sum()
    for a in (1.0, 2.0, 3.0):
        np.testing.assert_allclose(ours.minimize(far, np.zeros(2), args=(a,)).x, a, atol=1e-6)
    assert len(made) == 2  # the function, and its gradient


def test_trees():
    start = {"w": ad.Tensor([[0.0, 0.0]]), "b": (0.5, "name", None)}
    result = ours.minimize(lambda p: ((p["w"] - 1) ** 2).sum() + (p["b"][0] - 2) ** 2, start, compiled=False)
    assert result.x["w"].shape == (1, 2) and result.x["w"].dtype == ad.float32 and result.x["b"][1:] == ("name", None)
    np.testing.assert_allclose(result.x["w"], 1.0, atol=1e-5)
    assert result.jac["w"].shape == (1, 2) and abs(float(result.x["b"][0]) - 2) < 1e-5
    root = ours.root(lambda p: {"a": p["a"] ** 2 - 2, "b": p["b"] - 1}, {"a": 1.0, "b": np.zeros(2)}, compiled=False)
    np.testing.assert_allclose(root.x["a"], np.sqrt(2), atol=1e-9)
    lists = ours.minimize(lambda x: (x**2).sum(), [[1, 2], [3, 4]], compiled=False)
    assert lists.x.shape == (2, 2) and lists.x.dtype == ad.float64
    number = ours.minimize(lambda x: (x - 3) ** 2, 1, compiled=False)
    assert number.x.shape == () and abs(float(number.x) - 3) < 1e-6


def test_bounds_and_constraints_as_scipy_has_them():
    disc = lambda x: 1 - x[0] ** 2 - x[1] ** 2
    far = lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2
    true = np.array([2, 1]) / np.sqrt(5)
    forms = [
        ({"type": "ineq", "fun": disc}, "SLSQP"),
        ([theirs.NonlinearConstraint(disc, 0, np.inf)], "trust-constr"),
        (theirs.NonlinearConstraint(disc, 0, np.inf), "COBYLA"),
    ]
    for constraint, method in forms:
        result = ours.minimize(far, [0.1, 0.1], method=method, constraints=constraint, compiled=False)
        np.testing.assert_allclose(result.x, true, atol=1e-3)
        np.testing.assert_allclose(result.multipliers[0], [np.sqrt(5) - 1], atol=1e-2)
    line = theirs.LinearConstraint([[1.0, 1.0]], -np.inf, 1.0)
    np.testing.assert_allclose(ours.minimize(far, [0.1, 0.1], constraints=line, compiled=False).x, [1, 0], atol=1e-6)
    for bounds in (theirs.Bounds(0, [0.5, 3]), [(0, 0.5), (None, None)], np.array([[0, 0.5], [0, 3]])):
        result = ours.minimize(far, [0.1, 0.1], bounds=bounds, compiled=False)
        np.testing.assert_allclose(result.x, [0.5, 1], atol=1e-6)


def test_least_squares_as_scipy():
    t = np.linspace(0, 1, 12)
    y = 2 * np.exp(-1.5 * t) + 0.1 * np.sin(9 * t)

    def f(p):
        return p[0] * np.exp(-p[1] * t) - y

    for options in (
        {},
        {"loss": "soft_l1", "f_scale": 0.1},
        {"bounds": (0, [1.8, 9])},
        {"method": "lm"},
        {"x_scale": [1.0, 2.0]},
    ):
        result, known = (
            ours.least_squares(f, [1.0, 1.0], compiled=False, **options),
            theirs.least_squares(f, [1.0, 1.0], **options),
        )
        np.testing.assert_allclose(result.x, known.x, atol=1e-5)
        np.testing.assert_allclose(result.cost, known.cost, rtol=1e-6)
    for sigma, known in ((None, False), (np.linspace(0.1, 0.2, 12), True)):
        model = lambda t, a, k: a * np.exp(-k * t)
        found = ours.curve_fit(model, t, y, sigma=sigma, absolute_sigma=known, compiled=False)
        for one, other in zip(found, theirs.curve_fit(model, t, y, sigma=sigma, absolute_sigma=known), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4)


@pytest.mark.parametrize("method", ["hybr", "lm", "krylov", "broyden1", "df-sane"])
def test_roots(method):
    result = ours.root(lambda x: [x[0] ** 2 + x[1] - 2, x[1] ** 3 - 1], [0.9, 0.9], method=method, compiled=False)
    np.testing.assert_allclose(result.x, 1.0, atol=1e-5)
    assert result.success


def test_roots_of_one_number():
    for method in ("brentq", "brenth", "bisect", "ridder", "toms748"):
        result = ours.root_scalar(lambda x: x**3 - 2, bracket=(0, 2), method=method, compiled=False)
        assert (
            float(result.root) == pytest.approx(2 ** (1 / 3), abs=1e-9) and result.converged and result.x is result.root
        )
    for method in ("newton", "halley"):
        result = ours.root_scalar(lambda x: x**3 - 2, x0=1.5, method=method, compiled=False)
        assert float(result.root) == pytest.approx(2 ** (1 / 3), abs=1e-9)
    for method in ("del2", "iteration"):
        assert float(ours.fixed_point(np.cos, 0.5, method=method, compiled=False).x) == pytest.approx(
            0.7390851332, abs=1e-8
        )


def test_progress_and_callback(monkeypatch):
    seen = []

    def note(state):
        seen.append(state)
        if state.nit == 2:
            raise StopIteration

    for method in ("BFGS", "TNC", "trust-constr", "Nelder-Mead"):
        seen.clear()
        result = ours.minimize(banana, START, method=method, callback=note, compiled=False)
        assert len(seen) == 2 and not result.success and "StopIteration" in result.message and result.nit == 2
        assert seen[0].x.shape == (2,) and result.fun == pytest.approx(float(banana(result.x)))
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    ours.minimize(banana, START, progress=True, compiled=False)
    assert "minimize" in stream.getvalue() and "value" in stream.getvalue()
    stream.truncate(0)
    ours.minimize(banana, START, compiled=False)
    assert stream.getvalue() == ""


def test_what_is_not_numbers_is_refused():
    cases = [
        (lambda: ours.minimize(banana, START, method="newton"), "none of SciPy's"),
        (lambda: ours.minimize(banana, START, method="BFGS", bounds=[(0, 1), (0, 1)]), "takes no bounds"),
        (lambda: ours.minimize(banana, START, bounds=[(0, 1)]), "for each of the 2 numbers"),
        (lambda: ours.minimize(lambda x: x, START, compiled=False), "must return one number"),
        (lambda: ours.minimize(lambda x: None, START, compiled=False), "forget `return`"),
        (lambda: ours.minimize(banana, np.zeros(0)), "is empty"),
        (lambda: ours.minimize(banana, np.zeros(2, complex)), "must be real"),
        (lambda: ours.minimize(banana, {"a": "b"}), "no numbers"),
        (lambda: ours.minimize(banana, START, constraints={"type": "ineq", "fun": banana, "jac": banana}), "leave `jac` out"),
        (lambda: ours.root(lambda x: x[:1], START, compiled=False), "1 numbers for 2 unknowns"),
        (lambda: ours.root_scalar(lambda x: x), "a bracket or x0"),
        (lambda: ours.least_squares(banana, START, loss="l1"), "none of linear"),
        (lambda: ours.minimize(lambda x: (x * ad.ops.rand(2)).sum(), START), "random numbers"),
    ]  # fmt: skip
    for call, words in cases:
        with pytest.raises(ad.AdjointError, match=words):
            call()


def test_a_function_that_cannot_be_compiled_says_so_and_runs():
    def by_item(x):
        return (x**2).sum() * (1.0 if x.asnumpy()[0] > 0 else 2.0)

    with pytest.warns(UserWarning, match="runs op by op"):
        result = ours.minimize(by_item, START)
    np.testing.assert_allclose(result.x, 0.0, atol=1e-5)
