"""Matrix products of a graph: what they read, what is made of their results, and what is packed once for several of them."""

from __future__ import annotations

from collections import Counter
from functools import partial
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.native.kernels import gemm, matmul_epilogue
from adjoint.graph.node import Graph, Node
from adjoint.ops.contract import MatMul
from adjoint.ops.movement import Transpose

SEVERAL = 3  # products with the same right factor for which it is packed once


def operand(node: Node) -> tuple[Node, bool]:
    """The matrix in memory, and whether it is used transposed."""
    op = node.op
    if isinstance(op, Transpose) and len(op.perm) >= 2:
        n = len(op.perm)
        if op.perm == (*range(n - 2), n - 1, n - 2):
            return node.inputs[0], True
    return node, False


def fits(node: Node) -> bool:
    x, y = node.inputs
    same = x.spec.dtype == y.spec.dtype == node.spec.dtype and node.spec.dtype.kind == "f"
    return same and all(n > 0 for i in (x, y) for n in i.shape)


def _product(node: Node) -> gemm.Product:
    """The sizes and strides of a matrix product."""
    left, right = node.inputs
    m, k = (left.shape[-2] if left.ndim > 1 else 1), left.shape[-1]
    n = matmul_epilogue.columns(node)
    lead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])

    def steps(factor: Node, size: int) -> tuple[int, ...]:
        own = (1,) * (len(lead) - max(factor.ndim - 2, 0)) + factor.shape[:-2]
        return tuple(0 if n == 1 else prod(own[axis + 1 :]) * size for axis, n in enumerate(own))

    flip_left, flip_right = (operand(i)[1] for i in node.inputs)
    a, b = ((1, m) if flip_left else (k, 1)), ((1, k) if flip_right else (n, 1))
    return gemm.Product(node.spec.dtype, m, n, k, a, b, lead, steps(left, m * k), steps(right, k * n))


def write(frame: Any, node: Node, op: Any) -> str:
    dtype = node.spec.dtype
    target = frame.place(node) if node.shape else frame.scratch(dtype.itemsize)
    a, b = (frame.value(operand(i)[0]) for i in node.inputs)
    gemm.emit_gemm(frame, _product(node), a, b, target, again=_again(frame, node))
    return target if node.shape else frame.code.load(target, dtype)


def write_fused(frame: Any, unit: matmul_epilogue.Fused) -> None:
    """Write a product and what is made of it."""
    for root in unit.roots:
        frame.values[root] = frame.place(root)
    a, b = (frame.value(operand(i)[0]) for i in unit.node.inputs)
    gemm.emit_gemm(
        frame,
        _product(unit.node),
        a,
        b,
        matmul_epilogue.sums_place(frame, unit),
        epilogue=matmul_epilogue.written(frame, unit),
        again=_again(frame, unit.node),
    )


def _again(frame: Any, node: Node) -> gemm.Keep | None:
    """Memory for what is made of the right factor, if several products have the same one."""
    factor, turned = operand(node.inputs[1])
    often = frame.factors[factor, turned] >= SEVERAL or frame.value(factor) in frame.shared.packed
    if factor.ndim != 2 or not often:
        return None
    return lambda form, size: frame.kept(factor, (factor.shape, turned, form), size)


def pack_for_rounds(frame: Any, node: Node) -> set[str]:
    """Pack what is a factor in every round of a loop, before it; gives the addresses of what was packed."""
    body = node.op.body
    constants = node.op.parts(node.inputs)[2]
    outer = dict(zip(body.params[len(body.params) - len(constants) :], constants, strict=True))
    packed: set[str] = set()
    for n in body.nodes:
        if isinstance(n.op, MatMul) and (factor := operand(n.inputs[1]))[0] in outer and factor[0].ndim == 2:
            given = outer[factor[0]]
            packed.add(frame.value(given))
            gemm.pack_ahead(frame, _product(n), frame.value(given), partial(_keep, frame, given, factor[1]))
    return packed


def _keep(frame: Any, factor: Node, turned: bool, form: Any, size: int) -> tuple[str, bool]:
    """Memory for what is made of a factor, which the rounds of a loop will find by its address."""
    key = (factor.shape, turned, form)
    place, there = frame.kept(factor, key, size)
    frame.shared.packed.setdefault(frame.value(factor), {})[key] = place
    return place, there


def factors(graph: Graph) -> Counter[tuple[Node, bool]]:
    """How many products have each right factor, as it is or transposed."""
    return Counter(operand(n.inputs[1]) for n in graph.nodes if isinstance(n.op, MatMul))
