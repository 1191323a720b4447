"""Adam and its relatives: steps scaled by running means of the gradients and of their squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from adjoint import ops
from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.optim.groups import LearningRate, Params, WeightDecay
from adjoint.optim.optimizer import Optimizer
from adjoint.optim.rule import Rule, Slots, is_none


@dataclass(frozen=True)
class _Moments(Rule):
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8

    names: ClassVar[tuple[str, str]] = ("moment1", "moment2")

    @property
    def slots(self) -> tuple[str, ...]:
        return self.names

    def shared(self, step: Any) -> Any:
        """By how much both running means fall short at a step, since they began at zero."""
        t = ops.cast(step, np.float64)
        return 1.0 - self.beta1**t, 1.0 - self.beta2**t

    def means(self, g: Any, old: Slots) -> tuple[Any, Any]:
        """The running means with another gradient in them."""
        m, v = (old[name] for name in self.names)
        return self.beta1 * m + (1.0 - self.beta1) * g, self.beta2 * v + (1.0 - self.beta2) * (g * g)

    def corrected(self, m: Any, v: Any, shared: Any) -> tuple[Any, Any]:
        """The running means as if they had not begun at zero."""
        first, second = (ops.cast(c, m.dtype) for c in shared)
        return m / first, v / second


@dataclass(frozen=True)
class AdamRule(_Moments):
    """`w -= lr * sqrt(1 - beta2**t) / (1 - beta1**t) * m / (sqrt(v) + eps)`; see `Adam`."""

    nesterov: bool = False
    amsgrad: bool = False

    @property
    def slots(self) -> tuple[str, ...]:
        return (*self.names, "vhat") if self.amsgrad else self.names

    def one(self, w: Any, g: Any, old: Slots, lr: Any, shared: Any, decay: Any) -> tuple[Any, Slots]:
        m, v = self.means(g, old)
        first, second = shared
        rate = lr * ops.cast(ops.sqrt(second) / first, w.dtype)
        slots = {"moment1": m, "moment2": v}
        if self.amsgrad:
            v = slots["vhat"] = ops.maximum(old["vhat"], v)
        ahead = self.beta1 * m + (1.0 - self.beta1) * g if self.nesterov else m
        return w - rate * ahead / (ops.sqrt(v) + self.eps), slots


@dataclass(frozen=True)
class AdamWeightDecayRule(_Moments):
    """`w -= lr * (m / (sqrt(v) + eps) + decay * w)`, the means corrected if `correct`."""

    eps: float = 1e-6
    correct: bool = False

    names = ("adam_m", "adam_v")
    decoupled = True

    def one(self, w: Any, g: Any, old: Slots, lr: Any, shared: Any, decay: Any) -> tuple[Any, Slots]:
        means = self.means(g, old)
        m, v = self.corrected(*means, shared) if self.correct else means
        direction = m / (ops.sqrt(v) + self.eps)
        if not is_none(decay):
            direction = direction + decay * w
        return w - lr * direction, dict(zip(self.names, means, strict=True))


@dataclass(frozen=True)
class AdaMaxRule(_Moments):
    """Adam with the largest gradient so far, fading, in place of the mean square: `w -= lr / (1 - beta1**t) * m / (v + eps)`.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([1.0]), name="w")
    >>> _ = ad.optim.Optimizer(ad.optim.AdaMaxRule(), [w], learning_rate=0.5)((ad.Tensor([8.0]),))
    >>> print(w)
    [0.5]
    """

    def one(self, w: Any, g: Any, old: Slots, lr: Any, shared: Any, decay: Any) -> tuple[Any, Slots]:
        m = self.beta1 * old["moment1"] + (1.0 - self.beta1) * g
        v = ops.maximum(self.beta2 * old["moment2"], ops.abs(g))
        return w - lr / ops.cast(shared[0], w.dtype) * m / (v + self.eps), {"moment1": m, "moment2": v}


@dataclass(frozen=True)
class LambRule(_Moments):
    """The direction of Adam with decay, as long as the parameter itself: `w -= lr * |w| / |r| * r`; see `Lamb`."""

    eps: float = 1e-6

    names = ("lamb_m", "lamb_v")
    decoupled = True

    def one(self, w: Any, g: Any, old: Slots, lr: Any, shared: Any, decay: Any) -> tuple[Any, Slots]:
        means = self.means(g, old)
        m, v = self.corrected(*means, shared)
        r = m / (ops.sqrt(v) + self.eps) + decay * w
        of_w, of_r = ops.sqrt((w * w).sum()), ops.sqrt((r * r).sum())
        both = ops.logical_and(of_w > 0, of_r > 0)
        trust = ops.where(both, of_w / ops.where(both, of_r, 1.0), 1.0)
        return w - lr * trust * r, dict(zip(self.names, means, strict=True))


class Adam(Optimizer):
    """Adam: each element's step is scaled by running means of its gradient and of its square.

    `eps` is added to `sqrt(v)` before the correction, as MindSpore does.

    Args:
        params: Parameters, or groups of them (see `Optimizer`).
        learning_rate: a number, one number for each step, or a function of the step.
        beta1: how much of the mean of the gradients is kept.
        beta2: how much of the mean of their squares is kept.
        eps: keeps the division away from zero.
        use_locking: taken for MindSpore's programs, and the same either way: call an optimiser from one thread at a time.
        use_nesterov: look ahead along the mean of the gradients.
        weight_decay: the coefficient of an L2 penalty.
        loss_scale: what the loss was multiplied by.
        use_amsgrad: divide by the largest mean so far.
        jit: compile the update.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([1.0, 2.0]), name="w")
    >>> optimiser = ad.optim.Adam([w], learning_rate=0.5)
    >>> _ = optimiser((ad.Tensor([3.0, -0.1]),))
    >>> print(w.asnumpy().round(3))
    [0.5 2.5]
    """

    def __init__(
        self,
        params: Params,
        learning_rate: LearningRate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: WeightDecay = 0.0,
        loss_scale: float = 1.0,
        use_amsgrad: bool = False,
        *,
        jit: bool = True,
    ) -> None:
        _check("Adam", beta1, beta2, eps)
        rule = AdamRule(
            beta1=beta1, beta2=beta2, eps=eps, nesterov=use_nesterov, amsgrad=use_amsgrad, loss_scale=loss_scale
        )
        super().__init__(rule, params, learning_rate, weight_decay, jit=jit)


class AdamWeightDecay(Optimizer):
    """Adam with the decay apart from the gradient, and with the running means as they are, as in MindSpore.

    Args:
        params: Parameters, or groups of them (see `Optimizer`).
        learning_rate: a number, one number for each step, or a function of the step.
        beta1: how much of the mean of the gradients is kept.
        beta2: how much of the mean of their squares is kept.
        eps: keeps the division away from zero.
        weight_decay: the part of a parameter that is taken away, times the learning rate.
        jit: compile the update.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([1.0]), name="w")
    >>> optimiser = ad.optim.AdamWeightDecay([w], learning_rate=0.5, weight_decay=0.5)
    >>> _ = optimiser((ad.Tensor([0.0]),))
    >>> print(w)
    [0.75]
    """

    _correct = False

    def __init__(
        self,
        params: Params,
        learning_rate: LearningRate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: WeightDecay = 0.0,
        *,
        jit: bool = True,
    ) -> None:
        _check(type(self).__name__, beta1, beta2, eps)
        rule = AdamWeightDecayRule(beta1=beta1, beta2=beta2, eps=eps, correct=self._correct)
        super().__init__(rule, params, learning_rate, weight_decay, jit=jit)


class AdamW(AdamWeightDecay):
    """Adam with the decay apart from the gradient, as published: the running means are corrected.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([1.0]), name="w")
    >>> _ = ad.optim.AdamW([w], learning_rate=0.25, weight_decay=0.0)((ad.Tensor([8.0]),))
    >>> print(w)
    [0.75]
    """

    _correct = True

    def __init__(
        self,
        params: Params,
        learning_rate: LearningRate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: WeightDecay = 0.01,
        *,
        jit: bool = True,
    ) -> None:
        super().__init__(params, learning_rate, beta1, beta2, eps, weight_decay, jit=jit)


class Lamb(Optimizer):
    """LAMB: the direction of Adam, each parameter's step made as long as the parameter, for large batches.

    Args:
        params: Parameters, or groups of them (see `Optimizer`).
        learning_rate: a number, one number for each step, or a function of the step.
        beta1: how much of the mean of the gradients is kept.
        beta2: how much of the mean of their squares is kept.
        eps: keeps the division away from zero.
        weight_decay: how much of the parameter is added to the direction.
        jit: compile the update.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([3.0, 4.0]), name="w")
    >>> _ = ad.optim.Lamb([w], learning_rate=0.1)((ad.Tensor([1.0, 0.0]),))
    >>> print(w)
    [2.5 4. ]
    """

    def __init__(
        self,
        params: Params,
        learning_rate: LearningRate,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: WeightDecay = 0.0,
        *,
        jit: bool = True,
    ) -> None:
        _check("Lamb", beta1, beta2, eps)
        rule = LambRule(beta1=beta1, beta2=beta2, eps=eps)
        super().__init__(rule, params, learning_rate, weight_decay, jit=jit)


def _check(what: str, beta1: float, beta2: float, eps: float) -> None:
    for name, beta in (("beta1", beta1), ("beta2", beta2)):
        if isinstance(beta, (tuple, list)):
            raise ArgumentTypeError(
                f"{what}: {name} is one number, not {beta!r}; two together are given as betas={beta!r}{called_at()}"
            )
        if not 0.0 < beta < 1.0:
            raise ArgumentError(f"{what}: {name} must lie between 0 and 1, not {beta}{called_at()}")
    if eps <= 0:
        raise ArgumentError(f"{what}: eps must be above zero, not {eps}{called_at()}")
