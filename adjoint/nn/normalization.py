"""Normalisation layers: gamma times the normalised input, plus beta."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from adjoint import ops
from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.parameter import Parameter
from adjoint.core.spec import float32, shape_of
from adjoint.nn import layer_state
from adjoint.nn.basic import channels_last, positive, with_channels_first
from adjoint.nn.cell import Cell
from adjoint.nn.initializer import initializer


def _check_axes(what: str, x: Any, axes: tuple[int, ...], channels: int) -> None:
    shape = shape_of(x)
    if len(shape) not in axes or shape[1] != channels:
        wanted = " or ".join(map(str, axes))
        raise ShapeError(
            f"{what}: an input of {wanted} axes with {channels} channels on axis 1 is needed, not the shape "
            f"{shape}{called_at()}"
        )


def _check_momentum(what: str, momentum: float) -> None:
    if not 0 <= momentum <= 1:
        raise ArgumentError(f"{what}: momentum must lie between 0 and 1, not {momentum}{called_at()}")


class _BatchNorm(Cell):
    """Batch normalisation of (N, C, *space)."""

    axes: tuple[int, ...]

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.9, affine: bool = True,
        gamma_init: Any = "ones", beta_init: Any = "zeros", moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones", use_batch_statistics: bool | None = None, data_format: str | None = None,
        dtype: Any = float32,
    ) -> None:  # fmt: skip
        super().__init__()
        positive(type(self).__name__, num_features=num_features)
        self.channels_last = channels_last(type(self).__name__, data_format, max(self.axes) - 2)
        _check_momentum(type(self).__name__, momentum)
        self.num_features, self.eps, self.momentum, self.affine = num_features, eps, momentum, affine
        self.use_batch_statistics = use_batch_statistics

        starts = (moving_mean_init, False), (moving_var_init, False), (gamma_init, affine), (beta_init, affine)
        vectors = [Parameter(initializer(init, (num_features,), dtype), requires_grad=yes) for init, yes in starts]
        self.moving_mean, self.moving_variance, self.gamma, self.beta = vectors

    def construct(self, x: Any) -> Any:
        if self.channels_last:
            return with_channels_first(self._normalised, x, len(shape_of(x)) - 2)
        return self._normalised(x)

    def _normalised(self, x: Any) -> Any:
        _check_axes(type(self).__name__, x, self.axes, self.num_features)
        of_batch = self.training if self.use_batch_statistics is None else self.use_batch_statistics
        if not of_batch:
            return ops.batch_norm(x, self.moving_mean, self.moving_variance, self.gamma, self.beta, eps=self.eps)
        mean, variance = ops.batch_statistics(x)
        count = math.prod(shape_of(x)) // max(self.num_features, 1)
        layer_state.blend(self.moving_mean, self.momentum, mean)
        layer_state.blend(self.moving_variance, self.momentum, variance, count)
        return ops.batch_norm(x, mean, variance, self.gamma, self.beta, eps=self.eps)

    def extra_repr(self) -> str:
        return f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}"


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L); see `BatchNorm2d`.

    >>> import adjoint as ad
    >>> print(ad.nn.BatchNorm1d(2, eps=0.0).set_train()(ad.Tensor([[1.0, 10.0], [3.0, 30.0]])))
    [[-1. -1.]
     [ 1.  1.]]
    """

    axes = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W): in training by the mean and variance of each channel, else by their averages.

    In training `moving_mean` and `moving_variance` become `momentum` of themselves plus the rest of the batch's mean and
    (unbiased) variance, in a compiled graph too, when it runs. `use_batch_statistics` decides instead of `set_train`.

    >>> import adjoint as ad
    >>> layer = ad.nn.BatchNorm2d(1, momentum=0.5).set_train()
    >>> y = layer(ad.Tensor([[[[1.0, 3.0]]]]))
    >>> print(layer.moving_mean.value(), layer.moving_variance.value(), [p.name for p in layer.trainable_params()])
    [1.] [1.5] ['gamma', 'beta']
    """

    axes = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (N, C, D, H, W); see `BatchNorm2d`.

    >>> import adjoint as ad
    >>> ad.nn.BatchNorm3d(2)(ad.ops.ones((1, 2, 3, 4, 5))).shape
    (1, 2, 3, 4, 5)
    """

    axes = (5,)


class LayerNorm(Cell):
    """Normalisation over the axes from `begin_norm_axis`; gamma and beta meet those from `begin_params_axis`.

    >>> import adjoint as ad
    >>> print(ad.nn.LayerNorm((2,))(ad.Tensor([[1.0, 3.0], [10.0, 30.0]])).round(3))
    [[-1.  1.]
     [-1.  1.]]
    """

    def __init__(
        self, normalized_shape: int | Sequence[int], begin_norm_axis: int = -1, begin_params_axis: int = -1,
        gamma_init: Any = "ones", beta_init: Any = "zeros", epsilon: float = 1e-7, dtype: Any = float32,
    ) -> None:  # fmt: skip
        super().__init__()
        inner = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        for size in inner:
            positive("LayerNorm", normalized_shape=size)
        self.normalized_shape, self.epsilon = inner, epsilon
        self.begin_norm_axis, self.begin_params_axis = begin_norm_axis, begin_params_axis
        self.gamma = Parameter(initializer(gamma_init, inner, dtype))
        self.beta = Parameter(initializer(beta_init, inner, dtype))

    def construct(self, x: Any) -> Any:
        shape = shape_of(x)
        if shape[self.begin_params_axis :] != self.normalized_shape:
            raise ShapeError(
                f"LayerNorm: the axes from {self.begin_params_axis} must have the sizes {self.normalized_shape}, but the "
                f"shape is {shape}{called_at()}"
            )
        inner = shape[self.begin_norm_axis :]
        if inner == self.normalized_shape:
            return ops.layer_norm(x, inner, self.gamma, self.beta, self.epsilon)
        return ops.layer_norm(x, inner, eps=self.epsilon) * self.gamma + self.beta

    def extra_repr(self) -> str:
        return f"normalized_shape={self.normalized_shape}, epsilon={self.epsilon}"


