"""Windows over the last axes of an array: which elements they meet, and how their sizes are given."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import Shape

#: A pair for each axis in space: what is added before and after it.
Padding = tuple[tuple[int, int], ...]
#: One size for all axes in space, or one for each.
Sizes = int | Sequence[int]


# ---------------------------------------------------------------- arguments


def sizes_of(what: str, name: str, value: Any, rank: int, least: int = 1) -> tuple[int, ...]:
    """One number for each axis in space, given as one for all or as a sequence."""
    sizes = tuple(int(v) for v in value) if isinstance(value, (tuple, list)) else (int(value),)
    sizes = sizes * rank if len(sizes) == 1 else sizes
    if len(sizes) != rank or any(n < least for n in sizes):
        several = f", or {rank} of them" if rank > 1 else ""
        raise ArgumentError(f"{what}: {name} must be an integer >= {least}{several}, not {value!r}{called_at()}")
    return sizes


def pairs_of(what: str, padding: Any, rank: int) -> Padding:
    """A pair for each axis in space: from one number, one for each axis, two for each axis, or pairs."""
    if isinstance(padding, str):
        raise ArgumentError(
            f"{what}: padding is in numbers here, not {padding!r}; pad_mode={padding!r} may be what is meant{called_at()}"
        )
    if isinstance(padding, (tuple, list)) and padding and all(isinstance(p, (tuple, list)) for p in padding):
        padding = [n for pair in padding for n in pair]
    if isinstance(padding, (tuple, list)) and len(padding) == 2 * rank:
        flat = sizes_of(what, "padding", padding, 2 * rank, 0)
        return tuple(zip(flat[::2], flat[1::2], strict=True))
    return tuple((n, n) for n in sizes_of(what, "padding", padding, rank, 0))


def named_padding(what: str, pad_mode: Any, padding: Any, default: Any) -> tuple[Any, Any]:
    """The mode and the padding, where PyTorch's padding="same" or "valid" says the mode."""
    if not isinstance(padding, str):
        return pad_mode, padding
    if padding not in ("same", "valid") or pad_mode not in (default, padding):
        raise ArgumentError(f"{what}: padding={padding!r} does not go with pad_mode={pad_mode!r}{called_at()}")
    return padding, 0


# ---------------------------------------------------------------- places


def covered(window: Shape, dilation: Shape) -> Shape:
    """The size in space from the first to the last element of a window."""
    return tuple(d * (k - 1) + 1 for k, d in zip(window, dilation, strict=True))


def places(op: Any, space: Shape, window: Shape) -> Shape:
    """How many windows fit along each axis, or an error that names the sizes."""
    padded = tuple(n + lo + hi for n, (lo, hi) in zip(space, op.padding, strict=True))
    size = covered(window, op.dilation)
    if any(n < k for n, k in zip(padded, size, strict=True)):
        raise ShapeError(
            f"{type(op).__name__}: a window of {window} with dilation {op.dilation} covers {size}, which is more than "
            f"the padded input has: {padded}. Pad it, or take a smaller window."
        )
    return tuple((n - k) // s + 1 for n, k, s in zip(padded, size, op.stride, strict=True))


def taps(op: Any, window: Shape, count: Shape) -> tuple[tuple, ...]:
    """For each element of a window, the index of what it meets in the padded input, in each of `count` windows."""
    return _taps(tuple(window), op.stride, op.dilation, tuple(count))


@lru_cache(maxsize=1024)
def _taps(window: Shape, stride: Shape, dilation: Shape, count: Shape) -> tuple[tuple, ...]:
    found = []
    for offset in itertools.product(*map(range, window)):
        axes = zip(offset, dilation, stride, count, strict=True)
        found.append((..., *(slice(k * d, k * d + s * (n - 1) + 1, s) for k, d, s, n in axes)))
    return tuple(found)


def padded(xp: Any, op: Any, x: Any, value: Any = 0) -> Any:
    """The input with `value` around its last axes."""
    if not any(map(any, op.padding)):
        return x
    lead = x.ndim - len(op.padding)
    return xp.pad(x, ((0, 0),) * lead + op.padding, constant_values=value)


def add_up(xp: Any, op: Any, parts: Iterable[Any], window: Shape, shape: Shape, dtype: Any) -> Any:
    """An array of `shape`: parts, one for each element of a window, are laid back where `taps` found them and added."""
    lead, space = shape[: -len(op.padding)], shape[-len(op.padding) :]
    whole = xp.zeros((*lead, *(n + lo + hi for n, (lo, hi) in zip(space, op.padding, strict=True))), dtype)
    for tap, part in zip(taps(op, window, places(op, space, window)), parts, strict=True):
        if xp is np:
            whole[tap] += part
        else:  # of another namespace arrays cannot be written to
            whole = whole.at[tap].add(part)
    inner = (..., *(slice(lo, lo + n) for n, (lo, _) in zip(space, op.padding, strict=True)))
    return whole[inner]
