"""What calls of Python gave is kept for the derivative: a function with a state would give something else the second time.

A branch, a loop or a compiled function that makes such calls also puts out what they gave (`noting`), and its backward pass takes that in
place of the calls (`noted`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from adjoint.core.errors import NoRuleError
from adjoint.core.rules import kept
from adjoint.graph.nested import Control
from adjoint.graph.node import Builder, Graph, Node, Param, Pick


def calls_python(op: Any) -> bool:
    """Whether an op calls a function of the user's whose result the program may use."""
    if isinstance(op, Control):
        return any(map(has_calls, op.graphs().values()))
    return getattr(op, "calls_python", False)


@kept
def has_calls(graph: Graph) -> bool:
    return any(isinstance(n.spec, tuple) and calls_python(n.op) for n in graph.nodes)


@kept
def callers(graph: Graph) -> tuple[Node, ...]:
    """The steps that call Python and whose results are used: single calls, and branches, loops and parts with calls in them."""
    used = {n.inputs[0] for n in graph.nodes if isinstance(n.op, Pick)}
    return tuple(n for n in graph.nodes if n in used and calls_python(n.op))


@kept
def noting(graph: Graph, first: int) -> Graph:
    """The graph that also puts out, behind its `first` results, all that its calls of Python gave, as far as its size is known."""
    there = set(_places(graph, first))
    builder = Builder()
    more = [
        builder.pick(n, i)
        for n in callers(graph)
        for i, s in enumerate(n.spec)  # type: ignore[arg-type]
        if (n, i) not in there and min(s.shape, default=0) >= 0
    ]
    return replace(graph, outputs=(*graph.outputs, *more)) if more else graph


@kept
def noting_inside(graph: Graph) -> Graph:
    """The graph whose branches and loops put out what their calls of Python gave."""
    builder, found = Builder(), dict(zip(graph.params, graph.params, strict=True))
    for node in graph.nodes:
        if node not in found:
            op = node.op.noting() if hasattr(node.op, "noting") and calls_python(node.op) else node.op
            found[node] = builder.keep(node, op, tuple([found[n] for n in node.inputs]))
    outputs, effects = (tuple([found[n] for n in ns]) for ns in (graph.outputs, graph.effects))
    return replace(graph, outputs=outputs, effects=effects)


def noting_both(sides: Sequence[Graph]) -> list[Graph]:
    """The same for two branches: zeros stand for what the calls of the other one would have given."""
    graphs, n = [noting(side, 0) for side in sides], len(sides[0].outputs)
    own = [g.outputs[n:] for g in graphs]
    none = [tuple(Builder().const(np.zeros(y.spec.shape, y.spec.dtype)) for y in ys) for ys in own]
    ends = (*own[0], *none[1]), (*none[0], *own[1])
    return [replace(g, outputs=(*g.outputs[:n], *end)) if end else g for g, end in zip(graphs, ends, strict=True)]


def noted(graph: Graph, first: int = 0, rule: str = "bprop") -> list[tuple[Node, int]]:
    """Which results of calls of Python a graph puts out, and where. They are all there, or the derivative is refused."""
    there, wanted, builder = _places(graph, first), _all_results(graph), Builder()
    for n, i in wanted:
        if (n, i) not in there:
            raise NoRuleError(
                repr(n.op), rule,
                "A host_callback inside it gives a result in a while loop inside of another loop: how much is to be kept for the derivative "
                "is not known. Give the inner loop a fixed number of iterations, or differentiate in dynamic mode, without jit.",
            )  # fmt: skip
    return [(builder.pick(n, i), there[n, i]) for n, i in wanted]


def all_noted(graph: Graph) -> bool:
    """Whether a graph puts out all that its calls of Python gave."""
    there = _places(graph, 0)
    return all(result in there for result in _all_results(graph))


def _all_results(graph: Graph) -> list[tuple[Node, int]]:
    return [(n, i) for n in callers(graph) for i in range(len(n.spec))]


def _places(graph: Graph, first: int) -> dict[tuple[Node, int], int]:
    found: dict[tuple[Node, int], int] = {}
    for k, y in enumerate(graph.outputs[first:], first):
        if isinstance(y.op, Pick) and calls_python(y.inputs[0].op):
            found.setdefault((y.inputs[0], y.op.index), k)
    return found


def taking(graph: Graph, results: Sequence[Node], place: int) -> Graph:
    """The graph with inputs, at a place among its own, in place of results of calls of Python."""
    given = {(y.inputs[0], y.op.index): Node(Param(place + k), (), y.spec.strong) for k, y in enumerate(results)}
    left, builder = {y.inputs[0] for y in results}, Builder()
    found: dict[Node, Node] = {p: p for p in graph.params}
    for node in graph.nodes:
        if node in found or node in left:
            continue
        if isinstance(node.op, Pick) and node.inputs[0] in left:
            found[node] = given[node.inputs[0], node.op.index]
        else:
            found[node] = builder.keep(node, node.op, tuple([found[n] for n in node.inputs]))
    params = (*graph.params[:place], *given.values(), *graph.params[place:])
    return Graph(params, tuple([found[n] for n in graph.outputs]), graph.name)


def known_calls(results: Sequence[Node], values: Sequence[Any]) -> dict[Node, tuple[Any, ...]]:
    """Of each step whose results are all known: these, as it gives them."""
    found: dict[Node, dict[int, Any]] = {}
    for y, x in zip(results, values, strict=True):
        if isinstance(y.op, Pick) and calls_python(y.inputs[0].op):
            found.setdefault(y.inputs[0], {})[y.op.index] = x
    return {n: tuple(xs[i] for i in range(len(xs))) for n, xs in found.items() if len(xs) == len(n.spec)}  # type: ignore[arg-type]
