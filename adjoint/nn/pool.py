"""Pooling over windows, and to a given size, of (N, C, *space) or of a single sample (C, *space)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint import ops
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import shape_of
from adjoint.nn.basic import channels_last, with_channels_first
from adjoint.nn.cell import Cell
from adjoint.ops.windows import Sizes, pairs_of, sizes_of


class _Pool(Cell):
    """What layers with windows share."""

    rank: int
    channels_last = False

    def _set(self, kernel_size: Sizes, stride: Sizes, pad_mode: str, padding: Any, ceil_mode: bool) -> None:
        what = type(self).__name__
        if pad_mode.lower() not in ("same", "valid", "pad"):
            raise ArgumentError(f"{what}: pad_mode must be 'same', 'valid' or 'pad', not {pad_mode!r}{called_at()}")
        self.pad_mode = pad_mode.lower()
        self.kernel_size = sizes_of(what, "kernel_size", kernel_size, self.rank)
        self.stride = sizes_of(what, "stride", stride, self.rank)
        self.padding, self.ceil_mode = pairs_of(what, padding, self.rank), ceil_mode
        if self.pad_mode != "pad" and (ceil_mode or any(map(any, self.padding))):
            raise ArgumentError(f"{what}: padding and ceil_mode need pad_mode='pad', not {pad_mode!r}{called_at()}")

    def construct(self, x: Any) -> Any:
        return with_channels_first(self._pool, x, self.rank) if self.channels_last else self._pool(x)

    def _pool(self, x: Any) -> Any:
        raise NotImplementedError

    def _pairs(self, x: Any, dilation: Sequence[int]) -> Any:
        """The padding at both ends of each axis in space."""
        if self.pad_mode != "same":
            return self.padding
        axes = zip(shape_of(x)[-self.rank :], self.kernel_size, self.stride, dilation, strict=True)
        totals = [max(-(-n // s) * s - s + d * (k - 1) + 1 - n, 0) for n, k, s, d in axes]
        return tuple((t // 2, t - t // 2) for t in totals)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}"


class _MaxPool(_Pool):
    def __init__(
        self, kernel_size: Sizes = 1, stride: Sizes = 1, pad_mode: str = "valid", padding: Any = 0,
        dilation: Sizes = 1, return_indices: bool = False, ceil_mode: bool = False, data_format: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.channels_last = channels_last(type(self).__name__, data_format, self.rank)
        self._set(kernel_size, stride, pad_mode, padding, ceil_mode)
        self.dilation = sizes_of(type(self).__name__, "dilation", dilation, self.rank)
        self.return_indices = return_indices

    def _pool(self, x: Any) -> Any:
        pool = (ops.max_pool1d, ops.max_pool2d, ops.max_pool3d)[self.rank - 1]
        pairs = self._pairs(x, self.dilation)
        return pool(x, self.kernel_size, self.stride, pairs, self.dilation, self.return_indices, self.ceil_mode)


class MaxPool1d(_MaxPool):
    """The largest element of each window of (N, C, L); see `MaxPool2d`.

    >>> import adjoint as ad
    >>> print(ad.nn.MaxPool1d(2, 2)(ad.Tensor([[[1.0, 5.0, 2.0, 3.0]]])))
    [[[5. 3.]]]
    """

    rank = 1


class MaxPool2d(_MaxPool):
    """The largest element of each window of (N, C, H, W).

    `pad_mode` is "valid", "same" (as many windows as the input has strides) or "pad": then `padding` and `ceil_mode` say
    more. With `return_indices`, also where in the plane each largest element stands. `data_format` "NHWC" has the channels
    last.

    >>> import adjoint as ad
    >>> ad.nn.MaxPool2d(3, 2, pad_mode="same")(ad.ops.ones((1, 2, 5, 7))).shape
    (1, 2, 3, 4)
    """

    rank = 2


class MaxPool3d(_MaxPool):
    """The largest element of each window of (N, C, D, H, W); see `MaxPool2d`.

    >>> import adjoint as ad
    >>> ad.nn.MaxPool3d(2, 2)(ad.ops.ones((1, 2, 4, 4, 6))).shape
    (1, 2, 2, 2, 3)
    """

    rank = 3


class _AvgPool(_Pool):
    divisor_override: int | None = None

    def __init__(
        self, kernel_size: Sizes = 1, stride: Sizes = 1, pad_mode: str = "valid", padding: Any = 0,
        ceil_mode: bool = False, count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self._set(kernel_size, stride, pad_mode, padding, ceil_mode)
        self.count_include_pad = count_include_pad

    def _pool(self, x: Any) -> Any:
        pool = (ops.avg_pool1d, ops.avg_pool2d, ops.avg_pool3d)[self.rank - 1]
        pairs = self._pairs(x, (1,) * self.rank)
        include = self.count_include_pad and self.pad_mode == "pad"  # what "same" adds is never counted
        divisor = (self.divisor_override,) if self.divisor_override else ()
        return pool(x, self.kernel_size, self.stride, pairs, self.ceil_mode, include, *divisor)


class AvgPool1d(_AvgPool):
    """The average of each window of (N, C, L); see `AvgPool2d`.

    >>> import adjoint as ad
    >>> print(ad.nn.AvgPool1d(2, 2)(ad.Tensor([[[1.0, 5.0, 2.0, 4.0]]])))
    [[[3. 3.]]]
    """

    rank = 1


class AvgPool2d(_AvgPool):
    """The average of each window of (N, C, H, W); `pad_mode` as for `MaxPool2d`.

    `count_include_pad` says whether elements of `padding` count; `divisor_override` divides instead of the count.

    >>> import adjoint as ad
    >>> print(ad.nn.AvgPool2d(2)(ad.Tensor([[[[1.0, 2.0], [4.0, 3.0]]]])))
    [[[[2.5]]]]
    """

    rank = 2

    def __init__(
        self, kernel_size: Sizes = 1, stride: Sizes = 1, pad_mode: str = "valid", padding: Any = 0,
        ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
        data_format: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad)
        self.channels_last = channels_last(type(self).__name__, data_format, self.rank)
        self.divisor_override = divisor_override


class AvgPool3d(AvgPool2d):
    """The average of each window of (N, C, D, H, W); see `AvgPool2d`.

    >>> import adjoint as ad
    >>> ad.nn.AvgPool3d(2, 2)(ad.ops.ones((1, 2, 4, 4, 6))).shape
    (1, 2, 2, 2, 3)
    """

    rank = 3


class _Adaptive(Cell):
    """Pooling of each axis in space to a given size."""

    pool: Any

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def construct(self, x: Any) -> Any:
        return type(self).pool(x, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    """The averages of `output_size` nearly equal pieces of the last axis.

    >>> import adjoint as ad
    >>> print(ad.nn.AdaptiveAvgPool1d(2)(ad.Tensor([[[1.0, 2.0, 6.0]]])))
    [[[1.5 4. ]]]
    """

    pool = staticmethod(ops.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_Adaptive):
    """The averages of nearly equal pieces of the last two axes; None keeps an axis.

    >>> import adjoint as ad
    >>> ad.nn.AdaptiveAvgPool2d((2, None))(ad.ops.ones((1, 3, 7, 5))).shape
    (1, 3, 2, 5)
    """

    pool = staticmethod(ops.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_Adaptive):
    """The averages of nearly equal pieces of the last three axes.

    >>> import adjoint as ad
    >>> ad.nn.AdaptiveAvgPool3d(2)(ad.ops.ones((1, 3, 4, 4, 4))).shape
    (1, 3, 2, 2, 2)
    """

    pool = staticmethod(ops.adaptive_avg_pool3d)


class AdaptiveMaxPool1d(_Adaptive):
    """The largest elements of `output_size` nearly equal pieces of the last axis.

    >>> import adjoint as ad
    >>> print(ad.nn.AdaptiveMaxPool1d(2)(ad.Tensor([[[1.0, 2.0, 6.0]]])))
    [[[2. 6.]]]
    """

    pool = staticmethod(ops.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_Adaptive):
    """The largest elements of nearly equal pieces of the last two axes.

    >>> import adjoint as ad
    >>> ad.nn.AdaptiveMaxPool2d(2)(ad.ops.ones((1, 3, 7, 5))).shape
    (1, 3, 2, 2)
    """

    pool = staticmethod(ops.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_Adaptive):
    """The largest elements of nearly equal pieces of the last three axes.

    >>> import adjoint as ad
    >>> ad.nn.AdaptiveMaxPool3d((1, 2, None))(ad.ops.ones((1, 3, 4, 4, 4))).shape
    (1, 3, 1, 2, 4)
    """

    pool = staticmethod(ops.adaptive_max_pool3d)
