"""How long the units of machine code take: graphs run once more, in a build that notes the time between units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from adjoint.backends.memory_report import every_node
from adjoint.graph.node import Graph

Place = tuple[str, int]


@dataclass(frozen=True)
class UnitRow:
    """One unit of a graph's machine code: a loop nest, a kernel, a product with what follows it."""

    kind: str
    ops: tuple[str, ...]
    places: tuple[Place, ...]
    calls: int
    seconds: float


class NativeTimes:
    """The times of the units of all graphs that ran."""

    def __init__(self) -> None:
        self.spent = 0.0  # seconds that all of this took
        self._programs: dict[Graph, Any] = {}
        self._found: dict[tuple[Graph, int], tuple[Any, list[float]]] = {}

    def run(self, graph: Graph, inputs: Sequence[Any]) -> float:
        """Run a graph's machine code; gives the seconds that it took to do so. What has effects is not run again."""
        start = perf_counter()
        if not any(n.op.effect or getattr(n.op, "opaque", False) for n in every_node(graph)):
            program = self._programs.get(graph)
            if program is None:
                from adjoint.backends.native.unit_times import TimedProgram

                program = self._programs[graph] = TimedProgram(graph)
                program(*inputs)  # memory is touched for the first time
            for k, unit in enumerate(program(*inputs)):
                self._found.setdefault((graph, k), (unit, []))[1].append(unit.seconds)
        extra = perf_counter() - start
        self.spent += extra
        return extra

    def rows(self) -> list[UnitRow]:
        """The units, most time first."""
        rows = []
        for unit, seconds in self._found.values():
            places = dict.fromkeys(tuple(n.place) for n in unit.nodes if n.place is not None)
            ops = tuple(type(getattr(n.op, "op", n.op)).__name__ for n in unit.nodes)
            rows.append(UnitRow(unit.kind, ops, tuple(places), len(seconds), sum(seconds)))
        return sorted(rows, key=lambda row: -row.seconds)
