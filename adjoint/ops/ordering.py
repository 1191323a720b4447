"""The order of steps: a value that is taken only after another one is known."""

from __future__ import annotations

from dataclasses import dataclass

from adjoint.core.absent import ZERO
from adjoint.core.spec import Spec, shape_of
from adjoint.ops import language as F
from adjoint.ops.broadcast import batch_front
from adjoint.ops.card import Op, register


@register
@dataclass(frozen=True)
class After(Op):
    """`After()(x, y)` is x, for steps that come after y. What is computed from it is not taken for the same computed from x.

    So the steps of a checkpoint are computed again in the backward pass, where a graph would otherwise keep the first results.
    """

    complex, total, same_bytes, delays = True, True, True, True

    def infer(self, x, y):
        return Spec(x.shape, x.dtype)

    def eval(self, xp, x, y):
        return x

    def vjp(self, g, out, x, y):
        return g, ZERO

    def jvp(self, ts, out, x, y):
        return ts[0]

    def vmap(self, dims, x, y):
        if dims[0] is None:
            return self(F.broadcast_to(x, (shape_of(y)[dims[1]], *shape_of(x))), y)
        return self(batch_front(x, dims[0]), y)

    @classmethod
    def samples(cls, draw):
        yield from [(cls(), (draw(3, 4), draw(2))), (cls(), (draw(5), draw())), (cls(), (draw(1, 7), draw(1, 7)))]


after = After()
