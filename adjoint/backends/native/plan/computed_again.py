"""What is cheap to compute again is not kept over the peak: a layer norm's result beside its centred input, a softmax beside its exponentials.

A stored array that is read before and after the peak, and is a few steps away from others that are kept anyway, is computed a second
time for each unit that reads it after the peak, in the same steps from the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from adjoint.backends.native.node_facts import is_elementwise, is_view, same_memory
from adjoint.backends.native.plan.epilogue_fusion import FusedMatMul
from adjoint.backends.native.plan.units import Nest, Unit, note_recomputed
from adjoint.backends.native.plan.work_estimate import graph_work
from adjoint.graph.node import Const, Graph, Node, Param

STEPS = 6  # elementwise steps that are computed again rather than kept
LEAST = 1 << 16  # bytes that are worth it
SMALL = 16  # what is smaller than an array by this factor may be kept for it
SHARE = 100  # all that is computed again is at most the work over this

Reads = Callable[[Unit], Iterable[Node]]


@dataclass
class _Lives:
    """From when to when arrays are held, by the groups that make and read them."""

    made: dict[Node, int] = field(default_factory=dict)
    last: dict[Node, int] = field(default_factory=dict)
    nests: dict[Node, None] = field(default_factory=dict)  # what is stored element by element
    peak: int = 0  # bytes
    at: int = 0  # the group at which they are held


def peak_of(groups: Sequence[Sequence[Unit]], reads: Reads, placed: set[Node]) -> int:
    """The most bytes that intermediates take at once; `placed` nodes have memory of their own."""
    return _lives(groups, reads, placed).peak


def _lives(groups: Sequence[Sequence[Unit]], reads: Reads, placed: set[Node]) -> _Lives:
    found = _Lives()
    for k, group in enumerate(groups):
        for unit in group:
            for node in reads(unit):
                found.last[same_memory(node)] = k
            roots: dict[Node, Any] = unit.roots if isinstance(unit, (Nest, FusedMatMul)) else {}
            found.made.update(dict.fromkeys(roots, k))
            found.nests.update(dict.fromkeys(n for n in roots if not n.op.reduction))
            if not isinstance(unit, Nest):
                found.made[unit.node] = k
    changes = [0] * (len(groups) + 1)
    for node, k in found.made.items():
        if node not in placed and found.last.get(node, -1) >= k:
            changes[k] += _size(node)
            changes[found.last[node] + 1] -= _size(node)
    held = 0
    for k, change in enumerate(changes):
        held += change
        if held > found.peak:
            found.peak, found.at = held, k
    return found


def _size(node: Node) -> int:
    specs = node.spec if isinstance(node.spec, tuple) else (node.spec,)
    return sum(prod(max(n, 0) for n in s.shape) * s.dtype.itemsize for s in specs if s.shape)


def recomputing(graph: Graph, groups: Sequence[Sequence[Unit]], reads: Reads, placed: set[Node]) -> Graph | None:
    """The graph with what is cheap computed again after the peak; None if there is nothing to gain."""
    lives = _lives(groups, reads, placed)
    if lives.peak < LEAST:
        return None
    chosen = _chosen(graph, lives, placed)
    return _Rebuilt(graph, lives, chosen).graph() if chosen else None


def _chosen(graph: Graph, lives: _Lives, placed: set[Node]) -> set[Node]:
    """The nodes to compute again."""
    results = {same_memory(n) for n in graph.outputs} | placed
    chosen: dict[Node, int] = {}  # and in how many steps
    work = 0
    for node in sorted(lives.nests, key=lambda n: lives.made[n]):
        spans = lives.made[node] <= lives.at < lives.last.get(node, -1)
        if spans and node not in results and _size(node) >= LEAST:
            steps = _steps(node, lives, chosen)
            if steps is not None and steps < STEPS:
                chosen[node] = steps
                work += prod(node.shape) * (steps + 2)
    return set(chosen) if work * SHARE <= graph_work(graph) else set()


def _steps(node: Node, lives: _Lives, chosen: dict[Node, int]) -> int | None:
    """In how many elementwise steps a node is made of what is there after the peak; None if it cannot be."""
    total, stack, seen = 0, [node], {node}
    while stack:
        n = stack.pop()
        if is_view(n) or n.op.same_bytes:
            pass
        elif is_elementwise(n) and not n.op.expensive:
            total += 1
        else:
            return None
        for i in n.inputs:
            if i in seen or isinstance(i.op, (Param, Const)):
                continue
            seen.add(i)
            memory = same_memory(i)
            if memory in chosen:
                total += chosen[memory]
            elif memory in lives.made:
                if lives.last.get(memory, -1) <= lives.at and _size(memory) * SMALL > _size(node):
                    return None
            elif not isinstance(memory.op, (Param, Const)):
                stack.append(i)
        if total >= STEPS:
            return None
    return total


class _Rebuilt:
    """A graph in which units after the peak read new copies of the chosen nodes."""

    def __init__(self, graph: Graph, lives: _Lives, chosen: set[Node]) -> None:
        self.old, self.lives, self.chosen = graph, lives, chosen
        self.copies: set[Node] = set()
        self.new: dict[Node, Node] = {}
        self.own: dict[int, dict[Node, Node]] = {}  # by group after the peak, what it reads in another form
        for node in graph.nodes:
            self.new[node] = self._made_late(node) if lives.made.get(node, -1) > lives.at else self._kept(node)

    def graph(self) -> Graph:
        old = self.old
        outputs, effects = (tuple([self.new[n] for n in nodes]) for nodes in (old.outputs, old.effects))
        made = Graph(old.params, outputs, old.name, effects)
        note_recomputed(made, frozenset(self.copies))
        return made

    def _kept(self, node: Node) -> Node:
        return _with(node, tuple([self.new[i] for i in node.inputs]))

    def _made_late(self, node: Node) -> Node:
        """A node of a unit after the peak: what it reads of the chosen ones is computed for it."""
        own = self.own.setdefault(self.lives.made[node], {})
        return _with(node, tuple([self._outside(i, own) for i in node.inputs]))

    def _outside(self, node: Node, own: dict[Node, Node]) -> Node:
        """The node as a unit after the peak reads it."""
        if node not in own:
            stored = node in self.lives.made or isinstance(node.op, (Param, Const))
            if stored and node not in self.chosen:
                own[node] = self.new[node]
            else:
                inputs = tuple([self._outside(i, own) for i in node.inputs])
                if node in self.chosen:
                    own[node] = Node(node.op, inputs, node.spec, node.place)
                    self.copies.add(own[node])
                else:
                    own[node] = self.new[node] if inputs == self.new[node].inputs else _with(node, inputs)
        return own[node]


def _with(node: Node, inputs: tuple[Node, ...]) -> Node:
    return node if inputs == node.inputs else Node(node.op, inputs, node.spec, node.place)
