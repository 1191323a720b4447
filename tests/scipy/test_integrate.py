"""scipy.integrate, called as it is: SciPy's numbers, and derivatives against differences, in both modes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate as si

import adjoint as ad
from plain_scipy import agrees

Y0, TIMES, RATE = np.array([1.0, 0.5]), np.linspace(0.0, 1.5, 4), 1.3
TIGHT = {"rtol": 1e-8, "atol": 1e-10}


def predators(t, y, a):
    return np.array([a * y[0] - 0.8 * y[0] * y[1], -y[1] + 0.5 * y[0] * y[1] + 0.1 * np.sin(t)])


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853"])
def test_initial_value_problems(method):
    """The same steps as SciPy's: the same numbers to rounding."""
    tight = {"rtol": 1e-6, "atol": 1e-8} if method == "RK23" else TIGHT

    def f(y0, a):
        return si.solve_ivp(predators, (0, 1.5), y0, method, TIMES, args=(a,), **tight).y

    agrees(f, Y0, RATE, rtol=1e-11)


def test_steps_times_and_directions():
    def steps(y0):
        found = si.solve_ivp(lambda t, y: predators(t, y, RATE), (0.0, 1.5), y0, first_step=0.1, max_step=0.4, **TIGHT)
        return found.y, found.t

    (states, times), (want, at) = ad.vjp(steps, Y0)[0], steps(Y0)
    assert np.allclose(states, want, rtol=1e-7) and np.allclose(
        times, at, rtol=1e-7
    )  # sizes of steps are near rounding
    agrees(lambda y0: steps(y0)[0][:, -1], Y0, rtol=1e-7)
    agrees(lambda y0: si.solve_ivp(predators, (1.5, 0.2), y0, t_eval=[1.5, 1.0, 0.2], args=(RATE,), **TIGHT).y, Y0)
    agrees(
        lambda t: si.solve_ivp(predators, (t[0], t[1]), Y0, args=(RATE,), **TIGHT).y[:, -1],
        np.array([0.1, 1.2]),
        rtol=1e-7,
    )
    traced, _ = ad.vjp(lambda y0: si.solve_ivp(lambda t, y: -y, (0, 1), y0).y, Y0)
    whole = si.solve_ivp(lambda t, y: -y, (0, 1), ad.Tensor(Y0))
    assert whole.success and whole.status == 0 and traced.shape == whole.y.shape


def test_odeint_by_state_times_and_arguments():
    def f(y0, t, a):
        return si.odeint(lambda y, t, a: predators(t, y, a), y0, t, args=(a,))

    agrees(f, Y0, TIMES, RATE, rtol=1e-6)
    agrees(lambda y0: si.odeint(predators, y0, TIMES, args=(RATE,), tfirst=True), Y0, rtol=1e-6)
    assert isinstance(si.odeint(lambda y, t: -y, 1.0, [0.0, 1.0]), np.ndarray)


INTEGRALS = {
    "limits": (lambda a, b, c: si.quad(lambda x: np.exp(-c * x * x) * np.cos(x), a, b)[0], 0.1, 1.5, 0.7),
    "arguments": (lambda c: si.quad(lambda x, c, d: np.sin(c * x) + d, 0, 1, args=(c, 2.0))[0], 0.7),
    "to_infinity": (lambda a, c: si.quad(lambda x: np.exp(-c * x * x), a, np.inf)[0], 0.1, 0.7),
    "from_infinity": (lambda b, c: si.quad(lambda x: np.exp(c * x), -np.inf, b)[0], 0.1, 0.7),
    "the_line": (lambda c: si.quad(lambda x: np.exp(-c * x * x), -np.inf, np.inf)[0], 0.7),
    "backwards": (lambda a: si.quad(lambda x: np.exp(-x * x), np.inf, a)[0], 0.7),
    "points": (lambda c: si.quad(lambda x: c * abs(x - 0.3), 0, 1, points=[0.3])[0], 0.7),
    "double": (lambda c: si.dblquad(lambda y, x: x * y * c * c, 0, c, 0, lambda x: x * c)[0], 0.7),
    "fixed": (lambda a, c: si.fixed_quad(lambda x: np.exp(-c * x), a, 1.0, n=6)[0], 0.1, 0.7),
}


