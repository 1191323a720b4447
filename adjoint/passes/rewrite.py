"""Build a graph anew, node by node: equal nodes become one and unused ones are left behind on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.core.spec import Spec
from adjoint.graph.node import Graph, Node
from adjoint.graph.trace import trace
from adjoint.graph.walk import apply

Rule = Callable[[Node, Sequence[Any]], Any]


def rebuild(graph: Graph, rule: Rule | None = None) -> Graph:
    """The graph with `rule(node, new inputs)` in place of each node; None from the rule keeps the node."""

    def again(*xs: Any) -> list[Any]:
        found: dict[Node, Any] = dict(zip(graph.params, xs, strict=True))
        for node in graph.nodes:
            if node in found:
                continue
            inputs = [found[i] for i in node.inputs]
            new = rule(node, inputs) if rule is not None else None
            found[node] = apply(node, inputs) if new is None else new
        return [found[n] for n in graph.outputs]

    return trace(again, [_same(p.spec) for p in graph.params], graph.name)[0]


def _same(spec: Spec) -> Spec:
    return Spec(spec.shape, spec.dtype, spec.weak)
