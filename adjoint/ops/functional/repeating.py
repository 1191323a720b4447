"""Repeating, rolling, padding."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.core import views
from adjoint.core.dispatch import Value
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import dtype_of, normalize_axis, shape_of
from adjoint.ops.broadcast import ndim
from adjoint.ops.card import card
from adjoint.ops.compare import where
from adjoint.ops.functional.indexing import take
from adjoint.ops.joining import concat
from adjoint.ops.language import cast
from adjoint.ops.movement import BroadcastTo, Reshape, reshape
from adjoint.ops.publish import public
from adjoint.ops.slicing import GetItem, Pad, slice_axis


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


def pad(input: Any, padding: Any, mode: str = "constant", value: Any = 0.0) -> Any:
    """Elements added at the ends of the last axes, PyTorch's and MindSpore's way: pairs from the last axis backwards.

    `mode` is "constant", "reflect", "replicate" or "circular".

    >>> from adjoint import ops, Tensor
    >>> print(ops.pad(Tensor([1.0, 2.0]), (1, 2)))
    [0. 1. 2. 0. 0.]
    """
    pairs = [(int(a), int(b)) for a, b in zip(padding[::2], padding[1::2], strict=False)]
    if len(padding) % 2 or len(pairs) > ndim(input):
        raise ArgumentError(
            f"pad: {len(padding)} widths for an input of {ndim(input)} axes; give a pair for each axis{called_at()}"
        )
    widths = [(0, 0)] * (ndim(input) - len(pairs)) + pairs[::-1]
    return pad_widths(input, widths, mode, value)


def pad_widths(input: Any, widths: Sequence[tuple[int, int]], mode: str = "constant", value: Any = 0.0) -> Any:
    """Elements added at the ends of every axis, NumPy's way: one pair for each axis, from the first. Negative crops.

    >>> from adjoint import ops, Tensor
    >>> print(ops.pad_widths(Tensor([1.0, 2.0, 3.0]), [(1, 1)], "reflect"))
    [2. 1. 2. 3. 2.]
    """
    styles = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "edge": "edge", "circular": "wrap",
              "wrap": "wrap", "symmetric": "symmetric"}  # fmt: skip
    if mode not in styles:
        raise ArgumentError(f"pad: mode {mode!r} is not one of {', '.join(styles)}{called_at()}")
    if builtins.any(a < 0 or b < 0 for a, b in widths):
        cuts = [
            (builtins.max(-a, 0), n - builtins.max(-b, 0)) for (a, b), n in zip(widths, shape_of(input), strict=True)
        ]
        if builtins.any(start > stop for start, stop in cuts):
            raise ArgumentError(
                f"pad: widths {list(widths)} crop more than the shape {shape_of(input)} has{called_at()}"
            )
        input = card(GetItem, tuple((start, stop, None) for start, stop in cuts))(input)
    given = input
    widths = tuple((builtins.max(a, 0), builtins.max(b, 0)) for a, b in widths)
    if mode != "constant":
        for axis, pair in enumerate(widths):
            if pair != (0, 0):
                style: Any = styles[mode]
                input = take(input, np.pad(np.arange(shape_of(input)[axis]), pair, style), axis)
        return views.own(input, given)
    padded = card(Pad, widths)(input)
    if isinstance(value, (int, float)) and value == 0:
        return padded
    inside = np.pad(np.ones(shape_of(input), bool), widths)
    filled = where(inside, padded, value)
    return filled if dtype_of(filled) == dtype_of(input) else cast(filled, dtype_of(input))
