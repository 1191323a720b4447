"""Going through a graph: replay it on any values, and count the uses of its nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.core import context
from adjoint.core.dispatch import Value
from adjoint.graph.node import Const, Graph, Node, Param, Pick


def replay(graph: Graph, values: Sequence[Any]) -> list[Any]:
    """The results of a graph for these inputs: arrays are computed with, Tensors go to their transforms."""
    with context.setting(context.replaying, True):
        return interpret(graph, values)


def interpret(graph: Graph, values: Sequence[Any], step: Callable[[Node, list[Any]], Any] | None = None) -> list[Any]:
    """As `replay`, where none of the inputs is a Python number to the program around; `step` computes one node."""
    step = step or apply
    found: dict[Node, Any] = dict(zip(graph.params, values, strict=True))
    left = dict(uses(graph))
    with context.setting(context.place, context.place.get()):
        for node in graph.nodes:
            if node in found:
                continue
            if node.place is not None:
                context.place.set(node.place)
            found[node] = step(node, [found[n] for n in node.inputs])
            for n in node.inputs:
                left[n] -= 1
                if not left[n]:
                    del found[n]  # nothing needs it any more
    return [found[n] for n in graph.outputs]


def apply(node: Node, inputs: Sequence[Any]) -> Any:
    """One step of a replay."""
    if isinstance(node.op, Const):
        return node.op.value
    if isinstance(node.op, Pick):
        return inputs[0][node.op.index]
    assert not isinstance(node.op, Param), f"{node.op} is not an input of this graph"
    recorder = context.tracer.get() if node.op.effect else None
    if recorder is not None and not any(isinstance(x, Value) for x in inputs):
        return recorder.apply(node.op, tuple(inputs))
    return node.op(*inputs)


def uses(graph: Graph) -> dict[Node, int]:
    """How often each node is an input or a result; counted once for a graph."""
    counts = graph.__dict__.get("_uses")
    if counts is None:
        counts = dict.fromkeys(graph.nodes, 0)
        for node in graph.nodes:
            for n in node.inputs:
                counts[n] += 1
        for n in graph.outputs:
            counts[n] += 1
        graph.__dict__["_uses"] = counts
    return counts
