"""A build that takes the time of each of its units, for `ad.profile`: between two units it notes the CPU's counter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from adjoint.backends.native.compiler import compiled, prepared, vector_bits
from adjoint.backends.native.emit.function_state import FunctionState
from adjoint.backends.native.emit.llvm_ir import Module
from adjoint.backends.native.plan.stages import Stages
from adjoint.backends.native.plan.units import Unit
from adjoint.backends.native.unit_names import NAMES, computed
from adjoint.graph.node import Graph, Node
from adjoint.graph.steps import Steps

SYMBOL = "adj_unit_clock"


@dataclass
class UnitClock:
    """Notes the counter after each group of units; `groups` are those, in the order in which they run."""

    groups: list[Sequence[Any]] = field(default_factory=list)
    ticks: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))

    def begin(self, code: Any) -> None:
        """Note the counter before the first unit."""
        code.module.declarations[f"@{SYMBOL} = external global i64"] = None
        code.module.declare("i64 @llvm.readcyclecounter()")
        self._note(code)

    def after(self, code: Any, group: Sequence[Any]) -> None:
        """Note the counter after a group of units."""
        self.groups.append(group)
        self._note(code)

    def _note(self, code: Any) -> None:
        now = code.put("call i64 @llvm.readcyclecounter()")
        where = code.put(f"getelementptr i64, ptr @{SYMBOL}, i64 {len(self.groups)}")
        code.do(f"store volatile i64 {now}, ptr {where}")

    def externals(self) -> dict[str, int]:
        """What the code is linked with: memory for the counter."""
        self.ticks = np.zeros(len(self.groups) + 1, np.int64)
        return {SYMBOL: self.ticks.ctypes.data}

    def seconds(self, run: Callable[..., Any], arrays: Sequence[Any]) -> tuple[Any, list[float]]:
        """The results of a call, and the seconds of each group: the call's own time, shared out by the counter."""
        start = perf_counter()
        found = run(*arrays)
        whole = perf_counter() - start
        steps = np.maximum(np.diff(self.ticks), 0).astype(np.float64)
        total = float(steps.sum())
        return found, [float(s) / total * whole if total else 0.0 for s in steps]


@dataclass(frozen=True)
class UnitTime:
    """One unit of machine code in one call: what it is, the nodes that it computes, and how long it took."""

    kind: str
    nodes: tuple[Node, ...]
    seconds: float


class TimedProgram:
    """A graph as machine code that takes the time of each unit; parts without code are steps of the interpreter."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.borders = prepared(graph)
        self.parts: list[tuple[Any, UnitClock | None, Graph, list[Node], list[Node]]] = []
        for native, part, inputs, outputs in Stages(self.graph).parts:
            clock = UnitClock() if native else None
            run = compiled(part, (), FunctionState(Module(clock=clock), vector_bits()))[0] if native else Steps(part)
            self.parts.append((run, clock, part, inputs, outputs))

    def __call__(self, *arrays: Any) -> list[UnitTime]:
        """The times of the units of one call."""
        values: dict[Node, Any] = dict(
            zip(self.graph.params, self.borders.given(arrays, self.graph.params), strict=True)
        )
        found: list[UnitTime] = []
        for run, clock, part, inputs, outputs in self.parts:
            given = [values[n] for n in inputs]
            if clock is None:
                start = perf_counter()
                results = run(*given)
                found.append(UnitTime("interpreter", tuple(part.calls), perf_counter() - start))
            else:
                results, seconds = clock.seconds(run, given)
                found += [UnitTime(*labelled(g), s) for g, s in zip(clock.groups, seconds, strict=True)]
            values.update(zip(outputs, results, strict=True))
        return found


def labelled(group: Sequence[Unit]) -> tuple[str, tuple[Node, ...]]:
    """What a group of units is, and the nodes that it computes."""
    nodes = tuple(dict.fromkeys(n for unit in group for n in computed(unit)))
    return "row-fused loops" if len(group) > 1 else NAMES[type(group[0])], nodes
