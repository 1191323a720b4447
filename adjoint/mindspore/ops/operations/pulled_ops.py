"""Derivatives of primitives as primitives: each pulls a gradient back through the primitive itself."""

from __future__ import annotations

from inspect import Parameter
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.api.grad import vjp
from adjoint.core.spec import dtype_of, shape_of
from adjoint.mindspore.ops import index_functions, linalg_functions, math_functions, special_functions
from adjoint.mindspore.ops.nn_functions.resizing import whole_sizes
from adjoint.mindspore.ops.operations import (
    array_ops,
    conv_ops,
    image_ops,
    loss_ops,
    norm_ops,
    patch_ops,
    pool_ops,
)
from adjoint.mindspore.ops.primitive import primitive

REQUIRED: Any = Parameter.empty


def pulled(function: Any, dout: Any, *inputs: Any) -> Any:
    """The gradients of a function by its inputs, for the gradient of its result: one bare, several as a tuple."""
    grads = vjp(function, *inputs)[1](dout)
    return grads[0] if len(inputs) == 1 else tuple(grads)


def _first(y: Any) -> Any:
    return y[0] if isinstance(y, tuple) else y


def through(kind: Any, order: str, *, by: str = "x") -> Any:
    """What a gradient primitive computes: `order` names its inputs, `dout` among them; the others go into a primitive of a
    kind that has the same attributes, in the order `x, w, ...`; the gradient is by those that `by` names."""
    names = order.split()
    forward = [n for n in ("x", "w", "a", "b", "c") if n in names]

    def compute(self: Any, *given: Any) -> Any:
        values = dict(zip(names, given, strict=False))
        attributes = [name for name in kind.__init__.__signature__.parameters if name != "self"]
        op = kind(**{n: self.attrs[n] for n in attributes if n in self.attrs})
        wanted = [n for n in by.split() if n in forward]

        def function(*xs: Any) -> Any:
            filled = {**values, **dict(zip(wanted, xs, strict=True))}
            return _first(op(*(filled[n] for n in forward if n in filled)))

        return pulled(function, values["dout"], *(values[n] for n in wanted))

    return compute


def _like_shape(dout: Any, shape: Any) -> Any:
    return ops.zeros(whole_sizes(shape), dtype_of(dout))


def of_shape(function: Any) -> Any:
    """A gradient primitive that is told the shape of the input, and not the input: `function(self, x)` is linear in it."""

    def compute(self: Any, dout: Any, shape: Any, *rest: Any) -> Any:
        return pulled(lambda x: function(self, x, dout, *rest), dout, _like_shape(dout, shape))

    return compute


# ---------------------------------------------------------------- arrays

TraceGrad = primitive("TraceGrad", of_shape(lambda self, x, dout: ops.trace(x)))
StridedSliceGrad = primitive(
    "StridedSliceGrad",
    lambda self, dout, shape, begin, end, strides: pulled(
        lambda x: array_ops.StridedSlice(
            self.begin_mask, self.end_mask, self.ellipsis_mask, self.new_axis_mask, self.shrink_axis_mask
        )(x, begin, end, strides),
        dout,
        _like_shape(dout, shape),
    ),
    begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0,
)  # fmt: skip
SliceGrad = primitive(
    "SliceGrad", lambda self, dout, x, begin, size: pulled(lambda x: array_ops.Slice()(x, begin, size), dout, x)
)
GatherDGradV2 = primitive(
    "GatherDGradV2",
    lambda self, x, dim, index, dout: pulled(lambda x: index_functions.gather_d(x, dim, index), dout, x),
)
MaskedSelectGrad = primitive(
    "MaskedSelectGrad", lambda self, x, mask, dout: pulled(lambda x: ops.masked_select(x, mask), dout, x)
)
UniqueGrad = primitive("UniqueGrad", lambda self, dy, y: ops.take(dy[0], y[1], 0))


