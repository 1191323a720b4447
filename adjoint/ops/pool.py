"""Pooling: what the cards of windows have in common, and the largest element of each window.

The last axes are those in space; any others stand before them. `window`, `stride`, `padding` (as pairs) and `dilation`
have an entry for each axis in space.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

import numpy as np

from adjoint.core.absent import ZERO
from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import Shape, Spec, elements, float64, int64, promote, shape_of, spec_of
from adjoint.ops.broadcast import batch_all
from adjoint.ops.card import Op, card, register
from adjoint.ops.families import Linear, NotDifferentiable
from adjoint.ops.publish import public
from adjoint.ops.windows import Padding, Sizes, add_up, covered, padded, pairs_of, places, sizes_of, taps


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


def geometry_of(
    what: str, rank: int, x: Any, window: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[tuple[int, ...], tuple[int, ...], Padding, Padding, tuple[int, ...]]:
    """Window, stride, padding, the padding with what `ceil_mode` adds to it, and dilation."""
    shape = shape_of(x)
    if len(shape) not in (rank + 1, rank + 2):
        raise ShapeError(
            f"{what}: an input of {rank + 2} axes (or {rank + 1} for a single sample) is needed, not the shape "
            f"{shape}{called_at()}"
        )
    window = sizes_of(what, "kernel_size", window, rank)
    stride = window if stride is None else sizes_of(what, "stride", stride, rank)
    dilation = sizes_of(what, "dilation", dilation, rank)
    pairs, size = pairs_of(what, padding, rank), covered(window, dilation)
    if any(2 * max(pair) > k for pair, k in zip(pairs, size, strict=True)):
        raise ArgumentError(f"{what}: padding {padding!r} is more than half of the window, {window}{called_at()}")
    if not ceil_mode:
        return window, stride, pairs, pairs, dilation
    return window, stride, pairs, _completed(shape[-rank:], size, stride, pairs), dilation


def _completed(space: Sequence[int], size: Sequence[int], stride: Sequence[int], pairs: Padding) -> Padding:
    """More padding at the end, so that a last window that begins inside the input is complete."""
    wider = []
    for n, k, s, (lo, hi) in zip(space, size, stride, pairs, strict=True):
        last = ceil((n + lo + hi - k) / s) * s
        last -= s if last >= n + lo else 0
        wider.append((lo, max(last + k - n - lo, hi)))
    return tuple(wider)


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


def _max_pool(
    what: str, rank: int, x: Any, window: Any, stride: Any, padding: Any, dilation: Any, indices: bool, ceil_mode: bool
) -> Any:
    window, stride, _, pairs, dilation = geometry_of(what, rank, x, window, stride, padding, dilation, ceil_mode)
    y = card(MaxPool, window, stride, pairs, dilation)(x)
    return (y, card(MaxPoolIndex, window, stride, pairs, dilation)(x)) if indices else y


@public()
def max_pool1d(
    x: Any, kernel_size: Sizes, stride: Sizes | None = None, padding: Any = 0, dilation: Sizes = 1,
    return_indices: bool = False, ceil_mode: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of (N, C, L); see `max_pool2d`.

    >>> from adjoint import ops, Tensor
    >>> print(ops.max_pool1d(Tensor([[[1.0, 5.0, 2.0, 3.0]]]), 2))
    [[[5. 3.]]]
    """
    return _max_pool("max_pool1d", 1, x, kernel_size, stride, padding, dilation, return_indices, ceil_mode)


@public()
def max_pool2d(
    x: Any, kernel_size: Sizes, stride: Sizes | None = None, padding: Any = 0, dilation: Sizes = 1,
    return_indices: bool = False, ceil_mode: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of (N, C, H, W); equal ones share the derivative evenly.

    Windows follow one another without overlap if no stride is given. With `ceil_mode` a last, incomplete window counts
    too. With `return_indices`, also where in the plane each (first) largest element stands.

    >>> from adjoint import ops, Tensor
    >>> y, where = ops.max_pool2d(Tensor([[[[1.0, 2.0], [4.0, 3.0]]]]), 2, return_indices=True)
    >>> print(y, where)
    [[[[4.]]]] [[[[2]]]]
    """
    return _max_pool("max_pool2d", 2, x, kernel_size, stride, padding, dilation, return_indices, ceil_mode)


@public()
def max_pool3d(
    x: Any, kernel_size: Sizes, stride: Sizes | None = None, padding: Any = 0, dilation: Sizes = 1,
    return_indices: bool = False, ceil_mode: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of (N, C, D, H, W); see `max_pool2d`.

    >>> from adjoint import ops
    >>> ops.max_pool3d(ops.ones((1, 2, 4, 4, 5)), 2, ceil_mode=True).shape
    (1, 2, 2, 2, 3)
    """
    return _max_pool("max_pool3d", 3, x, kernel_size, stride, padding, dilation, return_indices, ceil_mode)
