"""Cards of convolution: the product of every window of an input with a filter, and its two transposes.

Layouts are those of MindSpore and PyTorch: inputs (N, C, *space), filters (O, C / groups, *window), for any number of
axes in space. The three cards are bilinear and the derivatives of one are made of the other two.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import prod, sqrt
from typing import Any, ClassVar

from adjoint.core.errors import ShapeError
from adjoint.core.spec import Shape, Spec, elements, promote, shape_of, spec_of
from adjoint.ops.broadcast import batch_front, batch_size, conj, match, push
from adjoint.ops.card import Op, card, register
from adjoint.ops.language import moveaxis, reshape

Padding = tuple[tuple[int, int], ...]
COLUMNS = 1 << 19  # elements: windows are written out for so many samples at once that they stay near the processor


# ---------------------------------------------------------------- windows


def covered(window: Shape, dilation: Shape) -> Shape:
    """The size in space from the first to the last element of a window."""
    return tuple(d * (k - 1) + 1 for k, d in zip(window, dilation, strict=True))


def places(op: Any, space: Shape, window: Shape) -> Shape:
    """How many windows fit along each axis, or an error that names the sizes."""
    padded = tuple(n + lo + hi for n, (lo, hi) in zip(space, op.padding, strict=True))
    size = covered(window, op.dilation)
    if any(n < k for n, k in zip(padded, size, strict=True)):
        raise ShapeError(
            f"{type(op).__name__}: a window of {window} with dilation {op.dilation} covers {size}, which is more than "
            f"the padded input has: {padded}. Pad it, or take a smaller window."
        )
    return tuple((n - k) // s + 1 for n, k, s in zip(padded, size, op.stride, strict=True))


def taps(op: Any, window: Shape, count: Shape) -> tuple[tuple, ...]:
    """For each element of a window, the index of what it meets in the padded input, in each of `count` windows."""
    return _taps(tuple(window), op.stride, op.dilation, tuple(count))


@lru_cache(maxsize=1024)
def _taps(window: Shape, stride: Shape, dilation: Shape, count: Shape) -> tuple[tuple, ...]:
    found = []
    for offset in itertools.product(*map(range, window)):
        axes = zip(offset, dilation, stride, count, strict=True)
        found.append((..., *(slice(k * d, k * d + s * (n - 1) + 1, s) for k, d, s, n in axes)))
    return tuple(found)


def padded(xp: Any, op: Any, x: Any, value: Any = 0) -> Any:
    """The input with `value` around its last axes."""
    if not any(map(any, op.padding)):
        return x
    lead = x.ndim - len(op.padding)
    return xp.pad(x, ((0, 0),) * lead + op.padding, constant_values=value)


def add_up(xp: Any, op: Any, parts: Iterable[Any], window: Shape, shape: Shape, dtype: Any) -> Any:
    """An array of `shape`: parts, one for each element of a window, are laid back where `taps` found them and added."""
    lead, space = shape[: -len(op.padding)], shape[-len(op.padding) :]
    whole = xp.zeros((*lead, *(n + lo + hi for n, (lo, hi) in zip(space, op.padding, strict=True))), dtype)
    for tap, part in zip(taps(op, window, places(op, space, window)), parts, strict=True):
        whole[tap] += part
    inner = (..., *(slice(lo, lo + n) for n, (lo, _) in zip(space, op.padding, strict=True)))
    return whole[inner]


# ---------------------------------------------------------------- batches


def fold_batch(x: Any, axis: int, groups: int) -> Any:
    """The batch axis 0 put into another axis, behind its groups: (B, ..., G * c, ...) becomes (..., G * B * c, ...)."""
    size, *rest = shape_of(x)
    n = rest[axis]
    x = reshape(x, (size, *rest[:axis], groups, n // groups, *rest[axis + 1 :]))
    return reshape(moveaxis(x, 0, axis + 1), (*rest[:axis], n * size, *rest[axis + 1 :]))


def unfold_batch(y: Any, axis: int, groups: int, size: int) -> Any:
    """The batch of `size` taken out of an axis again."""
    shape = shape_of(y)
    n = shape[axis] // size
    y = reshape(y, (*shape[:axis], groups, size, n // groups, *shape[axis + 1 :]))
    return reshape(moveaxis(y, axis + 1, 0), (size, *shape[:axis], n, *shape[axis + 1 :]))


# ---------------------------------------------------------------- the cards


@dataclass(frozen=True)
class Convolution(Op):
    """What the three cards have in common. Fields: stride, padding as pairs, dilation, groups."""

    stride: Shape
    padding: Padding
    dilation: Shape
    groups: int = 1

    complex, dense, expensive, half_precision = True, True, True, True
    #: Where a batch goes: of the first input alone, of the second alone, and of both. Each entry is the axis of the
    #: input (or inputs), the axis of the result, and whether the batch stands behind the groups of either.
    folds: ClassVar[tuple[tuple, tuple, tuple]]

    def flops(self, y, *xs):
        """As for a product of matrices, where the three sizes are mk, kn and mn."""
        return int(2 * sqrt(elements(y) * prod(map(elements, xs))))

    @property
    def geometry(self) -> tuple:
        return self.stride, self.padding, self.dilation, self.groups

    @property
    def rank(self) -> int:
        return len(self.stride)

    @cached_property
    def name(self) -> str:
        return type(self).__name__

    def check_axes(self, **specs: Spec) -> None:
        """Every array has two axes besides those in space."""
        for what, spec in specs.items():
            if spec.ndim != self.rank + 2:
                raise ShapeError(f"{self.name}: the {what} must have {self.rank + 2} axes, not the shape {spec.shape}")

    def check_channels(self, channels: int, filters: Shape) -> None:
        """The channels of the input and of the filters agree."""
        if channels != filters[1] * self.groups:
            raise ShapeError(
                f"{self.name}: filters of shape {filters} in {self.groups} groups take {filters[1] * self.groups} "
                f"channels, the input has {channels}"
            )
        if filters[0] % self.groups:
            raise ShapeError(f"{self.name}: {filters[0]} filters cannot be shared among {self.groups} groups")

    def check_result(self, count: Shape, result: Spec, filters: int) -> None:
        """The cotangent has the shape of the convolution's result."""
        if result.shape[1:] != (filters, *count):
            raise ShapeError(
                f"{self.name}: the cotangent has shape {result.shape}, the convolution's result "
                f"{(result.shape[0], filters, *count)}"
            )

    def columns(self, xp: Any, x: Any, window: Shape, count: Shape) -> Any:
        """The windows of a padded input as columns of a matrix for each group: (G, c * window, n * count)."""
        x = x.swapaxes(0, 1)
        parts = [x[tap] for tap in taps(self, window, count)]
        size = x.shape[0] // self.groups * len(parts)
        return xp.stack(parts, axis=1).reshape(self.groups, size, x.shape[1] * prod(count))

    def rows(self, g: Any) -> Any:
        """A result of the convolution as a matrix for each group: (G, filters, n * count)."""
        n, filters, *count = g.shape
        return g.swapaxes(0, 1).reshape(self.groups, filters // self.groups, n * prod(count))

    def matrix(self, w: Any) -> Any:
        """The filters as a matrix for each group: (G, filters, c * window)."""
        return w.reshape(self.groups, w.shape[0] // self.groups, prod(w.shape[1:]))

    def batches(self, samples: int, channels: int, window: Shape, count: Shape) -> list[slice]:
        """Samples to work on at once. There is always a batch, if an empty one."""
        step = max(COLUMNS // max(channels * prod(window) * prod(count), 1), 1)
        return [slice(k, k + step) for k in range(0, max(samples, 1), step)]

    def jvp(self, ts, y, a, b):
        return push(ts, lambda t: self(t, b), lambda t: self(a, t))

    def vmap(self, dims, a, b):
        size = batch_size(dims, (a, b))
        a, b = (batch_front(v, d) for v, d in zip((a, b), dims, strict=True))
        first, second, both = self.folds
        if dims[1] is None:
            (axis, grouped), (out, behind) = first
            y = self(fold_batch(a, axis, self.groups if grouped else 1), b)
        elif dims[0] is None:
            (axis, grouped), (out, behind) = second
            y = self(a, fold_batch(b, axis, self.groups if grouped else 1))
        else:
            left, right, out = both
            behind = False
            y = replace(self, groups=self.groups * size)(fold_batch(a, left, 1), fold_batch(b, right, 1))
        return unfold_batch(y, out, self.groups if behind else 1, size)


@register
@dataclass(frozen=True)
class Conv(Convolution):
    """The sum of products of each window of x (N, C, *space) with each filter of w (O, C / groups, *window)."""

    folds = (((0, False), (0, False)), ((0, True), (1, True)), (1, 0, 1))

    def infer(self, x, w):
        self.check_axes(input=x, filter=w)
        self.check_channels(x.shape[1], w.shape)
        return Spec((x.shape[0], w.shape[0], *places(self, x.shape[2:], w.shape[2:])), promote([x, w]))

    def eval(self, xp, x, w):
        _, filters, *count = self.infer(spec_of(x), spec_of(w)).shape
        window = w.shape[2:]
        x, matrix = padded(xp, self, x), self.matrix(w)
        parts = []
        for batch in self.batches(x.shape[0], x.shape[1], window, count):
            part = xp.matmul(matrix, self.columns(xp, x[batch], window, count))
            parts.append(part.reshape(filters, x[batch].shape[0], *count).swapaxes(0, 1))
        return xp.concatenate(parts)

    def vjp(self, g, y, x, w):
        return (
            lambda: match(card(ConvInput, *self.geometry, shape_of(x)[2:])(g, conj(w)), x),
            lambda: match(card(ConvFilter, *self.geometry, shape_of(w)[2:])(conj(x), g), w),
        )

    @classmethod
    def samples(cls, draw):
        for geometry, x, w in SAMPLES:
            yield cls(*geometry), (draw(*x), draw(*w))

    @classmethod
    def errors(cls):
        flat = cls((1,), ((0, 0),), (1,), 2)
        yield flat, (Spec((2, 4)), Spec((2, 2, 3))), "the input must have 3 axes, not the shape (2, 4)"
        yield flat, (Spec((1, 4, 5)), Spec((2, 3, 3))), "take 6 channels, the input has 4"
        yield flat, (Spec((1, 4, 5)), Spec((3, 2, 3))), "3 filters cannot be shared among 2 groups"
        yield flat, (Spec((1, 4, 2)), Spec((2, 2, 3))), "more than the padded input has: (2,)"


@register
@dataclass(frozen=True)
class ConvInput(Convolution):
    """The cotangent of Conv's input, of sizes `space`, for a cotangent g of its result and filters w."""

    space: Shape = ()

    folds = (((0, False), (0, False)), ((1, False), (1, True)), (1, 0, 1))

    def infer(self, g, w):
        self.check_axes(cotangent=g, filter=w)
        self.check_channels(w.shape[1] * self.groups, w.shape)
        self.check_result(places(self, self.space, w.shape[2:]), g, w.shape[0])
        return Spec((g.shape[0], w.shape[1] * self.groups, *self.space), promote([g, w]))

    def eval(self, xp, g, w):
        _, channels, *_ = self.infer(spec_of(g), spec_of(w)).shape
        window, count = w.shape[2:], g.shape[2:]
        matrix = self.matrix(w).swapaxes(1, 2)
        parts = []
        for batch in self.batches(g.shape[0], channels, window, count):
            rows = self.rows(g[batch])
            # A product over one filter is slow as a matrix product, and every depthwise convolution has it.
            columns = matrix * rows if rows.shape[1] == 1 else xp.matmul(matrix, rows)
            samples = g[batch].shape[0]
            columns = columns.reshape(channels, prod(window), samples, *count).swapaxes(0, 1).swapaxes(1, 2)
            parts.append(add_up(xp, self, columns, window, (samples, channels, *self.space), columns.dtype))
        return xp.concatenate(parts)

    def vjp(self, h, x, g, w):
        return (
            lambda: match(card(Conv, *self.geometry)(h, conj(w)), g),
            lambda: match(card(ConvFilter, *self.geometry, shape_of(w)[2:])(h, conj(g)), w),
        )

    @classmethod
    def samples(cls, draw):
        for geometry, x, w in SAMPLES:
            result = Conv(*geometry).infer(Spec(x), Spec(w))
            yield cls(*geometry, x[2:]), (draw(*result.shape), draw(*w))

    @classmethod
    def errors(cls):
        flat = cls((1,), ((0, 0),), (1,), 1, (5,))
        yield flat, (Spec((2, 4)), Spec((2, 2, 3))), "the cotangent must have 3 axes, not the shape (2, 4)"
        yield flat, (Spec((1, 2, 4)), Spec((2, 2, 3))), "shape (1, 2, 4), the convolution's result (1, 2, 3)"


@register
@dataclass(frozen=True)
class ConvFilter(Convolution):
    """The cotangent of Conv's filters, of sizes `window`, for an input x and a cotangent g of its result."""

    window: Shape = ()

    folds = (((1, True), (1, False)), ((1, True), (0, True)), (1, 1, 0))

    def infer(self, x, g):
        self.check_axes(input=x, cotangent=g)
        if x.shape[0] != g.shape[0]:
            raise ShapeError(f"ConvFilter: {x.shape[0]} samples in the input and {g.shape[0]} in the cotangent")
        filters = (g.shape[1], x.shape[1] // self.groups, *self.window)
        self.check_channels(x.shape[1], filters)
        self.check_result(places(self, x.shape[2:], self.window), g, g.shape[1])
        return Spec(filters, promote([x, g]))

    def eval(self, xp, x, g):
        shape = self.infer(spec_of(x), spec_of(g)).shape
        count = g.shape[2:]
        x = padded(xp, self, x)
        total: Any = None
        for batch in self.batches(x.shape[0], x.shape[1], self.window, count):
            columns = self.columns(xp, x[batch], self.window, count)
            part = xp.matmul(self.rows(g[batch]), columns.swapaxes(1, 2))
            total = part if total is None else total + part
        return total.reshape(shape)

    def vjp(self, h, w, x, g):
        return (
            lambda: match(card(ConvInput, *self.geometry, shape_of(x)[2:])(conj(g), h), x),
            lambda: match(card(Conv, *self.geometry)(conj(x), h), g),
        )

    @classmethod
    def samples(cls, draw):
        for geometry, x, w in SAMPLES:
            result = Conv(*geometry).infer(Spec(x), Spec(w))
            yield cls(*geometry, w[2:]), (draw(*x), draw(*result.shape))

    @classmethod
    def errors(cls):
        flat = cls((1,), ((0, 0),), (1,), 1, (3,))
        yield flat, (Spec((2, 2, 5)), Spec((3, 2, 3))), "2 samples in the input and 3 in the cotangent"
        yield flat, (Spec((2, 2, 5)), Spec((2, 2, 4))), "shape (2, 2, 4), the convolution's result (2, 2, 3)"


#: Geometry, shape of the input, shape of the filters.
SAMPLES: list[tuple[tuple[Shape, Padding, Shape, int], Shape, Shape]] = [
    (((1,), ((0, 0),), (1,), 1), (2, 2, 4), (3, 2, 2)),
    (((2,), ((0, 1),), (1,), 2), (2, 4, 4), (2, 2, 2)),
    (((2, 1), ((1, 0), (0, 2)), (1, 2), 1), (1, 2, 4, 3), (2, 2, 3, 2)),
    (((1, 1), ((0, 0), (1, 0)), (1, 1), 2), (2, 2, 2, 2), (4, 1, 2, 1)),
    (((1, 2, 1), ((0, 0), (0, 1), (0, 0)), (1, 1, 1), 1), (1, 1, 1, 3, 2), (1, 1, 1, 2, 2)),
    (((3,), ((0, 0),), (1,), 1), (0, 1, 3), (1, 1, 2)),
]
