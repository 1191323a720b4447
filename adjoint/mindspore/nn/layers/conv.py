"""Convolutions with the order of arguments that MindSpore has."""

from __future__ import annotations

from typing import Any

from adjoint import nn, ops
from adjoint.core.parameter import Parameter
from adjoint.core.spec import float32, shape_of
from adjoint.mindspore.nn.engine_layers import layer
from adjoint.nn.initializer import HeUniform, initializer

__all__ = ["Conv1d", "Conv1dTranspose", "Conv2d", "Conv2dTranspose", "Conv3d", "Conv3dTranspose"]


class _Text:
    """How convolutions are printed."""

    def extend_repr(self: Any) -> str:
        """The settings."""
        layout = {1: "NCHW", 2: "NCHW", 3: "NCDHW"}[self.rank]
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, pad_mode={self.pad_mode}, padding={self.padding}, dilation={self.dilation}, "
            f"group={self.group}, has_bias={self.has_bias}, format={layout}"
        )


class Conv2d(_Text, layer(nn.Conv2d)):  # type: ignore[misc]
    """Convolution of (N, C, H, W)."""


class Conv2dTranspose(_Text, layer(nn.Conv2dTranspose)):  # type: ignore[misc]
    """The transpose of `Conv2d`."""


class Conv3d(_Text, layer(nn.Conv3d)):  # type: ignore[misc]
    """Convolution of (N, C, D, H, W)."""


def _with_height(cell: Any, weight_init: Any, dtype: Any) -> None:
    """The weight of a convolution in one axis as MindSpore keeps it: with an axis of height 1."""
    first, second, size = shape_of(cell.weight)
    start = HeUniform(5**0.5) if weight_init is None else weight_init
    cell._params["weight"] = Parameter(initializer(start, (first, second, 1, size), dtype), name="weight")


class Conv1d(_Text, layer(nn.Conv1d)):  # type: ignore[misc]
    """Convolution of (N, C, L)."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1, pad_mode: str = "same",
        padding: Any = 0, dilation: int = 1, group: int = 1, has_bias: bool = False, weight_init: Any = None,
        bias_init: Any = None, dtype: Any = float32,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias, "zeros",
            bias_init, dtype=dtype,
        )  # fmt: skip
        _with_height(self, weight_init, dtype)

    def construct(self, x: Any) -> Any:
        weight = ops.squeeze(self.weight, 2)
        return ops.conv1d(x, weight, self.bias, self.stride, self.pad_mode, self.padding, self.dilation, self.group)


class Conv1dTranspose(_Text, layer(nn.Conv1dTranspose)):  # type: ignore[misc]
    """The transpose of `Conv1d`."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1, pad_mode: str = "same",
        padding: Any = 0, dilation: int = 1, group: int = 1, has_bias: bool = False, weight_init: Any = None,
        bias_init: Any = None, dtype: Any = float32,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, 0, dilation, group, has_bias, "zeros",
            bias_init, dtype,
        )  # fmt: skip
        _with_height(self, weight_init, dtype)

    def construct(self, x: Any) -> Any:
        weight = ops.squeeze(self.weight, 2)
        rest = self.stride, self._pairs, self._extra, self.group, self.dilation
        return ops.conv_transpose1d(x, weight, self.bias, *rest)


class Conv3dTranspose(_Text, layer(nn.Conv3dTranspose)):  # type: ignore[misc]
    """The transpose of `Conv3d`."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, pad_mode: str = "same",
        padding: Any = 0, dilation: Any = 1, group: int = 1, output_padding: Any = 0, has_bias: bool = False,
        weight_init: Any = None, bias_init: Any = None, data_format: str = "NCDHW", dtype: Any = float32,
    ) -> None:  # fmt: skip
        if data_format != "NCDHW":
            raise ValueError(f"For 'Conv3dTranspose', 'data_format' must be 'NCDHW', but got {data_format!r}.")
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, output_padding, dilation, group,
            has_bias, weight_init, bias_init, dtype,
        )  # fmt: skip
