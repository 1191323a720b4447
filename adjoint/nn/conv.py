"""Convolutions and their transposes, in the layout (N, C, *space), or (N, *space, C) where `data_format` says so."""

from __future__ import annotations

from typing import Any

from adjoint import ops
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import float32
from adjoint.nn.basic import channels_last, positive, weight_and_bias, with_channels_first
from adjoint.nn.cell import Cell
from adjoint.ops.windows import Sizes, named_padding, pairs_of, sizes_of


class _Conv(Cell):
    """What convolutions share: their arguments, checked, and their Parameters."""

    rank: int
    transposed = False
    channels_last = False

    def _set(
        self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes, pad_mode: str | None, padding: Any,
        dilation: Sizes, group: int, has_bias: bool, weight_init: Any, bias_init: Any, dtype: Any,
    ) -> None:  # fmt: skip
        what = type(self).__name__
        positive(what, in_channels=in_channels, out_channels=out_channels, group=group)
        if in_channels % group or out_channels % group:
            raise ArgumentError(
                f"{what}: {in_channels} and {out_channels} channels do not make {group} equal groups{called_at()}"
            )
        pad_mode, padding = named_padding(what, pad_mode, padding, None)
        if pad_mode is None:  # padding alone says what is meant
            pad_mode = "pad" if any(map(any, pairs_of(what, padding, self.rank))) else "same"
        if pad_mode not in ("same", "valid", "pad"):
            raise ArgumentError(f"{what}: pad_mode must be 'same', 'valid' or 'pad', not {pad_mode!r}{called_at()}")
        if pad_mode != "pad" and any(map(any, pairs_of(what, padding, self.rank))):
            raise ArgumentError(f"{what}: padding={padding!r} needs pad_mode='pad', not {pad_mode!r}{called_at()}")
        self.in_channels, self.out_channels, self.pad_mode, self.padding = in_channels, out_channels, pad_mode, padding
        self.kernel_size = sizes_of(what, "kernel_size", kernel_size, self.rank)
        self.stride = sizes_of(what, "stride", stride, self.rank)
        self.dilation = sizes_of(what, "dilation", dilation, self.rank)
        self.group, self.has_bias = group, has_bias
        channels = (in_channels, out_channels // group) if self.transposed else (out_channels, in_channels // group)
        shape = (*channels, *self.kernel_size)
        if self.channels_last:
            shape = (shape[0], *shape[2:], shape[1])
        self.weight, self.bias = weight_and_bias(shape, out_channels, weight_init, bias_init, has_bias, dtype)

    def extra_repr(self) -> str:
        padding = f", padding={self.padding}" if self.pad_mode == "pad" else ""
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"pad_mode={self.pad_mode}{padding}, dilation={self.dilation}, group={self.group}, has_bias={self.has_bias}"
        )


class _Forward(_Conv):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, pad_mode: str | None = None,
        padding: Any = 0, dilation: Sizes = 1, group: int = 1, has_bias: bool = False, weight_init: Any = None,
        bias_init: Any = None, data_format: str | None = None, dtype: Any = float32,
    ) -> None:  # fmt: skip
        super().__init__()
        self.channels_last = channels_last(type(self).__name__, data_format, self.rank)
        self._set(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init,
            bias_init, dtype,
        )  # fmt: skip

    def construct(self, x: Any) -> Any:
        return with_channels_first(self._conv, x, self.rank) if self.channels_last else self._conv(x)

    def _conv(self, x: Any) -> Any:
        conv = (ops.conv1d, ops.conv2d, ops.conv3d)[self.rank - 1]
        weight = ops.moveaxis(self.weight, -1, 1) if self.channels_last else self.weight
        return conv(x, weight, self.bias, self.stride, self.pad_mode, self.padding, self.dilation, self.group)


class Conv1d(_Forward):
    """Convolution of (N, C, L) with filters (O, C / group, K), which are trained; see `Conv2d`.

    >>> import adjoint as ad
    >>> ad.nn.Conv1d(3, 8, 4, stride=2)(ad.ops.ones((1, 3, 10))).shape
    (1, 8, 5)
    """

    rank = 1


