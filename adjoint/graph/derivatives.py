"""Derivative graphs: a graph is replayed on graph values under the transforms that serve dynamic mode.

The tape records the replay and sweeps back, dual numbers and batches carry a tangent or an axis along, each by the rules of
the cards; a tracer around them records what they compute. So there is one reverse sweep, one forward mode and one batching,
for arrays and for graph values. What no result needs of the replay is not in the graph that comes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.absent import ZERO, instantiate
from adjoint.core.dispatch import make
from adjoint.core.rules import derived
from adjoint.core.spec import Spec
from adjoint.graph.nested import float_positions, silent
from adjoint.graph.node import Graph, Node, Pick, stands_for
from adjoint.graph.python_results import known_calls
from adjoint.graph.trace import trace
from adjoint.graph.walk import apply, interpret, replay
from adjoint.transforms.batch import Batch
from adjoint.transforms.dual import Dual
from adjoint.transforms.tape import Tape, sweep
from adjoint.transforms.taylor import Taylor


@derived
def vjp_graph(graph: Graph, wanted: tuple[int, ...], active: tuple[int, ...], kept: tuple[Node, ...] = ()) -> Graph:
    """The graph from (inputs, values of the `kept` nodes, cotangents of the `active` results) to the cotangents of the
    `wanted` inputs."""
    graph = silent(graph)  # the primal runs the effects
    n, m = len(graph.params), len(graph.params) + len(kept)

    def pulled(*xs: Any) -> list[Any]:
        tape, known = Tape(), dict(zip(kept, xs[n:m], strict=True))
        for node, x in known.items():
            stands_for(x._value, node)
        inputs, called = list(xs[:n]), known_calls(kept, xs[n:m])
        for i in wanted:
            inputs[i] = tape.track(xs[i])

        def step(node: Node, values: list[Any]) -> Any:
            if node in called:
                return tape.recall(node.op, values, called[node])
            if isinstance(node.op, Pick) and node.inputs[0] in called:
                return apply(node, values)
            return _recalled(tape, node, values, known[node]) if node in known else apply(node, values)

        ys = interpret(graph, inputs, step if kept else None)
        found = sweep(tape.seeds(reversed([ys[i] for i in active]), reversed(xs[m:])))
        return [instantiate(found.get(inputs[i]._extra, ZERO), xs[i]) for i in wanted]

    specs = [p.spec for p in graph.params] + [k.spec.strong for k in (*kept, *(graph.outputs[i] for i in active))]
    return _traced(pulled, specs, f"vjp of {graph.name}", "grad")


def _recalled(tape: Tape, node: Node, inputs: list[Any], value: Any) -> Any:
    """The value of a node that is known: recorded as if it had been computed."""
    if not isinstance(node.op, Pick):
        return tape.recall(node.op, inputs, value)
    result = inputs[0][node.op.index]
    return make(value, tape, result._extra) if result._trace is tape else value


@derived
def jvp_graph(graph: Graph, active: tuple[int, ...], kept: tuple[int, ...], called: tuple[Node, ...] = ()) -> Graph:
    """The graph from (inputs, the results `called` of calls of Python, tangents of the `active` inputs) to the tangents of the `kept`
    results."""
    graph = silent(graph)  # the primal runs the effects
    n, m = len(graph.params), len(graph.params) + len(called)

    def pushed(*xs: Any) -> list[Any]:
        dual, inputs, known = Dual(), list(xs[:n]), known_calls(called, xs[n:m])
        for i, t in zip(active, xs[m:], strict=True):
            inputs[i] = dual.track(xs[i], t)

        def step(node: Node, values: list[Any]) -> Any:
            return dual.recall(node.op, values, known[node]) if node in known else apply(node, values)

        ys = interpret(graph, inputs, step if called else None)
        return [instantiate(dual.split(ys[i])[1], ys[i]) for i in kept]

    specs = [p.spec for p in graph.params] + [s.spec.strong for s in (*called, *(graph.params[i] for i in active))]
    return _traced(pushed, specs, f"jvp of {graph.name}", "jvp")


@derived
def taylor_graph(graph: Graph, active: tuple[int, ...], order: int, kept: tuple[int, ...]) -> Graph:
    """The graph from (inputs, coefficients 1 to `order` of each of the `active` inputs) to those of the `kept` results."""
    graph = silent(graph)  # the primal runs the effects
    n = len(graph.params)

    def expanded(*xs: Any) -> list[Any]:
        taylor, inputs = Taylor(order), list(xs[:n])
        for k, i in enumerate(active, 1):
            later = xs[n + (k - 1) * order : n + k * order]
            inputs[i] = taylor.track([xs[i], *later])
        ys = interpret(graph, inputs)
        return [instantiate(c, ys[i]) for i in kept for c in taylor.coefficients(ys[i])[1:]]

    later = [graph.params[i].spec.strong for i in active for _ in range(order)]
    return _traced(expanded, [*(p.spec for p in graph.params), *later], f"series of {graph.name}", "jet")


@derived
def vmap_graph(graph: Graph, batched: tuple[bool, ...], size: int, common: frozenset[int] = frozenset()) -> Graph:
    """The graph on batches of `size`: the batched inputs, and all results, have the batch as their first axis.

    Results in `common` places, to which nothing batched comes (see `depends`), have none.
    """

    def whole(*xs: Any) -> list[Any]:
        batch = Batch(size)
        ys = interpret(graph, [batch.track(x, 0) if b else x for x, b in zip(xs, batched, strict=True)])
        return [y if k in common else batch.materialize(y) for k, y in enumerate(ys)]

    specs = [
        Spec((size, *p.spec.shape), p.spec.dtype) if b else p.spec for p, b in zip(graph.params, batched, strict=True)
    ]
    return _traced(whole, specs, f"vmap of {graph.name}", "vmap")


def depends(graph: Graph, given: Sequence[bool]) -> list[bool]:
    """Which results of a graph are computed from the inputs that are given."""
    reached = {p for p, yes in zip(graph.params, given, strict=True) if yes}
    for node in graph.nodes:
        if any(i in reached for i in node.inputs):
            reached.add(node)
    return [n in reached for n in graph.outputs]


@derived
def grad_graph(graph: Graph) -> Graph:
    """The graph from the inputs to the gradient of the sum of all floating-point results, by each such input."""
    wanted = float_positions([p.spec for p in graph.params])
    active = float_positions(graph.specs)
    pull = vjp_graph(graph, wanted, active)
    ones = [np.ones(graph.outputs[i].shape, graph.outputs[i].dtype) for i in active]
    specs = [p.spec.strong for p in graph.params]
    return _traced(lambda *xs: replay(pull, [*xs, *ones]), specs, f"gradient of {graph.name}", "jit")


def _traced(function: Any, specs: list[Spec], name: str, what: str) -> Graph:
    """The graph of a replay, whatever records op calls around it."""
    with context.setting(context.open_tape, None):
        return trace(function, specs, name, what, replayed=True)[0]
