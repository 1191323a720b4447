"""`round(x, n)` of Python floats is Python's; arrays whose shapes the graph would have to know are refused by name."""

import random

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops

SPECIAL = [
    2.675, 2.665, 1.005, 5.015, 0.125, 2.5, -0.5, -2.675, -0.001, 0.0, -0.0, 250.0, 350.0, 249.99999999999997, 1e22, 1e300,
    4503599627370497.5, float("inf"),
]  # fmt: skip


def numbers():
    draw = random.Random(0)
    kinds = (
        lambda: round(draw.uniform(-100, 100), 3),
        lambda: draw.uniform(-1e6, 1e6),
        lambda: draw.randrange(-(10**6), 10**6) / 8,
        lambda: draw.randrange(10**7) / 1000 + 0.0005,
    )
    return [*SPECIAL, *(draw.choice(kinds)() for _ in range(300))]


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("digits", [0, 1, 2, 3, 7, -1, -2])
def test_rounding_to_digits_is_correct_in_decimal(digits, backend):
    compiled = ad.jit(lambda x: round(x, digits), backend=backend)
    for x in numbers():
        found, want = float(compiled(x)), round(x, digits)
        assert found == want and np.signbit(found) == np.signbit(want), x


def test_arrays_are_rounded_as_numpy_does():
    x = np.array([2.675, 1.005, -0.5])
    for f in (lambda x: np.round(x, 2), lambda x: x.round(2)):
        assert np.array_equal(ad.jit(f)(x), np.round(x, 2))
    assert ad.grad(ad.jit(lambda x: round(x, 2) * x))(2.675) == 2.67


def counted(x):
    n = 0
    while n < x:
        n = n + 1
    return n


def zeros(x):
    return np.zeros(counted(x)) + x


def empty(x):
    return np.empty((2, counted(x))) + x


def ones(x):
    return np.ones((2, counted(x))) + x


def tensor(x):
    return ops.zeros(counted(x)) + x


@pytest.mark.parametrize("f", [zeros, empty, ones, tensor])
def test_a_shape_that_only_the_graph_knows_is_refused(f):
    with pytest.raises(TypeError, match="known only when the graph runs") as caught:
        ad.jit(f)(2.0)
    assert "test_rounding.py" in str(caught.value)