class Conv2d(_Forward):
    """Convolution of (N, C, H, W) with filters (O, C / group, KH, KW), which are trained.

    `pad_mode` is "same" (as many windows as the input has strides), "valid" (no padding) or "pad": then `padding` says how
    much on each side, one number, one for each axis, or (top, bottom, left, right). By default it is "pad" where `padding` is given,
    else "same". With `data_format` "NHWC" the channels of
    input, filters and result are their last axis.

    >>> import adjoint as ad
    >>> layer = ad.nn.Conv2d(3, 8, 3, has_bias=True)
    >>> layer(ad.ops.ones((1, 3, 5, 6))).shape, layer.weight.shape
    ((1, 8, 5, 6), (8, 3, 3, 3))
    """

    rank = 2


class Conv3d(_Forward):
    """Convolution of (N, C, D, H, W) with filters (O, C / group, KD, KH, KW), which are trained; see `Conv2d`.

    >>> import adjoint as ad
    >>> ad.nn.Conv3d(1, 2, 3, pad_mode="valid")(ad.ops.ones((1, 1, 4, 5, 6))).shape
    (1, 2, 2, 3, 4)
    """

    rank = 3


class _Backward(_Conv):
    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, pad_mode: str | None = None,
        padding: Any = 0, output_padding: Sizes = 0, dilation: Sizes = 1, group: int = 1, has_bias: bool = False,
        weight_init: Any = None, bias_init: Any = None, dtype: Any = float32,
    ) -> None:  # fmt: skip
        super().__init__()
        self._set(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init,
            bias_init, dtype,
        )  # fmt: skip
        what = type(self).__name__
        self.output_padding = sizes_of(what, "output_padding", output_padding, self.rank, 0)
        if pad_mode != "pad" and any(self.output_padding):
            raise ArgumentError(f"{what}: output_padding needs pad_mode='pad', not {pad_mode!r}{called_at()}")
        self._pairs, self._extra = self._padding(what)

    def _padding(self, what: str) -> tuple[Any, Any]:
        """What is cut off the result, and what is added to its end."""
        if self.pad_mode == "pad":
            return pairs_of(what, self.padding, self.rank), self.output_padding
        sizes = zip(self.kernel_size, self.stride, self.dilation, strict=True)
        over = [d * (k - 1) + 1 - s for k, s, d in sizes]  # how far windows reach into the next stride
        extra = tuple(max(-n, 0) for n in over)
        if self.pad_mode == "valid":
            return ((0, 0),) * self.rank, extra
        return tuple((max(n, 0) // 2, max(n, 0) - max(n, 0) // 2) for n in over), extra

    def construct(self, x: Any) -> Any:
        conv = (ops.conv_transpose1d, ops.conv_transpose2d, ops.conv_transpose3d)[self.rank - 1]
        return conv(x, self.weight, self.bias, self.stride, self._pairs, self._extra, self.group, self.dilation)


class Conv1dTranspose(_Backward):
    """The transpose of `Conv1d`, with filters (C, O / group, K); see `Conv2dTranspose`.

    >>> import adjoint as ad
    >>> ad.nn.Conv1dTranspose(3, 8, 4, stride=2)(ad.ops.ones((1, 3, 5))).shape
    (1, 8, 10)
    """

    rank = 1


class Conv2dTranspose(_Backward):
    """The transpose of `Conv2d`, with filters (C, O / group, KH, KW): each axis in space grows by the stride.

    With `pad_mode` "same" to exactly stride times its size, with "valid" to all that windows reach, with "pad" to that less
    `padding` at both ends, plus `output_padding` at the end.

    >>> import adjoint as ad
    >>> layer = ad.nn.Conv2dTranspose(3, 8, 3, stride=2)
    >>> layer(ad.ops.ones((1, 3, 5, 6))).shape, layer.weight.shape
    ((1, 8, 10, 12), (3, 8, 3, 3))
    """

    rank = 2


class Conv3dTranspose(_Backward):
    """The transpose of `Conv3d`, with filters (C, O / group, KD, KH, KW); see `Conv2dTranspose`.

    >>> import adjoint as ad
    >>> ad.nn.Conv3dTranspose(1, 2, 2, stride=2, pad_mode="valid")(ad.ops.ones((1, 1, 2, 3, 4))).shape
    (1, 2, 4, 6, 8)
    """

    rank = 3
