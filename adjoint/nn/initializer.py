"""First values of Parameters: constants, and samples from the generator that `ad.set_seed` starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.dispatch import wrap
from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.random_counters import at_once
from adjoint.core.spec import float32
from adjoint.core.tensor import Tensor

Shape = tuple[int, ...]


class Initializer:
    """A way to make the first value of a Parameter. A class of one's own writes `array(shape)`.

    >>> from adjoint.nn.initializer import Initializer, initializer
    >>> class Half(Initializer):
    ...     def array(self, shape):
    ...         return np.full(shape, 0.5)
    >>> print(initializer(Half(), (2,)))
    [0.5 0.5]
    """

    def array(self, shape: Shape) -> np.ndarray:
        """The values, in float64."""
        raise NotImplementedError(f"{type(self).__name__} has no `array`")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


def _uniform(shape: Shape, bound: float) -> np.ndarray:
    return bound * (2 * ops.rand(shape, dtype=np.float64).asnumpy() - 1)


def _normal(shape: Shape, sigma: float, mean: float = 0.0) -> np.ndarray:
    return mean + sigma * ops.randn(shape, dtype=np.float64).asnumpy()


class Zero(Initializer):
    """Zeros.

    >>> from adjoint.nn.initializer import Zero, initializer
    >>> print(initializer(Zero(), (2,)))
    [0. 0.]
    """

    def array(self, shape: Shape) -> np.ndarray:
        return np.zeros(shape)


class One(Initializer):
    """Ones.

    >>> from adjoint.nn.initializer import One, initializer
    >>> print(initializer(One(), (2,)))
    [1. 1.]
    """

    def array(self, shape: Shape) -> np.ndarray:
        return np.ones(shape)


class Constant(Initializer):
    """One number everywhere, or the values of an array of that shape.

    >>> from adjoint.nn.initializer import Constant, initializer
    >>> print(initializer(Constant(3), (2,)))
    [3. 3.]
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def array(self, shape: Shape) -> np.ndarray:
        return np.array(np.broadcast_to(np.asarray(self.value, np.float64), shape))


class Identity(Initializer):
    """Ones on the diagonal of a matrix.

    >>> from adjoint.nn.initializer import Identity, initializer
    >>> print(initializer(Identity(), (1, 2)))
    [[1. 0.]]
    """

    def array(self, shape: Shape) -> np.ndarray:
        if len(shape) != 2:
            raise ShapeError(f"Identity: a matrix is needed, not the shape {shape}{called_at()}")
        return np.eye(*shape)


class Normal(Initializer):
    """Normal samples.

    >>> from adjoint.nn.initializer import Normal, initializer
    >>> initializer(Normal(0.5), (2, 3)).shape
    (2, 3)
    """

    def __init__(self, sigma: float = 0.01, mean: float = 0.0) -> None:
        self.sigma, self.mean = sigma, mean

    def array(self, shape: Shape) -> np.ndarray:
        return _normal(shape, self.sigma, self.mean)


class TruncatedNormal(Initializer):
    """Normal samples of which only those between a and b deviations from the mean are taken.

    >>> from adjoint.nn.initializer import TruncatedNormal, initializer
    >>> bool((abs(initializer(TruncatedNormal(0.5), (100,))) <= 1).all())
    True
    """

    def __init__(self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0) -> None:
        if not a < b:
            raise ArgumentError(f"TruncatedNormal: a must be below b, not {a} and {b}{called_at()}")
        self.sigma, self.mean, self.a, self.b = sigma, mean, a, b

    def array(self, shape: Shape) -> np.ndarray:
        low, high = (math.erf(bound / math.sqrt(2)) for bound in (self.a, self.b))
        uniform = low + (high - low) * ops.rand(shape, dtype=np.float64)
        deviations = math.sqrt(2) * ops.erfinv(uniform)
        return self.mean + self.sigma * np.clip(deviations.asnumpy(), self.a, self.b)


class Uniform(Initializer):
    """Uniform samples between -scale and scale.

    >>> from adjoint.nn.initializer import Uniform, initializer
    >>> bool((abs(initializer(Uniform(0.5), (100,))) <= 0.5).all())
    True
    """

    def __init__(self, scale: float = 0.07) -> None:
        self.scale = scale

    def array(self, shape: Shape) -> np.ndarray:
        return _uniform(shape, self.scale)


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """How many inputs and outputs an element of a weight (out, in, *window) has.

    >>> fans((8, 3, 5, 5))
    (75, 200)
    """
    if len(shape) < 2:
        raise ShapeError(f"an initializer by fan needs a weight of two axes or more, not {tuple(shape)}{called_at()}")
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


class XavierUniform(Initializer):
    """Uniform samples with the variance 2 gain² / (fan_in + fan_out).

    >>> from adjoint.nn.initializer import XavierUniform, initializer
    >>> bool((abs(initializer(XavierUniform(), (3, 3))) <= 1).all())
    True
    """

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def array(self, shape: Shape) -> np.ndarray:
        return _uniform(shape, self.gain * math.sqrt(6 / sum(fans(shape))))


