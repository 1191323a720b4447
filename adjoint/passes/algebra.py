"""Applies the laws of algebra: see `ops.laws`, and `ops.algebra_laws` for the rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from adjoint.core.errors import DtypeError
from adjoint.graph.node import Builder, Graph, Node
from adjoint.graph.rewrite import Make, rebuild
from adjoint.ops import algebra_laws as _rows  # noqa: F401  (enters them)
from adjoint.ops.card import Op
from adjoint.ops.laws import ALGEBRA, Law, Laws


def algebra(graph: Graph) -> Graph:
    """Apply the laws, each where it fits and gives the same shape and dtype, until nothing changes."""
    return settled(graph, ALGEBRA)


def accepted(builder: Builder, node: Node, law: Callable[[Make], Node | None]) -> Node | None:
    """What a law makes of a node, if it has the same shape and dtype.

    It is tried apart: a node made in vain must not take the place of an equal one that the graph has.
    """
    try:
        better = law(Make(Builder()))
    except DtypeError:  # -1 * x is defined for booleans, -x is not
        return None
    fits = better is not None and better.spec == node.spec and not better.spec.weak
    return law(Make(builder)) if fits else None


def _applied(law: Law, op: Op, inputs: tuple[Node, ...], b: Make) -> Node | None:
    return law(b, op, *inputs)


def _mixed(inputs: tuple[Node, ...]) -> bool:
    """Whether integers of different sizes meet: they wrap at different places, which no law minds."""
    found = {n.dtype for n in inputs if not isinstance(n.spec, tuple) and not n.spec.weak}
    return len(found) > 1 and any(d.kind in "iu" for d in found)


def settled(graph: Graph, laws: Laws) -> Graph:
    """The graph after the laws have been applied until nothing changes."""

    def simpler(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
        found = laws.of(node.op.__class__)
        for law in found if not _mixed(inputs) else ():
            better = accepted(builder, node, partial(_applied, law, node.op, inputs))
            if better is not None:
                return better
        return None

    while (better := rebuild(graph, simpler)) is not graph:
        graph = better
    return graph
