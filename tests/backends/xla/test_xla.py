"""Compiled functions on XLA give what the interpreter gives."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops


def chain(x):
    return (ops.tanh(x) * ops.exp(-x * x) + ops.sin(x) * ops.log1p(x * x)).sum()


def branches_in_a_loop(x):
    for _ in range(20):
        x = x * 0.5 if x > 3 else x * x + 0.1
    return x


def few_iterations(x):
    while x < 1000:
        x = x * x + 0.3
    return x


def more_iterations_than_the_first_buffer_holds(x):
    while x < 1000:
        x = x + 0.3 * x / (1 + x)
    return x


@pytest.mark.parametrize(
    "f", [branches_in_a_loop, few_iterations, more_iterations_than_the_first_buffer_holds], ids=lambda f: f.__name__
)
def test_control_flow_and_its_derivative(f):
    found = ad.jit(ad.value_and_grad(f), backend="xla")(1.3)
    np.testing.assert_allclose(found, ad.value_and_grad(f)(1.3), rtol=1e-12)


def test_value_and_gradient_of_a_chain():
    x = np.random.default_rng(0).standard_normal(1001)
    value, gradient = ad.jit(ad.value_and_grad(chain), backend="xla", device="cpu")(x)
    expected, slope = ad.value_and_grad(chain)(x)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-12, atol=1e-14)
    assert gradient.dtype == np.float64 and isinstance(np.asarray(gradient), np.ndarray)


def test_a_device_that_is_not_there():
    with pytest.raises(ad.ArgumentError, match="there is no device 'gpux'"):
        ad.jit(chain, backend="xla", device="gpux")
    with pytest.raises(ad.ArgumentError, match=r"the backend 'native' runs on the CPU"):
        ad.jit(chain, backend="native", device="gpu")
