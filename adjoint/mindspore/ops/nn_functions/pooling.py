"""Pooling with MindSpore's arguments: of equal largest elements the first of a window has the whole derivative."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.dispatch import wrap
from adjoint.core.spec import shape_of
from adjoint.ops.convolution import same_padding
from adjoint.ops.windows import sizes_of

__all__ = [
    "adaptive_avg_pool1d", "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "avg_pool_padded",
    "fractional_max_pool2d", "fractional_max_pool3d", "lp_pool1d", "lp_pool2d", "max_pool", "max_pool2d",
    "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d", "pool_padding",
]  # fmt: skip

_LARGEST = {1: ops.max_pool1d, 2: ops.max_pool2d, 3: ops.max_pool3d}
_MEAN: dict[int, Any] = {1: ops.avg_pool1d, 2: ops.avg_pool2d, 3: ops.avg_pool3d}


def max_pool(
    rank: int,
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> tuple[Any, Any]:
    """The first largest element of each window, and where in space it stands."""
    found = _LARGEST[rank](x, kernel_size, stride, padding, dilation, True, ceil_mode)[1]
    return picked(x, found, rank), found


def picked(x: Any, places: Any, rank: int) -> Any:
    """The elements of the last `rank` axes at places that count through them."""
    lead, count = shape_of(x)[:-rank], shape_of(places)[-rank:]
    flat = ops.reshape(x, (*lead, math.prod(shape_of(x)[-rank:])))
    at = ops.reshape(places, (*lead, math.prod(count)))
    return ops.reshape(ops.take_along_axis(flat, at, -1), (*lead, *count))


def pool_padding(x: Any, rank: int, window: Any, stride: Any, pad_mode: str) -> Any:
    """The padding of a pool: for "same" as much as gives a window for each stride, else none."""
    if pad_mode.lower() != "same":
        return 0
    sizes = sizes_of("pool", "kernel_size", window, rank)
    return same_padding(shape_of(x)[-rank:], sizes, sizes_of("pool", "stride", stride, rank), (1,) * rank)


def avg_pool_padded(
    x: Any, rank: int, window: Any, stride: Any, padding: Any, ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int = 0,
) -> Any:  # fmt: skip
    """The mean of each window."""
    divisor = (divisor_override,) if rank > 1 else ()
    return _MEAN[rank](x, window, stride, padding, ceil_mode, count_include_pad, *divisor)


def max_pool2d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False,
    ceil_mode: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of (N, C, H, W), and with `return_indices` where it stands.

    >>> import adjoint.mindspore as mindspore
    >>> print(mindspore.grad(lambda x: max_pool2d(x, 2))(mindspore.ops.ones((1, 1, 2, 2))))
    [[[[1. 0.]
       [0. 0.]]]]
    """
    y, found = max_pool(2, x, kernel_size, stride, padding, dilation, ceil_mode)
    return (y, found) if return_indices else y


def max_pool3d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of (N, C, D, H, W), and with `return_indices` where it stands."""
    y, found = max_pool(3, x, kernel_size, stride, padding, dilation, ceil_mode)
    return (y, found) if return_indices else y


# ---------------------------------------------------------------- to a given size


def _divided(what: str, input: Any, output_size: int) -> None:
    if shape_of(input)[-1] % output_size:
        raise ValueError(
            f"For '{what}', the last dimension {shape_of(input)[-1]} must be divisible by the output size {output_size}."
        )


def adaptive_avg_pool1d(input: Any, output_size: int) -> Any:
    """The means of equal pieces of the last axis."""
    _divided("adaptive_avg_pool1d", input, output_size)
    return ops.adaptive_avg_pool1d(input, output_size)


def adaptive_max_pool1d(input: Any, output_size: int) -> Any:
    """The largest elements of equal pieces of the last axis."""
    _divided("adaptive_max_pool1d", input, output_size)
    return adaptive_max(input, (output_size,))[0]


def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of nearly equal pieces of the last two axes; None keeps an axis."""
    y, found = adaptive_max(input, _sizes(output_size, 2))
    return (y, found) if return_indices else y


