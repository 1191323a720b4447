"""Functions of images: resizing, padding, parts of them and boxes in them, with their gradients."""

import numpy as np
from mindspore import Tensor, ops

from mindspore_programs import Run, numbers
from mindspore_programs import both_squared as both


def case_interpolate():
    x = numbers(1, 1, 3, 4)

    def bilinear(x):
        return ops.interpolate(x, size=(5, 6), mode="bilinear")

    def corners(x):
        return ops.interpolate(x, size=(5, 6), mode="bilinear", align_corners=True)

    def nearest(x):
        return ops.interpolate(x, size=(5, 6))

    def bicubic(x):
        return ops.interpolate(x, size=(4, 5), mode="bicubic")

    def area(x):
        return ops.interpolate(x, size=(2, 3), mode="area")

    def scaled(x):
        return ops.interpolate(x, scale_factor=1.5, mode="bilinear", recompute_scale_factor=True)

    return [both(f, x) for f in (bilinear, corners, nearest, bicubic, area, scaled)]


def case_interpolate_in_one_and_three_axes():
    def line(x):
        return ops.interpolate(x, size=5, mode="linear")

    def volume(x):
        return ops.interpolate(x, size=(2, 3, 3), mode="trilinear")

    return both(line, numbers(1, 2, 3)), both(volume, numbers(1, 1, 1, 2, 2))


def case_resize_primitives():
    x, size = numbers(1, 1, 3, 4), Tensor(np.array([4, 5], np.int32))
    linear, nearest, cubic = (
        ops.ResizeBilinearV2(half_pixel_centers=True),
        ops.ResizeNearestNeighborV2(),
        ops.ResizeBicubic(),
    )
    return linear(x, (4, 5)), nearest(x, size), cubic(x, size), both(ops.ResizeNearestNeighbor((2, 6)), x)


def case_grid_sample():
    grid = numbers(1, 2, 2, 2, scale=0.9)

    def zeros(x, g):
        return ops.grid_sample(x, g, align_corners=False)

    def border(x, g):
        return ops.grid_sample(x, g, padding_mode="border", align_corners=True)

    def nearest(x, g):
        return ops.grid_sample(x, g, mode="nearest", align_corners=True)

    x = numbers(1, 2, 3, 4, seed=0.7)
    return Run(zeros)(x, grid), both(border, x, grid), Run(nearest)(x, grid)


def case_affine_grid():
    theta = numbers(1, 2, 3)

    def run(theta):
        return ops.affine_grid(theta, (1, 1, 2, 3), True)

    return both(run, theta)


def case_crop_and_resize():
    at = Tensor(np.array([0, 0], np.int32))
    boxes = Tensor(np.array([[0.05, 0.1, 0.9, 0.95], [0.2, 0.1, 0.8, 0.7]], np.float32))

    def run(image, boxes):
        return ops.crop_and_resize(image, boxes, at, (2, 3))

    return both(run, numbers(1, 3, 4, 2), boxes)


def case_roi_align():
    rois = Tensor(np.array([[0, 1, 1, 5, 6]], np.float32))
    op = ops.ROIAlign(2, 3, 0.5, 2)

    def run(x):
        return op(x, rois)

    return both(run, numbers(1, 2, 3, 4))


def case_boxes():
    anchors, boxes = (
        Tensor([[2.0, 2.0, 4.0, 5.0], [1.0, 0.0, 6.0, 3.0]]),
        Tensor([[1.0, 2.0, 3.0, 6.0], [0.0, 1.0, 4.0, 4.0]]),
    )
    deltas = ops.bounding_box_encode(anchors, boxes)
    return deltas, ops.bounding_box_decode(anchors, deltas, (20, 20)), ops.IOU()(anchors, boxes)


def case_pixels_and_channels():
    def up(x):
        return ops.pixel_shuffle(x, 2)

    def down(x):
        return ops.pixel_unshuffle(x, 2)

    def turns(x):
        return ops.channel_shuffle(x, 2)

    return both(up, numbers(1, 4, 1, 2)), both(down, numbers(1, 1, 2, 4)), Run(turns)(numbers(1, 4, 1, 2))


def case_fold_and_unfold():
    size = Tensor(np.array([3, 4], np.int32))

    def columns(x):
        return ops.unfold(x, (2, 3), padding=1, stride=2)

    def images(x):
        return ops.fold(x, size, (2, 2))

    return both(columns, numbers(1, 2, 3, 4)), both(images, numbers(1, 4, 6))


def case_pad_functions():
    x = numbers(1, 1, 3, 4)

    def constant(x):
        return ops.pad(x, (1, 2, 0, 1), "constant", 6.0)

    def reflect(x):
        return ops.pad(x, [1, 2, 1, 0], "reflect")

    def replicate(x):
        return ops.pad(x, (1, 2, 0, 1), mode="replicate")

    def circular(x):
        return ops.pad(x, (1, 2, 0, 1), mode="circular")

    return [both(f, x) for f in (constant, reflect, replicate, circular)]


def case_pad_primitives():
    mirror = ops.MirrorPad("SYMMETRIC")
    widths = Tensor(np.array([[1, 0], [0, 2]], np.int32))

    def run(x):
        return mirror(x, widths)

    return both(ops.Pad(((1, 0), (2, 1))), numbers(2, 3)), both(run, numbers(2, 3))
