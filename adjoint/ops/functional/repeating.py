"""Repeating and rolling."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core import views
from adjoint.core.dispatch import Value
from adjoint.core.spec import normalize_axis, shape_of
from adjoint.ops.broadcast import ndim
from adjoint.ops.broadcasting import BroadcastTo
from adjoint.ops.card import card
from adjoint.ops.indexing import take
from adjoint.ops.joining import concat
from adjoint.ops.movement import Reshape, reshape
from adjoint.ops.publish import public
from adjoint.ops.slicing import slice_axis


@public(method=True)
def tile(input: Any, reps: Any) -> Any:
    """The whole input repeated along each axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.tile(Tensor([1.0, 2.0]), 2))
    [1. 2. 1. 2.]
    """
    counts = (reps,) if isinstance(reps, (int, np.integer)) else tuple(reps)
    shape = shape_of(input)
    counts = (1,) * (len(shape) - len(counts)) + counts
    shape = (1,) * (len(counts) - len(shape)) + shape
    spread = card(Reshape, tuple(k for n in shape for k in (1, n)))(input)
    spread = card(BroadcastTo, tuple(k for r, n in zip(counts, shape, strict=True) for k in (r, n)))(spread)
    return card(Reshape, tuple(r * n for r, n in zip(counts, shape, strict=True)))(spread)


@public(aliases=("repeat_interleave",), method=True)
def repeat(input: Any, repeats: Any, axis: int | None = None) -> Any:
    """Each element repeated along an axis, or of the flattened input; `repeats` may give a number for each.

    >>> from adjoint import ops, Tensor
    >>> print(ops.repeat(Tensor([1.0, 2.0]), 2))
    [1. 1. 2. 2.]
    """
    if axis is None:
        input, axis = reshape(input, -1), 0
    axis = normalize_axis("repeat", axis, ndim(input))
    counts = repeats.asnumpy() if isinstance(repeats, Value) else np.asarray(repeats)
    return take(input, np.repeat(np.arange(shape_of(input)[axis]), counts), axis)


repeat_interleave = repeat


@public(method=True)
def roll(input: Any, shifts: Any, axis: Any = None) -> Any:
    """Elements moved along an axis; those pushed off one end come in at the other.

    >>> from adjoint import ops, Tensor
    >>> print(ops.roll(Tensor([1.0, 2.0, 3.0]), 1))
    [3. 1. 2.]
    """
    if axis is None:
        return views.own(reshape(roll(reshape(input, -1), shifts, 0), shape_of(input)), input)
    given = input
    for step, along in np.broadcast(shifts, axis):
        a = normalize_axis("roll", int(along), ndim(input))
        size = shape_of(input)[a]
        cut = int(-step) % size if size else 0
        if cut:
            input = concat([slice_axis(input, a, cut, size), slice_axis(input, a, 0, cut)], a)
    return views.own(input, given)
