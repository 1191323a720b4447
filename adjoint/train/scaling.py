"""Half precision: a network that computes in it, and losses scaled so that small gradients survive."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from adjoint.core import tree
from adjoint.core.context import readable
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import float16, float32
from adjoint.core.tensor import Tensor
from adjoint.nn.cell import Cell
from adjoint.ops import cast


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
    """A fixed scale by MindSpore's older name.

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
    """A scale that follows overflows, by MindSpore's older name.

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


class MixedPrecision(Cell):
    """A network that computes in half precision, with its output in float32 for the loss."""

    def __init__(self, network: Cell, dtype: Any) -> None:
        super().__init__()
        self._cells["network"] = network  # no prefix for the names of its Parameters
        self.half = np.dtype(dtype)

    def construct(self, *inputs: Any) -> Any:
        return tree.map(self._widened, readable(self.network)(*inputs))

    def _widened(self, y: Any) -> Any:
        return cast(y, float32) if isinstance(y, Tensor) and y.dtype == self.half else y


def auto_mixed_precision(network: Cell, amp_level: str = "O2", dtype: Any = float16) -> Cell:
    """The network switched to half precision, by `to_float` of its layers; Parameters, gradients and output are float32.

    Level "O0" leaves it as it is, "O2" keeps layers that normalise in float32, "O3" halves all. Train it with a scaled loss: `Model(..., loss_scale_manager=...)`.

    >>> import adjoint as ad
    >>> net = ad.nn.Cell()
    >>> net.w = ad.Parameter(ad.Tensor([1 / 3]))
    >>> net.construct = lambda x: net.w * x
    >>> y = auto_mixed_precision(net)(ad.Tensor([1.0]))
    >>> print(y, y.dtype)
    [0.33325195] float32
    """
    if amp_level not in ("O0", "O2", "O3"):
        raise ArgumentError(f"auto_mixed_precision: the level must be O0, O2 or O3, not {amp_level!r}{called_at()}")
    if amp_level == "O0":
        return network
    for _, cell in network.cells_and_names():
        if "Norm" in type(cell).__name__ and amp_level == "O2":
            cell.to_float(float32)
        elif cell is network or cell._params:
            cell.to_float(dtype)
    return MixedPrecision(network, dtype)
