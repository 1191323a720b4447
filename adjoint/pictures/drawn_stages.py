"""From a function to the graphs that a picture shows: forward and derivative graph, as written and after each pass."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.dispatch import Value, lift
from adjoint.core.errors import AdjointError
from adjoint.core.random_counters import PROGRAM
from adjoint.graph.derivatives import vjp_graph
from adjoint.graph.nested import Control, float_positions
from adjoint.graph.node import Const, Graph, Node, Param, Pick
from adjoint.graph.trace import trace
from adjoint.graph.walk import replay
from adjoint.pictures.scopes import Locator, Origin, origin_of


@dataclass(frozen=True)
class GraphPair:
    """A stage of a program: its graph and its derivative graph, if it has one, and how each input and result is called."""

    name: str
    forward: Graph
    derivative: Graph | None
    seconds: float = 0.0
    seeded: bool = False  # whether the cotangents of the results are inputs of the derivative, and not ones


@dataclass(frozen=True)
class DrawnProgram:
    """What is drawn: the stages, the names of inputs and results, and values of the inputs if there are any."""

    title: str
    stages: list[GraphPair]
    inputs: list[str]
    results: list[str]
    values: list[Any] | None = field(repr=False, default=None)
    wanted: tuple[int, ...] = ()  # the inputs that have a derivative
    active: tuple[int, ...] = ()  # the results that have one
    note: str = ""  # why there is no derivative, where one was wanted


def program_of(
    fn: Any, args: tuple[Any, ...], derivative: bool, passes: bool, kwargs: dict[str, Any] | None = None
) -> DrawnProgram:
    """A function with arguments like these, or a graph."""
    if isinstance(fn, Graph):
        graph, names, values = fn, [p.op.name or f"x{i}" for i, p in enumerate(fn.params)], list(args) or None
    else:
        graph, names, values = _traced(fn, args, kwargs or {})
    graph = stamped(graph, _numbered(count()))
    wanted, active = float_positions([p.spec for p in graph.params]), float_positions(graph.specs)
    results = ["result"] if len(graph.outputs) == 1 else [f"result {i}" for i in range(len(graph.outputs))]
    pull, note = _pulled(graph, wanted, active) if derivative else (None, "")
    stages = list(_stages(graph, pull, active, passes))
    return DrawnProgram(graph.name, stages, names, results, values, wanted, active, note)


def _traced(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Graph, list[str], list[Any] | None]:
    """The graph of a function with the origins of its steps, the names of its inputs, and their values."""
    from adjoint.api.jit import Jitted, jit
    from adjoint.passes import PASSES

    inner = fn._fn if type(fn) is Jitted else fn  # anew, so that it is known where the steps come from
    jitted = jit(inner, passes_off=[name for name, _ in PASSES])
    with context.setting(context.locating, Locator(sys._getframe())):
        made, entry, size = jitted._prepared(args, kwargs)
    graph, changed = entry.at(size), len(entry.written) + len(entry.stored)
    if entry.draws is not None and entry.draws.count is None:
        graph = replace(graph, outputs=graph.outputs[:-1])  # the counter after it
    graph = replace(graph, outputs=graph.outputs[changed:])
    names = [jitted._signature.describe(path).strip("`") for path in made.paths()]
    inputs = [*made.numbers, *entry.weights(), *entry.inputs()]
    if entry.draws is not None:
        inputs += [np.int64(PROGRAM.state()), np.int64(0)]  # looked at, not taken
    given = [p.op.name for p in graph.params[len(names) :]]
    names += [name or f"outside {i}" for i, name in enumerate(given)]
    if entry.draws is not None:
        names[-2:] = ["random counter", "example"]
    values = [_plain(x) for x in inputs]
    return graph, names, None if any(isinstance(x, Value) for x in values) else values


def _plain(x: Any) -> Any:
    """The array of a Tensor; half precision stays one, whose ops are Tensors' own."""
    return lift(x._value if isinstance(x, Value) and isinstance(x._value, np.ndarray) else x)


# ---------------------------------------------------------------- stages


def _pulled(graph: Graph, wanted: tuple[int, ...], active: tuple[int, ...]) -> tuple[Graph | None, str]:
    """The derivative graph, or why there is none."""
    if not wanted or not active:
        return None, f"no derivative: no {'result' if wanted else 'input'} is a number with a derivative"
    try:
        return _told_apart(vjp_graph(graph, wanted, active), graph), ""
    except AdjointError as error:
        return None, f"no derivative: {error}"


