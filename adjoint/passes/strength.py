"""Puts cheaper forms in the place of costly steps: see `ops.laws`, and `ops.strength_laws` for the rows."""

from __future__ import annotations

from adjoint.graph.node import Graph
from adjoint.ops import strength_laws as _rows  # noqa: F401  (enters them)
from adjoint.ops.laws import STRENGTH
from adjoint.passes.algebra import settled


def strength(graph: Graph) -> Graph:
    """Put cheaper steps in the place of costly ones.

    >>> import adjoint as ad
    >>> graph = ad.graph.trace_function(lambda x: x**3 / 4.0, [2.0])
    >>> [type(n.op).__name__ for n in strength(graph).calls]
    ['Mul', 'Mul', 'Mul']
    """
    return settled(graph, STRENGTH)
