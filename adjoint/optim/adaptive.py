"""Adagrad and RMSProp: steps divided by the size of past gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.optim.groups import LearningRate, Params, WeightDecay
from adjoint.optim.optimizer import Optimizer, at_least_zero
from adjoint.optim.rule import Rule, Slots


@dataclass(frozen=True)
class AdagradRule(Rule):
    """`h += g**2` (if `update_slots`), `w -= lr * g / sqrt(h)`."""

    accum: float = 0.1
    update_slots: bool = True

    @property
    def slots(self) -> tuple[str, ...]:
        return ("accum",)

    def first(self, slot: str, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        return ops.full(shape, self.accum, dtype)

    def one(self, w: Any, g: Any, old: Slots, lr: Any, shared: Any, decay: Any) -> tuple[Any, Slots]:
        h = old["accum"] + g * g if self.update_slots else old["accum"]
        return w - lr * g / ops.sqrt(h), {"accum": h}


@dataclass(frozen=True)
class RMSPropRule(Rule):
    """`s = decay * s + (1 - decay) * g**2`, `m = momentum * m + lr * g / sqrt(s + epsilon)`, `w -= m`; see `RMSProp`."""

    decay: float = 0.9
    momentum: float = 0.0
    epsilon: float = 1e-10
    centered: bool = False
    start: float = 1.0  # where the mean square begins; PyTorch takes 0

    @property
    def slots(self) -> tuple[str, ...]:
        return ("mean_square", "moment", *(("mean_grad",) if self.centered else ()))

    def first(self, slot: str, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        return ops.full(shape, self.start if slot == "mean_square" else 0.0, dtype)

    def one(self, w: Any, g: Any, old: Slots, lr: Any, shared: Any, decay: Any) -> tuple[Any, Slots]:
        slots = {"mean_square": self.decay * old["mean_square"] + (1.0 - self.decay) * (g * g)}
        size = slots["mean_square"]
        if self.centered:
            mean = slots["mean_grad"] = self.decay * old["mean_grad"] + (1.0 - self.decay) * g
            size = size - mean * mean
        slots["moment"] = self.momentum * old["moment"] + lr * g / ops.sqrt(size + self.epsilon)
        return w - slots["moment"], slots


class Adagrad(Optimizer):
    """Adagrad: each element's step is divided by the root of the sum of its squared gradients.

    Args:
        params: Parameters, or groups of them (see `Optimizer`).
        accum: where the sums begin.
        learning_rate: a number, one number for each step, or a function of the step.
        update_slots: whether gradients are added to the sums.
        loss_scale: what the loss was multiplied by.
        weight_decay: the coefficient of an L2 penalty.
        jit: compile the update.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([1.0]), name="w")
    >>> _ = ad.optim.Adagrad([w], accum=9.0, learning_rate=0.5)((ad.Tensor([4.0]),))
    >>> print(w)
    [0.6]
    """

    def __init__(
        self,
        params: Params,
        accum: float = 0.1,
        learning_rate: LearningRate = 0.001,
        update_slots: bool = True,
        loss_scale: float = 1.0,
        weight_decay: WeightDecay = 0.0,
        *,
        jit: bool = True,
    ) -> None:
        at_least_zero("Adagrad", accum=accum)
        rule = AdagradRule(accum=accum, update_slots=update_slots, loss_scale=loss_scale)
        super().__init__(rule, params, learning_rate, weight_decay, jit=jit)


class RMSProp(Optimizer):
    """RMSProp: each element's step is divided by a running root mean square of its gradient.

    The mean square begins at 1, as in MindSpore; `RMSPropRule(start=0.0)` begins at 0.

    Args:
        params: Parameters, or groups of them (see `Optimizer`).
        learning_rate: a number, one number for each step, or a function of the step.
        decay: how much of the mean square is kept.
        momentum: how much of the last step is kept.
        epsilon: keeps the division away from zero.
        use_locking: taken for MindSpore's programs, and the same either way: call an optimiser from one thread at a time.
        centered: divide by the standard deviation in place of the root mean square.
        loss_scale: what the loss was multiplied by.
        weight_decay: the coefficient of an L2 penalty.
        jit: compile the update.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([1.0]), name="w")
    >>> _ = ad.optim.RMSProp([w], learning_rate=0.5, decay=0.5)((ad.Tensor([1.0]),))
    >>> print(w)
    [0.5]
    """

    def __init__(
        self,
        params: Params,
        learning_rate: LearningRate = 0.1,
        decay: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        loss_scale: float = 1.0,
        weight_decay: WeightDecay = 0.0,
        *,
        jit: bool = True,
    ) -> None:
        at_least_zero("RMSProp", decay=decay, momentum=momentum, epsilon=epsilon)
        rule = RMSPropRule(decay=decay, momentum=momentum, epsilon=epsilon, centered=centered, loss_scale=loss_scale)
        super().__init__(rule, params, learning_rate, weight_decay, jit=jit)
