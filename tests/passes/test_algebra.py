"""The laws of algebra on graphs of a few steps: what they make, and what they must not touch."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core.spec import Spec
from adjoint.graph.node import Builder, Const, Graph
from adjoint.graph.trace import trace
from adjoint.graph.walk import replay
from adjoint.ops.arithmetic import masked_mul
from adjoint.ops.index import ScatterAdd
from adjoint.ops.laws import number, truth
from adjoint.passes.algebra import algebra

X = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 5e-324, 1e308])
C = np.array([True, False, True, True, False, True, False, True, True])


def both(fn, *xs):
    graph, _ = trace(lambda *v: [fn(*v)], [Spec(np.shape(x), np.asarray(x).dtype) for x in xs])
    return graph, algebra(graph)


def names(graph):
    return [type(n.op).__name__ for n in graph.calls]


def _set(x, place, value):
    y = x.copy()
    y[place] = value
    return y


#: name: (function, inputs, ops after the pass)
LAWFUL = {
    "widened and narrowed": (lambda x: x.astype("float64").astype("float32"), [np.float32(X[:8])], []),
    "widened twice": (lambda x: x.astype("float32").astype("float64"), [np.array([1.5, np.inf, 6e-8], "float16")], ["Cast"]),
    "bool to int to float": (lambda c: c.astype("int64").astype("float64"), [C], ["Cast"]),
    "where of a constant": (lambda x: ops.where(np.ones(9, bool), x, 2.0), [X], []),
    "where not": (lambda c, x: ops.where(~c, x, 2.0), [C, X], ["Where"]),
    "where of equals": (lambda c, x: ops.where(c, x, x), [C, X], []),
    "x == false": (lambda c: c == False, [C], ["BitwiseNot"]),  # noqa: E712
    "not not": (lambda c: ~~c, [C], []),
    "not equal": (lambda x: ~(x == 1.5), [X], ["NotEqual"]),
    "not unequal": (lambda x: ~(x != 1.5), [X], ["Equal"]),
    "and true": (lambda c: c & True, [C], []),
    "or false": (lambda c: np.zeros(9, bool) | c, [C], []),
    "flip of flip": (lambda x: ops.flip(ops.flip(x, 0), 0), [X], []),
    "broadcast of broadcast": (lambda x: ops.broadcast_to(ops.broadcast_to(x, (2, 9)), (3, 2, 9)), [X], ["BroadcastTo"]),
    "set twice": (lambda x: _set(_set(x, slice(1, 3), x[4:6]), slice(1, 3), x[:2]), [X], ["GetItem", "SetItem"]),
    "set in two places": (lambda x: _set(_set(x, slice(1, 3), x[4:6]), slice(2, 4), x[:2]), [X], ["GetItem", "SetItem", "GetItem", "SetItem"]),
    "set and looked at": (lambda x: _set(x, slice(1, 3), x[4:6])[1:3], [X], ["GetItem"]),
    "a number set and looked at": (lambda x: _set(x, slice(1, 3), -0.0)[1:3], [np.float32(X[:8])], ["BroadcastTo"]),
    "one element set and looked at": (lambda x: _set(x, slice(1, 3), x[0])[1:3], [X], ["GetItem", "BroadcastTo"]),
    "a large integer set and looked at": (lambda i: _set(i, 1, np.int64(2**53 + 1))[1], [np.arange(3)], []),
    "masked by a number": (lambda x: masked_mul(x, 2.0), [X], ["Mul"]),
    "masked by zero": (lambda x: masked_mul(x, 0.0), [X], ["BroadcastTo"]),
    "masked by zeros": (lambda x: masked_mul(np.zeros(9), x), [X], ["BroadcastTo"]),
}  # fmt: skip


@pytest.mark.parametrize("name", LAWFUL)
def test_laws(name):
    fn, xs, wanted = LAWFUL[name]
    graph, better = both(fn, *xs)
    assert names(better) == wanted
    assert algebra(better) is better
    with np.errstate(all="ignore"):
        found, expected = (np.asarray(replay(g, [ad.Tensor(x) for x in xs])[0]) for g in (better, graph))
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


LEFT = {
    "narrowed and widened": (lambda x: x.astype("float32").astype("float64"), X),
    "large integers through floats": (lambda i: i.astype("float64").astype("int64"), np.array([2**53 + 1])),
    "x * 0": (lambda x: x * 0.0, X), "x - x": (lambda x: x - x, X), "stopped gradient": (lambda x: ops.stop_gradient(x), X),
    "masked by an infinity": (lambda x: masked_mul(x, np.inf), X), "where of mixed constants": (lambda x: ops.where(C, x, 2.0), X),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name):
    fn, x = LEFT[name]
    graph, better = both(fn, x)
    assert better is graph


def test_scattered_values_are_added_one_after_another():
    """The gradient of a loop that reads several elements a round must not touch the whole array in each."""

    def summed(x, v, w, i):
        parts = [ScatterAdd()(np.zeros(9), u, i + k) for k, u in enumerate((v, w, v))]
        return x + (parts[0] + parts[1] + parts[2])

    inputs = [np.arange(9.0), 0.5, 0.25, np.int64(3)]
    graph, better = both(summed, *inputs)
    top = better.outputs[0]
    for _ in range(3):
        whole, part = top.inputs
        assert isinstance(part.op, ScatterAdd) and isinstance(part.inputs[0].op, Const)
        top = whole
    assert top is better.params[0]
    assert algebra(better) is better
    found, expected = (np.asarray(replay(g, [ad.Tensor(x) for x in inputs])[0]) for g in (better, graph))
    np.testing.assert_array_equal(found, expected)


def test_a_rejected_law_leaves_no_trace():
    """i ** 2.0 is tried as i * i, an integer, and rejected; the graph's own i * i must stay itself."""
    graph, _ = trace(lambda i: [i**2.0, i * i], [Spec((3,), np.dtype("int64"))])
    assert algebra(graph) is graph


def test_constants():
    b = Builder()
    assert number(b.const(np.full(3, 2.0))) == 2 and number(b.const(np.array([1.0, 2.0]))) is None
    assert number(b.const(np.zeros(0))) is None and number(b.param(Spec(()))) is None
    assert truth(b.const(np.ones(3, bool))) is True and truth(b.const(False)) is False
    assert truth(b.const(np.array([True, False]))) is None and truth(b.const(1.0)) is None


def test_sharing_between_graphs():
    graph, _ = trace(lambda x: [ops.sin(x) + 0.0, ops.cos(x)], [Spec(())])
    better = algebra(graph)
    assert isinstance(better, Graph) and better.outputs[1] is graph.outputs[1]


def test_random_programs(unchanged):
    assert unchanged(algebra, rtol=1e-13) > 40
