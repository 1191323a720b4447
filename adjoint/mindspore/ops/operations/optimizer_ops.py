"""Primitives that store in Parameters: assignments, scattered updates, and the steps of optimisers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint import ops
from adjoint.core.parameter import Parameter
from adjoint.mindspore.ops import assign_functions as _f
from adjoint.mindspore.ops.index_functions import index_add
from adjoint.mindspore.ops.operations.math_ops import plain
from adjoint.mindspore.ops.primitive import primitive
from adjoint.mindspore.ops.promotion import tensor

Assign = plain("Assign", _f.assign)
AssignAdd = plain("AssignAdd", _f.assign_add)
AssignSub = plain("AssignSub", _f.assign_sub)
IndexAdd = primitive(
    "IndexAdd",
    lambda self, x, indices, y: index_add(x, indices, y, self.axis),
    axis=...,
    use_lock=True,
    check_index_bound=True,
)
InplaceIndexAdd = primitive(
    "InplaceIndexAdd", lambda self, x, indices, y: index_add(x, indices, y, self.axis), axis=...
)


def _scatter(name: str) -> Any:
    locking = name in ("ScatterUpdate", "ScatterNdUpdate")
    return primitive(name, lambda self, *inputs: _f.SCATTERS[name](*inputs), use_locking=locking)


globals().update({name: _scatter(name) for name in _f.SCATTERS})

Values = Sequence[Any]


def _step(name: str, count: int, formula: Callable[..., Values], first: bool = False, **attributes: Any) -> Any:
    """A step of an optimiser: its first inputs are the variables that take what the formula gives."""

    def compute(self: Any, *inputs: Any) -> Any:
        variables, rest = inputs[:count], inputs[count:]
        held = [v.value() if isinstance(v, Parameter) else tensor(v) for v in variables]
        new = [ops.stop_gradient(y) for y in formula(self, *held, *map(_number, rest))]
        new = [y if y.dtype == v.dtype else ops.cast(y, v.dtype) for y, v in zip(new, held, strict=True)]
        for variable, value in zip(variables, new, strict=True):
            ops.assign(variable, value)
        return new[0] if first else tuple(new)

    return primitive(name, compute, **attributes)


def _number(x: Any) -> Any:
    return x.value() if isinstance(x, Parameter) else x


def _momentum(self: Any, var: Any, accum: Any, lr: Any, grad: Any, momentum: Any) -> Values:
    grad = grad * self.gradient_scale if self.gradient_scale != 1.0 else grad
    accum = accum * momentum + grad
    return var - (grad * lr + accum * momentum * lr if self.use_nesterov else accum * lr), accum


def _adam(self: Any, var: Any, m: Any, v: Any, p1: Any, p2: Any, lr: Any, b1: Any, b2: Any, eps: Any, g: Any) -> Values:
    rate = lr * ops.sqrt(tensor(1 - p2)) / (1 - p1)
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
    ahead = b1 * m + (1 - b1) * g if getattr(self, "use_nesterov", False) else m
    return var - rate * ahead / (ops.sqrt(v) + eps), m, v


def _adam_decayed(
    self: Any, var: Any, m: Any, v: Any, lr: Any, b1: Any, b2: Any, eps: Any, decay: Any, g: Any
) -> Values:
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
    return var - lr * (m / (ops.sqrt(v) + eps) + decay * var), m, v


def _amsgrad(
    var: Any, m: Any, v: Any, vhat: Any, p1: Any, p2: Any, lr: Any, b1: Any, b2: Any, eps: Any, g: Any
) -> Values:
    rate = lr * ops.sqrt(tensor(1 - p2)) / (1 - p1)
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
    vhat = ops.maximum(vhat, v)
    return var - rate * m / (ops.sqrt(vhat) + eps), m, v, vhat


def _sgd(self: Any, var: Any, accum: Any, stat: Any, grad: Any, lr: Any, momentum: Any) -> Values:
    grad = grad + self.weight_decay * var if self.weight_decay else grad
    moved = ops.where(stat > 0, grad, accum * momentum + (1 - self.dampening) * grad)
    used = tensor(momentum) > 0
    step = grad + moved * momentum if self.nesterov else moved
    step, accum = ops.where(used, step, grad), ops.where(used, moved, accum)
    return var - lr * step, accum, ops.where(used, ops.minimum(stat, 0), stat)


def _run_sgd(
    self: Any, parameters: Any, gradient: Any, learning_rate: Any, accum: Any, momentum: Any, stat: Any
) -> Any:
    return _SGD(self.dampening, self.weight_decay, self.nesterov)(
        parameters, accum, stat, gradient, learning_rate, momentum
    )


_SGD = _step("SGD", 3, _sgd, first=True, dampening=0.0, weight_decay=0.0, nesterov=False)
SGD = primitive("SGD", _run_sgd, dampening=0.0, weight_decay=0.0, nesterov=False)


def _adagrad(self: Any, var: Any, accum: Any, lr: Any, grad: Any) -> Values:
    accum = accum + grad * grad if self.update_slots else accum
    return var - lr * grad / (ops.sqrt(accum) + getattr(self, "epsilon", 0.0)), accum


def _rmsprop(self: Any, var: Any, ms: Any, mom: Any, lr: Any, grad: Any, decay: Any, momentum: Any, eps: Any) -> Values:
    ms = decay * ms + (1 - decay) * grad * grad
    mom = momentum * mom + lr * grad / ops.sqrt(ms + eps)
    return var - mom, ms, mom


def _centered(
    self: Any, var: Any, mg: Any, ms: Any, mom: Any, grad: Any, lr: Any, decay: Any, momentum: Any, eps: Any
) -> Values:
    mg, ms = decay * mg + (1 - decay) * grad, decay * ms + (1 - decay) * grad * grad
    spread = ms - mg * mg + eps
    moved = momentum * mom + lr * grad / ops.sqrt(ops.where(spread > 0, spread, ops.ones_like(spread)))
    return ops.where(spread > 0, var - moved, var), mg, ms, ops.where(spread > 0, moved, mom)


def ftrl(var: Any, accum: Any, linear: Any, grad: Any, lr: Any, l1: Any, l2: Any, power: Any) -> Values:
    """A step of follow-the-regularised-leader."""
    total = accum + grad * grad
    before, after = accum ** (0 - power), total ** (0 - power)
    linear = linear + grad - (after - before) / lr * var
    pulled = (ops.sign(linear) * l1 - linear) / (after / lr + 2 * l2)
    return ops.where(ops.abs(linear) > l1, pulled, ops.zeros_like(var)), total, linear


def _adamax(self: Any, var: Any, m: Any, v: Any, p1: Any, lr: Any, b1: Any, b2: Any, eps: Any, g: Any) -> Values:
    m, v = b1 * m + (1 - b1) * g, ops.maximum(b2 * v, ops.abs(g))
    return var - lr / (1 - p1) * m / (v + eps), m, v


def adadelta(var: Any, accum: Any, moved: Any, lr: Any, rho: Any, eps: Any, grad: Any) -> Values:
    """A step of Adadelta."""
    accum = rho * accum + (1 - rho) * grad * grad
    update = ops.sqrt(moved + eps) * grad / ops.sqrt(accum + eps)
    return var - lr * update, accum, rho * moved + (1 - rho) * update * update


def _keras(self: Any, var: Any, accum: Any, lr: Any, grad: Any, momentum: Any) -> Values:
    accum = accum * momentum - grad * lr
    return var + (accum * momentum - grad * lr if self.use_nesterov else accum), accum


def _add_sign(self: Any, var: Any, m: Any, lr: Any, alpha: Any, decay: Any, beta: Any, g: Any) -> Values:
    m = beta * m + (1 - beta) * g
    return var - lr * (alpha + decay * ops.sign(g) * ops.sign(m)) * g, m


def _power_sign(self: Any, var: Any, m: Any, lr: Any, base: Any, decay: Any, beta: Any, g: Any) -> Values:
    m = beta * m + (1 - beta) * g
    return var - lr * ops.exp(base * decay * ops.sign(g) * ops.sign(m)) * g, m


def _proximal(ahead: Any, lr: Any, l1: Any, l2: Any) -> Any:
    return ops.sign(ahead) / (1 + lr * l2) * ops.maximum(ops.abs(ahead) - lr * l1, 0)


def proximal_adagrad(var: Any, accum: Any, lr: Any, l1: Any, l2: Any, grad: Any) -> Values:
    """A step of Adagrad that pulls small values to zero."""
    accum = accum + grad * grad
    rate = lr / ops.sqrt(accum)
    return _proximal(var - rate * grad, rate, l1, l2), accum


def _adagrad_da(
    self: Any, var: Any, total: Any, squares: Any, grad: Any, lr: Any, l1: Any, l2: Any, step: Any
) -> Values:
    total, squares = total + grad, squares + grad * grad
    pulled = ops.sign(total) * ops.maximum(ops.abs(total) - l1 * step, 0)
    chosen = ops.where(tensor(l1) > 0, pulled, total)
    return -lr * chosen / (l2 * step * lr + ops.sqrt(squares)), total, squares


ApplyMomentum = _step(
    "ApplyMomentum", 2, _momentum, first=True, use_nesterov=False, use_locking=False, gradient_scale=1.0
)
Adam = _step("Adam", 3, _adam, use_locking=False, use_nesterov=False)


def _adam_change(self: Any, m: Any, v: Any, *numbers: Any) -> Any:
    """What Adam would add to a variable; the moments are stored."""
    zeros = ops.zeros_like(m.value() if isinstance(m, Parameter) else m)
    return Adam(use_nesterov=self.use_nesterov)(zeros, m, v, *numbers)[0]


AdamNoUpdateParam = primitive("AdamNoUpdateParam", _adam_change, use_locking=False, use_nesterov=False)
AdamWeightDecay = _step("AdamWeightDecay", 3, _adam_decayed, use_locking=False)
ApplyAdamWithAmsgrad = _step(
    "ApplyAdamWithAmsgrad",
    4,
    lambda self, *xs: _amsgrad(*(*xs[:-1], self.beta1, self.beta2, self.epsilon, xs[-1])),
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-08,
    use_locking=False,
)
ApplyAdamWithAmsgradV2 = _step("ApplyAdamWithAmsgradV2", 4, lambda self, *xs: _amsgrad(*xs), use_locking=False)
ApplyAdagrad = _step("ApplyAdagrad", 2, _adagrad, update_slots=True)
ApplyAdagradV2 = _step("ApplyAdagradV2", 2, _adagrad, epsilon=..., update_slots=True)
ApplyAdagradDA = _step("ApplyAdagradDA", 3, _adagrad_da, first=True, use_locking=False)
ApplyRMSProp = _step("ApplyRMSProp", 3, _rmsprop, first=True, use_locking=False)
ApplyCenteredRMSProp = _step("ApplyCenteredRMSProp", 4, _centered, first=True, use_locking=False)
ApplyFtrl = _step("ApplyFtrl", 3, lambda self, *xs: ftrl(*xs), first=True, use_locking=False)
ApplyAdaMax = _step("ApplyAdaMax", 3, _adamax)
ApplyAdadelta = _step("ApplyAdadelta", 3, lambda self, *xs: adadelta(*xs))
ApplyKerasMomentum = _step("ApplyKerasMomentum", 2, _keras, use_locking=False, use_nesterov=False)
ApplyAddSign = _step("ApplyAddSign", 2, _add_sign)
ApplyPowerSign = _step("ApplyPowerSign", 2, _power_sign)
ApplyGradientDescent = _step(
    "ApplyGradientDescent", 1, lambda self, var, alpha, delta: (var - alpha * delta,), first=True
)
ApplyProximalAdagrad = _step("ApplyProximalAdagrad", 2, lambda self, *xs: proximal_adagrad(*xs), use_locking=False)
ApplyProximalGradientDescent = _step(
    "ApplyProximalGradientDescent",
    1,
    lambda self, var, alpha, l1, l2, delta: (_proximal(var - alpha * delta, alpha, l1, l2),),
    first=True,
)
