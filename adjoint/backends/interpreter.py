"""The reference backend: one op after another on NumPy arrays, as a list of steps prepared once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core.dispatch import evaluate
from adjoint.core.verbs import verbs
from adjoint.graph.node import Const, Graph, Param, Pick


def compile(graph: Graph) -> Callable[..., list[Any]]:
    """A function from arrays to the arrays of the results. A value is let go of after its last use."""
    slots = {node: i for i, node in enumerate(graph.nodes)}
    template: list[Any] = [None] * len(slots)
    last: dict[int, int] = {}
    steps: list[tuple[Any, tuple[int, ...], int]] = []
    for node in graph.nodes:
        if isinstance(node.op, Const):
            template[slots[node]] = node.op.value
        elif not isinstance(node.op, Param):
            steps.append((node.op, tuple(slots[i] for i in node.inputs), slots[node]))
            last.update((slots[i], len(steps) - 1) for i in node.inputs)
    outputs = [slots[n] for n in graph.outputs]
    kept = {*outputs, *(slots[n] for n in graph.nodes if isinstance(n.op, Const))}
    plan = [
        (op, reads, write, tuple({i for i in reads if last[i] == k and i not in kept}))
        for k, (op, reads, write) in enumerate(steps)
    ]
    inputs = [slots[p] for p in graph.params]

    def run(*arrays: Any) -> list[Any]:
        values = list(template)
        for slot, array in zip(inputs, arrays, strict=True):
            values[slot] = array
        with np.errstate(all="ignore"):
            for op, reads, write, done in plan:
                xs = [values[i] for i in reads]
                values[write] = xs[0][op.index] if type(op) is Pick else evaluate(op, xs)
                for i in done:
                    values[i] = None
        return [values[i] for i in outputs]

    return run


def steps(graph: Graph) -> Callable[..., list[Any]]:
    """The prepared steps of a graph inside control flow, made once."""
    run = graph.__dict__.get("_steps")
    if run is None:
        run = graph.__dict__["_steps"] = compile(graph)
    return run


verbs.steps = steps
