"""Passes: each law alone, what may not be simplified, the verifier that names the guilty pass."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core.spec import Spec
from adjoint.graph.node import Graph
from adjoint.graph.trace import trace
from adjoint.graph.walk import replay
from adjoint.ops.laws import ALGEBRA
from adjoint.passes import optimise

X = np.array([[1.0, -2.0], [np.inf, 0.0]])

SIMPLER = {
    "x + 0": (lambda x: x + -0.0, 0), "x - 0": (lambda x: x - 0.0, 0), "x * 1": (lambda x: 1.0 * x, 0),
    "x * -1": (lambda x: x * -1.0, 1), "x / 1": (lambda x: x / 1.0, 0), "x ** 1": (lambda x: x**1.0, 0),
    "x ** 2": (lambda x: x**2, 1), "-(-x)": (lambda x: ops.neg(ops.neg(x)), 0), "reshape": (lambda x: x.reshape(4).reshape(2, 2), 0),
    "transpose": (lambda x: x.T.T, 0), "cast": (lambda x: x.astype("float64"), 0), "common": (lambda x: ops.sin(x) + ops.sin(x), 2),
    "folded": (lambda x: x + ops.sin(np.ones((2, 2))) * 2.0, 1), "sum": (lambda x: ops.sum(x, ()), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", SIMPLER)
def test_simpler(name):
    fn, calls = SIMPLER[name]
    graph, _ = trace(lambda x: [fn(x)], [Spec((2, 2))])
    better, reports = optimise(graph)
    assert len(better.calls) == calls, str(better)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(replay(better, [X])[0], replay(graph, [X])[0])
    assert all(r.seconds >= 0 and r.name in str(r) for r in reports)


@pytest.mark.parametrize("fn", [lambda x: x * 0.0, lambda x: x - x, lambda x: x / x], ids=["x*0", "x-x", "x/x"])
def test_what_could_hide_an_infinity_stays(fn):
    graph, _ = trace(lambda x: [fn(x)], [Spec((2, 2))])
    better, _ = optimise(graph)
    with np.errstate(all="ignore"):
        found = replay(better, [X])[0]
        np.testing.assert_array_equal(found, replay(graph, [X])[0])
    assert np.isnan(found).any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_signs_of_zeros_stay(dtype):
    x = np.array([-0.0, 0.0, 1.0], dtype)
    for fn in (
        lambda x: x + 0.0, lambda x: 0.0 + x, lambda x: x - 0.0, lambda x: x - -0.0, lambda x: x + -0.0, lambda x: sum([x]),
    ):  # fmt: skip
        assert np.array_equal(np.signbit(ad.jit(fn)(x).asnumpy()), np.signbit(fn(x)))


def test_integers_lose_their_zeros():
    assert not optimise(trace(lambda x: [x + 0], [Spec((2,), np.dtype("int32"))])[0])[0].calls


def test_unused_nodes_go():
    def f(x):
        ops.exp(x)
        return [x + 1.0]

    assert len(optimise(trace(f, [Spec((2,))])[0])[0].calls) == 1


def test_a_broken_pass_is_named():
    graph, _ = trace(lambda x: [x + 1.0], [Spec((2,))])

    def lose_output(g):
        return Graph(g.params, ())

    def change_shape(g):
        return trace(lambda x: [x.sum()], [Spec((2,))])[0]

    with pytest.raises(AssertionError, match="pass lose_output broke the graph: no output"):
        optimise(graph, passes=[("lose_output", lose_output)])
    with pytest.raises(
        AssertionError, match=r"pass change_shape broke the graph: output 0 was float64\[2\] and is float64\[\]"
    ):
        optimise(graph, passes=[("change_shape", change_shape)])


def test_laws_are_named_once():
    names = ALGEBRA.names
    assert len(set(names)) == len(names)
