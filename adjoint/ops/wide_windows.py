"""Convolutions with windows that are wide along the last axis as several with narrow ones, for backends that write taps out one by one.

A part of the window is the window of a convolution over a part of the padded input, with the same places of the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from adjoint.core.spec import Shape
from adjoint.ops.arithmetic import Add
from adjoint.ops.card import card
from adjoint.ops.facts import Rewriter
from adjoint.ops.joining import Concat
from adjoint.ops.padding import Pad
from adjoint.ops.slicing import GetItem, PutItem

WIDEST = 32  # taps along the last axis


def is_wide(window: Shape, *shapes: Shape) -> bool:
    """Whether a window is too wide, and nothing is empty or of unknown size."""
    return window[-1] > WIDEST and all(min(shape) > 0 for shape in shapes)


def forward(b: Rewriter, op: Any, x: Any, w: Any, count: int) -> Any:
    """The sum of the convolutions by parts of the filters; the result has `count` places along the last axis."""
    around, narrow = _around(b, op, x), _without_padding(op)
    total = None
    for taps, places in _parts(op, w.shape[-1], count):
        part = b(narrow, _part(b, around, places), _part(b, w, taps))
        total = part if total is None else b(card(Add), total, part)
    return total


def by_input(b: Rewriter, op: Any, g: Any, w: Any) -> Any:
    """The cotangents that parts of the filters give, each put where its places are, without the padding."""
    before, after = op.padding[-1]
    narrow, size = _without_padding(op), op.space[-1]
    shape = (g.shape[0], w.shape[1] * op.groups, *op.space[:-1], before + size + after)
    total = None
    for taps, (start, end) in _parts(op, w.shape[-1], g.shape[-1]):
        part = b(replace(narrow, space=(*op.space[:-1], end - start)), g, _part(b, w, taps))
        part = b(card(PutItem, _index(len(shape), (start, end)), shape), part)
        total = part if total is None else b(card(Add), total, part)
    return _part(b, total, (before, before + size))


def by_filter(b: Rewriter, op: Any, x: Any, g: Any) -> Any:
    """The cotangents of parts of the filters, side by side."""
    around, narrow = _around(b, op, x), _without_padding(op)
    parts = [
        b(replace(narrow, window=(*op.window[:-1], taps[1] - taps[0])), _part(b, around, places), g)
        for taps, places in _parts(op, op.window[-1], g.shape[-1])
    ]
    return b(card(Concat, len(g.shape) - 1), *parts)


def _parts(op: Any, window: int, count: int) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Taps from where to where, and the places of the padded input that they meet."""
    parts = -(-window // WIDEST)
    ends = [window * k // parts for k in range(parts + 1)]
    for low, high in pairwise(ends):
        start = low * op.dilation[-1]
        yield (low, high), (start, start + (count - 1) * op.stride[-1] + (high - low - 1) * op.dilation[-1] + 1)


def _around(b: Rewriter, op: Any, x: Any) -> Any:
    """The input with its padding along the last axis."""
    widths = (*((0, 0),) * (len(x.shape) - 1), op.padding[-1])
    return b(card(Pad, widths), x) if any(op.padding[-1]) else x


def _without_padding(op: Any) -> Any:
    return replace(op, padding=(*op.padding[:-1], (0, 0)))


def _part(b: Rewriter, x: Any, ends: tuple[int, int]) -> Any:
    """The part of an array along the last axis."""
    return x if ends == (0, x.shape[-1]) else b(card(GetItem, _index(len(x.shape), ends)), x)


def _index(ndim: int, ends: tuple[int, int]) -> tuple:
    return (*((None, None, None),) * (ndim - 1), (*ends, None))
