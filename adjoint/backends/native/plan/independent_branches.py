"""Branches of a graph that do not need one another, each too serial to keep all threads busy: one step that runs them side by side.

Nodes that depend on one branch alone belong to it; where branches meet, another begins. What comes before the first steps that take
time belongs to none. Branches of one level cannot reach each other, so those that are worth a thread become one `SideBySide`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from adjoint.backends.native.plan.stages import can_compile, cut
from adjoint.backends.native.plan.work_estimate import node_work
from adjoint.graph.control import Control, Loop
from adjoint.graph.inplace import InPlace
from adjoint.graph.nested import Passing
from adjoint.graph.node import Builder, Const, Graph, Node, Param, Pick
from adjoint.graph.steps import steps

WORTH = 100_000  # elements computed in a branch for which it is worth while to wake a thread: some tens of microseconds
LONGEST = 1 << 28  # elements after which Ctrl-C must have been asked for, which branches do not do
SHARED = 30_000  # elements that a step computes on several threads by itself
MOST_BYTES = 1 << 26  # memory that branches may take at the same time


@dataclass(frozen=True, repr=False)
class SideBySide(Passing):
    """Graphs that run at the same time: takes the inputs of all, one after the other, and gives all of their results."""

    branches: tuple[Graph, ...]

    total = True  # it fails only where a step inside does

    def graphs(self) -> dict[str, Graph]:
        return {str(k): graph for k, graph in enumerate(self.branches)}

    def mapped(self, change: Callable[[Graph], Graph]) -> SideBySide:
        return replace(self, branches=tuple([change(graph) for graph in self.branches]))

    def each(self, xs: Sequence[Any]) -> Iterator[tuple[Graph, Sequence[Any]]]:
        """The branches with their inputs."""
        at = 0
        for graph in self.branches:
            yield graph, xs[at : at + len(graph.params)]
            at += len(graph.params)

    def infer(self, *xs):
        return tuple([spec for graph in self.branches for spec in graph.specs])

    def eval(self, xp, *xs):
        return tuple([y for graph, inputs in self.each(xs) for y in steps(graph)(*inputs)])

    def vjp(self, g, y, *xs):
        raise NotImplementedError("it is made when all derivatives are taken")

    jvp = vmap = vjp


@dataclass(eq=False)
class _Branch:
    """Nodes that depend on one another, and on those of lower levels."""

    level: int
    nodes: list[Node] = field(default_factory=list)
    work: int = 0
    bytes: int = 0
    serial: bool = True  # whether one thread may do it all

    def add(self, node: Node) -> None:
        self.nodes.append(node)
        if not isinstance(node.op, Pick):
            self.work += node_work(node)
            self.serial = self.serial and can_compile(node) and _is_serial(node)
        specs = node.spec if isinstance(node.spec, tuple) else (node.spec,)
        self.bytes += sum(prod(s.shape) * s.dtype.itemsize for s in specs)

    def is_worth_a_thread(self) -> bool:
        return self.serial and WORTH <= self.work <= LONGEST and self.bytes <= MOST_BYTES


def _is_serial(node: Node) -> bool:
    """Whether a step has little use for several threads, and ends soon."""
    op: Any = node.op.op if isinstance(node.op, InPlace) else node.op
    if any(n < 0 for i in (node, *node.inputs) for s in _specs(i) for n in s.shape):
        return False
    if isinstance(op, Loop):
        return op.test is None and all(_is_serial(n) for n in op.body.calls)
    if isinstance(op, Control):
        return all(_is_serial(n) for graph in op.graphs().values() for n in graph.calls)
    return node_work(node) < SHARED * (20 if op.dense else 2)


def _specs(node: Node) -> tuple[Any, ...]:
    return node.spec if isinstance(node.spec, tuple) else (node.spec,)


def side_by_side(graph: Graph) -> Graph:
    """The graph with branches that run side by side; itself if there are none that are worth it."""
    if graph.effects:
        return graph  # they keep the program's order
    branch_of = _branches(graph)
    levels: dict[int, list[_Branch]] = {}
    for branch in dict.fromkeys(branch_of.values()):
        levels.setdefault(branch.level, []).append(branch)
    chosen = {level: _chosen(branches) for level, branches in levels.items()}
    if not any(chosen.values()):
        return graph
    builder, found = Builder(), dict(zip(graph.params, graph.params, strict=True))

    def keep(nodes: Sequence[Node]) -> None:
        for node in nodes:
            if node not in found:
                found[node] = builder.keep(node, node.op, tuple([found[i] for i in node.inputs]))

    keep([n for n in graph.nodes if n not in branch_of])
    for level in sorted(levels):
        _put_together(graph, chosen[level], builder, found)
        keep([n for n in graph.nodes if n in branch_of and branch_of[n].level == level])
    return replace(graph, outputs=tuple([found[n] for n in graph.outputs]))


def _branches(graph: Graph) -> dict[Node, _Branch]:
    """The branch of each node that belongs to one."""
    found: dict[Node, _Branch] = {}
    before: dict[Node, int] = {}  # the work of what leads to a node
    for node in graph.nodes:
        if isinstance(node.op, (Param, Const)):
            continue
        sources = list(dict.fromkeys(found[i] for i in node.inputs if i in found))
        work = 0 if isinstance(node.op, Pick) else node_work(node)
        before[node] = work + sum(before.get(i, 0) for i in dict.fromkeys(node.inputs))
        if len(sources) == 1 and work < WORTH:
            branch = sources[0]
        elif sources or before[node] >= WORTH:
            branch = _Branch(1 + max([b.level for b in sources], default=0))
        else:
            continue
        found[node] = branch
        branch.add(node)
    return found


def _chosen(branches: Sequence[_Branch]) -> list[_Branch]:
    """Those of one level that are to run side by side."""
    worth = [b for b in branches if b.is_worth_a_thread()]
    fits = (
        sum(b.bytes for b in worth) <= MOST_BYTES
        and sum(b.work for b in worth) - max([b.work for b in worth], default=0) >= WORTH
    )
    return worth if fits else []


def _put_together(graph: Graph, branches: Sequence[_Branch], builder: Builder, found: dict[Node, Node]) -> None:
    """Build one step of some branches, and find their results in it."""
    if not branches:
        return
    mine = {n: k for k, b in enumerate(branches) for n in b.nodes}
    users = [(i, mine.get(n)) for n in graph.nodes for i in n.inputs if i in mine]
    wanted = {i for i, k in users if k != mine[i]} | {n for n in graph.outputs if n in mine}
    parts, inputs, outputs = [], [], []
    for branch in branches:
        inside = set(branch.nodes)
        reads = dict.fromkeys(
            i for n in branch.nodes for i in n.inputs if i not in inside and not isinstance(i.op, Const)
        )
        gives = [n for n in branch.nodes if n in wanted and not isinstance(n.spec, tuple)]
        parts.append(cut(list(reads), gives, (), graph.name))
        inputs += [found[n] for n in reads]
        outputs += gives
    call = builder.build(SideBySide(tuple(parts)), inputs)
    for k, node in enumerate(outputs):
        found[node] = builder.pick(call, k)
    # The other nodes of the branches are inside, and nothing outside asks for them.
    found.update({n: call for b in branches for n in b.nodes if n not in found})