@pytest.mark.parametrize("name", INTEGRALS)
def test_integrals(name):
    f, *args = INTEGRALS[name]
    agrees(f, *args, rtol=1e-10)


def test_second_derivatives():
    f, *args = INTEGRALS["limits"]
    agrees(f, *args, order=2, rtol=1e-10)
    agrees(lambda a: si.solve_ivp(lambda t, y: -a * y * y, (0, 1), [2.0], t_eval=[1.0], **TIGHT).y[0, 0], 0.9, order=2)


def test_second_derivatives_by_times():
    """Against fixed steps, written out: also by the first time, where the slope depends on time."""

    def slope(y, t, a):
        return -np.sqrt(t) * y + a - np.mean((y + a) ** 2)

    def stepped(p, steps=12):
        y, t, a = p[:2], p[2:5], p[5]
        total = y.sum()
        for k in range(2):
            h, now = (t[k + 1] - t[k]) / steps, t[k]
            for _ in range(steps):
                k1 = slope(y, now, a)
                k2 = slope(y + h / 2 * k1, now + h / 2, a)
                k3 = slope(y + h / 2 * k2, now + h / 2, a)
                y, now = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(y + h * k3, now + h, a)), now + h
            total = total + (k + 2) * y.sum()
        return total

    def solved(p):
        return (si.odeint(slope, p[:2], p[2:5], args=(p[5],)) * np.array([[1.0], [2.0], [3.0]])).sum()

    def spanned(p):
        y = si.solve_ivp(lambda t, y: slope(y, t, p[5]), (p[2], p[4]), p[:2], t_eval=p[2:5], **TIGHT).y
        return (y * np.array([1.0, 2.0, 3.0])).sum()

    p = np.array([0.5, -0.3, 0.2, 0.5, 0.6, 0.8])
    want = ad.hessian(stepped)(p)
    for f in (solved, spanned):
        assert np.allclose(ad.grad(f)(p), ad.grad(stepped)(p), rtol=1e-5, atol=1e-7)
        assert np.allclose(ad.hessian(f)(p), want, rtol=1e-4, atol=1e-6)


def test_sampled_integrals():
    rng = np.random.default_rng(0)
    for n in (2, 5, 6, 9):
        x, y = np.sort(rng.normal(size=n)), rng.normal(size=(2, n))
        agrees(si.trapezoid, y, x)
        agrees(lambda y, x: si.simpson(y, x=x), y, x)
        agrees(lambda y: si.simpson(y, dx=0.3, axis=0), y.T.copy())
        agrees(lambda y, x: si.cumulative_trapezoid(y, x, initial=0), y, x)
    agrees(lambda y: si.romb(y, dx=0.5), rng.normal(size=(2, 9)))


def test_compiled_and_batched():
    def f(y0, a):
        orbit = si.solve_ivp(predators, (0, 1.5), y0, t_eval=TIMES, args=(a,))
        line = si.odeint(lambda y, t: predators(t, y, a), y0, TIMES)
        area = si.quad(lambda x: np.exp(-a * x) * np.sqrt(x), 0, y0[0])[0]
        return (orbit.y**2).sum() + line[-1, 0] + area + si.quad(lambda x: np.exp(-a * x * x), y0[1], np.inf)[0]

    want = ad.grad(f, (0, 1))(Y0, RATE)
    for g, w in zip(ad.jit(ad.grad(f, (0, 1)))(Y0, RATE), want, strict=True):
        assert np.allclose(g, w, rtol=1e-9)
    batch = ad.vmap(ad.grad(f, 1), (None, 0))(Y0, np.array([RATE, 0.9]))
    assert np.allclose(batch, [want[1], ad.grad(f, 1)(Y0, 0.9)], rtol=1e-9)


