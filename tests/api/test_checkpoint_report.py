"""Plans of checkpoint policies: what they say, and what they keep."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.graph.node import Param
from adjoint.passes.checkpoint_choice import PlannedPart
from adjoint.passes.forward_items import forward_items, read_by_backward
from adjoint.passes.segments import Segments

W = [np.cos(np.arange(120.0 * 120) + k).astype(np.float32).reshape(120, 120) / 30 for k in range(16)]
X = np.ones((600, 120), np.float32)


def loss(weights, x):
    for w in weights:
        x = ops.relu(x @ w)
    return ops.mean(x * x)


@pytest.mark.parametrize("strategy", ["sqrt", "balanced", "binomial"])
def test_a_plan_says_what_the_compiled_gradient_takes(strategy):
    report = ad.GradientCheckpoint(strategy).plan(loss, W, X)
    compiled = ad.jit(ad.value_and_grad(loss, checkpoint=strategy))
    assert report.planned.peak_bytes == compiled.memory(W, X).peak_bytes < report.plain.peak_bytes
    (plan,) = report.plans
    assert sorted(k for part in plan.parts for k in part.items) == list(range(len(plan.forward.steps)))
    assert 0.1 < report.recomputed < 2.5
    text = str(report)
    assert text.startswith(f"{strategy}: ") and "computed again" in text and "test_checkpoint_report.py" in text


def test_a_plan_can_be_drawn(tmp_path):
    report = ad.GradientCheckpoint("sqrt").plan(loss, W, X, grad_position=(0, 1))
    report.draw(tmp_path / "plan.png")
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")


def test_weights_and_what_cannot_be_planned():
    w = ad.Parameter(ad.Tensor(W[0]), name="w")
    report = ad.GradientCheckpoint("sqrt").plan(lambda x: loss([w] * 16, x), X, grad_position=None, weights=[w])
    assert report.planned.arena_bytes < report.plain.arena_bytes
    with pytest.raises(ad.ArgumentTypeError, match="function"):
        ad.GradientCheckpoint("sqrt").plan(3.0, X)


def test_the_selection_of_checkpoints_is_what_is_kept():
    graph = ad.graph.trace_function(loss, [W, X])
    kept = ad.GradientCheckpoint("sqrt").checkpoint_selection(graph)
    assert {type(n.op).__name__ for n in kept} <= {"Relu", "Mul", "Mean"}
    assert 6 <= sum(type(n.op).__name__ == "Relu" for n in kept) <= 8  # of 16: the ends of 3 parts, and the last 4
    assert set(kept) <= set(graph.nodes) and not any(isinstance(n.op, Param) for n in kept)


def test_what_the_backward_pass_reads():
    graph = ad.graph.trace_function(lambda w, x: ops.sum(ops.relu(x @ w) + ops.exp(x)), [W[0], X])
    needed, cost = read_by_backward(graph, [0])
    assert sorted(type(n.op).__name__ for n in needed) == ["Param", "Relu"] and cost > 0
    needed, _ = read_by_backward(graph, [0, 1])
    assert sorted(type(n.op).__name__ for n in needed) == ["Exp", "Param", "Param", "Relu"]


def test_a_large_graph_is_planned_quickly_enough_to_be_cut_everywhere():
    def deep(factors, x):
        for v in factors:
            x = ops.sin(x * v) + ops.cos(x)
        return ops.sum(x)

    graph = ad.graph.trace_function(deep, [[X[0]] * 500, X[:2]])
    forward = forward_items(graph, [500])
    assert len(forward.items) > 1900 and len(forward.family) <= 80
    plan = ad.GradientCheckpoint("balanced")
    kept = plan.checkpoint_selection(graph)
    assert len(kept) < 0.3 * sum(item.needed > 0 for item in forward.items)


def test_one_part_is_the_graph_itself():
    graph = ad.graph.trace_function(loss, [W, X])
    forward = forward_items(graph, list(range(16)))
    same = Segments(forward).graph_of([PlannedPart(tuple(range(len(forward.items))))])
    assert str(same) == str(graph)
