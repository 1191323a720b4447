"""Which steps of a graph may run side by side, what each one costs, and how long the longest way is.

Costs are estimates from shapes: operations on numbers, and bytes read and written. They rank steps; they are no promise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adjoint.core.spec import elements
from adjoint.graph.control import Cond, Control, Loop
from adjoint.graph.node import Const, Graph, Node, Param, Pick

#: The iterations that are assumed for a loop with a condition.
ITERATIONS = 10


@dataclass(frozen=True)
class Work:
    """What a step costs: operations on numbers, and bytes moved. A core does about one of each at a time."""

    flops: int = 0
    bytes: int = 0

    @property
    def cost(self) -> int:
        return max(self.flops, self.bytes)

    def __add__(self, other: Work) -> Work:
        return Work(self.flops + other.flops, self.bytes + other.bytes)

    def __mul__(self, times: int) -> Work:
        return Work(self.flops * times, self.bytes * times)


def work(node: Node) -> Work:
    """The estimated work of one step.

    >>> import adjoint as ad
    >>> a, b = ad.ops.ones((10, 20)), ad.ops.ones((20, 30))
    >>> work(ad.graph.trace_function(lambda a, b: a @ b, [a, b]).outputs[0]).flops
    12000
    """
    op = node.op
    if isinstance(op, (Param, Const, Pick)) or op.view:
        return Work()
    if isinstance(op, Control):
        return _of_control(node)
    return Work(op.flops(node.spec, *(i.spec for i in node.inputs)), sum(_bytes(n) for n in (node, *node.inputs)))


def total(graph: Graph) -> Work:
    """The work of all steps of a graph."""
    return sum(map(work, graph.calls), Work())


def _of_control(node: Node) -> Work:
    op: Any = node.op
    inside = {name: total(g) for name, g in op.graphs().items()}
    if isinstance(op, Cond):
        return max(inside.values(), key=lambda w: w.cost)
    every = sum(inside.values(), Work())
    if isinstance(op, Loop):
        count = op.iterations(op.parts(node.inputs)[1])
        return every * (count if count >= 0 else ITERATIONS)
    return every


def _bytes(node: Node) -> int:
    specs = node.spec if isinstance(node.spec, tuple) else (node.spec,)
    return sum(elements(s) * s.dtype.itemsize for s in specs)


@dataclass(frozen=True)
class Schedule:
    """Steps by level: those of one level need only results of the levels before, so they may run side by side."""

    graph: Graph
    levels: tuple[tuple[Node, ...], ...]
    work: dict[Node, Work]
    critical: tuple[Node, ...]

    @property
    def cost(self) -> int:
        """The work of all steps."""
        return sum(w.cost for w in self.work.values())

    @property
    def longest(self) -> int:
        """The work along the critical path: no number of cores does it faster."""
        return sum(self.work[n].cost for n in self.critical)

    @property
    def parallelism(self) -> float:
        """How many cores could be busy on average."""
        return self.cost / self.longest if self.longest else 1.0

    def __str__(self) -> str:
        number = {node: f"%{i}" for i, node in enumerate(self.graph.nodes)}
        critical = set(self.critical)
        rows = [("level", "step", "op", "result", "flops", "bytes", "")]
        for k, level in enumerate(self.levels):
            for node in level:
                w = self.work[node]
                spec = ", ".join(map(str, node.spec)) if isinstance(node.spec, tuple) else str(node.spec)
                star = "*" if node in critical else ""
                rows.append((str(k), number[node], type(node.op).__name__, spec, str(w.flops), str(w.bytes), star))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            " ".join(
                cell.rjust(width) if i in (0, 4, 5) else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([*lines, self.summary()])

    def summary(self) -> str:
        """The schedule in one line."""
        return (
            f"{len(self.work)} steps in {len(self.levels)} levels; cost {self.cost}, {self.longest} of it on the critical path (*): "
            f"{self.parallelism:.1f} cores"
        )


def schedule(graph: Graph) -> Schedule:
    """The levels of a graph, the work of its steps, and its critical path.

    >>> import adjoint as ad
    >>> print(schedule(ad.graph.trace_function(lambda x: ad.ops.sin(x) * ad.ops.cos(x), [2.0])))
    level step op  result    flops bytes
        0 %1   Sin float64[]    15    16 *
        0 %2   Cos float64[]    15    16
        1 %3   Mul float64[]     1    24 *
    3 steps in 2 levels; cost 56, 40 of it on the critical path (*): 1.4 cores
    """
    level: dict[Node, int] = {}
    reach: dict[Node, int] = {}  # the cost of the longest way to the end of a node
    before: dict[Node, Node | None] = {}
    works: dict[Node, Work] = {}
    for node in graph.nodes:
        last = max(node.inputs, key=lambda i: reach[i], default=None)
        level[node] = max((level[i] for i in node.inputs), default=-1)
        if not isinstance(node.op, (Param, Const, Pick)):
            level[node] += 1
            works[node] = work(node)
        before[node] = last
        reach[node] = (reach[last] if last else 0) + (works[node].cost if node in works else 0)
    levels: list[list[Node]] = [[] for _ in range(1 + max((level[n] for n in works), default=-1))]
    for node in works:
        levels[level[node]].append(node)
    path: list[Node] = []
    end: Node | None = max(graph.nodes, key=lambda n: reach[n])
    while end is not None:
        path.append(end)
        end = before[end]
    return Schedule(graph, tuple(map(tuple, levels)), works, tuple(n for n in reversed(path) if n in works))
