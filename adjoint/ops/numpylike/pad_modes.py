"""The modes of numpy.pad that compute what they fill in: ramps, statistics of the ends, odd reflections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.numpylike.common import array_of, cast, refuse, tensor
from adjoint.ops.reduce import amax, amin

Widths = list[tuple[int, int]]


def _median(x: Any, axis: int, keep: bool) -> Any:  # as the others of the table
    """The middle of the sorted elements, or the mean of the two there; the axis stays."""
    n = x.shape[axis]
    ordered = _f.sort(x, axis)[0]
    low, high = (_f.slice_axis(ordered, axis, k, k + 1) for k in ((n - 1) // 2, n // 2))
    return (low + high) * 0.5


STATISTICS: dict[str, Callable[..., Any]] = {
    "maximum": amax, "minimum": amin, "mean": _f.mean, "median": _median,
}  # fmt: skip
MODES = (*STATISTICS, "linear_ramp")


def padded(x: Any, widths: Widths, mode: str, options: dict[str, Any]) -> Any:
    """`x` padded axis by axis, each with what the axes before it have made."""
    if x.dtype.kind not in "fc":
        raise ArgumentTypeError(f"pad: mode={mode!r} rounds integers; cast them to floats first{called_at()}")
    if mode == "linear_ramp":
        ends = F.broadcast_to(cast(tensor(options.pop("end_values", 0)), x.dtype), (x.ndim, 2))
        refuse("pad", **options)
        for axis, pair in enumerate(widths):
            x = _joined(x, axis, [_ramp(x, axis, side, pair[side], ends[axis, side]) for side in (0, 1)])
        return x
    lengths = options.pop("stat_length", None)
    refuse("pad", **options)
    each = np.broadcast_to(array_of(0 if lengths is None else lengths), (x.ndim, 2))
    if lengths is not None and (each < 1).any():
        raise ArgumentError(f"pad: stat_length must be positive, not {lengths!r}{called_at()}")
    for axis, pair in enumerate(widths):
        size = x.shape[axis]
        parts = []
        for side in (0, 1):
            n = min(int(each[axis, side]) or size, size)
            near = _f.slice_axis(x, axis, 0, n) if side == 0 else _f.slice_axis(x, axis, size - n, size)
            value = STATISTICS[mode](near, axis, True)
            parts.append(F.broadcast_to(value, (*x.shape[:axis], pair[side], *x.shape[axis + 1 :])))
        x = _joined(x, axis, parts)
    return x


def _joined(x: Any, axis: int, parts: list[Any]) -> Any:
    return _f.concat([parts[0], x, parts[1]], axis)


def _ramp(x: Any, axis: int, side: int, width: int, end: Any) -> Any:
    """From the end value, which is reached, to the element at the edge, which is not."""
    size = x.shape[axis]
    edge = _f.slice_axis(x, axis, 0, 1) if side == 0 else _f.slice_axis(x, axis, size - 1, size)
    share = np.arange(width) / width if width else np.zeros(0)
    share = (share if side == 0 else share[::-1]).reshape((-1,) + (1,) * (x.ndim - axis - 1)).astype(x.dtype)
    return end + (edge - end) * share


def odd_reflection(x: Any, widths: Widths, mode: str) -> Any:
    """The reflection at each end, turned over: twice the element there less the reflected one."""
    skip = 1 if mode == "reflect" else 0
    for axis, pair in enumerate(widths):
        size = x.shape[axis]
        if max(pair) > size - skip:
            raise ArgumentError(
                f"pad: an odd reflection of {size} elements by {max(pair)} repeats itself; pad in two steps{called_at()}"
            )
        first, last = _f.slice_axis(x, axis, 0, 1), _f.slice_axis(x, axis, size - 1, size)
        before = _f.flip(_f.slice_axis(x, axis, skip, skip + pair[0]), axis)
        after = _f.flip(_f.slice_axis(x, axis, size - skip - pair[1], size - skip), axis)
        x = _joined(x, axis, [cast(2 * first - before, x.dtype), cast(2 * last - after, x.dtype)])
    return x