class XavierNormal(Initializer):
    """Normal samples with the variance 2 gain² / (fan_in + fan_out).

    >>> from adjoint.nn.initializer import XavierNormal, initializer
    >>> initializer(XavierNormal(), (3, 3)).shape
    (3, 3)
    """

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def array(self, shape: Shape) -> np.ndarray:
        return _normal(shape, self.gain * math.sqrt(2 / sum(fans(shape))))


_GAINS = {"sigmoid": 1.0, "linear": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 0.75}


class _He(Initializer):
    """What the two He initializers share."""

    def __init__(self, negative_slope: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> None:
        if mode not in ("fan_in", "fan_out"):
            raise ArgumentError(f"{type(self).__name__}: mode must be fan_in or fan_out, not {mode!r}{called_at()}")
        if nonlinearity not in (*_GAINS, "leaky_relu"):
            known = ", ".join((*_GAINS, "leaky_relu"))
            raise ArgumentError(
                f"{type(self).__name__}: nonlinearity {nonlinearity!r} is not one of {known}{called_at()}"
            )
        self.negative_slope, self.mode, self.nonlinearity = negative_slope, mode, nonlinearity

    def _deviation(self, shape: Shape) -> float:
        gain = _GAINS.get(self.nonlinearity) or math.sqrt(2 / (1 + self.negative_slope**2))
        return gain / math.sqrt(fans(shape)[self.mode == "fan_out"])


class HeUniform(_He):
    """Uniform samples with the variance gain² / fan, the gain that of the nonlinearity.

    >>> from adjoint.nn.initializer import HeUniform, initializer
    >>> bool((abs(initializer(HeUniform(), (2, 6))) <= 1).all())
    True
    """

    def array(self, shape: Shape) -> np.ndarray:
        return _uniform(shape, math.sqrt(3) * self._deviation(shape))


class HeNormal(_He):
    """Normal samples with the variance gain² / fan, the gain that of the nonlinearity.

    >>> from adjoint.nn.initializer import HeNormal, initializer
    >>> initializer(HeNormal(mode="fan_out"), (2, 6)).shape
    (2, 6)
    """

    def array(self, shape: Shape) -> np.ndarray:
        return _normal(shape, self._deviation(shape))


class Orthogonal(Initializer):
    """A matrix with orthonormal rows or columns, whichever are fewer, times gain; further axes count as columns.

    >>> from adjoint.nn.initializer import Orthogonal, initializer
    >>> w = initializer(Orthogonal(), (2, 3))
    >>> bool((abs(w @ w.T - np.eye(2)) < 1e-6).all())
    True
    """

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def array(self, shape: Shape) -> np.ndarray:
        if len(shape) < 2:
            raise ShapeError(f"Orthogonal: two axes or more are needed, not the shape {shape}{called_at()}")
        rows, columns = shape[0], math.prod(shape[1:])
        q, r = np.linalg.qr(_normal((max(rows, columns), min(rows, columns)), 1.0))
        q = q * np.sign(np.diag(r))  # else the sample would not be uniform
        return self.gain * (q.T if rows < columns else q).reshape(shape)


_NAMES: dict[str, type[Initializer]] = {
    "zero": Zero, "zeros": Zero, "one": One, "ones": One, "normal": Normal, "uniform": Uniform, "identity": Identity,
    "truncatednormal": TruncatedNormal, "truncated_normal": TruncatedNormal, "orthogonal": Orthogonal,
    "xavier_uniform": XavierUniform, "xavieruniform": XavierUniform, "xavier_normal": XavierNormal,
    "xaviernormal": XavierNormal, "he_uniform": HeUniform, "heuniform": HeUniform, "he_normal": HeNormal,
    "henormal": HeNormal,
}  # fmt: skip


def initializer(init: Any, shape: int | Sequence[int] | None = None, dtype: Any = float32) -> Tensor:
    """A first value: from an Initializer, from the name of one, from a number, or from an array that has the shape.

    >>> import adjoint as ad
    >>> from adjoint.nn.initializer import initializer
    >>> print(initializer("ones", (2,)), initializer(0.5, 2), initializer(ad.Tensor([1.0, 2.0])))
    [1. 1.] [0.5 0.5] [1. 2.]
    """
    if isinstance(init, str):
        if init.lower() not in _NAMES:
            raise ArgumentError(f"initializer: there is no {init!r}, only {', '.join(_NAMES)}{called_at()}")
        init = _NAMES[init.lower()]()
    elif isinstance(init, (int, float)):
        init = Constant(init)
    if not isinstance(init, Initializer):
        value = np.array(Tensor(init).asnumpy(), dtype)
        wanted = value.shape if shape is None else _shape(shape)
        if value.shape != wanted:
            raise ShapeError(f"initializer: the value has the shape {value.shape}, not {wanted}{called_at()}")
        return wrap(value)
    if shape is None:
        raise ArgumentError(f"initializer: {init!r} needs a shape{called_at()}")
    with at_once():
        return wrap(np.asarray(init.array(_shape(shape)), dtype))


def _shape(shape: int | Sequence[int]) -> Shape:
    return (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(n) for n in shape)
