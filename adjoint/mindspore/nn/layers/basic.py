"""Layers of common use."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint import nn, ops
from adjoint.core.parameter import Parameter
from adjoint.core.spec import float32, shape_of
from adjoint.mindspore.nn.cell import Cell
from adjoint.mindspore.nn.engine_layers import layer
from adjoint.mindspore.nn.layers.activation import get_activation
from adjoint.nn import layer_state
from adjoint.nn.basic import weight_and_bias
from adjoint.nn.initializer import initializer

__all__ = [
    "BiDense", "ChannelShuffle", "ClipByNorm", "Dense", "Dropout", "Dropout2dExt", "DropoutExt",
     "Identity", "L1Regularizer", "LayerNormExt", "Linear", "MatrixDiag", "MatrixDiagPart",
    "MatrixSetDiag", "Norm", "OneHot", "Range", "Roll", "SyncBatchNorm", "TimeDistributed", "Tril",
    "Triu", "Unfold", "Upsample",
]  # fmt: skip


class Dense(layer(nn.Dense)):  # type: ignore[misc]
    """x weight^T + bias, then an activation, given by name or as a Cell.

    >>> Dense(3, 2)
    Dense(input_channels=3, output_channels=2, has_bias=True)
    """

    def __init__(
        self, in_channels: int, out_channels: int, weight_init: Any = None, bias_init: Any = None,
        has_bias: bool = True, activation: Any = None, dtype: Any = float32,
    ) -> None:  # fmt: skip
        if not isinstance(has_bias, bool):
            raise TypeError(f"For 'Dense', the 'has_bias' must be a bool, but got {type(has_bias).__name__}.")
        if isinstance(activation, str):
            activation = get_activation(activation, "Dense")
        super().__init__(in_channels, out_channels, weight_init, bias_init, has_bias, activation, dtype)
        self.activation_flag = self.activation is not None

    def extend_repr(self) -> str:
        """The sizes, as they are printed."""
        text = f"input_channels={self.in_channels}, output_channels={self.out_channels}"
        text = f"{text}, has_bias=True" if self.has_bias else text
        return text if self.activation is None else f"{text}, activation={self.activation}"


class Identity(Cell):
    """The input itself, whatever arguments the layer is made with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def construct(self, input: Any) -> Any:
        return input


class Dropout(layer(nn.Dropout)):  # type: ignore[misc]
    """In training, elements are set to 0 with probability p and the others scaled."""

    def __init__(self, keep_prob: float = 0.5, p: float | None = None, dtype: Any = float32) -> None:
        super().__init__(keep_prob if p is None else None, p)  # p goes before keep_prob, as in MindSpore


class DropoutExt(layer(nn.Dropout)):  # type: ignore[misc]
    """In training, elements are set to 0 with probability p and the others scaled."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        if inplace:
            raise NotImplementedError("nn.DropoutExt(inplace=True) is not provided by adjoint.mindspore")
        Cell.__init__(self)
        self.p = p

    def construct(self, input: Any) -> Any:
        if not self.training or self.p == 0:
            return input
        return input * (layer_state.keep_mask(input, self.p, shape_of(input)) if self.p < 1 else 0.0)


class Dropout2dExt(layer(nn.Dropout2d)):  # type: ignore[misc]
    """In training, whole channels of (N, C, H, W) are set to 0 with probability p and the others scaled."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        if inplace:
            raise NotImplementedError("nn.Dropout2dExt(inplace=True) is not provided by adjoint.mindspore")
        super().__init__(p)


