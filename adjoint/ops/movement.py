"""Cards that move elements about: reshape, transpose, broadcast, slice, concatenate, split, flip."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from adjoint.core import views
from adjoint.core.absent import ZERO
from adjoint.core.dispatch import Value
from adjoint.core.errors import ShapeError
from adjoint.core.spec import Shape, Spec, normalize_axis, promote, shape_of, spec_of
from adjoint.ops import language as F
from adjoint.ops.broadcast import batch_all, batch_first, batch_front, cast_like, sum_to
from adjoint.ops.card import Op, card, register
from adjoint.ops.families import Linear


class Movement(Linear):
    """Linear ops that only move, repeat or drop elements."""

    complex, total = True, True


class View(Movement):
    """Ops whose result shows elements of the input, each at most once: what is written to one is seen in the other."""

    view = True

    def __call__(self, x):
        y = Op.__call__(self, x)
        if isinstance(x, Value) and y.shape:
            views.relate(y, x, self)
        return y

    def show(self, x):
        """What it shows of x, as a Tensor of its own."""
        return Op.__call__(self, x)

    def put(self, x, y):
        """x with y in place of what it shows of x."""
        raise NotImplementedError

    def is_view(self, steps, base):
        """Whether NumPy shares the elements of the array `base` after these steps, of which it is the last."""
        return True

    def is_apart(self, other, base):
        """Whether it is known to show other elements of `base` than another step."""
        return False


@register
@dataclass(frozen=True)
class Reshape(View):
    """The same elements, in the same order, under another shape."""

    shape: Shape

    def put(self, x, y):
        return card(Reshape, shape_of(x)).show(y)

    def is_view(self, steps, base):
        whole = part = base
        for step in steps:
            part = step.eval(np, part)
        return np.may_share_memory(whole, part) or not part.size

    def infer(self, x):
        if prod(x.shape) != prod(self.shape):
            raise ShapeError(
                f"Reshape: {prod(x.shape)} elements of shape {x.shape} do not fill the shape {self.shape}, "
                f"which has {prod(self.shape)}"
            )
        return Spec(self.shape, x.dtype)

    def eval(self, xp, x):
        return xp.reshape(x, self.shape)

    def vjp(self, g, y, x):
        return (card(Reshape, shape_of(x))(g),)

    def vmap(self, dims, x):
        x = batch_front(x, dims[0])
        return card(Reshape, (shape_of(x)[0], *self.shape))(x)

    @classmethod
    def samples(cls, draw):
        yield cls((6,)), (draw(2, 3),)
        yield cls((3, 1, 2)), (draw(2, 3),)
        yield cls(()), (draw(1),)
        yield cls((3, 0)), (draw(0, 2),)

    @classmethod
    def errors(cls):
        yield cls((4,)), (Spec((3,)),), "do not fill the shape (4,)"


@register
@dataclass(frozen=True)
class Transpose(View):
    """The axes in the order `perm`."""

    perm: Shape

    def put(self, x, y):
        return card(Transpose, inverse_permutation(self.perm)).show(y)

    def infer(self, x):
        if sorted(self.perm) != list(range(x.ndim)):
            raise ShapeError(f"Transpose: {self.perm} does not name each of the input's {x.ndim} axes once")
        return Spec(tuple(x.shape[a] for a in self.perm), x.dtype)

    def eval(self, xp, x):
        return xp.transpose(x, self.perm)

    def vjp(self, g, y, x):
        return (card(Transpose, inverse_permutation(self.perm))(g),)

    def vmap(self, dims, x):
        d = dims[0]
        others = [a for a in range(len(self.perm) + 1) if a != d]
        return card(Transpose, (d, *(others[a] for a in self.perm)))(x)

    @classmethod
    def samples(cls, draw):
        yield cls((1, 0)), (draw(2, 3),)
        yield cls((2, 0, 1)), (draw(2, 1, 4),)
        yield cls(()), (draw(),)

    @classmethod
    def errors(cls):
        yield cls((0, 0)), (Spec((3, 3)),), "does not name each of the input's 2 axes once"


def inverse_permutation(perm: Shape) -> Shape:
    """
    >>> inverse_permutation((2, 0, 1))
    (1, 2, 0)
    """
    return tuple(sorted(range(len(perm)), key=perm.__getitem__))


@register
@dataclass(frozen=True)
class BroadcastTo(Movement):
    """The input repeated along new axes and axes of size 1 until it has `shape`."""

    shape: Shape

    view = True

    def infer(self, x):
        lead = len(self.shape) - x.ndim
        if lead < 0 or any(n not in (1, m) for n, m in zip(x.shape, self.shape[lead:], strict=True)):
            raise ShapeError(f"BroadcastTo: shape {x.shape} does not broadcast to {self.shape}")
        return Spec(self.shape, x.dtype)

    def eval(self, xp, x):
        return xp.broadcast_to(x, self.shape)

    def vjp(self, g, y, x):
        return (sum_to(g, shape_of(x)),)

    def vmap(self, dims, x):
        x = batch_first(x, dims[0], len(self.shape))
        return card(BroadcastTo, (shape_of(x)[0], *self.shape))(x)

    @classmethod
    def samples(cls, draw):
        yield cls((2, 3)), (draw(3),)
        yield cls((2, 3, 2)), (draw(3, 1),)
        yield cls((2,)), (draw(),)
        yield cls((0, 3)), (draw(3),)

    @classmethod
    def errors(cls):
        yield cls((2, 4)), (Spec((3,)),), "shape (3,) does not broadcast to (2, 4)"


@register
@dataclass(frozen=True)
class Flip(View):
    """The order of the elements reversed along `axes`."""

    axes: Shape

    def put(self, x, y):
        return self.show(y)

    def infer(self, x):
        for a in self.axes:
            normalize_axis(self, a, x.ndim)
        return Spec(x.shape, x.dtype)

    def eval(self, xp, x):
        return xp.flip(x, self.axes)

    def vjp(self, g, y, x):
        return (self(g),)

    def vmap(self, dims, x):
        return Flip(tuple(a + 1 for a in self.axes))(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls((0,)), (draw(4),)
        yield cls((0, 1)), (draw(2, 3),)

    @classmethod
    def errors(cls):
        yield cls((1,)), (Spec((3,)),), "outside the input's 1 axes"


def without(shape: Shape, axis: int) -> Shape:
    return shape[:axis] + shape[axis + 1 :]


@register
@dataclass(frozen=True)
class Concat(Op):
    """The inputs one after another along `axis`."""

    axis: int

    complex, total = True, True

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

    def jvp(self, ts, y, *xs):
        if all(t is ZERO for t in ts):
            return ZERO
        return self(*(F.zeros_like(x) if t is ZERO else t for t, x in zip(ts, xs, strict=True)))

    def vmap(self, dims, *xs):
        return Concat(self.axis + 1)(*batch_all(dims, xs))

    @classmethod
    def samples(cls, draw):
        yield cls(0), (draw(2), draw(3))
        yield cls(1), (draw(2, 1), draw(2, 3), draw(2, 0))

    @classmethod
    def errors(cls):
        yield cls(0), (Spec((2, 3)), Spec((2, 4))), "differ on other axes than axis 0"


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
