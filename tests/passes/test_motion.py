"""Movement: what cancels, what becomes smaller, what stays; derivatives and special values."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core.spec import Spec
from adjoint.graph.trace import trace
from adjoint.graph.walk import replay
from adjoint.passes.motion import motion
from adjoint.passes.pipeline import optimise

A = np.array([[1.0, -2.0, np.inf], [0.5, -0.0, np.nan]])
B = np.arange(6.0).reshape(2, 3) - 2.0
V = np.array([0.5, -1.5, 2.0])


def both(fn, *xs):
    graph, _ = trace(lambda *v: [fn(*v)], [Spec(np.shape(x), np.asarray(x).dtype) for x in xs])
    return graph, optimise(graph, passes=[("motion", motion)])[0]


def names(graph):
    return [f"{type(n.op).__name__}{list(n.shape)}" for n in graph.calls]


def wide(x, *shape):
    return ops.broadcast_to(x, shape)


#: name: (function, inputs, steps after the pass)
MOVED = {
    "unary after broadcast": (lambda v: ops.exp(wide(v, 4, 3)), [V], ["Exp[3]", "BroadcastTo[4, 3]"]),
    "chain after broadcast": (lambda v: ops.sin(ops.exp(wide(v, 4, 3)) + 1.0), [V], ["Exp[3]", "Add[3]", "Sin[3]", "BroadcastTo[4, 3]"]),
    "broadcast that the step does itself": (lambda a, v: a * wide(v, 2, 3), [A, V], ["Mul[2, 3]"]),
    "two broadcasts": (lambda v, w: wide(v, 4, 3) * wide(w, 4, 3), [V, V[:1]], ["Mul[3]", "BroadcastTo[4, 3]"]),
    "constant of one number": (lambda a: a + np.full((2, 3), 2.0), [A], ["Add[2, 3]"]),
    "cast after broadcast": (lambda v: wide(v, 4, 3).astype("float32"), [V], ["Cast[3]", "BroadcastTo[4, 3]"]),
    "transpose there and back": (lambda a: ops.exp(a.T).T, [A], ["Exp[2, 3]"]),
    "common transpose": (lambda a, b: a.T * b.T + 1.0, [A, B], ["Mul[2, 3]", "Add[2, 3]", "Transpose[3, 2]"]),
    "common reshape": (lambda a, b: a.reshape(6) * b.reshape(6), [A, B], ["Mul[2, 3]", "Reshape[6]"]),
    "product of transposes": (lambda a, b: (a.T @ b).T, [B, B + 1], ["Transpose[3, 2]", "MatMul[3, 3]"]),
    "product of two transposes": (lambda a, b: (b.T @ a.T).T, [B, B.T + 1], ["MatMul[2, 2]"]),
    "sum of a transpose": (lambda a: a.T.sum(0), [B], ["Sum[2]"]),
    "max of a transpose": (lambda a: ops.transpose(a.reshape(1, 2, 3), (2, 0, 1)).max(1), [B], ["Reshape[1, 2, 3]", "Max[2, 3]", "Transpose[3, 2]"]),
    "kept axes of a transpose": (lambda a: a.T.sum(0, keepdims=True), [B], ["Sum[2, 1]", "Transpose[1, 2]"]),
    "sum of a sum": (lambda a: a.sum(0).sum(), [B], ["Sum[]"]),
    "sum of a kept sum": (lambda a: a.sum(0, keepdims=True).sum(1), [B], ["Sum[]", "Reshape[1]"]),
    "mean of a mean": (lambda a: a.mean(1).mean(0), [B], ["Mean[]"]),
    "sum of a broadcast": (lambda v: wide(v, 4, 3).sum(0), [V], ["Mul[3]"]),
    "sum of a broadcast along all axes": (lambda v: wide(v, 4, 3).sum(), [V], ["Sum[1]", "Mul[1]", "Reshape[]"]),
    "sum along one of two repeated axes": (lambda x: wide(x, 4, 3).sum(1, keepdims=True), [2.5], ["Mul[]", "Reshape[1, 1]", "BroadcastTo[4, 1]"]),
    "max of a broadcast": (lambda v: wide(v, 4, 3).max(0), [V], []),
    "reshape of a number repeated": (lambda x: wide(x, 4, 3).reshape(12) * 2.0, [2.5], ["Mul[]", "BroadcastTo[12]"]),
    "transpose of a broadcast": (lambda v: wide(v.reshape(1, 3), 4, 3).T, [V], ["Reshape[1, 3]", "Transpose[3, 1]", "BroadcastTo[3, 4]"]),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVED)
def test_moved(name):
    fn, xs, wanted = MOVED[name]
    graph, better = both(fn, *xs)
    assert names(better) == wanted
    assert motion(better) is better
    assert sum(prod(n.shape) for n in better.calls) <= sum(prod(n.shape) for n in graph.calls)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(replay(better, xs)[0], replay(graph, xs)[0], rtol=1e-15)


@pytest.mark.parametrize(
    "name", [n for n, (_, xs, _) in MOVED.items() if np.isfinite(np.concatenate([np.ravel(x) for x in xs])).all()]
)
def test_derivatives_of_what_was_moved(name):
    fn, xs, _ = MOVED[name]
    graph, better = both(fn, *xs)
    for a, b in zip(*(replay(ad.graph.generate_grad_graph(g), xs) for g in (graph, better)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


STAYS = {
    "transpose used twice": (lambda a: (a.T, ops.exp(a.T)), [B]),
    "different transposes": (lambda a: ops.transpose(a.reshape(1, 2, 3), (2, 0, 1)) * ops.transpose(a.reshape(1, 3, 2), (1, 0, 2)), [B]),
    "max of a max: ties": (lambda a: a.max(0).max(0), [B]),
    "sum used twice": (lambda a: (lambda s: (s, s.sum()))(a.sum(0)), [B]),
    "sum of no terms": (lambda v: wide(v, 0, 3).sum(0), [V]),
    "count that float16 cannot hold": (lambda v: wide(v, 3000, 3).sum(0), [V.astype("float16")]),
}  # fmt: skip


@pytest.mark.parametrize("name", STAYS)
def test_stays(name):
    fn, xs = STAYS[name]

    def listed(*v):
        y = fn(*v)
        return list(y) if isinstance(y, tuple) else [y]

    graph, _ = trace(listed, [Spec(x.shape, x.dtype) for x in xs])
    assert motion(graph) is graph


def test_infinities_and_overflow_in_sums_of_broadcasts():
    x = np.array([np.inf, -np.inf, np.nan, 1e308, -0.0, 5e-324])
    graph, better = both(lambda v: wide(v, 4, 6).sum(0), x)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(replay(better, [x])[0], replay(graph, [x])[0])


def test_inside_control_flow():
    def f(x):
        for _ in range(50):
            x = x + ops.exp(ops.broadcast_to(x, (50,))).sum() * 0.001
        return x

    graph = ad.graph.trace_function(f, [0.5])
    loop = next(n.op for n in motion(graph).calls)
    assert all(n.shape == () for n in loop.body.nodes)


def test_random_programs(unchanged):
    assert unchanged(motion) > 10
