"""Values of branches that are a Python number on one way and a narrower array on the other.

The graph holds the number in the array's dtype. Where Python's number would meet a wider array, it would not have been rounded before:
that is refused, since the results would differ from Python's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value
from adjoint.core.errors import DtypeError, called_at, refused
from adjoint.core.spec import Spec, is_half, number_of, promote
from adjoint.graph.node import Const, Node
from adjoint.ops.casting import Cast


def node_of(x: Any) -> Node | None:
    """The node at the bottom of a value."""
    while isinstance(x, Value):
        x = x._value
    return x if isinstance(x, Node) else None


def note_rounded(node: Node | None) -> None:
    """Note that a node is a Python number on one way, rounded to the dtype of the array on the other."""
    if node is not None:
        object.__setattr__(node, "rounded", True)


def is_exact(node: Node, dtype: np.dtype) -> bool:
    """Whether a number of a graph surely keeps its value in a dtype."""
    if node.dtype == dtype or node.dtype.kind == "b":
        return True
    if not isinstance(node.op, Const):
        return False
    value = np.asarray(node.op.value)
    with np.errstate(over="ignore"):
        return bool(value.astype(dtype).astype(value.dtype) == value or value != value)


def check_rounded(op: Any, xs: Sequence[Any], inputs: Sequence[Node]) -> bool:
    """Refuse an op that takes such a number into a wider dtype; says whether its result is such a number again."""
    specs = [Spec(n.shape, n.dtype, n.spec.weak) for n in inputs if isinstance(n.spec, Spec)]
    common = op.dtype if isinstance(op, Cast) else promote(specs)
    for n in inputs:
        if not n.rounded or common.kind not in "fc" or _width(common) <= _width(n.dtype):
            continue
        if isinstance(op, Cast) and is_half(n.dtype):
            continue  # half precision is computed so
        raise refused(
            DtypeError(
                f"a number that is a Python number in one branch and {n.dtype} in the other meets {common} here: Python would not have "
                f"rounded the number to {n.dtype}. Give both branches the same dtype, as by np.float64(0.1) and x.astype('float64')"
                f"{called_at()}"
            )
        )
    return all(number_of(x) is not None or n.rounded for x, n in zip(xs, inputs, strict=True))


def _width(dtype: np.dtype) -> int:
    return dtype.itemsize // (2 if dtype.kind == "c" else 1)
