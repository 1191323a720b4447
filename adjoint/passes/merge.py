"""Loops that do the same become one: the loop of a value and the loop that keeps its states for the backward pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adjoint.graph.control import Control, Loop
from adjoint.graph.node import Builder, Graph, Node, Pick
from adjoint.graph.rewrite import changed


def merge(graph: Graph) -> Graph:
    """Of loops with the same inputs, the same iterations and the same state, make one that stacks all their results."""
    groups: dict[Any, list[Node]] = {}
    for node in graph.nodes:
        if isinstance(node.op, Loop):
            groups.setdefault(_does(node), []).append(node)
    groups = {key: nodes for key, nodes in groups.items() if len(nodes) > 1}
    builder = Builder()
    found: dict[Node, Node] = {p: p for p in graph.params}
    made: dict[Any, tuple[Node, dict[Node, int]]] = {}
    for node in graph.nodes:
        if node in found:
            continue
        if isinstance(node.op, Loop) and (key := _does(node)) in groups:
            if key not in made:
                loop, places = _together([n.op for n in groups[key]])
                made[key] = builder.keep(node, loop.mapped(merge), tuple([found[i] for i in node.inputs])), places
            found[node] = made[key][0]
        elif isinstance(node.op, Pick) and isinstance(node.inputs[0].op, Loop) and _does(node.inputs[0]) in groups:
            old, (call, places) = node.inputs[0].op, made[_does(node.inputs[0])]
            k = node.op.index
            found[node] = builder.pick(call, k if k < old.carried else places[old.body.outputs[k]])
        else:
            op = node.op.mapped(merge) if isinstance(node.op, Control) else node.op
            found[node] = builder.keep(node, op, tuple([found[i] for i in node.inputs]))
    return changed(graph, found)


def _does(node: Node) -> Any:
    """What two loops must have in common: inputs, the body's inputs, the state, and when to stop."""
    loop = node.op
    return (
        node.inputs, loop.body.params, loop.body.outputs[: loop.carried],
        loop.stacked, loop.test, loop.length, loop.backwards, loop.guarded,
    )  # fmt: skip


def _together(loops: list[Loop]) -> tuple[Loop, dict[Node, int]]:
    """One loop for several, and the place of each stacked result."""
    first = loops[0]
    a = first.carried
    stacked = dict.fromkeys(n for loop in loops for n in loop.body.outputs[a:])
    places = {n: a + k for k, n in enumerate(stacked)}
    effects = max((loop.body.effects for loop in loops), key=len)
    body = replace(first.body, outputs=(*first.body.outputs[:a], *stacked), effects=effects)
    return first.with_body(body), places
