"""Backward passes through loops: what they carry, and what they cost."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.graph.control import Loop
from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Graph


def backward_loop(graph: Graph) -> Loop:
    (found,) = [n.op for n in graph.calls if isinstance(n.op, Loop) and n.op.backwards]
    return found


def difference(fn, p: np.ndarray) -> np.ndarray:
    """Central differences, in NumPy."""
    steps = 1e-6 * np.eye(p.size)
    return np.array([(fn(p + s) - fn(p - s)) / 2e-6 for s in steps])


def both(a, b, x):
    for _ in range(20):
        x = x * a * 0.9 + x * x * b
    return x


def test_one_value_given_twice_is_two_inputs() -> None:
    """What a loop is given may be equal without being the same variable."""

    def twice(t):
        return ad.grad(both, (0, 1))(t, t, 0.1)

    def once(t):
        return (ad.grad(lambda a: both(t, a, 0.1))(t),)

    t = np.float64(0.7)
    first, second = difference(lambda p: both(*p, 0.1), np.array([t, t]))
    for backend in ("interpreter", "native"):
        found = [float(g) for g in (*ad.jit(twice, backend=backend)(t), *ad.jit(once, backend=backend)(t))]
        np.testing.assert_allclose(found, [first, second, second], rtol=1e-6)


@pytest.mark.parametrize("reads", [1, 2, 3])
def test_reading_elements_costs_the_same_for_any_array(reads: int) -> None:
    def products(x):
        total = x[0]
        for i in range(20):
            for k in range(reads):
                total = total * x[i + k]
        return total

    x = np.linspace(0.9, 1.1, 30)
    graph = ad.jit(ad.grad(products)).graph(x)
    arrays = [n for n in backward_loop(graph).body.calls if n.shape]
    assert len(arrays) == reads and all(isinstance(n.op, InPlace) for n in arrays)
    for backend in ("interpreter", "native"):
        found = ad.jit(ad.grad(products), backend=backend)(x)
        np.testing.assert_allclose(np.asarray(found), difference(products, x), rtol=1e-7, atol=1e-9)
