"""Layers followed by batch normalisation and an activation."""

from __future__ import annotations

from typing import Any

from adjoint import nn
from adjoint.mindspore.nn.cell import Cell
from adjoint.mindspore.nn.engine_layers import layer
from adjoint.mindspore.nn.layers.activation import LeakyReLU, get_activation
from adjoint.mindspore.nn.layers.basic import Dense
from adjoint.mindspore.nn.layers.conv import Conv2d

__all__ = ["Conv2dBnAct", "DenseBnAct"]


class _Followed(Cell):
    """What comes behind a layer."""

    def _follow(self, bn: Any, activation: Any, alpha: float) -> None:
        self.has_bn, self.has_act = bn is not None, activation is not None
        self.batchnorm = bn
        if activation == "leakyrelu":
            self.activation = LeakyReLU(alpha)
        else:
            self.activation = get_activation(activation) if isinstance(activation, str) else activation

    def _rest(self, y: Any) -> Any:
        y = y if self.batchnorm is None else self.batchnorm(y)
        return y if self.activation is None else self.activation(y)


class Conv2dBnAct(_Followed):
    """A convolution, batch normalisation if `has_bn`, and an activation.

    >>> import adjoint.mindspore as mindspore
    >>> Conv2dBnAct(2, 3, 3, has_bn=True, activation="relu")(mindspore.ops.ones((1, 2, 4, 4))).shape
    (1, 3, 4, 4)
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, pad_mode: str = "same",
        padding: Any = 0, dilation: Any = 1, group: int = 1, has_bias: bool = False, weight_init: Any = "normal",
        bias_init: Any = "zeros", has_bn: bool = False, momentum: float = 0.997, eps: float = 1e-5,
        activation: Any = None, alpha: float = 0.2, after_fake: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.conv = Conv2d(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init,
            bias_init,
        )  # fmt: skip
        self._follow(layer(nn.BatchNorm2d)(out_channels, eps, momentum) if has_bn else None, activation, alpha)

    def construct(self, x: Any) -> Any:
        return self._rest(self.conv(x))


class DenseBnAct(_Followed):
    """A fully connected layer, batch normalisation if `has_bn`, and an activation."""

    def __init__(
        self, in_channels: int, out_channels: int, weight_init: Any = "normal", bias_init: Any = "zeros",
        has_bias: bool = True, has_bn: bool = False, momentum: float = 0.9, eps: float = 1e-5, activation: Any = None,
        alpha: float = 0.2, after_fake: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.dense = Dense(in_channels, out_channels, weight_init, bias_init, has_bias)
        self._follow(layer(nn.BatchNorm1d)(out_channels, eps, momentum) if has_bn else None, activation, alpha)

    def construct(self, x: Any) -> Any:
        return self._rest(self.dense(x))