class Linear(Cell):
    """x weight^T + bias.

    >>> import adjoint.mindspore as mindspore
    >>> Linear(3, 2)(mindspore.ops.ones((4, 3))).shape
    (4, 2)
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, weight_init: Any = None, bias_init: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.in_features, self.out_features, self.has_bias = in_features, out_features, bias
        shape, kind = (out_features, in_features), float32 if dtype is None else dtype
        self.weight, self.bias = weight_and_bias(shape, out_features, weight_init, bias_init, bias, kind)

    def construct(self, x: Any) -> Any:
        y = ops.matmul(x, ops.transpose(self.weight))
        return y if self.bias is None else y + self.bias

    def extend_repr(self) -> str:
        """The sizes, as they are printed."""
        return f"input_features={self.in_features}, output_features={self.out_features}, has_bias={self.has_bias}"


class BiDense(Cell):
    """x1 weight x2 + bias for each output, with weights (out, in1, in2)."""

    def __init__(
        self, in1_channels: int, in2_channels: int, out_channels: int, weight_init: Any = None, bias_init: Any = None,
        has_bias: bool = True, dtype: Any = float32,
    ) -> None:  # fmt: skip
        super().__init__()
        self.in1_channels, self.in2_channels, self.out_channels = in1_channels, in2_channels, out_channels
        self.has_bias, bound = has_bias, 1 / math.sqrt(in1_channels)
        start = nn.initializer.Uniform(bound)
        shape = (out_channels, in1_channels, in2_channels)
        self.weight = Parameter(initializer(start if weight_init is None else weight_init, shape, dtype), name="weight")
        self.bias = None
        if has_bias:
            first = start if bias_init is None else bias_init
            self.bias = Parameter(initializer(first, (out_channels,), dtype), name="bias")

    def construct(self, input1: Any, input2: Any) -> Any:
        from adjoint.mindspore.ops.nn_functions import bidense

        return bidense(input1, input2, self.weight, self.bias)


class ChannelShuffle(Cell):
    """The channels of (N, C, *space) in groups, taken in turn from each."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def construct(self, x: Any) -> Any:
        from adjoint.mindspore.ops.nn_functions import channel_shuffle

        return channel_shuffle(x, self.groups)


class ClipByNorm(Cell):
    """The input scaled down so that its 2-norm is at most `clip_norm`."""

    def __init__(self, axis: Any = None) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Any, clip_norm: Any) -> Any:
        size = ops.sqrt(ops.sum(x * x, self.axis, keepdims=True))
        return x * clip_norm / ops.maximum(size, clip_norm)


