"""Parts of images, boxes in them, and their elements in another order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.spec import shape_of

__all__ = [
    "affine_grid", "bounding_box_decode", "bounding_box_encode", "channel_shuffle", "crop_and_resize", "fold",
    "grid_sample", "iou", "pixel_shuffle", "pixel_unshuffle", "roi_align", "unfold",
]  # fmt: skip


def _plain(x: Any) -> Any:
    """Sizes as a tuple, from a Tensor or a tuple."""
    return tuple(int(n) for n in x.tolist()) if hasattr(x, "tolist") else x


def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Any:
    """An input (N, C, *space) read at the points of a grid."""
    return ops.grid_sample(input, grid, mode, padding_mode, align_corners)


def affine_grid(theta: Any, size: Any, align_corners: bool | None = False) -> Any:
    """The points that affine maps give for a result of shape `size`."""
    return ops.affine_grid(theta, _plain(size), bool(align_corners))


def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """(..., C r², H, W) as (..., C, H r, W r).

    >>> import adjoint.mindspore as mindspore
    >>> pixel_shuffle(mindspore.ops.ones((1, 8, 3, 4)), 2).shape
    (1, 2, 6, 8)
    """
    r, (*lead, c, h, w) = upscale_factor, shape_of(input)
    if c % r**2:
        raise ValueError(f"For 'pixel_shuffle', the channels {c} must be divisible by {r**2}.")
    k = len(lead)
    x = ops.reshape(input, (*lead, c // r**2, r, r, h, w))
    x = ops.permute(x, (*range(k), k, k + 3, k + 1, k + 4, k + 2))
    return ops.reshape(x, (*lead, c // r**2, h * r, w * r))


def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """(..., C, H r, W r) as (..., C r², H, W)."""
    r, (*lead, c, h, w) = downscale_factor, shape_of(input)
    if h % r or w % r:
        raise ValueError(f"For 'pixel_unshuffle', the height and width {h}, {w} must be divisible by {r}.")
    k = len(lead)
    x = ops.reshape(input, (*lead, c, h // r, r, w // r, r))
    x = ops.permute(x, (*range(k), k, k + 2, k + 4, k + 1, k + 3))
    return ops.reshape(x, (*lead, c * r * r, h // r, w // r))


def channel_shuffle(x: Any, groups: int) -> Any:
    """The channels of (N, C, *space) in groups, taken in turn from each."""
    n, c, *space = shape_of(x)
    if c % groups:
        raise ValueError(f"For 'channel_shuffle', the channels {c} must be divisible by 'groups' {groups}.")
    parts = ops.swapaxes(ops.reshape(x, (n, groups, c // groups, *space)), 1, 2)
    return ops.reshape(parts, (n, c, *space))


def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """The windows of images as columns: (N, C * KH * KW, windows)."""
    return ops.unfold(input, kernel_size, dilation, padding, stride)


def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Columns put back as windows of images; where they overlap they add up."""
    return ops.fold(input, _plain(output_size), kernel_size, dilation, padding, stride)


# ---------------------------------------------------------------- parts of images


def crop_and_resize(
    image: Any, boxes: Any, box_indices: Any, crop_size: Any, method: str = "bilinear", extrapolation_value: float = 0.0
) -> Any:
    """Boxes (y1, x1, y2, x2), as parts of the sizes, of images (N, H, W, C), resized to `crop_size`."""
    if method not in ("bilinear", "nearest"):
        raise NotImplementedError(f"crop_and_resize with method={method!r} is not provided by adjoint.mindspore")
    rows, columns = _plain(crop_size)
    _, height, width, channels = shape_of(image)
    y = _points(boxes[:, 0], boxes[:, 2], rows, height)
    x = _points(boxes[:, 1], boxes[:, 3], columns, width)
    y, x = (
        ops.broadcast_to(y[:, :, None], (*shape_of(y), columns)),
        ops.broadcast_to(x[:, None, :], (*shape_of(y), columns)),
    )
    inside = ops.logical_and(_within(y, height), _within(x, width))
    flat = ops.reshape(image, (-1, channels))

    def element(row: Any, column: Any) -> Any:
        at = (ops.cast(box_indices, np.int64)[:, None, None] * height + _index(row, height)) * width
        return ops.take(flat, at + _index(column, width), 0)

    if method == "nearest":
        value = element(ops.floor(y + 0.5), ops.floor(x + 0.5))
    else:
        top, left = ops.stop_gradient(ops.floor(y)), ops.stop_gradient(ops.floor(x))
        below, right = ops.stop_gradient(ops.ceil(y)), ops.stop_gradient(ops.ceil(x))
        down, across = (y - top)[..., None], (x - left)[..., None]
        upper = element(top, left) + (element(top, right) - element(top, left)) * across
        lower = element(below, left) + (element(below, right) - element(below, left)) * across
        value = upper + (lower - upper) * down
    return ops.where(inside[..., None], ops.cast(value, np.float32), np.float32(extrapolation_value))


def _points(start: Any, end: Any, count: int, size: int) -> Any:
    """Places of `count` points from one part of an axis to another, (boxes, count)."""
    if count == 1:
        return (0.5 * (start + end) * (size - 1))[:, None]
    step = (end - start) * (size - 1) / (count - 1)
    return (start * (size - 1))[:, None] + step[:, None] * np.arange(count, dtype=np.float32)


def _within(x: Any, size: int) -> Any:
    return ops.logical_and(ops.greater_equal(x, 0), ops.less_equal(x, size - 1))


def _index(x: Any, size: int) -> Any:
    return ops.cast(ops.clamp(x, 0, size - 1), np.int64)


