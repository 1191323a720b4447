"""Losses scaled so that small gradients survive half precision."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from adjoint.core import tree
from adjoint.core.errors import ArgumentError, called_at


def all_finite(inputs: Iterable[Any]) -> bool:
    """Whether no element of these arrays is infinite or not a number.

    >>> import adjoint as ad
    >>> all_finite([ad.Tensor([1.0]), ad.Tensor([float("inf")])])
    False
    """
    return all(bool(np.isfinite(np.asarray(x, np.float32)).all()) for x in inputs)


class LossScale:
    """A factor for the loss: `scale` it, `unscale` the gradients, and `adjust` the factor after each step."""

    drop_overflow_update = True  # leave out a step whose gradients are not finite

    def __init__(self, scale_value: float) -> None:
        if not scale_value > 0 or not np.isfinite(scale_value):
            raise ArgumentError(f"{type(self).__name__}: the scale must be above 0, not {scale_value!r}{called_at()}")
        self.scale_value = float(scale_value)

    def scale(self, inputs: Any) -> Any:
        """The values times the scale."""
        return tree.map(lambda x: x * self.scale_value, inputs)

    def unscale(self, inputs: Any) -> Any:
        """The values divided by the scale."""
        return tree.map(lambda x: x / self.scale_value, inputs)

    def adjust(self, grads_finite: bool) -> bool:
        """Take note of a step; returns whether the scale changed."""
        raise NotImplementedError


class StaticLossScaler(LossScale):
    """A scale that stays as it is.

    >>> import adjoint as ad
    >>> scaler = StaticLossScaler(128.0)
    >>> print(scaler.scale(ad.Tensor([1.0])), scaler.adjust(False), scaler.scale_value)
    [128.] False 128.0
    """

    def adjust(self, grads_finite: bool) -> bool:
        return False


class DynamicLossScaler(LossScale):
    """A scale that shrinks by `scale_factor` at an overflow and grows by it after `scale_window` steps without one.

    >>> scaler = DynamicLossScaler(scale_value=8.0, scale_factor=2, scale_window=2)
    >>> changed = [scaler.adjust(finite) for finite in (False, True, True)]
    >>> changed, scaler.scale_value
    ([True, False, True], 8.0)
    """

    def __init__(self, scale_value: float, scale_factor: float, scale_window: int) -> None:
        super().__init__(scale_value)
        if not scale_factor > 1 or scale_window < 1:
            raise ArgumentError(f"DynamicLossScaler: the factor must be above 1, the window at least 1{called_at()}")
        self.scale_factor, self.scale_window, self.counter = float(scale_factor), int(scale_window), 0

    def adjust(self, grads_finite: bool) -> bool:
        before = self.scale_value
        self.counter = self.counter + 1 if grads_finite else 0
        if not grads_finite:
            self.scale_value = max(before / self.scale_factor, 1.0)
        elif self.counter == self.scale_window:
            self.scale_value, self.counter = min(before * self.scale_factor, 2.0**100), 0
        return self.scale_value != before


class FixedLossScaleManager(StaticLossScaler):
    """`StaticLossScaler` by MindSpore's older name and arguments.

    >>> FixedLossScaleManager(1024.0).get_loss_scale()
    1024.0
    """

    def __init__(self, loss_scale: float = 128.0, drop_overflow_update: bool = True) -> None:
        super().__init__(loss_scale)
        self.drop_overflow_update = drop_overflow_update

    def get_loss_scale(self) -> float:
        """The scale."""
        return self.scale_value


class DynamicLossScaleManager(DynamicLossScaler):
    """`DynamicLossScaler` by MindSpore's older name and arguments.

    >>> DynamicLossScaleManager().get_loss_scale()
    16777216.0
    """

    def __init__(self, init_loss_scale: float = 2**24, scale_factor: float = 2, scale_window: int = 2000) -> None:
        super().__init__(init_loss_scale, scale_factor, scale_window)

    def get_loss_scale(self) -> float:
        """The scale at present."""
        return self.scale_value


def loss_scale(given: LossScale | float) -> LossScale:
    """A LossScale as it is, a number as one that stays."""
    if isinstance(given, LossScale):
        return given
    return StaticLossScaler(float(np.asarray(given)))