def _unpadded(kind: Any) -> Any:
    """The gradient by an input that was padded: what was laid around it is added to where it came from."""

    def compute(self: Any, dout: Any, paddings: Any) -> Any:
        op = kind(self.mode)
        widths = np.asarray(paddings.asnumpy() if hasattr(paddings, "asnumpy") else paddings)
        pairs = widths if kind is image_ops.MirrorPad else widths.reshape(-1, 2)[::-1]
        size = list(shape_of(dout))
        for axis, (low, high) in enumerate(pairs, len(size) - len(pairs)):
            size[axis] -= int(low + high)
        return pulled(lambda x: op(x, paddings), dout, ops.zeros(size, dtype_of(dout)))

    return compute


MirrorPadGrad = primitive("MirrorPadGrad", _unpadded(image_ops.MirrorPad), mode="REFLECT")
PadV3Grad = primitive("PadV3Grad", _unpadded(image_ops.PadV3), mode="reflect", paddings_contiguous=True)


def _median_grad(self: Any, dout: Any, x: Any, y: Any, indices: Any) -> Any:
    if self.global_median:
        hits = ops.cast(ops.equal(x, y), dtype_of(x))
        return dout * hits / ops.sum(hits)
    if not self.keep_dims:
        dout, indices = ops.expand_dims(dout, self.axis), ops.expand_dims(indices, self.axis)
    return pulled(lambda x: index_functions.gather_d(x, self.axis, indices), dout, x)


MedianGrad = primitive("MedianGrad", _median_grad, global_median=False, axis=0, keep_dims=False)

# ---------------------------------------------------------------- elementary and special functions, matrices

_SCALE, _ALPHA = 1.0507009873554805, 1.6732632423543772
SeluGrad = primitive(
    "SeluGrad",
    lambda self, gradient, result: gradient * ops.where(ops.less(result, 0), result + _SCALE * _ALPHA, _SCALE),
)
LogitGrad = primitive(
    "LogitGrad", lambda self, grad, input: pulled(lambda x: math_functions.logit(x, self.eps), grad, input), eps=-1.0
)
MvlgammaGrad = primitive(
    "MvlgammaGrad", lambda self, dout, x: pulled(lambda x: special_functions.mvlgamma(x, self.p), dout, x), p=...
)
IgammaGradA = primitive(
    "IgammaGradA", lambda self, a, x: pulled(lambda a: ops.gammainc(a, x), ops.ones_like(a + x * 0), a)
)
CholeskyGrad = primitive(
    "CholeskyGrad",
    lambda self, x, grad: pulled(lambda a: linalg_functions.cholesky(a), grad, ops.matmul(x, ops.swapaxes(x, -1, -2))),
)
PdistGrad = primitive(
    "PdistGrad", lambda self, dout, x, y: pulled(lambda x: linalg_functions.pdist(x, self.p), dout, x), p=2.0
)


def _larger_twice(chosen: Any) -> Any:
    """The gradients by both inputs, which are zero, and by the gradient of the result: the first input's where both are equal."""
    return lambda self, x, y, dx, dy: (ops.zeros_like(x), ops.zeros_like(y), ops.where(chosen(x, y), dx, dy))


MaximumGradGrad = primitive("MaximumGradGrad", _larger_twice(ops.greater_equal), grad_x=True, grad_y=True)
MinimumGradGrad = primitive("MinimumGradGrad", _larger_twice(ops.less_equal))

# ---------------------------------------------------------------- pooling

_POOL: dict[str, Any] = {"kernel_size": 1, "strides": 1, "pad_mode": "VALID", "data_format": "NCHW"}
_ARGMAX: dict[str, Any] = {
    "kernel_size": REQUIRED, "strides": None, "pads": 0, "dilation": (1, 1), "ceil_mode": False,
    "argmax_type": np.dtype("int64"),
}  # fmt: skip
_UNPOOL: dict[str, Any] = {"ksize": REQUIRED, "strides": 0, "pads": 0, "output_shape": ()}

