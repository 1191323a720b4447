"""Cards of windows: their largest element, their sum, and the windows themselves, each with its transpose.

The last axes are those in space; any others stand before them. `window`, `stride`, `padding` (as pairs) and `dilation`
have an entry for each axis in space.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from adjoint.core.absent import ZERO
from adjoint.core.errors import ShapeError
from adjoint.core.spec import Shape, Spec, elements, float64, int64, promote, shape_of, spec_of
from adjoint.ops.broadcast import batch_all
from adjoint.ops.card import Op, card, register
from adjoint.ops.conv import Padding, add_up, padded, places, taps
from adjoint.ops.families import Linear, NotDifferentiable


@dataclass(frozen=True)
class Pool(Op):
    """What the cards of windows have in common. Fields: window, stride, padding as pairs, dilation."""

    window: Shape
    stride: Shape
    padding: Padding
    dilation: Shape

    expensive = True

    def flops(self, y, *xs):
        return elements(y)

    @property
    def geometry(self) -> tuple:
        return self.window, self.stride, self.padding, self.dilation

    @property
    def rank(self) -> int:
        return len(self.window)

    def split(self, shape: Shape) -> tuple[Shape, Shape]:
        """The axes before those in space, and those in space."""
        if len(shape) < self.rank:
            raise ShapeError(f"{type(self).__name__}: the input must have {self.rank} axes or more, not {shape}")
        cut = len(shape) - self.rank
        return shape[:cut], shape[cut:]

    def pooled(self, shape: Shape) -> Shape:
        """The shape of a result with one element for each window."""
        lead, space = self.split(shape)
        return lead + places(self, space, self.window)

    def expect(self, what: str, have: Shape, want: Shape) -> None:
        if have != want:
            raise ShapeError(f"{type(self).__name__}: the {what} must have shape {want}, not {have}")

    def elements(self, xp: Any, x: Any, value: Any = 0) -> Iterator[Any]:
        """For each element of a window, its values in all windows; outside of the input it is `value`."""
        count = self.pooled(x.shape)[-self.rank :]
        x = padded(xp, self, x, value)
        for tap in taps(self, self.window, count):
            yield x[tap]

    def vmap(self, dims, *xs):
        return self(*batch_all(dims, xs))


#: Geometry, shape of the input.
SAMPLES: list[tuple[tuple[Shape, Shape, Padding, Shape], Shape]] = [
    (((2,), (1,), ((0, 0),), (1,)), (4,)),
    (((2, 2), (2, 1), ((1, 0), (0, 1)), (1, 2)), (2, 3, 3)),
    (((2, 1, 2), (1, 1, 1), ((0, 0), (0, 0), (0, 0)), (1, 1, 1)), (1, 2, 2, 3)),
    (((2,), (2,), ((0, 0),), (1,)), (0, 3)),
]
FLAT = ((2,), (1,), ((0, 0),), (1,))


# ---------------------------------------------------------------- the largest element


def lowest(dtype: np.dtype) -> Any:
    """A value that is never larger than another."""
    return False if dtype.kind == "b" else np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


@register
@dataclass(frozen=True)
class MaxPool(Pool):
    """The largest element of each window; equal ones share the derivative evenly."""

    def infer(self, x):
        return Spec(self.pooled(x.shape), x.dtype)

    def eval(self, xp, x):
        values = self.elements(xp, x, lowest(x.dtype))
        y = xp.array(next(values))
        for value in values:
            y = xp.maximum(y, value)
        return y

    def vjp(self, g, y, x):
        return (card(MaxPoolPull, *self.geometry)(g, x),)

    def jvp(self, ts, y, x):
        return card(MaxPoolPush, *self.geometry)(ts[0], x)

    @classmethod
    def samples(cls, draw):
        for geometry, x in SAMPLES:
            yield cls(*geometry), (draw(*x),)

    @classmethod
    def errors(cls):
        yield cls(*FLAT), (Spec((1,)),), "covers (2,), which is more than the padded input has: (1,)"
        yield cls(*FLAT), (Spec(()),), "must have 1 axes or more, not ()"


class Peaks(Pool, Linear):
    """The two derivatives of MaxPool: linear in the first input, and constant where x changes a little."""

    def peaks(self, xp: Any, x: Any) -> tuple[list[Any], Any]:
        """Which elements of the windows are the largest, and how many of them there are."""
        y = MaxPool(*self.geometry).eval(xp, x)
        hits = [~(value < y) for value in self.elements(xp, x, lowest(x.dtype))]  # NaN counts as a hit: never none
        return hits, sum(hit.astype(np.int32) for hit in hits)

    def result_dtype(self, t: Spec) -> np.dtype:
        return promote([t, Spec((), float64, weak=True)])


@register
@dataclass(frozen=True)
class MaxPoolPush(Peaks):
    """The average of t at the largest elements of each window of x: the tangent of MaxPool."""

    def infer(self, t, x):
        self.expect("tangent", t.shape, x.shape)
        return Spec(self.pooled(x.shape), self.result_dtype(t))

    def eval(self, xp, t, x):
        dtype = self.infer(spec_of(t), spec_of(x)).dtype
        hits, count = self.peaks(xp, x)
        total = sum(xp.where(hit, value, 0) for hit, value in zip(hits, self.elements(xp, t), strict=True))
        return total.astype(dtype) / count.astype(dtype)

    def vjp(self, g, y, t, x):
        return card(MaxPoolPull, *self.geometry)(g, x), ZERO

    @classmethod
    def samples(cls, draw):
        for geometry, x in SAMPLES:
            yield cls(*geometry), (draw(*x), draw(*x))

    @classmethod
    def errors(cls):
        yield cls(*FLAT), (Spec((4,)), Spec((3,))), "the tangent must have shape (3,), not (4,)"


@register
@dataclass(frozen=True)
class MaxPoolPull(Peaks):
    """g shared among the largest elements of each window of x: the cotangent of MaxPool."""

    def infer(self, g, x):
        self.expect("cotangent", g.shape, self.pooled(x.shape))
        return Spec(x.shape, self.result_dtype(g))

    def eval(self, xp, g, x):
        dtype = self.infer(spec_of(g), spec_of(x)).dtype
        hits, count = self.peaks(xp, x)
        share = g.astype(dtype) / count.astype(dtype)
        return add_up(xp, self, (xp.where(hit, share, 0) for hit in hits), self.window, x.shape, dtype)

    def vjp(self, h, y, g, x):
        return card(MaxPoolPush, *self.geometry)(h, x), ZERO

    @classmethod
    def samples(cls, draw):
        for geometry, x in SAMPLES:
            yield cls(*geometry), (draw(*cls(*geometry).pooled(x)), draw(*x))

    @classmethod
    def errors(cls):
        yield cls(*FLAT), (Spec((4,)), Spec((4,))), "the cotangent must have shape (3,), not (4,)"


@register
@dataclass(frozen=True)
class MaxPoolIndex(Pool, NotDifferentiable):
    """Where the first largest element of each window stands, counted through the axes in space of the input."""

    def infer(self, x):
        return Spec(self.pooled(x.shape), int64)

    def eval(self, xp, x):
        _, space = self.split(x.shape)
        places = self.elements(xp, xp.arange(prod(space)).reshape(space), -1)
        values = self.elements(xp, x, lowest(x.dtype))
        best, found = next(values), xp.broadcast_to(next(places), self.pooled(x.shape))
        for value, place in zip(values, places, strict=True):
            better = (value > best) | ((value != value) & (best == best)) | (found < 0)
            best, found = xp.where(better, value, best), xp.where(better, place, found)
        return xp.array(found)

    @classmethod
    def samples(cls, draw):
        for geometry, x in SAMPLES:
            yield cls(*geometry), (draw(*x),)


# ---------------------------------------------------------------- sums, and the windows themselves


@register
@dataclass(frozen=True)
class SumPool(Pool, Linear):
    """The sum of each window."""

    complex = True

    def infer(self, x):
        return Spec(self.pooled(x.shape), x.dtype)

    def eval(self, xp, x):
        values = self.elements(xp, x)
        y = xp.array(next(values))
        for value in values:
            y = y + value
        return y

    def vjp(self, g, y, x):
        return (card(SumPoolPull, *self.geometry, self.split(shape_of(x))[1])(g),)

    @classmethod
    def samples(cls, draw):
        for geometry, x in SAMPLES:
            yield cls(*geometry), (draw(*x),)


@register
@dataclass(frozen=True)
class SumPoolPull(Pool, Linear):
    """Each element added to every place of its window, in zeros of sizes `space`; the transpose of SumPool."""

    space: Shape = ()

    complex = True

    def infer(self, g):
        lead, count = self.split(g.shape)
        self.expect("cotangent", count, places(self, self.space, self.window))
        return Spec(lead + self.space, g.dtype)

    def eval(self, xp, g):
        shape = self.infer(spec_of(g)).shape
        return add_up(xp, self, (g for _ in range(prod(self.window))), self.window, shape, g.dtype)

    def vjp(self, h, y, g):
        return (card(SumPool, *self.geometry)(h),)

    @classmethod
    def samples(cls, draw):
        for geometry, x in SAMPLES:
            op = cls(*geometry, x[-len(geometry[0]) :])
            yield op, (draw(*op.pooled(x)),)

    @classmethod
    def errors(cls):
        yield cls(*FLAT, (4,)), (Spec((2, 4)),), "the cotangent must have shape (3,), not (4,)"


@register
@dataclass(frozen=True)
class Unfold(Pool, Linear):
    """The windows written out: an axis with the elements of a window stands before those in space."""

    complex = True

    def infer(self, x):
        lead, count = self.split(self.pooled(x.shape))
        return Spec((*lead, prod(self.window), *count), x.dtype)

    def eval(self, xp, x):
        return xp.stack(list(self.elements(xp, x)), axis=-self.rank - 1)

    def vjp(self, g, y, x):
        return (card(Fold, *self.geometry, self.split(shape_of(x))[1])(g),)

    @classmethod
    def samples(cls, draw):
        for geometry, x in SAMPLES:
            yield cls(*geometry), (draw(*x),)


@register
@dataclass(frozen=True)
class Fold(Pool, Linear):
    """Windows put back into an array of sizes `space`; where they overlap they add up. The transpose of Unfold."""

    space: Shape = ()

    complex = True

    def infer(self, g):
        want = (prod(self.window), *places(self, self.space, self.window))
        cut = max(g.ndim - self.rank - 1, 0)
        self.expect("input, in its last axes,", g.shape[cut:], want)
        return Spec(g.shape[:cut] + self.space, g.dtype)

    def eval(self, xp, g):
        shape = self.infer(spec_of(g)).shape
        return add_up(xp, self, xp.moveaxis(g, -self.rank - 1, 0), self.window, shape, g.dtype)

    def vjp(self, h, y, g):
        return (card(Unfold, *self.geometry)(h),)

    @classmethod
    def samples(cls, draw):
        for geometry, x in SAMPLES:
            op = cls(*geometry, x[-len(geometry[0]) :])
            yield op, (draw(*Unfold(*geometry).infer(Spec(x)).shape),)

    @classmethod
    def errors(cls):
        yield cls(*FLAT, (4,)), (Spec((2, 4)),), "must have shape (2, 3), not (2, 4)"