class L1Regularizer(Cell):
    """`scale` times the sum of absolute values."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        if not 0 < scale < math.inf:
            raise ValueError(f"For 'L1Regularizer', the 'scale' must be greater than 0, but got {scale}.")
        self.scale = float(scale)

    def construct(self, weights: Any) -> Any:
        return self.scale * ops.sum(ops.abs(weights))


class Norm(Cell):
    """The 2-norm over axes."""

    def __init__(self, axis: Any = (), keep_dims: bool = False) -> None:
        super().__init__()
        self.axis, self.keep_dims = axis, keep_dims

    def construct(self, x: Any) -> Any:
        return ops.sqrt(ops.sum(x * x, None if self.axis == () else self.axis, keepdims=self.keep_dims))

    def extend_repr(self) -> str:
        """The axes, as they are printed."""
        return f"axis={self.axis}, keep_dims={self.keep_dims}"


class OneHot(Cell):
    """`on_value` at the place of each index along a new axis, `off_value` elsewhere."""

    def __init__(
        self, axis: int = -1, depth: int = 1, on_value: float = 1.0, off_value: float = 0.0, dtype: Any = float32
    ) -> None:
        super().__init__()
        self.axis, self.depth, self.dtype = axis, depth, np.dtype(dtype)
        self.on_value, self.off_value = on_value, off_value

    def construct(self, indices: Any) -> Any:
        return ops.cast(ops.one_hot(indices, self.depth, self.on_value, self.off_value, self.axis), self.dtype)


class Range(Cell):
    """The numbers from `start` to below `limit` in steps of `delta`."""

    def __init__(self, start: Any, limit: Any = None, delta: Any = 1) -> None:
        super().__init__()
        if delta == 0:
            raise ValueError("For 'Range', the 'delta' can not be zero.")
        start, limit = (0, start) if limit is None else (start, limit)
        values = np.arange(start, limit, delta)
        self.result = ops.array(values.astype(np.float32 if values.dtype.kind == "f" else np.int32))

    def construct(self) -> Any:
        return self.result


class Roll(Cell):
    """Elements moved along axes, and round at their ends."""

    def __init__(self, shift: Any, axis: Any) -> None:
        super().__init__()
        self.shift, self.axis = shift, axis

    def construct(self, input_x: Any) -> Any:
        return ops.roll(input_x, self.shift, self.axis)


class Tril(Cell):
    """The lower triangle of matrices."""

    def construct(self, x: Any, k: int = 0) -> Any:
        return ops.tril(x, k)


class Triu(Cell):
    """The upper triangle of matrices."""

    def construct(self, x: Any, k: int = 0) -> Any:
        return ops.triu(x, k)


class MatrixDiag(Cell):
    """Diagonal matrices of vectors."""

    def construct(self, input_x: Any) -> Any:
        return ops.diag_embed(input_x)


class MatrixDiagPart(Cell):
    """The diagonals of matrices."""

    def construct(self, input_x: Any) -> Any:
        return ops.diagonal(input_x, 0, -2, -1)


class MatrixSetDiag(Cell):
    """Matrices with other diagonals."""

    def construct(self, input_x: Any, diagonal: Any) -> Any:
        rows, columns = shape_of(input_x)[-2:]
        small = ops.diag_embed(diagonal)
        n = min(rows, columns)
        widths = [(0, 0)] * (small.ndim - 2) + [(0, rows - n), (0, columns - n)]
        return ops.where(np.eye(rows, columns, dtype=bool), ops.pad_widths(small, widths), input_x)


class Unfold(Cell):
    """Windows of images (N, C, H, W) laid along the channels: (N, KH * KW * C, rows, columns)."""

    def __init__(self, ksizes: Any, strides: Any, rates: Any, padding: str = "valid") -> None:
        super().__init__()
        for name, sizes in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
            if len(sizes) != 4 or sizes[0] != 1 or sizes[3] != 1:
                raise ValueError(f"For 'Unfold' the format of '{name}' must be [1, row, col, 1], but got {sizes}.")
        self.window, self.stride, self.rate = tuple(ksizes[1:3]), tuple(strides[1:3]), tuple(rates[1:3])
        self.padding = padding

    def construct(self, input_x: Any) -> Any:
        from adjoint.ops.convolution import same_padding

        n, c, *space = shape_of(input_x)
        pairs: Any = ((0, 0), (0, 0))
        if self.padding.lower() == "same":
            pairs = same_padding(space, self.window, self.stride, self.rate)
        size = [d * (k - 1) + 1 for k, d in zip(self.window, self.rate, strict=True)]
        axes = zip(space, pairs, size, self.stride, strict=True)
        count = [(m + sum(pair) - k) // s + 1 for m, pair, k, s in axes]
        columns = ops.unfold(input_x, self.window, self.rate, pairs, self.stride)
        parts = ops.reshape(columns, (n, c, math.prod(self.window), *count))
        return ops.reshape(ops.swapaxes(parts, 1, 2), (n, c * math.prod(self.window), *count))


class Upsample(Cell):
    """An input (N, C, *space) resized."""

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.settings = size, scale_factor, mode, align_corners, recompute_scale_factor

    def construct(self, x: Any) -> Any:
        from adjoint.mindspore.ops.nn_functions import interpolate

        return interpolate(x, *self.settings)


class TimeDistributed(Cell):
    """A layer on each time of an input: the axis of time is put next to the batch, or looped over."""

    def __init__(self, layer: Any, time_axis: int, reshape_with_axis: int | None = None) -> None:
        super().__init__()
        self.layer, self.time_axis, self.reshape_with_axis = layer, time_axis, reshape_with_axis

    def construct(self, inputs: Any) -> Any:
        time, shape = self.time_axis % inputs.ndim, shape_of(inputs)
        if self.reshape_with_axis is not None:
            beside = self.reshape_with_axis % inputs.ndim
            if abs(time - beside) != 1:
                raise ValueError("For 'TimeDistributed', the 'time_axis' must be next to the 'reshape_with_axis'.")
            first = min(time, beside)
            merged = ops.reshape(inputs, (*shape[:first], shape[first] * shape[first + 1], *shape[first + 2 :]))
            y = self.layer(merged)
            return ops.reshape(y, (*shape_of(y)[:first], *shape[first : first + 2], *shape_of(y)[first + 1 :]))
        return ops.stack([self.layer(ops.take(inputs, t, time)) for t in range(shape[time])], time)


class LayerNormExt(Cell):
    """Normalisation over the last axes, which have `normalized_shape`."""

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        inner = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        kind = float32 if dtype is None else dtype
        self.normalized_shape, self.eps, self.elementwise_affine = inner, eps, elementwise_affine
        self.weight = Parameter(initializer("ones", inner, kind), name="weight", requires_grad=elementwise_affine)
        self.bias = None
        if bias:
            self.bias = Parameter(initializer("zeros", inner, kind), name="bias", requires_grad=elementwise_affine)

    def construct(self, input: Any) -> Any:
        return ops.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extend_repr(self) -> str:
        """The settings, as they are printed."""
        return f"normalized_shape={self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class SyncBatchNorm(layer(nn.BatchNorm2d)):  # type: ignore[misc]
    """Batch normalisation over all devices: here there is one."""

    axes = (2, 3, 4, 5)

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.9, affine: bool = True,
        gamma_init: Any = "ones", beta_init: Any = "zeros", moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones", use_batch_statistics: bool | None = None, process_groups: Any = None,
        dtype: Any = float32,
    ) -> None:  # fmt: skip
        super().__init__(
            num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init, moving_var_init,
            use_batch_statistics, dtype=dtype,
        )  # fmt: skip
