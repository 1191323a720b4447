"""A graph cut into stages, each a graph of its own, to run on devices of their own one after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from time import perf_counter
from typing import Any

from adjoint.api.compiled import executable
from adjoint.backends import checked, chosen
from adjoint.backends.memory_report import shown
from adjoint.core import context
from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.core.spec import spec_of
from adjoint.core.tables import Table
from adjoint.graph.node import Builder, Const, Graph, Node, Param, Pick, stands_for
from adjoint.graph.walk import apply, interpret
from adjoint.parallel.best_cut import CrossingValue, best_cut
from adjoint.parallel.machines import CPU_CORE, Machine
from adjoint.passes.cost import work
from adjoint.passes.forward_items import bytes_of

REPEATS = 3  # runs of which the fastest counts, where times are measured


@dataclass(frozen=True, eq=False)
class Stage:
    """One part of a graph: a graph whose inputs and results are values of the whole graph, named by its nodes.

    `inputs` and `outputs` have a node of the whole graph for each input and result of `graph`: an input of the whole, or a value
    that another stage makes. `seconds` is what its steps take, `received` are the bytes that come from other stages.
    """

    graph: Graph
    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    steps: int
    seconds: float
    received: int


@dataclass(frozen=True, eq=False)
class CutGraph:
    """A graph as stages. Called with arrays, it runs them one after another and gives what the graph gives.

    Printed, it is a table: the steps of each stage, its share of the time, and the bytes that it receives from stages before it.
    """

    graph: Graph
    stages: tuple[Stage, ...]
    machine: Machine = field(repr=False, default=CPU_CORE)

    @property
    def crossing_bytes(self) -> int:
        """The bytes that go from one stage to another in one run."""
        return sum(s.received for s in self.stages)

    @property
    def balance(self) -> float:
        """The mean time of a stage over the longest: 1 if all take the same time."""
        times = [s.seconds for s in self.stages]
        return sum(times) / len(times) / max(times) if max(times) else 1.0

    def __call__(self, *arrays: Any, backend: str | None = None) -> list[Any]:
        """Run stage by stage, on the interpreter, as machine code, or on any backend."""
        name = chosen() if backend is None else checked(backend)
        values: dict[Node, Any] = dict(zip(self.graph.params, given(self.graph, arrays, "a cut graph"), strict=True))
        for stage in self.stages:
            found = executable(stage.graph, name)(*(values[n] for n in stage.inputs))
            values.update(zip(stage.outputs, found, strict=True))
        return [values[n] for n in self.graph.outputs]

    def table(self) -> Table:
        """The stages as a table."""
        total = sum(s.seconds for s in self.stages) or 1.0
        rows = [
            (str(k), str(s.steps), f"{s.seconds / total:.1%}", str(len(_crossing(s))), shown(s.received))
            for k, s in enumerate(self.stages)
        ]
        return Table(("stage", "steps", "time", "values received", "bytes received"), rows)

    def __str__(self) -> str:
        return f"{self.table().text()}\nbalance {self.balance:.2f}, {shown(self.crossing_bytes)} cross"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The table, for notebooks."""
        return f"{self.table().html()}<p>balance {self.balance:.2f}, {shown(self.crossing_bytes)} cross</p>"


