"""Pooling over windows, pooling to a given size, and resizing; the last axes are those in space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any

import numpy as np

from adjoint.core import views
from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import dtype_of, is_inexact, shape_of
from adjoint.ops.card import card
from adjoint.ops.conv import Padding, covered
from adjoint.ops.functional.convolution import Sizes, pairs_of, sizes_of
from adjoint.ops.functional.indexing import take
from adjoint.ops.functional.reduction import in_single
from adjoint.ops.joining import concat
from adjoint.ops.pool import MaxPool, MaxPoolIndex, SumPool
from adjoint.ops.reduce import amax, mean
from adjoint.ops.slicing import slice_axis


def _geometry(
    what: str, rank: int, x: Any, window: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[tuple[int, ...], tuple[int, ...], Padding, Padding, tuple[int, ...]]:
    """Window, stride, padding, the padding with what `ceil_mode` adds to it, and dilation."""
    shape = shape_of(x)
    if len(shape) not in (rank + 1, rank + 2):
        raise ShapeError(
            f"{what}: an input of {rank + 2} axes (or {rank + 1} for a single sample) is needed, not the shape "
            f"{shape}{called_at()}"
        )
    window = sizes_of(what, "kernel_size", window, rank)
    stride = window if stride is None else sizes_of(what, "stride", stride, rank)
    dilation = sizes_of(what, "dilation", dilation, rank)
    pairs, size = pairs_of(what, padding, rank), covered(window, dilation)
    if any(2 * max(pair) > k for pair, k in zip(pairs, size, strict=True)):
        raise ArgumentError(f"{what}: padding {padding!r} is more than half of the window, {window}{called_at()}")
    if not ceil_mode:
        return window, stride, pairs, pairs, dilation
    return window, stride, pairs, _completed(shape[-rank:], size, stride, pairs), dilation


def _completed(space: Sequence[int], size: Sequence[int], stride: Sequence[int], pairs: Padding) -> Padding:
    """More padding at the end, so that a last window that begins inside the input is complete."""
    wider = []
    for n, k, s, (lo, hi) in zip(space, size, stride, pairs, strict=True):
        last = ceil((n + lo + hi - k) / s) * s
        last -= s if last >= n + lo else 0
        wider.append((lo, max(last + k - n - lo, hi)))
    return tuple(wider)


# ---------------------------------------------------------------- the largest element


def _max_pool(
    what: str, rank: int, x: Any, window: Any, stride: Any, padding: Any, dilation: Any, indices: bool, ceil_mode: bool
) -> Any:
    window, stride, _, pairs, dilation = _geometry(what, rank, x, window, stride, padding, dilation, ceil_mode)
    y = card(MaxPool, window, stride, pairs, dilation)(x)
    return (y, card(MaxPoolIndex, window, stride, pairs, dilation)(x)) if indices else y


def max_pool1d(
    x: Any, kernel_size: Sizes, stride: Sizes | None = None, padding: Any = 0, dilation: Sizes = 1,
    return_indices: bool = False, ceil_mode: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of (N, C, L); see `max_pool2d`.

    >>> from adjoint import ops, Tensor
    >>> print(ops.max_pool1d(Tensor([[[1.0, 5.0, 2.0, 3.0]]]), 2))
    [[[5. 3.]]]
    """
    return _max_pool("max_pool1d", 1, x, kernel_size, stride, padding, dilation, return_indices, ceil_mode)


