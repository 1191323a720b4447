"""Numerical derivatives against those that are known in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjoint as ad
from adjoint import numeric, ops

METHODS = ("forward", "backward", "central", "richardson", "complex")
ACCURACY = {"forward": 1e-6, "backward": 1e-6, "central": 1e-9, "richardson": 1e-11, "complex": 1e-14}
HARD = [  # a function, a point where its scale is small or large, its derivative there
    (np.log, 1e-5, 1e5), (np.log, 1e-8, 1e8), (lambda x: np.log(x - 1), 1 + 1e-6, 1 / (1 + 1e-6 - 1)),
    (np.exp, 300.0, math.exp(300)), (np.tan, 1.5707, 1 / math.cos(1.5707) ** 2), (lambda x: 1 / x, 1e-7, -1e14),
    (lambda x: np.sin(1000 * x), 1.0, 1000 * math.cos(1000)), (lambda x: 1e-30 * np.sin(x), 1.0, 1e-30 * math.cos(1)),
    (lambda x: x * x, 1e6, 2e6), (lambda x: x, 1e20, 1.0), (np.sin, 1e-9, 1.0), (lambda x: 0 * x + 3, 1.0, 0.0),
]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_each_method_is_as_good_as_it_should_be(method):
    for f, x, want in ((np.exp, 1.0, math.e), (lambda x: x**5, -1.5, 5 * 1.5**4), (np.sin, 0.0, 1.0)):
        found = numeric.derivative(f, x, method=method)
        assert type(found) is float and found == pytest.approx(want, rel=ACCURACY[method])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", range(len(HARD)))
def test_the_step_suits_the_function_and_the_estimate_is_honest(method, case):
    f, x, want = HARD[case]
    found = numeric.estimate(f, x, method=method)
    assert found.value == pytest.approx(want, rel=1e-4, abs=1e-300)
    assert abs(found.value - want) <= 10 * found.error + 1e-10 * abs(want)


def test_a_given_step_is_taken():
    """The quotients by hand, on x³ at 2 with h = 1/2: all numbers are exact."""
    cube = lambda x: x**3
    for method, want in (("forward", 15.25), ("backward", 9.25), ("central", 12.25)):
        assert numeric.derivative(cube, 2.0, method, 0.5) == want
        assert numeric.derivative(cube, 2.0, method=method, step=0.5) == want
    assert numeric.estimate(cube, 2.0, "central", 0.5).truncation == 0.25


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("method", METHODS)
def test_the_step_follows_the_dtype(method, dtype):
    x = np.array([0.3, 1.1, 2.0], dtype)
    seen = []

    def f(x):
        seen.append(x.dtype)
        return np.sin(x)

    found = numeric.derivative(f, x, method=method)
    worst = {"float16": 0.06, "float32": 2e-3, "float64": 1e-6}[dtype]
    np.testing.assert_allclose(found, np.cos(x.astype(float)), atol=worst)
    assert {d.kind for d in seen} <= {"f", "c"} and seen[0] == dtype


def test_functions_of_math_and_the_ends_of_domains():
    assert numeric.derivative(math.log, 1e-8) == pytest.approx(1e8, rel=1e-8)
    assert numeric.derivative(lambda x: x**0.5, 1e-12) == pytest.approx(5e5, rel=1e-8)  # complex below zero
    assert numeric.derivative(math.sqrt, 4) == pytest.approx(0.25)


def test_gradients_of_trees_are_those_of_grad():
    rng = np.random.default_rng(0)
    p = {"w": rng.normal(size=(3, 2)), "b": (rng.normal(size=3), 0.7)}

    def f(p, x):
        return (ops.tanh(p["w"] @ x + p["b"][0]) * p["b"][1]).sum()

    x = rng.normal(size=2)
    for found, want in zip(
        numeric.gradient(f, p, x, grad_position=(0, 1)), ad.grad(f, grad_position=(0, 1))(p, x), strict=True
    ):
        pairs = zip(_leaves(found), _leaves(want), strict=True)
        for a, b in pairs:
            np.testing.assert_allclose(a, b, rtol=1e-7)
    found = numeric.gradient(f, p, x)
    assert set(found) == {"w", "b"} and type(found["b"]) is tuple and type(found["b"][1]) is float


def _leaves(tree):
    from adjoint.core.tree import leaves

    return [np.asarray(x.asnumpy() if isinstance(x, ad.Tensor) else x) for x in leaves(tree)]


def test_jacobians_and_hessians_are_those_of_automatic_differentiation():
    x, y = np.array([1.0, 2.0, 0.5]), np.array([3.0, 4.0])
    f = lambda x, y: {"outer": x[:, None] * y**2, "sum": (x.sum() * y[0], 1.0)}
    found, want = numeric.jacobian(f, x, y, grad_position=(0, 1)), ad.jacobian(f, grad_position=(0, 1))(x, y)
    for a, b in zip(_leaves(found), _leaves(want), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, atol=1e-7)
    g = lambda x: ops.exp(x[0] * x[1]) + x[1] ** 2 * x[2]
    for method in METHODS:
        np.testing.assert_allclose(numeric.hessian(g, x, method=method), ad.hessian(g)(x).asnumpy(), atol=1e-3)
    np.testing.assert_allclose(numeric.hessian(g, x, method="complex"), ad.hessian(g)(x).asnumpy(), rtol=1e-8)
    assert numeric.hessian(lambda x: x**3, 2.0) == pytest.approx(12.0, rel=1e-6)


def test_tensors_come_back_as_tensors_and_inputs_are_left_alone():
    x = ad.Tensor([1.0, 2.0])

    def f(x):
        x += 1.0
        return x.sum() ** 2

    found = numeric.gradient(f, x)
    assert isinstance(found, ad.Tensor) and x.asnumpy().tolist() == [1.0, 2.0]
    np.testing.assert_allclose(found.asnumpy(), 10.0, rtol=1e-3)  # in single precision
    array = np.array([1.0, 2.0])
    np.testing.assert_allclose(numeric.gradient(f, array), 10.0, rtol=1e-8)
    assert array.tolist() == [1.0, 2.0]
    assert isinstance(numeric.derivative(ops.sin, x), ad.Tensor)


@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("method", METHODS)
def test_numbers_that_are_none_give_none(method, x):
    assert math.isnan(numeric.derivative(lambda x: x * np.exp(x) * 0 + x, x, method)) or method == "complex"


def test_empty_arrays():
    assert numeric.gradient(lambda x: x.sum() + 1.0, np.zeros((0, 3))).shape == (0, 3)
    assert numeric.jacobian(lambda x: x * 2, np.zeros(0)).shape == (0, 0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: numeric.derivative(np.abs, -1.0, "complex"), "is not analytic"),
        (lambda: numeric.derivative(lambda x: x * np.conj(x), 2.0, "complex"), "is not analytic"),
        (lambda: numeric.derivative(math.sin, 1.0, "complex"), "NumPy's functions in place of math's"),
        (lambda: numeric.gradient(np.sin, np.ones(3)), "returned 3 numbers"),
        (lambda: numeric.gradient(np.sin, 1.0, "forward"), "method='forward'"),
        (lambda: numeric.derivative(np.sin, 1.0, "sideways"), "one of forward, backward"),
        (lambda: numeric.derivative(np.sin, 1.0, step=0), "above zero"),
        (lambda: numeric.derivative(np.sin, 1.0, step=-1.0), "above zero"),
        (lambda: numeric.derivative(np.sin, 1.0, step=math.nan), "above zero"),
        (lambda: numeric.derivative(np.sin, 1.0, step=1e-20), "lost in the precision"),
        (lambda: numeric.derivative(np.sin, np.arange(3)), "of dtype int64"),
        (lambda: numeric.derivative(np.sin, 1j), "real and imaginary parts"),
        (lambda: numeric.derivative(np.sin, "1.0"), "a str"),
        (lambda: numeric.derivative(lambda x: "y", 1.0), "no number"),
        (lambda: numeric.derivative(lambda x: None, 1.0), "did you forget `return`"),
        (lambda: numeric.derivative(np.sin, 1.0, step=True), "above zero"),
        (lambda: numeric.derivative(3.0, 1.0), "must be a function"),
        (lambda: numeric.gradient(np.sin), "grad_position 0"),
        (lambda: numeric.error_curve(np.sin, np.ones(2)), "one number"),
        (lambda: numeric.error_curve(np.log, 0.0), "is -inf at 0"),
        (lambda: numeric.error_curve(np.sin, 1.0, steps=[]), "steps"),
        (lambda: numeric.error_curve(np.sin, 1.0).best("complex"), "not among"),
    ],
)
def test_refusals(call, words):
    with np.errstate(all="ignore"), pytest.raises(ad.AdjointError, match=words):
        call()


def test_a_gradient_is_not_cut_in_silence():
    with pytest.raises(ad.AdjointError):
        ad.grad(lambda x: numeric.derivative(ops.sin, x))(1.0)


def test_the_error_curve_has_the_slopes_and_minima_of_the_theory(tmp_path):
    curve = numeric.error_curve(np.exp, 1.0, methods=("forward", "central", "complex"))
    for method, power, low, high in (("forward", 1, 1e-9, 1e-7), ("central", 2, 1e-6, 1e-4)):
        assert low < curve.best(method)[0] < high
        right = (curve.steps > 10 * high) & (curve.steps < 0.1)
        slope = np.polyfit(np.log(curve.steps[right]), np.log(curve.errors[method][right]), 1)[0]
        assert slope == pytest.approx(power, abs=0.05)
        left = (curve.steps > 1e-14) & (curve.steps < low / 10)
        slope = np.polyfit(np.log(curve.steps[left]), np.log(curve.errors[method][left]), 1)[0]
        assert slope == pytest.approx(-1, abs=0.15)
    assert curve.best("complex")[1] < 1e-15 and curve.reference == "automatic differentiation"
    assert curve.exact == pytest.approx(math.e)
    curve.draw(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 5000
    assert "<svg" in curve._repr_html_() and "forward: smallest error" in str(curve)


def test_error_curves_without_automatic_differentiation():
    curve = numeric.error_curve(math.sin, 1.0, methods="central")
    assert curve.reference == "Richardson's extrapolation" and curve.exact == pytest.approx(math.cos(1), rel=1e-11)
    assert numeric.error_curve(math.sin, 1.0, exact=1).exact == 1
    assert math.isnan(numeric.error_curve(math.log, 0.5).errors["central"][-1])


def test_long_work_says_how_far_it_is(capsys):
    from adjoint.core.progress import tracked

    assert list(tracked(range(5), "counting", 5, after=0.0)) == [0, 1, 2, 3, 4]
    assert "counting  5/5" in capsys.readouterr().err
    assert list(tracked(range(5), "counting", 5)) == [0, 1, 2, 3, 4]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("method", ["forward", "central", "richardson", "complex"])
@pytest.mark.parametrize(
    ("f", "slope", "x"),
    [(lambda x: 1 / x, lambda x: -1 / x**2, x) for x in (1e-6, -3e-9, 1e-12, 1e-18)]
    + [(np.sin, np.cos, x) for x in (1e-7, 1e8, 3e9)]
    + [(lambda x: np.log(x * x), lambda x: 2 / x, x) for x in (1e-9, -1e-14, 1e-20)],
)
def test_a_step_that_leads_across_a_pole_or_waves_is_not_taken(f, slope, x, method):
    found = numeric.estimate(f, x, method)
    assert abs(found.value - slope(x)) < 1e-2 * abs(slope(x))
    assert np.isclose(numeric.gradient(lambda v: f(v).sum(), np.array([x]), method=method)[0], slope(x), rtol=1e-2)


def test_check_grads_at_points_beside_a_pole():
    for x in (1e-6, 2e-9):
        ad.check_grads(lambda v: 1 / v, x, order=1)
        with pytest.raises(ad.GradientMismatchError):
            ad.check_grads(lambda v: ad.stop_gradient(v) / v**2, x, order=1)


@pytest.mark.parametrize("large", [1e3, 1e6, 1e7])
@pytest.mark.parametrize("x", [1e-3, -2e-5, 1e-9])
def test_rounding_inside_of_a_function_is_no_pole(x, large):
    found = numeric.derivative(lambda v: (large + v) - large, x)
    assert abs(found - 1) < 1e-3 if large < 1e7 else abs(found - 1) < 0.1
