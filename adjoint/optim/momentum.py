"""Gradient descent with and without momentum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adjoint import ops
from adjoint.core.errors import ArgumentError, called_at
from adjoint.optim.groups import LearningRate, Params, WeightDecay
from adjoint.optim.optimizer import Optimizer, at_least_zero
from adjoint.optim.rule import Rule, Slots


@dataclass(frozen=True)
class SGDRule(Rule):
    """`v = momentum * v + (1 - dampening) * g` (at the first step `v = g`), `w -= lr * v`; see `SGD`."""

    momentum: float = 0.0
    dampening: float = 0.0
    nesterov: bool = False

    @property
    def slots(self) -> tuple[str, ...]:
        return ("accum",) if self.momentum else ()

    def one(self, w: Any, g: Any, old: Slots, lr: Any, shared: Any, decay: Any) -> tuple[Any, Slots]:
        if not self.momentum:
            return w - lr * g, {}
        v = self.momentum * old["accum"] + (1.0 - self.dampening) * g
        if self.dampening:
            v = ops.where(shared == 1, g, v)
        return w - lr * (g + self.momentum * v if self.nesterov else v), {"accum": v}


@dataclass(frozen=True)
class MomentumRule(Rule):
    """`v = momentum * v + g`, `w -= lr * v`; with Nesterov's change `w -= lr * (g + momentum * v)`."""

    momentum: float = 0.9
    nesterov: bool = False

    @property
    def slots(self) -> tuple[str, ...]:
        return ("moments",)

    def one(self, w: Any, g: Any, old: Slots, lr: Any, shared: Any, decay: Any) -> tuple[Any, Slots]:
        v = self.momentum * old["moments"] + g
        return w - lr * (g + self.momentum * v if self.nesterov else v), {"moments": v}


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum if asked for.

    Args:
        params: Parameters, or groups of them (see `Optimizer`).
        learning_rate: a number, one number for each step, or a function of the step.
        momentum: how much of the last velocity is kept.
        dampening: how much of a gradient is left out of the velocity, from the second step on.
        weight_decay: the coefficient of an L2 penalty.
        nesterov: look ahead along the velocity; needs momentum and no dampening.
        loss_scale: what the loss was multiplied by.
        jit: compile the update.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([1.0, 2.0]), name="w")
    >>> optimiser = ad.optim.SGD([w], learning_rate=0.5)
    >>> optimiser((ad.Tensor([1.0, 1.0]),))
    True
    >>> print(w)
    [0.5 1.5]
    """

    def __init__(
        self,
        params: Params,
        learning_rate: LearningRate = 0.1,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: WeightDecay = 0.0,
        nesterov: bool = False,
        loss_scale: float = 1.0,
        *,
        jit: bool = True,
    ) -> None:
        at_least_zero("SGD", momentum=momentum, dampening=dampening)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ArgumentError(f"SGD: nesterov needs a momentum above zero and no dampening{called_at()}")
        rule = SGDRule(momentum=momentum, dampening=dampening, nesterov=nesterov, loss_scale=loss_scale)
        super().__init__(rule, params, learning_rate, weight_decay, jit=jit)


class Momentum(Optimizer):
    """Gradient descent with momentum.

    Args:
        params: Parameters, or groups of them (see `Optimizer`).
        learning_rate: a number, one number for each step, or a function of the step.
        momentum: how much of the last velocity is kept.
        weight_decay: the coefficient of an L2 penalty.
        loss_scale: what the loss was multiplied by.
        use_nesterov: look ahead along the velocity.
        jit: compile the update.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([1.0]), name="w")
    >>> optimiser = ad.optim.Momentum([w], 0.1, 0.5)
    >>> for _ in range(2):
    ...     _ = optimiser((ad.Tensor([1.0]),))
    >>> print(w, list(optimiser.parameters_dict()))
    [0.75] ['global_step', 'moments.w']
    """

    def __init__(
        self,
        params: Params,
        learning_rate: LearningRate,
        momentum: float,
        weight_decay: WeightDecay = 0.0,
        loss_scale: float = 1.0,
        use_nesterov: bool = False,
        *,
        jit: bool = True,
    ) -> None:
        at_least_zero("Momentum", momentum=momentum)
        rule = MomentumRule(momentum=momentum, nesterov=use_nesterov, loss_scale=loss_scale)
        super().__init__(rule, params, learning_rate, weight_decay, jit=jit)