class RMSNorm(Cell):
    """The input divided by the root of its mean square over its last axes, times gamma.

    >>> import adjoint as ad
    >>> print(ad.nn.RMSNorm(2)(ad.Tensor([[3.0, 3.0], [-5.0, 5.0]])).round(3))
    [[ 1.  1.]
     [-1.  1.]]
    """

    def __init__(
        self, normalized_shape: int | Sequence[int], epsilon: float = 1e-6, gamma_init: Any = "ones",
        dtype: Any = float32,
    ) -> None:  # fmt: skip
        super().__init__()
        inner = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.epsilon = inner, epsilon
        self.gamma = Parameter(initializer(gamma_init, inner, dtype))

    def construct(self, x: Any) -> Any:
        return ops.rms_norm(x, self.gamma, self.epsilon)

    def extra_repr(self) -> str:
        return f"normalized_shape={self.normalized_shape}, epsilon={self.epsilon}"


class GroupNorm(Cell):
    """Normalisation of (N, C, ...) for each sample over groups of its channels.

    >>> import adjoint as ad
    >>> print(ad.nn.GroupNorm(2, 4)(ad.Tensor([[1.0, 3.0, 10.0, 30.0]])).round(3))
    [[-1.  1. -1.  1.]]
    """

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, gamma_init: Any = "ones",
        beta_init: Any = "zeros", dtype: Any = float32,
    ) -> None:  # fmt: skip
        super().__init__()
        positive("GroupNorm", num_groups=num_groups, num_channels=num_channels)
        if num_channels % num_groups:
            raise ArgumentError(
                f"GroupNorm: {num_channels} channels do not make {num_groups} equal groups{called_at()}"
            )
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self.gamma = Parameter(initializer(gamma_init, (num_channels,), dtype), requires_grad=affine)
        self.beta = Parameter(initializer(beta_init, (num_channels,), dtype), requires_grad=affine)

    def construct(self, x: Any) -> Any:
        return ops.group_norm(x, self.num_groups, self.gamma, self.beta, self.eps)

    def extra_repr(self) -> str:
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}, eps={self.eps}, affine={self.affine}"


class _InstanceNorm(Cell):
    """Normalisation of (N, C, *space) for each sample and channel, in training and in use by its own mean and variance.

    In training their averages over samples are kept, with `momentum` of the old, as MindSpore does; nothing uses them.
    """

    axes: tuple[int, ...]

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True, gamma_init: Any = "ones",
        beta_init: Any = "zeros", dtype: Any = float32,
    ) -> None:  # fmt: skip
        super().__init__()
        positive(type(self).__name__, num_features=num_features)
        _check_momentum(type(self).__name__, momentum)
        self.num_features, self.eps, self.momentum, self.affine = num_features, eps, momentum, affine
        starts = ("zeros", False), ("ones", False), (gamma_init, affine), (beta_init, affine)
        vectors = [Parameter(initializer(init, (num_features,), dtype), requires_grad=yes) for init, yes in starts]
        self.moving_mean, self.moving_variance, self.gamma, self.beta = vectors

    def construct(self, x: Any) -> Any:
        _check_axes(type(self).__name__, x, self.axes, self.num_features)
        if self.training:
            self._keep_averages(x)
        return ops.instance_norm(x, self.gamma, self.beta, self.eps)

    def _keep_averages(self, x: Any) -> None:
        space = tuple(range(2, len(shape_of(x))))
        x = ops.stop_gradient(x)
        layer_state.blend(self.moving_mean, self.momentum, ops.mean(x, (0, *space)))
        layer_state.blend(
            self.moving_variance, self.momentum, ops.mean(ops.var(x, space), 0), math.prod(shape_of(x)[2:])
        )

    def extra_repr(self) -> str:
        return f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}"


class InstanceNorm1d(_InstanceNorm):
    """Normalisation of (N, C, L) for each sample and channel.

    >>> import adjoint as ad
    >>> print(ad.nn.InstanceNorm1d(1)(ad.Tensor([[[1.0, 3.0]], [[10.0, 30.0]]])).round(3)[:, 0])
    [[-1.  1.]
     [-1.  1.]]
    """

    axes = (3,)


class InstanceNorm2d(_InstanceNorm):
    """Normalisation of (N, C, H, W) for each sample and channel.

    >>> import adjoint as ad
    >>> ad.nn.InstanceNorm2d(3)(ad.ops.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    axes = (4,)


class InstanceNorm3d(_InstanceNorm):
    """Normalisation of (N, C, D, H, W) for each sample and channel.

    >>> import adjoint as ad
    >>> ad.nn.InstanceNorm3d(3)(ad.ops.ones((2, 3, 4, 4, 2))).shape
    (2, 3, 4, 4, 2)
    """

    axes = (5,)
