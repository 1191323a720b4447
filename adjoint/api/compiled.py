"""What a compiled function keeps: its graphs, the networks and Parameters in them, and how its results are put together."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import floor
from types import CellType
from typing import Any
from weakref import WeakSet

from adjoint import backends
from adjoint.api.symbolic import Template
from adjoint.core.dispatch import Value
from adjoint.core.parameter import Parameter
from adjoint.core.random import Draws, InGraph
from adjoint.core.spec import Spec, spec_of
from adjoint.core.verbs import verbs
from adjoint.graph.control import UNKNOWN
from adjoint.graph.fused import inlined
from adjoint.graph.node import Graph
from adjoint.graph.ruled import Ruled
from adjoint.graph.trace import Tracer, identity
from adjoint.passes import Report, optimise

RARE = 3  # calls of a batch size that the interpreter serves
optimised: WeakSet[Graph] = WeakSet()  # graphs that need no further pass


@functools.lru_cache(maxsize=1024)
def executable(graph: Graph, backend: str) -> Any:
    """The compiled form of a graph, made once."""
    flat = inlined(graph, Ruled)  # the rules have done their work: what is left is to compute
    return backends.load(backend).compile(flat if flat in optimised else optimise(flat)[0])


verbs.executable, verbs.optimise = executable, optimise


@dataclass(frozen=True)
class Compilation:
    """One graph of a compiled function, and why it was made."""

    reason: str
    graph: Graph
    seconds: float
    reports: tuple[Report, ...] = field(repr=False, default=())


class TracedParameters(dict):
    """While a graph is built, each Parameter stands for an input of it."""

    def __init__(self, outer: dict | None, tracer: Tracer) -> None:
        super().__init__()
        self.outer = outer or {}
        self.tracer = tracer
        self.order: list[Parameter] = []

    def __contains__(self, p: object) -> bool:
        return True

    def __missing__(self, p: Parameter) -> Any:
        self.order.append(p)
        self[p] = value = self.tracer.param(spec_of(self.outer.get(p, p._value)), p.name)
        return value


@dataclass(frozen=True, eq=False)
class Entry:
    """A graph ready to be called."""

    graph: Graph
    parameters: list[Parameter]
    rebuild: Callable[[list[Any]], Any]
    captured: list[Any]
    draws: Draws | None = None  # what it draws at random
    cells: dict[Any, float] = field(default_factory=dict)  # the networks inside, as they were
    around: Callable[[], dict[str, Any]] = dict  # the values that the function finds around it, by name
    bound: dict[str, Any] = field(default_factory=dict)  # the names that stood for what was captured
    template: Template | None = None  # for other batch sizes
    plain: list[Graph] = field(default_factory=list)  # the graphs behind it, before any pass
    sizes: dict[int, Graph] = field(default_factory=dict)
    calls: Counter[int | None] = field(default_factory=Counter)  # how often each batch size came

    def outdated(self) -> str | None:
        """The attribute of a network that has changed since the graph was built."""
        for cell, version in self.cells.items():
            if cell._version != version:
                return f"attribute `{cell._changed}` of {type(cell).__name__} changed"
        if self.bound:
            now = self.around()
            return next((f"`{name}` is another Tensor" for name, x in self.bound.items() if now.get(name) != x), None)
        return None

    def is_over(self) -> bool:
        """Whether a network has changed in more than being in training, so that the graph will not fit again."""
        if self.bound and self.bound.items() - self.around().items():
            return True
        return any(floor(cell._version) != floor(version) for cell, version in self.cells.items())

    def is_rare(self, size: int | None) -> bool:
        """Whether a batch size has not come often enough to be worth machine code of its own."""
        return self.template is not None and size is not None and self.calls[size] <= RARE

    def at(self, size: int | None) -> Graph:
        """The graph for a batch size."""
        if self.template is None or size is None:
            return self.graph
        graph = self.sizes.get(size)
        if graph is None:
            graph = self.sizes[size] = self.template.at(size)
            optimised.add(graph)
        return graph


def values_around(fn: Any) -> dict[str, Any]:
    """What the variables around a function stand for, of those that it names and that hold Tensors."""
    code = getattr(fn, "__code__", None)
    if code is None:
        return {}
    cells = zip(code.co_freevars, fn.__closure__ or (), strict=True)
    found = {name: fn.__globals__.get(name) for name in code.co_names}
    found |= {name: cell.cell_contents for name, cell in cells if cell != CellType()}
    return {name: identity(x) for name, x in found.items() if isinstance(x, Value)}


def opened(spec: Spec) -> Spec:
    return replace(spec, shape=(UNKNOWN, *spec.shape[1:]))


def put_together(rebuild: Any, numeric: list[bool], still: list[Any]) -> Callable[[list[Any]], Any]:
    """The function's result again: its numbers as computed, anything else as it was when the graph was built."""

    def put(values: list[Any]) -> Any:
        moving, others = iter(values), iter(still)
        return rebuild([next(moving) if yes else next(others) for yes in numeric])

    return put


def in_order(tracer: Tracer, count: int, parameters: TracedParameters, drawing: InGraph) -> tuple[Any, ...]:
    """The graph's inputs: arguments, Parameters, values from outside, the first ticket of its draws."""
    mine = {parameters[p]._value for p in parameters.order}
    arguments, rest = tracer.builder.params[:count], tracer.builder.params[count:]
    last = [x._value for x in drawing.inputs]
    outside = (n for n in rest if n not in mine and n not in last)
    return (*arguments, *(n for n in rest if n in mine), *outside, *last)
