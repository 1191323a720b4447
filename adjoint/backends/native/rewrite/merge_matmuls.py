"""Matrix products of stacks as one larger product where memory allows it."""

from __future__ import annotations

from math import prod

from adjoint.backends.native.node_facts import transposed_matrix
from adjoint.graph.node import Builder, Graph, Node
from adjoint.graph.rewrite import rebuild
from adjoint.ops.arithmetic import Add
from adjoint.ops.card import card
from adjoint.ops.contract import MatMul
from adjoint.ops.joining import Concat
from adjoint.ops.movement import Reshape, Transpose
from adjoint.ops.reduce import Sum
from adjoint.ops.slicing import GetItem


def flattened(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    """A stack of matrices times one matrix: the rows of all of them times it."""
    x, y = inputs
    if x.ndim < 3 or y.ndim != 2 or transposed_matrix(x) is not None or not prod(x.shape):
        return None
    rows = builder.build(card(Reshape, (prod(x.shape[:-1]), x.shape[-1])), (x,))
    product = builder.build(card(MatMul), (rows, y))
    return builder.build(card(Reshape, node.shape), (product,))


def summed(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    """The sum of x_iᵀ y_i over a stack, as a weight's gradient is: all rows of x times all rows of y.

    Where x_iᵀ lies otherwise in memory its rows are copied first, which takes less than a product for each i.
    """
    (z,) = inputs
    if not (isinstance(node.op, Sum) and isinstance(z.op, MatMul) and z.ndim > 2) or node.op.keepdims:
        return None
    left, y = z.inputs
    if node.op.axes != tuple(range(z.ndim - 2)) or left.ndim != z.ndim or not prod(z.shape):
        return None
    x = _swapped(builder, left)
    if x.shape[:-1] != y.shape[:-1]:
        return None
    x, y = (builder.build(card(Reshape, (prod(v.shape[:-1]), v.shape[-1])), (v,)) for v in (x, y))
    return builder.build(card(MatMul), (builder.build(card(Transpose, (1, 0)), (x,)), y))


def _swapped(builder: Builder, matrices: Node) -> Node:
    """Each matrix transposed; of axes that are in another order already, in one step."""
    n = matrices.ndim
    swap = (*range(n - 2), n - 1, n - 2)
    if not isinstance(matrices.op, Transpose):
        return builder.build(card(Transpose, swap), (matrices,))
    perm = tuple(matrices.op.perm[k] for k in swap)
    (x,) = matrices.inputs
    return x if perm == tuple(range(n)) else builder.build(card(Transpose, perm), (x,))


def together(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    """x₁ᵀ y₁ + x₂ᵀ y₂, as the gradients of a weight used again and again add up: the rows of both, one product."""
    if not isinstance(node.op, Add) or any(i.spec != node.spec for i in inputs):
        return None
    pairs = [
        (x, z.inputs[1])
        for z in inputs
        if isinstance(z.op, MatMul) and (x := transposed_matrix(z.inputs[0])) is not None
    ]
    if len(pairs) < 2 or any(v.ndim != 2 for pair in pairs for v in pair):
        return None
    x, y = (_joined(builder, [pair[k] for pair in pairs]) for k in (0, 1))
    return builder.build(card(MatMul), (builder.build(card(Transpose, (1, 0)), (x,)), y))


def _joined(builder: Builder, parts: list[Node]) -> Node:
    """Rows one below the other; what is joined already is taken apart first."""
    rows = [r for p in parts for r in (p.inputs if isinstance(p.op, Concat) and p.op.axis == 0 else (p,))]
    return builder.build(card(Concat, 0), tuple(rows))


def shared_factors(graph: Graph) -> set[tuple[Node, Node]]:
    """Stacks most of whose rows are multiplied, one by one, by the same matrix: (stack, matrix)."""
    found: dict[tuple[Node, Node], set[int]] = {}
    for node in graph.nodes:
        if isinstance(node.op, MatMul) and (row := _row(node.inputs[0])) and node.inputs[1].ndim == 2:
            found.setdefault((row[0], node.inputs[1]), set()).add(row[1])
    return {pair for pair, rows in found.items() if 2 * len(rows) > pair[0].shape[0] > 2}


def multiplied_at_once(graph: Graph) -> Graph:
    """x[t] @ w for every t becomes (x @ w)[t]."""
    pairs = shared_factors(graph)
    if not pairs:
        return graph

    def rule(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
        row = _row(node.inputs[0]) if isinstance(node.op, MatMul) else None
        if row is None or (row[0], node.inputs[1]) not in pairs:
            return None
        new = _row(inputs[0])
        return new and builder.build(card(GetItem, (new[1],)), (builder.build(node.op, (new[0], inputs[1])),))

    return rebuild(graph, rule)


def _row(node: Node) -> tuple[Node, int] | None:
    """The stack that a matrix is one of, and its place in it."""
    if (
        isinstance(node.op, GetItem)
        and len(node.op.index) == 1
        and isinstance(node.op.index[0], int)
        and node.ndim == 2
    ):
        return node.inputs[0], node.op.index[0] % node.inputs[0].shape[0]
    return None
