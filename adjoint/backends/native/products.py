"""Matrix products of stacks as one larger product where memory allows it."""

from __future__ import annotations

from math import prod

from adjoint.graph.node import Builder, Node
from adjoint.ops.card import card
from adjoint.ops.contract import MatMul
from adjoint.ops.movement import Reshape, Transpose
from adjoint.ops.reduce import Sum


def flattened(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    """A stack of matrices times one matrix: the rows of all of them times it."""
    x, y = inputs
    if x.ndim < 3 or y.ndim != 2 or _transposed(x) is not None or not prod(x.shape):
        return None
    rows = builder.build(card(Reshape, (prod(x.shape[:-1]), x.shape[-1])), (x,))
    product = builder.build(card(MatMul), (rows, y))
    return builder.build(card(Reshape, node.shape), (product,))


def summed(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    """The sum of x_iᵀ y_i over a stack, as a weight's gradient is: all rows of x times all rows of y."""
    (z,) = inputs
    if not (isinstance(node.op, Sum) and isinstance(z.op, MatMul) and z.ndim > 2) or node.op.keepdims:
        return None
    left, y = z.inputs
    x = _transposed(left)
    if node.op.axes != tuple(range(z.ndim - 2)) or x is None or x.shape[:-1] != y.shape[:-1] or not prod(y.shape):
        return None
    x, y = (builder.build(card(Reshape, (prod(v.shape[:-1]), v.shape[-1])), (v,)) for v in (x, y))
    return builder.build(card(MatMul), (builder.build(card(Transpose, (1, 0)), (x,)), y))


def _transposed(node: Node) -> Node | None:
    """What a node is the transpose of, by its last two axes."""
    n = node.ndim
    if isinstance(node.op, Transpose) and node.op.perm == (*range(n - 2), n - 1, n - 2):
        return node.inputs[0]
    return None
