"""The forward sweep: tangents ride along with the values of a graph, by the same cards' `jvp`."""

from __future__ import annotations

from typing import Any

from adjoint.core.absent import ZERO
from adjoint.core.rules import derived
from adjoint.derive.reverse import forward_values
from adjoint.graph.control import or_zeros, silent
from adjoint.graph.node import Const, Graph, Node, Param, Pick
from adjoint.graph.trace import trace


@derived
def jvp_graph(graph: Graph, moving: tuple[int, ...], kept: tuple[int, ...]) -> Graph:
    """The graph from (inputs, tangents of the `moving` inputs) to the tangents of the `kept` results."""
    graph = silent(graph)  # the primal runs the effects
    n = len(graph.params)

    def pushed(*xs: Any) -> list[Any]:
        values = forward_values(graph, xs[:n])
        tangents = sweep_forward(graph, values, dict(zip((graph.params[i] for i in moving), xs[n:], strict=True)))
        return [or_zeros(tangents.get(graph.outputs[i], ZERO), values[graph.outputs[i]]) for i in kept]

    specs = [p.spec for p in graph.params] + [
        type(p.spec)(p.spec.shape, p.spec.dtype) for p in (graph.params[i] for i in moving)
    ]
    return trace(pushed, specs, f"jvp of {graph.name}", "jvp", replayed=True)[0]


def sweep_forward(graph: Graph, values: dict[Node, Any], tangents: dict[Node, Any]) -> dict[Node, Any]:
    """Tangents of every node that has one, given those of some inputs."""
    for node in graph.nodes:
        if isinstance(node.op, (Param, Const)):
            continue
        if isinstance(node.op, Pick):
            parts = tangents.get(node.inputs[0], ZERO)
            t = ZERO if parts is ZERO else parts[node.op.index]
        else:
            ts = [tangents.get(i, ZERO) for i in node.inputs]
            still = not node.op.differentiable or all(t is ZERO for t in ts)
            t = ZERO if still else node.op.jvp(ts, values[node], *(values[i] for i in node.inputs))
        if t is not ZERO:
            tangents[node] = t
    return tangents
