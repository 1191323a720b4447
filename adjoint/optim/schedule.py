"""Learning rates as functions of the step. Any function of the step serves; these are MindSpore's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from adjoint.core.errors import ArgumentError, called_at


class LearningRateSchedule:
    """Base of schedules: a subclass writes `construct(global_step)`, which returns the rate of that step.

    >>> import adjoint as ad
    >>> class Halving(ad.optim.LearningRateSchedule):
    ...     def construct(self, global_step):
    ...         return 0.5 ** (global_step + 1)
    >>> w = ad.Parameter(ad.Tensor([1.0]), name="w")
    >>> optimiser = ad.optim.SGD([w], learning_rate=Halving())
    >>> for _ in range(2):
    ...     _ = optimiser((ad.Tensor([1.0]),))
    >>> print(w)
    [0.25]
    """

    def construct(self, global_step: Any) -> Any:
        """The learning rate of a step; the first is 0."""
        raise NotImplementedError(f"{type(self).__name__} has no `construct`: write the rate of a step there")

    def __call__(self, global_step: Any) -> Any:
        return self.construct(int(global_step))


@dataclass(frozen=True)
class _Decay(LearningRateSchedule):
    learning_rate: float
    decay_rate: float
    decay_steps: int
    is_stair: bool = False

    def __post_init__(self) -> None:
        _whole(self, decay_steps=self.decay_steps)
        _positive(self, learning_rate=self.learning_rate, decay_rate=self.decay_rate)

    def part(self, step: int) -> float:
        """How often `decay_steps` fits into the steps so far."""
        return step // self.decay_steps if self.is_stair else step / self.decay_steps


class ExponentialDecayLR(_Decay):
    """`learning_rate * decay_rate ** (step / decay_steps)`; the exponent is rounded down if `is_stair`.

    >>> import adjoint as ad
    >>> schedule = ad.optim.ExponentialDecayLR(learning_rate=0.5, decay_rate=0.25, decay_steps=4)
    >>> schedule(0), schedule(2), schedule(4)
    (0.5, 0.25, 0.125)
    """

    def construct(self, global_step: int) -> float:
        return self.learning_rate * self.decay_rate ** self.part(global_step)


class NaturalExpDecayLR(_Decay):
    """`learning_rate * exp(-decay_rate * step)`; if `is_stair`, the step is rounded down to a multiple of `decay_steps`.

    >>> import adjoint as ad
    >>> round(ad.optim.NaturalExpDecayLR(0.1, 0.9, 4, True)(7), 6)
    0.002732
    """

    def construct(self, global_step: int) -> float:
        step = self.part(global_step) * self.decay_steps if self.is_stair else global_step
        return self.learning_rate * math.exp(-self.decay_rate * step)


class InverseDecayLR(_Decay):
    """`learning_rate / (1 + decay_rate * step / decay_steps)`; the quotient is rounded down if `is_stair`.

    >>> import adjoint as ad
    >>> ad.optim.InverseDecayLR(0.5, 1.0, 4)(4)
    0.25
    """

    def construct(self, global_step: int) -> float:
        return self.learning_rate / (1 + self.decay_rate * self.part(global_step))


@dataclass(frozen=True)
class CosineDecayLR(LearningRateSchedule):
    """From `max_lr` to `min_lr` along half a cosine of `decay_steps` steps, then `min_lr`.

    >>> import adjoint as ad
    >>> schedule = ad.optim.CosineDecayLR(min_lr=0.0, max_lr=0.5, decay_steps=4)
    >>> schedule(0), schedule(2), schedule(9)
    (0.5, 0.25, 0.0)
    """

    min_lr: float
    max_lr: float
    decay_steps: int

    def __post_init__(self) -> None:
        _whole(self, decay_steps=self.decay_steps)
        if not 0 <= self.min_lr < self.max_lr:
            raise ArgumentError(
                f"CosineDecayLR: needs 0 <= min_lr < max_lr, not {self.min_lr} and {self.max_lr}{called_at()}"
            )

    def construct(self, global_step: int) -> float:
        turn = math.pi * min(global_step, self.decay_steps) / self.decay_steps
        return self.min_lr + (self.max_lr - self.min_lr) * (1 + math.cos(turn)) / 2


@dataclass(frozen=True)
class PolynomialDecayLR(LearningRateSchedule):
    """From `learning_rate` to `end_learning_rate` as `(1 - step / decay_steps) ** power`.

    After `decay_steps` steps the rate stays; if `update_decay_steps`, the decay is stretched by another `decay_steps`.

    >>> import adjoint as ad
    >>> schedule = ad.optim.PolynomialDecayLR(0.5, 0.0, decay_steps=4, power=1.0)
    >>> schedule(0), schedule(2), schedule(9)
    (0.5, 0.25, 0.0)
    """

    learning_rate: float
    end_learning_rate: float
    decay_steps: int
    power: float
    update_decay_steps: bool = False

    def __post_init__(self) -> None:
        _whole(self, decay_steps=self.decay_steps)
        _positive(self, learning_rate=self.learning_rate, power=self.power)

    def construct(self, global_step: int) -> float:
        length = self.decay_steps
        if self.update_decay_steps:
            length *= max(math.ceil(global_step / self.decay_steps), 1)
        left = 1 - min(global_step, length) / length
        return (self.learning_rate - self.end_learning_rate) * left**self.power + self.end_learning_rate


@dataclass(frozen=True)
class WarmUpLR(LearningRateSchedule):
    """From 0 to `learning_rate` in `warmup_steps` equal steps, then `learning_rate`.

    >>> import adjoint as ad
    >>> schedule = ad.optim.WarmUpLR(0.5, warmup_steps=2)
    >>> [schedule(i) for i in range(4)]
    [0.0, 0.25, 0.5, 0.5]
    """

    learning_rate: float
    warmup_steps: int

    def __post_init__(self) -> None:
        _whole(self, warmup_steps=self.warmup_steps)
        if self.learning_rate < 0:
            raise ArgumentError(f"WarmUpLR: learning_rate must be >= 0, not {self.learning_rate}{called_at()}")

    def construct(self, global_step: int) -> float:
        return self.learning_rate * min(global_step, self.warmup_steps) / self.warmup_steps


def _whole(schedule: Any, **values: Any) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ArgumentError(
                f"{type(schedule).__name__}: {name} must be an integer above zero, not {value!r}{called_at()}"
            )


def _positive(schedule: Any, **values: float) -> None:
    for name, value in values.items():
        if value <= 0:
            raise ArgumentError(f"{type(schedule).__name__}: {name} must be above zero, not {value}{called_at()}")
