"""Fusion: which steps form a group, that no cycle arises, that it can be undone and differentiated, and that it is linear."""

from __future__ import annotations

import cProfile

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends import interpreter
from adjoint.core.spec import Spec
from adjoint.graph.fused import Fused, inlined
from adjoint.graph.trace import trace
from adjoint.graph.verify import problem
from adjoint.graph.walk import replay
from adjoint.passes.fusion import fusion
from adjoint.passes.pipeline import optimise

A = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]])
V = np.array([0.5, -1.5, 2.0])


def traced(fn, *xs):
    def listed(*v):
        y = fn(*v)
        return list(y) if isinstance(y, (tuple, list)) else [y]

    return trace(listed, [Spec(np.shape(x), np.asarray(x).dtype) for x in xs])[0]


def shape_of_graph(graph):
    """The ops, a group written as a list of its ops."""
    return [
        [type(i.op).__name__ for i in n.op.inner.calls] if isinstance(n.op, Fused) else type(n.op).__name__
        for n in graph.calls
    ]


def softmax(x):
    e = ops.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


#: name: (function, inputs, groups)
GROUPED = {
    "chain": (lambda x: ops.sin(ops.exp(x)) * 2.0, [A], [["Exp", "Sin", "Mul"]]),
    "chain and sum": (lambda x: (ops.sin(x) * x).sum(), [A], [["Sin", "Mul", "Sum"]]),
    "broadcast input": (lambda x, v: ops.sin(x + v) * v, [A, V], [["Add", "Sin", "Mul"]]),
    "explicit broadcast": (lambda v: ops.broadcast_to(v, (2, 3)) * A, [V], [["BroadcastTo", "Mul"]]),
    "two results": (lambda x: (ops.sin(x), ops.sin(x) * ops.cos(x)), [A], [["Sin", "Cos", "Mul"]]),
    "value and gradient": (lambda x: ((x * x).sum(), ops.exp(x) * 2.0), [A], [["Mul", "Sum", "Exp", "Mul"]]),
    "two reductions": (lambda x: (x.sum(0), x.max(1)), [A], [["Sum", "Max"]]),
    "softmax": (softmax, [A], ["Max", ["Sub", "Exp", "Sum"], "Div"]),
    "around a product": (lambda x: ops.sin(x + 1.0) @ ops.cos(x.T) * 2.0 + 1.0, [A], [["Add", "Sin"], "Transpose", "Cos", "MatMul", ["Mul", "Add"]]),
    "a detour outside": (lambda x: (lambda s: s * s.sum() + ops.exp(s))(ops.sin(x)), [A], [["Sin", "Sum"], ["Mul", "Exp", "Add"]]),
    "unrelated": (lambda x, y: (ops.sin(x), ops.sin(y)), [A, A + 1], ["Sin", "Sin"]),
    "nothing to do": (lambda x: x @ x.T, [A], ["Transpose", "MatMul"]),
}  # fmt: skip


@pytest.mark.parametrize("name", GROUPED)
def test_groups(name):
    fn, xs, wanted = GROUPED[name]
    graph = traced(fn, *xs)
    fused = optimise(graph, passes=[("fusion", fusion)])[0]
    assert shape_of_graph(fused) == wanted
    assert fusion(fused) is fused
    assert (fused is graph) == all(isinstance(w, str) for w in wanted)
    flat = inlined(fused)
    assert sorted(shape_of_graph(flat)) == sorted(shape_of_graph(graph)) and problem(flat, graph) is None
    for a, b, c in zip(*(interpreter.compile(g)(*xs) for g in (fused, flat, graph)), strict=True):
        np.testing.assert_array_equal(a, c)
        np.testing.assert_array_equal(b, c)


def test_special_values_go_through():
    x = np.array([np.inf, -np.inf, np.nan, -0.0, 5e-324, 1e308])
    graph = traced(lambda x: (ops.exp(x) * x, ops.sqrt(x) + 1.0, (x * 2.0).sum()), x)
    fused = fusion(graph)
    assert len(fused.calls) == 1
    for a, b in zip(interpreter.compile(fused)(x), interpreter.compile(graph)(x), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


def test_derivatives_and_batches_of_fused_graphs():
    graph = traced(lambda x, v: (ops.sin(x * v) + v).sum(1) * 2.0, A, V)
    fused = fusion(graph)
    for make in (ad.graph.generate_grad_graph, lambda g: ad.graph.generate_grad_graph(ad.graph.generate_grad_graph(g))):
        for a, b in zip(*(replay(make(g), [A, V]) for g in (fused, graph)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-15)
    eager = ad.jvp(lambda x: replay(graph, [x, V])[0], A, A)[1]
    np.testing.assert_allclose(
        np.asarray(ad.jvp(lambda x: replay(fused, [x, V])[0], A, A)[1]), np.asarray(eager), rtol=1e-14
    )
    batch = np.stack([A, A + 1, A - 1])
    found = ad.vmap(lambda x: replay(fused, [x, V])[0])(batch)
    np.testing.assert_allclose(np.asarray(found), [replay(graph, [x, V])[0] for x in batch], rtol=1e-14)


def test_inside_control_flow():
    def f(x):
        for _ in range(30):
            x = ops.sin(x) * 0.5 + 1.0
        return x

    graph = ad.graph.trace_function(f, [V])
    fused = fusion(graph)
    body = next(n.op for n in fused.calls).body
    assert any(isinstance(n.op, Fused) for n in body.calls)
    assert not any(isinstance(n.op, Fused) for n in next(n.op for n in inlined(fused).calls).body.calls)
    np.testing.assert_array_equal(interpreter.compile(fused)(V), interpreter.compile(graph)(V))


def test_random_programs(unchanged):
    assert unchanged(fusion, rtol=0.0) > 40
    assert unchanged(fusion, rtol=0.0, flat=True) > 40


def test_work_is_linear():
    """Ten times the steps take about ten times the calls of Python functions, counted: a slow day changes nothing."""

    def chain(n):
        def f(x):
            y = x
            for k in range(n):
                y = ops.sin(y) @ x if k % 7 == 0 else ops.cos(y) + x * y.sum()
            return y

        return traced(f, np.eye(2))

    calls = []
    for n in (100, 1000):
        graph = chain(n)
        profile = cProfile.Profile()
        fused = profile.runcall(fusion, graph)
        calls.append(sum(entry.callcount for entry in profile.getstats()))
        assert problem(fused, graph) is None
    assert calls[1] < 20 * calls[0]