def max_pool2d(
    x: Any, kernel_size: Sizes, stride: Sizes | None = None, padding: Any = 0, dilation: Sizes = 1,
    return_indices: bool = False, ceil_mode: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of (N, C, H, W); equal ones share the derivative evenly.

    Windows follow one another without overlap if no stride is given. With `ceil_mode` a last, incomplete window counts
    too. With `return_indices`, also where in the plane each (first) largest element stands.

    >>> from adjoint import ops, Tensor
    >>> y, where = ops.max_pool2d(Tensor([[[[1.0, 2.0], [4.0, 3.0]]]]), 2, return_indices=True)
    >>> print(y, where)
    [[[[4.]]]] [[[[2]]]]
    """
    return _max_pool("max_pool2d", 2, x, kernel_size, stride, padding, dilation, return_indices, ceil_mode)


def max_pool3d(
    x: Any, kernel_size: Sizes, stride: Sizes | None = None, padding: Any = 0, dilation: Sizes = 1,
    return_indices: bool = False, ceil_mode: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of (N, C, D, H, W); see `max_pool2d`.

    >>> from adjoint import ops
    >>> ops.max_pool3d(ops.ones((1, 2, 4, 4, 5)), 2, ceil_mode=True).shape
    (1, 2, 2, 2, 3)
    """
    return _max_pool("max_pool3d", 3, x, kernel_size, stride, padding, dilation, return_indices, ceil_mode)


# ---------------------------------------------------------------- averages


@in_single
def _average(
    x: Any, what: str, rank: int, window: Any, stride: Any, padding: Any, ceil_mode: bool, include: bool, divisor: Any
) -> Any:
    window, stride, pairs, wider, dilation = _geometry(what, rank, x, window, stride, padding, 1, ceil_mode)
    total = card(SumPool, window, stride, wider, dilation)(x)
    if divisor:
        return total / float(divisor)
    space = shape_of(x)[-rank:]
    axes = zip(space, window, stride, pairs, shape_of(total)[-rank:], strict=True)
    counts = [_inside(n, k, s, pair, m, include) for n, k, s, pair, m in axes]
    count = np.ones(())
    for axis in counts:
        count = np.multiply.outer(count, axis)
    if count.size and (count == count.flat[0]).all():
        return total / float(count.flat[0])
    return total / (count.astype(dtype_of(x)) if is_inexact(dtype_of(x)) else count)


def _inside(size: int, window: int, stride: int, pair: tuple[int, int], places: int, include: bool) -> np.ndarray:
    """How many elements of each window along an axis count: those of the input, and of its padding if `include`."""
    start = np.arange(places) * stride - pair[0]
    end = np.minimum(start + window, size + pair[1])
    return end - start if include else np.minimum(end, size) - np.maximum(start, 0)


def avg_pool1d(
    input_x: Any, kernel_size: Sizes = 1, stride: Sizes | None = 1, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """The average of each window of (N, C, L); see `avg_pool2d`.

    >>> from adjoint import ops, Tensor
    >>> print(ops.avg_pool1d(Tensor([[[1.0, 5.0, 2.0, 4.0]]]), 2, 2))
    [[[3. 3.]]]
    """
    return _average(input_x, "avg_pool1d", 1, kernel_size, stride, padding, ceil_mode, count_include_pad, 0)


def avg_pool2d(
    input_x: Any, kernel_size: Sizes = 1, stride: Sizes | None = 1, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int = 0,
) -> Any:  # fmt: skip
    """The average of each window of (N, C, H, W). The stride is 1, as in MindSpore; None takes the window's size.

    `count_include_pad` says whether padding counts as elements; a `divisor_override` other than 0 divides instead.

    >>> from adjoint import ops, Tensor
    >>> print(ops.avg_pool2d(Tensor([[[[1.0, 2.0], [4.0, 3.0]]]]), 2))
    [[[[2.5]]]]
    """
    return _average(
        input_x, "avg_pool2d", 2, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool3d(
    input_x: Any, kernel_size: Sizes = 1, stride: Sizes | None = 1, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int = 0,
) -> Any:  # fmt: skip
    """The average of each window of (N, C, D, H, W); see `avg_pool2d`.

    >>> from adjoint import ops
    >>> ops.avg_pool3d(ops.ones((1, 2, 4, 4, 4)), 2, None).shape
    (1, 2, 2, 2, 2)
    """
    return _average(
        input_x, "avg_pool3d", 3, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


# ---------------------------------------------------------------- to a given size


def _adaptive(what: str, rank: int, x: Any, output_size: Any, collapse: Callable[..., Any]) -> Any:
    """Cut each axis in space into nearly equal pieces, which may share an element, and collapse each."""
    first = len(shape_of(x)) - rank
    if first < 1:
        raise ShapeError(f"{what}: {rank} axes in space and one before are needed, not {shape_of(x)}{called_at()}")
    sizes = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * rank
    if len(sizes) != rank or any(n is not None and n < 1 for n in sizes):
        raise ArgumentError(
            f"{what}: output_size must be an integer >= 1 or {rank} of them (None keeps a size), not "
            f"{output_size!r}{called_at()}"
        )
    _check_filled(what, shape_of(x), shape_of(x)[first:])
    given = x
    for axis, pieces in enumerate(sizes, first):
        n = shape_of(x)[axis]
        if pieces is not None and pieces != n:
            cuts = [(k * n // pieces, -(-(k + 1) * n // pieces)) for k in range(pieces)]
            x = concat([collapse(slice_axis(x, axis, a, b), axis, keepdims=True) for a, b in cuts], axis)
    return views.own(x, given)


def _check_filled(what: str, shape: tuple[int, ...], space: Sequence[int]) -> None:
    if 0 in space:
        raise ShapeError(f"{what}: the shape {shape} has nothing in space{called_at()}")


def adaptive_avg_pool1d(input: Any, output_size: Any) -> Any:
    """The averages of `output_size` nearly equal pieces of the last axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.adaptive_avg_pool1d(Tensor([[[1.0, 2.0, 6.0]]]), 2))
    [[[1.5 4. ]]]
    """
    return in_single(lambda x: _adaptive("adaptive_avg_pool1d", 1, x, output_size, mean))(input)


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """The averages of nearly equal pieces of the last two axes, `output_size` of them along each; None keeps an axis.

    >>> from adjoint import ops
    >>> ops.adaptive_avg_pool2d(ops.ones((1, 3, 7, 5)), (2, None)).shape
    (1, 3, 2, 5)
    """
    return in_single(lambda x: _adaptive("adaptive_avg_pool2d", 2, x, output_size, mean))(input)


def adaptive_avg_pool3d(input: Any, output_size: Any) -> Any:
    """The averages of nearly equal pieces of the last three axes, `output_size` of them along each.

    >>> from adjoint import ops
    >>> ops.adaptive_avg_pool3d(ops.ones((1, 3, 4, 4, 4)), 2).shape
    (1, 3, 2, 2, 2)
    """
    return in_single(lambda x: _adaptive("adaptive_avg_pool3d", 3, x, output_size, mean))(input)


def adaptive_max_pool1d(input: Any, output_size: Any) -> Any:
    """The largest elements of `output_size` nearly equal pieces of the last axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.adaptive_max_pool1d(Tensor([[[1.0, 2.0, 6.0]]]), 2))
    [[[2. 6.]]]
    """
    return _adaptive("adaptive_max_pool1d", 1, input, output_size, amax)


def adaptive_max_pool2d(input: Any, output_size: Any) -> Any:
    """The largest elements of nearly equal pieces of the last two axes, `output_size` of them along each.

    >>> from adjoint import ops
    >>> ops.adaptive_max_pool2d(ops.ones((1, 3, 7, 5)), 2).shape
    (1, 3, 2, 2)
    """
    return _adaptive("adaptive_max_pool2d", 2, input, output_size, amax)


def adaptive_max_pool3d(input: Any, output_size: Any) -> Any:
    """The largest elements of nearly equal pieces of the last three axes, `output_size` of them along each.

    >>> from adjoint import ops
    >>> ops.adaptive_max_pool3d(ops.ones((1, 3, 4, 4, 4)), (1, 2, None)).shape
    (1, 3, 1, 2, 4)
    """
    return _adaptive("adaptive_max_pool3d", 3, input, output_size, amax)


# ---------------------------------------------------------------- resizing

_RANKS = {"linear": 1, "bilinear": 2, "trilinear": 3}


def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Any:
    """An input (N, C, *space) resized to `size`, or by `scale_factor`.

    `mode` is "nearest", "linear", "bilinear", "trilinear" (by the number of axes in space) or "area". With
    `align_corners` the first and the last element of an axis keep their places.

    >>> from adjoint import ops, Tensor
    >>> x = Tensor([[[1.0, 3.0]]])
    >>> print(ops.interpolate(x, 4), ops.interpolate(x, 3, mode="linear", align_corners=True))
    [[[1. 1. 3. 3.]]] [[[1. 2. 3.]]]
    """
    space = shape_of(input)[2:]
    if mode not in ("nearest", "area", *_RANKS) or not space or _RANKS.get(mode, len(space)) != len(space):
        raise ArgumentError(
            f"interpolate: mode {mode!r} for an input of shape {shape_of(input)}; the modes are nearest, area, and linear, "
            f"bilinear or trilinear for 1, 2 or 3 axes in space{called_at()}"
        )
    if (size is None) == (scale_factor is None):
        raise ArgumentError(f"interpolate: one of size and scale_factor must be given{called_at()}")
    if align_corners is not None and mode not in _RANKS:
        raise ArgumentError(f"interpolate: align_corners has no meaning for mode {mode!r}{called_at()}")
    _check_filled("interpolate", shape_of(input), space)
    scales: Sequence[float | None] = (None,) * len(space)
    if scale_factor is not None:
        scales = tuple(scale_factor) if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * len(space)
        size = [int(n * s) for n, s in zip(space, scales, strict=True)]
    sizes = sizes_of("interpolate", "size", size, len(space))
    if mode == "area":
        return in_single(lambda x: _adaptive("interpolate", len(space), x, sizes, mean))(input)
    for axis, (n, m, scale) in enumerate(zip(space, sizes, scales, strict=True), 2):
        if mode == "nearest":
            at = (np.arange(m) / scale).astype(int) if scale else np.arange(m) * n // m
            input = take(input, np.minimum(at, n - 1), axis)
        else:
            input = _linear(input, axis, n, m, 1 / scale if scale else n / m, bool(align_corners))
    return input


def _linear(x: Any, axis: int, n: int, m: int, step: float, align_corners: bool) -> Any:
    """Each new element of an axis is a mean of its two neighbours, weighted by nearness."""
    if align_corners:
        at = np.arange(m) * ((n - 1) / (m - 1) if m > 1 else 0.0)
    else:
        at = np.maximum((np.arange(m) + 0.5) * step - 0.5, 0.0)
    left = np.minimum(at.astype(int), n - 1)
    weight = (at - left).reshape((m,) + (1,) * (len(shape_of(x)) - axis - 1))
    weight = weight.astype(dtype_of(x)) if is_inexact(dtype_of(x)) else weight
    return take(x, left, axis) * (1 - weight) + take(x, np.minimum(left + 1, n - 1), axis) * weight