def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of nearly equal pieces of the last three axes."""
    y, found = adaptive_max(input, _sizes(output_size, 3))
    return (y, ops.cast(found, np.int32)) if return_indices else y


def _sizes(output_size: Any, rank: int) -> tuple[int | None, ...]:
    sizes = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * rank
    if len(sizes) != rank:
        raise ValueError(f"'output_size' must be an int or {rank} of them, but got {output_size}.")
    return sizes


def adaptive_max(x: Any, sizes: tuple[int | None, ...]) -> tuple[Any, Any]:
    """The largest element of each piece of the last axes, and where it stands."""
    space = shape_of(x)[-len(sizes) :]
    cuts = []
    for n, given in zip(space, sizes, strict=True):
        pieces = n if given is None else int(given)
        starts, ends = np.arange(pieces) * n // pieces, -(-(np.arange(pieces) + 1) * n // pieces)
        width = int((ends - starts).max())
        cuts.append(np.minimum(starts[:, None] + np.arange(width), ends[:, None] - 1))
    return largest_of(x, cuts)


def largest_of(x: Any, cuts: list[np.ndarray]) -> tuple[Any, Any]:
    """The first largest element of each window; `cuts` holds for each axis the places of each window, (count, size)."""
    rank = len(cuts)
    space, lead = shape_of(x)[-rank:], shape_of(x)[:-rank]
    places = np.zeros((1, 1), np.int64)
    for n, cut in zip(space, cuts, strict=True):
        wider = places[:, None, :, None] * n + cut[None, :, None, :]
        places = wider.reshape(places.shape[0] * cut.shape[0], places.shape[1] * cut.shape[1])
    count, size = places.shape
    flat = ops.reshape(x, (*lead, math.prod(space)))
    windows = ops.reshape(ops.take(flat, places.ravel(), -1), (*lead, count, size))
    best = ops.argmax(windows, -1) + np.arange(count) * size
    found = ops.reshape(ops.take(wrap(places.ravel()), best, 0), (*lead, *(len(cut) for cut in cuts)))
    return picked(x, found, rank), found


# ---------------------------------------------------------------- random pieces


def _fraction_starts(sample: Any, n: int, pieces: int, window: int) -> Any:
    """Where windows begin along an axis, (..., pieces), for a number between 0 and 1."""
    if pieces == 1:
        return ops.cast(ops.zeros_like(sample), np.int64)[..., None] + (n - window)
    step = (n - window) / (pieces - 1)
    sample = sample[..., None]
    starts = ops.cast((np.arange(pieces - 1) + sample) * step, np.int64) - ops.cast(sample * step, np.int64)
    last = ops.cast(ops.zeros_like(sample), np.int64) + (n - window)
    return ops.concat([starts, last], -1)


def fractional_max(x: Any, kernel_size: Any, sizes: tuple[int, ...], samples: Any) -> tuple[Any, Any]:
    """The largest element of windows that begin at places drawn by `samples` (N, C, axes), and where it stands."""
    rank = len(sizes)
    window = sizes_of("fractional_max_pool", "kernel_size", kernel_size, rank)
    n, c, *space = shape_of(x)
    places: Any = np.zeros((n, c, 1, 1), np.int64)
    for axis, (extent, pieces, size) in enumerate(zip(space, sizes, window, strict=True)):
        # MindSpore's samples stand in the order of width, height (and time in front of them).
        at = (0, 2, 1)[axis] if rank == 3 else 1 - axis
        starts = _fraction_starts(samples[..., at], extent, pieces, size)
        cut = starts[..., None] + np.arange(size)  # (n, c, pieces, size)
        rows, columns = shape_of(places)[2:]
        wider = places[:, :, :, None, :, None] * extent + cut[:, :, None, :, None, :]
        places = ops.reshape(wider, (n, c, rows * pieces, columns * size))
    count, size = shape_of(places)[2:]
    flat = ops.reshape(x, (n, c, math.prod(space)))
    windows = ops.take_along_axis(flat, ops.reshape(places, (n, c, count * size)), -1)
    best = ops.argmax(ops.reshape(windows, (n, c, count, size)), -1)
    found = ops.reshape(ops.take_along_axis(places, best[..., None], -1), (n, c, *sizes))
    return picked(x, found, rank), found


def _fractional(x: Any, rank: int, kernel_size: Any, size: Any, ratio: Any, both: bool, samples: Any) -> Any:
    if (size is None) == (ratio is None):
        raise ValueError("For 'fractional_max_pool', exactly one of 'output_size' and 'output_ratio' must be given.")
    space = shape_of(x)[-rank:]
    if size is None:
        ratios = ratio if isinstance(ratio, (tuple, list)) else (ratio,) * rank
        size = [int(n * r) for n, r in zip(space, ratios, strict=True)]
    sizes = sizes_of("fractional_max_pool", "output_size", size, rank)
    single = len(shape_of(x)) == rank + 1
    x = x[None] if single else x
    samples = ops.rand(*shape_of(x)[:2], rank) if samples is None else samples
    y, found = fractional_max(x, kernel_size, sizes, samples)
    y, found = (y[0], found[0]) if single else (y, found)
    return (y, found) if both else y


def fractional_max_pool2d(
    input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:  # fmt: skip
    """The largest element of windows at random places of (N, C, H, W)."""
    return _fractional(input, 2, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional_max_pool3d(
    input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:  # fmt: skip
    """The largest element of windows at random places of (N, C, D, H, W)."""
    return _fractional(input, 3, kernel_size, output_size, output_ratio, return_indices, _random_samples)


# ---------------------------------------------------------------- norms and unpooling


def lp_pool1d(x: Any, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The root of the sum of powers of each window of the last axis."""
    return _lp(1, x, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(x: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The root of the sum of powers of each window of the last two axes."""
    return _lp(2, x, norm_type, kernel_size, stride, ceil_mode)


def _lp(rank: int, x: Any, p: float, window: Any, stride: Any, ceil_mode: bool) -> Any:
    size = math.prod(sizes_of("lp_pool", "kernel_size", window, rank))
    means = avg_pool_padded(ops.pow(x, p), rank, window, window if stride is None else stride, 0, ceil_mode)
    return ops.pow(means * size, 1.0 / p)


def _unpool(rank: int, x: Any, indices: Any, window: Any, stride: Any, padding: Any, output_size: Any) -> Any:
    window = sizes_of("max_unpool", "kernel_size", window, rank)
    stride = window if stride is None or stride == 0 else sizes_of("max_unpool", "stride", stride, rank)
    pads = sizes_of("max_unpool", "padding", padding, rank, 0)
    lead, count = shape_of(x)[:-rank], shape_of(x)[-rank:]
    if output_size:
        space = tuple(output_size)[-rank:]
    else:
        space = tuple((n - 1) * s - 2 * p + k for n, s, p, k in zip(count, stride, pads, window, strict=True))
    zeros = ops.zeros((*lead, math.prod(space)), x.dtype)
    at = ops.reshape(indices, (*lead, math.prod(count)))
    flat = ops.reshape(x, (*lead, math.prod(count)))
    return ops.reshape(_placed(zeros, at, flat), (*lead, *space))


def _placed(zeros: Any, at: Any, values: Any) -> Any:
    """The values of each row at its places; where two fall together the last counts."""
    rows, width = math.prod(shape_of(zeros)[:-1]), shape_of(zeros)[-1]
    inside = ops.reshape(at, (rows, shape_of(at)[-1])) + np.arange(rows)[:, None] * width
    index = ops.reshape(inside, (rows * shape_of(at)[-1], 1))
    flat = ops.tensor_scatter_update(ops.reshape(zeros, (rows * width,)), index, ops.reshape(values, (-1,)))
    return ops.reshape(flat, shape_of(zeros))


def max_unpool1d(
    x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """The elements of (N, C, L) put back where they stood, in zeros.

    >>> import adjoint.mindspore as mindspore
    >>> print(max_unpool1d(mindspore.Tensor([[[2.0, 4.0]]]), mindspore.Tensor([[[0, 3]]]), 2))
    [[[2. 0. 0. 4.]]]
    """
    return _unpool(1, x, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """The elements of (N, C, H, W) put back where they stood, in zeros."""
    return _unpool(2, x, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """The elements of (N, C, D, H, W) put back where they stood, in zeros."""
    return _unpool(3, x, indices, kernel_size, stride, padding, output_size)
