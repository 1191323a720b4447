"""mindspore.nn.learning_rate_schedule: learning rates as Cells that are called with the step, a Tensor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.tensor import Tensor
from adjoint.mindspore.checks import at_least_zero, bools, float_above, type_error
from adjoint.mindspore.nn.cell import Cell


class LearningRateSchedule(Cell):
    """Base of schedules: a subclass writes `construct(global_step)`, which returns the rate of that step."""

    def construct(self, global_step: Any) -> Any:
        """The learning rate of a step; the first is 0."""
        raise NotImplementedError


def _single(x: Any) -> Any:
    return ops.cast(x if isinstance(x, Tensor) else Tensor(x), np.float32)


def _positive_int(what: str, **values: Any) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise type_error(what, name, "int", value)
        if value <= 0:
            raise ValueError(f"For '{what}', the '{name}' must be an int above 0, but got {value}.")


class _Decay(LearningRateSchedule):
    def __init__(self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False) -> None:
        super().__init__()
        _positive_int(self.cls_name, decay_steps=decay_steps)
        float_above(self.cls_name, learning_rate=learning_rate, decay_rate=decay_rate)
        bools(self.cls_name, is_stair=is_stair)
        self.learning_rate, self.decay_rate = learning_rate, decay_rate
        self.decay_steps, self.is_stair = decay_steps, is_stair

    def part(self, global_step: Any) -> Any:
        """How often `decay_steps` fits into the steps so far."""
        p = _single(global_step) / self.decay_steps
        return ops.floor(p) if self.is_stair else p


class ExponentialDecayLR(_Decay):
    """`learning_rate * decay_rate ** (step / decay_steps)`; the exponent is rounded down if `is_stair`.

    >>> from adjoint.mindspore import Tensor, nn
    >>> print(nn.ExponentialDecayLR(0.5, 0.25, decay_steps=4)(Tensor(2)))
    0.25
    """

    def construct(self, global_step: Any) -> Any:
        return self.learning_rate * self.decay_rate ** self.part(global_step)


class NaturalExpDecayLR(_Decay):
    """`learning_rate * exp(-decay_rate * step)`; if `is_stair`, the step is rounded down to a multiple of `decay_steps`."""

    def construct(self, global_step: Any) -> Any:
        step = self.part(global_step) * self.decay_steps if self.is_stair else _single(global_step)
        return self.learning_rate * ops.exp(-self.decay_rate * step)


class InverseDecayLR(_Decay):
    """`learning_rate / (1 + decay_rate * step / decay_steps)`; the quotient is rounded down if `is_stair`."""

    def construct(self, global_step: Any) -> Any:
        return self.learning_rate / (1.0 + self.decay_rate * self.part(global_step))


class CosineDecayLR(LearningRateSchedule):
    """From `max_lr` to `min_lr` along half a cosine of `decay_steps` steps, then `min_lr`."""

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int) -> None:
        super().__init__()
        at_least_zero(self.cls_name, min_lr=min_lr)
        float_above(self.cls_name, max_lr=max_lr)
        _positive_int(self.cls_name, decay_steps=decay_steps)
        if min_lr >= max_lr:
            raise ValueError(
                f"For 'CosineDecayLR', the 'max_lr' must be greater than the 'min_lr', but got 'max_lr' value: {max_lr}, "
                f"'min_lr' value: {min_lr}."
            )
        self.min_lr, self.max_lr, self.decay_steps = min_lr, max_lr, decay_steps

    def construct(self, global_step: Any) -> Any:
        p = ops.minimum(_single(global_step), float(self.decay_steps)) / self.decay_steps
        return self.min_lr + 0.5 * (self.max_lr - self.min_lr) * (1.0 + ops.cos(math.pi * p))


class PolynomialDecayLR(LearningRateSchedule):
    """From `learning_rate` to `end_learning_rate` as `(1 - step / decay_steps) ** power`.

    After `decay_steps` steps the rate stays; if `update_decay_steps`, the decay is stretched by another `decay_steps`.
    """

    def __init__(
        self, learning_rate: float, end_learning_rate: float, decay_steps: int, power: float,
        update_decay_steps: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        float_above(self.cls_name, learning_rate=learning_rate)
        at_least_zero(self.cls_name, end_learning_rate=end_learning_rate)
        _positive_int(self.cls_name, decay_steps=decay_steps)
        bools(self.cls_name, update_decay_steps=update_decay_steps)
        float_above(self.cls_name, power=power)
        self.start_learning_rate, self.end_learning_rate = learning_rate, end_learning_rate
        self.decay_steps, self.power, self.update_decay_steps = decay_steps, power, update_decay_steps

    def construct(self, global_step: Any) -> Any:
        step, length = _single(global_step), float(self.decay_steps)
        if self.update_decay_steps:
            length = length * ops.maximum(ops.ceil(step / length), 1.0)
        else:
            step = ops.minimum(step, length)
        left = (1.0 - step / length) ** self.power
        return (self.start_learning_rate - self.end_learning_rate) * left + self.end_learning_rate


class WarmUpLR(LearningRateSchedule):
    """From 0 to `learning_rate` in `warmup_steps` equal steps, then `learning_rate`."""

    def __init__(self, learning_rate: float, warmup_steps: int) -> None:
        super().__init__()
        at_least_zero(self.cls_name, learning_rate=learning_rate)
        _positive_int(self.cls_name, warmup_steps=warmup_steps)
        self.warmup_steps, self.learning_rate = warmup_steps, learning_rate

    def construct(self, global_step: Any) -> Any:
        return self.learning_rate * (ops.minimum(_single(global_step), float(self.warmup_steps)) / self.warmup_steps)


__all__ = [
    "CosineDecayLR", "ExponentialDecayLR", "InverseDecayLR", "LearningRateSchedule", "NaturalExpDecayLR",
    "PolynomialDecayLR", "WarmUpLR",
]  # fmt: skip
