"""mindspore.train.loss_scale_manager: who keeps the scale of the loss."""

from __future__ import annotations

from typing import Any

from adjoint.mindspore.nn.wrap.loss_scale import DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell


class LossScaleManager:
    """Base of managers: a subclass writes all three methods."""

    def get_loss_scale(self) -> Any:
        """The scale at present."""

    def update_loss_scale(self, overflow: Any) -> None:
        """Take note of a step."""

    def get_update_cell(self) -> Any:
        """A Cell that does the same in a step of training; None for a scale that stays."""


class FixedLossScaleManager(LossScaleManager):
    """A scale that stays; with `drop_overflow_update` a step whose gradients are not finite is left out.

    >>> FixedLossScaleManager(1024.0).get_loss_scale()
    1024.0
    """

    def __init__(self, loss_scale: float = 128.0, drop_overflow_update: bool = True) -> None:
        if loss_scale < 1:
            raise ValueError(f"The argument 'loss_scale' must be >= 1, but got {loss_scale}")
        self._loss_scale, self._drop_overflow_update = loss_scale, drop_overflow_update

    def get_loss_scale(self) -> float:
        return self._loss_scale

    def get_drop_overflow_update(self) -> bool:
        """Whether a step that overflows is left out."""
        return self._drop_overflow_update

    def get_update_cell(self) -> Any:
        return FixedLossScaleUpdateCell(self._loss_scale) if self._drop_overflow_update else None


class DynamicLossScaleManager(LossScaleManager):
    """A scale that shrinks at an overflow and grows after `scale_window` steps without one.

    >>> manager = DynamicLossScaleManager(init_loss_scale=8, scale_factor=2, scale_window=2)
    >>> manager.update_loss_scale(True)
    >>> manager.get_loss_scale()
    4.0
    """

    def __init__(self, init_loss_scale: float = 2**24, scale_factor: float = 2, scale_window: int = 2000) -> None:
        if init_loss_scale < 1.0:
            raise ValueError(f"The argument 'init_loss_scale' must be > 1, but got {init_loss_scale}")
        if not isinstance(scale_window, int) or scale_window <= 0:
            raise ValueError(
                f"For 'DynamicLossScaleManager', the 'scale_window' must be an int above 0, not {scale_window}."
            )
        if scale_factor <= 0:
            raise ValueError(f"The argument 'scale_factor' must be > 0, but got {scale_factor}")
        self.loss_scale, self.scale_factor, self.scale_window = init_loss_scale, scale_factor, scale_window
        self.increase_ratio, self.decrease_ratio = scale_factor, 1 / scale_factor
        self.cur_iter, self.last_overflow_iter, self.bad_step_max, self.bad_step = 1, 0, 1000, 0

    def get_loss_scale(self) -> float:
        return self.loss_scale

    def update_loss_scale(self, overflow: Any) -> None:
        if overflow:
            self.loss_scale = max(self.loss_scale * self.decrease_ratio, 1)
            self.last_overflow_iter, self.bad_step = self.cur_iter, self.bad_step + 1
        else:
            if (self.cur_iter - self.last_overflow_iter) % self.scale_window == 0:
                self.loss_scale *= self.increase_ratio
            self.bad_step = 0
        if self.bad_step > self.bad_step_max:
            raise RuntimeError(f"Dynamic loss scale: {self.bad_step} steps overflowed one after another.")
        self.cur_iter += 1

    def get_drop_overflow_update(self) -> bool:
        """A step that overflows is left out."""
        return True

    def get_update_cell(self) -> Any:
        return DynamicLossScaleUpdateCell(self.loss_scale, self.scale_factor, self.scale_window)  # type: ignore[arg-type]