def cut_graph(
    graph: Graph,
    n: int,
    *,
    times: Mapping[Node, float] | Callable[[Node], float] | None = None,
    inputs: Sequence[Any] | None = None,
    machine: Machine = CPU_CORE,
) -> CutGraph:
    """A graph cut into `n` stages, balanced by time and by bytes that cross.

    The steps keep their order, and a stage is a run of them: the longest stage, the transfer of what it receives counted in, is as short as
    can be, and of all such cuts the one over which the fewest bytes go is taken. Constants, and views no smaller than what they show, are made
    in every stage that reads them. Branches and loops are steps: they stay whole.

    Args:
        graph: the graph, for example of `ad.graph.trace_function`.
        n: how many stages, from 1 to the number of steps.
        times: the seconds of each step, as a mapping or a function of nodes, if they are known.
        inputs: arrays to run the graph on, step by step, to measure them. Without either they are estimated from shapes.
        machine: what the estimates and the transfers are worked out with.

    >>> import adjoint as ad
    >>> def f(x, a, b):
    ...     return ad.ops.tanh(ad.ops.tanh(x @ a) @ b).sum()
    >>> x, a, b = (ad.ops.ones(shape) for shape in ((32, 256), (256, 256), (256, 256)))
    >>> graph = ad.graph.trace_function(f, [x, a, b])
    >>> cut = ad.parallel.cut_graph(graph, 2)
    >>> print(cut)
    stage  steps   time  values received  bytes received
    0          2  49.8%                0             0 B
    1          3  50.2%                1        32.0 KiB
    balance 1.00, 32.0 KiB cross
    """
    if not isinstance(graph, Graph):
        raise ArgumentTypeError(
            f"cut_graph: the first argument must be a Graph, as `ad.graph.trace_function(f, inputs)` gives, not "
            f"{type(graph).__name__}{called_at()}"
        )
    order = _Order(graph)
    _check_count(n, len(order.steps))
    if times is not None and inputs is not None:
        raise ArgumentError(f"cut_graph: give times= or inputs= to measure them, not both{called_at()}")
    seconds = _seconds(order.steps, _costs(graph, times, inputs, machine))
    starts = best_cut(seconds, order.values(machine), n)
    ends = [*starts, len(order.steps)]
    stages = [order.stage(a, b, seconds) for a, b in zip([0, *starts], ends, strict=True)]
    return CutGraph(graph, tuple(stages), machine)


def given(graph: Graph, arrays: Sequence[Any], what: str) -> list[Any]:
    """The inputs of a graph, if they are as many and of such shapes."""
    if len(arrays) != len(graph.params):
        raise ArgumentError(
            f"{what}: {len(arrays)} inputs were given, the graph takes {len(graph.params)}{called_at()}"
        )
    for k, (x, p) in enumerate(zip(arrays, graph.params, strict=True)):
        shape = tuple(getattr(x, "shape", ()))
        if shape != p.spec.shape:
            raise ArgumentError(f"{what}: input {k} has shape {shape}, the graph takes {p.spec}{called_at()}")
    return [getattr(x, "_value", x) for x in arrays]


def measured_seconds(graph: Graph, inputs: Sequence[Any]) -> dict[Node, float]:
    """How long each step takes on the interpreter: the fastest of a few runs.

    >>> import numpy as np
    >>> import adjoint as ad
    >>> graph = ad.graph.trace_function(lambda x: ad.ops.sin(x), [ad.ops.ones(3)])
    >>> [seconds > 0 for seconds in measured_seconds(graph, [np.ones(3)]).values()]
    [True]
    """
    if graph.effects:
        raise ArgumentError(
            f"cut_graph: this graph prints, checks or calls the host; it is not run only to be measured: give times= or neither{called_at()}"
        )
    arrays = given(graph, inputs, "cut_graph")
    found: dict[Node, float] = {}

    def step(node: Node, values: list[Any]) -> Any:
        start = perf_counter()
        y = apply(node, values)
        found[node] = min(perf_counter() - start, found.get(node, float("inf")))
        return y

    with context.setting(context.replaying, True):
        for _ in range(REPEATS):
            interpret(graph, arrays, step)
    return {n: s for n, s in found.items() if not isinstance(n.op, (Const, Pick))}


def _check_count(n: Any, steps: int) -> None:
    if isinstance(n, bool) or not isinstance(n, int):
        raise ArgumentTypeError(f"cut_graph: the number of stages must be an integer, not {n!r}{called_at()}")
    if n < 1:
        raise ArgumentError(f"cut_graph: a graph has at least one stage, not {n}{called_at()}")
    if n > steps:
        raise ArgumentError(
            f"cut_graph: a graph of {steps} steps cannot be cut into {n} stages; a branch, or a loop that stays one in the graph, is one step{called_at()}"
        )


def _costs(graph: Graph, times: Any, inputs: Sequence[Any] | None, machine: Machine) -> Callable[[Node], float]:
    if inputs is not None:
        times = measured_seconds(graph, inputs)
    if times is None:
        return lambda node: _estimated(node, machine)
    if callable(times):
        return times
    known: Mapping[Node, float] = times
    return lambda node: known.get(node, 0.0)


def _estimated(node: Node, machine: Machine) -> float:
    done = work(node)
    return machine.seconds(done.flops, done.bytes)


def _seconds(steps: Sequence[Node], cost: Callable[[Node], float]) -> list[float]:
    found = [float(cost(node)) for node in steps]
    for node, s in zip(steps, found, strict=True):
        if not (isfinite(s) and s >= 0):
            raise ArgumentError(f"cut_graph: the time of {node.op} is {s}; it must be zero or more{called_at()}")
    return found


