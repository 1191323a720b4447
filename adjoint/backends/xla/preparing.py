"""A graph as XLA runs it best: what it would not see by itself is written in other ops first."""

from __future__ import annotations

from collections import defaultdict
from string import ascii_letters
from typing import Any

from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Builder, Graph, Node
from adjoint.graph.rewrite import rebuild
from adjoint.graph.walk import uses
from adjoint.ops.contract import MatMul
from adjoint.ops.einstein_sum import Einsum
from adjoint.ops.movement import Transpose
from adjoint.ops.reduce import Sum


def prepared(graph: Graph) -> Graph:
    """The graph with sums over products of matrices as products: the gradient of a weight that a batch of matrices shares.

    In half precision that is also more exact: the sum is rounded once. A product that is transposed afterwards is taken so at once,
    also where an optimiser computes with it element by element first.
    """
    used, turned = uses(graph), _turned(graph)

    def rule(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
        if isinstance(node.op, Transpose):
            if node.inputs[0] in turned:
                return inputs[0]
            if isinstance(inputs[0].op, Einsum) and used.get(node.inputs[0], 1) == 1:
                return _transposed(builder, inputs[0], node.op.perm)
            return None
        if _is_sum_of_products(node, used):
            product = _product(builder, node, inputs[0])
            return _transposed(builder, product, turned[node]) if node in turned else product
        return builder.build(node.op, inputs) if node in turned else None

    return rebuild(graph, rule)


def _is_sum_of_products(node: Node, used: dict[Node, int]) -> bool:
    if not isinstance(node.op, Sum) or used.get(node.inputs[0], 1) > 1 or not isinstance(node.inputs[0].op, MatMul):
        return False
    x, y = node.inputs[0].inputs
    lead, axes = x.shape[:-2], node.op.axes
    if node.op.keepdims or not axes or max(axes) >= len(lead) or lead != y.shape[:-2] or y.spec.ndim < 2:
        return False
    return bool(x.spec.dtype == y.spec.dtype == node.spec.dtype)


def _product(builder: Builder, node: Node, products: Node) -> Node:
    """The sum as one product."""
    x, y = products.inputs
    *letters, i, j, k = list(ascii_letters[: x.spec.ndim + 1])
    kept = [a for n, a in enumerate(letters) if n not in node.op.axes]
    whole = "".join(letters)
    return builder.build(Einsum((whole + i + j, whole + j + k), "".join((*kept, i, k))), [x, y])


def _transposed(builder: Builder, product: Node, perm: tuple[int, ...]) -> Node:
    result = "".join(product.op.result[k] for k in perm)
    return builder.build(Einsum(product.op.terms, result), list(product.inputs))


def _turned(graph: Graph) -> dict[Node, tuple[int, ...]]:
    """The sums over products that are read transposed in the end, and what is computed of them until then, with how they are transposed.

    A kernel that reads what it computes with across the rows takes twice as long.
    """
    used, found, users = uses(graph), {}, defaultdict(list)
    for node in graph.nodes:
        for n in node.inputs:
            users[n].append(node)
    ends = {*graph.outputs, *graph.effects}
    for node in graph.nodes:
        if _is_sum_of_products(node, used):
            reached, perms = _read_of(node, users, ends)
            if len(perms) == 1 and None not in perms:
                found.update(dict.fromkeys(reached, perms.pop()))
    return found


def _read_of(node: Node, users: dict[Node, list[Node]], ends: set[Node]) -> tuple[set[Node], set[Any]]:
    """What is computed of a node element by element, and the transpositions by which all of that is read; None is among them where
    something else reads it."""
    reached, perms, left = {node}, set[Any](), [node]
    while left and None not in perms:
        one = left.pop()
        perms |= {None} if one in ends else set()
        for user in users[one]:
            op = user.op.op if isinstance(user.op, InPlace) else user.op
            if isinstance(op, Transpose):
                perms.add(op.perm)
            elif not op.elementwise:
                perms.add(None)
            elif user not in reached:
                reached.add(user)
                left.append(user)
    alone = all(n in reached or not n.spec.ndim for user in reached - {node} for n in user.inputs)
    return reached, perms if alone else {None}
