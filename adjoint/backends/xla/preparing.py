"""A graph as XLA runs it best: what it would not see by itself is written in other ops first."""

from __future__ import annotations

from string import ascii_letters

from adjoint.graph.node import Builder, Graph, Node
from adjoint.graph.rewrite import rebuild
from adjoint.graph.walk import uses
from adjoint.ops.contract import MatMul
from adjoint.ops.einstein_sum import Einsum
from adjoint.ops.movement import Transpose
from adjoint.ops.reduce import Sum


def prepared(graph: Graph) -> Graph:
    """The graph with sums over products of matrices as products: the gradient of a weight that a batch of matrices shares.

    In half precision that is also more exact: the sum is rounded once. A product that is transposed afterwards is taken so at once.
    """
    used = uses(graph)

    def rule(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
        if isinstance(node.op, Transpose) and isinstance(inputs[0].op, Einsum) and used.get(node.inputs[0], 1) == 1:
            product = inputs[0].op
            result = "".join(product.result[k] for k in node.op.perm)
            return builder.build(Einsum(product.terms, result), list(inputs[0].inputs))
        if not isinstance(node.op, Sum) or used.get(node.inputs[0], 1) > 1 or not isinstance(inputs[0].op, MatMul):
            return None
        x, y = inputs[0].inputs
        lead, axes = x.shape[:-2], node.op.axes
        if node.op.keepdims or not axes or max(axes) >= len(lead) or lead != y.shape[:-2] or y.spec.ndim < 2:
            return None
        if not x.spec.dtype == y.spec.dtype == node.spec.dtype:
            return None
        *letters, i, j, k = list(ascii_letters[: len(lead) + 3])
        kept = [a for n, a in enumerate(letters) if n not in axes]
        whole = "".join(letters)
        return builder.build(Einsum((whole + i + j, whole + j + k), "".join((*kept, i, k))), [x, y])

    return rebuild(graph, rule)
