"""The reference backend: one op after another on NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.backends import fitting
from adjoint.backends.memory_report import MemoryReport, bytes_of, combined, every_node, interpreted
from adjoint.graph.node import Const, Graph, Param
from adjoint.graph.steps import Steps


def compile(graph: Graph) -> Steps:
    """A function from arrays to the arrays of the results."""
    computed = sum(bytes_of(n.spec) for n in every_node(graph) if not isinstance(n.op, (Param, Const)))
    if computed > fitting.CHECKED_BYTES:
        report = memory(graph)
        fitting.check_that_it_fits(report.peak_bytes, lambda: report)
    return Steps(graph)


def memory(graph: Graph, _donated: Sequence[int] = ()) -> MemoryReport:
    """An estimate of what a call will take of memory."""
    return combined("interpreter", graph, [interpreted(graph)])
