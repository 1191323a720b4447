"""mindspore.common.initializer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.core.spec import float32
from adjoint.core.tensor import Tensor
from adjoint.nn import initializer as _engine
from adjoint.nn.initializer import Constant as Constant
from adjoint.nn.initializer import HeNormal as HeNormal
from adjoint.nn.initializer import HeUniform as HeUniform
from adjoint.nn.initializer import Identity as Identity
from adjoint.nn.initializer import Normal as Normal
from adjoint.nn.initializer import One as One
from adjoint.nn.initializer import Orthogonal as Orthogonal
from adjoint.nn.initializer import TruncatedNormal as TruncatedNormal
from adjoint.nn.initializer import Uniform as Uniform
from adjoint.nn.initializer import XavierNormal as XavierNormal
from adjoint.nn.initializer import XavierUniform as XavierUniform
from adjoint.nn.initializer import Zero as Zero


class _Kind(type):
    """Every initializer of the engine is an instance of `Initializer`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, _engine.Initializer) if cls is Initializer else type.__instancecheck__(cls, instance)
        )

    def __subclasscheck__(cls, subclass: Any) -> bool:
        return (
            issubclass(subclass, _engine.Initializer) if cls is Initializer else type.__subclasscheck__(cls, subclass)
        )


class Initializer(_engine.Initializer, metaclass=_Kind):
    """A way to make the first value of a Parameter. A class of one's own writes `_initialize(arr)`, which fills an array.

    >>> class Half(Initializer):
    ...     def _initialize(self, arr):
    ...         arr[:] = 0.5
    >>> print(initializer(Half(), [2]))
    [0.5 0.5]
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs
        self.shape: Any = None
        self.dtype: Any = None

    def _initialize(self, arr: np.ndarray) -> None:
        raise NotImplementedError("Must be overridden!")

    def __call__(self, arr: np.ndarray) -> Any:
        return self._initialize(arr)

    def array(self, shape: tuple[int, ...]) -> np.ndarray:
        values = np.zeros(shape, np.float32)
        self._initialize(values)
        return values


class Dirac(Initializer):
    """The identity of a convolution: each channel, in each group, has a 1 in the middle of its own window.

    >>> print(initializer(Dirac(), [2, 2, 3]))
    [[[0. 1. 0.]
      [0. 0. 0.]]
    <BLANKLINE>
     [[0. 0. 0.]
      [0. 1. 0.]]]
    """

    def __init__(self, groups: int = 1) -> None:
        super().__init__(groups=groups)
        self.groups = groups

    def _initialize(self, arr: np.ndarray) -> None:
        if arr.ndim not in (3, 4, 5):
            raise ValueError(
                f"For Dirac initializer, the dimension of the tensor must be 3, 4 or 5, but got {arr.ndim}."
            )
        if arr.shape[0] % self.groups:
            raise ValueError("For Dirac initializer, the first dimension must be divisible by groups.")
        outputs = arr.shape[0] // self.groups
        middle = tuple(n // 2 for n in arr.shape[2:])
        for group in range(self.groups):
            for i in range(min(outputs, arr.shape[1])):
                place = (group * outputs + i, i, *middle)
                arr[place] = 1


class Sparse(Initializer):
    """Normal samples, of which a share in each column is zero."""

    def __init__(self, sparsity: float, sigma: float = 0.01) -> None:
        super().__init__(sparsity=sparsity, sigma=sigma)
        self.sparsity, self.sigma = sparsity, sigma

    def _initialize(self, arr: np.ndarray) -> None:
        if arr.ndim != 2:
            raise ValueError(f"For Sparse initializer, the dimension of the tensor must be 2, but got {arr.ndim}.")
        rows, columns = arr.shape
        arr[:] = _engine.Normal(self.sigma).array(arr.shape)
        order = np.argsort(_engine.Uniform(1.0).array(arr.shape), axis=0)[: math.ceil(self.sparsity * rows)]
        arr[order, np.arange(columns)] = 0


class VarianceScaling(Initializer):
    """Samples whose variance is a scale over the number of inputs, of outputs, or their mean."""

    def __init__(self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal") -> None:
        super().__init__(scale=scale, mode=mode, distribution=distribution)
        if scale <= 0:
            raise ValueError(f"For VarianceScaling initializer, the scale must be greater than 0, but got {scale}.")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(
                f"For VarianceScaling initializer, the mode must be fan_in, fan_out or fan_avg, but got {mode}."
            )
        if distribution not in ("uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(f"For VarianceScaling initializer, there is no distribution {distribution}.")
        self.scale, self.mode, self.distribution = scale, mode, distribution

    def _initialize(self, arr: np.ndarray) -> None:
        inputs, outputs = _calculate_fan_in_and_fan_out(arr.shape)
        fan = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[self.mode]
        variance = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            arr[:] = _engine.Uniform(math.sqrt(3 * variance)).array(arr.shape)
        elif self.distribution == "untruncated_normal":
            arr[:] = _engine.Normal(math.sqrt(variance)).array(arr.shape)
        else:  # the deviation of a normal distribution that is cut at two deviations is 0.87962566 of the whole one's
            arr[:] = _engine.TruncatedNormal(math.sqrt(variance) / 0.87962566103423978).array(arr.shape)


_NAMES = {"dirac": Dirac, "variancescaling": VarianceScaling, "variance_scaling": VarianceScaling}


def _calculate_fan_in_and_fan_out(shape: Any) -> tuple[int, int]:
    """The number of inputs and of outputs of a unit whose weights have a shape.

    >>> _calculate_fan_in_and_fan_out((4, 3, 2, 2))
    (12, 16)
    """
    if len(shape) < 2:
        raise ValueError(
            "'fan_in' and 'fan_out' can not be computed for tensor with fewer than 2 dimensions, but got dimensions "
            f"{len(shape)}."
        )
    return _engine.fans(shape)


def initializer(init: Any, shape: Any = None, dtype: Any = float32) -> Any:
    """A first value, by an Initializer, the name of one, a number or a Tensor.

    >>> print(initializer("ones", [2]), initializer(0.5, 2))
    [1. 1.] [0.5 0.5]
    """
    if not isinstance(init, (Tensor, int, float, str, _engine.Initializer)):
        raise TypeError(
            "For 'initializer', the type of the 'init' argument should be 'Tensor', 'number', 'string' or 'initializer' type, "
            f"but got {type(init)}."
        )
    if isinstance(dtype, str):
        raise TypeError(
            f"For 'initializer', the 'dtype' should be a dtype such as mindspore.float32, but got '{dtype}'."
        )
    sizes = () if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    if not all(isinstance(n, (int, np.integer)) and n > 0 for n in sizes):
        raise ValueError(
            f"For 'initializer', the argument 'shape' is invalid, the value of 'shape' must be positive integer, but got {shape}"
        )
    if isinstance(init, str) and init.lower() in _NAMES:
        init = _NAMES[init.lower()]()
    if isinstance(init, (_engine.XavierUniform, _engine.XavierNormal, _engine.HeUniform, _engine.HeNormal)):
        _calculate_fan_in_and_fan_out(sizes)
    if isinstance(init, str) and init.lower().startswith(("xavier", "he")):
        _calculate_fan_in_and_fan_out(sizes)
    return _engine.initializer(init, shape, dtype)
