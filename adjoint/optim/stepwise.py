"""Rules that look at the signs of gradients, or average parameters over the steps: Rprop and ASGD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.optim.rule import Rule, Slots


@dataclass(frozen=True)
class RpropRule(Rule):
    """Resilient steps: longer while the sign of a gradient stays, shorter after it has changed.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([1.0]), name="w")
    >>> optimiser = ad.optim.Optimizer(ad.optim.RpropRule(etas=(0.5, 2.0)), [w], learning_rate=0.125)
    >>> for _ in range(2):
    ...     _ = optimiser((ad.Tensor([7.0]),))
    >>> print(w)
    [0.625]
    """

    etas: tuple[float, float] = (0.5, 1.2)
    step_sizes: tuple[float, float] = (1e-6, 50.0)

    @property
    def slots(self) -> tuple[str, ...]:
        return ("prev", "step_size")

    def one(self, w: Any, g: Any, old: Slots, lr: Any, shared: Any, decay: Any) -> tuple[Any, Slots]:
        agree = g * old["prev"]
        size = ops.where(shared == 1, ops.ones_like(w) * lr, old["step_size"])
        factor = ops.where(agree > 0, self.etas[1], ops.where(agree < 0, self.etas[0], 1.0))
        size = ops.minimum(ops.maximum(size * ops.cast(factor, w.dtype), self.step_sizes[0]), self.step_sizes[1])
        g = ops.where(agree < 0, ops.zeros_like(g), g)
        return w - ops.sign(g) * size, {"prev": g, "step_size": size}


@dataclass(frozen=True)
class ASGDRule(Rule):
    """Gradient descent with falling rates; `ax` is the mean of the parameters since step `t0`.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.Tensor([1.0]), name="w")
    >>> _ = ad.optim.Optimizer(ad.optim.ASGDRule(lambd=0.0), [w], learning_rate=0.5)((ad.Tensor([1.0]),))
    >>> print(w)
    [0.5]
    """

    lambd: float = 1e-4
    alpha: float = 0.75
    t0: float = 1e6

    @property
    def slots(self) -> tuple[str, ...]:
        return ("mu", "eta", "ax")

    def first(self, slot: str, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        if slot == "ax":
            return ops.zeros(shape, dtype)
        return ops.full((), 1.0 if slot == "mu" else 0.0, np.float32)

    def one(self, w: Any, g: Any, old: Slots, lr: Any, shared: Any, decay: Any) -> tuple[Any, Slots]:
        mu = old["mu"]
        t = ops.cast(shared, lr.dtype)
        eta = ops.where(shared == 1, lr, old["eta"])
        w = w * (1.0 - self.lambd * eta) - eta * g
        ax = ops.where(mu == 1, w, old["ax"] + (w - old["ax"]) * mu)
        rate = lr / (1.0 + self.lambd * lr * t) ** self.alpha
        return w, {"mu": 1.0 / ops.maximum(t - self.t0, 1.0), "eta": rate, "ax": ax}
