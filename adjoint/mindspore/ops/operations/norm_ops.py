"""Primitives: normalisation and dropout."""

from __future__ import annotations

import math
from typing import Any

from adjoint import ops
from adjoint.core.parameter import Parameter
from adjoint.core.spec import dtype_of, shape_of
from adjoint.mindspore.ops.primitive import primitive
from adjoint.nn import layer_state

__all__ = [
    "BatchNorm", "Dropout", "Dropout2D", "Dropout3D", "L2Normalize", "LRN", "LayerNorm", "RmsNorm",
]  # fmt: skip


def _batch_norm(self: Any, input_x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
    """The normalised input and four vectors: two that MindSpore fills on other devices, and the batch's statistics."""
    if self.data_format == "NHWC":
        y, *rest = _first(self, ops.moveaxis(input_x, -1, 1), scale, bias, mean, variance)
        return ops.moveaxis(y, 1, -1), *rest
    return _first(self, input_x, scale, bias, mean, variance)


def _first(self: Any, x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
    zeros = ops.zeros_like(scale)
    if not self.is_training:
        mean, variance = ops.stop_gradient((mean, variance))
        return ops.batch_norm(x, mean, variance, scale, bias, eps=self.epsilon), zeros, zeros, zeros, zeros
    found = ops.batch_statistics(x)
    count = math.prod(shape_of(x)) // max(shape_of(x)[1], 1)
    if isinstance(mean, Parameter):
        layer_state.blend(mean, 1 - self.momentum, found[0])
    if isinstance(variance, Parameter):
        layer_state.blend(variance, 1 - self.momentum, found[1], count)
    y = ops.batch_norm(x, *found, scale, bias, eps=self.epsilon)
    return y, zeros, zeros, *ops.stop_gradient(found)


BatchNorm = primitive("BatchNorm", _batch_norm, is_training=False, epsilon=1e-5, momentum=0.1, data_format="NCHW")


def _layer_norm(self: Any, input_x: Any, gamma: Any, beta: Any) -> Any:
    """The normalised input, its means and its variances."""
    shape = shape_of(input_x)
    axes = tuple(range(self.begin_norm_axis % len(shape), len(shape)))
    centre = ops.mean(input_x, axes, keepdims=True)
    distance = input_x - centre
    variance = ops.mean(distance * distance, axes, keepdims=True)
    y = distance / ops.sqrt(variance + self.epsilon)
    return y * gamma + beta, ops.stop_gradient(centre), ops.stop_gradient(variance)


LayerNorm = primitive("LayerNorm", _layer_norm, begin_norm_axis=1, begin_params_axis=1, epsilon=1e-7)


def _rms_norm(self: Any, x: Any, gamma: Any) -> Any:
    axes = tuple(range(len(shape_of(x)) - len(shape_of(gamma)), len(shape_of(x))))
    inverse = 1.0 / ops.sqrt(ops.mean(x * x, axes, keepdims=True) + self.epsilon)
    return x * inverse * gamma, ops.stop_gradient(inverse)


RmsNorm = primitive("RmsNorm", _rms_norm, epsilon=1e-6)


def _l2_normalize(self: Any, input_x: Any) -> Any:
    squares = ops.sum(input_x * input_x, self.axis, keepdims=True)
    return input_x / ops.sqrt(ops.maximum(squares, self.epsilon))


L2Normalize = primitive("L2Normalize", _l2_normalize, axis=0, epsilon=1e-4)


def lrn(
    x: Any, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5,
    norm_region: str = "ACROSS_CHANNELS",
) -> Any:  # fmt: skip
    """x divided by a power of the sum of squares of its neighbours among the channels."""
    if norm_region != "ACROSS_CHANNELS":
        raise ValueError(f"For 'LRN', 'norm_region' must be 'ACROSS_CHANNELS', but got {norm_region!r}.")
    squares = ops.moveaxis(x * x, 1, -1)
    width = 2 * depth_radius + 1
    padded = ops.pad(squares, (depth_radius, depth_radius))
    flat = ops.reshape(padded, (-1, 1, shape_of(padded)[-1]))
    sums = ops.reshape(ops.avg_pool1d(flat, width, 1) * float(width), shape_of(squares))
    return x / ops.pow(bias + alpha * ops.moveaxis(sums, -1, 1), beta)


LRN = primitive(
    "LRN",
    lambda self, x: lrn(x, self.depth_radius, self.bias, self.alpha, self.beta, self.norm_region),
    depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, norm_region="ACROSS_CHANNELS",
)  # fmt: skip


# ---------------------------------------------------------------- dropout


def masked(x: Any, keep_prob: float, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The input with parts of it set to zero and the rest scaled, and the mask of what is left (in `shape`)."""
    if not 0 <= keep_prob <= 1:
        raise ValueError(f"For 'Dropout', 'keep_prob' must be between 0 and 1, but got {keep_prob}.")
    ones = ops.ones(shape, dtype_of(x))
    mask = ones if keep_prob == 1 else ops.cast(ops.less(ops.rand_like(ones), keep_prob), dtype_of(x))
    return (x * mask / keep_prob if keep_prob else x * mask), mask


def _dropout_channels(self: Any, x: Any) -> Any:
    shape = shape_of(x)
    y, mask = masked(x, self.keep_prob, (*shape[:2], *(1,) * (len(shape) - 2)))
    return y, ops.cast(ops.broadcast_to(mask, shape), "bool")


Dropout = primitive("Dropout", lambda self, x: masked(x, self.keep_prob, shape_of(x)), keep_prob=0.5, Seed0=0, Seed1=0)
Dropout2D = primitive("Dropout2D", _dropout_channels, keep_prob=0.5)
Dropout3D = primitive("Dropout3D", _dropout_channels, keep_prob=0.5)
