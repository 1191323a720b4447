"""How often nodes are used, inside control flow too."""

from __future__ import annotations

from collections import Counter

from adjoint.graph.control import Control
from adjoint.graph.node import Graph, Node
from adjoint.graph.walk import uses


def all_uses(graph: Graph) -> Counter[Node]:
    """The uses of each node, in the graphs of control flow too."""
    counts: Counter[Node] = Counter()
    seen, pending = {graph}, [graph]
    while pending:
        current = pending.pop()
        counts.update(uses(current))
        for node in current.nodes:
            if isinstance(node.op, Control):
                fresh = [g for g in node.op.graphs().values() if g not in seen]
                seen.update(fresh)
                pending += fresh
    return counts
