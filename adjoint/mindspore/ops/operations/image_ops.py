"""Primitives: resizing, padding, parts of images and boxes."""

from __future__ import annotations

from inspect import Parameter
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.spec import shape_of
from adjoint.mindspore.ops import nn_functions as F
from adjoint.mindspore.ops.nn_functions.resizing import whole_sizes
from adjoint.mindspore.ops.primitive import primitive

__all__ = [
    "AffineGrid", "BoundingBoxDecode", "BoundingBoxEncode", "ChannelShuffle", "Col2Im", "CropAndResize",
    "EmbeddingLookup", "GridSampler2D", "GridSampler3D", "IOU", "Im2Col", "MirrorPad", "Pad", "PadV3", "ROIAlign",
    "ResizeArea", "ResizeBicubic", "ResizeBilinear", "ResizeBilinearV2", "ResizeLinear1D", "ResizeNearestNeighbor",
    "ResizeNearestNeighborV2", "UpsampleNearest3D", "UpsampleTrilinear3D",
]  # fmt: skip

REQUIRED: Any = Parameter.empty

ResizeBilinearV2 = primitive(
    "ResizeBilinearV2",
    lambda self, image, size: F.resize_linear(image, size, self.align_corners, self.half_pixel_centers),
    align_corners=False, half_pixel_centers=False,
)  # fmt: skip
ResizeBilinear = primitive(
    "ResizeBilinear",
    lambda self, x: F.resize_linear(x, self.size, self.align_corners, self.half_pixel_centers),
    size=REQUIRED, align_corners=False, half_pixel_centers=False,
)  # fmt: skip
ResizeNearestNeighborV2 = primitive(
    "ResizeNearestNeighborV2",
    lambda self, x, size: F.resize_nearest(x, size, self.align_corners, self.half_pixel_centers),
    align_corners=False, half_pixel_centers=False,
)  # fmt: skip
ResizeNearestNeighbor = primitive(
    "ResizeNearestNeighbor",
    lambda self, x: F.resize_nearest(x, self.size, self.align_corners),
    size=REQUIRED, align_corners=False,
)  # fmt: skip
ResizeBicubic = primitive(
    "ResizeBicubic",
    lambda self, image, size: F.resize_bicubic(image, size, self.align_corners, self.half_pixel_centers),
    align_corners=False, half_pixel_centers=False,
)  # fmt: skip
ResizeArea = primitive(
    "ResizeArea", lambda self, images, size: F.resize_area(images, size, self.align_corners), align_corners=False
)
ResizeLinear1D = primitive(
    "ResizeLinear1D",
    lambda self, x, size: F.resize_linear(
        x, size, self.coordinate_transformation_mode == "align_corners", self.coordinate_transformation_mode == "half_pixel"
    ),
    coordinate_transformation_mode="align_corners",
)  # fmt: skip


def _sizes(x: Any, output_size: Any, scales: Any) -> tuple[int, ...]:
    if output_size is not None:
        return whole_sizes(output_size)
    return tuple(int(n * s) for n, s in zip(shape_of(x)[2:], scales, strict=True))


UpsampleNearest3D = primitive(
    "UpsampleNearest3D",
    lambda self, x, output_size=None, scales=None: F.resize_nearest(x, _sizes(x, output_size, scales)),
)
UpsampleTrilinear3D = primitive(
    "UpsampleTrilinear3D",
    lambda self, x, output_size=None, scales=None: F.resize_linear(
        x, _sizes(x, output_size, scales), self.align_corners, not self.align_corners
    ),
    align_corners=False,
)

CropAndResize = primitive(
    "CropAndResize",
    lambda self, image, boxes, box_indices, crop_size: F.crop_and_resize(
        image, boxes, box_indices, crop_size, self.method, self.extrapolation_value
    ),
    method="bilinear", extrapolation_value=0.0,
)  # fmt: skip
ROIAlign = primitive(
    "ROIAlign",
    lambda self, features, rois: F.roi_align(
        features, rois, self.pooled_height, self.pooled_width, self.spatial_scale, self.sample_num, self.roi_end_mode
    ),
    pooled_height=REQUIRED, pooled_width=REQUIRED, spatial_scale=REQUIRED, sample_num=2, roi_end_mode=1,
)  # fmt: skip


def _grid_sampler(self: Any, input_x: Any, grid: Any) -> Any:
    return ops.grid_sample(input_x, grid, self.interpolation_mode, self.padding_mode, self.align_corners)