AvgPoolGradV1 = primitive(
    "AvgPoolGradV1",
    lambda self, shape, dout: pulled(
        pool_ops.AvgPoolV1(self.kernel_size, self.strides, self.pad_mode, self.data_format), dout, _like_shape(dout, shape)
    ),
    **_POOL,
)  # fmt: skip
MaxPoolGradV1 = primitive("MaxPoolGradV1", through(pool_ops.MaxPoolV1, "x out dout"), **_POOL)
MaxPoolGradWithArgmax = primitive(
    "MaxPoolGradWithArgmax", through(pool_ops.MaxPoolWithArgmax, "x dout argmax"), **_POOL
)
MaxPoolGradWithArgmaxV2 = primitive(
    "MaxPoolGradWithArgmaxV2", through(pool_ops.MaxPoolWithArgmaxV2, "x dout argmax"), **_ARGMAX
)
MaxPool3DGradWithArgmax = primitive(
    "MaxPool3DGradWithArgmax", through(pool_ops.MaxPool3DWithArgmax, "x dout argmax"),
    ksize=REQUIRED, strides=REQUIRED, pads=REQUIRED, dilation=(1, 1, 1), ceil_mode=False, data_format="NCDHW",
)  # fmt: skip
AvgPool3DGrad = primitive(
    "AvgPool3DGrad",
    lambda self, shape, dout: pulled(
        pool_ops.AvgPool3D(
            self.kernel_size, self.strides, self.pad_mode, self.pads, self.ceil_mode, self.count_include_pad,
            self.divisor_override,
        ),
        dout, _like_shape(dout, shape),
    ),
    kernel_size=1, strides=1, pads=0, ceil_mode=False, count_include_pad=True, divisor_override=0,
    data_format="NCDHW", pad_mode="pad",
)  # fmt: skip


AdaptiveAvgPool2DGrad = primitive(
    "AdaptiveAvgPool2DGrad", of_shape(lambda self, x, dout: ops.adaptive_avg_pool2d(x, shape_of(dout)[-2:]))
)
AdaptiveAvgPool3DGrad = primitive(
    "AdaptiveAvgPool3DGrad", of_shape(lambda self, x, dout: ops.adaptive_avg_pool3d(x, shape_of(dout)[-3:]))
)


def _to_argmax(self: Any, dout: Any, x: Any, argmax: Any) -> Any:
    """Each gradient goes to the place that was the largest: its number in the input's axes in space, flattened."""
    lead = len(shape_of(x)) - self.axes_in_space
    size = int(np.prod(shape_of(x)[lead:]))
    places, grads = (ops.reshape(v, (*shape_of(x)[:lead], -1)) for v in (argmax, dout))
    zeros = ops.zeros((*shape_of(x)[:lead], size), dtype_of(dout))
    return ops.reshape(ops.scatter_add(zeros, lead, ops.cast(places, np.int64), grads), shape_of(x))


class _AdaptiveMaxPoolGrad(primitive("AdaptiveMaxPool2DGrad", _to_argmax)):  # type: ignore[misc]
    axes_in_space = 2


class _AdaptiveMaxPool3DGrad(primitive("AdaptiveMaxPool3DGrad", _to_argmax)):  # type: ignore[misc]
    axes_in_space = 3


AdaptiveMaxPool2DGrad, AdaptiveMaxPool3DGrad = _AdaptiveMaxPoolGrad, _AdaptiveMaxPool3DGrad
MaxUnpool2DGrad = primitive(
    "MaxUnpool2DGrad", lambda self, x, dout, argmax: pulled(_unpool(self, pool_ops.MaxUnpool2D, argmax), dout, x),
    **_UNPOOL, data_format="NCHW",
)  # fmt: skip
MaxUnpool3DGrad = primitive(
    "MaxUnpool3DGrad", lambda self, x, dout, argmax: pulled(_unpool(self, pool_ops.MaxUnpool3D, argmax), dout, x),
    **_UNPOOL, data_format="NCDHW",
)  # fmt: skip


