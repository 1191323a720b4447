"""Linear recurrences with constant coefficients: the part of a digital filter that feeds its result back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.absent import ZERO
from adjoint.core.errors import ShapeError
from adjoint.core.spec import Spec, broadcast, promote, shape_of
from adjoint.ops.broadcast import batch_first, conj, match, ndim
from adjoint.ops.card import Op, card, register
from adjoint.ops.language import broadcast_to, sum_axes
from adjoint.ops.linalg import inexact_dtype
from adjoint.ops.padding import Pad
from adjoint.ops.publish import public
from adjoint.ops.slicing import flip, slice_axis
from adjoint.ops.stacking import array, stack


@register
@dataclass(frozen=True)
class Recurrence(Op):
    """y[n] = x[n] - a[0] y[n-1] - a[1] y[n-2] - ... along the last axis, from zeros; the axes before it broadcast."""

    complex, expensive = True, True

    def flops(self, y, *xs):
        return 2 * int(np.prod(y.shape)) * (xs[1].shape or (1,))[-1]

    def infer(self, x, a):
        if x.ndim < 1 or a.ndim < 1:
            raise ShapeError(f"Recurrence: inputs of shapes {x.shape} and {a.shape} need an axis to run along")
        lead = broadcast(self, [Spec(x.shape[:-1]), Spec(a.shape[:-1])])
        return Spec((*lead, x.shape[-1]), inexact_dtype(promote([x, a])))

    def eval(self, xp, x, a):
        from scipy.signal import lfilter

        dtype = inexact_dtype(np.result_type(x, a))
        lead = np.broadcast_shapes(x.shape[:-1], a.shape[:-1])
        x = np.broadcast_to(np.asarray(x, dtype), (*lead, x.shape[-1]))
        y = np.zeros(x.shape, dtype)
        one = np.ones(1, dtype)
        if a.ndim == 1:
            return lfilter(one, np.concatenate([one, a]), x, axis=-1).astype(dtype) if y.size else y
        a = np.broadcast_to(a, (*lead, a.shape[-1]))
        for i in np.ndindex(*lead) if y.size else ():
            y[i] = lfilter(one, np.concatenate([one, a[i]]), x[i])
        return y

    def vjp(self, g, y, x, a):
        back = flip(self(flip(g, -1), conj(a)), -1)

        def pull_coefficients():
            terms = [sum_axes(back * conj(_delayed(y, k + 1)), (ndim(y) - 1,)) for k in range(shape_of(a)[-1])]
            return match(-stack(terms, -1), a) if terms else ZERO

        return lambda: match(back, x), pull_coefficients

    def jvp(self, ts, y, x, a):
        total: Any = ZERO
        if ts[0] is not ZERO:
            total = ts[0] if shape_of(ts[0]) == shape_of(y) else broadcast_to(ts[0], shape_of(y))
        if ts[1] is not ZERO and shape_of(a)[-1]:
            last = ndim(a) - 1
            for k in range(shape_of(a)[-1]):
                term = slice_axis(ts[1], last, k, k + 1) * _delayed(y, k + 1)
                total = -term if total is ZERO else total - term
        return total if total is ZERO else self(total, a)

    def vmap(self, dims, x, a):
        rank = max(ndim(v) - (d is not None) for v, d in zip((x, a), dims, strict=True))
        return self(batch_first(x, dims[0], rank), batch_first(a, dims[1], rank))

    @classmethod
    def samples(cls, draw):
        for x, a in [
            ((6,), (2,)),
            ((2, 5), (1,)),
            ((5,), (3, 2)),
            ((2, 4), (2, 2)),
            ((4,), (0,)),
            ((0,), (2,)),
            ((2,), (4,)),
        ]:
            yield cls(), (draw(*x), draw(*a, domain=(-0.4, 0.4)))

    @classmethod
    def errors(cls):
        yield cls(), (Spec(()), Spec((2,))), "Recurrence: inputs of shapes () and (2,) need an axis"


def _delayed(y, k):
    """y moved along its last axis by k places, zeros coming in."""
    last, n = ndim(y) - 1, shape_of(y)[-1]
    k = min(k, n)
    return card(Pad, ((0, 0),) * last + ((k, 0),))(slice_axis(y, last, 0, n - k))


@public()
def recurrence(input: Any, coefficients: Any) -> Any:
    """y[n] = x[n] - a[0] y[n-1] - a[1] y[n-2] - ... along the last axis, from zeros.

    >>> from adjoint import ops
    >>> print(ops.recurrence([1.0, 0.0, 0.0, 0.0], [-0.5]))
    [1.    0.5   0.25  0.125]
    """
    return card(Recurrence)(array(input), array(coefficients))
