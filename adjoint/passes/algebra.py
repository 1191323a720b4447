"""Applies the laws of algebra: see `ops.laws`, and `ops.algebra_laws` for the rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from adjoint.core.errors import DtypeError
from adjoint.graph.node import Builder, Graph, Node, Pick, inferred
from adjoint.graph.rewrite import rebuild
from adjoint.ops import algebra_laws as _rows  # noqa: F401  (enters them)
from adjoint.ops.card import Op
from adjoint.ops.laws import ALGEBRA, Law, Laws
from adjoint.ops.stacking import Stack, Unstack


class Make:
    """Builds nodes for a law: `b(op, *inputs)` and `b.const(value)`."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder

    def __call__(self, op: Op, *inputs: Node) -> Node:
        return self._builder.build(op, inputs)

    def const(self, value: Any) -> Node:
        return self._builder.const(value)

    def spec(self, op: Op, *inputs: Node) -> Any:
        return inferred(op, tuple([x.spec for x in inputs]))


def _taken_apart(b: Make, op: Any, *xs: Node) -> Node | None:
    """What was taken apart and is put together again as it was."""
    whole = xs[0].inputs[0] if isinstance(xs[0].op, Pick) else None
    if whole is None or not isinstance(whole.op, Unstack) or whole.op.axis != op.axis or len(xs) != len(whole.spec):
        return None
    return whole.inputs[0] if all(x.inputs == (whole,) and x.op == Pick(k) for k, x in enumerate(xs)) else None


ALGEBRA.add("stack of the parts of an array", Stack, _taken_apart)


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
