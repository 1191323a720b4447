"""mindspore.nn: Adam and its relatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.tensor import Tensor
from adjoint.mindspore.checks import between, bools, float_above
from adjoint.mindspore.common.parameter import Parameter
from adjoint.mindspore.nn.optim.optimizer import Optimizer, opt_init_args_register
from adjoint.optim import AdaMaxRule, AdamRule, AdamWeightDecayRule, LambRule


def _check(what: str, beta1: Any, beta2: Any, eps: Any) -> None:
    between(what, 0.0, 1.0, beta1=beta1, beta2=beta2)
    float_above(what, eps=eps)


class _Powers(Optimizer):
    """Optimizers that remember powers of their betas."""

    def _begin(self, beta1: float, beta2: float, eps: float, shape: tuple[int, ...]) -> None:
        _check(self.cls_name, beta1, beta2, eps)
        self.beta1, self.beta2, self.eps = (Tensor(x, np.float32) for x in (beta1, beta2, eps))
        self.beta1_power = Parameter(Tensor(np.ones(shape, np.float32)), name="beta1_power")

    def _short(self, name: str, beta: Any) -> Any:
        """By how much a running mean falls short at this step, since it began at zero."""
        power: Any = getattr(self, name)
        power.set_data(power * beta)
        return 1.0 - ops.cast(ops.reshape(power, ()), np.float64)


class _Adam(_Powers):
    _shape: tuple[int, ...] = (1,)

    def _begin_adam(self, beta1: float, beta2: float, eps: float, amsgrad: bool = False, **flags: Any) -> None:
        bools(self.cls_name, use_amsgrad=amsgrad, **flags)
        self._begin(beta1, beta2, eps, self._shape)
        self.beta2_power = Parameter(Tensor(np.ones(self._shape, np.float32)), name="beta2_power")
        for name, flag in flags.items():
            setattr(self, name, flag)
        nesterov = flags["use_nesterov"]
        self._rule = AdamRule(beta1=beta1, beta2=beta2, eps=eps, nesterov=nesterov, amsgrad=amsgrad)
        self.moment1, self.moment2 = self.clones("moment1", "zeros"), self.clones("moment2", "zeros")
        if amsgrad:
            self.vhat = self.clones("vhat", "zeros")

    def construct(self, gradients: Any) -> Any:
        gradients, rates = self.prepared(gradients)
        shared = self._short("beta1_power", self.beta1), self._short("beta2_power", self.beta2)
        slots = {name: getattr(self, name) for name in self._rule.slots}
        return self.apply_rule(self._rule, gradients, rates, slots, shared)


class Adam(_Adam):
    """mindspore.nn.Adam; `use_lazy` and `use_offload` change where it is computed, not what."""

    _shape = ()

    @opt_init_args_register
    def __init__(
        self, params: Any, learning_rate: Any = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8,
        use_locking: bool = False, use_nesterov: bool = False, weight_decay: Any = 0.0, loss_scale: float = 1.0,
        use_amsgrad: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if set(kwargs) - {"use_lazy", "use_offload"}:
            raise KeyError(
                "For 'Adam', invalid keys are passed as kwargs, supported keys are 'use_lazy' and 'use_offload', but got "
                f"{kwargs.keys()}."
            )
        lazy, offload = kwargs.get("use_lazy", False), kwargs.get("use_offload", False)
        if lazy and offload:
            raise ValueError("For 'Adam', 'use_lazy' and 'use_offload' can not both be True.")
        if use_amsgrad and (lazy or offload):
            raise ValueError("For lazy Adam and Adam with offload, there is no parameter named 'use_amsgrad'.")
        self.use_amsgrad = use_amsgrad
        self._begin_adam(
            beta1, beta2, eps, use_amsgrad, use_locking=use_locking, use_nesterov=use_nesterov, use_lazy=lazy,
            use_offload=offload,
        )  # fmt: skip


class LazyAdam(_Adam):
    """mindspore.nn.LazyAdam: Adam, for dense gradients."""

    @opt_init_args_register
    def __init__(
        self, params: Any, learning_rate: Any = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8,
        use_locking: bool = False, use_nesterov: bool = False, weight_decay: Any = 0.0, loss_scale: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self._begin_adam(beta1, beta2, eps, use_locking=use_locking, use_nesterov=use_nesterov)


class AdamOffload(_Adam):
    """mindspore.nn.AdamOffload: Adam; everything is on the host here."""

    def __init__(
        self, params: Any, learning_rate: Any = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8,
        use_locking: bool = False, use_nesterov: bool = False, weight_decay: Any = 0.0, loss_scale: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self._begin_adam(beta1, beta2, eps, use_locking=use_locking, use_nesterov=use_nesterov)


class AdaMax(_Powers):
    """mindspore.nn.AdaMax."""

    @opt_init_args_register
    def __init__(
        self, params: Any, learning_rate: Any = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8,
        weight_decay: Any = 0.0, loss_scale: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self._begin(beta1, beta2, eps, (1,))
        self._rule = AdaMaxRule(beta1=beta1, beta2=beta2, eps=eps)
        self.moment1, self.moment2 = self.clones("moment1", "zeros"), self.clones("moment2", "zeros")

    def construct(self, gradients: Any) -> Any:
        gradients, rates = self.prepared(gradients)
        shared = (self._short("beta1_power", self.beta1),)
        slots = {"moment1": self.moment1, "moment2": self.moment2}
        return self.apply_rule(self._rule, gradients, rates, slots, shared)


class _Decoupled(Optimizer):
    """Optimizers that take the weight decay apart from the gradient."""

    _names = ("adam_m", "adam_v")
    _rule_class: Any = AdamWeightDecayRule
    _centralises = False

    def _begin(self, beta1: float, beta2: float, eps: float) -> None:
        _check(self.cls_name, beta1, beta2, eps)
        self.beta1, self.beta2, self.eps = (Tensor([x], np.float32) for x in (beta1, beta2, eps))
        self._rule = self._rule_class(beta1=beta1, beta2=beta2, eps=eps)
        self.moments1, self.moments2 = (self.clones(name, "zeros") for name in self._names)

    def construct(self, gradients: Any) -> Any:
        decay = self.get_weight_decay()
        if self._centralises:
            gradients = self.gradients_centralization(gradients)
        rates = self.counted_rates()
        each = decay if self.is_group else (decay,) * len(self.parameters)
        decays = [ops.cast(d, np.float32) if flag else 0.0 for d, flag in zip(each, self.decay_flags, strict=True)]
        slots = dict(zip(self._rule.slots, (self.moments1, self.moments2), strict=True))
        shared = self._rule.shared(ops.reshape(self.global_step, ()))
        return self.apply_rule(self._rule, gradients, rates, slots, shared, decays)


class AdamWeightDecay(_Decoupled):
    """mindspore.nn.AdamWeightDecay: the decay apart from the gradient, the running means as they are."""

    @opt_init_args_register
    def __init__(
        self, params: Any, learning_rate: Any = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-6,
        weight_decay: Any = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay)
        self._begin(beta1, beta2, eps)


class Lamb(_Decoupled):
    """mindspore.nn.Lamb."""

    _names = ("lamb_m", "lamb_v")
    _rule_class = LambRule
    _centralises = True

    @opt_init_args_register
    def __init__(
        self, params: Any, learning_rate: Any, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-6,
        weight_decay: Any = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay)
        self._begin(beta1, beta2, eps)