def _stages(graph: Graph, pull: Graph | None, active: tuple[int, ...], passes: bool) -> Iterator[GraphPair]:
    """The graph and its derivative graph as they come about, and after each pass."""
    from adjoint.passes import optimise

    yield GraphPair("as written" if pull is None else "as derived", graph, pull, seeded=True)
    if not passes:
        return
    reports = optimise(graph)[1]
    if pull is None:
        for report in reports:
            yield GraphPair(report.name, report.graphs[1], None, report.seconds)
        return
    for mine, its in zip(reports, optimise(_with_ones(pull, graph, active))[1], strict=True):
        yield GraphPair(mine.name, mine.graphs[1], its.graphs[1], mine.seconds + its.seconds)


def _with_ones(pull: Graph, graph: Graph, active: tuple[int, ...]) -> Graph:
    """The gradient of the sum of the results: their cotangents are ones."""
    ones = [np.ones(graph.outputs[i].shape, graph.outputs[i].dtype) for i in active]
    specs = [p.spec.strong for p in graph.params]
    with context.setting(context.open_tape, None):
        return trace(lambda *xs: replay(pull, [*xs, *ones]), specs, f"gradient of {graph.name}", "jit", replayed=True)[
            0
        ]


# ---------------------------------------------------------------- which step belongs to which


def stamped(graph: Graph, origin: Callable[[Node], Origin]) -> Graph:
    """The same graph, its steps with the origins that a function gives them; in the graphs of control flow too."""
    return _stamped(graph, origin, {})


def _stamped(graph: Graph, origin: Callable[[Node], Origin], done: dict[Graph, Graph]) -> Graph:
    if graph in done:
        return done[graph]
    found: dict[Node, Node] = {p: p for p in graph.params}
    for node in graph.nodes:
        if node not in found:
            op = node.op.mapped(lambda g: _stamped(g, origin, done)) if isinstance(node.op, Control) else node.op
            inputs = tuple([found[n] for n in node.inputs])
            place = inputs[0].place if isinstance(node.op, Pick) else origin(node)
            found[node] = Node(op, inputs, node.spec, place)
    outputs, effects = (tuple([found[n] for n in ns]) for ns in (graph.outputs, graph.effects))
    done[graph] = replace(graph, outputs=outputs, effects=effects)
    return done[graph]


def _numbered(numbers: Iterator[int]) -> Callable[[Node], Origin]:
    def origin(node: Node) -> Origin:
        old = origin_of(node)
        return Origin(node.place, old.scope, next(numbers), old.backward)

    return origin


def _told_apart(pull: Graph, forward: Graph) -> Graph:
    """A derivative graph in which every step says whether it is one of the forward graph again, or of the derivative."""
    again = repeated(pull, forward)
    whole = {node: node in again for node in pull.nodes}
    inner: dict[Graph, bool] = {}
    for node in pull.calls:
        if isinstance(node.op, Control):
            for graph in node.op.graphs().values():
                _note(graph, whole[node], inner)
    flags = {**{n: yes for g, yes in inner.items() for n in g.nodes}, **whole}

    def origin(node: Node) -> Origin:
        old = origin_of(node)
        return Origin(node.place, old.scope, old.key, not flags[node])

    return stamped(pull, origin)


def _note(graph: Graph, again: bool, inner: dict[Graph, bool]) -> None:
    inner[graph] = again
    for node in graph.calls:
        if isinstance(node.op, Control):
            for g in node.op.graphs().values():
                _note(g, again, inner)


def repeated(pull: Graph, forward: Graph) -> dict[Node, Node]:
    """The steps of a derivative graph that the forward graph has too, and which these are.

    Steps are equal if they apply one op to equal inputs. A loop or branch that saves more than the forward one is still that one:
    it comes from the same step, and no cotangent reaches it.
    """
    known = {(n.op, n.inputs): n for n in forward.nodes if not isinstance(n.op, Param)}
    control = {origin_of(n).key: n for n in forward.calls if isinstance(n.op, Control)}
    same: dict[Node, Node] = dict(zip(pull.params, forward.params, strict=False))
    reached = set(pull.params[len(forward.params) :])  # what depends on a cotangent
    for node in pull.nodes:
        if node in same or node in reached:
            continue
        if any(n in reached for n in node.inputs):
            reached.add(node)
            continue
        twin = known.get((node.op, tuple([same.get(n, n) for n in node.inputs])))
        if twin is None and isinstance(node.op, Control):
            twin = control.get(origin_of(node).key)
            twin = twin if twin is not None and type(twin.op) is type(node.op) else None
        if twin is None and isinstance(node.op, Pick) and node.inputs[0] in same:
            twin = node  # what a loop saves for its backward pass
        if twin is not None and not (isinstance(node.op, Const) and node.op.value is None):
            same[node] = twin
    return same