def _unpool(self: Any, kind: Any, argmax: Any) -> Any:
    op = kind(self.ksize, self.strides, self.pads, self.output_shape)
    return lambda x: op(x, argmax)


# ---------------------------------------------------------------- convolution and normalisation

_CONV: dict[str, Any] = {"pad_mode": "valid", "pad": 0, "pad_list": (0, 0, 0, 0), "mode": 3, "stride": 1, "dilation": 1}


def _depthwise(self: Any) -> Any:
    return conv_ops.DepthwiseConv2dNative(
        self.channel_multiplier, self.kernel_size, 3, self.pad_mode, self.pad, self.stride, self.dilation
    )


DepthwiseConv2dNativeBackpropFilter = primitive(
    "DepthwiseConv2dNativeBackpropFilter",
    lambda self, x, size, dout: pulled(lambda w: _depthwise(self)(x, w), dout, _like_shape(x, size)),
    channel_multiplier=REQUIRED, kernel_size=REQUIRED, **_CONV, group=1,
)  # fmt: skip
DepthwiseConv2dNativeBackpropInput = primitive(
    "DepthwiseConv2dNativeBackpropInput",
    lambda self, size, w, dout: pulled(lambda x: _depthwise(self)(x, w), dout, _like_shape(w, size)),
    channel_multiplier=REQUIRED, kernel_size=REQUIRED, **_CONV, group=1,
)  # fmt: skip
Conv3DBackpropFilter = primitive(
    "Conv3DBackpropFilter",
    lambda self, x, dout, size: pulled(
        lambda w: conv_ops.Conv3D(
            self.out_channel, self.kernel_size, 1, self.pad_mode, self.pad, self.stride, self.dilation, self.group
        )(x, w),
        dout,
        _like_shape(x, size),
    ),
    out_channel=REQUIRED, kernel_size=REQUIRED, mode=1, pad_mode="valid", pad=0, stride=(1, 1, 1, 1, 1),
    dilation=(1, 1, 1, 1, 1), group=1, data_format="NCDHW",
)  # fmt: skip
Dilation2DBackpropInput = primitive(
    "Dilation2DBackpropInput", through(patch_ops.Dilation2D, "x w dout"),
    stride=REQUIRED, dilation=REQUIRED, pad_mode="SAME", data_format="NCHW",
)  # fmt: skip
Dilation2DBackpropFilter = primitive(
    "Dilation2DBackpropFilter", through(patch_ops.Dilation2D, "x w dout", by="w"),
    stride=REQUIRED, dilation=REQUIRED, pad_mode="SAME", data_format="NCHW",
)  # fmt: skip
RmsNormGrad = primitive(
    "RmsNormGrad",
    lambda self, dy, x, rstd, gamma: pulled(lambda x, g: norm_ops.RmsNorm()(x, g)[0], dy, x, gamma),
)


def _layer_norm_grad_grad(
    self: Any, x: Any, dy: Any, variance: Any, mean: Any, gamma: Any, d_dx: Any, d_dg: Any, d_db: Any
) -> Any:
    """The gradients of LayerNorm's own gradients, by the input, the gradient of the result and gamma."""
    norm = norm_ops.LayerNorm(self.begin_norm_axis, self.begin_params_axis)

    def gradients(x: Any, dy: Any, gamma: Any) -> Any:
        return pulled(lambda x, g, b: norm(x, g, b)[0], dy, x, gamma, ops.zeros_like(gamma))

    return tuple(vjp(gradients, x, dy, gamma)[1]((d_dx, d_dg, d_db)))


LayerNormGradGrad = primitive("LayerNormGradGrad", _layer_norm_grad_grad, begin_norm_axis=1, begin_params_axis=1)

# ---------------------------------------------------------------- losses

