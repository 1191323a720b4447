"""Constants: what depends on nothing but constants is computed now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value
from adjoint.graph.control import Control
from adjoint.graph.node import Const, Graph, Node, Pick
from adjoint.passes.rewrite import rebuild

#: Results larger than this are left to the program: a graph should not carry big tables.
LARGEST = 65_536


def fold(graph: Graph) -> Graph:
    """Compute the nodes whose inputs are all constants."""
    return rebuild(graph, _folded)


def _folded(node: Node, inputs: Sequence[Any]) -> Any:
    if not inputs or isinstance(node.op, (Pick, Control)) or isinstance(node.spec, tuple):
        return None
    values = [_constant(x) for x in inputs]
    if any(v is None for v in values) or int(np.prod(node.spec.shape)) > LARGEST:
        return None
    with np.errstate(all="ignore"):
        return np.asarray(node.op.eval(np, *values), node.spec.dtype)


def _constant(x: Any) -> Any:
    if not isinstance(x, Value):
        return x
    node = x._value
    return node.op.value if isinstance(node, Node) and isinstance(node.op, Const) else None
