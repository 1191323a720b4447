"""Indexing by arrays beside elementwise steps: few elements of a formula are the formula of few elements.

`log_softmax(x)[arange(n), y]` reads n elements of x, and its backward pass sums rows of a matrix that is 0 but for one element
each. Neither needs the whole matrix. An index out of range is found all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from adjoint.backends.native.node_facts import is_elementwise, uniform
from adjoint.core.spec import Spec
from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Builder, Const, Node, Param, Pick, Structural
from adjoint.ops.broadcasting import BroadcastTo
from adjoint.ops.card import card
from adjoint.ops.movement import Reshape
from adjoint.ops.reduce import Sum

FEWER = 4  # how many times fewer elements there must be
DEEPEST = 6  # steps of a formula


@dataclass(frozen=True)
class InRange(Structural):
    """The first input, after a look at whether the index arrays behind it are inside axes of these sizes.

    An error names the op that had these indices.
    """

    op: Any
    sizes: tuple[int, ...]

    opaque: ClassVar[bool] = False

    def __str__(self) -> str:
        return str(self.op)

    def infer(self, v: Spec, *indices: Spec) -> Spec:
        return Spec(v.shape, v.dtype)

    def eval(self, xp: Any, v: Any, *indices: Any) -> Any:
        for n, index in zip(self.sizes, indices, strict=True):
            try:
                xp.zeros(n)[index]
            except IndexError as error:
                raise self.op.refused(xp.zeros(n), (index,), error) from None
        return v


def is_position(index: Node, n: int) -> bool:
    """Whether an index array is 0, 1, …, n - 1, along one axis."""
    if not isinstance(index.op, Const) or prod(index.shape) != n or n not in index.shape:
        return False
    return np.array_equal(np.ravel(index.op.value), np.arange(n))


def is_inside(index: Node, n: int) -> bool:
    """Whether an index is known to be inside an axis."""
    if not isinstance(index.op, Const) or not prod(index.shape):
        return False
    value = np.asarray(index.op.value)
    return bool(value.min() >= -n and value.max() < n)


# ---------------------------------------------------------------- few elements of a formula


def of_few(builder: Builder, gather: Any, inputs: tuple[Node, ...]) -> Node | None:
    """`f(x, y)[i, j]` as f of the elements of x and y, if these are far fewer; None if it is better as it is."""
    x, *indices = inputs
    places = np.broadcast_shapes(*(i.shape for i in indices))
    if FEWER * prod(places) > prod(x.shape[: len(indices)]) or not _is_cheap(x):
        return None
    picking = _Picking(builder, gather, prod(places) * prod(x.shape[len(indices) :]))
    found = picking.of(x, indices, DEEPEST)
    unknown = {k for k, i in enumerate(indices) if not is_inside(i, x.shape[k])}
    return found if unknown <= picking.seen else None


def _is_cheap(x: Node) -> bool:
    return is_elementwise(x) and not x.op.expensive


class _Picking:
    """Takes elements of the inputs of formulas; `seen` are the indices that are compared with the whole of their axis."""

    def __init__(self, builder: Builder, gather: Any, count: int) -> None:
        self.builder, self.gather, self.count = builder, gather, count
        self.seen: set[int] = set()

    def of(self, x: Node, indices: Sequence[Node], depth: int) -> Node | None:
        """The elements of x; None if x would have to be computed as a whole for them."""
        if _is_cheap(x) and prod(x.shape) >= FEWER * self.count:
            parts = [self._input(i, x.ndim, indices, depth - 1) for i in x.inputs] if depth else []
            known = tuple([part for part in parts if part is not None])
            return self.builder.build(x.op, known) if len(known) == len(x.inputs) else None
        at_hand = isinstance(x.op, (Param, Const, Pick)) or not (is_elementwise(x) or x.op.view)
        if not at_hand and prod(x.shape) >= FEWER * self.count:
            return None
        return self._element(x, indices)

    def _input(self, x: Node, axes: int, indices: Sequence[Node], depth: int) -> Node | None:
        """The same of an input, which broadcasts to so many axes."""
        missing = axes - x.ndim
        if missing >= len(indices) or uniform(x) is not None:
            return x if uniform(x) is None or not x.shape else self.builder.const(np.asarray(uniform(x)))
        if missing:
            x = self.builder.build(card(Reshape, (1,) * missing + x.shape), (x,))
        return self.of(x, indices, depth)

    def _element(self, x: Node, indices: Sequence[Node]) -> Node:
        rest = x.shape[len(indices) :]
        long = [k for k, n in enumerate(x.shape[: len(indices)]) if n > 1]
        if not long:
            return self.builder.build(card(Reshape, rest), (x,))
        if len(long) == 1 and is_position(indices[long[0]], x.shape[long[0]]):
            return self.builder.build(card(Reshape, indices[long[0]].shape + rest), (x,))
        self.seen.update(long)
        zero = self.builder.const(np.zeros((), np.int64))
        return self.builder.build(self.gather, (x, *(i if k in long else zero for k, i in enumerate(indices))))


# ---------------------------------------------------------------- sums over what is mostly 0


def sum_of_scattered(builder: Builder, op: Sum, x: Node) -> Node | None:
    """The sum over indexed axes of zeros with values added to them: the values, added where the other indices say."""
    around = []
    while x.op.elementwise and x.op.linear_in == ((0,),) and len(x.inputs) == 1:
        around.append(x.op)
        x = x.inputs[0]
    scatter: Any = x.op.op if isinstance(x.op, InPlace) else x.op
    if scatter.indexing != "add" or op.axes == () or uniform(x.inputs[0]) != 0 or x.spec.dtype.kind != "f":
        return None
    base, v, *indices = x.inputs
    places = np.broadcast_shapes(*(i.shape for i in indices))
    if max(op.axes) >= len(indices) or len(op.axes) == len(indices) or v.spec.dtype != x.spec.dtype:
        return None
    v = _after_checks(builder, scatter, v, [(indices[a], base.shape[a]) for a in op.axes])
    kept = [a for a in range(len(indices)) if a not in op.axes]
    rest = base.shape[len(indices) :]
    shape = (*(base.shape[a] for a in kept), *rest)
    if (
        len(kept) == 1
        and prod(places) == prod(base.shape[kept[0] : kept[0] + 1])
        and is_position(indices[kept[0]], shape[0])
    ):
        found = builder.build(card(BroadcastTo, (*places, *rest)), (v,)) if v.shape != (*places, *rest) else v
        found = builder.build(card(Reshape, shape), (found,)) if found.shape != shape else found
    else:
        first, *others = (indices[a] for a in kept)
        first = builder.build(card(BroadcastTo, places), (first,)) if first.shape != places else first
        zeros = builder.const(np.zeros(shape, x.spec.dtype))
        found = builder.build(scatter, (zeros, v, first, *others))
    for linear in reversed(around):
        found = builder.build(linear, (found,))
    return found


def _after_checks(builder: Builder, op: Any, v: Node, indices: Sequence[tuple[Node, int]]) -> Node:
    """The values, after a look at the indices that go."""
    unknown = [(i, n) for i, n in indices if not is_inside(i, n)]
    if not unknown:
        return v
    return builder.build(InRange(op, tuple([n for _, n in unknown])), (v, *(i for i, _ in unknown)))
