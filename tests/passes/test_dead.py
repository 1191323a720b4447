"""Dead code: what goes, what stays, and that results are the same, inside branches and loops too."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core.spec import Spec, bool_, int64
from adjoint.graph.control import UNKNOWN, Cond, Loop
from adjoint.graph.flow import for_loop, while_loop
from adjoint.graph.node import Builder, Graph, Pick
from adjoint.graph.trace import trace
from adjoint.graph.verify import problem
from adjoint.graph.walk import replay
from adjoint.passes.dead import dead
from adjoint.passes.pipeline import size

X = np.array([0.5, -1.0, 2.0])


def pruned(fn, *inputs):
    """The graph of a function before and after, with the same results."""
    graph, _ = trace(lambda *xs: list(fn(*xs)), [Spec(np.shape(x), np.asarray(x).dtype) for x in inputs])
    better = dead(graph)
    assert problem(better, graph) is None
    for a, b in zip(replay(better, inputs), replay(graph, inputs), strict=True):
        np.testing.assert_array_equal(a, b)
    assert dead(better) is better or str(dead(better)) == str(better)
    return graph, better


def control(graph, kind):
    return [n for n in graph.nodes if isinstance(n.op, kind)]


def either(chosen, true, false, *xs):
    """A branch whose sides take these values as inputs."""
    sides = [trace(side, [Spec(np.shape(x), x.dtype) for x in xs])[0] for side in (true, false)]
    return Cond(*sides)(chosen, *xs)


def names(graph):
    return [type(n.op).__name__ for n in graph.calls]


def test_unused_results_of_a_branch_go():
    def f(x):
        first, _ = either(x[0] > 0, lambda x: [ops.sin(x), ops.exp(x)], lambda x: [x, ops.tanh(x)], x)
        return [first]

    _, better = pruned(f, X)
    (branch,) = control(better, Cond)
    assert [names(g) for g in (branch.op.true, branch.op.false)] == [["Sin"], []]


def test_inputs_that_no_branch_needs_go():
    def f(x, y):
        first, _ = either(x[0] > 0, lambda x, y: [ops.sin(x), y], lambda x, y: [x, y * 2.0], x, y)
        return [first]

    graph, better = pruned(f, X, X)
    assert len(control(graph, Cond)[0].inputs) == 3
    assert len(control(better, Cond)[0].inputs) == 2


def test_a_loop_whose_state_is_never_used_goes():
    def f(x):
        while_loop(lambda k: k < 3.0, lambda k: [k + 1.0], [x[0]])
        return [x * 2.0]

    graph, better = pruned(f, X)
    assert control(graph, Loop) == [] and names(better) == ["Mul"]  # it was no part of the graph in the first place

    def g(x):
        results = for_loop(4, lambda i, a, b: [a + x, b * a], [x, x])
        return [results[0]]

    graph, better = pruned(g, X)
    old, new = (control(q, Loop)[0].op for q in (graph, better))
    assert (old.carried, new.carried) == (3, 1)  # counter and product are gone
    assert names(new.body) == ["Add"]


def test_state_that_needed_state_needs_stays():
    def f(x):
        results = for_loop(4, lambda i, a, b, c: [a + b, b * 1.5, c + a], [x, x, x])
        return [results[0]]

    _, better = pruned(f, X)
    assert control(better, Loop)[0].op.carried == 2


def test_what_the_test_needs_stays():
    def f(x):
        k, y, _ = while_loop(lambda k, y, z: k < 3.0, lambda k, y, z: [k + 1.0, y * x, z + y], [x[0] * 0.0, x, x])
        return [y]

    _, better = pruned(f, X)
    (loop,) = control(better, Loop)
    assert loop.op.carried == 2
    assert loop.op.test is not None


def test_state_that_never_changes_is_a_constant():
    def f(x):
        same, y = for_loop(4, lambda i, same, y: [same, y * same], [x * 2.0, x])
        return [same, y]

    _, better = pruned(f, X)
    (loop,) = control(better, Loop)
    assert loop.op.carried == 1 and len(loop.inputs) == 2
    assert not isinstance(better.outputs[0].op, Pick)  # the value from before the loop


def test_a_weak_number_that_never_changes_keeps_the_dtype_of_the_state():
    """A Python number begins the state, float32 is what the state keeps."""
    f32 = np.dtype(np.float32)
    body, _ = trace(lambda s, y: [s, y + s], [Spec((), f32), Spec((), f32)])
    graph, _ = trace(lambda x: list(Loop(body, 2, 0, length=2)(0.5, x)), [Spec((), f32)])
    for g in (graph, dead(graph)):
        assert problem(g) is None
        assert [(np.asarray(y).dtype, float(y)) for y in replay(g, [f32.type(2)])] == [(f32, 0.5), (f32, 3.0)]


def test_constants_of_the_outside_are_constants_inside():
    def f(x):
        two = ops.full((3,), 2.0)
        return [for_loop(4, lambda i, y: [y * two], [x])[0]]

    _, better = pruned(f, X)
    (loop,) = control(better, Loop)
    assert len(loop.inputs) == 1


def stacked_loop(length, results, **options):
    """A loop over the slices of its input: sums them, and stacks their squares."""
    body, _ = trace(lambda c, x: [c + x, x * x, ops.sin(x)], [Spec(()), Spec(())])
    b = Builder()
    carry, xs = b.param(Spec(())), b.param(Spec((length,)))
    call = b.build(Loop(body, 1, 1, **options), [carry, xs])
    return Graph((carry, xs), tuple(b.pick(call, k) for k in results))


@pytest.mark.parametrize(("results", "outs"), [((0,), 1), ((1,), 1), ((2, 0), 2), ((0, 1, 2), 3)])
def test_stacked_results_nobody_reads_go(results, outs):
    graph = stacked_loop(5, results)
    better = dead(graph)
    assert problem(better, graph) is None
    assert len(control(better, Loop)[0].op.body.outputs) == outs
    inputs = [np.float64(1), np.arange(5.0)]
    for a, b in zip(replay(better, inputs), replay(graph, inputs), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("length", [5, UNKNOWN])
def test_the_number_of_rounds_outlives_the_slices_that_gave_it(length):
    body, _ = trace(lambda c, x: [c * 2.0], [Spec(()), Spec(())])
    b = Builder()
    carry, xs = b.param(Spec(())), b.param(Spec((length,)))
    graph = Graph((carry, xs), (b.pick(b.build(Loop(body, 1, 1), [carry, xs]), 0),))
    better = dead(graph)
    (loop,) = control(better, Loop)
    assert loop.op.stacked == (1 if length == UNKNOWN else 0)
    for n in (5,) if length == 5 else (0, 1, 7):
        assert replay(better, [np.float64(1), np.zeros(n)])[0] == 2.0**n


def test_guarded_loops_keep_their_guard():
    body, _ = trace(lambda c, going, x: [c + x, c], [Spec(()), Spec((), bool_), Spec(())])
    b = Builder()
    params = b.param(Spec(())), b.param(Spec((4,), bool_)), b.param(Spec((4,)))
    call = b.build(Loop(body, 1, 2, guarded=True), params)
    graph = Graph(params, (b.pick(call, 0),))
    better = dead(graph)
    assert control(better, Loop)[0].op.guarded and control(better, Loop)[0].op.stacked == 2
    inputs = [np.float64(0), np.array([True, False, True, False]), np.array([1.0, 2.0, 4.0, 8.0])]
    assert replay(better, inputs)[0] == 5.0


def test_loops_in_branches_in_loops():
    def f(x):
        def body(i, y, junk):
            def twice(y, junk):
                return [for_loop(3, lambda j, z, w: [z * y, w + z], [y, y])[0], junk]

            return either(y[0] > 0, twice, lambda y, junk: [y, junk * 2.0], y, junk)

        return [for_loop(4, body, [x, x])[0]]

    graph, better = pruned(f, X)
    (outer,) = control(better, Loop)
    (branch,) = control(outer.op.body, Cond)
    (inner,) = control(branch.op.true, Loop)
    assert (outer.op.carried, len(branch.op.true.outputs), inner.op.carried) == (1, 1, 1)
    assert size(better) < size(graph)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_batch_of_gradients_of_whiles():
    """Guarded loops over slices of unknown number, made by vmap(grad(while)), before and after the pass."""

    def f(x):
        y = x
        while y * y < 50:
            y = y * x + 1.0
        return y

    xs = np.array([1.5, 3.0, 10.0])
    alone = [float(ad.grad(f)(x)) for x in xs]
    for off in ((), ("dead",), ("cse", "merge", "dead")):
        np.testing.assert_allclose(ad.jit(ad.vmap(ad.grad(f)), passes_off=off)(xs), alone, rtol=1e-12)


def test_effects_are_kept(capsys):
    def f(x):
        for _ in range(20):
            print(f"{x:.1f}")
            x = x + 1.0
        return 2.0

    assert float(ad.jit(f)(1.0)) == 2.0
    assert capsys.readouterr().out.split() == [f"{1.0 + k:.1f}" for k in range(20)]


def test_integer_state():
    def f(n):
        return [for_loop(n, lambda i, k, junk: [k * 2, junk + i], [np.int64(1), np.int64(0)])[0]]

    _, better = pruned(f, np.int64(6))
    assert better.specs[0].dtype == int64
