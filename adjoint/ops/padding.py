"""Elements added at the ends of axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core import views
from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import Spec, dtype_of, shape_of, spec_of
from adjoint.ops.broadcast import batch_front, ndim
from adjoint.ops.card import card, register
from adjoint.ops.indexing import take
from adjoint.ops.language import cast, where
from adjoint.ops.movement import Movement
from adjoint.ops.publish import public
from adjoint.ops.slicing import GetItem


@register
@dataclass(frozen=True)
class Pad(Movement):
    """Zeros added before and after each axis; `widths` holds a pair for each."""

    widths: tuple[tuple[int, int], ...]

    def infer(self, x):
        if len(self.widths) != x.ndim:
            raise ShapeError(f"Pad: {len(self.widths)} pairs of widths for the input's {x.ndim} axes")
        return Spec(tuple(n + a + b for n, (a, b) in zip(x.shape, self.widths, strict=True)), x.dtype)

    def eval(self, xp, x):
        if len(self.widths) != len(shape_of(x)):
            self.infer(spec_of(x))  # NumPy would use one pair for every axis
        return xp.pad(x, self.widths) if self.widths else x

    def vjp(self, g, y, x):
        inner = tuple((a, a + n, None) for n, (a, _) in zip(shape_of(x), self.widths, strict=True))
        return (card(GetItem, inner)(g),)

    def vmap(self, dims, x):
        return Pad(((0, 0), *self.widths))(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls(((1, 2),)), (draw(3),)
        yield cls(((0, 1), (2, 0))), (draw(2, 3),)
        yield cls(()), (draw(),)

    @classmethod
    def errors(cls):
        yield cls(((1, 1),)), (Spec((3, 3)),), "1 pairs of widths for the input's 2 axes"


@public()
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


@public()
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
    if any(a < 0 or b < 0 for a, b in widths):
        cuts = [(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(widths, shape_of(input), strict=True)]
        if any(start > stop for start, stop in cuts):
            raise ArgumentError(
                f"pad: widths {list(widths)} crop more than the shape {shape_of(input)} has{called_at()}"
            )
        input = card(GetItem, tuple((start, stop, None) for start, stop in cuts))(input)
    given = input
    widths = tuple((max(a, 0), max(b, 0)) for a, b in widths)
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
