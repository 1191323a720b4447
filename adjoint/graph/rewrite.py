"""Build a graph anew, node by node: equal nodes become one, unused ones are left behind, unchanged ones stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.core import context
from adjoint.graph.nested import Control
from adjoint.graph.node import Builder, Graph, Node, inferred

#: `rule(builder, node, new inputs)` gives the node to put in place of a node, or None to keep it.
Rule = Callable[[Builder, Node, tuple[Node, ...]], "Node | None"]


class Make:
    """Builds nodes for laws and cards (an `ops.facts.Rewriter`): `b(op, *inputs)` and `b.const(value)`."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder

    def __call__(self, op: Any, *inputs: Node) -> Node:
        return self._builder.build(op, inputs)

    def const(self, value: Any) -> Node:
        return self._builder.const(value)

    def spec(self, op: Any, *inputs: Node) -> Any:
        return inferred(op, tuple([x.spec for x in inputs]))


def rebuild(graph: Graph, rule: Rule | None = None, done: dict[Graph, Graph] | None = None) -> Graph:
    """The graph with the rule applied to each node, and to the graphs that control flow holds; itself if nothing changes."""
    done = {} if done is None else done
    if graph in done:
        return done[graph]
    builder = Builder()
    found: dict[Node, Node] = {p: p for p in graph.params}
    with context.setting(context.place, None):
        for node in graph.nodes:
            if node in found:
                continue
            context.place.set(node.place)
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
