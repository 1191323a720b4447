"""An order of units that needs less memory: what frees more than it takes runs as soon as it can.

A graph's own order is depth first from its first result: the gradient of the first layer comes first, and until then the cotangents
of all layers are kept for the gradients of the others. Here a unit that frees memory runs at once; all else stays in its order,
and where not much is saved everything does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import prod
from typing import Any

from adjoint.backends.native.node_facts import same_memory
from adjoint.backends.native.plan.arena import WORTH
from adjoint.backends.native.plan.epilogue_fusion import FusedMatMul
from adjoint.backends.native.plan.units import Nest, Register, Unit
from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Node, Pick

Group = tuple[list[Unit], int]


@dataclass(eq=False)
class _Buffer:
    """Memory that one group makes, or several that update it in turn, and others read."""

    size: int
    readers: set[int] = field(default_factory=set)


class _Task:
    """A group with what it needs, makes and reads."""

    def __init__(self) -> None:
        self.after: set[int] = set()  # groups that must have run
        self.before: set[int] = set()  # groups that wait for it
        self.makes: list[_Buffer] = []
        self.is_scalar = False  # whether it takes no memory, and little time
        self.reads: set[_Buffer] = set()

    @property
    def takes(self) -> int:
        return sum(b.size for b in self.makes)


def ordered_for_memory(
    groups: Sequence[Group],
    reads: Callable[[Unit], Iterable[Node]],
    placed: Iterable[Node],
    owned: Iterable[Node],
) -> list[Group]:
    """The groups in an order that needs less of the arena; as they are where that saves little.

    `placed` nodes have memory of their own, `owned` inputs may be overwritten: who reads one of those last still does.
    """
    bundles = _with_what_is_recomputed(groups, reads)
    order = list(range(len(bundles)))
    stored = [[n for group, _ in bundle for n in _stored(group)] for bundle in bundles]
    if sum(_size(n) for nodes in stored for n in nodes) > WORTH:
        units = [[unit for group, _ in bundle for unit in group] for bundle in bundles]
        tasks = _tasks(units, stored, reads, set(placed), set(owned))
        other = min((_eager(tasks, least) for least in (1, 0)), key=lambda order: _peak(tasks, order))
        if _peak(tasks, order) - _peak(tasks, other) > WORTH:
            order = other
    return [group for k in order for group in bundles[k]]


def _with_what_is_recomputed(groups: Sequence[Group], reads: Callable[[Unit], Iterable[Node]]) -> list[list[Group]]:
    """Each group after those that compute again what it reads: they stay together."""
    late = {root: k for k, (group, _) in enumerate(groups) if _is_late(group) for root in _stored(group)}
    reader: dict[int, int] = {}
    for k, (group, _) in enumerate(groups) if late else ():
        for node in [n for unit in group for n in reads(unit)]:
            if (source := same_memory(node)) in late:
                reader.setdefault(late[source], k)
    bundles: dict[int, list[Group]] = {k: [] for k in range(len(groups)) if k not in reader}
    for k, whole in enumerate(groups):
        first = k
        while first in reader:
            first = reader[first]
        bundles[first].append(whole)
    return list(bundles.values())


def _is_late(group: Sequence[Unit]) -> bool:
    return all(isinstance(unit, Nest) and unit.late for unit in group)


def _stored(group: Iterable[Unit]) -> list[Node]:
    found: list[Node] = []
    for unit in group:
        if isinstance(unit, Nest):
            found += unit.roots
        else:
            found += [unit.node] if not isinstance(unit, FusedMatMul) else [*([unit.node] * unit.kept), *unit.roots]
    return found


def _size(node: Node) -> int:
    specs: Any = node.spec if isinstance(node.spec, tuple) else (node.spec,)
    return sum(prod(max(n, 0) for n in s.shape) * s.dtype.itemsize for s in specs if s.shape)


def _source(node: Node) -> Node:
    """The node whose group makes the memory of this one."""
    node = same_memory(node)
    return node.inputs[0] if isinstance(node.op, Pick) else node


def _tasks(
    groups: Sequence[Sequence[Unit]],
    stored: Sequence[Sequence[Node]],
    reads: Callable[[Unit], Iterable[Node]],
    placed: set[Node],
    owned: set[Node],
) -> list[_Task]:
    """What each group needs, makes and reads. An update in place shares the memory of what it updates, and stays the last to read it."""
    tasks = [_Task() for _ in groups]
    made: dict[Node, int] = {}
    buffers: dict[Node, _Buffer] = {}
    readers: dict[Node, list[int]] = {}
    for k, group in enumerate(groups):
        task = tasks[k]
        task.is_scalar = all(isinstance(unit, Register) for unit in group)
        for unit in group:
            for node in reads(unit):
                source = _source(node)
                if source in made:
                    task.after.add(made[source])
                if source in buffers:
                    buffers[source].readers.add(k)
                    task.reads.add(buffers[source])
                readers.setdefault(source, []).append(k)
        for node in stored[k]:
            made[node] = k
            base = _source(node.inputs[0]) if isinstance(node.op, InPlace) else None
            if base is not None:
                task.after.update(j for j in readers.get(base, ()) if j != k)
            if node in placed:
                continue
            if base in buffers:
                buffers[node] = buffers[base]
            else:
                buffers[node] = _Buffer(_size(node))
                task.makes.append(buffers[node])
        made.update((unit.node, k) for unit in group if not isinstance(unit, Nest))
    for param in owned:
        if param in readers:
            tasks[readers[param][-1]].after.update(j for j in readers[param] if j != readers[param][-1])
    for k, task in enumerate(tasks):
        for j in task.after:
            tasks[j].before.add(k)
    return tasks


class _Run:
    """Runs tasks one after another, and knows what is held."""

    def __init__(self, tasks: Sequence[_Task]) -> None:
        self.tasks = tasks
        self.order: list[int] = []
        self.done = [False] * len(tasks)
        self.held = self.most = 0
        self.missing = [len(t.after) for t in tasks]
        self.left: dict[_Buffer, int] = {}  # how many readers a buffer still has
        self.frees = [0] * len(tasks)  # what a group would free if it ran now
        self.touched: list[int] = []  # groups of which that may have changed

    def run(self, k: int) -> None:
        """The next group is k."""
        task = self.tasks[k]
        self.done[k] = True
        self.order.append(k)
        self.held += task.takes
        self.most = max(self.most, self.held)
        for buffer in task.makes:
            self.left[buffer] = len(buffer.readers)
            self._fewer(buffer)
        for buffer in task.reads:
            self.left[buffer] -= 1
            self._fewer(buffer)
        for j in task.before:
            self.missing[j] -= 1
            if not self.missing[j]:
                self.touched.append(j)

    def _fewer(self, buffer: _Buffer) -> None:
        if not self.left[buffer]:
            self.held -= buffer.size
        elif self.left[buffer] == 1:
            (last,) = [j for j in buffer.readers if not self.done[j]]
            self.frees[last] += buffer.size
            self.touched.append(last)


def _peak(tasks: Sequence[_Task], order: Iterable[int]) -> int:
    """The most bytes that are held in an order."""
    run = _Run(tasks)
    for k in order:
        run.run(k)
    return run.most


def _eager(tasks: Sequence[_Task], least: int = 1) -> list[int]:
    """The order in which what frees memory, by `least` bytes more than it takes, runs as soon as it can, and all else in turn."""
    run = _Run(tasks)
    run.touched += [k for k, task in enumerate(tasks) if task.is_scalar]
    gains: list[tuple[int, int]] = []
    for k in range(len(tasks)):
        if run.done[k]:
            continue
        run.run(k)
        while True:
            for j in run.touched:
                gain = run.frees[j] - tasks[j].takes
                if (gain >= least or tasks[j].is_scalar) and not run.missing[j] and not run.done[j]:
                    heappush(gains, (-gain, j))
            run.touched.clear()
            while gains and run.done[gains[0][1]]:
                heappop(gains)
            if not gains:
                break
            run.run(heappop(gains)[1])
    return run.order
