"""Normalisation: an input less its mean, divided by its deviation, over the batch, a layer, groups or channels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from adjoint.core import context
from adjoint.core.dispatch import Value
from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import dtype_of, float32, is_half, shape_of
from adjoint.ops import transcendental as _t
from adjoint.ops.casting import in_single
from adjoint.ops.language import cast, reshape
from adjoint.ops.reduce import mean


def _moments(x: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """The mean, and the mean square distance from it: nothing cancels, however far from 0 the mean lies."""
    centre = mean(x, axes, keepdims=True)
    distance = x - centre
    return centre, mean(distance * distance, axes, keepdims=True)


def _standard(x: Any, centre: Any, variance: Any, eps: float) -> Any:
    return (x - centre) / _t.sqrt(variance + eps)


def _scaled(x: Any, weight: Any, bias: Any, shape: tuple[int, ...]) -> Any:
    """x times the weight plus the bias, each brought into `shape` first."""
    x = x if weight is None else x * reshape(weight, shape)
    return x if bias is None else x + reshape(bias, shape)


def _channel_shape(what: str, x: Any, **vectors: Any) -> tuple[int, ...]:
    """The shape in which a vector with an element for each channel (axis 1) meets the input."""
    shape = shape_of(x)
    if len(shape) < 2:
        raise ShapeError(f"{what}: an input (N, C, ...) is needed, not the shape {shape}{called_at()}")
    for name, vector in vectors.items():
        if vector is not None and shape_of(vector) != shape[1:2]:
            raise ShapeError(
                f"{what}: {name} must have an element for each of the {shape[1]} channels, not the shape "
                f"{shape_of(vector)}{called_at()}"
            )
    return (shape[1], *(1,) * (len(shape) - 2))


def layer_norm(
    input: Any, normalized_shape: int | Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """The input normalised over its last axes, which have `normalized_shape`; then times the weight, plus the bias.

    >>> from adjoint import ops, Tensor
    >>> print(ops.layer_norm(Tensor([[1.0, 3.0], [10.0, 30.0]]), 2, eps=0.0))
    [[-1.  1.]
     [-1.  1.]]
    """
    inner = tuple(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
    shape = shape_of(input)
    first = len(shape) - len(inner)
    wrong = [n for n, v in (("weight", weight), ("bias", bias)) if v is not None and shape_of(v) != inner]
    if not inner or first < 0 or shape[first:] != inner or wrong:
        what = f"the {wrong[0]}" if wrong else f"the input, of shape {shape},"
        raise ShapeError(f"layer_norm: {what} does not have the normalized_shape {inner} at its end{called_at()}")
    normal = partial(_layer_norm, inner=inner, eps=eps)
    fused, vectors = context.fused.get(), [v for v in (weight, bias) if v is not None]
    if (
        fused is not None
        and is_half(dtype_of(input))
        and len(vectors) == 2
        and all(isinstance(v, Value) for v in vectors)
    ):
        return fused("layer_norm", (inner, eps), normal, (input, *vectors))
    return normal(input, weight, bias)


@in_single
def _layer_norm(input: Any, weight: Any, bias: Any, inner: tuple[int, ...], eps: float) -> Any:
    axes = tuple(range(len(shape_of(input)) - len(inner), len(shape_of(input))))
    return _scaled(_standard(input, *_moments(input, axes), eps), weight, bias, inner)


@in_single
def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """An input (N, C, ...) normalised for each sample over groups of its channels; weight and bias are by channel.

    >>> from adjoint import ops, Tensor
    >>> print(ops.group_norm(Tensor([[1.0, 3.0, 10.0, 30.0]]), 2, eps=0.0))
    [[-1.  1. -1.  1.]]
    """
    across = _channel_shape("group_norm", input, weight=weight, bias=bias)
    n, channels, *space = shape_of(input)
    if num_groups < 1 or channels % num_groups:
        raise ArgumentError(f"group_norm: {channels} channels do not make {num_groups} equal groups{called_at()}")
    x = reshape(input, (n, num_groups, channels // num_groups, *space))
    x = _standard(x, *_moments(x, tuple(range(2, len(space) + 3))), eps)
    return _scaled(reshape(x, (n, channels, *space)), weight, bias, across)


@in_single
def instance_norm(input: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """An input (N, C, *space) normalised for each sample and channel over the axes in space.

    >>> from adjoint import ops, Tensor
    >>> print(ops.instance_norm(Tensor([[[1.0, 3.0], [10.0, 30.0]]]), eps=0.0))
    [[[-1.  1.]
      [-1.  1.]]]
    """
    across = _channel_shape("instance_norm", input, weight=weight, bias=bias)
    axes = tuple(range(2, len(shape_of(input))))
    if not axes:
        raise ShapeError(f"instance_norm: the shape {shape_of(input)} has no axes in space{called_at()}")
    return _scaled(_standard(input, *_moments(input, axes), eps), weight, bias, across)


def rms_norm(x: Any, gamma: Any, epsilon: float = 1e-6) -> Any:
    """x divided by the root of its mean square over the axes that `gamma` has, times gamma.

    >>> from adjoint import ops, Tensor
    >>> print(ops.rms_norm(Tensor([[3.0, 3.0], [-5.0, 5.0]]), Tensor([1.0, 2.0]), 0.0))
    [[ 1.  2.]
     [-1.  2.]]
    """
    inner, shape = shape_of(gamma), shape_of(x)
    first = len(shape) - len(inner)
    if not inner or first < 0 or shape[first:] != inner:
        raise ShapeError(f"rms_norm: the shape {shape} does not end in that of gamma, {inner}{called_at()}")

    @in_single
    def normalised(x: Any) -> Any:
        square = mean(x * x, tuple(range(first, len(shape))), keepdims=True)
        return x / _t.sqrt(square + epsilon) * gamma

    return normalised(x)


def batch_statistics(input: Any) -> tuple[Any, Any]:
    """The mean and the variance of each channel (axis 1) over all others; in float32 for half precision.

    A layer computes them once, normalises with them (`batch_norm` differentiates through them), and keeps
    `stop_gradient` of them in its moving averages.

    >>> from adjoint import ops, Tensor
    >>> centre, variance = ops.batch_statistics(Tensor([[1.0, 10.0], [3.0, 30.0]]))
    >>> print(centre, variance)
    [ 2. 20.] [  1. 100.]
    """
    _channel_shape("batch_statistics", input)
    shape = shape_of(input)
    wide = cast(input, float32) if is_half(dtype_of(input)) else input
    moments = _moments(wide, tuple(a for a in range(len(shape)) if a != 1))
    centre, variance = (reshape(m, shape[1:2]) for m in moments)
    return centre, variance


def batch_norm(
    input_x: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    training: bool = False, *, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """An input (N, C, ...) normalised by channel: with the given statistics, or in training with those of the batch.

    Nothing is written to: moving averages are the caller's, from `batch_statistics`.

    >>> from adjoint import ops, Tensor
    >>> print(ops.batch_norm(Tensor([[1.0, 10.0], [3.0, 30.0]]), training=True, eps=0.0))
    [[-1. -1.]
     [ 1.  1.]]
    """
    across = _channel_shape(
        "batch_norm", input_x, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    if training:
        running_mean, running_var = batch_statistics(input_x)
    elif running_mean is None or running_var is None:
        raise ArgumentError(
            f"batch_norm: outside of training running_mean and running_var are needed; or say training=True{called_at()}"
        )

    @in_single
    def normalised(x: Any) -> Any:
        centre, variance = (reshape(v, across) for v in (running_mean, running_var))
        return _scaled(_standard(x, centre, variance, eps), weight, bias, across)

    return normalised(input_x)
