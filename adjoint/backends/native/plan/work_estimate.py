"""Estimates of work: about how many elements a step or a graph reads and computes."""

from __future__ import annotations

from math import prod
from typing import Any

from adjoint.graph.control import Control, Loop
from adjoint.graph.node import Graph, Node


def graph_work(graph: Graph) -> int:
    """About how many elements a graph reads and computes."""
    return sum(map(node_work, graph.calls))


def node_work(node: Node) -> int:
    """About how many elements a step reads and computes."""
    op: Any = node.op
    if isinstance(op, Control) and op.graphs():
        inside = sum(map(graph_work, op.graphs().values()))
        iterations = op.iterations(op.parts(node.inputs)[1]) if isinstance(op, Loop) else 1
        return inside * max(iterations, 1)
    moved = sum(_elements(n) for n in (node, *node.inputs))
    return moved * max([*node.inputs[0].shape, 1]) if op.dense and node.inputs else moved


def _elements(node: Node) -> int:
    specs = node.spec if isinstance(node.spec, tuple) else (node.spec,)
    return sum(prod(max(n, 1) for n in s.shape) for s in specs)
