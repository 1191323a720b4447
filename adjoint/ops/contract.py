"""Matrix products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core import watching
from adjoint.core.errors import ShapeError
from adjoint.core.language import language
from adjoint.core.spec import Spec, broadcast, elements, promote, shape_of
from adjoint.core.tensor import Tensor
from adjoint.ops import language as F
from adjoint.ops.broadcast import batch_front, conj, match, ndim, push
from adjoint.ops.card import Op, register
from adjoint.ops.families import SMALL
from adjoint.ops.power_series import of_product
from adjoint.ops.publish import UFUNCS, public

_watched = watching.active


def swap_last(x):
    """The last two axes exchanged; a vector stays."""
    n = ndim(x)
    return x if n < 2 else F.permute(x, (*range(n - 2), n - 1, n - 2))


@register
@dataclass(frozen=True)
class MatMul(Op):
    """Matrix product of the last two axes, as NumPy's `@`: vectors too, leading axes broadcast."""

    complex, dense, expensive, half_precision, total = True, True, True, True, True

    def flops(self, z, x, y):
        return 2 * elements(z) * x.shape[-1]

    def infer(self, x, y):
        if not x.ndim or not y.ndim:
            raise ShapeError("MatMul: a factor without axes; multiply it with `*`")
        if x.shape[-1] != y.shape[-2 if y.ndim > 1 else 0]:
            raise ShapeError(
                f"MatMul: the last axis of {x.shape} ({x.shape[-1]}) and the "
                f"{'second last' if y.ndim > 1 else 'only'} axis of {y.shape} ({y.shape[-2 if y.ndim > 1 else 0]}) "
                f"differ. Transpose or reshape a factor."
            )
        lead = broadcast(self, [Spec(x.shape[:-2]), Spec(y.shape[:-2])])
        rows = x.shape[-2:-1] if x.ndim > 1 else ()
        columns = y.shape[-1:] if y.ndim > 1 else ()
        return Spec(lead + rows + columns, promote([x, y]))

    def eval(self, xp, x, y):
        return xp.matmul(x, y)

    def vjp(self, g, z, x, y):
        if type(g) is type(x) is type(y) is np.ndarray and not _watched:
            small = x.ndim == 2 and y.ndim < 3 and x.size <= SMALL and y.size <= SMALL
            if small and x.dtype is y.dtype is g.dtype and x.dtype.kind == "f":  # without a call of an op
                return lambda: np.outer(g, y) if y.ndim == 1 else g @ y.T, lambda: x.T @ g
        return lambda: self._pull_left(g, x, y), lambda: self._pull_right(g, x, y)

    def _pull_left(self, g, x, y):
        if ndim(y) == 1:
            return match(F.expand_last(g) * conj(y), x)
        if ndim(x) == 1:
            g = F.expand_row(g)
        return match(self(g, conj(swap_last(y))), x)

    def _pull_right(self, g, x, y):
        if ndim(x) == 1:
            return match(conj(x) * g if ndim(y) == 1 else F.expand_last(conj(x)) * F.expand_row(g), y)
        if ndim(y) == 1:
            g = F.expand_last(g)
            return match(F.squeeze_last(self(conj(swap_last(x)), g)), y)
        return match(self(conj(swap_last(x)), g), y)

    def coefficient(self, k, z, x, y):
        return of_product(self, k, x, y)

    def jvp(self, ts, z, x, y):
        return push(ts, lambda t: self(t, y), lambda t: self(x, t))

    def vmap(self, dims, x, y):
        x, y = (batch_front(v, d) for v, d in zip((x, y), dims, strict=True))
        dx, dy = (d is not None for d in dims)
        nx, ny = ndim(x) - dx, ndim(y) - dy
        # A vector becomes a matrix, so that its batch axis is not taken for a matrix axis.
        if dx and nx == 1:
            x = F.expand_row(x)
        if dy and ny == 1:
            y = F.expand_last(y)
        # Leading axes line up at the right: give the shorter batched factor axes of size 1 behind the batch.
        rank = max(nx, ny, 2)
        x, y = (_pad_lead(v, d, rank) for v, d in ((x, dx), (y, dy)))
        z = self(x, y)
        if dx and nx == 1:
            z = F.squeeze_axis(z, ndim(z) - 1 - (ny > 1 or dy))
        if dy and ny == 1:
            z = F.squeeze_last(z)
        return z

    @classmethod
    def samples(cls, draw):
        for a, b in [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 2)),
                     ((2, 3), (5, 3, 2)), ((1, 4, 2, 3), (5, 1, 3, 2)), ((3,), (2, 3, 2)), ((2, 2, 3), (3,)), ((0, 3), (3, 2)), ((2, 0), (0, 3))]:  # fmt: skip
            yield cls(), (draw(*a), draw(*b))

    @classmethod
    def errors(cls):
        yield cls(), (Spec((2, 3)), Spec((4, 2))), "the last axis of (2, 3) (3) and the second last axis of (4, 2) (4)"
        yield cls(), (Spec(()), Spec((4, 2))), "a factor without axes"
        yield cls(), (Spec((2, 2, 3)), Spec((3, 3, 2))), "do not broadcast"


def _pad_lead(x, batched, rank):
    shape = shape_of(x)
    if not batched or len(shape) - 1 >= rank:
        return x
    return F.reshape(x, (shape[0], *(1,) * (rank - len(shape) + 1), *shape[1:]))


matmul_ = MatMul()


@public(method=True)
def matmul(input: Any, other: Any) -> Any:
    """The matrix product `input @ other`; leading axes broadcast.

    >>> from adjoint import ops
    >>> print(ops.matmul([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]))
    [3. 7.]
    """
    return matmul_(
        input if isinstance(input, Tensor) else language.array(input),
        other if isinstance(other, Tensor) else language.array(other),
    )


UFUNCS[np.matmul] = matmul_
