"""Nodes know the user's line that made them: through derivatives, control flow, passes and batching."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.graph.control import Cond, Loop
from adjoint.graph.nested import Control
from adjoint.graph.node import Const, Graph, Param


def net(ws: Any, x: Any) -> Any:
    for w in ws:
        x = ops.tanh(x @ w)  # layer
    return ops.sum(x * x)  # loss


def looped(x: Any, n: Any) -> Any:
    k = 0.0
    while k < n:  # loop
        x = ops.sin(x) * 1.01  # body
        k = k + 1.0
    return ops.sum(x)  # loss


def branching(x: Any) -> Any:
    y = ops.exp(x)
    if ops.sum(x) > 0:  # branch
        y = y * x
    return ops.sum(y)


def line(fn: Any, mark: str) -> int:
    lines, first = inspect.getsourcelines(fn)
    (found,) = [first + k for k, text in enumerate(lines) if text.rstrip().endswith(f"# {mark}")]
    return found


def every(graph: Graph) -> Any:
    for node in graph.nodes:
        yield node
        if isinstance(node.op, Control):
            for inner in node.op.graphs().values():
                yield from every(inner)


WS = [np.ones((4, 4))] * 3
CALLS = [
    (net, lambda f: ad.grad(f), (WS, np.ones((2, 4)))),
    (net, lambda f: ad.value_and_grad(f), (WS, np.ones((2, 4)))),
    (net, lambda f: ad.vmap(ad.grad(f), (None, 0)), (WS, np.ones((5, 2, 4)))),
    (looped, lambda f: ad.grad(f), (np.ones(4), 3.0)),
    (branching, lambda f: ad.grad(f), (np.ones(4),)),
    (lambda x: ops.sum(ops.exp(x) * x), lambda f: ad.grad(lambda x: ops.sum(ad.grad(f)(x))), (np.ones(4),)),
]


@pytest.mark.parametrize("case", range(len(CALLS)))
def test_every_step_has_a_line_of_this_file(case: int) -> None:
    fn, transform, args = CALLS[case]
    lines, first = inspect.getsourcelines(fn)
    for node in every(ad.jit(transform(fn)).graph(*args)):
        if not isinstance(node.op, (Param, Const)):
            assert node.place is not None, node
            assert node.place[0] == __file__, node.place
            assert first <= node.place[1] < first + len(lines), (node, node.place)


def test_lines_of_products_and_loops() -> None:
    nodes = list(every(ad.jit(ad.grad(net)).graph(WS, np.ones((2, 4)))))
    products = {n.place[1] for n in nodes if type(n.op).__name__ in ("MatMul", "Tanh")}
    assert products == {line(net, "layer")}
    nodes = list(every(ad.jit(ad.grad(looped)).graph(np.ones(4), 3.0)))
    assert {n.place[1] for n in nodes if isinstance(n.op, Loop)} == {line(looped, "loop")}
    assert {n.place[1] for n in nodes if type(n.op).__name__ in ("Sin", "Cos")} == {line(looped, "body")}
    nodes = list(every(ad.jit(ad.grad(branching)).graph(np.ones(4))))
    assert {n.place[1] for n in nodes if isinstance(n.op, Cond)} <= {line(branching, "branch")}


def test_a_template_for_any_batch_size_keeps_lines() -> None:
    function = ad.jit(lambda x: ops.sum(ops.tanh(x) * x, 1), dynamic="x")
    function(np.ones((6, 3)))
    graph = function.graph(np.ones((9, 3)))
    assert all(n.place for n in graph.calls)
