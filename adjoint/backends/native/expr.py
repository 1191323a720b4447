"""What a loop nest computes at one point: loads at strides, numbers, and elementwise ops on them.

A node that is not in memory is written as an expression of the nest's indices. Movements (transpose, broadcast, slice, flip)
only change where its inputs are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.native.lanes import RULES, can_lower
from adjoint.graph.node import Const, Node
from adjoint.ops.movement import BroadcastTo, Flip, Reshape, Transpose
from adjoint.ops.slicing import GetItem

#: A coordinate: a constant, and a factor for each index of the nest.
Affine = tuple[int, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Load:
    """An element of an array in memory, at offset + sum of stride * index."""

    leaf: Node
    offset: int
    strides: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Scalar:
    """A number that is in a register while the nest runs."""

    leaf: Node


@dataclass(frozen=True, eq=False)
class Number:
    """A number known now."""

    value: Any
    dtype: np.dtype


@dataclass(frozen=True, eq=False)
class Apply:
    """An elementwise op."""

    node: Node
    args: tuple[Any, ...]


Expr = Load | Scalar | Number | Apply


def is_point(node: Node) -> bool:
    """Whether a node can be computed element by element."""
    return type(node.op) in RULES and can_lower(node)


def is_view(node: Node) -> bool:
    """Whether a node only says where its input is read."""
    if isinstance(node.op, Reshape):
        return _only_ones(node.inputs[0].shape, node.op.shape)
    return isinstance(node.op, (BroadcastTo, Transpose, Flip, GetItem))


def _only_ones(old: Sequence[int], new: Sequence[int]) -> bool:
    """Whether two shapes differ in axes of size one alone."""
    return [n for n in old if n != 1] == [n for n in new if n != 1]


def uniform(node: Node) -> Any:
    """The number that fills a constant, as a NumPy scalar; None if there are several."""
    if not isinstance(node.op, Const):
        return None
    value = np.asarray(node.op.value)
    if value.size and (value.size == 1 or (value.size <= 1 << 20 and _all_equal(value))):
        return value.flat[0]
    return None


def _all_equal(value: np.ndarray) -> bool:
    flat = value.reshape(-1)
    return flat.tobytes() == flat[:1].tobytes() * flat.size


class Writer:
    """Writes nodes as expressions over a space of indices. `in_memory` says which are leaves."""

    def __init__(self, space: Sequence[int], in_memory: Callable[[Node], bool]) -> None:
        self.space, self.in_memory = tuple(space), in_memory
        self._known: dict[Any, Expr] = {}

    def at_each_point(self, node: Node) -> Expr:
        """The node's element for each index of the space, which has its shape."""
        n = len(self.space)
        axes = [(0, tuple(int(k == axis) for k in range(n))) for axis in range(n)]
        return self.expression(node, axes)

    def expression(self, node: Node, coords: Sequence[Affine]) -> Expr:
        key = (node, tuple(coords))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._written(node, tuple(coords))
        return found

    def _written(self, node: Node, coords: tuple[Affine, ...]) -> Expr:
        value = uniform(node)
        if value is not None:
            return Number(value, node.spec.dtype)
        if self.in_memory(node):
            return self._load(node, coords)
        if is_view(node):
            return self.expression(node.inputs[0], moved(node, coords, len(self.space)))
        assert is_point(node), f"{node.op} is not elementwise"
        rank = len(self.space)
        args = tuple([self.expression(i, broadcast_coords(coords, i.shape, rank)) for i in node.inputs])
        return Apply(node, args)

    def _load(self, node: Node, coords: tuple[Affine, ...]) -> Expr:
        if not node.shape:
            return Scalar(node)
        offset, strides = 0, [0] * len(self.space)
        for (start, factors), stride in zip(coords, contiguous(node.shape), strict=True):
            offset += start * stride
            strides = [s + f * stride for s, f in zip(strides, factors, strict=True)]
        return Load(node, offset, tuple(strides))


def contiguous(shape: Sequence[int]) -> list[int]:
    """The strides of an array in C order, in elements."""
    return [prod(shape[k + 1 :]) for k in range(len(shape))]


def broadcast_coords(coords: tuple[Affine, ...], shape: Sequence[int], rank: int) -> list[Affine]:
    """Where an input of this shape is read for a result at `coords`."""
    last = coords[len(coords) - len(shape) :]
    return [(0, (0,) * rank) if n == 1 else c for c, n in zip(last, shape, strict=True)]


def moved(node: Node, coords: tuple[Affine, ...], rank: int) -> list[Affine]:
    """Where a movement reads its input for a result at `coords`."""
    op, shape = node.op, node.inputs[0].shape
    zero: Affine = (0, (0,) * rank)
    if isinstance(op, BroadcastTo):
        return broadcast_coords(coords, shape, rank)
    if isinstance(op, Transpose):
        return [coords[op.perm.index(axis)] for axis in range(len(shape))]
    if isinstance(op, Reshape):
        rest = iter([c for c, n in zip(coords, node.shape, strict=True) if n != 1])
        return [zero if n == 1 else next(rest) for n in shape]
    if isinstance(op, Flip):
        axes = {a % len(shape) for a in op.axes}
        return [
            (n - 1 - c[0], tuple([-f for f in c[1]])) if k in axes else c
            for k, (c, n) in enumerate(zip(coords, shape, strict=True))
        ]
    return _sliced(written_out(op.key, len(shape)), shape, coords, zero)


def written_out(key: tuple, ndim: int) -> tuple:
    """An index with whole slices in place of `...`.

    >>> written_out((0, ..., None), 3)
    (0, slice(None, None, None), slice(None, None, None), None)
    """
    if ... not in key:
        return key
    at = key.index(...)
    named = sum(part is not None for part in key) - 1
    return (*key[:at], *[slice(None)] * (ndim - named), *key[at + 1 :])


def _sliced(key: tuple, shape: Sequence[int], coords: tuple[Affine, ...], zero: Affine) -> list[Affine]:
    """Where x[key] reads x: whole numbers, slices and new axes."""
    sizes, rest = iter(shape), iter(coords)
    result: list[Affine] = []
    for part in key:
        if part is None:
            next(rest)
        elif isinstance(part, slice):
            start, _, step = part.indices(next(sizes))
            c, factors = next(rest)
            result.append((start + step * c, tuple([step * f for f in factors])))
        else:
            result.append((part % next(sizes), zero[1]))
    return [*result, *rest]
