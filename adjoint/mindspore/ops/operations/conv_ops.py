"""Primitives: convolution, and what goes with it."""

from __future__ import annotations

from inspect import Parameter
from typing import Any

from adjoint import ops
from adjoint.core.spec import shape_of
from adjoint.mindspore.ops.operations.argument_checks import checked, one_of, sizes
from adjoint.mindspore.ops.primitive import primitive
from adjoint.ops.convolution import same_padding
from adjoint.ops.windows import sizes_of

__all__ = [
    "BiasAdd", "Conv2D", "Conv2DBackpropInput", "Conv2DTranspose", "Conv3D", "Conv3DTranspose",
    "DepthwiseConv2dNative", "Flatten",
]  # fmt: skip

REQUIRED: Any = Parameter.empty


def in_space(sizes: Any, rank: int) -> Any:
    """Sizes of the axes in space, from sizes that may hold those of samples and channels too."""
    return tuple(sizes[2:]) if isinstance(sizes, (tuple, list)) and len(sizes) == rank + 2 else sizes


def _geometry(self: Any, rank: int) -> dict[str, Any]:
    return {"stride": in_space(self.stride, rank), "dilation": in_space(self.dilation, rank), "groups": self.group}


def _channels_first(self: Any, x: Any, compute: Any) -> Any:
    """A computation on (N, C, H, W), of an input that may be (N, H, W, C)."""
    if self.data_format != "NHWC":
        return compute(x)
    return ops.permute(compute(ops.permute(x, (0, 3, 1, 2))), (0, 2, 3, 1))


def _conv2d(self: Any, x: Any, weight: Any) -> Any:
    filters = ops.permute(weight, (0, 3, 1, 2)) if self.data_format == "NHWC" else weight
    mode = self.pad_mode.lower()
    return _channels_first(
        self, x, lambda x: ops.conv2d(x, filters, pad_mode=mode, padding=self.pad, **_geometry(self, 2))
    )


def _conv3d(self: Any, x: Any, weight: Any) -> Any:
    return ops.conv3d(x, weight, pad_mode=self.pad_mode.lower(), padding=self.pad, **_geometry(self, 3))


Conv2D = primitive(
    "Conv2D", _conv2d,
    out_channel=REQUIRED, kernel_size=REQUIRED, mode=1, pad_mode="valid", pad=0, stride=1, dilation=1, group=1,
    data_format="NCHW",
)  # fmt: skip
Conv3D = primitive(
    "Conv3D", _conv3d,
    out_channel=REQUIRED, kernel_size=REQUIRED, mode=1, pad_mode="valid", pad=0, stride=1, dilation=1, group=1,
    data_format="NCDHW",
)  # fmt: skip


def padding_of(mode: str, pad: Any, space: Any, weight: Any, stride: Any, dilation: Any) -> Any:
    """The padding of a convolution of an input of these sizes."""
    if mode.lower() == "valid":
        return 0
    if mode.lower() == "pad":
        return pad
    rank = len(space)
    sizes = [sizes_of("convolution", name, n, rank) for name, n in (("stride", stride), ("dilation", dilation))]
    return same_padding(space, shape_of(weight)[2:], *sizes)


def _conv2d_input(self: Any, dout: Any, weight: Any, input_size: Any) -> Any:
    sizes = tuple(int(n) for n in (input_size.tolist() if hasattr(input_size, "tolist") else input_size))
    rest = _geometry(self, 2)
    pad = self.pad_list if self.pad_list is not None else self.pad
    mode = "pad" if self.pad_list is not None else self.pad_mode
    padding = padding_of(mode, pad, sizes[2:], weight, rest["stride"], rest["dilation"])
    return ops.conv2d_backprop_input(sizes, weight, dout, padding=padding, **rest)


_TRANSPOSED: dict[str, Any] = {
    "out_channel": REQUIRED, "kernel_size": REQUIRED, "pad_mode": "valid", "pad": 0, "pad_list": None, "mode": 1,
    "stride": 1, "dilation": 1, "group": 1, "data_format": "NCHW",
}  # fmt: skip
Conv2DTranspose = primitive("Conv2DTranspose", _conv2d_input, **_TRANSPOSED)
Conv2DBackpropInput = primitive("Conv2DBackpropInput", _conv2d_input, **_TRANSPOSED)


