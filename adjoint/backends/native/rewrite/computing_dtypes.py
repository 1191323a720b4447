"""Every op in a dtype in which code computes: half precision in float32 between casts, factors of a product in the dtype of the result.

An op on float16 or bfloat16 is computed in float32 and its result is rounded once, as the interpreter does. Here the rounding is a
step of the graph, so that a nest does it in registers, and no later rewrite can leave it out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.spec import float32, is_half, is_inexact
from adjoint.graph.node import Builder, Const, Node, Pick
from adjoint.graph.steps import in_half
from adjoint.ops.casting import conversion
from adjoint.ops.movement import Reshape, Transpose


def in_computing_dtypes(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    """A node in dtypes in which code computes; None where it is that already, or copies elements."""
    if isinstance(node.op, Const):
        return None
    if isinstance(node.op, Pick):
        part = builder.pick(inputs[0], node.op.index)
        return converted(builder, part, node.spec.dtype) if part.spec != node.spec else None
    op = getattr(node.op, "op", node.op) if in_half(node) else node.op
    new = inputs
    if in_half(node) and not _copies(op, node):
        new = tuple([converted(builder, x, float32) if _in_half(x) else x for x in inputs])
    if op.half_precision:  # a product
        new = _alike(builder, new)
    if new == inputs:
        return None
    result = builder.build(op, new)
    return result if isinstance(result.spec, tuple) else converted(builder, result, node.spec.dtype)


def converted(builder: Builder, x: Node, dtype: np.dtype) -> Node:
    """A value in another dtype. What only changes where elements are read stays outermost: products read it where it lies."""
    if x.spec.dtype == dtype:
        return x
    if isinstance(x.op, Const):
        return builder.const(np.asarray(x.op.value).astype(dtype))
    if isinstance(x.op, (Reshape, Transpose)):
        return builder.build(x.op, (converted(builder, x.inputs[0], dtype),))
    return builder.build(conversion(dtype), (x,))


def _alike(builder: Builder, factors: tuple[Node, ...]) -> tuple[Node, ...]:
    """The factors of a real product in one dtype, the one in which NumPy multiplies them."""
    dtypes = [x.spec.dtype for x in factors]
    common = np.result_type(*dtypes)
    if common.kind != "f" or len(set(dtypes)) == 1:
        return factors
    return tuple([converted(builder, x, common) for x in factors])


def _copies(op: Any, node: Node) -> bool:
    """Whether an op copies elements as they are, or converts them itself."""
    alike = all(x.spec.dtype == node.spec.dtype for x in node.inputs if is_inexact(x.spec.dtype))
    return op.copies and (op.elementwise or alike)


def _in_half(x: Node) -> bool:
    return not isinstance(x.spec, tuple) and is_half(x.spec.dtype)
