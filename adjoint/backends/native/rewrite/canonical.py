"""A graph in the forms for which there is code."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from adjoint.backends.native.rewrite.einsum_to_matmul import as_products
from adjoint.backends.native.rewrite.merge_matmuls import flattened, multiplied_at_once, summed, together
from adjoint.backends.native.rewrite.random_bits import bits_in_steps
from adjoint.backends.native.rewrite.to_insert_slice import ToInsertSlice
from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Builder, Graph, Node, Pick
from adjoint.graph.rewrite import rebuild
from adjoint.ops.arithmetic import Add, Div, Mul, Neg, Sub
from adjoint.ops.card import card
from adjoint.ops.contract import Einsum, MatMul
from adjoint.ops.entropy import BCEWithLogits
from adjoint.ops.families import Elementwise, Reduction
from adjoint.ops.index import Gather, ScatterAdd, ScatterSet
from adjoint.ops.joining import Split
from adjoint.ops.movement import BroadcastTo, Reshape
from adjoint.ops.random import Bits
from adjoint.ops.reduce import Mean, Sum
from adjoint.ops.slicing import GetItem
from adjoint.ops.stacking import Unstack
from adjoint.ops.transcendental import Softplus


def canonical(graph: Graph) -> Graph:
    """The graph in the forms that have code: means are sums, reductions drop their axes, only index updates are in place."""
    return rebuild(rebuild(multiplied_at_once(rebuild(graph, _canonical)), together), ToInsertSlice())


def _canonical(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    op = node.op
    if isinstance(op, Pick) and isinstance(inputs[0].op, (Unstack, Split)):
        return builder.build(card(GetItem, _part(inputs[0].op, op.index)), inputs[0].inputs)
    if isinstance(op, InPlace) and isinstance(op.op, Elementwise):
        return builder.build(op.op, inputs)
    if isinstance(op, MatMul) and (0 in inputs[0].shape or 0 in inputs[1].shape):
        return builder.const(np.zeros(node.shape, node.spec.dtype))
    if isinstance(op, (Einsum, MatMul)):
        return as_products(builder, node, inputs) or (
            flattened(builder, node, inputs) if isinstance(op, MatMul) else None
        )
    if isinstance(op, Sum) and (product := summed(builder, node, inputs)):
        return product
    if isinstance(op, Bits):
        return bits_in_steps(builder, op, inputs[0])
    if isinstance(op, BCEWithLogits):
        return _cross_entropy(builder, *inputs)
    if isinstance(op, Reduction) and not op.axes and inputs[0].spec.dtype == node.spec.dtype:
        return inputs[0]
    if isinstance(op, Mean):
        count = prod(inputs[0].shape[a] for a in op.axes)
        if not count or inputs[0].spec.dtype != node.spec.dtype:
            return None
        total = _canonical_sum(builder, card(Sum, op.axes, op.keepdims), inputs[0])
        return builder.build(card(Div), (total, builder.const(float(count))))
    if isinstance(op, Reduction) and op.keepdims and op.axes:
        return _canonical_sum(builder, op, inputs[0])
    return (
        _indexed(builder, op, inputs) if isinstance(getattr(op, "op", op), (Gather, ScatterAdd, ScatterSet)) else None
    )


def _indexed(builder: Builder, op: Any, inputs: tuple[Node, ...]) -> Node | None:
    """An op with index arrays, all of one shape, and with values of the shape of their places."""
    base, *rest = inputs
    values = [] if isinstance(op, Gather) else rest[:1]
    indices = rest[len(values) :]
    shapes = [i.shape for i in indices if i.shape]
    if any(n < 0 for x in inputs for n in x.shape) or not shapes:
        return None
    places = np.broadcast_shapes(*shapes)
    wanted = [(*places, *base.shape[len(indices) :])] * len(values) + [places] * len(indices)
    spread = [
        builder.build(card(BroadcastTo, shape), (x,)) if x.shape and x.shape != shape else x
        for x, shape in zip(rest, wanted, strict=True)
    ]
    return None if spread == rest else builder.build(op, (base, *spread))


def _cross_entropy(builder: Builder, x: Node, label: Node, weight: Node, positive: Node) -> Node:
    """Binary cross-entropy in steps: its two classes apart."""

    def b(op: type, *xs: Node) -> Node:
        return builder.build(card(op), xs)

    other = b(Mul, b(Sub, builder.const(1), label), b(Softplus, x))
    this = b(Mul, b(Mul, positive, label), b(Softplus, b(Neg, x)))
    return b(Mul, weight, b(Add, other, this))


def _part(op: Any, k: int) -> tuple:
    """Which part of its input one result of Unstack or Split is."""
    before = ((None, None, None),) * op.axis
    if isinstance(op, Unstack):
        return (*before, k)
    start = sum(op.sizes[:k])
    return (*before, (start, start + op.sizes[k], None))


def _canonical_sum(builder: Builder, op: Any, x: Node) -> Node:
    kind: Any = type(op)
    flat = builder.build(card(kind, op.axes, False), (x,))
    return builder.build(card(Reshape, op.reduced(x.shape)), (flat,)) if op.keepdims else flat
