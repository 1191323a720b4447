"""Pooling to a given size, and resizing; the last axes are those in space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.core import views
from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import dtype_of, is_inexact, shape_of
from adjoint.ops.casting import in_single
from adjoint.ops.functional.sampling import cubic_shares
from adjoint.ops.indexing import take
from adjoint.ops.joining import concat
from adjoint.ops.reduce import amax, mean
from adjoint.ops.slicing import slice_axis
from adjoint.ops.windows import sizes_of


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

_RANKS = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}


def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Any:
    """An input (N, C, *space) resized to `size`, or by `scale_factor`.

    `mode` is "nearest", "linear", "bilinear", "trilinear" (by the number of axes in space), "bicubic" (two axes; by cubic
    convolution with a = -0.75 and the border repeated, as in PyTorch) or "area". With `align_corners` the first and the last element of an axis keep their places.

    >>> from adjoint import ops, Tensor
    >>> x = Tensor([[[1.0, 3.0]]])
    >>> print(ops.interpolate(x, 4), ops.interpolate(x, 3, mode="linear", align_corners=True))
    [[[1. 1. 3. 3.]]] [[[1. 2. 3.]]]
    """
    space = shape_of(input)[2:]
    if mode not in ("nearest", "area", *_RANKS) or not space or _RANKS.get(mode, len(space)) != len(space):
        raise ArgumentError(
            f"interpolate: mode {mode!r} for an input of shape {shape_of(input)}; the modes are nearest, area, and linear, "
            f"bilinear (or bicubic) or trilinear for 1, 2 or 3 axes in space{called_at()}"
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
            resized = _cubic if mode == "bicubic" else _linear
            input = resized(input, axis, n, m, 1 / scale if scale else n / m, bool(align_corners))
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


def _cubic(x: Any, axis: int, n: int, m: int, step: float, align_corners: bool) -> Any:
    """Each new element of an axis is a sum of its four neighbours, with the shares of cubic convolution."""
    ends = (n - 1) / (m - 1) if m > 1 else 0.0
    at = np.arange(m) * ends if align_corners else (np.arange(m) + 0.5) * step - 0.5
    low = np.floor(at).astype(int)
    total: Any = 0.0
    for share, neighbour in zip(cubic_shares(at - low), range(-1, 3), strict=True):
        share = share.reshape((m,) + (1,) * (len(shape_of(x)) - axis - 1))
        share = share.astype(dtype_of(x)) if is_inexact(dtype_of(x)) else share
        total = total + take(x, np.clip(low + neighbour, 0, n - 1), axis) * share
    return total
