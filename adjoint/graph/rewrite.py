"""Build a graph anew, node by node: equal nodes become one, unused ones are left behind, unchanged ones stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.graph.nested import Control
from adjoint.graph.node import Builder, Graph, Node

#: `rule(builder, node, new inputs)` gives the node to put in place of a node, or None to keep it.
Rule = Callable[[Builder, Node, tuple[Node, ...]], "Node | None"]


def rebuild(graph: Graph, rule: Rule | None = None, done: dict[Graph, Graph] | None = None) -> Graph:
    """The graph with the rule applied to each node, and to the graphs that control flow holds; itself if nothing changes."""
    done = {} if done is None else done
    if graph in done:
        return done[graph]
    builder = Builder()
    found: dict[Node, Node] = {p: p for p in graph.params}
    for node in graph.nodes:
        if node in found:
            continue
        inputs = tuple([found[i] for i in node.inputs])
        new = None if rule is None else rule(builder, node, inputs)
        if new is None:
            op: Any = node.op
            if isinstance(op, Control):
                op = op.mapped(lambda inner: rebuild(inner, rule, done))
            new = builder.keep(node, op, inputs)
        found[node] = new
    done[graph] = better = changed(graph, found)
    return better


def changed(graph: Graph, found: dict[Node, Node]) -> Graph:
    """The graph with other nodes in place of its own; itself if they are the same."""
    outputs, effects = (tuple([found[n] for n in nodes]) for nodes in (graph.outputs, graph.effects))
    if outputs == graph.outputs and effects == graph.effects:
        return graph
    return Graph(graph.params, outputs, graph.name, effects)
