"""scipy.integrate.quad where it is hard: singular ends, peaks between the nodes, branches, integrals that do not exist."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate as si
from scipy.special import beta, digamma

import adjoint as ad

ROOT_2PI = np.sqrt(2 * np.pi)
quad = lambda f, a, b, **options: si.quad(f, a, b, **options)[0]

#: A function of a parameter, where, its value and its derivative in closed form.
HARD = {
    "inverse root at the upper end": (lambda a: quad(lambda t: a / np.sqrt(1 - t), 0, 1), 1.0, 2.0, 2.0),
    "both limits move": (lambda a: quad(lambda t: (t - a) ** 2, a, 3 * a), 0.7, 8 / 3 * 0.7**3, 8 * 0.7**2),
    "singular at a moving limit": (lambda a: quad(lambda x: 1 / np.sqrt(a * a - x * x), 0, a), 1.3, np.pi / 2, 0.0),
    "singular at both moving limits": (lambda a: quad(lambda x: a / np.sqrt(a * a - x * x), -a, a), 1.3, 1.3 * np.pi, np.pi),
    "strongly singular at 0": (lambda a: quad(lambda t: t**-a, 0, 1), 0.9, 10.0, 100.0),
    "slow decay": (lambda p: quad(lambda x: x**-p, 1, np.inf), 1.1, 10.0, -100.0),
    "a peak between the nodes": (lambda s: quad(lambda t: np.exp(-0.5 * ((t - 5.3) / s) ** 2), 0, 10), 0.01, 0.01 * ROOT_2PI, ROOT_2PI),
    "another peak": (lambda s: quad(lambda t: np.exp(-0.5 * ((t - 3.3) / s) ** 2), 0, 10), 0.03, 0.03 * ROOT_2PI, ROOT_2PI),
    "Euler's beta": (
        lambda a: quad(lambda t: t ** (a - 1) * (1 - t) ** -0.4, 0, 1),
        0.3, beta(0.3, 0.6), beta(0.3, 0.6) * (digamma(0.3) - digamma(0.9)),
    ),
    "logarithm": (lambda a: quad(lambda t: np.log(a * t), 0, 1), 0.7, np.log(0.7) - 1, 1 / 0.7),
    "singular at a point inside": (
        lambda a: quad(lambda t: a / np.sqrt(abs(t - 0.3)), 0, 1, points=[0.3]),
        1.5, 3 * (np.sqrt(0.3) + np.sqrt(0.7)), 2 * (np.sqrt(0.3) + np.sqrt(0.7)),
    ),
    "a branch": (lambda a: quad(lambda t: a * t if t < 1 else a, 0, 2), 1.7, 2.55, 1.5),
    "a branch in a helper": (lambda a: quad(lambda t: _ramp(a, t), 0, 2), 1.7, 2.55, 1.5),
    "backwards": (lambda a: quad(lambda t: a / np.sqrt(t), 1, 0), 1.5, -3.0, -2.0),
    "nothing": (lambda a: quad(lambda t: 0.0 * a * t, 0, 1), 1.5, 0.0, 0.0),
}  # fmt: skip


def _ramp(a, t):
    if t < 1:
        return a * t
    return a


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("mode", [lambda f: f, ad.jit], ids=["dynamic", "compiled"])
def test_hard_integrals(name, mode):
    f, x, value, slope = HARD[name]
    found = mode(ad.value_and_grad(f))(x)
    np.testing.assert_allclose([float(v) for v in found], [value, slope], rtol=1e-7, atol=1e-9)
    forward = mode(lambda x: ad.jvp(f, (x,), (1.0,))[1])(x)
    np.testing.assert_allclose(float(forward), slope, rtol=1e-7, atol=1e-9)


def test_second_derivatives_at_a_singular_end():
    f = lambda a: quad(lambda t: t**-a, 0, 1)
    assert float(ad.grad(ad.grad(f))(0.5)) == pytest.approx(16.0, rel=1e-7)
    assert float(ad.jit(ad.grad(ad.grad(f)))(0.5)) == pytest.approx(16.0, rel=1e-7)
    slopes = ad.vmap(ad.grad(f))(np.array([0.1, 0.5, 0.8]))
    np.testing.assert_allclose(slopes, 1 / (1 - np.array([0.1, 0.5, 0.8])) ** 2, rtol=1e-7)


@pytest.mark.parametrize("f", [lambda a: quad(lambda x: a / x, 0, 1), lambda a: quad(lambda x: a / (1 + x), 0, np.inf)])
def test_an_integral_that_does_not_exist_warns(f):
    with pytest.warns(si.IntegrationWarning, match="quad: the estimate of the error is"):
        ad.grad(f)(1.0)
