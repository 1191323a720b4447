"""From a graph to units of work: scalars in registers, loop nests, and everything that is a kernel of its own.

A node is put into memory where something needs it there: a result, a kernel's input, a loop. All else is computed where it is
used. Nodes over the same space share a nest, so that a value and its gradient are one pass over memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from adjoint.backends.native.dtypes import is_known
from adjoint.backends.native.kernel_registry import has_kernel, reads
from adjoint.backends.native.node_facts import is_elementwise, is_reduction, is_view, same_memory, uniform
from adjoint.backends.native.plan.loop_expressions import Apply, Choice, Expr, ExpressionWriter, Load, Scalar, within
from adjoint.backends.native.plan.node_order import rows_together
from adjoint.backends.native.rewrite.insert_slice import MAX_PIECES, is_insertion, pieces
from adjoint.core.spec import Spec
from adjoint.graph.control import Control
from adjoint.graph.inplace import updates_last
from adjoint.graph.node import Const, Graph, Node, Param, Pick

WORTH = 6  # steps that are better stored than computed twice
SHORT = 1 << 16  # points of a nest that takes about as long as its call costs
DEEPEST = 100  # ops in a row that one expression may hold


class Nest:
    """A loop nest: values to store and reductions, all over one space."""

    def __init__(self, space: tuple[int, ...], in_memory: Callable[[Node], bool]) -> None:
        self.space = space
        self.roots: dict[Node, Expr] = {}  # stored element by element, or reduced
        self.inside: set[Node] = set()  # nodes that it stores: taken as they are computed, not read again
        self._arrays: set[Node] = set()  # that it reads
        self.late = False  # whether it computes something again, and runs just before its reader
        self.writer = ExpressionWriter(space, lambda n: n not in self.inside and in_memory(n))

    def add(self, node: Node, root: Expr, leaves: Iterable[Node]) -> None:
        """Store or reduce one more expression, which reads these."""
        self.roots[node] = root
        self._arrays |= {same_memory(n) for n in leaves if n.shape}

    def gains_by(self, leaves: Iterable[Node]) -> bool:
        """Whether it gains by an expression with these leaves: it has one of them already, or is so short that a call counts.

        All else would only hold what one root reads until the other can be computed.
        """
        if prod(self.space) <= SHORT:
            return True
        return any((m := same_memory(n)) in self._arrays or m in self.inside for n in leaves)

    def nodes(self) -> tuple[dict[Node, None], dict[Node, None]]:
        """The nodes it reads, and the ops it computes."""
        return nodes_of(self.roots.values())


@dataclass(eq=False)
class Kernel:
    """A node with a way of its own to be computed."""

    node: Node


@dataclass(eq=False)
class Register:
    """A scalar, computed where the program stands."""

    node: Node


Unit = Nest | Kernel | Register


def has_code(node: Node) -> bool:
    """Whether a node can be compiled."""
    if isinstance(node.op, (Param, Const, Pick)):
        return isinstance(node.op, Pick) or is_known(node.spec.dtype)
    if not isinstance(node.op, Control) and any(n < 0 for s in _specs(node) for n in s.shape):
        return False  # a size known at run time only
    return is_elementwise(node) or is_movement(node) or is_reduction(node) or has_kernel(node)


def _specs(node: Node) -> list[Spec]:
    return [*(node.spec if isinstance(node.spec, tuple) else [node.spec]), *(i.spec for i in node.inputs)]


def is_movement(node: Node) -> bool:
    """Whether a node only moves elements."""
    return (is_view(node) or is_insertion(node) or node.op.same_bytes) and is_known(node.spec.dtype)


def is_in_nest(node: Node) -> bool:
    """Whether a nest can compute a node."""
    return is_elementwise(node) or is_view(node) or is_insertion(node)


def is_kernel(node: Node) -> bool:
    """Whether a node has a kernel of its own."""
    return not (isinstance(node.op, (Param, Const)) or is_elementwise(node) or is_movement(node) or is_reduction(node))


class Plan:
    """The units of a graph, in order, and which nodes are in memory."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.stored: set[Node] = set()
        self.nodes = updates_last(graph) if graph.effects else rows_together(updates_last(graph))
        self._demand()
        self._across_stages()
        for _ in range(4):
            self.units = self._units()
            again = self._computed_twice()
            if not again:
                break
            self.stored |= again

    # ------------------------------------------------------------ what is in memory

    def _demand(self) -> None:
        """Mark what must be in memory: results, inputs of kernels, and what is reshaped across axes."""
        for node in self.graph.outputs:
            self._need(node)
        for node in self.nodes:
            if is_kernel(node) and not isinstance(node.op, Pick):
                for i in reads(node):
                    self._need(i)
            elif node.op.same_bytes and not is_view(node):
                self._need(node.inputs[0])

        depth: dict[Node, int] = {}
        for node in self.nodes:  # expressions are written and read by recursion
            depth[node] = 0 if self.in_memory(node) else 1 + max([depth[i] for i in node.inputs], default=0)
            if depth[node] > DEEPEST:
                self._need(node)
                depth[node] = 0
        self._limit_pieces()

    def _limit_pieces(self) -> None:
        """Store what would split a nest into too many pieces."""
        split: dict[Node, int] = {}
        for node in self.nodes:
            if is_in_nest(node):
                if pieces(node, split) > MAX_PIECES:
                    for i in node.inputs:
                        if split.pop(i, 1) > 1:
                            self._need(i)
                if node not in self.stored:
                    split[node] = pieces(node, split)

    def _across_stages(self) -> None:
        """Store what several stages would compute, and is worth the memory: stages are what kernels and reductions part."""
        stage: dict[Node, int] = {}
        for node in self.nodes:
            parts = is_reduction(node) or (is_kernel(node) and not isinstance(node.op, Pick))
            stage[node] = max([stage[i] for i in node.inputs], default=0) + parts
        cost = self._costs()
        users: dict[Node, set[int]] = {n: set() for n in self.nodes}  # the stages that compute a node
        for node in reversed(self.nodes):
            if not self.in_memory(node) and len(users[node]) > 1 and cost[node] >= WORTH and not self._narrower(node):
                self._need(node)
            wanted = {stage[node] - is_reduction(node)} if self.in_memory(node) else users[node]
            for i in node.inputs:
                users[i] |= wanted

    def _need(self, node: Node) -> None:
        if not isinstance(node.spec, tuple) and node.shape:
            self.stored.add(same_memory(node))

    def in_memory(self, node: Node) -> bool:
        """Whether a node is read from memory or a register."""
        if isinstance(node.op, (Param, Const, Pick)) or isinstance(node.spec, tuple) or node in self.stored:
            return True
        if not node.shape:
            return True
        if node.op.same_bytes and not is_view(node):
            return True
        return is_kernel(node) or is_reduction(node)

    # ------------------------------------------------------------ units

    def _units(self) -> list[Unit]:
        units: list[Unit] = []
        made: dict[Node, int] = {}  # the unit after which a node is there
        after: dict[Node, int] = {}  # the unit after which a node can be computed

        def ready(leaves: Iterable[Node]) -> int:
            return max([made.get(same_memory(n), -1) for n in leaves], default=-1)

        for node in self.nodes:
            after[node] = max([after[i] for i in node.inputs], default=-1)
            if isinstance(node.op, (Param, Const)):
                continue
            if isinstance(node.op, Pick):
                made[node] = made[node.inputs[0]]
            elif is_reduction(node) or (node in self.stored and is_in_nest(node) and node.shape):
                space = node.inputs[0].shape if is_reduction(node) else node.shape
                made[node] = self._join(units, node, space, after[node], ready)
            elif is_kernel(node):
                units.append(Kernel(node))
                made[node] = len(units) - 1
            elif not node.shape:
                units.append(Register(node))
                made[node] = len(units) - 1
            elif node.op.same_bytes and not is_view(node):
                made[node] = made.get(same_memory(node), -1)
            after[node] = max(made.get(node, -1), after[node])
        return units

    def _join(self, units: list[Unit], node: Node, space: tuple[int, ...], least: int, ready: Any) -> int:
        """Put a node into the last nest that it fits, or into a new one; gives the unit's number.

        Its inputs are there after the unit `least`, which may compute them itself.
        """
        value = node.inputs[0] if is_reduction(node) else node
        late = node in recomputed(self.graph)
        below = self._leaves(value, value is node)
        for k in () if late else range(len(units) - 1, max(least, 0) - 1, -1):
            nest = units[k]
            if not isinstance(nest, Nest) or nest.space != space or nest.late or not nest.gains_by(below):
                continue
            if ready(n for n in below if same_memory(n) not in nest.inside) >= k:
                continue
            added = {value} - nest.inside if value is node else set()
            nest.inside |= added
            root = nest.writer.at_each_point(value)
            leaves = nodes_of([root])[0]
            if ready(leaves) < k and boxes([*nest.roots.values(), root], space) <= MAX_PIECES:
                nest.add(node, root, leaves)
                return k
            nest.inside -= added
        nest = Nest(space, self.in_memory)
        nest.late = late
        if value is node:
            nest.inside.add(node)
        root = nest.writer.at_each_point(value)
        nest.add(node, root, nodes_of([root])[0])
        units.append(nest)
        return len(units) - 1

    def _leaves(self, node: Node, inside: bool) -> list[Node]:
        """The nodes in memory or registers that an expression is made of; of a node itself that is stored, if `inside`."""
        found: dict[Node, None] = {}
        stack = list(node.inputs) if inside else [node]
        while stack:
            n = stack.pop()
            if n not in found:
                found[n] = None
                if not self.in_memory(n):
                    stack += n.inputs
        return [n for n in found if self.in_memory(n)]

    def _computed_twice(self) -> set[Node]:
        """Nodes better stored: computed in several nests, or again and again for a much larger space, and worth the memory."""
        where: dict[Node, int] = {}
        spread: set[Node] = set()
        for nest in self.units:
            if isinstance(nest, Nest):
                for node in nest.nodes()[1]:
                    if node.shape and node not in self.stored:
                        where[node] = where.get(node, 0) + 1
                        if node.op.expensive and prod(node.shape) * 4 < prod(nest.space):
                            spread.add(node)
        twice = {n for n, count in where.items() if count > 1}
        cost = self._costs()
        # Only what is used elsewhere: the parts of a stored node are then computed once, with it.
        tops = {i for n in self.nodes if n not in twice for i in n.inputs if i in twice}
        return spread | {self._narrower(n) or n for n in tops if cost[n] >= WORTH}

    def _narrower(self, node: Node) -> Node | None:
        """What is better stored than a node that is made of it in one step: a mask, not the numbers that it chooses."""
        others = [i for i in node.inputs if i.shape and uniform(i) is None]
        if len(others) != 1 or not is_elementwise(node) or node.op.expensive:
            return None
        (x,) = others
        smaller = x.shape == node.shape and x.spec.dtype.itemsize < node.spec.dtype.itemsize
        return x if smaller and is_elementwise(x) and not self.in_memory(x) else None

    def _costs(self) -> dict[Node, int]:
        """How many steps an expression takes; an expensive one counts as many."""
        cost: dict[Node, int] = {}
        for node in self.nodes:
            inside = sum(cost[i] for i in set(node.inputs))
            own = WORTH if node.op.expensive else 1
            cost[node] = 0 if self.in_memory(node) else min(inside + own, 1000)
        return cost


