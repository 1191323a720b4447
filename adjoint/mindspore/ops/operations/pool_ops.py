"""Primitives: pooling."""

from __future__ import annotations

from inspect import Parameter
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.mindspore.ops import nn_functions as F
from adjoint.mindspore.ops.nn_functions import pooling
from adjoint.mindspore.ops.operations.argument_checks import checked, one_of, sizes
from adjoint.mindspore.ops.primitive import primitive

__all__ = [
    "AdaptiveAvgPool2D", "AdaptiveAvgPool3D", "AdaptiveMaxPool2D", "AdaptiveMaxPool3D", "AvgPool", "AvgPool3D",
    "AvgPoolV1", "FractionalMaxPool3DWithFixedKsize", "FractionalMaxPoolWithFixedKsize", "MaxPool", "MaxPool3D",
    "MaxPool3DWithArgmax", "MaxPoolV1", "MaxPoolWithArgmax", "MaxPoolWithArgmaxV2", "MaxUnpool2D", "MaxUnpool3D",
]  # fmt: skip

REQUIRED: Any = Parameter.empty


def _in_space(sizes: Any) -> Any:
    """Sizes of the axes in space, from sizes that may hold those of samples and channels too."""
    return tuple(sizes[2:]) if isinstance(sizes, (tuple, list)) and len(sizes) in (4, 5) else sizes


def _layout(self: Any, x: Any, compute: Any) -> Any:
    """A computation on (N, C, H, W), of an input that may be (N, H, W, C)."""
    if self.data_format != "NHWC":
        return compute(x)
    return ops.permute(compute(ops.permute(x, (0, 3, 1, 2))), (0, 2, 3, 1))


def _max_pool(self: Any, x: Any) -> Any:
    window, stride = _in_space(self.kernel_size), _in_space(self.strides)
    return _layout(
        self, x, lambda x: F.max_pool(2, x, window, stride, F.pool_padding(x, 2, window, stride, self.pad_mode))[0]
    )


def _avg_pool(self: Any, x: Any) -> Any:
    window, stride = _in_space(self.kernel_size), _in_space(self.strides)

    def compute(x: Any) -> Any:
        padding = F.pool_padding(x, 2, window, stride, self.pad_mode)
        return F.avg_pool_padded(x, 2, window, stride, padding, count_include_pad=False)

    return _layout(self, x, compute)


MaxPool = primitive("MaxPool", _max_pool, kernel_size=1, strides=1, pad_mode="valid", data_format="NCHW")
AvgPool = primitive("AvgPool", _avg_pool, kernel_size=1, strides=1, pad_mode="VALID", data_format="NCHW")
MaxPoolV1 = primitive("MaxPoolV1", _max_pool, kernel_size=1, strides=1, pad_mode="valid", data_format="NCHW")
AvgPoolV1 = primitive("AvgPoolV1", _avg_pool, kernel_size=1, strides=1, pad_mode="valid", data_format="NCHW")


def _padding3d(self: Any, x: Any, pad: Any) -> Any:
    if self.pad_mode.lower() == "pad":
        return pad
    return F.pool_padding(x, 3, _in_space(self.kernel_size), _in_space(self.strides), self.pad_mode)


def _max_pool3d(self: Any, x: Any) -> Any:
    padding = _padding3d(self, x, self.pad_list)
    window, stride = _in_space(self.kernel_size), _in_space(self.strides)
    return F.max_pool(3, x, window, stride, padding, 1, bool(self.ceil_mode))[0]


def _avg_pool3d(self: Any, x: Any) -> Any:
    window, stride = _in_space(self.kernel_size), _in_space(self.strides)
    padding = _padding3d(self, x, self.pad)
    rest = self.ceil_mode, self.count_include_pad, self.divisor_override
    return F.avg_pool_padded(x, 3, window, stride, padding, *rest)


MaxPool3D = primitive(
    "MaxPool3D", _max_pool3d,
    kernel_size=1, strides=1, pad_mode="VALID", pad_list=0, ceil_mode=None, data_format="NCDHW",
)  # fmt: skip
AvgPool3D = primitive(
    "AvgPool3D", _avg_pool3d,
    kernel_size=1, strides=1, pad_mode="valid", pad=0, ceil_mode=False, count_include_pad=True, divisor_override=0,
    data_format="NCDHW",
)  # fmt: skip


