"""The reference backend: one op after another on NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.backends.memory_report import MemoryReport, combined, interpreted
from adjoint.graph.node import Graph
from adjoint.graph.steps import Steps


def compile(graph: Graph) -> Steps:
    """A function from arrays to the arrays of the results."""
    return Steps(graph)


def memory(graph: Graph, _donated: Sequence[int] = ()) -> MemoryReport:
    """An estimate of what a call will take of memory."""
    return combined("interpreter", graph, [interpreted(graph)])
