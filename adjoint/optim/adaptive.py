"""Adagrad, RMSProp, Adadelta and AdaFactor: steps divided by the size of past gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.optim.groups import LearningRate, Params, WeightDecay
from adjoint.optim.optimizer import Optimizer, at_least_zero
from adjoint.optim.rule import Rule, Slots, is_none


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


@dataclass(frozen=True)
class AdadeltaRule(Rule):
    """`h = rho * h + (1 - rho) * g**2`, `d = sqrt(u + epsilon) / sqrt(h + epsilon) * g`, `u` the like mean of `d**2`, `w -= lr * d`.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([1.0]), name="w")
    >>> _ = ad.optim.Optimizer(ad.optim.AdadeltaRule(rho=0.0, epsilon=1e-4), [w], learning_rate=50.0)((ad.Tensor([3.0]),))
    >>> print(w.asnumpy().round(3))
    [0.5]
    """

    rho: float = 0.9
    epsilon: float = 1e-6

    @property
    def slots(self) -> tuple[str, ...]:
        return ("accum", "accum_update")

    def one(self, w: Any, g: Any, old: Slots, lr: Any, shared: Any, decay: Any) -> tuple[Any, Slots]:
        h = self.rho * old["accum"] + (1.0 - self.rho) * (g * g)
        d = ops.sqrt(old["accum_update"] + self.epsilon) / ops.sqrt(h + self.epsilon) * g
        u = self.rho * old["accum_update"] + (1.0 - self.rho) * (d * d)
        return w - lr * d, {"accum": h, "accum_update": u}


@dataclass(frozen=True)
class AdaFactorRule(Rule):
    """Steps divided by a root mean square that is kept by rows and columns alone; see Shazeer and Stern, 2018.

    `eps` are added to squares and to the size of parameters; an update longer than `clip_threshold` is shortened; with
    `beta1` a running mean of updates is taken; with `scale_parameter` rates are multiplied by the size of the parameter.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([[2.0, 2.0]]), name="w")
    >>> rule = ad.optim.AdaFactorRule(beta1=0.0, scale_parameter=False)
    >>> _ = ad.optim.Optimizer(rule, [w], learning_rate=0.5)((ad.Tensor([[3.0, -3.0]]),))
    >>> print(w)
    [[1.5 2.5]]
    """

    eps: tuple[float, float] = (1e-30, 1e-3)
    clip_threshold: float = 1.0
    decay_rate: float = 0.8
    beta1: float = 0.9
    scale_parameter: bool = True

    decoupled = True

    @property
    def slots(self) -> tuple[str, ...]:
        return (*(("exp_avg",) if self.beta1 else ()), "exp_avg_sq_row", "exp_avg_sq_col", "exp_avg_sq")

    def first(self, slot: str, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        factored = len(shape) > 1
        sizes = {
            "exp_avg": shape,
            "exp_avg_sq_row": shape[:-1] if factored else (1,),
            "exp_avg_sq_col": (*shape[:-2], shape[-1]) if factored else (1,),
            "exp_avg_sq": (1,) if factored else shape,
        }
        return ops.zeros(sizes[slot], dtype)

    def shared(self, step: Any) -> Any:
        return 1.0 - ops.cast(step, np.float64) ** -self.decay_rate

    def one(self, w: Any, g: Any, old: Slots, lr: Any, shared: Any, decay: Any) -> tuple[Any, Slots]:
        if self.scale_parameter:
            lr = lr * ops.maximum(_root_mean_square(w), self.eps[1])
        scaled, slots = self._scaled(g, old, ops.cast(shared, g.dtype))
        update = scaled / ops.maximum(_root_mean_square(scaled) / self.clip_threshold, 1.0) * lr
        if self.beta1:
            update = slots["exp_avg"] = self.beta1 * old["exp_avg"] + (1.0 - self.beta1) * update
        if not is_none(decay):
            w = w - w * decay * lr
        return w - update, slots

    def _scaled(self, g: Any, old: Slots, kept: Any) -> tuple[Any, Slots]:
        """The gradient divided by its root mean square, and the means after this step."""
        square, slots = g * g + self.eps[0], dict(old)
        if g.ndim < 2:
            mean = slots["exp_avg_sq"] = old["exp_avg_sq"] * kept + square * (1.0 - kept)
            return g / ops.sqrt(mean), slots
        row = slots["exp_avg_sq_row"] = old["exp_avg_sq_row"] * kept + ops.mean(square, -1) * (1.0 - kept)
        col = slots["exp_avg_sq_col"] = old["exp_avg_sq_col"] * kept + ops.mean(square, -2) * (1.0 - kept)
        share = row / ops.mean(row, -1, True)
        return g / ops.sqrt(ops.expand_dims(share, -1)) / ops.sqrt(ops.expand_dims(col, -2)), slots


def _root_mean_square(x: Any) -> Any:
    return ops.sqrt(ops.mean(x * x))
