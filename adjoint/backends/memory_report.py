"""What a call of a graph will take of memory, known before anything runs: `jit(f).memory(*args)`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from adjoint.core.spec import Spec
from adjoint.graph.control import Loop
from adjoint.graph.inplace import InPlace, updates_last
from adjoint.graph.nested import Control
from adjoint.graph.node import Const, Graph, Node, Param, Pick

SHOWN = 12  # lines of what lives at the peak


@dataclass(frozen=True)
class HeldMemory:
    """Some bytes, what they hold, and the user's line (file, line) that made it."""

    what: str
    bytes: int
    shape: tuple[int, ...] | None = None
    place: tuple[str, int] | None = None

    def __str__(self) -> str:
        shape = "" if self.shape is None else f" {self.shape}"
        return f"{shown(self.bytes):>10}  {self.what}{shape}{_line(self.place)}"


@dataclass(frozen=True)
class Moment:
    """A unit of work, and the most bytes of intermediates and results while it runs."""

    what: str
    bytes: int
    place: tuple[str, int] | None = None


@dataclass(frozen=True)
class MemoryReport:
    """The memory of a call.

    `peak_bytes` is what a call takes beyond its arguments and constants: intermediates (`arena_bytes`) and results. `scratch_bytes`
    are the part of the intermediates that holds no value of the program (packed matrices, partial sums of threads). `at_peak` is what lives
    when most does, `timeline` how much there is in each unit of work, `per_iteration` what each iteration of a loop adds whose number
    of iterations is known only when it runs: that is not part of the peak.
    """

    backend: str
    arena_bytes: int
    result_bytes: int
    argument_bytes: int
    constant_bytes: int
    scratch_bytes: int
    at_peak: tuple[HeldMemory, ...]
    timeline: tuple[Moment, ...]
    per_iteration: tuple[HeldMemory, ...] = ()

    @property
    def peak_bytes(self) -> int:
        return self.arena_bytes + self.result_bytes

    def __str__(self) -> str:
        lines = [
            f"{self.backend}: {shown(self.peak_bytes)} beyond arguments and constants",
            f"{shown(self.arena_bytes):>10}  intermediates, of which {shown(self.scratch_bytes)} scratch",
            f"{shown(self.result_bytes):>10}  results",
            f"{shown(self.argument_bytes):>10}  arguments",
            f"{shown(self.constant_bytes):>10}  constants",
        ]
        if self.at_peak:
            kinds = _together(self.at_peak)
            lines += ["at the peak:", *map(str, kinds[:SHOWN])]
            if rest := kinds[SHOWN:]:
                lines.append(f"{shown(sum(h.bytes for h in rest)):>10}  more")
        if self.per_iteration:
            lines += ["for each iteration of a loop of unknown length:", *map(str, self.per_iteration)]
        return "\n".join(lines)

    def draw(self, path: str | os.PathLike[str]) -> None:
        """A picture of the timeline, as PNG or whatever the name ends with; needs matplotlib."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(figsize=(9, 3.5))
        axes.fill_between(range(len(self.timeline)), [m.bytes / 2**20 for m in self.timeline], step="mid", alpha=0.6)
        axes.axhline(self.peak_bytes / 2**20, color="black", linewidth=0.8, linestyle="--")
        axes.set_xlabel("unit of work")
        axes.set_ylabel("MiB beyond arguments")
        figure.tight_layout()
        figure.savefig(path, dpi=130)
        pyplot.close(figure)


@dataclass
class Part:
    """The memory of one stage of a graph. A compiled stage keeps its arena; what an interpreted one needs is let go of again."""

    arena: int
    results: int
    keeps: bool
    scratch: int = 0
    at_peak: list[HeldMemory] = field(default_factory=list)
    timeline: list[Moment] = field(default_factory=list)
    per_iteration: list[HeldMemory] = field(default_factory=list)


def combined(backend: str, graph: Graph, parts: Sequence[Part], overwritten: int = 0) -> MemoryReport:
    """The report of stages that run one after another, each with its results kept; some results are written over arguments."""
    before, highest, timeline = 0, -1, []
    peak: list[HeldMemory] = []
    for part in parts:
        timeline += [Moment(m.what, m.bytes + before, m.place) for m in part.timeline]
        if before + part.arena + part.results > highest:
            highest = before + part.arena + part.results
            peak = [*part.at_peak, *([HeldMemory("stages before", before)] if before else [])]
        before += part.results + part.arena * part.keeps
    results = sum(bytes_of(n.spec) for n in dict.fromkeys(graph.outputs)) - overwritten
    return MemoryReport(
        backend,
        max(highest - results, 0),
        results,
        sum(bytes_of(p.spec) for p in graph.params),
        sum({id(n.op.value): bytes_of(n.spec) for n in every_node(graph) if isinstance(n.op, Const)}.values()),
        max([p.scratch for p in parts], default=0),
        tuple(sorted(peak, key=lambda h: -h.bytes)),
        tuple(timeline),
        tuple([h for p in parts for h in p.per_iteration]),
    )


def interpreted(graph: Graph) -> Part:
    """An estimate for a graph that NumPy runs op by op: what is held by the lifetimes of values. Temporaries of kernels are not in it."""
    order = [n for n in updates_last(graph) if not isinstance(n.op, (Param, Const))]
    root: dict[Node, Node] = {}
    last: dict[Node, int] = {}
    for k, node in enumerate(order):
        for i in node.inputs:
            last[root.get(i, i)] = k
        shares = node.op.view or node.op.same_bytes or (isinstance(node.op, InPlace) and node.inputs[0] in root)
        root[node] = root.get(node.inputs[0], node.inputs[0]) if shares else node
        last[root[node]] = k
    last |= dict.fromkeys([root[n] for n in graph.outputs if n in root], len(order))
    ends: dict[int, list[Node]] = {}
    for node, k in last.items():
        ends.setdefault(k, []).append(node)
    part = Part(0, sum(bytes_of(n.spec) for n in dict.fromkeys(graph.outputs)), keeps=False)
    live: dict[Node, int] = {}
    highest = 0
    for k, node in enumerate(order):
        if root[node] is node and not isinstance(node.spec, tuple):
            live[node] = bytes_of(node.spec)
        inner = _inner(node, part)
        now = sum(live.values()) + inner if inner or node in live else part.timeline[-1].bytes if part.timeline else 0
        part.timeline.append(Moment(name_of(node), now, node.place))
        if now > highest:
            highest, part.at_peak = now, [held(n) for n in live]
            part.at_peak += [HeldMemory(f"inside {name_of(node)}", inner, None, node.place)] if inner else []
        for dead in ends.get(k, ()):
            live.pop(dead, None)
    part.arena = max(highest - part.results, 0)
    return part


def _inner(node: Node, part: Part) -> int:
    """What the graphs inside a branch or loop hold at their peak, the stacks of a loop with it."""
    if not isinstance(node.op, Control) or isinstance(node.op, InPlace):
        return 0
    inside = [interpreted(g) for g in node.op.graphs().values()]
    part.per_iteration += [h for p in inside for h in p.per_iteration]
    most = max([p.arena + p.results for p in inside], default=0)
    if not isinstance(node.op, Loop):
        return most
    for spec in node.spec[node.op.carried :]:
        each = prod(spec.shape[1:]) * spec.dtype.itemsize
        if spec.shape[0] < 0:
            part.per_iteration.append(HeldMemory("stack of a loop", each, spec.shape[1:], node.place))
        else:
            most += 2 * each * spec.shape[0]  # slices, and then the stack of them
    return most


def held(node: Node, what: str = "", size: int | None = None) -> HeldMemory:
    """A node's value as an entry of the report."""
    shape = None if isinstance(node.spec, tuple) or what else node.shape
    return HeldMemory(name_of(node) + what, bytes_of(node.spec) if size is None else size, shape, node.place)


