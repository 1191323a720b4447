"""Cards of reductions and running sums."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2, prod

from adjoint.core.errors import ShapeError
from adjoint.core.spec import Spec, elements, int64, normalize_axis, shape_of, uint64
from adjoint.ops import language as F
from adjoint.ops.broadcast import batch_front
from adjoint.ops.card import card, register
from adjoint.ops.families import Linear, NotDifferentiable, Reduction


@register
@dataclass(frozen=True)
class Sum(Reduction, Linear):
    """Add up the elements along `axes`."""

    complex, total, reduction = True, True, "sum"

    def eval(self, xp, x):
        return xp.asarray(x).sum(axis=self.axes, keepdims=self.keepdims)

    def vjp(self, g, y, x):
        return (self.spread(g, x),)

    @classmethod
    def samples(cls, draw):
        yield from super().samples(draw)
        yield cls((0,)), (draw(0, 3),)
        yield cls((1,)), (draw(0, 3),)


@register
@dataclass(frozen=True)
class Mean(Reduction, Linear):
    """The average along `axes`."""

    complex, total, reduction = True, True, "mean"

    def eval(self, xp, x):
        x = xp.asarray(x)
        return x.sum(axis=self.axes, keepdims=self.keepdims) / prod(x.shape[a] for a in self.axes)

    def vjp(self, g, y, x):
        return (self.spread(g / max(prod(shape_of(x)[a] for a in self.axes), 1), x),)


class Peak(Reduction):
    """The largest or smallest element along `axes`: equal ones share the derivative evenly."""

    def _weights(self, y, x):
        hit = F.equal(x, F.reshape(y, self.kept(shape_of(x))))
        hit = F.cast(hit, x.dtype)
        return hit / card(Sum, self.axes, True)(hit)

    def vjp(self, g, y, x):
        return (F.reshape(g, self.kept(shape_of(x))) * self._weights(y, x),)

    def jvp(self, ts, y, x):
        return card(Sum, self.axes, self.keepdims)(ts[0] * self._weights(y, x))


@register
@dataclass(frozen=True)
class Max(Peak):
    """The largest element along `axes`."""

    reduction = "max"

    def eval(self, xp, x):
        return xp.asarray(x).max(axis=self.axes, keepdims=self.keepdims)


@register
@dataclass(frozen=True)
class Min(Peak):
    """The smallest element along `axes`."""

    reduction = "min"

    def eval(self, xp, x):
        return xp.asarray(x).min(axis=self.axes, keepdims=self.keepdims)


@register
@dataclass(frozen=True)
class Any(Reduction, NotDifferentiable):
    """Whether some element along `axes` is true."""

    total, reduction = True, "any"

    def eval(self, xp, x):
        return xp.asarray(x).any(axis=self.axes, keepdims=self.keepdims)


@register
@dataclass(frozen=True)
class All(Reduction, NotDifferentiable):
    """Whether every element along `axes` is true."""

    total, reduction = True, "all"

    def eval(self, xp, x):
        return xp.asarray(x).all(axis=self.axes, keepdims=self.keepdims)


@dataclass(frozen=True)
class Position(NotDifferentiable):
    """The position of one element along `axis`, which disappears."""

    axis: int

    def flops(self, y, x):
        return elements(y)

    def infer(self, x):
        axis = normalize_axis(self, self.axis, x.ndim)
        return Spec(x.shape[:axis] + x.shape[axis + 1 :], int64)

    def vmap(self, dims, x):
        return type(self)(self.axis + 1)(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls(0), (draw(4),)
        yield cls(1), (draw(2, 3),)

    @classmethod
    def errors(cls):
        yield cls(2), (Spec((3, 3)),), "outside the input's 2 axes"


@register
@dataclass(frozen=True)
class ArgMax(Position):
    """The position of the first largest element along `axis`."""

    def eval(self, xp, x):
        return xp.argmax(x, axis=self.axis)


@register
@dataclass(frozen=True)
class ArgMin(Position):
    """The position of the first smallest element along `axis`."""

    def eval(self, xp, x):
        return xp.argmin(x, axis=self.axis)


@dataclass(frozen=True)
class AlongAxis:
    """Ops along one `axis` that keep the shape."""

    axis: int

    def flops(self, y, x):
        return elements(y)

    def infer(self, x):
        normalize_axis(self, self.axis, x.ndim)
        return Spec(x.shape, x.dtype)

    @classmethod
    def errors(cls):
        yield cls(2), (Spec((3, 3)),), "outside the input's 2 axes"


@register
@dataclass(frozen=True)
class ArgSort(AlongAxis, NotDifferentiable):
    """The permutation that sorts `axis`; equal elements keep their order."""

    axis: int
    descending: bool = False

    def flops(self, y, x):
        n = elements(x)
        return int(2 * n * log2(max(n, 2)))

    def infer(self, x):
        return Spec(super().infer(x).shape, int64)

    def eval(self, xp, x):
        if not self.descending:
            return xp.argsort(x, axis=self.axis, stable=True)
        # Sorting the reversed array and counting from its end keeps the order of equal elements.
        size = x.shape[self.axis]
        order = xp.argsort(xp.flip(x, self.axis), axis=self.axis, stable=True)
        return size - 1 - xp.flip(order, self.axis)

    def vmap(self, dims, x):
        return ArgSort(self.axis + 1, self.descending)(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls(0), (draw(5),)
        yield cls(1, True), (draw(2, 4),)


@register
@dataclass(frozen=True)
class ArgPartition(AlongAxis, NotDifferentiable):
    """A permutation that puts the elements of `kth` along `axis` where sorting would, smaller ones before them."""

    axis: int
    kth: tuple[int, ...] = (0,)

    def infer(self, x):
        size = super().infer(x).shape[self.axis]
        if any(not -size <= k < size for k in self.kth):
            raise ShapeError(f"{self}: kth is outside the {size} elements of axis {self.axis}")
        return Spec(x.shape, int64)

    def eval(self, xp, x):
        return xp.argpartition(x, self.kth if len(self.kth) > 1 else self.kth[0], axis=self.axis)

    def vmap(self, dims, x):
        return ArgPartition(self.axis + 1, self.kth)(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls(0, (2,)), (draw(5),)
        yield cls(1, (0, 2)), (draw(2, 4),)


@register
@dataclass(frozen=True)
class CumArgMax(AlongAxis, NotDifferentiable):
    """Where the largest element so far stands, along `axis`; of equal ones the last."""

    axis: int

    def infer(self, x):
        return Spec(super().infer(x).shape, int64)

    def eval(self, xp, x):
        peaks = xp.maximum.accumulate(x, axis=self.axis)
        shape = [1] * x.ndim
        shape[self.axis] = -1
        here = xp.arange(x.shape[self.axis]).reshape(shape)
        found = xp.where((x == peaks) | (x != x), here, 0)
        return xp.maximum.accumulate(found, axis=self.axis)

    def vmap(self, dims, x):
        return CumArgMax(self.axis + 1)(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls(0), (draw(5),)
        yield cls(1), (draw(2, 4),)


@register
@dataclass(frozen=True)
class CumSum(AlongAxis, Linear):
    """Running sum along `axis`, from the end if `reverse`."""

    axis: int
    reverse: bool = False

    complex, total = True, True

    def infer(self, x):
        return Spec(super().infer(x).shape, {"b": int64, "i": int64, "u": uint64}.get(x.dtype.kind, x.dtype))

    def eval(self, xp, x):
        if self.reverse:
            return xp.flip(xp.cumsum(xp.flip(x, self.axis), axis=self.axis), self.axis)
        return xp.cumsum(x, axis=self.axis)

    def vjp(self, g, y, x):
        return (CumSum(self.axis, not self.reverse)(g),)  # the transpose sums the other way

    def vmap(self, dims, x):
        return CumSum(self.axis + 1, self.reverse)(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls(0), (draw(4),)
        yield cls(1, True), (draw(2, 3),)
        yield cls(0), (draw(0, 2),)
