"""Work in place: sums of scattered values become updates, and updates overwrite what nothing needs any more.

So a loop that writes or reads one element a round costs the same each round, forward and backward, whatever the array's size.
"""

from __future__ import annotations

import numpy as np

from adjoint.graph.inplace import UPDATES, InPlace
from adjoint.graph.node import Builder, Const, Graph, Node
from adjoint.graph.rewrite import rebuild
from adjoint.ops.arithmetic import Add
from adjoint.ops.card import card
from adjoint.ops.index import ScatterAdd
from adjoint.ops.slicing import BasicIndex, GetItem, PutItem, SetItem, apart


def inplace(graph: Graph) -> Graph:
    """Add scattered values where they belong, and let updates overwrite their first input."""
    return rebuild(rebuild(graph, _accumulated), _overwriting)


def _accumulated(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    if not isinstance(node.op, Add) or any(i.spec != node.spec for i in inputs):
        return None
    for whole, part in (inputs, inputs[::-1]):
        if isinstance(part.op, ScatterAdd) and _zero(part.inputs[0]):
            return builder.build(part.op, (whole, *part.inputs[1:]))
        if isinstance(part.op, PutItem):
            index, value = part.op.index, part.inputs[0]
            if not _zero_there(whole, index):
                value = builder.build(node.op, (builder.build(card(GetItem, index), (whole,)), value))
            return builder.build(card(SetItem, index), (whole, value))
    return None


def _zero_there(node: Node, index: BasicIndex) -> bool:
    """Whether an array holds zeros at an index: its parts were put elsewhere."""
    while isinstance(node.op, SetItem) and apart(node.op.index, index, node.shape):
        node = node.inputs[0]
    return _zero(node) or (isinstance(node.op, PutItem) and apart(node.op.index, index, node.shape))


def _zero(node: Node) -> bool:
    return isinstance(node.op, Const) and not np.any(node.op.value)


def _overwriting(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    if type(node.op) not in UPDATES or node.spec.shape == () or inputs[0].spec != node.spec:
        return None
    if isinstance(inputs[0].op, Const):
        return None
    return builder.build(card(InPlace, node.op), inputs)
