"""Loop-invariant motion: what leaves a loop, what stays and why, results for any number of rounds."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends import interpreter
from adjoint.core.spec import Spec
from adjoint.graph.control import Loop
from adjoint.graph.flow import while_loop
from adjoint.graph.trace import trace
from adjoint.passes.hoist import hoist
from adjoint.passes.pipeline import optimise


def both(fn, *xs):
    graph = ad.graph.trace_function(fn, list(xs))
    return graph, optimise(graph, passes=[("hoist", hoist)])[0]


def names(graph):
    return [type(n.op).__name__ for n in graph.calls]


def loops(graph):
    return [n.op for n in graph.calls if isinstance(n.op, Loop)]


def run(graph, *xs):
    return interpreter.compile(graph)(*xs)


def test_invariants_leave_the_body():
    def f(x, w):
        for _ in range(20):
            x = ops.tanh(x @ (w + w.T) * 0.1)
        return x

    xs = np.ones(3), np.arange(9.0).reshape(3, 3)
    graph, better = both(f, *xs)
    assert names(better) == ["Transpose", "Add", "Loop"]
    assert "Transpose" not in names(loops(better)[0].body)
    np.testing.assert_array_equal(run(better, *xs)[0], run(graph, *xs)[0])
    assert hoist(better) is better


def test_the_test_of_a_loop_too():
    def f(x, y):
        while x < ops.exp(y) + 1.0:
            x = x * ops.cosh(y)
        return x

    graph, better = both(f, 1.0, 2.0)
    assert sorted(names(better)) == ["Add", "Cosh", "Exp", "Loop"]
    assert names(loops(better)[0].test) == ["Less"]
    for x in (1.0, 100.0):  # and no round at all
        np.testing.assert_array_equal(run(better, x, 2.0), run(graph, x, 2.0))


def test_nested_loops_are_climbed_out_of():
    def f(x, y):
        for _ in range(20):
            for _ in range(30):
                x = x + ops.sin(y) * 0.01
            x = x * 0.5
        return x

    graph, better = both(f, 1.0, 2.0)
    assert names(better) == ["Sin", "Mul", "Loop"]
    np.testing.assert_array_equal(run(better, 1.0, 2.0), run(graph, 1.0, 2.0))


def test_a_carry_that_never_changes_is_a_constant():
    def f(x, y):
        return while_loop(lambda x, y: x < 5.0, lambda x, y: [x + ops.exp(y), y], [x, y])

    graph, _ = trace(f, [Spec(()), Spec(())])
    better = hoist(graph)
    assert names(better) == ["Exp", "Loop"]
    np.testing.assert_array_equal(run(better, 1.0, 0.5), run(graph, 1.0, 0.5))


def test_a_branch_leaves_as_a_whole():
    def f(x, y):
        for _ in range(20):
            z = ops.sin(y) if y > 0 else y
            x = x + z
        return x

    graph, better = both(f, 1.0, 2.0)
    assert "Cond" in names(better)
    for y in (2.0, -2.0):
        np.testing.assert_array_equal(run(better, 1.0, y), run(graph, 1.0, y))


STAYS = {
    "may fail": lambda x, w: x @ ops.inverse(w) * 0.1,
    "may fail by an index": lambda x, w: x + w[ops.argmax(w[0])],
    "depends on the state": lambda x, w: ops.cos(x),
    "a view of an input": lambda x, w: x + w.T[0],
    "large for nothing": lambda x, w: x + (ops.broadcast_to(x[0], (300, 300)) + ops.broadcast_to(w[0, 0], (300, 300)) * 0.1)[0, 0],
    "some leave, some stay": lambda x, w: x @ ops.inverse(ops.sin(w)) * 0.1,
}  # fmt: skip


@pytest.mark.parametrize("name", STAYS)
def test_what_stays(name):
    def f(x, w):  # w is carried: a value from outside would be computed with outside at once
        return while_loop(lambda x, w: True, lambda x, w: [STAYS[name](x, w), w], [x, w], length=20)

    xs = np.ones(3), np.arange(9.0).reshape(3, 3) + np.eye(3)
    graph, _ = trace(f, [Spec(x.shape) for x in xs])
    better = hoist(graph)
    assert ("Sin" in names(better)) == (name == "some leave, some stay")
    if name != "some leave, some stay":
        assert loops(better)[0].body.outputs == loops(graph)[0].body.outputs
    for a, b in zip(run(better, *xs), run(graph, *xs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_a_loop_that_may_not_end_stays_inside():
    def inner(y):
        return while_loop(lambda z: z != 0.0, lambda z: [z - 1.0], [y])[0]

    def f(x, y):
        return while_loop(lambda x, y: x < 3.0, lambda x, y: [x + 1.0 + inner(y), y], [x, y])

    graph, _ = trace(f, [Spec(()), Spec(())])
    better = hoist(graph)
    assert run(better, 5.0, 0.5)[0] == 5.0  # the inner loop would run for ever


def test_derivatives_of_hoisted_loops():
    def f(x, y):
        for _ in range(12):
            x = ops.sin(x) * ops.exp(y)
        return x

    graph, better = both(f, 0.3, 0.1)
    grads = [ad.graph.generate_grad_graph(g) for g in (graph, better)]
    np.testing.assert_allclose(run(grads[1], 0.3, 0.1), run(grads[0], 0.3, 0.1), rtol=1e-14)
    tidy = hoist(grads[0])
    np.testing.assert_allclose(run(tidy, 0.3, 0.1), run(grads[0], 0.3, 0.1), rtol=1e-14)


def test_special_values():
    def f(x, y):
        for _ in range(20):
            x = x + ops.exp(y) * ops.log(y)
        return x

    graph, better = both(f, 1.0, 2.0)
    for y in (np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-320):
        np.testing.assert_array_equal(run(better, 1.0, y), run(graph, 1.0, y))


def test_random_programs(unchanged):
    assert unchanged(hoist, rtol=0.0) > 2