def roi_align(
    features: Any, rois: Any, pooled_height: int, pooled_width: int, spatial_scale: float, sample_num: int = 2,
    roi_end_mode: int = 1,
) -> Any:  # fmt: skip
    """Means of points in the cells of boxes (sample, x1, y1, x2, y2) of features (N, C, H, W)."""
    _, channels, height, width = shape_of(features)
    count = shape_of(rois)[0]
    boxes = ops.stop_gradient(rois)
    batch = ops.cast(boxes[:, 0], np.int64)
    flat = ops.reshape(ops.permute(features, (0, 2, 3, 1)), (-1, channels))
    end = float(roi_end_mode)
    ys = _bin_points(boxes[:, 2], boxes[:, 4] + end, spatial_scale, pooled_height, sample_num, 1.0 - end)
    xs = _bin_points(boxes[:, 1], boxes[:, 3] + end, spatial_scale, pooled_width, sample_num, 1.0 - end)
    rows, columns = shape_of(ys)[1], shape_of(xs)[1]
    y = ops.broadcast_to(ys[:, :, None], (count, rows, columns))
    x = ops.broadcast_to(xs[:, None, :], (count, rows, columns))
    inside = ops.logical_and(_near(y, height), _near(x, width))
    y, x = (ops.maximum(v, 0.0) for v in (y, x))
    value: Any = 0.0
    for down in (0, 1):
        for across in (0, 1):
            row, share = _neighbour(y, height, down)
            column, part = _neighbour(x, width, across)
            at = (batch[:, None, None] * height + row) * width + column
            value = value + ops.take(flat, at, 0) * (share * part)[..., None]
    value = ops.where(inside[..., None], value, 0.0)
    cells = ops.reshape(value, (count, pooled_height, sample_num, pooled_width, sample_num, channels))
    return ops.permute(ops.mean(cells, (2, 4)), (0, 3, 1, 2))


def _bin_points(start: Any, end: Any, scale: float, bins: int, samples: int, least: float) -> Any:
    """The points in the cells of boxes along an axis, (boxes, bins * samples)."""
    start, end = start * scale, end * scale
    step = ops.maximum(end - start, least)[:, None] / (bins * samples)
    return start[:, None] + (np.arange(bins * samples, dtype=np.float32) + 0.5) * step


def _near(x: Any, size: int) -> Any:
    return ops.logical_and(ops.greater_equal(x, -1.0), ops.less_equal(x, float(size)))


def _neighbour(x: Any, size: int, step: int) -> tuple[Any, Any]:
    """The place before (or after) a point and its share."""
    low = ops.minimum(ops.floor(x), float(size - 1))
    high = ops.minimum(low + 1.0, float(size - 1))
    part = ops.minimum(x, float(size - 1)) - low
    return (_index(high, size), part) if step else (_index(low, size), 1.0 - part)


# ---------------------------------------------------------------- boxes


def _box(x: Any) -> tuple[Any, Any, Any, Any]:
    """Centre and sizes of boxes (x1, y1, x2, y2), whose ends count."""
    x1, y1, x2, y2 = (x[..., k] for k in range(4))
    return (x1 + x2) * 0.5, (y1 + y2) * 0.5, x2 - x1 + 1.0, y2 - y1 + 1.0


def bounding_box_encode(
    anchor_box: Any, groundtruth_box: Any, means: Any = (0.0, 0.0, 0.0, 0.0), stds: Any = (1.0, 1.0, 1.0, 1.0)
) -> Any:
    """How boxes differ from anchors: shifts as parts of the sizes, logarithms of the ratios of sizes."""
    px, py, pw, ph = _box(anchor_box)
    gx, gy, gw, gh = _box(groundtruth_box)
    deltas = ops.stack([(gx - px) / pw, (gy - py) / ph, ops.log(gw / pw), ops.log(gh / ph)], -1)
    return (deltas - np.array(means, np.float32)) / np.array(stds, np.float32)


def bounding_box_decode(
    anchor_box: Any, deltas: Any, max_shape: Any, means: Any = (0.0, 0.0, 0.0, 0.0), stds: Any = (1.0, 1.0, 1.0, 1.0),
    wh_ratio_clip: float = 0.016,
) -> Any:  # fmt: skip
    """Boxes from anchors and how they differ, inside of an image of shape `max_shape`."""
    d = deltas * np.array(stds, np.float32) + np.array(means, np.float32)
    bound = abs(math.log(wh_ratio_clip))
    px, py, pw, ph = _box(anchor_box)
    gx, gy = px + pw * d[..., 0], py + ph * d[..., 1]
    gw, gh = pw * ops.exp(ops.clamp(d[..., 2], -bound, bound)), ph * ops.exp(ops.clamp(d[..., 3], -bound, bound))
    last = (max_shape[1] - 1, max_shape[0] - 1) * 2
    corners = gx - gw * 0.5 + 0.5, gy - gh * 0.5 + 0.5, gx + gw * 0.5 - 0.5, gy + gh * 0.5 - 0.5
    return ops.stack([ops.clamp(v, 0, n) for v, n in zip(corners, last, strict=True)], -1)


def iou(anchor_boxes: Any, gt_boxes: Any, mode: str = "iou") -> Any:
    """How much of boxes overlaps: the shared part of both ("iou") or of the second ("iof"), (M, N)."""
    a, b = anchor_boxes[None], gt_boxes[:, None]
    size = [
        ops.maximum(ops.minimum(a[..., k + 2], b[..., k + 2]) - ops.maximum(a[..., k], b[..., k]) + 1.0, 0.0)
        for k in (0, 1)
    ]
    shared = size[0] * size[1]
    first, second = ((x[..., 2] - x[..., 0] + 1.0) * (x[..., 3] - x[..., 1] + 1.0) for x in (a, b))
    return shared / (second + 0.0 * first if mode == "iof" else first + second - shared)
