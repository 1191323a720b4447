"""Loops that do the same become one."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core.spec import Spec
from adjoint.graph.control import Control, Loop
from adjoint.graph.node import Builder, Graph
from adjoint.graph.trace import trace
from adjoint.graph.verify import problem
from adjoint.graph.walk import replay
from adjoint.passes import optimise
from adjoint.passes.merge import merge


def loops(graph):
    """All loops of a graph, with those inside."""
    found = []
    for node in graph.calls:
        if isinstance(node.op, Loop):
            found.append(node)
        if isinstance(node.op, Control):
            for inner in node.op.graphs().values():
                found += loops(inner)
    return found


def two_loops(second, backwards=False):
    """A loop that stacks sines, and a second one on the same inputs, of the same state, that stacks something else."""
    b = Builder()
    carry, xs = b.param(Spec(())), b.param(Spec((4,)))
    inner = Builder()
    c, x = inner.param(Spec(())), inner.param(Spec(()))
    kept = {fn: trace_on(inner, (c, x), fn) for fn in (lambda c, x: c * x, lambda c, x: ops.sin(x), second)}
    state, sine, other = kept.values()
    bodies = [Graph((c, x), (state, sine)), Graph((c, x), (state, other))]
    first, again = Loop(bodies[0], 1, 1), Loop(bodies[1], 1, 1, backwards=backwards)
    calls = [b.build(first, [carry, xs]), b.build(again, [carry, xs])]
    return Graph((carry, xs), tuple(b.pick(call, k) for call in calls for k in (0, 1)))


def trace_on(builder, params, fn):
    """The node of a small function, on nodes of another builder."""
    graph, _ = trace(lambda *xs: [fn(*xs)], [p.spec for p in params])
    found = dict(zip(graph.params, params, strict=True))
    for node in graph.nodes:
        if node not in found:
            found[node] = builder.keep(node, node.op, tuple(found[i] for i in node.inputs))
    return found[graph.outputs[0]]


def same(graph, better):
    assert problem(better, graph) is None
    inputs = [np.float64(1.5), np.array([0.5, 2.0, -1.0, 3.0])]
    for a, b in zip(replay(better, inputs), replay(graph, inputs), strict=True):
        np.testing.assert_array_equal(a, b)


def test_two_loops_of_the_same_state_become_one():
    graph = two_loops(lambda c, x: ops.exp(c))
    better = merge(graph)
    same(graph, better)
    assert (len(loops(graph)), len(loops(better))) == (2, 1)
    assert len(loops(better)[0].op.body.outputs) == 3


def test_equal_results_are_stacked_once():
    graph = two_loops(lambda c, x: ops.sin(x))
    better = merge(graph)
    same(graph, better)
    assert len(loops(better)[0].op.body.outputs) == 2


def test_loops_of_another_direction_stay_two():
    graph = two_loops(lambda c, x: ops.exp(c), backwards=True)
    better = merge(graph)
    same(graph, better)
    assert len(loops(better)) == 2


def test_a_graph_without_such_loops_stays_itself():
    graph, _ = trace(lambda x: [ops.sin(x) + x], [Spec((3,))])
    assert merge(graph) is graph


def power(x):
    y = x
    while y < 100.0:
        y = y * x
    return y


@pytest.mark.parametrize("transform", [ad.value_and_grad, ad.grad, lambda f: ad.grad(ad.grad(f))])
def test_value_and_way_back_share_a_loop(transform):
    """The loop of the value is also the one that keeps the states for its derivative."""
    on, off = ad.jit(transform(power)), ad.jit(transform(power), passes_off="merge")
    assert len(loops(on.graph(3.0))) < len(loops(off.graph(3.0))) or transform is ad.grad
    np.testing.assert_allclose(np.asarray(on(3.0)), np.asarray(off(3.0)), rtol=1e-14)
    assert len(loops(ad.jit(ad.value_and_grad(power)).graph(3.0))) == 2  # forth and back


def test_nested_loops_are_merged_inside():
    def f(x):
        total = x * 0.0
        for _ in range(20):
            total = total + power(x + total * 0.01)
        return total

    g = ad.jit(ad.value_and_grad(f))
    for a, b in zip(g(3.0), ad.value_and_grad(f)(3.0), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-12)
    without = ad.jit(ad.value_and_grad(f), passes_off=["merge"])
    assert len(loops(g.graph(3.0))) < len(loops(without.graph(3.0)))


def test_effects_of_merged_loops_happen_once(capsys):
    def f(x):
        y = x
        while y < 100.0:
            print("round")
            y = y * x
        return y

    value, slope = ad.jit(ad.value_and_grad(f))(3.0)
    assert (float(value), float(slope)) == (243.0, 405.0)
    assert capsys.readouterr().out == "round\n" * 4


def test_the_pass_reports_what_it_did():
    graph = two_loops(lambda c, x: ops.exp(c))
    better, reports = optimise(graph, passes=[("merge", merge)])
    (report,) = reports
    assert (report.before, report.after) == (6, 4) and "merge" in str(report)
    assert report.shown().startswith("before merge:\ngraph (") and "after merge:" in report.shown()
