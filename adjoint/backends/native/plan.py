"""From a graph to units of work: scalars in registers, loop nests, and everything that is a kernel of its own.

A node is put into memory where something needs it there: a result, a kernel's input, a loop. All else is computed where it is
used. Nodes over the same space share a nest, so that a value and its gradient are one pass over memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

from adjoint.backends.native.code import is_known
from adjoint.backends.native.expr import Apply, Expr, Load, Scalar, Writer, is_point, is_view
from adjoint.graph.inplace import updates_last
from adjoint.graph.node import Const, Graph, Node, Param, Pick
from adjoint.ops import special, transcendental
from adjoint.ops.arithmetic import Pow
from adjoint.ops.movement import Reshape
from adjoint.ops.reduce import All, Max, Min, Sum
from adjoint.ops.reduce import Any as AnyOf

REDUCTIONS = {Sum: "sum", Max: "max", Min: "min", AnyOf: "any", All: "all"}
DEEPEST = 100  # ops in a row that one expression may hold
DEAR = (transcendental.__name__, special.__name__)


class Nest:
    """A loop nest: values to store and reductions, all over one space."""

    def __init__(self, space: tuple[int, ...], in_memory: Callable[[Node], bool]) -> None:
        self.space = space
        self.roots: dict[Node, Expr] = {}  # stored element by element, or reduced
        self.inside: set[Node] = set()  # nodes that it stores: taken as they are computed, not read again
        self.writer = Writer(space, lambda n: n not in self.inside and in_memory(n))

    def parts(self) -> tuple[dict[Node, None], dict[Node, None]]:
        """The nodes it reads, and the ops it computes."""
        return parts_of(self.roots.values())


@dataclass(eq=False)
class Kernel:
    """A node with a way of its own to be computed."""

    node: Node


@dataclass(eq=False)
class Register:
    """A scalar, computed where the program stands."""

    node: Node


Unit = Nest | Kernel | Register


class Unsupported(Exception):
    """A node that cannot be compiled."""

    def __init__(self, node: Node) -> None:
        super().__init__(str(node.op))
        self.node = node


def same_memory(node: Node) -> Node:
    """The node whose memory holds this one: a reshape of something in memory is the same bytes."""
    while isinstance(node.op, Reshape) and node.shape and node.inputs[0].shape:
        node = node.inputs[0]
    return node


class Plan:
    """The units of a graph, in order, and which nodes are in memory."""

    def __init__(self, graph: Graph, kernels: Any) -> None:
        self.graph, self.kernels = graph, kernels
        self.stored: set[Node] = set()
        self.nodes = updates_last(graph)
        self._check()
        self._demand()
        for _ in range(4):
            self.units = self._units()
            again = self._computed_twice()
            if not again:
                break
            self.stored |= again

    # ------------------------------------------------------------ what is in memory

    def _check(self) -> None:
        for node in self.nodes:
            if isinstance(node.op, (Param, Const, Pick)):
                specs = () if isinstance(node.op, Pick) else (node.spec,)
                if not all(is_known(s.dtype) for s in specs):
                    raise Unsupported(node)
            elif not (is_point(node) or self.is_move(node) or self.is_reduction(node) or self.kernels.takes(node)):
                raise Unsupported(node)

    def is_move(self, node: Node) -> bool:
        return (is_view(node) or isinstance(node.op, Reshape)) and is_known(node.spec.dtype)

    def is_reduction(self, node: Node) -> bool:
        return (
            type(node.op) in REDUCTIONS
            and is_known(node.spec.dtype)
            and is_known(node.inputs[0].spec.dtype)
            and bool(node.op.axes)
            and not node.op.keepdims
        )

    def is_kernel(self, node: Node) -> bool:
        return not (
            isinstance(node.op, (Param, Const)) or is_point(node) or self.is_move(node) or self.is_reduction(node)
        )

    def _demand(self) -> None:
        """Mark what must be in memory: results, inputs of kernels, and what is reshaped across axes."""
        for node in self.graph.outputs:
            self._need(node)
        for node in self.nodes:
            if self.is_kernel(node) and not isinstance(node.op, Pick):
                for i in self.kernels.reads(node):
                    self._need(i)
            elif isinstance(node.op, Reshape) and not is_view(node):
                self._need(node.inputs[0])

        depth: dict[Node, int] = {}
        for node in self.nodes:  # expressions are written and read by recursion
            here = isinstance(node.spec, tuple) or self.in_memory(node)
            depth[node] = 0 if here else 1 + max([depth[i] for i in node.inputs], default=0)
            if depth[node] > DEEPEST:
                self._need(node)
                depth[node] = 0

    def _need(self, node: Node) -> None:
        if not isinstance(node.spec, tuple) and node.shape:
            self.stored.add(same_memory(node))

    def in_memory(self, node: Node) -> bool:
        """Whether a node is read from memory or a register."""
        if isinstance(node.op, (Param, Const, Pick)) or not node.shape or node in self.stored:
            return True
        if isinstance(node.op, Reshape) and not is_view(node):
            return True
        return self.is_kernel(node) or self.is_reduction(node)

    # ------------------------------------------------------------ units

    def _units(self) -> list[Unit]:
        units: list[Unit] = []
        made: dict[Node, int] = {}  # the unit after which a node is there

        def ready(leaves: Iterable[Node]) -> int:
            return max([made.get(same_memory(n), -1) for n in leaves], default=-1)

        for node in self.nodes:
            if isinstance(node.op, (Param, Const)):
                continue
            if isinstance(node.op, Pick):
                made[node] = made[node.inputs[0]]
            elif self.is_reduction(node) or (node in self.stored and (is_point(node) or is_view(node)) and node.shape):
                space = node.inputs[0].shape if self.is_reduction(node) else node.shape
                k = self._join(units, node, space, ready)
                made[node] = k
            elif self.is_kernel(node):
                units.append(Kernel(node))
                made[node] = len(units) - 1
            elif not node.shape:
                units.append(Register(node))
                made[node] = len(units) - 1
            elif isinstance(node.op, Reshape) and not is_view(node):
                made[node] = made.get(same_memory(node), -1)
        return units

    def _join(self, units: list[Unit], node: Node, space: tuple[int, ...], ready: Any) -> int:
        """Put a node into the last nest that it fits, or into a new one; gives the unit's number."""
        value = node.inputs[0] if self.is_reduction(node) else node
        for k in range(len(units) - 1, -1, -1):
            nest = units[k]
            if not isinstance(nest, Nest) or nest.space != space:
                continue
            added = {value} - nest.inside if value is node else set()
            nest.inside |= added
            root = nest.writer.at_each_point(value)
            if ready(parts_of([root])[0]) < k:
                nest.roots[node] = root
                return k
            nest.inside -= added
        nest = Nest(space, self.in_memory)
        if value is node:
            nest.inside.add(node)
        nest.roots[node] = nest.writer.at_each_point(value)
        units.append(nest)
        return len(units) - 1

    def _computed_twice(self) -> set[Node]:
        """Dear nodes computed in several nests, or again and again for a much larger space."""
        where: dict[Node, int] = {}
        again: set[Node] = set()
        for nest in self.units:
            if isinstance(nest, Nest):
                for node in nest.parts()[1]:
                    if node.shape and node not in self.stored and _is_dear(node):
                        where[node] = where.get(node, 0) + 1
                        if where[node] > 1 or prod(node.shape) * 4 < prod(nest.space):
                            again.add(node)
        return again


def _is_dear(node: Node) -> bool:
    return type(node.op).__module__ in DEAR or isinstance(node.op, Pow)


def parts_of(expressions: Iterable[Expr]) -> tuple[dict[Node, None], dict[Node, None]]:
    """The nodes that expressions read, and the ops they apply, in an order that depends on the expressions alone."""
    reads: dict[Node, None] = {}
    points: dict[Node, None] = {}
    seen: set[int] = set()
    stack: list[Any] = list(expressions)
    while stack:
        e = stack.pop()
        if id(e) in seen:
            continue
        seen.add(id(e))
        if isinstance(e, (Load, Scalar)):
            reads[e.leaf] = None
        elif isinstance(e, Apply):
            points[e.node] = None
            stack += e.args
    return reads, points
