"""Joining arrays along an axis they have and splitting them again: `concat`, `split` and their kin."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.absent import ZERO
from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import Shape, Spec, normalize_axis, promote, shape_of, spec_of
from adjoint.ops.broadcast import batch_all, batch_front, cast_like, ndim
from adjoint.ops.card import Op, card, register
from adjoint.ops.language import zeros_like
from adjoint.ops.movement import without
from adjoint.ops.publish import public
from adjoint.ops.slicing import part_along, show_parts


class Joined(Op):
    """Ops that put their inputs, all of them, side by side."""

    complex, copies, total = True, True, True

    def jvp(self, ts, y, *xs):
        if all(t is ZERO for t in ts):
            return ZERO
        return self(*(zeros_like(x) if t is ZERO else t for t, x in zip(ts, xs, strict=True)))


@register
@dataclass(frozen=True)
class Concat(Joined):
    """The inputs one after another along `axis`."""

    axis: int

    def infer(self, *xs):
        axis = normalize_axis(self, self.axis, xs[0].ndim)
        rests = {without(x.shape, axis) if x.ndim > axis else None for x in xs}
        if len(rests) != 1:
            shapes = ", ".join(str(x.shape) for x in xs)
            raise ShapeError(f"Concat: shapes {shapes} differ on other axes than axis {axis}")
        shape = list(xs[0].shape)
        shape[axis] = sum(x.shape[axis] for x in xs)
        return Spec(tuple(shape), promote(xs))

    def eval(self, xp, *xs):
        return xp.concatenate(xs, axis=self.axis)

    def vjp(self, g, y, *xs):
        parts = card(Split, tuple(shape_of(x)[self.axis] for x in xs), self.axis)(g)
        return tuple(cast_like(p, x) for p, x in zip(parts, xs, strict=True))

    def vmap(self, dims, *xs):
        return Concat(self.axis + 1)(*batch_all(dims, xs))

    @classmethod
    def samples(cls, draw):
        yield cls(0), (draw(2), draw(3))
        yield cls(1), (draw(2, 1), draw(2, 3), draw(2, 0))

    @classmethod
    def errors(cls):
        yield cls(0), (Spec((2, 3)), Spec((2, 4))), "differ on other axes than axis 0"


@public(aliases=("cat", "concatenate"))
def concat(tensors: Sequence[Any], axis: int = 0) -> Any:
    """Tensors one after another along an axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.concat([Tensor([1.0]), Tensor([2.0, 3.0])]))
    [1. 2. 3.]
    """
    tensors = list(tensors)
    if not tensors:
        raise ArgumentError(f"concat: no tensors to join{called_at()}")
    return card(Concat, normalize_axis("concat", axis, ndim(tensors[0])))(*tensors)


cat = concatenate = concat


@register
@dataclass(frozen=True)
class Split(Op):
    """Pieces of the given `sizes` along `axis`; the transpose of Concat."""

    sizes: Shape
    axis: int

    complex, total, view = True, True, True

    def infer(self, x):
        axis = normalize_axis(self, self.axis, x.ndim)
        if sum(self.sizes) != x.shape[axis]:
            raise ShapeError(f"Split: sizes {self.sizes} do not add up to the {x.shape[axis]} elements of axis {axis}")
        return tuple(Spec((*x.shape[:axis], n, *x.shape[axis + 1 :]), x.dtype) for n in self.sizes)

    def eval(self, xp, x):
        if sum(self.sizes) != x.shape[self.axis]:
            self.infer(spec_of(x))  # slices would cut the array short without a word
        lead = (slice(None),) * self.axis
        pieces, start = [], 0
        for n in self.sizes:
            part = (*lead, slice(start, start + n))
            pieces.append(x[part])
            start += n
        return tuple(pieces)

    def one_result(self, k):
        start = sum(self.sizes[:k])
        return part_along(self.axis, (start, start + self.sizes[k], None))

    def vjp(self, gs, ys, x):
        return (card(Concat, self.axis)(*gs),)

    def jvp(self, ts, ys, x):
        return self(ts[0])

    def vmap(self, dims, x):
        return Split(self.sizes, self.axis + 1)(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls((1, 2), 0), (draw(3),)
        yield cls((2, 0, 1), 1), (draw(2, 3),)

    @classmethod
    def errors(cls):
        yield cls((1, 1), 0), (Spec((3,)),), "do not add up to the 3 elements"


def _split(x: Any, sizes: tuple[int, ...], axis: int) -> tuple[Any, ...]:
    ends = list(itertools.accumulate(sizes))
    places = [(end - n, end, None) for n, end in zip(sizes, ends, strict=True)]
    return show_parts(x, axis, places, card(Split, sizes, axis)(x))


@public(method=True)
def split(tensor: Any, split_size_or_sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """Pieces of one size (the last may be smaller), or of the listed sizes, along an axis.

    >>> from adjoint import ops, Tensor
    >>> print(*ops.split(Tensor([1.0, 2.0, 3.0]), 2))
    [1. 2.] [3.]
    """
    axis = normalize_axis("split", axis, ndim(tensor))
    total = shape_of(tensor)[axis]
    sizes = split_size_or_sections
    if isinstance(sizes, (int, np.integer)):
        if sizes < 1:
            raise ArgumentError(f"split: pieces of size {sizes}; the size must be at least 1{called_at()}")
        sizes = [min(sizes, total - k) for k in range(0, total, sizes)] or [0]
    return _split(tensor, tuple(int(n) for n in sizes), axis)


@public(method=True)
def chunk(input: Any, chunks: int, axis: int = 0) -> tuple[Any, ...]:
    """About `chunks` pieces of equal size along an axis; the last may be smaller.

    >>> from adjoint import ops, Tensor
    >>> print(*ops.chunk(Tensor([1.0, 2.0, 3.0]), 2))
    [1. 2.] [3.]
    """
    if chunks < 1:
        raise ArgumentError(f"chunk: {chunks} pieces; there must be at least 1{called_at()}")
    size = shape_of(input)[normalize_axis("chunk", axis, ndim(input))]
    return split(input, max(-(-size // chunks), 1), axis)


@public()
def array_split(input: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """NumPy's split: a number of nearly equal pieces, or the places to cut at.

    >>> from adjoint import ops, Tensor
    >>> print(*ops.array_split(Tensor([1.0, 2.0, 3.0]), [1]))
    [1.] [2. 3.]
    """
    axis = normalize_axis("array_split", axis, ndim(input))
    total = shape_of(input)[axis]
    if isinstance(indices_or_sections, (int, np.integer)):
        each, more = divmod(total, int(indices_or_sections))
        sizes = [each + 1] * more + [each] * (int(indices_or_sections) - more)
    else:
        cuts = [
            0,
            *(min(max(c + total if c < 0 else c, 0), total) for c in indices_or_sections),
            total,
        ]
        sizes = [max(b - a, 0) for a, b in itertools.pairwise(cuts)]
    return _split(input, tuple(sizes), axis)
