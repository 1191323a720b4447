"""Pooling as Cells: of equal largest elements the first of a window has the whole derivative."""

from __future__ import annotations

from typing import Any

from adjoint import nn, ops
from adjoint.mindspore.nn.cell import Cell
from adjoint.mindspore.nn.engine_layers import layer
from adjoint.mindspore.ops import nn_functions as F
from adjoint.nn.basic import with_channels_first

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool1dExt", "AvgPool2d", "AvgPool2dExt",
    "AvgPool3d", "AvgPool3dExt", "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d", "LPPool2d", "MaxPool1d",
    "MaxPool2d", "MaxPool2dExt", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]  # fmt: skip


class _Text:
    """How pools are printed."""

    def extend_repr(self: Any) -> str:
        """The settings."""
        window, stride = (n[0] if len(set(n)) == 1 else n for n in (self.kernel_size, self.stride))
        return f"kernel_size={window}, stride={stride}, pad_mode={self.pad_mode.upper()}"


class _FirstLargest(_Text):
    """Largest elements of windows, with the derivative at the first of equal ones."""

    rank: int

    def construct(self: Any, x: Any) -> Any:
        return with_channels_first(self._first, x, self.rank) if self.channels_last else self._first(x)

    def _first(self: Any, x: Any) -> Any:
        pairs = self._pairs(x, self.dilation)
        y, found = F.max_pool(self.rank, x, self.kernel_size, self.stride, pairs, self.dilation, self.ceil_mode)
        return (y, found) if self.return_indices else y


class MaxPool1d(_FirstLargest, layer(nn.MaxPool1d)):  # type: ignore[misc]
    """The largest element of each window of (N, C, L)."""


class MaxPool2d(_FirstLargest, layer(nn.MaxPool2d)):  # type: ignore[misc]
    """The largest element of each window of (N, C, H, W).

    >>> import adjoint.mindspore as mindspore
    >>> print(mindspore.grad(MaxPool2d(2))(mindspore.ops.ones((1, 1, 2, 2))))
    [[[[1. 0.]
       [0. 0.]]]]
    """


class MaxPool3d(_FirstLargest, layer(nn.MaxPool3d)):  # type: ignore[misc]
    """The largest element of each window of (N, C, D, H, W)."""


class MaxPool2dExt(Cell):
    """The largest element of each window of (N, C, H, W); the stride is the window's size if not given."""

    def __init__(
        self, kernel_size: Any = 1, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        return_indices: bool = False, ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.settings = kernel_size, stride, padding, dilation, return_indices, ceil_mode

    def construct(self, input: Any) -> Any:
        return F.max_pool2d(input, *self.settings)


class AvgPool1d(_Text, layer(nn.AvgPool1d)):  # type: ignore[misc]
    """The average of each window of (N, C, L)."""


class AvgPool2d(_Text, layer(nn.AvgPool2d)):  # type: ignore[misc]
    """The average of each window of (N, C, H, W)."""


class AvgPool3d(_Text, layer(nn.AvgPool3d)):  # type: ignore[misc]
    """The average of each window of (N, C, D, H, W); what "same" adds is counted."""

    def _pool(self, x: Any) -> Any:
        pairs, divisor = self._pairs(x, (1, 1, 1)), self.divisor_override or 0
        settings = self.kernel_size, self.stride, pairs, self.ceil_mode, self.count_include_pad, divisor
        return ops.avg_pool3d(x, *settings)


class _MeanExt(Cell):
    """Averages of windows; the stride is the window's size if not given."""

    pool: Any

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        divisor = () if divisor_override is None else (divisor_override,)
        self.settings = kernel_size, stride, padding, ceil_mode, count_include_pad, *divisor

    def construct(self, input: Any) -> Any:
        return type(self).pool(input, *self.settings)


class AvgPool1dExt(_MeanExt):
    """Averages of windows of (N, C, L)."""

    pool = staticmethod(ops.avg_pool1d)


class AvgPool2dExt(_MeanExt):
    """Averages of windows of (N, C, H, W)."""

    pool = staticmethod(ops.avg_pool2d)


class AvgPool3dExt(_MeanExt):
    """Averages of windows of (N, C, D, H, W)."""

    pool = staticmethod(ops.avg_pool3d)


class AdaptiveAvgPool1d(layer(nn.AdaptiveAvgPool1d)):  # type: ignore[misc]
    """The averages of equal pieces of the last axis."""

    def construct(self, input: Any) -> Any:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveMaxPool1d(layer(nn.AdaptiveMaxPool1d)):  # type: ignore[misc]
    """The largest elements of equal pieces of the last axis."""

    def construct(self, x: Any) -> Any:
        return F.adaptive_max_pool1d(x, self.output_size)


class _AdaptiveLargest(Cell):
    pool: Any

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def construct(self, input: Any) -> Any:
        return type(self).pool(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveLargest):
    """The largest elements of nearly equal pieces of the last two axes, and with `return_indices` where they stand."""

    pool = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveLargest):
    """The largest elements of nearly equal pieces of the last three axes."""

    pool = staticmethod(F.adaptive_max_pool3d)


class _FractionalLargest(Cell):
    pool: Any

    def __init__(
        self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.settings = kernel_size, output_size, output_ratio, return_indices
        self._random_samples = _random_samples

    def construct(self, input: Any) -> Any:
        return type(self).pool(input, *self.settings, self._random_samples)


class FractionalMaxPool2d(_FractionalLargest):
    """The largest element of windows at random places of (N, C, H, W)."""

    pool = staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalLargest):
    """The largest element of windows at random places of (N, C, D, H, W)."""

    pool = staticmethod(F.fractional_max_pool3d)


class _PowerMean(Cell):
    pool: Any

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.settings = norm_type, kernel_size, stride, ceil_mode

    def construct(self, x: Any) -> Any:
        return type(self).pool(x, *self.settings)


class LPPool1d(_PowerMean):
    """The root of the sum of powers of each window of the last axis."""

    pool = staticmethod(F.lp_pool1d)


class LPPool2d(_PowerMean):
    """The root of the sum of powers of each window of the last two axes."""

    pool = staticmethod(F.lp_pool2d)


class _Unpool(Cell):
    pool: Any

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.settings = kernel_size, stride, padding

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        return type(self).pool(x, indices, *self.settings, output_size)


class MaxUnpool1d(_Unpool):
    """Elements put back where they stood, in zeros (N, C, L)."""

    pool = staticmethod(F.max_unpool1d)


class MaxUnpool2d(_Unpool):
    """Elements put back where they stood, in zeros (N, C, H, W)."""

    pool = staticmethod(F.max_unpool2d)


class MaxUnpool3d(_Unpool):
    """Elements put back where they stood, in zeros (N, C, D, H, W)."""

    pool = staticmethod(F.max_unpool3d)