def name_of(node: Node) -> str:
    """What a node computes, in a word."""
    op: Any = node.inputs[0].op if isinstance(node.op, Pick) else node.op
    op = op.op if isinstance(op, InPlace) else op
    name = getattr(op, "name", "") if isinstance(op, Param) else ""
    return name or type(op).__name__


def bytes_of(spec: Spec | tuple[Spec, ...]) -> int:
    """The bytes of a value; of one whose size is known only at run time, those that are known."""
    if isinstance(spec, tuple):
        return sum(map(bytes_of, spec))
    return prod(max(n, 0) for n in spec.shape) * spec.dtype.itemsize


def every_node(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph and of the graphs inside."""
    for node in graph.nodes:
        yield node
        if isinstance(node.op, Control):
            for inner in _graphs(node.op):
                yield from every_node(inner)


def _graphs(op: Any) -> Iterable[Graph]:
    return op.graphs().values()


def _together(entries: Iterable[HeldMemory]) -> list[HeldMemory]:
    """Equal entries as one, the largest first."""
    kinds: dict[tuple[Any, ...], list[HeldMemory]] = {}
    for h in entries:
        kinds.setdefault((h.what, h.shape, h.place), []).append(h)
    found = [
        replace(hs[0], what=hs[0].what if len(hs) == 1 else f"{len(hs)} x {hs[0].what}", bytes=sum(h.bytes for h in hs))
        for hs in kinds.values()
    ]
    return sorted(found, key=lambda h: -h.bytes)


def shown(size: int) -> str:
    """So many bytes, for people."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} B"


def _line(place: tuple[str, int] | None) -> str:
    return "" if place is None else f"  {os.path.basename(place[0])}:{place[1]}"
