"""Work in place: sums of scattered values become updates, and updates overwrite what nothing needs any more.

So a loop that writes or reads one element an iteration costs the same each iteration, forward and backward, whatever the array's size.
"""

from __future__ import annotations

import numpy as np

from adjoint.core.spec import Spec
from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Builder, Const, Graph, Node
from adjoint.graph.rewrite import rebuild
from adjoint.ops.arithmetic import Add
from adjoint.ops.card import card, has_rule
from adjoint.ops.slicing import BasicIndex, GetItem, PutItem, SetItem, apart, written_out
from adjoint.ops.stacking import Stack
from adjoint.passes.uses import all_uses


def inplace(graph: Graph) -> Graph:
    """Add scattered values where they belong, and let updates overwrite their first input."""
    return rebuild(stacked(rebuild(graph, _accumulated)), _overwriting)


def _accumulated(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    if not isinstance(node.op, Add) or any(i.spec != node.spec for i in inputs):
        return None
    for whole, part in (inputs, inputs[::-1]):
        if part.op.indexing == "add" and zero(part.inputs[0]):
            return builder.keep(part, part.op, (whole, *part.inputs[1:]))  # whose line it has
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
    return zero(node) or (isinstance(node.op, PutItem) and apart(node.op.index, index, node.shape))


def zero(node: Node) -> bool:
    """Whether a node is a constant of zeros."""
    return isinstance(node.op, Const) and not np.any(node.op.value)


# ---------------------------------------------------------------- arrays filled part by part


def stacked(graph: Graph) -> Graph:
    """An array of zeros whose rows or columns are set one by one, most of them, is those side by side."""
    counts = all_uses(graph)
    inside = {n.inputs[0] for n in counts if isinstance(n.op, SetItem) and counts[n.inputs[0]] == 1}

    def side_by_side(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
        if not isinstance(node.op, SetItem) or node in inside:
            return None
        chain = [builder.keep(node, node.op, inputs)]
        while isinstance(chain[-1].op, SetItem) and node.inputs[0] in inside:
            chain.append(chain[-1].inputs[0])
            node = node.inputs[0]
        return _side_by_side(builder, chain)

    return rebuild(graph, side_by_side)


def _side_by_side(builder: Builder, chain: list[Node]) -> Node | None:
    """The parts that a chain of updates puts into zeros, if they are most of it."""
    node, base = chain[0], chain[-1]
    if isinstance(base.op, SetItem):
        chain.append(base.inputs[0])
    if not (zero(chain[-1]) or isinstance(chain[-1].op, PutItem)):
        return None
    places = [_place(n) for n in chain if isinstance(n.op, (SetItem, PutItem))]
    axis = places[0][0]
    if axis < 0 or any(other != axis for other, _ in places):
        return None
    parts: dict[int, Node] = {}
    for (_, k), n in zip(places, chain, strict=False):  # the last update comes first
        parts.setdefault(k, n.inputs[-1])
    count, spec = node.shape[axis], Spec((*node.shape[:axis], *node.shape[axis + 1 :]), node.spec.dtype)
    if len(parts) * 4 < count * 3 or any(p.spec != spec for p in parts.values()):
        return None
    zeros = builder.const(np.zeros(spec.shape, spec.dtype))
    return builder.build(card(Stack, axis), tuple([parts.get(k, zeros) for k in range(count)]))


def _place(node: Node) -> tuple[int, int]:
    """The one axis along which an index takes a single place, and that place; -1 if there is none."""
    key = written_out(node.op.key, node.ndim)
    numbers = [(axis, k % n) for axis, (k, n) in enumerate(zip(key, node.shape, strict=False)) if isinstance(k, int)]
    whole = all(isinstance(k, int) or (isinstance(k, slice) and k == slice(None)) for k in key)
    return numbers[0] if whole and len(numbers) == 1 else (-1, 0)


# ---------------------------------------------------------------- over what is not needed any more


def _overwriting(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    if not has_rule(node.op.__class__, "update") or node.spec.shape == () or inputs[0].spec != node.spec:
        return None
    if isinstance(inputs[0].op, Const) or inputs[0] in inputs[1:]:  # `y[::-1] = y` reads what it would overwrite
        return None
    return builder.build(card(InPlace, node.op), inputs)