def _crossing(stage: Stage) -> list[Node]:
    return [n for n in stage.inputs if not isinstance(n.op, Param)]


def _is_shown(node: Node) -> bool:
    """Whether a node shows all of its one input, or repeats it: made again where it is read, rather than sent."""
    if not (node.op.view or node.op.same_bytes) or len(node.inputs) != 1 or isinstance(node.inputs[0].spec, tuple):
        return False
    return not node.op.effect and bytes_of(node.spec) >= bytes_of(node.inputs[0].spec)


def held(node: Node) -> Node:
    """The value that a node shows: what crosses if the node is read in another stage."""
    while _is_shown(node):
        node = node.inputs[0]
    return node


class _Order:
    """The steps of a graph in their order, and who makes and reads each value."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.steps = [n for n in graph.nodes if not (isinstance(n.op, (Param, Const, Pick)) or _is_shown(n))]
        self.place = {node: k for k, node in enumerate(self.steps)}

    def made(self, value: Node) -> int:
        """The step that makes a value; -1 for inputs and constants."""
        return self.place.get(value.inputs[0] if isinstance(value.op, Pick) else value, -1)

    def values(self, machine: Machine) -> list[CrossingValue]:
        """What may cross."""
        readers: dict[Node, list[int]] = {}
        for k, node in enumerate(self.steps):
            for value in dict.fromkeys(map(held, node.inputs)):
                if self.made(value) >= 0:
                    readers.setdefault(value, []).append(k)
        return [
            CrossingValue(self.made(v), tuple(at), bytes_of(v.spec), machine.transfer(bytes_of(v.spec)))
            for v, at in readers.items()
        ]

    def stage(self, start: int, end: int, seconds: Sequence[float]) -> Stage:
        """The steps from `start` up to `end` as a graph of their own."""
        build = _StageGraph()
        for node in self.steps[start:end]:
            build.node(node)
        outputs = tuple(self._results(start, end))
        results = tuple([build.node(n) for n in outputs])
        effects = tuple(build.found[n] for n in self.graph.effects if n in self.place and start <= self.place[n] < end)
        graph = Graph(tuple(build.builder.params), results, f"{self.graph.name}, steps {start} to {end - 1}", effects)
        received = sum(bytes_of(n.spec) for n in build.inputs if not isinstance(n.op, Param))
        return Stage(graph, tuple(build.inputs), outputs, end - start, sum(seconds[start:end]), received)

    def _results(self, start: int, end: int) -> list[Node]:
        """What a stage gives: values that later stages read, and results of the whole graph."""
        found: dict[Node, None] = {}
        for node in self.steps[end:]:
            for value in map(held, node.inputs):
                if start <= self.made(value) < end:
                    found[value] = None
        for node in self.graph.outputs:
            at = self.made(held(node))
            if start <= at < end or (at < 0 and end == len(self.steps)):
                found[node] = None
        return list(found) or [Node(Const(True), (), spec_of(True))]  # a stage that only prints: graphs have a result


class _StageGraph:
    """A stage's graph while it is built; what it does not make is an input of it."""

    def __init__(self) -> None:
        self.builder, self.inputs = Builder(), list[Node]()
        self.found: dict[Node, Node] = {}

    def node(self, n: Node) -> Node:
        """The node's like in this stage."""
        waiting = [n]
        while waiting:
            at = waiting[-1]
            if at in self.found:
                waiting.pop()
                continue
            missing = [i for i in dict.fromkeys(at.inputs) if i not in self.found]
            here = [i for i in missing if self._is_made_here(i)]
            if here:
                waiting += here
                continue
            for i in missing:
                self._input(i)
            if isinstance(at.op, Param):
                self._input(at)
            else:
                self.found[at] = self.builder.keep(at, at.op, tuple([self.found[i] for i in at.inputs]))
        return self.found[n]

    def _is_made_here(self, value: Node) -> bool:
        """Whether a value that is not there yet takes no step of another stage."""
        if isinstance(value.op, Pick):
            return value.inputs[0] in self.found
        return isinstance(value.op, Const) or _is_shown(value)

    def _input(self, value: Node) -> None:
        self.found[value] = self.builder.param(value.spec, getattr(value.op, "name", ""))
        stands_for(self.found[value], value)
        self.inputs.append(value)
