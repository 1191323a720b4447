"""mindspore.experimental.optim: the optimizers."""

from __future__ import annotations

from typing import Any

from adjoint import ops
from adjoint.mindspore.checks import bools, type_error
from adjoint.mindspore.experimental.optim.optimizer import Optimizer, check, check_betas


class SGD(Optimizer):
    """Gradient descent, with momentum, dampening and Nesterov's change."""

    slots = {"accum": 0.0, "stat": 1.0}

    def __init__(
        self, params: Any, lr: Any, momentum: float = 0, dampening: float = 0, weight_decay: float = 0.0,
        nesterov: bool = False, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        check("SGD", momentum=momentum)
        bools("SGD", nesterov=nesterov, maximize=maximize)
        if nesterov and (momentum <= 0.0 or dampening != 0.0):
            raise ValueError(
                "For 'SGD', if 'nesterov' is true, 'momentum' must be > 0.0 and 'dampening' must equal to 0.0."
            )
        super().__init__(
            params,
            {"lr": lr, "momentum": float(momentum), "dampening": float(dampening), "weight_decay": weight_decay,
                 "nesterov": nesterov, "maximize": maximize},
        )  # fmt: skip

    def one(self, group: Any, w: Any, g: Any, old: Any, lr: Any, t: Any) -> Any:
        momentum = group["momentum"]
        if not momentum:
            return w - lr * g, {}
        v = ops.where(old["stat"] > 0, g, momentum * old["accum"] + (1.0 - group["dampening"]) * g)
        step = g + momentum * v if group["nesterov"] else v
        return w - lr * step, {"accum": v, "stat": ops.zeros_like(old["stat"])}


class _Betas(Optimizer):
    counter = "step_t"

    def _short(self, group: Any, t: Any) -> tuple[Any, Any]:
        beta1, beta2 = group["betas"]
        return 1.0 - beta1**t, 1.0 - beta2**t

    def _means(self, group: Any, g: Any, old: Any) -> tuple[Any, Any]:
        beta1, beta2 = group["betas"]
        m = old["exp_avg"] * beta1 + g * (1.0 - beta1)
        return m, old["exp_avg_sq"] * beta2 + g * g * (1.0 - beta2)


class Adam(_Betas):
    """Adam, with the penalty in the gradient."""

    slots = {"exp_avg": 0.0, "exp_avg_sq": 0.0, "max_exp_avg_sq": 0.0}
    counter = "state_step"
    _decay = 0.0

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float | None = None, amsgrad: bool = False, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        decay = self._decay if weight_decay is None else weight_decay
        check(type(self).__name__, lr=lr, eps=eps, weight_decay=decay)
        check_betas(betas)
        super().__init__(
            params,
            {"lr": lr, "betas": betas, "eps": eps, "weight_decay": decay, "amsgrad": amsgrad, "maximize": maximize},
        )

    def one(self, group: Any, w: Any, g: Any, old: Any, lr: Any, t: Any) -> Any:
        m, v = self._means(group, g, old)
        first, second = self._short(group, t)
        slots = {"exp_avg": m, "exp_avg_sq": v}
        if group["amsgrad"]:
            v = slots["max_exp_avg_sq"] = ops.maximum(old["max_exp_avg_sq"], v)
        return w - lr * ops.sqrt(second) / first * m / (ops.sqrt(v) + group["eps"]), slots


class AdamW(Adam):
    """Adam, with the decay apart from the gradient."""

    decoupled = True
    _decay = 0.01

    def one(self, group: Any, w: Any, g: Any, old: Any, lr: Any, t: Any) -> Any:
        m, v = self._means(group, g, old)
        first, second = self._short(group, t)
        slots = {"exp_avg": m, "exp_avg_sq": v}
        if group["amsgrad"]:
            v = slots["max_exp_avg_sq"] = ops.maximum(old["max_exp_avg_sq"], v)
        size = ops.sqrt(v) / ops.sqrt(second) + group["eps"]
        return w * (1.0 - lr * group["weight_decay"]) - lr / first * m / size, slots


class Adamax(_Betas):
    """Adam with the largest gradient so far, fading, in place of the mean square."""

    slots = {"exp_avg": 0.0, "exp_inf": 0.0}

    def __init__(
        self, params: Any, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        check("Adamax", {"lr": lr, "eps": eps}, weight_decay=weight_decay)
        check_betas(betas)
        super().__init__(
            params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        )

    def one(self, group: Any, w: Any, g: Any, old: Any, lr: Any, t: Any) -> Any:
        beta1, beta2 = group["betas"]
        m = old["exp_avg"] * beta1 + g * (1.0 - beta1)
        v = ops.maximum(old["exp_inf"] * beta2, ops.abs(g) + group["eps"])
        return w - lr / self._short(group, t)[0] * m / v, {"exp_avg": m, "exp_inf": v}


class NAdam(_Betas):
    """Adam that looks ahead along the mean of the gradients."""

    slots = {"exp_avg": 0.0, "exp_avg_sq": 0.0, "mu_product": 1.0}

    def __init__(
        self, params: Any, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0, momentum_decay: float = 4e-3,
    ) -> None:  # fmt: skip
        check("NAdam", {"lr": lr, "eps": eps}, weight_decay=weight_decay, momentum_decay=momentum_decay)
        check_betas(betas)
        super().__init__(
            params,
            {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay},
        )

    def one(self, group: Any, w: Any, g: Any, old: Any, lr: Any, t: Any) -> Any:
        beta1 = group["betas"][0]
        mu, ahead = (beta1 * (1.0 - 0.5 * 0.96 ** (s * group["momentum_decay"])) for s in (t, t + 1.0))
        m, v = self._means(group, g, old)
        product = old["mu_product"] * mu
        size = ops.sqrt(v / self._short(group, t)[1]) + group["eps"]
        step = (1.0 - mu) / (1.0 - product) * g + ahead / (1.0 - product * ahead) * m
        return w - lr * step / size, {"exp_avg": m, "exp_avg_sq": v, "mu_product": product}


class RAdam(_Betas):
    """Adam whose adaptive rate sets in as its variance becomes known."""

    slots = {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:  # fmt: skip
        check("RAdam", {"lr": lr, "eps": eps}, weight_decay=weight_decay)
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def one(self, group: Any, w: Any, g: Any, old: Any, lr: Any, t: Any) -> Any:
        m, v = self._means(group, g, old)
        first, second = self._short(group, t)
        last = 2.0 / (1.0 - group["betas"][1]) - 1.0
        rho = last - 2.0 * t * (1.0 - second) / second
        known = rho > 5.0
        safe = ops.where(known, rho, last)
        rect = ops.sqrt((safe - 4.0) * (safe - 2.0) * last / ((last - 4.0) * (last - 2.0) * safe))
        factor = ops.where(known, rect * ops.sqrt(second) / (ops.sqrt(v) + group["eps"]), ops.ones_like(v))
        return w - m / first * lr * factor, {"exp_avg": m, "exp_avg_sq": v}


class RMSprop(Optimizer):
    """Steps divided by a running root mean square."""

    slots = {"mean_square": 0.0, "mean_grad": 0.0, "moment": 0.0}

    def __init__(
        self, params: Any, lr: Any = 0.01, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0.0,
        momentum: float = 0.0, centered: bool = False, maximize: bool = False,
    ) -> None:  # fmt: skip
        check("RMSprop", {"lr": lr, "eps": eps}, alpha=alpha, momentum=momentum, weight_decay=weight_decay)
        super().__init__(
            params,
            {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum, "centered": centered,
                 "maximize": maximize},
        )  # fmt: skip

    def one(self, group: Any, w: Any, g: Any, old: Any, lr: Any, t: Any) -> Any:
        kept = group["alpha"]
        slots = {"mean_square": old["mean_square"] * kept + g * g * (1.0 - kept)}
        size = slots["mean_square"]
        if group["centered"]:
            mean = slots["mean_grad"] = old["mean_grad"] * kept + g * (1.0 - kept)
            size = size - mean * mean
        step = g / (ops.sqrt(size) + group["eps"])
        if group["momentum"] > 0:
            step = slots["moment"] = old["moment"] * group["momentum"] + step
        return w - lr * step, slots


class Adagrad(Optimizer):
    """Steps divided by the root of the sum of squared gradients."""

    slots = {"accum": "initial_accumulator_value"}

    def __init__(
        self, params: Any, lr: Any = 0.01, lr_decay: float = 0.0, weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0, eps: float = 1e-10, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        check("Adagrad", {"lr": lr, "eps": eps}, lr_decay=lr_decay, weight_decay=weight_decay,
              initial_accumulator_value=initial_accumulator_value)  # fmt: skip
        super().__init__(
            params,
            {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
                 "initial_accumulator_value": initial_accumulator_value, "maximize": maximize},
        )  # fmt: skip

    def one(self, group: Any, w: Any, g: Any, old: Any, lr: Any, t: Any) -> Any:
        h = old["accum"] + g * g
        rate = lr / (1.0 + (t - 1.0) * group["lr_decay"])
        return w - rate * g / (ops.sqrt(h) + group["eps"]), {"accum": h}


class Adadelta(Optimizer):
    """Steps of the size of past steps."""

    slots = {"accum": 0.0, "accum_update": 0.0}

    def __init__(
        self, params: Any, lr: Any = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0.0, *,
        maximize: bool = False,
    ) -> None:  # fmt: skip
        check("Adadelta", {"lr": lr, "eps": eps}, weight_decay=weight_decay)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"For 'Adadelta', the rho must be in range of [0, 1], but got {rho}.")
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize})

    def one(self, group: Any, w: Any, g: Any, old: Any, lr: Any, t: Any) -> Any:
        rho, eps = group["rho"], group["eps"]
        h = rho * old["accum"] + (1.0 - rho) * (g * g)
        d = ops.sqrt(old["accum_update"] + eps) / ops.sqrt(h + eps) * g
        return w - lr * d, {"accum": h, "accum_update": rho * old["accum_update"] + (1.0 - rho) * (d * d)}


class Rprop(Optimizer):
    """Steps by the signs of gradients."""

    slots = {"prev": 0.0, "step_size": 0.0}

    def __init__(
        self, params: Any, lr: Any = 0.01, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50), *, maximize: bool = False,
    ) -> None:  # fmt: skip
        check("Rprop", {"lr": lr})
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"For 'Rprop', the etas must lie below and above 1, but got {etas}.")
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize})

    def one(self, group: Any, w: Any, g: Any, old: Any, lr: Any, t: Any) -> Any:
        (less, more), (low, high) = group["etas"], group["step_sizes"]
        agree = g * old["prev"]
        size = ops.where(t == 1, ops.ones_like(w) * lr, old["step_size"])
        factor = ops.cast(ops.where(agree > 0, more, ops.where(agree < 0, less, 1.0)), size.dtype)
        size = ops.minimum(ops.maximum(size * factor, low), float(high))
        g = ops.where(agree < 0, ops.zeros_like(g), g)
        return w - ops.sign(g) * size, {"prev": g, "step_size": size}


class ASGD(Optimizer):
    """Gradient descent with falling rates, and the mean of the Parameters in `ax`."""

    slots = {"mu": 1.0, "eta": 0.0, "ax": 0.0}

    def __init__(
        self, params: Any, lr: Any = 0.01, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
        weight_decay: float = 0.0, maximize: bool = False,
    ) -> None:  # fmt: skip
        check("ASGD", {"lr": lr}, weight_decay=weight_decay)
        for name, value in (("lambd", lambd), ("alpha", alpha), ("t0", t0)):
            if not isinstance(value, float):
                raise type_error("ASGD", name, "float", value)
        super().__init__(
            params,
            {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "maximize": maximize},
        )

    def one(self, group: Any, w: Any, g: Any, old: Any, lr: Any, t: Any) -> Any:
        lambd, mu = group["lambd"], old["mu"]
        eta = ops.where(t == 1, lr, old["eta"])
        w = w * (1.0 - lambd * eta) - eta * g
        ax = ops.where(mu == 1, w, old["ax"] + (w - old["ax"]) * mu)
        rate = lr / (1.0 + lambd * lr * t) ** group["alpha"]
        return w, {"mu": 1.0 / ops.maximum(t - group["t0"], 1.0), "eta": rate, "ax": ax}
