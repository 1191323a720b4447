"""The operands of a matrix product: a transposed matrix is read where it lies."""

from __future__ import annotations

from collections import Counter

from adjoint.backends.native.node_facts import transposed_matrix
from adjoint.graph.node import Graph, Node
from adjoint.ops.contract import MatMul


def operand(node: Node) -> tuple[Node, bool]:
    """The matrix in memory, and whether it is used transposed."""
    source = transposed_matrix(node)
    return (node, False) if source is None else (source, True)


def operands(node: Node) -> list[Node]:
    """The matrices in memory that a product reads."""
    return [operand(i)[0] for i in node.inputs]


def right_factors(graph: Graph) -> Counter[tuple[Node, bool]]:
    """How many products have each right factor, as it is or transposed."""
    return Counter(operand(n.inputs[1]) for n in graph.nodes if isinstance(n.op, MatMul))


def columns(product: Node) -> int:
    """How many columns a product is computed with: a vector on the right is one column, which is no axis of the result."""
    right = product.inputs[1]
    return right.shape[-1] if right.ndim > 1 else 1