def conv3d_transpose(
    inputs: Any, weight: Any, pad_mode: str = "valid", padding: Any = 0, stride: Any = 1, dilation: Any = 1,
    group: int = 1, output_padding: Any = 0,
) -> Any:  # fmt: skip
    """The transpose of a convolution in 3 axes; "same" gives the input's sizes times the stride."""
    stride, dilation = in_space(stride, 3), in_space(dilation, 3)
    if pad_mode == "same":
        strides = sizes_of("conv3d_transpose", "stride", stride, 3)
        space = [n * s for n, s in zip(shape_of(inputs)[2:], strides, strict=True)]
        padding = padding_of("same", 0, space, weight, stride, dilation)
        widths = sizes_of("conv3d_transpose", "dilation", dilation, 3)
        size = [(k - 1) * d + 1 for k, d in zip(shape_of(weight)[2:], widths, strict=True)]
        # Where the filter is smaller than the stride the end of the result is not reached.
        output_padding = tuple(
            n - ((m - 1) * s + k - lo - hi)
            for n, m, s, k, (lo, hi) in zip(space, shape_of(inputs)[2:], strides, size, padding, strict=True)
        )
    return ops.conv_transpose3d(inputs, weight, None, stride, padding, output_padding, group, dilation)


def _conv3d_transpose(self: Any, dout: Any, weight: Any) -> Any:
    mode = self.pad_mode.lower()
    return conv3d_transpose(dout, weight, mode, self.pad, self.stride, self.dilation, self.group, self.output_padding)


Conv3DTranspose = primitive(
    "Conv3DTranspose", _conv3d_transpose,
    in_channel=REQUIRED, out_channel=REQUIRED, kernel_size=REQUIRED, mode=1, pad_mode="valid", pad=0, stride=1,
    dilation=1, group=1, output_padding=0, data_format="NCDHW",
)  # fmt: skip


def _depthwise(self: Any, x: Any, weight: Any) -> Any:
    multiplier, channels, *window = shape_of(weight)
    filters = ops.reshape(ops.swapaxes(weight, 0, 1), (channels * multiplier, 1, *window))
    rest = {**_geometry(self, 2), "groups": channels}
    return ops.conv2d(x, filters, pad_mode=self.pad_mode.lower(), padding=self.pad, **rest)


DepthwiseConv2dNative = primitive(
    "DepthwiseConv2dNative", _depthwise,
    channel_multiplier=REQUIRED, kernel_size=REQUIRED, mode=3, pad_mode="valid", pad=0, stride=1, dilation=1, group=1,
)  # fmt: skip


def bias_add(input_x: Any, bias: Any, data_format: str = "NCHW") -> Any:
    """A bias added to each channel: axis 1, or the last one of "NHWC".

    >>> import adjoint.mindspore as mindspore
    >>> print(bias_add(mindspore.Tensor([[[1.0], [2.0]]]), mindspore.Tensor([10.0, 20.0])))
    [[[11.]
      [22.]]]
    """
    after = 0 if data_format == "NHWC" else len(shape_of(input_x)) - 2
    return input_x + ops.reshape(bias, (*shape_of(bias), *(1,) * after))


BiasAdd = primitive(
    "BiasAdd", lambda self, input_x, bias: bias_add(input_x, bias, self.data_format), data_format="NCHW"
)


def _flatten(self: Any, input_x: Any) -> Any:
    shape = shape_of(input_x)
    return ops.reshape(input_x, (shape[0], -1) if len(shape) > 1 else (*shape, 1))


Flatten = primitive("Flatten", _flatten)

for _kind in (Conv2D, Conv3D, Conv2DTranspose, Conv2DBackpropInput, Conv3DTranspose, DepthwiseConv2dNative):
    checked(
        _kind, sizes("kernel_size", "stride", "dilation", "group"), sizes("pad", least=0),
        one_of("pad_mode", "valid", "same", "pad"),
    )  # fmt: skip
