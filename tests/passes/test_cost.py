"""The schedule: levels, work from shapes, the critical path, its text."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.passes.cost import Work, schedule, total, work


def traced(fn, *xs):
    return ad.graph.trace_function(fn, list(xs))


def test_levels_are_independent():
    graph = traced(lambda x, y: ops.sin(x) * ops.cos(y) + ops.exp(x @ y), np.ones((4, 4)), np.ones((4, 4)))
    found = schedule(graph)
    level = {n: k for k, nodes in enumerate(found.levels) for n in nodes}
    assert sorted(map(len, found.levels)) == [1, 2, 3]
    assert all(level[i] < level[n] for n in level for i in n.inputs if i in level)
    assert set(level) == set(graph.calls)


def test_the_critical_path_is_the_costliest_way():
    big, small = np.ones((50, 50)), np.ones(3)
    found = schedule(traced(lambda a, v: (a @ a).sum() + ops.sin(ops.sin(v)).sum(), big, small))
    assert [type(n.op).__name__ for n in found.critical] == ["MatMul", "Sum", "Add"]
    assert found.longest <= found.cost and 1.0 <= found.parallelism < 1.1


WORK = {
    "matrix product": (lambda a, b: a @ b, [(10, 20), (20, 30)], 2 * 10 * 20 * 30),
    "einsum": (lambda a, b: ops.einsum("ij,jk->ik", a, b), [(10, 20), (20, 30)], 2 * 10 * 20 * 30),
    "sum": (lambda a: a.sum(0), [(10, 20)], 200),
    "add": (lambda a, b: a + b, [(10, 20), (20,)], 200),
    "view": (lambda a: a.T, [(10, 20)], 0),
    "nothing": (lambda a: a.T + 0.0, [(0, 20)], 0),
}  # fmt: skip


@pytest.mark.parametrize("name", WORK)
def test_work(name):
    fn, shapes, flops = WORK[name]
    assert total(traced(fn, *map(np.ones, shapes))).flops == flops


def test_bytes():
    node = traced(lambda a, b: a + b, np.ones((10, 20), "float32"), np.ones(20, "float32")).outputs[0]
    assert work(node) == Work(200, 4 * (200 + 200 + 20))


def test_loops_and_branches():
    def loop(x):
        for _ in range(100):
            x = ops.sin(x)
        return x

    def branch(x):
        return ops.sin(ops.sin(x)) if x > 0 else x

    one = work(traced(lambda x: ops.sin(x), 1.0).outputs[0])
    assert total(traced(loop, 1.0)).flops >= 100 * one.flops
    assert total(traced(branch, 1.0)).flops >= 2 * one.flops


def test_text():
    text = str(schedule(traced(lambda x: ops.sin(x) + 1.0, 2.0)))
    assert text.splitlines()[0].split() == ["level", "step", "op", "result", "flops", "bytes"]
    assert text.splitlines()[1].split()[:3] == ["0", "%1", "Sin"]
    assert "2 steps in 2 levels" in text.splitlines()[-1]


def test_a_graph_without_steps():
    found = schedule(traced(lambda x: x, 2.0))
    assert found.levels == () and found.parallelism == 1.0 and "0 steps" in str(found)


def test_every_program_has_one(programs):
    for _, graph, *_ in programs:
        found = schedule(graph)
        assert sum(map(len, found.levels)) == len(graph.calls)
        assert found.longest <= found.cost
