"""A function as a graph to be written to a file: constants inside, names for inputs and results."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.api.compiled import Entry
from adjoint.api.grad import results_of
from adjoint.api.inputs import name_of
from adjoint.api.jit import Jitted, jit
from adjoint.core import tree
from adjoint.core.errors import ArgumentError, NotExportableError, called_at
from adjoint.core.parameter import resolve
from adjoint.core.spec import Spec
from adjoint.deploy.file_names import identifier, unique
from adjoint.graph.node import Builder, Graph, Node, Param
from adjoint.passes import PASSES

EMBEDDED, INPUTS = "embedded", "inputs"


@dataclass(frozen=True)
class Argument:
    """An input or result of an exported function: its name in the file, and what the program calls it."""

    name: str
    spec: Spec
    label: str = ""


@dataclass(frozen=True, eq=False)
class TracedProgram:
    """A graph with its inputs and results by name."""

    graph: Graph
    inputs: list[Argument]
    outputs: list[Argument]
    fixed: list[str]  # arguments that are part of the program, with their values
    embedded: list[str]  # Parameters that are part of the graph
    weights: dict[str, np.ndarray]  # by the name of the input, the values of Parameters that are inputs


def trace(
    fn: Callable[..., Any],
    args: Sequence[Any],
    name: str,
    parameters: str = EMBEDDED,
    outputs: Sequence[str] | None = None,
    optimised: bool = True,
) -> TracedProgram:
    """The graph of a function for such arguments, to be called `name`. What it reads besides becomes part of the graph."""
    check_parameters(parameters)
    off = () if optimised else [name for name, _ in PASSES]
    jitted: Any = fn if isinstance(fn, Jitted) and optimised else jit(fn, passes_off=off)
    made, entry, size = jitted._prepared(tuple(args), {})
    _check(fn, entry)
    graph = entry.at(size)
    labels = [jitted._signature.describe(path).strip("`") for path in made.paths()]
    weights = [p.name for p in entry.parameters]
    names = unique([identifier(label) for label in (*labels, *weights)], [name])
    given, count = len(labels), len(labels) + len(weights)
    values: dict[Node, Any] = dict(zip(graph.params[count:], map(array, entry.inputs()), strict=True))
    if parameters == EMBEDDED:
        values |= zip(graph.params[given:count], [array(resolve(p)) for p in entry.parameters], strict=True)
    graph = bound(graph, values, names)
    kept = len(graph.params)
    inputs = [
        Argument(*x) for x in zip(names[:kept], [p.spec for p in graph.params], (*labels, *weights), strict=False)
    ]
    fixed = [
        f"{jitted._signature.describe(path).strip('`')} = {textwrap.shorten(repr(value), 80)}"
        for path, value in zip(made.paths(numeric=False), made.statics, strict=True)
    ]
    results = named_results(
        fn, entry, dict(zip(made.paths(), labels, strict=True)), [name, *(x.name for x in inputs)], outputs
    )
    specs = [Argument(name, node.spec) for name, node in zip(results, graph.outputs, strict=True)]
    if parameters == EMBEDDED:
        return TracedProgram(graph, inputs, specs, fixed, weights, {})
    held = {x.name: array(resolve(p)) for x, p in zip(inputs[given:], entry.parameters, strict=True)}
    return TracedProgram(graph, inputs, specs, fixed, [], held)


def check_parameters(parameters: str) -> None:
    if parameters not in (EMBEDDED, INPUTS):
        raise ArgumentError(f"export: parameters must be {EMBEDDED!r} or {INPUTS!r}, got {parameters!r}{called_at()}")


def array(x: Any) -> np.ndarray:
    """A value as an array."""
    return np.asarray(getattr(x, "_value", x))


def _check(fn: Callable[..., Any], entry: Entry) -> None:
    """Refuse what needs a state that lives in Python."""
    name = name_of(fn)
    if entry.draws is not None:
        raise NotExportableError(
            f"export: {name} draws random numbers, whose counter Python keeps. Pass them as an argument; of a network in "
            f"training, export it after `set_train(False)`{called_at()}"
        )
    if entry.stored:
        raise NotExportableError(
            f"export: {name} stores in the Parameters {', '.join(p.name for p in entry.stored)}. Return the new values "
            f"instead; of a network in training, export it after `set_train(False)`{called_at()}"
        )
    if entry.written:
        raise NotExportableError(
            f"export: {name} writes to its arguments; let it return the new values instead{called_at()}"
        )


def bound(graph: Graph, values: dict[Node, Any], names: Sequence[str]) -> Graph:
    """The graph with constants in place of some inputs."""
    builder = Builder()
    left = [p for p in graph.params if p not in values]
    found: dict[Node, Node] = {p: Node(Param(k, names[k]), (), p.spec, p.place) for k, p in enumerate(left)}
    found |= {p: builder.const(value) for p, value in values.items()}
    for node in graph.nodes:
        if node not in found:
            found[node] = builder.keep(node, node.op, tuple([found[i] for i in node.inputs]))
    params, outputs, effects = (tuple([found[n] for n in ns]) for ns in (left, graph.outputs, graph.effects))
    return Graph(params, outputs, graph.name, effects)


# ---------------------------------------------------------------- names of results


class Slot:
    """A place for a result, to see where the function puts it."""


def named_results(
    fn: Any, entry: Entry, labels: dict[str, str], taken: Sequence[str], chosen: Sequence[str] | None
) -> list[str]:
    """The names of the results: those that were asked for, else by what they are the gradient of or where they stand."""
    slots = [Slot() for _ in entry.graph.outputs]
    out = entry.rebuild(list(slots))
    if others := [x for x in tree.leaves(out) if not isinstance(x, Slot)]:
        raise NotExportableError(
            f"export: {name_of(fn)} returns a {type(others[0]).__name__}, which is no number: {others[0]!r}{called_at()}"
        )
    paths = result_paths(fn, out, labels)
    if chosen is None:
        return unique([identifier(paths[slot]) for slot in slots], taken)
    if isinstance(chosen, str) or len(chosen) != len(slots) or not all(isinstance(x, str) for x in chosen):
        raise ArgumentError(
            f"export: outputs must be a list of {len(slots)} names, one for each result ({', '.join(paths.values())}), "
            f"got {chosen!r}{called_at()}"
        )
    for name in chosen:
        if identifier(name) != name:
            raise ArgumentError(
                f"export: {name!r} is no name for a result in C, {identifier(name)!r} would be{called_at()}"
            )
    if len({*chosen, *taken}) < len(chosen) + len(taken):
        raise ArgumentError(
            f"export: the names {', '.join(chosen)} of results must differ from each other and from those of the inputs: "
            f"{', '.join(taken)}{called_at()}"
        )
    return list(chosen)


def result_paths(fn: Any, out: Any, labels: dict[str, str]) -> dict[Any, str]:
    """What each result is called."""
    gradients: dict[Any, str] = {}
    asked = results_of(fn._fn if isinstance(fn, Jitted) else fn)
    if asked is not None:
        with_value, positions, weights = asked
        value, slopes = out if with_value else (None, out)
        found = tree.leaves(slopes)
        wanted = [f"d_{label}" for p in positions for path, label in labels.items() if path.startswith(f"[0][{p}]")]
        wanted += [f"d_{p.name}" for p in weights]
        if len(wanted) == len(found):
            gradients = dict(zip(found, wanted, strict=True))
        out = value if gradients else out
    name = "value" if gradients else "result"
    return {**{leaf: path for path, leaf in tree.paths(out, name) if isinstance(leaf, Slot)}, **gradients}
