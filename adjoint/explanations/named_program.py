"""A function as an optimised graph whose nodes know the user's variables: `z`, and `dz` for the cotangent of z."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.api.arguments import CallArguments, Signature
from adjoint.api.compiled import Entry, taken_over
from adjoint.api.jit import Jitted, jit
from adjoint.core import context
from adjoint.core.dispatch import BACKWARD, Value
from adjoint.core.errors import AdjointError, ArgumentError, called_at
from adjoint.core.parameter import Parameter
from adjoint.core.spec import Spec
from adjoint.explanations.spelling import NoSpellingError
from adjoint.explanations.variables import Watching
from adjoint.frontend.reads import recorder
from adjoint.graph.nested import silent
from adjoint.graph.node import Builder, Const, Graph, Node
from adjoint.graph.ruled import without_rules
from adjoint.passes import optimise
from adjoint.passes.dead import dead
from adjoint.transforms.records import Record
from adjoint.transforms.tape import Tape

#: Passes that serve machine code more than readers.
OFF = ("inplace", "fission")


class NamedPlace(tuple):
    """A line of the user's, with the variable that the node belongs to. Passes keep the places of nodes, and so the names."""

    variable: str = ""

    @staticmethod
    def of(place: tuple[str, int] | None, variable: str) -> NamedPlace:
        """The place with a name."""
        named = NamedPlace(place or ("", 0))
        named.variable = variable
        return named


@dataclass(frozen=True, eq=False)
class NamedProgram:
    """What a source is written from."""

    graph: Graph
    arguments: CallArguments
    signature: Signature
    parameters: list[Parameter]
    outside: list[Any]  # arrays from outside that are inputs of the graph: Tensors that `backward()` is to reach
    rebuild: Callable[[list[Any]], Any]
    left_out: list[str]  # what it does beside computing its results


def named_program(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> NamedProgram:
    """The graph of a function for such arguments, after all passes."""
    jitted, made, entry = _watched(fn, args, kwargs)
    outside = [_array(x) for x in taken_over(entry, recorder.get())]
    if any(x is None for x in outside):
        raise ArgumentError(
            f"source: {jitted!r} uses a value of a transform around it, which has no number to write down: pass it as an "
            f"argument{called_at()}"
        )
    if entry.draws is not None:
        raise NoSpellingError(
            f"source: {jitted!r} draws random numbers, which come from adjoint's own generator: draw them outside and pass them"
        )
    graph, left_out = _results(entry)
    return NamedProgram(graph, made, jitted._signature, entry.parameters, outside, entry.rebuild, left_out)


def _watched(fn: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Jitted, CallArguments, Entry]:
    """The function traced while its variables are watched.

    Who watches variables holds what they hold: where that makes a store look shared, and refused, they are not watched.
    """
    begin = context.new_level()
    jitted = _fresh(fn)
    try:
        with Watching(lambda name, value: _note(name, value, begin)):
            made, entry, _ = jitted._prepared(args, kwargs)
    except AdjointError:
        jitted = _fresh(fn)
        made, entry, _ = jitted._prepared(args, kwargs)
    return jitted, made, entry


def _fresh(fn: Callable[..., Any]) -> Jitted:
    if isinstance(fn, Jitted):
        return jit(fn._target(), static_argnames=sorted(fn._static), passes_off=OFF)  # type: ignore[no-any-return]
    return jit(fn, passes_off=OFF)  # type: ignore[no-any-return]


def _array(x: Any) -> np.ndarray | None:
    """The array of a value from outside; None if a transform tracks it."""
    while isinstance(x, Value):
        if x._trace.level > BACKWARD:
            return None
        x = x._value
    return np.array(x)


def _results(entry: Entry) -> tuple[Graph, list[str]]:
    """The graph of the results alone, and what is left out."""
    graph = without_rules(entry.graph)
    changed = len(entry.written) + len(entry.stored)
    left_out = [f"what is stored in the Parameter {p.name}" for p in entry.stored]
    left_out += ["what is written into an argument"] * len(entry.written)
    left_out += [f"{type(n.op).__name__.lower()} at line {n.place[1]}" for n in graph.effects if n.place is not None]
    graph = Graph(graph.params, graph.outputs[changed:], graph.name, graph.effects)
    return strengthened(silent(graph)), left_out


def strengthened(graph: Graph) -> Graph:
    """The graph on NumPy's numbers in place of Python's, where that changes no dtype: more can be simplified then."""
    builder = Builder()
    params = tuple([Node(p.op, (), Spec(p.spec.shape, p.spec.dtype), p.place) for p in graph.params])
    found: dict[Node, Node] = dict(zip(graph.params, params, strict=True))
    for node in graph.nodes:
        if node not in found:
            found[node] = builder.keep(node, node.op, tuple([found[i] for i in node.inputs]))
            if _dtypes(found[node].spec) != _dtypes(node.spec):
                return graph
    return dead(optimise(Graph(params, tuple([found[n] for n in graph.outputs]), graph.name), OFF)[0], final=True)


def _dtypes(spec: Any) -> Any:
    return [(s.shape, s.dtype) for s in (spec if isinstance(spec, tuple) else (spec,))]


def node_of(x: Any) -> Node | None:
    """The node that a value of a graph being built stands for, perhaps inside other transforms."""
    while isinstance(x, Value):
        x = x._value
    return x if isinstance(x, Node) else None


def _note(name: str, value: Any, begin: float) -> None:
    """A variable holds this value: its node has a name, and so will its cotangent have, on a tape that began since."""
    _mark(name, value)
    trace = value._trace
    if isinstance(trace, Tape) and trace.level > begin and not trace.ended and isinstance(value._extra, Record):
        record = value._extra
        record.hooks = [*(record.hooks or []), lambda g: _mark(f"d{name}", g)]


def _mark(name: str, value: Any) -> None:
    node = node_of(value)
    if node is not None and not isinstance(node.op, Const) and not isinstance(node.place, NamedPlace):
        object.__setattr__(node, "place", NamedPlace.of(node.place, name))
