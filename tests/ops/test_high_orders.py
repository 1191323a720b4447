"""Third and higher derivatives at the points where factors vanish, by exact values."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops

AT_ZERO = {
    "x*x*x": (lambda x: x * x * x, [0, 0, 0, 6, 0]),
    "(x*x)*(x*x)": (lambda x: (x * x) * (x * x), [0, 0, 0, 0, 24]),
    "x**3": (lambda x: x**3, [0, 0, 0, 6, 0]),
    "x*sin(x)": (lambda x: x * ops.sin(x), [0, 0, 2, 0, -4]),
    "sin(x)**2": (lambda x: ops.sin(x) ** 2, [0, 0, 2, 0, -8]),
    "x*exp(x)": (lambda x: x * ops.exp(x), [0, 1, 2, 3, 4]),
    "x/(1+x)": (lambda x: x / (1 + x), [0, 1, -2, 6, -24]),
    "tanh(x)": (ops.tanh, [0, 1, 0, -2, 0]),
    "prod": (lambda x: ops.prod(ops.stack([x, x, x + 1])), [0, 0, 2, 6, 0]),
}  # fmt: skip


@pytest.mark.parametrize("name", AT_ZERO)
def test_reverse_and_forward_to_fourth_order(name):
    f, expected = AT_ZERO[name]

    def forward(g):
        return lambda x: ad.jvp(g, x, 1.0)[1]

    g = h = f
    for order, value in enumerate(expected):
        np.testing.assert_allclose(
            [float(ops.sum(g(0.0))), float(ops.sum(h(0.0)))], value, atol=1e-12, err_msg=str(order)
        )
        g, h = ad.grad(g), forward(h)


def test_mixed_derivatives():
    f = lambda x, y: x * y * x * y
    assert float(ad.grad(ad.grad(ad.grad(f, 0), 1), 0)(0.0, 3.0)) == 12
    power = lambda x, y: x**y
    for order in ((0, 1), (1, 0)):
        found = ad.grad(ad.grad(power, order[0]), order[1])(2.0, 0.0)
        np.testing.assert_allclose(found, 0.5)
    np.testing.assert_allclose(ad.grad(ad.grad(power, 0), 1)(2.0, 3.0), 4 * (1 + 3 * math.log(2)))
