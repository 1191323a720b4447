"""A graph in the forms for which there is code."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.backends.native.node_facts import IN_NESTS
from adjoint.backends.native.rewrite.computing_dtypes import in_computing_dtypes
from adjoint.backends.native.rewrite.einsum_to_matmul import as_products
from adjoint.backends.native.rewrite.indexed import of_few, sum_of_scattered
from adjoint.backends.native.rewrite.merge_matmuls import flattened, multiplied_at_once, summed, together
from adjoint.backends.native.rewrite.to_insert_slice import ToInsertSlice
from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Builder, Graph, Node, Pick
from adjoint.graph.rewrite import Make, rebuild
from adjoint.graph.ruled import uses
from adjoint.ops.card import card
from adjoint.ops.contract import MatMul
from adjoint.ops.einstein_sum import Einsum
from adjoint.ops.families import Elementwise, Reduction
from adjoint.ops.movement import Reshape
from adjoint.ops.reduce import Sum


def canonical(graph: Graph) -> Graph:
    """The graph in the forms that have code: means are sums, reductions drop their axes, only index updates are in place.

    Products are joined only where nothing is computed again to save memory: all their factors are held at the same time.
    """
    better = multiplied_at_once(rebuild(rebuild(graph, in_computing_dtypes), _canonical))
    joined = better if uses(graph, lambda op: op.delays) else rebuild(better, together)
    return rebuild(joined, ToInsertSlice())


def _canonical(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    op = node.op
    if isinstance(op, Pick) and (part := inputs[0].op.one_result(op.index)) is not None:
        return builder.build(part, inputs[0].inputs)
    if isinstance(op, InPlace) and isinstance(op.op, Elementwise):
        return builder.build(op.op, inputs)
    if isinstance(op, MatMul) and (0 in inputs[0].shape or 0 in inputs[1].shape):
        return builder.const(np.zeros(node.shape, node.spec.dtype))
    if isinstance(op, (Einsum, MatMul)):
        return as_products(builder, node, inputs) or (
            flattened(builder, node, inputs) if isinstance(op, MatMul) else None
        )
    if op.indexing == "get":
        return of_few(builder, op, inputs)
    if isinstance(op, Sum) and (simpler := _sum(builder, op, node, inputs)):
        return simpler
    if isinstance(op, Reduction) and not op.axes and inputs[0].spec.dtype == node.spec.dtype:
        return inputs[0]
    if op.reduction in IN_NESTS and op.keepdims and op.axes:
        return without_axes(builder, op, inputs[0])
    return op.expand(Make(builder), *inputs)


def _sum(builder: Builder, op: Sum, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    """A sum of a product, or of values scattered into zeros, as what is smaller."""
    if product := summed(builder, node, inputs):
        return product
    found = sum_of_scattered(builder, op, inputs[0])
    return found and (builder.build(card(Reshape, node.shape), (found,)) if op.keepdims else found)


def without_axes(builder: Builder, op: Any, x: Node) -> Node:
    """A reduction that drops its axes, and a reshape that gives them back."""
    kind: Any = type(op)
    flat = builder.build(card(kind, op.axes, False), (x,))
    return builder.build(card(Reshape, op.reduced(x.shape)), (flat,))
