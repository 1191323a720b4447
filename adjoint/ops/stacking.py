"""Cards that join arrays along a new axis and take them apart again."""

from __future__ import annotations

from dataclasses import dataclass

from adjoint.core.absent import ZERO
from adjoint.core.errors import ShapeError
from adjoint.core.spec import Spec, normalize_axis, promote
from adjoint.core.verbs import verbs
from adjoint.ops.broadcast import batch_all, batch_front, cast_like
from adjoint.ops.card import Op, card, register


@register
@dataclass(frozen=True)
class Stack(Op):
    """Inputs of one shape side by side along a new `axis`."""

    axis: int

    complex = True

    def infer(self, *xs):
        axis = normalize_axis(self, self.axis, xs[0].ndim + 1)
        if len({x.shape for x in xs}) != 1:
            raise ShapeError(f"Stack: the shapes {', '.join(str(x.shape) for x in xs)} differ")
        return Spec((*xs[0].shape[:axis], len(xs), *xs[0].shape[axis:]), promote(xs))

    def eval(self, xp, *xs):
        if not all(hasattr(x, "dtype") for x in xs):  # a Python number must not raise the precision
            xs = [xp.asarray(x, xp.result_type(*xs)) for x in xs]
        return xp.stack(xs, axis=self.axis)

    def vjp(self, g, y, *xs):
        parts = card(Unstack, self.axis)(g)
        return tuple(cast_like(p, x) for p, x in zip(parts, xs, strict=True))

    def jvp(self, ts, y, *xs):
        if all(t is ZERO for t in ts):
            return ZERO
        return self(*(verbs.zeros_like(x) if t is ZERO else t for t, x in zip(ts, xs, strict=True)))

    def vmap(self, dims, *xs):
        return Stack(self.axis + 1)(*batch_all(dims, xs))

    @classmethod
    def samples(cls, draw):
        yield cls(0), (draw(), draw())
        yield cls(1), (draw(2, 3), draw(2, 3), draw(2, 3))

    @classmethod
    def errors(cls):
        yield cls(0), (Spec((2,)), Spec((3,))), "the shapes (2,), (3,) differ"


@register
@dataclass(frozen=True)
class Unstack(Op):
    """The slices along `axis`, each a result of its own; the transpose of Stack."""

    axis: int

    complex = True

    def infer(self, x):
        axis = normalize_axis(self, self.axis, x.ndim)
        return (Spec(x.shape[:axis] + x.shape[axis + 1 :], x.dtype),) * x.shape[axis]

    def eval(self, xp, x):
        return tuple(xp.moveaxis(x, self.axis, 0))

    def vjp(self, gs, ys, x):
        return (card(Stack, self.axis)(*gs) if gs else verbs.zeros_like(x),)

    def jvp(self, ts, ys, x):
        return self(ts[0])

    def vmap(self, dims, x):
        return Unstack(self.axis + 1)(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls(0), (draw(3),)
        yield cls(1), (draw(2, 3),)

    @classmethod
    def errors(cls):
        yield cls(1), (Spec((3,)),), "outside the input's 1 axes"
