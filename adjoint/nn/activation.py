"""Activations as cells (those with settings are in `tuned`), and `get_activation` to look one up by name."""

from __future__ import annotations

from typing import Any

from adjoint import ops
from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.nn.cell import Cell
from adjoint.nn.tuned import (
    CELU,
    ELU,
    GELU,
    GLU,
    Hardtanh,
    HShrink,
    LeakyReLU,
    LogSoftmax,
    PReLU,
    Softmax,
    Softmin,
    Softplus,
    SoftShrink,
)


class ReLU(Cell):
    """max(x, 0).

    >>> import adjoint as ad
    >>> print(ad.nn.ReLU()(ad.Tensor([-1.0, 2.0])))
    [0. 2.]
    """

    def construct(self, x: Any) -> Any:
        return ops.relu(x)


class ReLU6(Cell):
    """x, but at least 0 and at most 6.

    >>> import adjoint as ad
    >>> print(ad.nn.ReLU6()(ad.Tensor([-1.0, 7.0])))
    [0. 6.]
    """

    def construct(self, x: Any) -> Any:
        return ops.relu6(x)


class SeLU(Cell):
    """The self-normalising exponential linear unit.

    >>> import adjoint as ad
    >>> print(ad.nn.SeLU()(ad.Tensor([0.0, 1.0])))
    [0.       1.050701]
    """

    def construct(self, x: Any) -> Any:
        return ops.selu(x)


class SiLU(Cell):
    """x sigmoid(x).

    >>> import adjoint as ad
    >>> print(ad.nn.SiLU()(ad.Tensor([0.0])))
    [0.]
    """

    def construct(self, x: Any) -> Any:
        return ops.silu(x)


class FastGelu(Cell):
    """x sigmoid(1.702 x): a quick approximation of GELU.

    >>> import adjoint as ad
    >>> print(ad.nn.FastGelu()(ad.Tensor([0.0])))
    [0.]
    """

    def construct(self, x: Any) -> Any:
        return x * ops.sigmoid(1.702 * x)


class Sigmoid(Cell):
    """1 / (1 + exp(-x)).

    >>> import adjoint as ad
    >>> print(ad.nn.Sigmoid()(ad.Tensor([0.0])))
    [0.5]
    """

    def construct(self, x: Any) -> Any:
        return ops.sigmoid(x)


class LogSigmoid(Cell):
    """log(sigmoid(x)), without overflow.

    >>> import adjoint as ad
    >>> print(ad.nn.LogSigmoid()(ad.Tensor([0.0])))
    [-0.6931472]
    """

    def construct(self, x: Any) -> Any:
        return ops.log_sigmoid(x)


class Tanh(Cell):
    """The hyperbolic tangent.

    >>> import adjoint as ad
    >>> print(ad.nn.Tanh()(ad.Tensor([0.0])))
    [0.]
    """

    def construct(self, x: Any) -> Any:
        return ops.tanh(x)


class Tanhshrink(Cell):
    """x - tanh(x).

    >>> import adjoint as ad
    >>> print(ad.nn.Tanhshrink()(ad.Tensor([0.0])))
    [0.]
    """

    def construct(self, x: Any) -> Any:
        return x - ops.tanh(x)


class HSigmoid(Cell):
    """A sigmoid of straight lines: relu6(x + 3) / 6.

    >>> import adjoint as ad
    >>> print(ad.nn.HSigmoid()(ad.Tensor([0.0, 9.0])))
    [0.5 1. ]
    """

    def construct(self, x: Any) -> Any:
        return ops.hardsigmoid(x)


class HSwish(Cell):
    """x relu6(x + 3) / 6.

    >>> import adjoint as ad
    >>> print(ad.nn.HSwish()(ad.Tensor([0.0, 3.0])))
    [0. 3.]
    """

    def construct(self, x: Any) -> Any:
        return ops.hardswish(x)


class Mish(Cell):
    """x tanh(softplus(x)).

    >>> import adjoint as ad
    >>> print(ad.nn.Mish()(ad.Tensor([0.0])))
    [0.]
    """

    def construct(self, x: Any) -> Any:
        return ops.mish(x)


class Softsign(Cell):
    """x / (1 + |x|).

    >>> import adjoint as ad
    >>> print(ad.nn.Softsign()(ad.Tensor([1.0])))
    [0.5]
    """

    def construct(self, x: Any) -> Any:
        return ops.softsign(x)


class Identity(Cell):
    """The input itself.

    >>> import adjoint as ad
    >>> print(ad.nn.Identity()(ad.Tensor([1.0])))
    [1.]
    """

    def construct(self, x: Any) -> Any:
        return x


_ACTIVATIONS: dict[str, type[Cell]] = {
    "softmax": Softmax, "logsoftmax": LogSoftmax, "relu": ReLU, "relu6": ReLU6, "tanh": Tanh, "gelu": GELU,
    "fast_gelu": FastGelu, "elu": ELU, "celu": CELU, "selu": SeLU, "sigmoid": Sigmoid, "prelu": PReLU,
    "leakyrelu": LeakyReLU, "hswish": HSwish, "hsigmoid": HSigmoid, "logsigmoid": LogSigmoid, "softshrink": SoftShrink,
    "hshrink": HShrink, "silu": SiLU, "mish": Mish, "softplus": Softplus, "softsign": Softsign, "identity": Identity,
    "tanhshrink": Tanhshrink, "hardtanh": Hardtanh, "glu": GLU, "softmin": Softmin,
}  # fmt: skip


def get_activation(name: str | None, prim_name: str = "get_activation") -> Cell | None:
    """An activation by its name; None for None. `prim_name` says in an error who asked.

    >>> import adjoint as ad
    >>> print(ad.nn.get_activation("relu"), ad.nn.get_activation(None))
    ReLU() None
    """
    if name is None:
        return None
    if name not in _ACTIVATIONS:
        raise ArgumentError(
            f"{prim_name}: there is no activation {name!r}, only {', '.join(_ACTIVATIONS)}{called_at()}"
        )
    return _ACTIVATIONS[name]()


def activation_of(what: str, activation: Any) -> Any:
    """The activation of a layer, given by name, as a Cell or function, or as None."""
    if activation is None or isinstance(activation, str):
        return get_activation(activation, what)
    if isinstance(activation, type) or not callable(activation):
        raise ArgumentTypeError(
            f"{what}: activation must be a name, a Cell or a function, not {activation!r}{called_at()}"
        )
    return activation
