"""How NumPy's array for a value would lie in memory: it decides whether `reshape` shows the elements or copies them.

A layout is None for an array in C order without gaps, an array of pairs that lies as NumPy's would (so that the real and the
imaginary part have places of their own), or UNKNOWN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

PAIR = "?,?"
UNKNOWN: Any = type("_Unknown", (), {"__repr__": lambda self: "unknown"})()


def layout_of(x: Any) -> Any:
    """The layout of a value, as its trace knows it."""
    if isinstance(x, np.ndarray):
        return None if x.flags.c_contiguous else as_pairs(x)
    trace = getattr(x, "_trace", None)
    return None if trace is None else trace.layout(x)


def as_pairs(x: np.ndarray) -> Any:
    """An array of pairs that lies as x does."""
    if not x.size:
        return None
    steps = [s // x.itemsize for s in x.strides]
    low = sum((n - 1) * s for n, s in zip(x.shape, steps, strict=True) if s < 0)
    high = sum((n - 1) * s for n, s in zip(x.shape, steps, strict=True) if s > 0)
    memory = np.empty(high - low + 1, PAIR)
    return np.lib.stride_tricks.as_strided(memory[-low:], x.shape, [2 * s for s in steps])


def written_out(layout: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The layout of an array of this shape as an array of pairs."""
    return np.empty(shape, PAIR) if layout is None else layout


def tidy(part: np.ndarray) -> Any:
    """The layout that an array of pairs stands for."""
    return None if part.flags.c_contiguous else part


def compact(layout: Any) -> Any:
    """The layout of a copy that keeps the order of the axes, as ufuncs, `astype` and `np.copy` do."""
    return layout if layout is None or layout is UNKNOWN else tidy(np.empty_like(layout))


def without_axis(layout: Any, axis: int) -> Any:
    """The layout of one example of a batch: the order of its axes."""
    if layout is None or layout is UNKNOWN or not layout.shape[axis]:
        return layout
    return compact(layout[(slice(None),) * axis + (0,)])


def with_axis(layout: Any, axis: int, size: int) -> Any:
    """The layout of a batch of arrays that lie so, one after another along an axis."""
    if layout is None or layout is UNKNOWN:
        return layout
    batch = np.empty_like(layout, shape=(size, *layout.shape)) if not size else _stacked(layout, size)
    return tidy(np.moveaxis(batch, 0, axis))


def _stacked(layout: np.ndarray, size: int) -> np.ndarray:
    order = in_order_of(layout)
    memory = np.empty((size, *(layout.shape[a] for a in order)), PAIR)
    return memory.transpose(0, *(1 + order.index(a) for a in range(layout.ndim)))


def in_order_of(layout: np.ndarray) -> list[int]:
    """The axes from the one with the longest steps to the one with the shortest."""
    return sorted(range(layout.ndim), key=lambda a: -abs(layout.strides[a]))


def scaled(layout: Any, shape: tuple[int, ...]) -> Any:
    """A layout with its axes in the same order, for another shape."""
    if layout is None or layout is UNKNOWN:
        return layout
    order = in_order_of(layout)
    memory = np.empty([shape[a] for a in order], PAIR)
    return tidy(memory.transpose([order.index(a) for a in range(len(order))]))


def reordered(x: Any, layout: Any) -> Any:
    """The same value, lying in memory as a compact layout says."""
    trace = getattr(x, "_trace", None)
    if trace is not None:
        return trace.in_order(x, layout)
    if not isinstance(x, np.ndarray) or same(layout_of(x), layout):
        return x
    y = np.empty(x.shape, x.dtype) if layout is None else np.empty_like(layout, x.dtype)
    y[...] = x
    return y


def same(a: Any, b: Any) -> bool:
    """Whether two layouts of one shape show and copy alike."""
    if a is None or b is None or a is UNKNOWN or b is UNKNOWN:
        return a is b
    return bool(a.strides == b.strides)


def reshapes(part: np.ndarray, shape: tuple[int, ...]) -> bool:
    """Whether NumPy shows the elements of an array under another shape, rather than copies of them."""
    try:
        part.reshape(shape, copy=False)
    except ValueError:
        return False
    except TypeError:  # NumPy 2.0 has no such argument
        return np.may_share_memory(part, part.reshape(shape))
    return True
