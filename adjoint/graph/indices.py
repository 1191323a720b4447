"""The indices of a graph that can be checked before it runs, so that nothing fails when some inputs are overwritten already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.rules import kept
from adjoint.graph.inplace import InPlace
from adjoint.graph.nested import Control
from adjoint.graph.node import Graph, Node
from adjoint.graph.steps import steps


@dataclass(frozen=True)
class Indices:
    """The indices of a graph as a graph of their own, and the sizes of the axes that they run along."""

    graph: Graph
    sizes: tuple[int, ...]

    def in_range(self, inputs: Sequence[Any]) -> bool:
        """Whether all of them are, for these inputs; False too where other processes hold a part of one."""
        if not self.sizes:
            return True
        if not all(getattr(x, "is_fully_addressable", True) for x in inputs):
            return False
        found = steps(self.graph)(*inputs)
        return all(
            not np.size(i) or (np.min(i) >= -n and np.max(i) < n) for i, n in zip(found, self.sizes, strict=True)
        )


@kept
def indices(graph: Graph) -> Indices | None:
    """The indices of a graph; None if one of them depends on more than integers, or stands inside control flow."""
    found: dict[tuple[Node, int], None] = {}
    integers: set[Node] = set()
    for node in graph.nodes:
        op: Any = node.op.op if isinstance(node.op, InPlace) else node.op
        if isinstance(op, Control) and any(_has_indices(inner) for inner in op.graphs().values()):
            return None
        if not isinstance(node.spec, tuple) and node.spec.dtype.kind in "iub" and integers.issuperset(node.inputs):
            integers.add(node)
        if op.indexing:
            places = node.inputs[op.first_index :]
            if not integers.issuperset(places):
                return None
            found |= dict.fromkeys(zip(places, node.inputs[0].shape, strict=False))
    return Indices(Graph(graph.params, tuple([node for node, _ in found])), tuple([n for _, n in found]))


def _has_indices(graph: Graph) -> bool:
    """Whether elements are read or written at numbers known only when the graph runs."""
    ops = [n.op.op if isinstance(n.op, InPlace) else n.op for n in graph.nodes]
    inner = [g for op in ops if isinstance(op, Control) for g in op.graphs().values()]
    return any(op.indexing for op in ops) or any(map(_has_indices, inner))
