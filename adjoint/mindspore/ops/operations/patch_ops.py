"""Primitives: windows of images and volumes as channels, dilation, colours."""

from __future__ import annotations

import math
from inspect import Parameter
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.spec import shape_of
from adjoint.mindspore.ops.primitive import primitive
from adjoint.ops.convolution import same_padding

__all__ = ["Dilation2D", "ExtractImagePatches", "ExtractVolumePatches", "HSVToRGB", "RGBToHSV"]

REQUIRED: Any = Parameter.empty


def windows(x: Any, window: Any, stride: Any, rate: Any, padding: str, fill: float = 0.0) -> Any:
    """The windows of the last axes: (..., *count, elements of a window)."""
    rank = len(window)
    lead, space = shape_of(x)[:-rank], shape_of(x)[-rank:]
    if padding.lower() == "same":
        pairs = same_padding(space, window, stride, rate)
        x = ops.pad_widths(x, [(0, 0)] * len(lead) + list(pairs), "constant", fill)
        space = shape_of(x)[-rank:]
    places = np.zeros((1, 1), np.int64)
    count = []
    for n, k, s, r in zip(space, window, stride, rate, strict=True):
        starts = np.arange((n - (k - 1) * r - 1) // s + 1) * s
        cut = starts[:, None] + np.arange(k) * r
        wider = places[:, None, :, None] * n + cut[None, :, None, :]
        places = wider.reshape(places.shape[0] * len(starts), places.shape[1] * k)
        count.append(len(starts))
    flat = ops.take(ops.reshape(x, (*lead, math.prod(space))), places.ravel(), -1)
    return ops.reshape(flat, (*lead, *count, math.prod(window)))


def _patches(x: Any, window: Any, stride: Any, rate: Any, padding: str) -> Any:
    """Windows of (N, C, *space) laid along the channels, those of all channels for each element of the window."""
    y = ops.moveaxis(windows(x, window, stride, rate, padding), -1, 1)
    return ops.reshape(y, (shape_of(y)[0], shape_of(y)[1] * shape_of(y)[2], *shape_of(y)[3:]))


def _in_space(sizes: Any, rank: int) -> tuple[int, ...]:
    return tuple(sizes[2:]) if isinstance(sizes, (tuple, list)) else (sizes,) * rank


ExtractImagePatches = primitive(
    "ExtractImagePatches",
    lambda self, x: _patches(
        x, _in_space(self.ksizes, 2), _in_space(self.strides, 2), _in_space(self.rates, 2), self.padding
    ),
    ksizes=REQUIRED, strides=REQUIRED, rates=REQUIRED, padding="valid",
)  # fmt: skip
ExtractVolumePatches = primitive(
    "ExtractVolumePatches",
    lambda self, x: _patches(x, _in_space(self.kernel_size, 3), _in_space(self.strides, 3), (1, 1, 1), self.padding),
    kernel_size=REQUIRED, strides=REQUIRED, padding=REQUIRED,
)  # fmt: skip


def _dilation(self: Any, x: Any, filter: Any) -> Any:
    """The largest sum of each window of (N, C, H, W) with the filter (C, KH, KW) of its channel."""
    window = shape_of(filter)[1:]
    stride, rate = (_in_space(v, 2) if not isinstance(v, int) else (v, v) for v in (self.stride, self.dilation))
    y = windows(x, window, stride, rate, self.pad_mode, -np.inf)
    return ops.amax(y + ops.reshape(filter, (shape_of(filter)[0], 1, 1, -1)), -1)


Dilation2D = primitive("Dilation2D", _dilation, stride=REQUIRED, dilation=REQUIRED, pad_mode="SAME", data_format="NCHW")


# ---------------------------------------------------------------- colours


def _rgb_to_hsv(self: Any, images: Any) -> Any:
    """Colours (..., 3) as hue, saturation and value, each between 0 and 1."""
    r, g, b = (images[..., k] for k in range(3))
    value, low = ops.amax(images, -1), ops.amin(images, -1)
    span = value - low
    some = ops.greater(span, 0)
    step = ops.where(some, 1.0 / (6.0 * ops.where(some, span, 1.0)), 0.0)
    hue = ops.where(
        ops.equal(r, value), step * (g - b),
        ops.where(ops.equal(g, value), step * (b - r) + 1.0 / 3, step * (r - g) + 2.0 / 3),
    )  # fmt: skip
    hue = ops.where(ops.less(hue, 0), hue + 1.0, hue)
    saturation = ops.where(ops.greater(value, 0), span / ops.where(ops.greater(value, 0), value, 1.0), 0.0)
    return ops.stack([ops.where(some, hue, 0.0), saturation, value], -1)


def _hsv_to_rgb(self: Any, x: Any) -> Any:
    """Hue, saturation and value as colours (..., 3)."""
    hue, saturation, value = (x[..., k] for k in range(3))
    six = hue * 6.0
    parts = [
        ops.clamp(ops.abs(six - 3.0) - 1.0, 0.0, 1.0),
        ops.clamp(2.0 - ops.abs(six - 2.0), 0.0, 1.0),
        ops.clamp(2.0 - ops.abs(six - 4.0), 0.0, 1.0),
    ]
    return ops.stack([(1.0 - saturation + saturation * p) * value for p in parts], -1)


RGBToHSV = primitive("RGBToHSV", _rgb_to_hsv)
HSVToRGB = primitive("HSVToRGB", _hsv_to_rgb)
