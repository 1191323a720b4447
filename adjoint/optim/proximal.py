"""Rules that keep parameters small or zero: FTRL and proximal Adagrad, with penalties of both kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.optim.rule import Rule, Slots


@dataclass(frozen=True)
class FTRLRule(Rule):
    """Follow the regularised leader, with the penalties `l1 * |w|` and `l2 * w**2`: small parameters become zero.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([1.0, 1.0]), name="w")
    >>> rule = ad.optim.FTRLRule(initial_accum=1.0, l1=2.0)
    >>> _ = ad.optim.Optimizer(rule, [w], learning_rate=1.0)((ad.Tensor([0.0, -3.0]),))
    >>> print(w)
    [0. 1.]
    """

    initial_accum: float = 0.1
    lr_power: float = -0.5
    l1: float = 0.0
    l2: float = 0.0

    @property
    def slots(self) -> tuple[str, ...]:
        return ("moments", "linear")

    def first(self, slot: str, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        return ops.full(shape, self.initial_accum if slot == "moments" else 0.0, dtype)

    def one(self, w: Any, g: Any, old: Slots, lr: Any, shared: Any, decay: Any) -> tuple[Any, Slots]:
        h = old["moments"] + g * g
        root = h**-self.lr_power
        linear = old["linear"] + g - (root - old["moments"] ** -self.lr_power) / lr * w
        short = ops.sign(linear) * self.l1 - linear
        new = ops.where(ops.abs(linear) > self.l1, short / (root / lr + 2.0 * self.l2), ops.zeros_like(w))
        return new, {"moments": h, "linear": linear}


@dataclass(frozen=True)
class ProximalAdagradRule(Rule):
    """Adagrad, after which each parameter is drawn to zero by the penalties `l1` and `l2`.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([1.0]), name="w")
    >>> rule = ad.optim.ProximalAdagradRule(accum=9.0, l1=0.5)
    >>> _ = ad.optim.Optimizer(rule, [w], learning_rate=0.5)((ad.Tensor([4.0]),))
    >>> print(w)
    [0.55]
    """

    accum: float = 0.1
    l1: float = 0.0
    l2: float = 0.0

    @property
    def slots(self) -> tuple[str, ...]:
        return ("accum",)

    def first(self, slot: str, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        return ops.full(shape, self.accum, dtype)

    def one(self, w: Any, g: Any, old: Slots, lr: Any, shared: Any, decay: Any) -> tuple[Any, Slots]:
        h = old["accum"] + g * g
        rate = lr / ops.sqrt(h)
        free = w - rate * g
        size = ops.maximum(ops.abs(free) - rate * self.l1, 0.0) / (1.0 + rate * self.l2)
        return ops.sign(free) * size, {"accum": h}