def note_recomputed(graph: Graph, nodes: frozenset[Node]) -> None:
    """Note which nodes of a graph compute again what others have."""
    graph.__dict__["_recomputed"] = nodes


def recomputed(graph: Graph) -> frozenset[Node]:
    """The nodes of a graph that compute again what others have."""
    return graph.__dict__.get("_recomputed", frozenset())


def nodes_of(expressions: Iterable[Expr]) -> tuple[dict[Node, None], dict[Node, None]]:
    """The nodes that expressions read, and the ops they apply."""
    leaves: dict[Node, None] = {}
    applied: dict[Node, None] = {}
    for e in within(expressions):
        if isinstance(e, (Load, Scalar)):
            leaves[e.leaf] = None
        elif isinstance(e, Apply):
            applied[e.node] = None
    return leaves, applied


def cuts(expressions: Iterable[Expr]) -> dict[int, set[int]]:
    """Where along each axis expressions change from one form to another."""
    found: dict[int, set[int]] = {}
    for e in within(expressions):
        if isinstance(e, Choice):
            found.setdefault(e.axis, set()).update((e.low, e.high))
    return found


def boxes(expressions: Iterable[Expr], space: Sequence[int]) -> int:
    """Into how many pieces a nest of these expressions falls."""
    return prod([1 + len(c - {0, space[axis]}) for axis, c in cuts(expressions).items()])
