"""Slices that are set, padding, concatenation and stacking become one op, `InsertSlice`.

Each element of the result is either inside the slice or outside it. A nest splits its axes where that changes, so that nothing
is tested at run time; what would split it too often stays a kernel of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from adjoint.backends.native.node_facts import is_elementwise, is_view, uniform
from adjoint.backends.native.rewrite.insert_slice import MAX_PIECES, InsertSlice, is_insertion, pieces
from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Builder, Node
from adjoint.ops.broadcasting import BroadcastTo
from adjoint.ops.card import card
from adjoint.ops.joining import Concat
from adjoint.ops.movement import Reshape
from adjoint.ops.padding import Pad
from adjoint.ops.slicing import PutItem, SetItem, written_out
from adjoint.ops.stacking import Stack


class ToInsertSlice:
    """The rule that rewrites a graph so: it knows how often each node splits a nest that computes it."""

    def __init__(self) -> None:
        self._pieces: dict[Node, int] = {}

    def __call__(self, builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
        found = self._rewritten(builder, node, inputs)
        if found is None and (is_elementwise(node) or is_view(node)):
            kept = builder.keep(node, node.op, inputs)
            self._pieces[kept] = pieces(kept, self._pieces)
        return found

    def _rewritten(self, builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
        op = node.op.op if isinstance(node.op, InPlace) else node.op
        if not isinstance(op, (PutItem, SetItem, Pad, Concat, Stack)) or not prod(node.shape):
            return None
        if isinstance(node.op, InPlace) and not self._is_computed(inputs[0]):
            return None  # better written where it is
        zero = builder.const(np.zeros((), node.spec.dtype))
        if isinstance(op, (Concat, Stack)):
            return self._joined(builder, node, inputs, op.axis % node.ndim, zero)
        if isinstance(op, Pad):
            return self._put(builder, node, zero, inputs[0], tuple([a for a, _ in op.widths]), inputs[0].shape)
        box = _box(written_out(op.key, node.ndim), node.shape)
        if box is None:
            return None
        begin, size = box
        x, v = inputs if isinstance(op, SetItem) else (zero, inputs[0])
        if isinstance(op, SetItem):
            v = builder.build(card(BroadcastTo, op.picked(node.shape)), (v,)) if v.shape != size else v
        v = v if v.shape == size else builder.build(card(Reshape, size), (v,))
        return self._put(builder, node, x, v, begin, size)

    def _is_computed(self, node: Node) -> bool:
        """Whether an array is computed element by element, so that it need not be in memory."""
        return is_elementwise(node) or is_insertion(node) or uniform(node) is not None

    def _put(
        self, builder: Builder, node: Node, x: Node, v: Node, begin: tuple[int, ...], size: tuple[int, ...]
    ) -> Node | None:
        if not prod(size) or v.spec.dtype != node.spec.dtype or x.spec.dtype != node.spec.dtype:
            return None
        found = builder.build(InsertSlice(begin, node.shape), (x, v))
        self._pieces[found] = pieces(found, self._pieces)
        return found if self._pieces[found] <= MAX_PIECES else None

    def _joined(self, builder: Builder, node: Node, inputs: tuple[Node, ...], axis: int, zero: Node) -> Node | None:
        """Parts side by side, each put into what the ones before have filled."""
        count = len(inputs) * prod([self._pieces.get(i, 1) for i in set(inputs)])
        if count > MAX_PIECES or any(i.spec.dtype != node.spec.dtype for i in inputs):
            return None
        found, start = zero, 0
        for part in inputs:
            if isinstance(node.op, Stack):
                size = (*part.shape[:axis], 1, *part.shape[axis:])
                part = builder.build(card(Reshape, size), (part,))
            begin = tuple([start if k == axis else 0 for k in range(node.ndim)])
            start += part.shape[axis]
            if prod(part.shape):
                found = builder.build(InsertSlice(begin, node.shape), (found, part))
        self._pieces[found] = count
        return found


def _box(key: tuple, shape: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Where an index begins and how far it goes along each axis; None if it leaves elements out between."""
    begin, size = [], []
    parts = [p for p in key if p is not None]
    parts += [slice(None)] * (len(shape) - len(parts))
    for part, n in zip(parts, shape, strict=True):
        if isinstance(part, slice):
            start, stop, step = part.indices(n)
            if step != 1:
                return None
            begin.append(start)
            size.append(max(stop - start, 0))
        else:
            begin.append(part % n)
            size.append(1)
    return tuple(begin), tuple(size)
