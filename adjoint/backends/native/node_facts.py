"""What every room asks of a node: can compiled code hold its dtype, is it elementwise, a view, a reduction, whose memory is it."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.backends.native.dtypes import is_computed, is_known
from adjoint.backends.native.runtime.scipy_functions import scipy_function
from adjoint.core.spec import Spec
from adjoint.graph.node import Const, Node
from adjoint.ops.card import has_rule
from adjoint.ops.movement import Transpose

IN_NESTS = frozenset(("sum", "max", "min", "any", "all"))  # reductions that a nest computes


def is_elementwise(node: Node) -> bool:
    """Whether a node can be computed element by element: its card has machine code for its dtypes."""
    if not has_rule(node.op.__class__, "emit") or isinstance(node.spec, tuple):
        return False
    specs: list[Spec] = [node.spec, *(i.spec for i in node.inputs)]
    if node.op.copies:
        return all(is_known(s.dtype) for s in specs)
    if node.op.calls and (scipy_function(node.op.calls) is None or _rounds_integers(specs)):
        return False
    return node.spec.dtype.kind in node.op.emits and all(is_computed(s.dtype) for s in specs)


def _rounds_integers(specs: list[Spec]) -> bool:
    """Whether integers that a function of SciPy's takes as they are would be rounded to the precision of its result."""
    return specs[0].dtype.itemsize < 8 and any(s.dtype.kind in "iu" for s in specs)


def is_view(node: Node) -> bool:
    """Whether a node only says where its input is read."""
    return node.op.view and node.op.index_map(node.inputs[0].shape) is not None


def is_reduction(node: Node) -> bool:
    """Whether a loop nest can reduce a node's input to it."""
    return (
        node.op.reduction in IN_NESTS
        and is_computed(node.spec.dtype)
        and is_computed(node.inputs[0].spec.dtype)
        and bool(node.op.axes)
        and not node.op.keepdims
        and not (node.op.reduction in ("max", "min") and 0 in [node.inputs[0].shape[a] for a in node.op.axes])
    )


def uniform(node: Node) -> Any:
    """The number that fills a constant, as a NumPy scalar; None if there are several."""
    if not isinstance(node.op, Const):
        return None
    value = np.asarray(node.op.value)
    if value.size and (value.size == 1 or not any(value.strides) or _all_equal(value)):
        return value.flat[0]
    return None


def _all_equal(value: np.ndarray) -> bool:
    """Whether all elements are the same bits. Most arrays that are not show it at once."""
    return _repeats(value.ravel()[:64]) and _repeats(value.ravel())


def _repeats(flat: np.ndarray) -> bool:
    flat = np.ascontiguousarray(flat)
    bits = flat.view(np.uint8).reshape(flat.size, -1)
    if bits.shape[1] in (2, 4, 8):
        bits = flat.view(f"u{bits.shape[1]}")
    return bool((bits == bits[0]).all())


def same_memory(node: Node) -> Node:
    """The node whose memory holds this one: a reshape of something in memory is the same bytes."""
    while node.op.same_bytes and node.shape and node.inputs[0].shape:
        node = node.inputs[0]
    return node


def transposed_matrix(node: Node) -> Node | None:
    """What a node is the transpose of, by its last two axes; None if it is no such transpose."""
    n = node.ndim
    if n > 1 and isinstance(node.op, Transpose) and node.op.perm == (*range(n - 2), n - 1, n - 2):
        return node.inputs[0]
    return None
