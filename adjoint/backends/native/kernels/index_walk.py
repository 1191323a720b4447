"""How indexing with arrays walks through memory: which axes there are, which index arrays are read where, what is known before.

The loops go over the axes along which the indices broadcast together, then over the axes that are not indexed. An index array whose
elements count up along one axis is that axis's counter; other constants are known to be in range. All else is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.node_facts import same_memory
from adjoint.backends.native.plan.loop_expressions import contiguous
from adjoint.core.spec import int64
from adjoint.graph.node import Const, Node
from adjoint.ops.movement import ONCE

KNOWN = 1 << 20  # elements of a constant index that are looked at


def stored_form(base: Node, x: Node) -> Node:
    """What is read for an input: what a broadcast repeats, unless it lies where the result is written."""
    while _is_repetition(x) and same_memory(x.inputs[0]) is not same_memory(base):
        x = x.inputs[0]
    return x


def _is_repetition(x: Node) -> bool:
    """Whether a node repeats its input along new axes and axes of size 1."""
    if not x.op.view or x.ndim < x.inputs[0].ndim:
        return False
    shape = x.inputs[0].shape
    lead = x.ndim - len(shape)
    return x.op.index_map(shape) == [ONCE if n == 1 else (0, lead + k, 1) for k, n in enumerate(shape)]


@dataclass(frozen=True)
class Known:
    """An index that is `start + step * i` for the counter i of one axis, or `start` alone."""

    start: int
    axis: int = 0
    step: int = 0


def constant_index(x: Node, size: int) -> np.ndarray | None:
    """The elements of a constant index as places along an axis, None if it is none or one is out of range."""
    if not isinstance(x.op, Const) or not 0 < prod(x.shape) <= KNOWN:
        return None
    value = np.asarray(x.op.value)
    if value.min() < -size or value.max() >= size:
        return None
    return np.where(value < 0, value + size, value).astype(np.int64)


def counted(value: np.ndarray, axes: int) -> Known | None:
    """A constant index of several `axes` as a counter, None if it is not one."""
    long = [a for a, n in enumerate(value.shape) if n > 1]
    flat = value.ravel()
    if not long:
        return Known(int(flat[0]))
    step = int(flat[1] - flat[0])
    if len(long) > 1 or not np.array_equal(flat, flat[0] + step * np.arange(flat.size)):
        return None if flat.min() != flat.max() else Known(int(flat[0]))
    return Known(int(flat[0]), axes - value.ndim + long[0], step)


def spread(shape: Sequence[int], axes: int) -> list[int]:
    """The distances, in elements, that an array's neighbours have along axes that it broadcasts over."""
    steps = [0 if n == 1 else s for n, s in zip(shape, contiguous(shape), strict=True)]
    return [0] * (axes - len(steps)) + steps


@dataclass
class IndexArray:
    """An index array that is read: its address, its distances along the axes, and which axis of the base it indexes."""

    pointer: str
    dtype: np.dtype
    steps: list[int]
    size: int  # of the axis that it indexes
    stride: int  # between neighbours along it
    checked: bool

    def last(self) -> int:
        """The innermost axis along which it differs, -1 if it is the same everywhere."""
        return max([k for k, s in enumerate(self.steps) if s], default=-1)


@dataclass
class Walk:
    """The axes of the loops, and what lies how along them.

    `base` are the distances in the indexed array as far as they are known, `other` those of what is read or written beside it.
    """

    sizes: list[int]
    base: list[int]
    other: list[int]
    start: Any = 0  # where in the indexed array it begins
    arrays: list[IndexArray] = field(default_factory=list)

    def merge(self) -> None:
        """Axes of one element are left out, and neighbours that everything runs through as through one become one."""
        for k in range(len(self.sizes) - 1, -1, -1):
            if self.sizes[k] == 1:
                for row in self._rows():
                    del row[k]
        for k in range(len(self.sizes) - 1, 0, -1):
            n = self.sizes[k]
            if all(row[k - 1] == n * row[k] for row in self._rows()[1:]):
                self.sizes[k] *= self.sizes[k - 1]
                for row in self._rows():
                    del row[k - 1]

    def _rows(self) -> list[list[int]]:
        return [self.sizes, self.base, self.other, *(a.steps for a in self.arrays)]

    def at_once(self) -> bool:
        """Whether the innermost axis can run in vectors: both arrays lie close along it, and no index differs."""
        if not self.sizes or any(a.steps[-1] for a in self.arrays):
            return False
        return self.base[-1] == 1 and self.other[-1] in (0, 1)


def walk_of(
    emitter: GraphEmitter, base: Node, other_steps: Sequence[int], places: Sequence[int], indices: Sequence[Node]
) -> Walk:
    """The loops of one call. Indices that are single numbers are used here, before all loops."""
    code = emitter.code
    rest = base.shape[len(indices) :]
    walk = Walk([*places, *rest], [0] * len(places) + list(contiguous(rest)), list(other_steps))
    for axis, given in enumerate(indices):
        x, size, stride = stored_form(base, given), base.shape[axis], prod(base.shape[axis + 1 :])
        value = constant_index(x, size)
        known = None if value is None else counted(value, len(places))
        if known is not None:
            walk.start = code.add(walk.start, known.start * stride)
            if known.step:
                walk.base[known.axis] += known.step * stride
        elif not x.shape:
            place = emitter.checked_index(emitter.value(x), x.spec.dtype, size)
            walk.start = code.add(walk.start, code.mul(place, stride))
        else:
            whole = value is not None and value.min() >= 0
            pointer = emitter.shared.module.constant(value) if value is not None else emitter.value(x)
            dtype = int64 if whole else x.spec.dtype
            steps = spread(x.shape, len(places)) + [0] * len(rest)
            walk.arrays.append(IndexArray(pointer, dtype, steps, size, stride, not whole))
    walk.merge()
    return walk
