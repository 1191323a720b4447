"""Initializers: shapes, moments, bounds, and the same numbers from the same seed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import adjoint as ad
from adjoint import nn
from adjoint.nn.initializer import (
    Constant,
    HeNormal,
    HeUniform,
    Identity,
    Normal,
    One,
    Orthogonal,
    TruncatedNormal,
    Uniform,
    XavierNormal,
    XavierUniform,
    Zero,
    initializer,
)

SHAPE = (60, 40, 3, 3)  # fan in 360, fan out 540


@pytest.mark.parametrize(
    ("init", "deviation", "law"),
    [
        (Normal(0.5, 2.0), 0.5, stats.norm(2.0, 0.5)),
        (Uniform(0.3), 0.3 / math.sqrt(3), stats.uniform(-0.3, 0.6)),
        (TruncatedNormal(0.5, 1.0, -1.0, 2.0), None, stats.truncnorm(-1.0, 2.0, 1.0, 0.5)),
        (XavierUniform(2.0), 2 * math.sqrt(2 / 900), None),
        (XavierNormal(), math.sqrt(2 / 900), None),
        (HeUniform(), math.sqrt(2 / 360), None),
        (HeUniform(math.sqrt(5)), math.sqrt(1 / (3 * 360)), None),
        (HeNormal(mode="fan_out", nonlinearity="tanh"), 5 / 3 / math.sqrt(540), None),
    ],
    ids=lambda x: str(x) if "0x" not in str(x) else "law",
)
def test_draws_follow_their_law(init, deviation, law):
    ad.set_seed(1)
    values = initializer(init, SHAPE, np.float64).asnumpy()
    assert values.shape == SHAPE
    if deviation is not None:
        np.testing.assert_allclose(values.std(), deviation, rtol=0.02)
    if law is None:
        kind = "Uniform" in type(init).__name__
        law = stats.uniform(-deviation * 3**0.5, 2 * deviation * 3**0.5) if kind else stats.norm(0, deviation)
    assert stats.kstest(values.ravel(), law.cdf).pvalue > 1e-3


def test_fixed_values():
    np.testing.assert_array_equal(initializer(Zero(), 3), np.zeros(3))
    np.testing.assert_array_equal(initializer(One(), (2, 2), np.float16), np.ones((2, 2)))
    np.testing.assert_array_equal(initializer(Constant(2.5), 3), [2.5] * 3)
    np.testing.assert_array_equal(initializer(Identity(), (2, 3)), np.eye(2, 3))
    np.testing.assert_array_equal(initializer(np.arange(3.0)), [0, 1, 2])
    assert initializer("ones", 3).dtype == np.float32


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 2, 3)])
def test_orthogonal(shape):
    w = initializer(Orthogonal(2.0), shape, np.float64).asnumpy().reshape(shape[0], -1)
    small = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-12)


def test_the_same_seed_gives_the_same_network():
    def made():
        ad.set_seed(7)
        return [p.asnumpy() for p in nn.SequentialCell(nn.Conv2d(2, 3, 3), nn.Dense(4, 5)).get_parameters()]

    for a, b in zip(made(), made(), strict=True):
        assert (a == b).all()


def test_a_layer_starts_between_its_bounds():
    layer = nn.Dense(100, 50)
    assert np.abs(layer.weight.asnumpy()).max() <= 0.1
    assert np.abs(layer.bias.asnumpy()).max() <= 0.1
    conv = nn.Conv2d(4, 8, 5, group=2, has_bias=True)
    assert np.abs(conv.weight.asnumpy()).max() <= 1 / math.sqrt(2 * 25)


def test_mistakes():
    for make, message in (
        (lambda: initializer("gauss", 3), "there is no 'gauss'"),
        (lambda: initializer("normal"), "needs a shape"),
        (lambda: initializer(np.ones(2), (3,)), r"has the shape \(2,\), not \(3,\)"),
        (lambda: initializer("xavier_uniform", 3), "two axes or more"),
        (lambda: initializer(Identity(), 3), "a matrix is needed"),
        (lambda: initializer(Orthogonal(), 3), "two axes or more"),
        (lambda: TruncatedNormal(a=1.0, b=0.0), "a must be below b"),
        (lambda: HeNormal(mode="fan"), "mode must be fan_in or fan_out"),
        (lambda: HeNormal(nonlinearity="cubic"), "is not one of"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    assert repr(Normal(0.5)) == "Normal(sigma=0.5, mean=0.0)"