def _with_argmax(self: Any, x: Any) -> Any:
    y, found = F.max_pool(2, x, self.kernel_size, self.strides, self.pads, self.dilation, self.ceil_mode)
    return y, ops.cast(found, self.argmax_type)


def _with_argmax3d(self: Any, x: Any) -> Any:
    y, found = F.max_pool(3, x, self.ksize, self.strides, self.pads, self.dilation, self.ceil_mode)
    return y, ops.cast(found, self.argmax_type)


MaxPoolWithArgmaxV2 = primitive(
    "MaxPoolWithArgmaxV2", _with_argmax,
    kernel_size=REQUIRED, strides=None, pads=0, dilation=(1, 1), ceil_mode=False, argmax_type=np.dtype("int64"),
)  # fmt: skip
MaxPool3DWithArgmax = primitive(
    "MaxPool3DWithArgmax", _with_argmax3d,
    ksize=REQUIRED, strides=REQUIRED, pads=REQUIRED, dilation=(1, 1, 1), ceil_mode=False, data_format="NCDHW",
    argmax_type=np.dtype("int64"),
)  # fmt: skip

AdaptiveAvgPool2D = primitive(
    "AdaptiveAvgPool2D", lambda self, x: ops.adaptive_avg_pool2d(x, self.output_size), output_size=REQUIRED
)
AdaptiveAvgPool3D = primitive(
    "AdaptiveAvgPool3D", lambda self, x: ops.adaptive_avg_pool3d(x, self.output_size), output_size=REQUIRED
)
AdaptiveMaxPool2D = primitive(
    "AdaptiveMaxPool2D", lambda self, input: F.adaptive_max_pool2d(input, self.output_size, True), output_size=REQUIRED
)


def _adaptive_max3d(self: Any, x: Any, output_size: Any) -> Any:
    sizes = output_size.tolist() if hasattr(output_size, "tolist") else output_size
    y, found = F.adaptive_max_pool3d(x, tuple(sizes), True)
    return y, ops.cast(found, np.int32)


AdaptiveMaxPool3D = primitive("AdaptiveMaxPool3D", _adaptive_max3d)
MaxUnpool2D = primitive(
    "MaxUnpool2D",
    lambda self, x, argmax: F.max_unpool2d(x, argmax, self.ksize, self.strides, self.pads, self.output_shape),
    ksize=REQUIRED, strides=0, pads=0, output_shape=(), data_format="NCHW",
)  # fmt: skip
MaxUnpool3D = primitive(
    "MaxUnpool3D",
    lambda self, x, argmax: F.max_unpool3d(x, argmax, self.ksize, self.strides, self.pads, self.output_shape),
    ksize=REQUIRED, strides=0, pads=0, output_shape=(), data_format="NCDHW",
)  # fmt: skip


def _pieces(output_shape: Any, rank: int) -> tuple[int, ...]:
    return tuple(output_shape) if isinstance(output_shape, (tuple, list)) else (output_shape,) * rank


FractionalMaxPoolWithFixedKsize = primitive(
    "FractionalMaxPoolWithFixedKsize",
    lambda self, x, samples: pooling.fractional_max(x, self.ksize, _pieces(self.output_shape, 2), samples),
    ksize=REQUIRED, output_shape=REQUIRED, data_format="NCHW",
)  # fmt: skip
FractionalMaxPool3DWithFixedKsize = primitive(
    "FractionalMaxPool3DWithFixedKsize",
    lambda self, x, samples: pooling.fractional_max(x, self.ksize, _pieces(self.output_shape, 3), samples),
    ksize=REQUIRED, output_shape=REQUIRED, data_format="NCDHW",
)  # fmt: skip


def _argmax_same(self: Any, x: Any) -> Any:
    padding = F.pool_padding(x, 2, self.kernel_size, self.strides, self.pad_mode)
    y, found = F.max_pool(2, x, _in_space(self.kernel_size), _in_space(self.strides), padding)
    return y, ops.cast(found, np.int32)


MaxPoolWithArgmax = primitive(
    "MaxPoolWithArgmax", _argmax_same, kernel_size=1, strides=1, pad_mode="valid", data_format="NCHW"
)

for _kind in (MaxPool, MaxPoolWithArgmax):
    checked(_kind, sizes("kernel_size", "strides"), one_of("pad_mode", "valid", "same"))
for _kind in (AvgPool, MaxPool3D, AvgPool3D):
    checked(_kind, sizes("kernel_size", "strides"), one_of("pad_mode", "valid", "same", "pad"))
