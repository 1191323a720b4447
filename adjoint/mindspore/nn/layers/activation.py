"""Activations as Cells, with MindSpore's derivatives where a function has a corner."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import nn, ops
from adjoint.core.parameter import Parameter
from adjoint.core.spec import float32
from adjoint.mindspore.nn.cell import Cell
from adjoint.mindspore.nn.engine_layers import layer
from adjoint.mindspore.ops import nn_functions as F
from adjoint.mindspore.ops.operations.norm_ops import lrn
from adjoint.nn.initializer import initializer

__all__ = [
    "HSigmoid", "Hardtanh", "LRN", "LeakyReLU", "LogSoftmaxExt", "PReLU", "PReLUExt", "RReLU", "Softmax2d", "SoftmaxExt",
    "get_activation",
]  # fmt: skip


class HSigmoid(layer(nn.HSigmoid)):  # type: ignore[misc]
    """(x + 3) / 6 between 0 and 1."""

    def construct(self, input: Any) -> Any:
        return F.hardsigmoid(input)


class Hardtanh(layer(nn.Hardtanh)):  # type: ignore[misc]
    """x between two bounds."""

    def construct(self, x: Any) -> Any:
        return F.hardtanh(x, self.min_val, self.max_val)


class LeakyReLU(layer(nn.LeakyReLU)):  # type: ignore[misc]
    """The larger of x and alpha x."""

    def construct(self, x: Any) -> Any:
        return F.leaky_relu(x, self.alpha)


class LRN(Cell):
    """x divided by a power of the sum of squares of its neighbours among the channels.

    >>> import adjoint.mindspore as mindspore
    >>> print(LRN(alpha=3.0)(mindspore.ops.ones((1, 1, 1, 1))))
    [[[[0.5]]]]
    """

    def __init__(
        self, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5,
        norm_region: str = "ACROSS_CHANNELS",
    ) -> None:  # fmt: skip
        super().__init__()
        self.settings = depth_radius, bias, alpha, beta, norm_region

    def construct(self, input_x: Any) -> Any:
        return lrn(input_x, *self.settings)


class SoftmaxExt(Cell):
    """softmax along the axis `dim`."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def construct(self, input: Any) -> Any:
        return ops.softmax(input, _axis(input, self.dim))


class LogSoftmaxExt(Cell):
    """log(softmax) along the axis `dim`."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def construct(self, x: Any) -> Any:
        return ops.log_softmax(x, _axis(x, self.dim))


def _axis(x: Any, dim: int | None) -> int:
    """The axis of a softmax; without one the first of arrays with 0, 1 or 3 axes, else the second."""
    return (0 if x.ndim in (0, 1, 3) else 1) if dim is None else dim


class PReLU(Cell):
    """x where x > 0, else w x, with one trained w for all or one for each channel (axis 1).

    >>> import adjoint.mindspore as mindspore
    >>> print(PReLU()(mindspore.Tensor([[-1.0, 2.0]])), PReLU(2).w.shape)
    [[-0.25  2.  ]] (2,)
    """

    def __init__(self, channel: int = 1, w: Any = 0.25) -> None:
        super().__init__()
        if isinstance(channel, bool) or not isinstance(channel, int) or channel < 1:
            raise ValueError(f"For 'PReLU', 'channel' must be an integer above 0, but got {channel!r}.")
        given = np.asarray(w.asnumpy() if hasattr(w, "asnumpy") else w, np.float32)
        self.w = Parameter(np.broadcast_to(given.ravel(), (channel,)).copy(), name="a")

    def construct(self, x: Any) -> Any:
        return F.prelu(x, self.w)


class PReLUExt(Cell):
    """x where x > 0, else weight x, with one trained weight for all or one for each channel."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, dtype: Any = None) -> None:
        super().__init__()
        self.weight = Parameter(initializer(init, (num_parameters,), float32 if dtype is None else dtype))

    def construct(self, input: Any) -> Any:
        return F.prelu(input, self.weight)


class RReLU(Cell):
    """x where x >= 0, else x times a slope drawn for each element."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3) -> None:
        super().__init__()
        if lower > upper:
            raise ValueError(f"For 'RReLU', 'lower' {lower} must not be above 'upper' {upper}.")
        self.lower, self.upper = lower, upper

    def construct(self, x: Any) -> Any:
        return F.rrelu(x, self.lower, self.upper)


class Softmax2d(Cell):
    """softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def construct(self, x: Any) -> Any:
        return ops.softmax(x, -3)


_OWN: dict[str, Any] = {
    "hsigmoid": HSigmoid, "hardtanh": Hardtanh, "leakyrelu": LeakyReLU, "prelu": PReLU, "rrelu": RReLU,
    "softmax2d": Softmax2d, "logsoftmaxExt": LogSoftmaxExt, "preluExt": PReLUExt,
}  # fmt: skip
_ENGINE: dict[str, Any] = {
    "softmin": nn.Softmin, "softmax": nn.Softmax, "logsoftmax": nn.LogSoftmax, "relu": nn.ReLU, "relu6": nn.ReLU6,
    "silu": nn.SiLU, "tanh": nn.Tanh, "tanhshrink": nn.Tanhshrink, "gelu": nn.GELU, "fast_gelu": nn.FastGelu,
    "elu": nn.ELU, "sigmoid": nn.Sigmoid, "softsign": nn.Softsign, "hswish": nn.HSwish, "logsigmoid": nn.LogSigmoid,
    "softshrink": nn.SoftShrink, "hshrink": nn.HShrink, "threshold": nn.Threshold, "mish": nn.Mish,
}  # fmt: skip


def get_activation(name: str | None, prim_name: str | None = None) -> Any:
    """An activation by its name; None for None.

    >>> get_activation("relu")
    ReLU()
    """
    if name is None:
        return None
    if name in _OWN:
        return _OWN[name]()
    if name in _ENGINE:
        return layer(_ENGINE[name])()
    start = f"For '{prim_name}', the" if prim_name else "The"
    raise KeyError(f"{start} 'name' must be in {sorted([*_OWN, *_ENGINE])}, but got {name}.")
