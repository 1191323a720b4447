"""Which steps of a graph may run side by side, what each one costs, and how long the longest way is.

Costs are estimates from shapes: operations on numbers, and bytes read and written. They rank steps; they are no promise.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2, prod, sqrt
from typing import Any

from adjoint.graph.control import Cond, Control, Loop
from adjoint.graph.node import Const, Graph, Node, Param, Pick
from adjoint.ops.arithmetic import Div, FloorDiv, Mod, Pow, StopGradient
from adjoint.ops.contract import Einsum, MatMul
from adjoint.ops.families import Elementwise, Reduction
from adjoint.ops.fourier import Fft, Irfft, Rfft
from adjoint.ops.movement import BroadcastTo, Reshape, Split, Transpose
from adjoint.ops.reduce import ArgSort
from adjoint.ops.slicing import GetItem
from adjoint.ops.stacking import Unstack

#: What NumPy gives without touching an element.
VIEWS = (Reshape, Transpose, BroadcastTo, GetItem, Split, Unstack, StopGradient)
#: Operations for each element, by the module of the card; one for all others.
BY_MODULE = {"transcendental": 15, "special": 40, "entropy": 30}
#: Operations for each element of a matrix and each of its rows, where a whole matrix is taken apart.
DENSE = {"decompose": 10, "linalg": 2, "determinant": 1}
#: The rounds that are assumed for a loop with a condition.
ROUNDS = 10


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
    if isinstance(op, (Param, Const, Pick, *VIEWS)):
        return Work()
    if isinstance(op, Control):
        return _of_control(node)
    return Work(_flops(node), sum(_bytes(n) for n in (node, *node.inputs)))


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
        rounds = op.rounds(op.parts(node.inputs)[1])
        return every * (rounds if rounds >= 0 else ROUNDS)
    return every


def _flops(node: Node) -> int:
    op, module = node.op, type(node.op).__module__.rpartition(".")[2]
    first = _size(node.inputs[0]) if node.inputs else 0
    here = _size(node)
    if isinstance(op, MatMul):
        return 2 * here * node.inputs[0].shape[-1]
    if isinstance(op, Einsum):
        return len(node.inputs) * prod(op.sizes([n.spec for n in node.inputs]).values())
    if isinstance(op, (Fft, Rfft, Irfft)):
        return int(5 * first * log2(max(first, 2)))
    if isinstance(op, ArgSort):
        return int(2 * first * log2(max(first, 2)))
    if isinstance(op, Reduction):
        return first
    if isinstance(op, Elementwise):
        return here * (
            20 if isinstance(op, Pow) else 4 if isinstance(op, (Div, FloorDiv, Mod)) else BY_MODULE.get(module, 1)
        )
    if module in DENSE:
        return DENSE[module] * first * (node.inputs[0].shape or (1,))[-1]
    if module == "conv":  # as for a product of matrices, where the three sizes are mk, kn and mn
        return int(2 * sqrt(here * prod(map(_size, node.inputs))))
    return here if module in ("pool", "reduce") else 0


def _size(node: Node) -> int:
    specs = node.spec if isinstance(node.spec, tuple) else (node.spec,)
    return sum(prod(max(n, 1) if n < 0 else n for n in s.shape) for s in specs)


def _bytes(node: Node) -> int:
    specs = node.spec if isinstance(node.spec, tuple) else (node.spec,)
    return sum(prod(max(n, 1) if n < 0 else n for n in s.shape) * s.dtype.itemsize for s in specs)


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