def test_branches_of_the_users_function_are_compiled():
    def bounce(t, y, k):
        if t < 0.7:
            return -k * y
        return k * y

    def f(k):
        return si.solve_ivp(bounce, (0, 1.5), [1.0], t_eval=[1.5], args=(k,), rtol=1e-6).y[0, 0]

    assert np.isclose(ad.jit(ad.grad(f))(0.5), ad.grad(f)(0.5))


def test_what_is_refused():
    problem = (lambda t, y: -y, (0, 1))
    with pytest.raises(ad.ArgumentTypeError, match="events"):
        ad.grad(lambda a: si.solve_ivp(*problem, [a], events=lambda t, y: y[0]).y.sum())(1.0)
    with pytest.raises(ad.ArgumentError, match="method Radau"):
        ad.grad(lambda a: si.solve_ivp(*problem, [a], method="Radau").y.sum())(1.0)
    with pytest.raises(ad.ShapeError, match="t_eval="):
        ad.jit(lambda a: si.solve_ivp(*problem, [a]).y.sum())(1.0)
    with pytest.raises(ad.ArgumentTypeError, match="weight"):
        ad.grad(lambda a: si.quad(lambda x: a * x, 0, 1, weight="cos", wvar=1.0)[0])(1.0)
    with pytest.raises(ad.CutGradientError, match="scipy.integrate.romberg|scipy.integrate.solve_bvp"):
        ad.grad(lambda a: si.solve_bvp(lambda x, y: y, lambda a, b: a, [0.0, 1.0], a * np.ones((1, 2))).y.sum())(1.0)


NOT_PROVIDED = {
    "tplquad": lambda c: si.tplquad(lambda z, y, x: c * x, 0, 1, 0, 1, 0, 1)[0],
    "nquad": lambda c: si.nquad(lambda x, y: c * x, [[0, 1], [0, 1]])[0],
    "quad_vec": lambda c: si.quad_vec(lambda x: c * x, 0, 1)[0],
}


@pytest.mark.parametrize("name", NOT_PROVIDED)
def test_integrals_that_are_not_provided_are_refused_by_name(name):
    for transform in (ad.grad, ad.jit):
        with pytest.raises(ad.CutGradientError, match=rf"scipy\.integrate\.{name} cannot be differentiated"):
            transform(NOT_PROVIDED[name])(1.0)


# ---------------------------------------------------------------- problems that decay fast


def _decay(k, t=2.0):
    """The solution of y' = -k (y - cos t) from 0."""
    return k / (k**2 + 1) * (k * np.cos(t) + np.sin(t)) - k**2 / (k**2 + 1) * np.exp(-k * t)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "LSODA"])
@pytest.mark.parametrize("k", [3.0, 30.0, 100.0, 400.0])
def test_a_stiff_problem_has_derivatives_to_the_tolerance(method, k):
    """At the end of the steps that SciPy takes they are wrong by factors: errors at the limit of stability do not decay."""
    exact = (_decay(k * 1.0001) - _decay(k * 0.9999)) / (0.0002 * k)
    f = lambda k: si.solve_ivp(lambda t, y: -k * (y - np.cos(t)), (0, 2), [0.0], t_eval=[2.0], method=method).y[0, 0]
    for found in (ad.grad(f)(k), ad.jvp(f, (k,), (1.0,))[1], ad.jit(ad.grad(f))(k)):
        assert abs(float(found) - exact) * k < 1e-3
    np.testing.assert_allclose(ad.value_and_grad(f)(k)[0], _decay(k), atol=1e-3)


def test_a_very_stiff_problem_is_refused():
    f = lambda k: si.odeint(lambda y, t: -k * (y - np.cos(t)), [0.0], [0.0, 2.0])[-1, 0]
    with pytest.raises(ad.ArgumentError, match="DOP853: the problem is stiff, and takes steps of"):
        ad.grad(f)(1e6)
