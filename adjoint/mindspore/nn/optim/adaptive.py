"""mindspore.nn: Adagrad, Adadelta, RMSProp, FTRL, ProximalAdagrad and AdaFactor."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.tensor import Tensor
from adjoint.mindspore.checks import at_least_zero, between, bools, float_above, floats, type_error
from adjoint.mindspore.common.parameter import Parameter, ParameterTuple
from adjoint.mindspore.nn.optim.optimizer import Optimizer, opt_init_args_register
from adjoint.optim import AdadeltaRule, AdaFactorRule, AdagradRule, FTRLRule, ProximalAdagradRule, RMSPropRule


class _ByRule(Optimizer):
    """An optimizer whose slots are attributes under the rule's names."""

    _attributes: dict[str, str] = {}  # where the attribute has another name

    def construct(self, grads: Any) -> Any:
        grads, rates = self.prepared(grads)
        slots = {name: getattr(self, self._attributes.get(name, name)) for name in self._rule.slots}
        return self.apply_rule(self._rule, grads, rates, slots, None)


class Adagrad(_ByRule):
    """mindspore.nn.Adagrad."""

    @opt_init_args_register
    def __init__(
        self, params: Any, accum: float = 0.1, learning_rate: Any = 0.001, update_slots: bool = True,
        loss_scale: float = 1.0, weight_decay: Any = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        at_least_zero("Adagrad", accum=accum)
        bools("Adagrad", update_slots=update_slots)
        self._rule = AdagradRule(accum=accum, update_slots=update_slots)
        self.accum = self.clones("accum", accum)


class Adadelta(_ByRule):
    """mindspore.nn.Adadelta."""

    @opt_init_args_register
    def __init__(
        self, params: Any, learning_rate: Any = 1.0, rho: float = 0.9, epsilon: float = 1e-6, loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        between("Adadelta", 0.0, 1.0, True, rho=rho)
        at_least_zero("Adadelta", epsilon=epsilon)
        self.rho, self.epsilon = rho, epsilon
        self._rule = AdadeltaRule(rho=rho, epsilon=epsilon)
        self.accum, self.accum_update = self.clones("accum", 0.0), self.clones("accum_update", 0.0)


class RMSProp(_ByRule):
    """mindspore.nn.RMSProp."""

    _attributes = {"mean_square": "ms", "mean_grad": "mg"}

    @opt_init_args_register
    def __init__(
        self, params: Any, learning_rate: Any = 0.1, decay: float = 0.9, momentum: float = 0.0, epsilon: float = 1e-10,
        use_locking: bool = False, centered: bool = False, loss_scale: float = 1.0, weight_decay: Any = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        at_least_zero("RMSProp", decay=decay, momentum=momentum)
        float_above("RMSProp", epsilon=epsilon)
        bools("RMSProp", use_locking=use_locking, centered=centered)
        self.decay, self.momentum, self.epsilon, self.centered = decay, momentum, epsilon, centered
        self._rule = RMSPropRule(decay=decay, momentum=momentum, epsilon=epsilon, centered=centered)
        if centered:
            self.mg = self.clones("mean_grad", "zeros")
        self.ms, self.moment = self.clones("mean_square", "ones"), self.clones("moment", "zeros")


class FTRL(_ByRule):
    """mindspore.nn.FTRL; the learning rate is one number."""

    @opt_init_args_register
    def __init__(
        self, params: Any, initial_accum: float = 0.1, learning_rate: Any = 0.001, lr_power: float = -0.5, l1: float = 0.0,
        l2: float = 0.0, use_locking: bool = False, loss_scale: float = 1.0, weight_decay: Any = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if self.dynamic_lr or self.is_group_lr:
            raise ValueError("For 'FTRL', dynamic learning rate and group learning rate are currently not supported.")
        at_least_zero("FTRL", initial_accum=initial_accum, l1=l1, l2=l2)
        float_above("FTRL", learning_rate=learning_rate)
        floats("FTRL", lr_power=lr_power)
        if lr_power > 0:
            raise ValueError(f"For 'FTRL', the 'lr_power' must be at most 0.0, but got {lr_power}.")
        bools("FTRL", use_locking=use_locking)
        self.l1, self.l2, self.lr, self.lr_power, self.use_locking = l1, l2, learning_rate, lr_power, use_locking
        self._rule = FTRLRule(initial_accum=initial_accum, lr_power=lr_power, l1=l1, l2=l2)
        self.moments, self.linear = self.clones("moments", initial_accum), self.clones("linear", "zeros")
        if not self.is_group:
            self.decay_flags = (True,) * len(self.parameters)


class ProximalAdagrad(_ByRule):
    """mindspore.nn.ProximalAdagrad."""

    @opt_init_args_register
    def __init__(
        self, params: Any, accum: float = 0.1, learning_rate: Any = 0.001, l1: float = 0.0, l2: float = 0.0,
        use_locking: bool = False, loss_scale: float = 1.0, weight_decay: Any = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        at_least_zero("ProximalAdagrad", accum=accum, l1=l1, l2=l2)
        bools("ProximalAdagrad", use_locking=use_locking)
        self.l1, self.l2, self.use_locking = Tensor(l1, np.float32), Tensor(l2, np.float32), use_locking
        self._rule = ProximalAdagradRule(accum=accum, l1=l1, l2=l2)
        self.accum = self.clones("accum", accum)


class AdaFactor(Optimizer):
    """mindspore.nn.AdaFactor."""

    @opt_init_args_register
    def __init__(
        self, params: Any, learning_rate: Any = None, eps: Any = (1e-30, 1e-3), clip_threshold: float = 1.0,
        decay_rate: float = 0.8, beta1: float | None = 0.9, weight_decay: float = 0.0, scale_parameter: bool = True,
        relative_step: bool = True, warmup_init: bool = False, compression: bool = False, loss_scale: float = 1.0,
    ) -> None:  # fmt: skip
        if learning_rate is not None and relative_step:
            raise ValueError("Cannot combine manual lr and relative_step options", learning_rate)
        if warmup_init and not relative_step:
            raise ValueError("warmup_init requires relative_step=True")
        if learning_rate is None and not relative_step:
            raise ValueError("Cannot learning_rate is None and relative_step=False")
        fixed = learning_rate is None or isinstance(learning_rate, (float, int))
        super().__init__(0.0 if learning_rate is None else learning_rate, params, weight_decay, loss_scale)
        if not isinstance(eps, (list, tuple)):
            raise type_error("AdaFactor", "eps", "list or tuple", eps)
        if len(eps) != 2:
            raise ValueError("eps must have 2 value: (eps1, eps2).")
        at_least_zero("AdaFactor", eps0=eps[0], eps1=eps[1], clip_threshold=clip_threshold)
        between("AdaFactor", 0.0, 1.0, decay_rate=decay_rate)
        if not 0 <= weight_decay < 1:
            raise ValueError(f"For 'AdaFactor', the 'weight_decay' must be in range of [0, 1), but got {weight_decay}.")
        bools("AdaFactor", scale_parameter=scale_parameter, relative_step=relative_step, compression=compression)
        self.scale_lr, self.relative_step, self.warmup_init = fixed, relative_step, warmup_init
        self.scale_parameter, self.compression = scale_parameter and fixed, compression
        self.decay, self.use_first_moment = float(weight_decay), bool(beta1)
        self._rule = AdaFactorRule(
            eps=tuple(eps), clip_threshold=clip_threshold, decay_rate=decay_rate, beta1=float(beta1 or 0.0),
            scale_parameter=self.scale_parameter,
        )  # fmt: skip
        if self.use_first_moment:
            self.exp_avg = self.clones("exp_avg", "zeros")
        for slot in ("exp_avg_sq_row", "exp_avg_sq_col", "exp_avg_sq"):
            setattr(self, slot, ParameterTuple(self._mean(slot, p) for p in self.parameters))
        self.step = Parameter(Tensor(np.zeros(1, np.float32)), name="afactor_step")

    def _mean(self, slot: str, p: Any) -> Parameter:
        half = slot == "exp_avg_sq" and self.compression and p.ndim < 2
        return Parameter(
            self._rule.first(slot, p.shape, np.dtype(np.float16) if half else p.dtype), name=f"{slot}_{p.name}"
        )

    def construct(self, gradients: Any) -> Any:
        rates = self.counted_rates()
        self.step.set_data(self.step + 1.0)
        step = ops.reshape(self.step, ())
        if self.scale_lr and self.relative_step:
            least: Any = 1e-6 * step if self.warmup_init else 0.01
            rates = [ops.minimum(1.0 / ops.sqrt(step), least)] * len(self.parameters)
        slots = {name: getattr(self, name) for name in self._rule.slots}
        decays = [self.decay] * len(self.parameters)
        return self.apply_rule(self._rule, gradients, rates, slots, self._rule.shared(step), decays)
