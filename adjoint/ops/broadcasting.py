"""Repeating an array along new axes and axes of size 1: the card and its functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.errors import ShapeError
from adjoint.core.spec import Shape, Spec, shape_of
from adjoint.ops.broadcast import batch_first, sum_to
from adjoint.ops.card import card, register
from adjoint.ops.movement import ONCE, Movement, ints
from adjoint.ops.publish import public


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

    def index_map(self, shape):
        lead = len(self.shape) - len(shape)
        return [ONCE if n == 1 else (0, lead + k, 1) for k, n in enumerate(shape)]

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


@public(method=True)
def broadcast_to(input: Any, shape: Sequence[int]) -> Any:
    """The input repeated along new axes and axes of size 1; -1 keeps a size.

    >>> from adjoint import ops, Tensor
    >>> print(ops.broadcast_to(Tensor([1.0, 2.0]), (2, 2)))
    [[1. 2.]
     [1. 2.]]
    """
    want = tuple(int(n) for n in shape)
    have = shape_of(input)
    lead = len(want) - len(have)
    want = tuple(have[a - lead] if n == -1 and a >= lead else n for a, n in enumerate(want))
    return card(BroadcastTo, want)(input)


@public(method=True)
def expand(input: Any, *size: Any) -> Any:
    """`broadcast_to` with the sizes as separate arguments.

    >>> from adjoint import ops, Tensor
    >>> ops.expand(Tensor([[1.0], [2.0]]), 2, 3).shape
    (2, 3)
    """
    return broadcast_to(input, ints(size))


@public()
def broadcast_arrays(*inputs: Any) -> tuple[Any, ...]:
    """All inputs, repeated to their common shape.

    >>> from adjoint import ops, Tensor
    >>> [x.shape for x in ops.broadcast_arrays(Tensor([1.0]), Tensor([[1.0], [2.0]]))]
    [(2, 1), (2, 1)]
    """
    shape = np.broadcast_shapes(*(shape_of(x) for x in inputs))
    return tuple(x if shape_of(x) == shape else card(BroadcastTo, shape)(x) for x in inputs)
