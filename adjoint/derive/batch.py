"""Batching a graph: every node applied to a whole batch, by the same cards' `vmap`."""

from __future__ import annotations

from typing import Any

from adjoint.core.rules import derived
from adjoint.core.spec import Spec, shape_of
from adjoint.graph.node import Const, Graph, Node, Pick
from adjoint.graph.trace import trace
from adjoint.ops.language import broadcast_to


@derived
def vmap_graph(graph: Graph, batched: tuple[bool, ...], size: int) -> Graph:
    """The graph on batches of `size`: the batched inputs, and all results, have the batch as their first axis."""

    def whole(*xs: Any) -> list[Any]:
        values: dict[Node, Any] = dict(zip(graph.params, xs, strict=True))
        dims: dict[Node, Any] = {p: 0 if b else None for p, b in zip(graph.params, batched, strict=True)}
        for node in graph.nodes:
            if node not in values:
                values[node], dims[node] = _batched(node, values, dims)
        return [_repeated(values[n], dims[n], size) for n in graph.outputs]

    specs = [
        Spec((size, *p.spec.shape), p.spec.dtype) if b else p.spec for p, b in zip(graph.params, batched, strict=True)
    ]
    return trace(whole, specs, f"vmap of {graph.name}", "vmap", replayed=True)[0]


def _batched(node: Node, values: dict[Node, Any], dims: dict[Node, Any]) -> tuple[Any, Any]:
    if isinstance(node.op, Const):
        return node.op.value, None
    if isinstance(node.op, Pick):
        call = node.inputs[0]
        return values[call][node.op.index], dims[call]
    xs, ds = [values[i] for i in node.inputs], [dims[i] for i in node.inputs]
    if all(d is None for d in ds):
        return node.op(*xs), None
    return node.op.vmap(ds, *xs), 0


def _repeated(y: Any, dim: Any, size: int) -> Any:
    return broadcast_to(y, (size, *shape_of(y))) if dim is None else y
