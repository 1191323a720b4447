"""Activations with settings, or with Parameters of their own."""

from __future__ import annotations

from typing import Any

from adjoint import ops
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.parameter import Parameter
from adjoint.core.spec import float32, shape_of
from adjoint.nn.cell import Cell
from adjoint.nn.initializer import initializer


class LeakyReLU(Cell):
    """x above 0, alpha x below.

    >>> import adjoint as ad
    >>> print(ad.nn.LeakyReLU()(ad.Tensor([-1.0, 2.0])))
    [-0.2  2. ]
    """

    def __init__(self, alpha: float = 0.2) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Any) -> Any:
        return ops.leaky_relu(x, self.alpha)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}"


class ELU(Cell):
    """x above 0, alpha (exp(x) - 1) below.

    >>> import adjoint as ad
    >>> print(ad.nn.ELU()(ad.Tensor([-100.0, 2.0])))
    [-1.  2.]
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Any) -> Any:
        return ops.elu(x, self.alpha)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}"


class CELU(Cell):
    """x above 0, alpha (exp(x / alpha) - 1) below.

    >>> import adjoint as ad
    >>> print(ad.nn.CELU()(ad.Tensor([-100.0, 2.0])))
    [-1.  2.]
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Any) -> Any:
        return ops.celu(x, self.alpha)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}"


class GELU(Cell):
    """x times the normal distribution's probability below x; `approximate` computes it by a tanh: True or "tanh", False or "none".

    >>> import adjoint as ad
    >>> print(ad.nn.GELU()(ad.Tensor([1.0])))
    [0.841192]
    """

    def __init__(self, approximate: bool | str = True) -> None:
        super().__init__()
        if approximate not in (True, False, "tanh", "none"):
            raise ArgumentError(
                f"GELU: approximate must be True or 'tanh', False or 'none', not {approximate!r}{called_at()}"
            )
        self.approximate = approximate in (True, "tanh")

    def construct(self, x: Any) -> Any:
        return ops.gelu(x, "tanh" if self.approximate else "none")

    def extra_repr(self) -> str:
        return f"approximate={self.approximate}"


class Softplus(Cell):
    """log(1 + exp(beta x)) / beta, without overflow; above `threshold` beta x counts as large.

    >>> import adjoint as ad
    >>> print(ad.nn.Softplus()(ad.Tensor([0.0])))
    [0.6931472]
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def construct(self, x: Any) -> Any:
        return ops.softplus(x, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Softmax(Cell):
    """exp(x) divided by its sum along an axis.

    >>> import adjoint as ad
    >>> print(ad.nn.Softmax()(ad.Tensor([0.0, 0.0])))
    [0.5 0.5]
    """

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Any) -> Any:
        return ops.softmax(x, self.axis)

    def extra_repr(self) -> str:
        return f"axis={self.axis}"


class LogSoftmax(Cell):
    """The logarithm of softmax, without overflow.

    >>> import adjoint as ad
    >>> print(ad.nn.LogSoftmax()(ad.Tensor([0.0, 0.0])))
    [-0.6931472 -0.6931472]
    """

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Any) -> Any:
        return ops.log_softmax(x, self.axis)

    def extra_repr(self) -> str:
        return f"axis={self.axis}"


class Softmin(Cell):
    """softmax(-x).

    >>> import adjoint as ad
    >>> print(ad.nn.Softmin()(ad.Tensor([0.0, 0.0])))
    [0.5 0.5]
    """

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Any) -> Any:
        return ops.softmin(x, self.axis)

    def extra_repr(self) -> str:
        return f"axis={self.axis}"


class Hardtanh(Cell):
    """x, but at least min_val and at most max_val.

    >>> import adjoint as ad
    >>> print(ad.nn.Hardtanh()(ad.Tensor([-4.0, 0.5])))
    [-1.   0.5]
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        super().__init__()
        self.min_val, self.max_val = min_val, max_val

    def construct(self, x: Any) -> Any:
        return ops.hardtanh(x, self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"


class HShrink(Cell):
    """x, but 0 between -lambd and lambd.

    >>> import adjoint as ad
    >>> print(ad.nn.HShrink()(ad.Tensor([0.3, 0.8])))
    [0.  0.8]
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def construct(self, x: Any) -> Any:
        return ops.hardshrink(x, self.lambd)

    def extra_repr(self) -> str:
        return f"lambd={self.lambd}"


class SoftShrink(Cell):
    """x moved towards 0 by lambd, and 0 between -lambd and lambd.

    >>> import adjoint as ad
    >>> print(ad.nn.SoftShrink()(ad.Tensor([0.25, 1.0])))
    [0.  0.5]
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def construct(self, x: Any) -> Any:
        return ops.softshrink(x, self.lambd)

    def extra_repr(self) -> str:
        return f"lambd={self.lambd}"


class Threshold(Cell):
    """x above the threshold, else a value.

    >>> import adjoint as ad
    >>> print(ad.nn.Threshold(2.0, 9.0)(ad.Tensor([1.0, 3.0])))
    [9. 3.]
    """

    def __init__(self, threshold: float, value: float) -> None:
        super().__init__()
        self.threshold, self.value = threshold, value

    def construct(self, x: Any) -> Any:
        return ops.where(x > self.threshold, x, self.value)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}"


class GLU(Cell):
    """The first half of an axis times the sigmoid of the second.

    >>> import adjoint as ad
    >>> print(ad.nn.GLU()(ad.Tensor([4.0, 0.0])))
    [2.]
    """

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Any) -> Any:
        return ops.glu(x, self.axis)

    def extra_repr(self) -> str:
        return f"axis={self.axis}"


class PReLU(Cell):
    """x above 0, w x below, where w is trained: one for all channels (axis 1), or one for each.

    >>> import adjoint as ad
    >>> print(ad.nn.PReLU()(ad.Tensor([[-1.0, 2.0]])))
    [[-0.25  2.  ]]
    """

    def __init__(self, channel: int = 1, w: Any = 0.25, dtype: Any = float32) -> None:
        super().__init__()
        if channel < 1:
            raise ArgumentError(f"PReLU: channel must be 1 or more, not {channel}{called_at()}")
        self.channel = channel
        self.w = Parameter(initializer(w, (channel,), dtype))

    def construct(self, x: Any) -> Any:
        space = (1,) * (len(shape_of(x)) - 2)
        return ops.prelu(x, ops.reshape(self.w, (self.channel, *space)) if len(shape_of(x)) > 1 else self.w)

    def extra_repr(self) -> str:
        return f"channel={self.channel}"