GridSampler2D = primitive(
    "GridSampler2D", _grid_sampler, interpolation_mode="bilinear", padding_mode="zeros", align_corners=False
)
GridSampler3D = primitive(
    "GridSampler3D", _grid_sampler, interpolation_mode="bilinear", padding_mode="zeros", align_corners=False
)
AffineGrid = primitive(
    "AffineGrid",
    lambda self, theta, output_size: F.affine_grid(theta, output_size, self.align_corners),
    align_corners=False,
)
ChannelShuffle = primitive("ChannelShuffle", lambda self, x: F.channel_shuffle(x, self.group), group=REQUIRED)


# ---------------------------------------------------------------- padding and windows


Pad = primitive("Pad", lambda self, input_x: F.pad_pairs(input_x, self.paddings), paddings=REQUIRED)
MirrorPad = primitive(
    "MirrorPad", lambda self, input_x, paddings: F.mirror_pad(input_x, paddings, self.mode), mode="REFLECT"
)


def _pad_v3(self: Any, x: Any, paddings: Any, constant_value: Any = 0) -> Any:
    widths = whole_sizes(paddings)
    if not self.paddings_contiguous and len(widths) > 2:
        half = len(widths) // 2
        widths = tuple(n for pair in zip(widths[:half], widths[half:], strict=True) for n in pair)
    return F.pad(x, widths, self.mode, constant_value if self.mode == "constant" else None)


PadV3 = primitive("PadV3", _pad_v3, mode="constant", paddings_contiguous=True)


def _im2col(self: Any, x: Any) -> Any:
    n, c = shape_of(x)[:2]
    y = ops.unfold(x, self.ksizes, self.dilations, self.pads, self.strides)
    return ops.reshape(y, (n, c, shape_of(y)[1] // c, shape_of(y)[2]))


def _col2im(self: Any, x: Any, output_size: Any) -> Any:
    n, c, size, count = shape_of(x)
    columns = ops.reshape(x, (n, c * size, count))
    return ops.fold(columns, whole_sizes(output_size), self.kernel_size, self.dilation, self.padding, self.stride)


Im2Col = primitive("Im2Col", _im2col, ksizes=REQUIRED, strides=1, dilations=1, pads=0)
Col2Im = primitive("Col2Im", _col2im, kernel_size=REQUIRED, dilation=1, padding=0, stride=1)


# ---------------------------------------------------------------- boxes and tables


BoundingBoxEncode = primitive(
    "BoundingBoxEncode",
    lambda self, anchor_box, groundtruth_box: F.bounding_box_encode(anchor_box, groundtruth_box, self.means, self.stds),
    means=(0.0, 0.0, 0.0, 0.0), stds=(1.0, 1.0, 1.0, 1.0),
)  # fmt: skip
BoundingBoxDecode = primitive(
    "BoundingBoxDecode",
    lambda self, anchor_box, deltas: F.bounding_box_decode(
        anchor_box, deltas, self.max_shape, self.means, self.stds, self.wh_ratio_clip
    ),
    max_shape=REQUIRED, means=(0.0, 0.0, 0.0, 0.0), stds=(1.0, 1.0, 1.0, 1.0), wh_ratio_clip=0.016,
)  # fmt: skip
IOU = primitive("IOU", lambda self, anchor_boxes, gt_boxes: F.iou(anchor_boxes, gt_boxes, self.mode), mode="iou")


def _embedding_lookup(self: Any, input_params: Any, input_indices: Any, offset: Any) -> Any:
    """Rows at indices less an offset; zeros for those that are not there."""
    at = input_indices - offset
    rows = shape_of(input_params)[0]
    there = ops.logical_and(ops.greater_equal(at, 0), ops.less(at, rows))
    found = ops.take(input_params, ops.where(there, at, 0), 0)
    there = ops.reshape(there, (*shape_of(there), *(1,) * (len(shape_of(input_params)) - 1)))
    return ops.where(there, found, np.zeros((), found.dtype))


EmbeddingLookup = primitive("EmbeddingLookup", _embedding_lookup)


def __getattr__(name: str) -> Any:
    """Names that MindSpore has here and we elsewhere."""
    if name.startswith("__"):
        raise AttributeError(name)
    from adjoint.mindspore.ops import operations

    return getattr(operations, name)
