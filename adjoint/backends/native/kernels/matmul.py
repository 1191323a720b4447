"""Matrix products of a graph: what they read, what is made of their results, and what is packed once for several of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.emit.over_inputs import place_epilogue
from adjoint.backends.native.kernels import gemm, matmul_epilogue
from adjoint.backends.native.plan import matmul_operands
from adjoint.backends.native.plan.epilogue_fusion import FusedMatMul
from adjoint.backends.native.plan.matmul_operands import operand
from adjoint.graph.node import Node

SEVERAL = 3  # products with the same right factor for which it is packed once


def fits(node: Node) -> bool:
    x, y = node.inputs
    same = x.spec.dtype == y.spec.dtype == node.spec.dtype and node.spec.dtype.kind == "f"
    return same and all(n > 0 for i in (x, y) for n in i.shape)


def _product(node: Node) -> gemm.Product:
    """The sizes and strides of a matrix product."""
    left, right = node.inputs
    m, k = (left.shape[-2] if left.ndim > 1 else 1), left.shape[-1]
    n = matmul_operands.columns(node)
    lead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])

    def steps(factor: Node, size: int) -> tuple[int, ...]:
        own = (1,) * (len(lead) - max(factor.ndim - 2, 0)) + factor.shape[:-2]
        return tuple(0 if n == 1 else prod(own[axis + 1 :]) * size for axis, n in enumerate(own))

    flip_left, flip_right = (operand(i)[1] for i in node.inputs)
    a, b = ((1, m) if flip_left else (k, 1)), ((1, k) if flip_right else (n, 1))
    return gemm.Product(node.spec.dtype, m, n, k, a, b, lead, steps(left, m * k), steps(right, k * n))


def write_matmul(emitter: GraphEmitter, node: Node, op: Any) -> str:
    dtype = node.spec.dtype
    target = emitter.memory_for(node) if node.shape else emitter.scratch(dtype.itemsize)
    a, b = (emitter.value(operand(i)[0]) for i in node.inputs)
    scarce = emitter.shared.every_result_begun()
    gemm.emit_gemm(emitter, _product(node), a, b, target, again=_kept_copies(emitter, node), scarce=scarce)
    return target if node.shape else emitter.code.load(target, dtype)


def write_fused(emitter: GraphEmitter, unit: FusedMatMul) -> None:
    """Write a product and what is made of it."""
    again = _kept_copies(emitter, unit.node)
    product = _product(unit.node)
    whole = gemm.sums_are_whole(product, emitter.shared.bits, again is not None)
    place_epilogue(emitter, unit, matmul_operands.operands(unit.node), unit.kept or whole)
    a, b = (emitter.value(operand(i)[0]) for i in unit.node.inputs)
    gemm.emit_gemm(
        emitter,
        product,
        a,
        b,
        matmul_epilogue.sums_place(emitter, unit),
        epilogue=matmul_epilogue.written(emitter, unit),
        again=again,
    )


def _kept_copies(emitter: GraphEmitter, node: Node) -> gemm.Keep | None:
    """Memory for what is made of the right factor, if several products have the same one."""
    factor, transposed = operand(node.inputs[1])
    often = emitter.factors[factor, transposed] >= SEVERAL or emitter.value(factor) in emitter.shared.packed
    if factor.ndim != 2 or not often:
        return None
    return lambda form, size: emitter.kept(factor, (factor.shape, transposed, form), size)


def prepare(emitter: GraphEmitter, node: Node, outer: Mapping[Node, Node]) -> str | None:
    """Pack what is a factor in every iteration of a loop, before it; gives the address of the factor, None if it is none."""
    factor, transposed = operand(node.inputs[1])
    if factor not in outer or factor.ndim != 2:
        return None
    given = outer[factor]
    address = emitter.value(given)
    gemm.pack_ahead(emitter, _product(node), address, partial(_keep, emitter, given, transposed))
    return address


def _keep(emitter: GraphEmitter, factor: Node, transposed: bool, form: Any, size: int) -> tuple[str, bool]:
    """Memory for what is made of a factor, which the iterations of a loop will find by its address."""
    key = (factor.shape, transposed, form)
    place, there = emitter.kept(factor, key, size)
    emitter.shared.packed.setdefault(emitter.value(factor), {})[key] = place
    return place, there
