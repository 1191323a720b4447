"""What a loop nest computes at one point: loads at strides, numbers, and elementwise ops on them.

A node that is not in memory is written as an expression of the nest's indices. Movements (transpose, broadcast, slice, flip)
only change where its inputs are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.native.node_facts import uniform
from adjoint.backends.native.rewrite.insert_slice import is_insertion
from adjoint.core.spec import Spec
from adjoint.graph.node import Const, Node
from adjoint.ops.facts import IndexMap

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
class Immediate:
    """A number known now."""

    value: Any
    dtype: np.dtype


@dataclass(frozen=True, eq=False)
class Apply:
    """An elementwise op."""

    node: Node
    args: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Choice:
    """One expression where an index of the nest is from `low` to below `high`, another elsewhere."""

    axis: int
    low: int
    high: int
    inside: Any
    outside: Any


Expr = Load | Scalar | Immediate | Apply | Choice


def below(e: Expr) -> tuple[Expr, ...]:
    """The expressions that one is made of."""
    if isinstance(e, Apply):
        return e.args
    return (e.inside, e.outside) if isinstance(e, Choice) else ()


def within(expressions: Iterable[Expr]) -> Iterator[Expr]:
    """Expressions and all that they are made of, each once, in an order that depends on them alone."""
    stack, seen = list(expressions), set()
    while stack:
        e = stack.pop()
        if id(e) not in seen:
            seen.add(id(e))
            yield e
            stack += below(e)


class ExpressionWriter:
    """Writes nodes as expressions over a space of indices. `in_memory` says which are leaves."""

    def __init__(self, space: Sequence[int], in_memory: Callable[[Node], bool]) -> None:
        self.space, self.in_memory = tuple(space), in_memory
        self._known: dict[Any, Expr] = {}
        self._transposed: dict[Any, Node] = {}  # constants with their axes in another order

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
            return Immediate(value, node.spec.dtype)
        if self.in_memory(node):
            return self._load(node, coords)
        if node.op.view and (places := node.op.index_map(node.inputs[0].shape)) is not None:
            return self.expression(node.inputs[0], moved(places, coords, len(self.space)))
        if is_insertion(node):
            return self._choice(node, coords)
        rank = len(self.space)
        args = tuple([self.expression(i, broadcast_coords(coords, i.shape, rank)) for i in node.inputs])
        return Apply(node, args)

    def _choice(self, node: Node, coords: tuple[Affine, ...]) -> Expr:
        """The part inside its bounds, the rest outside them; bounds that hold everywhere or nowhere are not tested."""
        v = node.inputs[1]
        inside = [(start - b, factors) for (start, factors), b in zip(coords, node.op.begin, strict=True)]
        bounds = []
        for (start, factors), n in zip(inside, v.shape, strict=True):
            axis = next((k for k, f in enumerate(factors) if f), None)
            if axis is None:
                if not 0 <= start < n:
                    return self._outside(node, coords)
                continue
            low, high = _solved(start, factors[axis], n)
            low, high = max(low, 0), min(high, self.space[axis])
            if low >= high:
                return self._outside(node, coords)
            if (low, high) != (0, self.space[axis]):
                bounds.append((axis, low, high))
        found = self.expression(v, inside)
        if bounds:
            outside = self._outside(node, coords)
            for axis, low, high in reversed(bounds):
                found = Choice(axis, low, high, found, outside)
        return found

    def _outside(self, node: Node, coords: tuple[Affine, ...]) -> Expr:
        x = node.inputs[0]
        return self.expression(x, broadcast_coords(coords, x.shape, len(self.space)))

    def _load(self, node: Node, coords: tuple[Affine, ...]) -> Expr:
        if not node.shape:
            return Scalar(node)
        if isinstance(node.op, Const):
            node, coords = self._along_axes(node, coords)
        offset, strides = 0, [0] * len(self.space)
        for (start, factors), stride in zip(coords, contiguous(node.shape), strict=True):
            offset += start * stride
            strides = [s + f * stride for s, f in zip(strides, factors, strict=True)]
        return Load(node, offset, tuple(strides))

    def _along_axes(self, node: Node, coords: tuple[Affine, ...]) -> tuple[Node, tuple[Affine, ...]]:
        """A constant with its axes in the nest's order, so that it is read in the order in which it lies."""
        used = [next((k for k, f in enumerate(factors) if f), -1) for _, factors in coords]
        order = tuple(sorted(range(len(used)), key=used.__getitem__))
        if order == tuple(range(len(used))):
            return node, coords
        if (node, order) not in self._transposed:
            value = np.ascontiguousarray(np.asarray(node.op.value, node.spec.dtype).transpose(order))
            self._transposed[node, order] = Node(Const(value), (), Spec(value.shape, node.spec.dtype))
        return self._transposed[node, order], tuple([coords[axis] for axis in order])


def _solved(start: int, factor: int, n: int) -> tuple[int, int]:
    """For which i 0 <= start + factor * i < n.

    >>> _solved(-1, 1, 5), _solved(4, -1, 3), _solved(-3, 2, 4)
    ((1, 6), (2, 5), (2, 4))
    """
    if factor > 0:
        return -(start // factor), -((start - n) // factor)
    return -((n - 1 - start) // -factor), start // -factor + 1


def contiguous(shape: Sequence[int]) -> list[int]:
    """The strides of an array in C order, in elements."""
    return [prod(shape[k + 1 :]) for k in range(len(shape))]


def broadcast_coords(coords: tuple[Affine, ...], shape: Sequence[int], rank: int) -> list[Affine]:
    """Where an input of this shape is read for a result at `coords`."""
    last = coords[len(coords) - len(shape) :]
    return [(0, (0,) * rank) if n == 1 else c for c, n in zip(last, shape, strict=True)]


def moved(places: IndexMap, coords: tuple[Affine, ...], rank: int) -> list[Affine]:
    """Where a movement reads its input for a result at `coords`."""
    found: list[Affine] = []
    for offset, axis, step in places:
        start, factors = (0, (0,) * rank) if axis is None else coords[axis]
        found.append((offset + step * start, tuple([step * f for f in factors])))
    return found
