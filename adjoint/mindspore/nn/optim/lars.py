"""mindspore.nn.LARS: rates by layer, from the sizes of its Parameters and gradients, around another optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.tensor import Tensor
from adjoint.mindspore.checks import bools, floats, type_error
from adjoint.mindspore.common.parameter import Parameter
from adjoint.mindspore.nn.optim.optimizer import Optimizer


def _plain(p: Any) -> bool:
    return "LayerNorm" not in p.name and "bias" not in p.name


class LARS(Optimizer):
    """Gradients as long as their Parameters times `coefficient`, with the weight decay in them, for the optimizer inside."""

    def __init__(
        self, optimizer: Optimizer, epsilon: float = 1e-5, coefficient: float = 0.001, use_clip: bool = False,
        lars_filter: Callable[[Any], bool] = _plain,
    ) -> None:  # fmt: skip
        super().__init__(0.0, [Parameter(Tensor(0.0), name="fake_param")])
        if not isinstance(optimizer, Optimizer):
            raise type_error("LARS", "optimizer", "Optimizer", optimizer)
        floats("LARS", epsilon=epsilon, coefficient=coefficient)
        bools("LARS", use_clip=use_clip)
        self.opt, self.epsilon, self.coefficient, self.use_clip = optimizer, epsilon, coefficient, use_clip
        for name in (
            "dynamic_decay_flags", "dynamic_weight_decay", "weight_decay", "global_step", "parameters", "is_group",
            "is_group_lr", "decay_flags", "reciprocal_scale", "need_scale", "loss_scale",
        ):  # fmt: skip
            setattr(self, name, getattr(optimizer, name))
        self.lars_flag = tuple(bool(lars_filter(p)) for p in self.parameters)
        self.learning_rate = Parameter(Tensor(0.0, np.float32), name="fake_lr")
        optimizer.exec_weight_decay = optimizer.dynamic_weight_decay = optimizer.need_scale = False

    def construct(self, gradients: Any) -> Any:
        decay = self.get_weight_decay()
        each = decay if self.is_group else (decay,) * len(self.parameters)
        rate = self.opt.get_lr()
        rates = rate if self.opt.is_group_lr else (rate,) * len(self.parameters)
        gradients = self.scale_grad(gradients)
        changed = []
        for g, p, d, decays, flag, lr in zip(
            gradients, self.parameters, each, self.decay_flags, self.lars_flag, rates, strict=True
        ):
            d = ops.cast(d, p.dtype) / self.loss_scale if decays else 0.0
            changed.append(self._scaled(p, g, d, lr) if flag else g)
        return self.opt(tuple(changed))

    def _scaled(self, w: Any, g: Any, decay: Any, lr: Any) -> Any:
        of_w, of_g = ops.sqrt(ops.sum(w * w)), ops.sqrt(ops.sum(g * g))
        trust = self.coefficient * of_w / (of_g + decay * of_w + self.epsilon)
        if self.use_clip:
            trust = ops.minimum(trust / lr, 1.0)
        return (g + decay * w) * trust
