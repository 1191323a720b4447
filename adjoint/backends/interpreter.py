"""The reference backend: one op after another on NumPy arrays."""

from __future__ import annotations

from adjoint.graph.node import Graph
from adjoint.graph.steps import Steps


def compile(graph: Graph) -> Steps:
    """A function from arrays to the arrays of the results."""
    return Steps(graph)
