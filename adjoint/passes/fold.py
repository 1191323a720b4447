"""Constants: what depends on nothing but constants is computed now."""

from __future__ import annotations

from math import prod

import numpy as np

from adjoint.graph.control import Control
from adjoint.graph.node import Builder, Const, Graph, Node, Pick
from adjoint.graph.rewrite import rebuild

#: Results larger than this are left to the program: a graph should not carry big tables.
LARGEST = 65_536


def fold(graph: Graph) -> Graph:
    """Compute the nodes whose inputs are all constants."""
    return rebuild(graph, _folded)


def _folded(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    op = node.op
    if not inputs or not all(isinstance(i.op, Const) for i in inputs):
        return None
    if op.effect or isinstance(op, (Pick, Control)) or isinstance(node.spec, tuple) or prod(node.spec.shape) > LARGEST:
        return None
    with np.errstate(all="ignore"):
        value = np.asarray(op.eval(np, *(i.op.value for i in inputs)), node.spec.dtype)
    return builder.const(value.item() if node.spec.weak else value)
