"""mindspore.nn: SGD, Momentum, ASGD and Rprop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.tensor import Tensor
from adjoint.mindspore.checks import at_least_zero, between, bools, floats
from adjoint.mindspore.common.parameter import Parameter, ParameterTuple
from adjoint.mindspore.nn.optim.optimizer import Optimizer, opt_init_args_register
from adjoint.optim import ASGDRule, MomentumRule, RpropRule, Rule
from adjoint.optim.rule import Slots


@dataclass(frozen=True)
class _SGDRule(Rule):
    """`v = momentum * v + (1 - dampening) * g`, at the first step `v = g`, which the slot `stat` remembers; `w -= lr * v`."""

    momentum: Any = 0.0
    dampening: float = 0.0
    nesterov: bool = False

    def one(self, w: Any, g: Any, old: Slots, lr: Any, shared: Any, decay: Any) -> tuple[Any, Slots]:
        momentum = ops.cast(self.momentum, w.dtype)
        moves = momentum > 0
        v = ops.where(old["stat"] > 0, g, momentum * old["accum"] + (1.0 - self.dampening) * g)
        step = ops.where(moves, g + momentum * v if self.nesterov else v, g)
        slots = {"accum": v, "stat": ops.zeros_like(v)}
        return w - lr * step, {name: ops.where(moves, new, old[name]) for name, new in slots.items()}


class SGD(Optimizer):
    """mindspore.nn.SGD: gradient descent, with momentum, dampening and Nesterov's change."""

    @opt_init_args_register
    def __init__(
        self, params: Any, learning_rate: Any = 0.1, momentum: float = 0.0, dampening: float = 0.0,
        weight_decay: Any = 0.0, nesterov: bool = False, loss_scale: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        momentum, dampening = (float(x) if isinstance(x, int) else x for x in (momentum, dampening))
        at_least_zero("SGD", momentum=momentum, dampening=dampening)
        bools("SGD", nesterov=nesterov)
        if nesterov and (momentum <= 0.0 or dampening != 0.0):
            raise ValueError(
                "For 'SGD', if 'nesterov' is true, 'momentum' must be > 0.0 and 'dampening' must equal to 0.0, but got "
                f"'momentum' {momentum}, 'dampening' {dampening}."
            )
        if self.dynamic_weight_decay:
            raise TypeError("For 'SGD', dynamic weight decay is currently not supported.")
        self.dampening, self.nesterov = dampening, nesterov
        self.momentum = Parameter(Tensor(momentum, np.float32), name="momentum")
        self.accum, self.stat = self.clones("accum", "zeros"), self.clones("stat", "ones")

    def construct(self, gradients: Any) -> Any:
        gradients, rates = self.prepared(gradients)
        rule = _SGDRule(momentum=self.momentum, dampening=self.dampening, nesterov=self.nesterov)
        return self.apply_rule(rule, gradients, rates, {"accum": self.accum, "stat": self.stat}, None)


class Momentum(Optimizer):
    """mindspore.nn.Momentum: gradient descent with momentum."""

    @opt_init_args_register
    def __init__(
        self, params: Any, learning_rate: Any, momentum: float, weight_decay: Any = 0.0, loss_scale: float = 1.0,
        use_nesterov: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        at_least_zero("Momentum", momentum=momentum)
        bools("Momentum", use_nesterov=use_nesterov)
        self.momentum = Parameter(Tensor(momentum, np.float32), name="momentum")
        self.params, self.use_nesterov = self.parameters, use_nesterov
        self.moments = self.clones("moments", "zeros")

    def construct(self, gradients: Any) -> Any:
        gradients, rates = self.prepared(gradients)
        momentum: Any = self.momentum
        rule = MomentumRule(momentum=momentum, nesterov=self.use_nesterov)
        return self.apply_rule(rule, gradients, rates, {"moments": self.moments}, None)


class ASGD(Optimizer):
    """mindspore.nn.ASGD: gradient descent with falling rates, and the mean of the Parameters in `ax`."""

    @opt_init_args_register
    def __init__(
        self, params: Any, learning_rate: Any = 0.1, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
        weight_decay: Any = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay)
        floats("ASGD", lambd=lambd, alpha=alpha, t0=t0)
        self.lambd, self.alpha, self.t0 = lambd, alpha, Tensor([t0], np.float32)
        self._rule = ASGDRule(lambd=lambd, alpha=alpha, t0=t0)
        self.mu, self.eta = (
            ParameterTuple(Parameter(Tensor(x, np.float32), name=f"{slot}_{p.name}") for p in self.parameters)
            for slot, x in (("mu", 1.0), ("eta", 0.0))
        )
        self.ax = self.clones("ax_", "zeros")

    def construct(self, gradients: Any) -> Any:
        gradients, rates = self.prepared(gradients)
        slots = {"mu": self.mu, "eta": self.eta, "ax": self.ax}
        self.apply_rule(self._rule, gradients, rates, slots, ops.reshape(self.global_step, ()))
        return True


class Rprop(Optimizer):
    """mindspore.nn.Rprop: steps by the signs of gradients."""

    @opt_init_args_register
    def __init__(
        self, params: Any, learning_rate: Any = 0.1, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0), weight_decay: Any = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay)
        for name, pair in (("etas", etas), ("step_sizes", step_sizes)):
            if not isinstance(pair, tuple):
                raise TypeError(f"For Rprop, {name} must be a tuple, but got {type(pair)}.")
            if len(pair) != 2:
                raise ValueError(f"For Rprop, {name} must be a tuple with the size of 2, but got {len(pair)}.")
        if step_sizes[0] > step_sizes[1]:
            raise ValueError(
                f"For Rprop, maximal step size should not be less than minimal step size, but got {step_sizes[0]} > "
                f"{step_sizes[1]}."
            )
        between("Rprop", 0.0, 1.0, etaminus=etas[0])
        floats("Rprop", etaplus=etas[1], min_step_sizes=step_sizes[0], max_step_sizes=step_sizes[1])
        if etas[1] <= 1.0:
            raise ValueError(f"For Rprop, etaplus must be greater than 1.0, but got etaplus {etas[1]}.")
        self.etaminus, self.etaplus = etas
        self.step_size_min, self.step_size_max = step_sizes
        self._rule = RpropRule(etas=etas, step_sizes=step_sizes)
        self.prev, self.step_size = self.clones("prev", "zeros"), self.clones("step_size", "zeros")

    def construct(self, gradients: Any) -> Any:
        gradients, rates = self.prepared(gradients)
        slots = {"prev": self.prev, "step_size": self.step_size}
        self.apply_rule(self._rule, gradients, rates, slots, ops.reshape(self.global_step, ()))
        return True
