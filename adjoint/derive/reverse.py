"""The dual graph: from the results of a graph back to its inputs, by the same cards' `vjp`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from adjoint.core.absent import ZERO
from adjoint.core.absent import add as add_cotangents
from adjoint.core.rules import derived
from adjoint.core.spec import dtype_of, is_inexact
from adjoint.graph.control import or_zeros, silent
from adjoint.graph.node import Const, Graph, Node, Param, Pick
from adjoint.graph.trace import trace
from adjoint.graph.walk import apply


@derived
def vjp_graph(graph: Graph, wanted: tuple[int, ...], moving: tuple[int, ...], kept: tuple[Node, ...] = ()) -> Graph:
    """The graph from (inputs, `kept` values, cotangents of the `moving` results) to the cotangents of the `wanted` inputs."""
    graph = silent(graph)  # the primal runs the effects
    n, m = len(graph.params), len(graph.params) + len(kept)

    def pulled(*xs: Any) -> list[Any]:
        values = forward_values(graph, xs[:n], dict(zip(kept, xs[n:m], strict=True)))
        seeds: dict[Node, Any] = {}
        for i, g in zip(moving, xs[m:], strict=True):
            node = graph.outputs[i]
            seeds[node] = add_cotangents(seeds.get(node, ZERO), g)
        found = sweep_back(graph, values, seeds, {graph.params[i] for i in wanted})
        return [or_zeros(found.get(graph.params[i], ZERO), xs[i]) for i in wanted]

    specs = [p.spec for p in graph.params] + [_strong(k.spec) for k in (*kept, *(graph.outputs[i] for i in moving))]
    return trace(pulled, specs, f"vjp of {graph.name}", "grad", replayed=True)[0]


def _strong(spec: Any) -> Any:
    return type(spec)(spec.shape, spec.dtype)


def forward_values(
    graph: Graph, inputs: Sequence[Any], known: Mapping[Node, Any] = MappingProxyType({})
) -> dict[Node, Any]:
    """The value of every node; some may be known already."""
    values: dict[Node, Any] = {**known, **dict(zip(graph.params, inputs, strict=True))}
    for node in graph.nodes:
        if node not in values:
            values[node] = apply(node, [values[i] for i in node.inputs])
    return values


def depends_on(graph: Graph, roots: set[Node]) -> set[Node]:
    """The nodes that a change of the roots reaches by differentiable ops."""
    reached = set(roots)
    for node in graph.nodes:
        passes = isinstance(node.op, Pick) or (not isinstance(node.op, (Param, Const)) and node.op.differentiable)
        if passes and any(i in reached for i in node.inputs):
            reached.add(node)
    return reached


def sweep_back(graph: Graph, values: dict[Node, Any], seeds: dict[Node, Any], wanted: set[Node]) -> dict[Node, Any]:
    """Cotangents of the wanted nodes: each node, latest first, hands its own on to its inputs."""
    reached = depends_on(graph, wanted)
    grads: dict[Node, Any] = {n: g for n, g in seeds.items() if n in reached}
    for node in reversed(graph.nodes):
        if isinstance(node.op, (Param, Const)) or node not in grads:
            continue
        g = grads.pop(node) if node not in wanted else grads[node]
        if isinstance(node.op, Pick):
            call = node.inputs[0]
            parts = grads.setdefault(call, [ZERO] * len(call.spec))
            parts[node.op.index] = add_cotangents(parts[node.op.index], g)
            continue
        y, xs = values[node], [values[i] for i in node.inputs]
        if isinstance(node.spec, tuple) and not node.op.takes_zero:
            g = tuple(or_zeros(part, v) for part, v in zip(g, y, strict=True))
        for i, c in zip(node.inputs, node.op.vjp(g, y, *xs), strict=True):
            if i in reached and is_inexact(dtype_of(values[i])):
                c = c() if callable(c) else c
                if c is not ZERO:
                    grads[i] = add_cotangents(grads.get(i, ZERO), c)
    return {n: grads[n] for n in wanted if n in grads}
