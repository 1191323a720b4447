"""What a compiled function keeps: its graphs, the networks and Parameters in them, and how its results are put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import floor
from typing import Any
from weakref import WeakSet

from adjoint import backends
from adjoint.api.arguments import CallArguments
from adjoint.api.compiling import takes_time
from adjoint.api.lenient import as_python
from adjoint.api.symbolic import GraphTemplate
from adjoint.core import compile_line, context, watching
from adjoint.core.dispatch import DEVICE
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.random_counters import Draws, InGraph
from adjoint.core.rules import kept
from adjoint.core.short_text import short
from adjoint.core.spec import Spec, spec_of
from adjoint.core.stores import Bindings
from adjoint.frontend.guards import LENGTH, Contents, Guard, Items, Kind, Length, first_change, image
from adjoint.frontend.places import AttributeOf
from adjoint.frontend.reads import PlaceInput, Reads
from adjoint.graph.control import UNKNOWN
from adjoint.graph.node import Graph
from adjoint.graph.ruled import without_rules
from adjoint.graph.trace import Tracer, identity
from adjoint.passes import Report, optimise
from adjoint.passes.dead import dead
from adjoint.transforms.tape import AMBIENT

FEW_CALLS = 1  # calls of a graph that do not make up for compiling it
RARE = 3  # calls of a batch size that the interpreter serves
optimised: WeakSet[Graph] = WeakSet()  # graphs that need no further pass


def executable(graph: Graph, backend: str) -> Any:
    """The compiled form of a graph, made once and let go with it. Who looks on is shown each step."""
    return _executable(graph, "interpreter" if watching.active and watching.watcher() is not None else backend)


@kept
@takes_time
def _executable(graph: Graph, backend: str) -> Any:
    ready = _ready(graph, backend)
    compile_line.stage(f"making code of {len(ready.nodes):,} nodes")
    return backends.compiled(backend, ready)


def memory_of(graph: Graph, backend: str, donated: tuple[int, ...]) -> Any:
    """What a call of a graph will take of memory; inputs that are donated may be overwritten."""
    memory = backends.ability(backends.load(backend), "memory", backend, "say what a call takes of memory")
    return memory(_ready(graph, backend), donated)


def _ready(graph: Graph, backend: str) -> Graph:
    """The graph as a backend takes it."""
    flat = without_rules(
        graph, parts=not backends.has_kernels(backend)
    )  # they have done their work: what is left is to compute
    return dead(flat if flat in optimised else optimise(flat)[0], final=True)


@dataclass(frozen=True)
class Compilation:
    """One graph of a compiled function, and why it was made."""

    reason: str
    graph: Graph
    seconds: float
    reports: tuple[Report, ...] = field(repr=False, default=())


class TracedParameters(Bindings):
    """While a graph is built, each Parameter stands for an input of it."""

    def __init__(self, outer: dict | None, tracer: Tracer) -> None:
        super().__init__()
        self.outer = outer or {}
        self.tracer = tracer
        self.order: list[Parameter] = []
        self.nodes: list[Any] = []  # the inputs, in the same order
        self.tracked: set[Parameter] = set()  # those read for themselves, not as a weight of a gradient alone

    def __contains__(self, p: object) -> bool:
        return True

    def __missing__(self, p: Parameter) -> Any:
        self.order.append(p)
        self[p] = value = self.tracer.param(spec_of(self.outer.get(p, p._value)), p.name)
        self.nodes.append(value._value)
        return value


@dataclass(frozen=True)
class CellChange:
    """An attribute of a network that is not what it was when a graph was built."""

    label: str
    was: str
    now: str

    @staticmethod
    def of(cell: Any, before: dict[str, str]) -> CellChange:
        """What has changed in a network since its attributes were noted; if several have, that which was set last."""
        now, name = attributes(cell), cell._changed
        if before.get(name) == now.get(name):
            others = [k for k in {**before, **now} if before.get(k) != now.get(k)]
            name = others[0] if others else name
        return CellChange(
            f"attribute `{name}` of {type(cell).__name__}", before.get(name, "nothing"), now.get(name, "nothing")
        )

    def reason(self) -> str:
        """What has changed, in words."""
        return f"{self.label} changed" + (f" from {self.was} to {self.now}" if self.was != self.now else "")


def attributes(cell: Any) -> dict[str, str]:
    """The attributes of a network as text, to be compared later; those that only the library knows are left out."""
    inside = {name: f"a {type(x).__name__}" for name, x in cell.__dict__.get("_cells", {}).items()}
    return inside | {name: short(x) for name, x in cell.__dict__.items() if not name.startswith("_")}


@dataclass(frozen=True, eq=False)
class Entry:
    """A graph ready to be called."""

    graph: Graph
    parameters: list[Parameter]
    rebuild: Callable[[list[Any]], Any]
    captured: list[Any]
    draws: Draws | None = None  # what it samples
    written: tuple[int, ...] = ()  # the arguments that the function writes to, which are the first results
    cells: dict[Any, float] = field(default_factory=dict)  # the networks inside, as they were
    attributes: dict[Any, dict[str, str]] = field(default_factory=dict)  # what their attributes were, as text
    guards: tuple[Guard, ...] = ()  # what it was built on besides
    check: Callable[[], bool] = bool  # whether they hold
    template: GraphTemplate | None = None  # for other batch sizes
    plain: list[Graph] = field(default_factory=list)  # the graphs behind it, before any pass
    sizes: dict[int, Graph] = field(default_factory=dict)
    calls: Counter[int | None] = field(default_factory=Counter)  # how often each batch size came
    served: Counter[str] = field(default_factory=Counter)  # how many short ways there have been
    orders: tuple[Any, ...] | None = None  # how the arguments lie in memory, where it matters to what is written
    points: list[int] | None = None  # which arguments without axes are arrays, where that matters
    tracked: set[Parameter] = field(default_factory=set)  # the Parameters that `backward()` is to reach
    python: bool = False  # whether some results are numbers of Python's own
    stored: tuple[Parameter, ...] = ()  # those that it writes to, whose values are results behind the written arguments

    def misfit(self, made: CallArguments, describe: Callable[[str], str]) -> str | None:
        """What is wrong where arguments do not lie in memory as those that it was made for, and it matters."""
        if self.orders is not None and self.orders != (now := made.orders()):
            changed = [path for path, a, b in zip(made.paths(), self.orders, now, strict=True) if a != b]
            return f"the order of {describe(changed[0])} in memory changed"
        if self.points is not None and self.points != (points := made.points()):
            path = made.paths()[min(set(points) ^ set(self.points))]
            return f"{describe(path)} is an array without axes in one call and a number in the other"
        return None

    def change(self) -> Guard | CellChange | None:
        """What has changed since the graph was built: an attribute of a network, or what was found at a place."""
        for cell, version in self.cells.items():
            if cell._version != version:
                return CellChange.of(cell, self.attributes.get(cell, {}))
        return None if self.check() else first_change(self.guards)

    def hardly_used(self) -> bool:
        """Whether it has run so seldom that it was not worth compiling."""
        return self.calls.total() <= FEW_CALLS

    def outdated(self) -> bool:
        """Whether anything has changed since the graph was built."""
        return any(cell._version != version for cell, version in self.cells.items()) or not self.check()

    def is_over(self) -> bool:
        """Whether a network has changed in more than being in training, so that the graph will not fit again."""
        return any(floor(cell._version) != floor(version) for cell, version in self.cells.items())

    def weights(self) -> list[Any]:
        """What the Parameters stand for; `backward()` reaches those that the function reads for themselves, as it does op by op."""
        return [resolve(p, for_backward=p in self.tracked) for p in self.parameters]

    def inputs(self) -> list[Any]:
        """What the graph takes behind its arguments and Parameters."""
        return [x.value() if type(x) is PlaceInput else x for x in self.captured]

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


def guards_of(reads: Reads, captured: list[Any], cells: dict[Any, float]) -> tuple[list[Any], tuple[Guard, ...]]:
    """The captured values, read anew in each run where it is known where they were, and what must hold for the graph."""
    guards = reads.settled()
    live: list[Any] = []
    for x in captured:
        place = None if type(x) is PlaceInput else reads.tensors.get(identity(x))
        if place is not None and (x._trace is AMBIENT or x._trace is DEVICE):
            guards[place.key, "kind"] = Guard(place, Kind(Kind.of(place.get())))
            x = PlaceInput(place)
        live.append(x)
    for cls in {type(cell) for cell in cells}:
        place = AttributeOf(cls, "construct", f"`{cls.__name__}.construct`")
        guards.setdefault((place.key, False), Guard(place, image(cls.construct)))
    return live, tuple(guards.values())


def taken_over(entry: Entry, outer: Reads | None) -> list[Any]:
    """What a graph captured; a graph being built around it depends on the same places."""
    if outer is None:
        return entry.inputs()
    for guard in entry.guards:
        if type(guard.image) is not Kind:
            how = LENGTH if type(guard.image) is Length else type(guard.image) in (Contents, Items)
            outer.guards.setdefault((guard.place.key, how), guard)
    used = context.cells.get()
    if used is not None:
        for cell, version in entry.cells.items():
            used.setdefault(cell, version)
    return [outer.see(x.place, x.place.get()) if type(x) is PlaceInput else x for x in entry.captured]


def opened(spec: Spec) -> Spec:
    return replace(spec, shape=(UNKNOWN, *spec.shape[1:]))


def put_together(rebuild: Any, numeric: list[bool], still: list[Any], python: list[bool]) -> Callable[[list[Any]], Any]:
    """The function's result again: its numbers as computed, anything else as it was when the graph was built.

    `python` says which numbers are to be Python's own.
    """
    some = any(python)

    def put(values: list[Any]) -> Any:
        values = as_python(values, python) if some else values
        numbers, others = iter(values), iter(still)
        return rebuild([next(numbers) if yes else next(others) for yes in numeric])

    return put


def in_order(tracer: Tracer, count: int, parameters: TracedParameters, drawing: InGraph) -> tuple[Any, ...]:
    """The graph's inputs: arguments, Parameters, values from outside, the first counter of its samples."""
    mine = set(parameters.nodes)
    arguments, rest = tracer.builder.params[:count], tracer.builder.params[count:]
    last = [x._value for x in drawing.inputs]
    outside = (n for n in rest if n not in mine and n not in last)
    return (*arguments, *(n for n in rest if n in mine), *outside, *last)