SoftMarginLossGrad = primitive("SoftMarginLossGrad", through(loss_ops.SoftMarginLoss, "x w dout"), reduction="mean")
MultiMarginLossGrad = primitive(
    "MultiMarginLossGrad", through(loss_ops.MultiMarginLoss, "dout x w a"), p=1, margin=1.0, reduction="mean"
)
MultilabelMarginLossGrad = primitive(
    "MultilabelMarginLossGrad",
    lambda self, dout, x, target, is_target: pulled(
        lambda x: loss_ops.MultilabelMarginLoss(self.reduction)(x, target)[0], dout, x
    ),
    reduction="mean",
)

# ---------------------------------------------------------------- images

_SAMPLER: dict[str, Any] = {"interpolation_mode": "bilinear", "padding_mode": "zeros", "align_corners": False}
GridSampler2DGrad = primitive(
    "GridSampler2DGrad", through(image_ops.GridSampler2D, "dout x w", by="x w"), **_SAMPLER, output_mask=(1, 1)
)
GridSampler3DGrad = primitive(
    "GridSampler3DGrad", through(image_ops.GridSampler3D, "dout x w", by="x w"), **_SAMPLER, output_mask=(1, 1)
)
AffineGridGrad = primitive(
    "AffineGridGrad",
    lambda self, dout, size: pulled(
        lambda theta: image_ops.AffineGrid(self.align_corners)(theta, size),
        dout,
        ops.zeros((whole_sizes(size)[0], len(whole_sizes(size)) - 2, len(whole_sizes(size)) - 1), dtype_of(dout)),
    ),
    align_corners=False,
)
ROIAlignGrad = primitive(
    "ROIAlignGrad",
    lambda self, dout, rois, shape: pulled(
        lambda x: image_ops.ROIAlign(self.pooled_height, self.pooled_width, self.spatial_scale, self.sample_num)(x, rois),
        dout, _like_shape(dout, shape),
    ),
    pooled_height=REQUIRED, pooled_width=REQUIRED, spatial_scale=REQUIRED, sample_num=2,
)  # fmt: skip
ResizeBicubicGrad = primitive(
    "ResizeBicubicGrad",
    lambda self, dout, x: pulled(
        lambda x: image_ops.ResizeBicubic(self.align_corners, self.half_pixel_centers)(x, shape_of(dout)[2:]), dout, x
    ),
    align_corners=False, half_pixel_centers=False,
)  # fmt: skip
ResizeLinear1DGrad = primitive(
    "ResizeLinear1DGrad",
    lambda self, dout, x: pulled(
        lambda x: image_ops.ResizeLinear1D(self.coordinate_transformation_mode)(x, shape_of(dout)[2:]), dout, x
    ),
    coordinate_transformation_mode="align_corners",
)
ResizeNearestNeighborV2Grad = primitive(
    "ResizeNearestNeighborV2Grad",
    lambda self, dout, size: pulled(
        lambda x: image_ops.ResizeNearestNeighborV2(self.align_corners, self.half_pixel_centers)(x, shape_of(dout)[2:]),
        dout, ops.zeros((*shape_of(dout)[:2], *whole_sizes(size)), dtype_of(dout)),
    ),
    align_corners=False, half_pixel_centers=False,
)  # fmt: skip
UpsampleNearest3DGrad = primitive(
    "UpsampleNearest3DGrad",
    lambda self, dout, size, output_size=None, scales=None: pulled(
        lambda x: image_ops.UpsampleNearest3D()(x, output_size, scales), dout, _like_shape(dout, size)
    ),
)
UpsampleTrilinear3DGrad = primitive(
    "UpsampleTrilinear3DGrad",
    lambda self, dout, size, output_size=None, scales=None: pulled(
        lambda x: image_ops.UpsampleTrilinear3D(self.align_corners)(x, output_size, scales), dout, _like_shape(dout, size)
    ),
    align_corners=False,
)  # fmt: skip

__all__ = [
    name for name, value in globals().items() if getattr(value, "__module__", "") == "mindspore.ops.operations"
] + ["AdaptiveMaxPool2DGrad", "AdaptiveMaxPool3DGrad"]
