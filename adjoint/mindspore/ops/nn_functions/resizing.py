"""Resizing of the axes in space, in MindSpore's several ways to say where the new elements stand."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.spec import dtype_of, is_inexact, shape_of
from adjoint.ops.windows import sizes_of

__all__ = ["interpolate", "resize_area", "resize_bicubic", "resize_linear", "resize_nearest", "upsample"]


def whole_sizes(size: Any) -> tuple[int, ...]:
    """Sizes given as a tuple or as a Tensor."""
    return tuple(int(n) for n in (size.tolist() if hasattr(size, "tolist") else size))


def _places(n: int, m: int, align_corners: bool, half_pixel: bool) -> np.ndarray:
    """Where m new elements stand among n old ones."""
    if align_corners:
        return np.arange(m) * ((n - 1) / (m - 1) if m > 1 else 0.0)
    return (np.arange(m) + 0.5) * (n / m) - 0.5 if half_pixel else np.arange(m) * (n / m)


def _blend(x: Any, axis: int, at: np.ndarray, shares: np.ndarray) -> Any:
    """Each new element of an axis is a sum of old ones: places and shares are (new, terms)."""
    dtype = dtype_of(x) if is_inexact(dtype_of(x)) else np.dtype("float32")
    behind = (1,) * (len(shape_of(x)) - axis - 1)
    terms = [ops.take(x, at[:, k], axis) * shares[:, k].astype(dtype).reshape(-1, *behind) for k in range(at.shape[1])]
    return sum(terms[1:], terms[0])


def resize_linear(x: Any, size: Any, align_corners: bool = False, half_pixel: bool = False) -> Any:
    """The axes behind the second resized, by the means of two neighbours weighted by nearness."""
    for axis, m in enumerate(whole_sizes(size), 2):
        n = shape_of(x)[axis]
        at = np.maximum(_places(n, m, align_corners, half_pixel), 0.0)
        left = np.minimum(np.floor(at).astype(int), n - 1)
        share = at - left
        pairs = np.stack([left, np.minimum(left + 1, n - 1)], 1)
        x = _blend(x, axis, pairs, np.stack([1 - share, share], 1))
    return x


def resize_nearest(x: Any, size: Any, align_corners: bool = False, half_pixel: bool = False) -> Any:
    """The axes behind the second resized, by the nearest element."""
    for axis, m in enumerate(whole_sizes(size), 2):
        n = shape_of(x)[axis]
        if align_corners:
            at = np.floor(_places(n, m, True, False) + 0.5)
        else:
            at = np.floor((np.arange(m) + (0.5 if half_pixel else 0.0)) * np.float32(n / m))
        x = ops.take(x, np.clip(at.astype(int), 0, n - 1), axis)
    return x


def resize_bicubic(x: Any, size: Any, align_corners: bool = False, half_pixel: bool = False) -> Any:
    """The axes behind the second resized, by cubic curves through four neighbours."""
    for axis, m in enumerate(whole_sizes(size), 2):
        n = shape_of(x)[axis]
        at = _places(n, m, align_corners, half_pixel)
        low = np.floor(at).astype(int)
        part = np.floor((at - low) * 1024 + 0.5) / 1024  # MindSpore looks the shares up in a table of so many steps
        places = low[:, None] + np.arange(-1, 3)
        shares = _cubic(np.abs(part[:, None] - np.arange(-1, 3)), -0.5 if half_pixel else -0.75)
        if half_pixel:  # what lies outside does not count
            shares = np.where((places >= 0) & (places < n), shares, 0.0)
            shares = shares / shares.sum(1, keepdims=True)
        x = _blend(x, axis, np.clip(places, 0, n - 1), shares)
    return x


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """The share of an element at a distance from the point, for cubic convolution."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


def resize_area(images: Any, size: Any, align_corners: bool = False) -> Any:
    """Images (N, H, W, C) resized: each new element is the mean of the area that it covers."""
    for axis, m in enumerate(whole_sizes(size), 1):
        n = shape_of(images)[axis]
        step = (n - 1) / (m - 1) if align_corners and m > 1 else n / m
        cells = np.arange(n)
        starts = np.arange(m)[:, None] * step
        shares = np.clip(np.minimum(cells + 1, starts + step) - np.maximum(cells, starts), 0, None)
        used = int((shares > 0).sum(1).max())
        order = np.argsort(shares <= 0, 1, kind="stable")[:, :used]
        picked = np.take_along_axis(shares, order, 1)
        images = _blend(images, axis, order, picked / picked.sum(1, keepdims=True))
    return ops.cast(images, np.float32)


def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Any:  # fmt: skip
    """An input (N, C, *space) resized to `size`, or by `scale_factor`.

    >>> import adjoint.mindspore as mindspore
    >>> print(interpolate(mindspore.Tensor([[[1.0, 3.0]]]), size=4, mode="linear"))
    [[[1.  1.5 2.5 3. ]]]
    """
    space = shape_of(input)[2:]
    if size is not None and scale_factor is not None:
        raise ValueError("For 'interpolate', 'size' and 'scale_factor' cannot be set simultaneously")
    if size is None and scale_factor is None:
        raise ValueError("For 'interpolate', 'size' and 'scale_factor' cannot be both empty")
    whole = scale_factor is not None and (recompute_scale_factor or mode in ("bicubic", "nearest-exact"))
    if whole:
        factors = scale_factor if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * len(space)
        size, scale_factor = tuple(int(n * f) for n, f in zip(space, factors, strict=True)), None
    if mode == "bicubic":
        if len(space) != 2:
            raise ValueError(f"For 'interpolate', mode 'bicubic' needs an input of 4 axes, but got {input.ndim}.")
        return resize_bicubic(input, sizes_of("interpolate", "size", size, 2), bool(align_corners), not align_corners)
    if mode == "nearest-exact":
        return resize_nearest(input, sizes_of("interpolate", "size", size, len(space)), half_pixel=True)
    if align_corners is not None and mode in ("nearest", "area") and align_corners:
        raise ValueError(f"For 'interpolate', 'align_corners' cannot be set for mode {mode!r}.")
    corners = None if mode in ("nearest", "area") else align_corners
    return ops.interpolate(input, size, scale_factor, mode, corners)


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Any:  # fmt: skip
    """The same as `interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)
