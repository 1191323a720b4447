"""mindspore.amp: mixed precision and scaled losses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core import tree
from adjoint.core.tensor import Tensor
from adjoint.mindspore.checks import type_error
from adjoint.mindspore.common.parameter import Parameter
from adjoint.mindspore.train.amp import auto_mixed_precision as auto_mixed_precision
from adjoint.mindspore.train.amp import build_train_network as build_train_network
from adjoint.mindspore.train.amp import custom_mixed_precision as custom_mixed_precision
from adjoint.mindspore.train.amp import get_black_list as get_black_list
from adjoint.mindspore.train.amp import get_white_list as get_white_list
from adjoint.mindspore.train.loss_scale_manager import DynamicLossScaleManager as DynamicLossScaleManager
from adjoint.mindspore.train.loss_scale_manager import FixedLossScaleManager as FixedLossScaleManager
from adjoint.mindspore.train.loss_scale_manager import LossScaleManager as LossScaleManager


def all_finite(inputs: Any) -> Any:
    """Whether no element of these Tensors is infinite or not a number, as a Tensor.

    >>> from adjoint.mindspore import Tensor
    >>> print(all_finite((Tensor([1.0]), Tensor([float("inf")]))))
    False
    """
    found: Any = Tensor(True)
    for x in tree.leaves(inputs):
        found = ops.logical_and(found, ops.all(ops.isfinite(x)))
    return found


def _grad_scale_map(scale_value: Any, inputs: Any) -> Any:
    return tree.map(lambda x: x * ops.cast(scale_value, x.dtype), inputs)


def _grad_unscale_map(scale_value: Any, inputs: Any) -> Any:
    return tree.map(lambda x: x * ops.cast(1.0 / scale_value, x.dtype), inputs)


class LossScaler(ABC):
    """Base of scalers: a subclass writes all three methods."""

    @abstractmethod
    def scale(self, inputs: Any) -> Any:
        """The values times the scale."""

    @abstractmethod
    def unscale(self, inputs: Any) -> Any:
        """The values divided by the scale."""

    @abstractmethod
    def adjust(self, grads_finite: Any) -> Any:
        """Take note of a step."""


class StaticLossScaler(LossScaler):
    """A scale that stays.

    >>> from adjoint.mindspore import Tensor
    >>> scaler = StaticLossScaler(4)
    >>> print(scaler.scale(Tensor([1.0])), scaler.unscale((Tensor([1.0]),))[0])
    [4.] [0.25]
    """

    def __init__(self, scale_value: float) -> None:
        if isinstance(scale_value, bool) or not isinstance(scale_value, (int, float)):
            raise type_error(type(self).__name__, "scale_value", "float or int", scale_value)
        if scale_value < 1.0:
            raise ValueError(f"The argument 'scale_value' must be > 1, but got {scale_value}")
        self.scale_value = Parameter(Tensor(scale_value, np.float32), name="scale_value")

    def scale(self, inputs: Any) -> Any:
        return _grad_scale_map(self.scale_value, inputs)

    def unscale(self, inputs: Any) -> Any:
        return _grad_unscale_map(self.scale_value, inputs)

    def adjust(self, grads_finite: Any) -> Any:
        return False


class DynamicLossScaler(StaticLossScaler):
    """A scale that shrinks by `scale_factor` at an overflow and grows by it after `scale_window` steps without one."""

    def __init__(self, scale_value: float, scale_factor: int, scale_window: int) -> None:
        super().__init__(scale_value)
        for name, value in (("scale_window", scale_window), ("scale_factor", scale_factor)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise type_error("DynamicLossScaler", name, "int", value)
            if value <= 0:
                raise ValueError(f"For 'DynamicLossScaler', the '{name}' must be an int above 0, but got {value}.")
        self.scale_window, self.scale_factor = scale_window, scale_factor
        self.counter = Parameter(Tensor(0, np.int32), name="counter")

    def adjust(self, grads_finite: Any) -> Any:
        finite = grads_finite if isinstance(grads_finite, Tensor) else Tensor(bool(grads_finite))
        larger = self.scale_value * float(self.scale_factor)
        grows = ops.logical_and(self.counter == self.scale_window - 1, ops.isfinite(larger))
        smaller = ops.maximum(self.scale_value / float(self.scale_factor), 1.0)
        counter = (self.counter + 1) % self.scale_window * ops.cast(finite, np.int32)
        self.scale_value.set_data(ops.where(finite, ops.where(grows, larger, self.scale_value), smaller))
        self.counter.set_data(counter)
        return True


__all__ = [
    "DynamicLossScaleManager", "DynamicLossScaler", "FixedLossScaleManager", "LossScaleManager", "LossScaler",
    "StaticLossScaler", "all_finite", "auto_mixed_precision", "build_train_network", "custom_mixed_precision",
    "get_black_list", "get_white_list",
]  # fmt: skip
