"""mindspore.experimental.optim.lr_scheduler: learning rates that change with each call of `step()`."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from typing import Any

import numpy as np

from adjoint.core.tensor import Tensor
from adjoint.mindspore.common.parameter import Parameter
from adjoint.mindspore.experimental.optim.optimizer import Optimizer


def _of_groups(optimizer: Any, given: Any, name: str) -> list[Any]:
    count = len(optimizer.param_groups)
    if not isinstance(given, (list, tuple)):
        return [given] * count
    if len(given) != count:
        raise ValueError(
            f"The length of {name} should be the same as the number of groups, {count}, but got {len(given)}."
        )
    return list(given)


class LRScheduler:
    """Base: a subclass writes `get_lr()`, the rates of this epoch from `last_epoch`, `base_lrs` and `_last_lr`.

    >>> from adjoint.mindspore import Parameter, Tensor
    >>> from adjoint.mindspore.experimental import optim
    >>> optimizer = optim.SGD([Parameter(Tensor([1.0]), name="w")], lr=0.5)
    >>> scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    >>> _ = scheduler.step()
    >>> print(*scheduler.get_last_lr())
    0.25
    """

    def __init__(self, optimizer: Any, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if isinstance(last_epoch, bool) or not isinstance(last_epoch, int):
            raise TypeError(f"For 'LRScheduler', the type of 'last_epoch' must be int, but got {type(last_epoch)}.")
        if last_epoch < -1:
            raise ValueError(f"Invalid last_epoch: {last_epoch}")
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"].value())
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming an optimizer")
        self.optimizer, self.base_lrs = optimizer, [group["initial_lr"] for group in optimizer.param_groups]
        self._last_lr, self.groups_num = list(optimizer.lrs), len(optimizer.param_groups)
        self.last_epoch = Parameter(Tensor(last_epoch, np.float32), name=f"last_epoch_{type(self).__name__}")
        self.step()

    def get_lr(self) -> Any:
        """The rates of this epoch."""
        raise NotImplementedError

    def get_last_lr(self) -> list[Any]:
        """The rates in force."""
        return [rate.value() for rate in self._last_lr]

    def step(self, epoch: int | None = None) -> bool:
        """Go on to the next epoch, or to this one."""
        closed = getattr(self, "_get_closed_form_lr", self.get_lr)
        self.last_epoch.set_data(self.last_epoch + 1 if epoch is None else Tensor(epoch, np.float32))
        for rate, new in zip(self._last_lr, self.get_lr() if epoch is None else closed(), strict=True):
            rate.set_data(new if isinstance(new, Tensor) else Tensor(new, np.float32))
        return True

    @property
    def _epoch(self) -> float:
        return float(self.last_epoch.asnumpy())

    def _times(self, factor: Any) -> list[Any]:
        return [rate * factor for rate in self._last_lr]

    def _based(self, factor: Any) -> list[Any]:
        return [base * factor for base in self.base_lrs]


class StepLR(LRScheduler):
    """Rates times `gamma` every `step_size` epochs."""

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        if isinstance(step_size, bool) or not isinstance(step_size, int):
            raise TypeError(f"For 'StepLR', the 'step_size' must be int, but got {type(step_size)}.")
        if not isinstance(gamma, float):
            raise TypeError(f"For 'StepLR', the 'gamma' must be float, but got {type(gamma)}.")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Any:
        return self._times(1.0 if self._epoch == 0 or self._epoch % self.step_size else self.gamma)

    def _get_closed_form_lr(self) -> Any:
        return self._based(self.gamma ** (self._epoch // self.step_size))


class LinearLR(LRScheduler):
    """Rates from a part of themselves to another, in equal steps."""

    def __init__(
        self, optimizer: Any, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if not 0 < start_factor <= 1.0:
            raise ValueError("Starting multiplicative factor expected to be between 0 and 1.")
        if not 0 <= end_factor <= 1.0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Any:
        if self._epoch == 0:
            return self._times(self.start_factor)
        if self._epoch > self.total_iters:
            return self._times(1.0)
        rise = self.end_factor - self.start_factor
        return self._times(1.0 + rise / (self.total_iters * self.start_factor + (self._epoch - 1) * rise))

    def _get_closed_form_lr(self) -> Any:
        part = min(self.total_iters, self._epoch) / self.total_iters
        return self._based(self.start_factor + (self.end_factor - self.start_factor) * part)


class ExponentialLR(LRScheduler):
    """Rates times `gamma` every epoch."""

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1) -> None:
        if not isinstance(gamma, float):
            raise TypeError(f"For 'ExponentialLR', the 'gamma' must be float, but got {type(gamma)}.")
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Any:
        return self._times(1.0 if self._epoch == 0 else self.gamma)

    def _get_closed_form_lr(self) -> Any:
        return self._based(self.gamma**self._epoch)


class PolynomialLR(LRScheduler):
    """Rates to zero as a power of what is left."""

    def __init__(self, optimizer: Any, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        if not isinstance(power, float):
            raise TypeError(f"For 'PolynomialLR', the type of 'power' must be float, but got {type(power)}.")
        if power < 0:
            raise ValueError(f"For 'PolynomialLR', the 'power' must be >= 0, but got {power}.")
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Any:
        if self._epoch == 0 or self._epoch > self.total_iters:
            return self._times(1.0)
        left, before = (1.0 - e / self.total_iters for e in (self._epoch, self._epoch - 1))
        return self._times((left / before) ** self.power)

    def _get_closed_form_lr(self) -> Any:
        return self._based((1.0 - min(self.total_iters, self._epoch) / self.total_iters) ** self.power)


class LambdaLR(LRScheduler):
    """The first rates times a function of the epoch."""

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _of_groups(optimizer, lr_lambda, "lr_lambda")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Any:
        return [base * fn(self.last_epoch) for fn, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(LRScheduler):
    """Rates times a function of the epoch, every epoch."""

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _of_groups(optimizer, lr_lambda, "lr_lambda")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Any:
        if self._epoch <= 0:
            return self._times(1.0)
        return [rate * fn(self.last_epoch) for fn, rate in zip(self.lr_lambdas, self._last_lr, strict=True)]


class MultiStepLR(LRScheduler):
    """Rates times `gamma` at milestones."""

    def __init__(self, optimizer: Any, milestones: list[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        if not isinstance(milestones, list):
            raise TypeError(f"For 'MultiStepLR', the 'milestones' must be list, but got {type(milestones)}.")
        if not all(isinstance(m, int) and not isinstance(m, bool) for m in milestones):
            raise TypeError("For 'MultiStepLR', the elements of 'milestones' must be int.")
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Any:
        return self._times(self.gamma ** self.milestones[int(self._epoch)])

    def _get_closed_form_lr(self) -> Any:
        return self._based(self.gamma ** bisect_right(sorted(self.milestones.elements()), self._epoch))


class ConstantLR(LRScheduler):
    """A part of the rates until `total_iters`, then the rates."""

    def __init__(self, optimizer: Any, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        if not 0 <= factor <= 1.0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Any:
        if self._epoch == 0:
            return self._times(self.factor)
        return self._times(1.0 / self.factor if self._epoch == self.total_iters else 1.0)

    def _get_closed_form_lr(self) -> Any:
        return self._based(1.0 if self._epoch >= self.total_iters else self.factor)


class CosineAnnealingLR(LRScheduler):
    """Rates along a cosine, from the first ones to `eta_min` in `T_max` epochs."""

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Any:
        now, low, turn = self._epoch, self.eta_min, math.pi / self.T_max
        if now == 0:
            return self._times(1.0)
        if (now - 1 - self.T_max) % (2 * self.T_max) == 0:
            return [r + (b - low) * (1 - math.cos(turn)) / 2 for b, r in zip(self.base_lrs, self._last_lr, strict=True)]
        factor = (1 + math.cos(turn * now)) / (1 + math.cos(turn * (now - 1)))
        return [factor * (rate - low) + low for rate in self._last_lr]

    def _get_closed_form_lr(self) -> Any:
        part = (1 + math.cos(math.pi * self._epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * part for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Rates along a cosine that begins anew after `T_0` epochs, then after `T_mult` times as many."""

    def __init__(
        self, optimizer: Any, T_0: int, T_mult: int = 1, eta_min: float = 0, last_epoch: int = -1
    ) -> None:  # fmt: skip
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Any:
        at, length = self._epoch, self.T_0
        while at >= length:
            at, length = at - length, length * self.T_mult
        part = (1 + math.cos(math.pi * at / length)) / 2
        return [self.eta_min + (base - self.eta_min) * part for base in self.base_lrs]


class CyclicLR(LRScheduler):
    """Rates up and down between two bounds."""

    def __init__(
        self, optimizer: Any, base_lr: Any, max_lr: Any, step_size_up: int = 2000, step_size_down: int | None = None,
        mode: str = "triangular", gamma: float = 1.0, scale_fn: Any = None, scale_mode: str = "cycle", last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        lows = _of_groups(optimizer, base_lr, "base_lr")
        self.max_lrs = _of_groups(optimizer, max_lr, "max_lr")
        if last_epoch == -1:
            for low, group in zip(lows, optimizer.param_groups, strict=True):
                group["lr"].set_data(Tensor(low, np.float32))
        self.up, self.total = float(step_size_up), float(step_size_up + (step_size_down or step_size_up))
        kinds = {
            "triangular": lambda x: 1.0,
            "triangular2": lambda x: 1 / 2.0 ** (x - 1),
            "exp_range": lambda x: gamma**x,
        }
        self.scale_fn = kinds[mode] if scale_fn is None else scale_fn
        self.by_cycle = scale_mode == "cycle" if scale_fn is not None else mode != "exp_range"
        self._lows = lows
        super().__init__(optimizer, last_epoch)
        self.base_lrs = [Tensor(low, np.float32) for low in lows]

    def get_lr(self) -> Any:
        cycle = math.floor(1 + self._epoch / self.total)
        x, ratio = 1.0 + self._epoch / self.total - cycle, self.up / self.total
        part = x / ratio if x <= ratio else (x - 1) / (ratio - 1)
        scale = self.scale_fn(cycle if self.by_cycle else self._epoch)
        return [low + (high - low) * part * scale for low, high in zip(self._lows, self.max_lrs, strict=True)]


class SequentialLR:
    """Several schedulers one after another, changed at milestones."""

    def __init__(self, optimizer: Any, schedulers: list[Any], milestones: list[int], last_epoch: int = -1) -> None:
        if any(s.optimizer is not optimizer for s in schedulers):
            raise ValueError("Sequential Schedulers expects all schedulers to belong to the same optimizer.")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(f"Expected {len(schedulers) - 1} milestones, but got {len(milestones)}.")
        self._schedulers, self.milestones, self.optimizer = schedulers, milestones, optimizer
        self.last_epoch = Parameter(Tensor(last_epoch + 1, np.float32), name="last_epoch_SequentialLR")
        for group in optimizer.param_groups:
            group["lr"].set_data(group["initial_lr"])
        for scheduler in schedulers:
            scheduler.last_epoch.set_data(scheduler.last_epoch - 1)
        schedulers[0].step()
        self._last_lr = schedulers[0]._last_lr

    def step(self) -> None:
        """Go on to the next epoch."""
        self.last_epoch.set_data(self.last_epoch + 1)
        now = int(self.last_epoch.asnumpy())
        which = bisect_right(self.milestones, now)
        begins = which > 0 and self.milestones[which - 1] == now
        self._schedulers[which].step(*((0,) if begins else ()))

    def get_last_lr(self) -> list[Any]:
        """The rates in force."""
        return [rate.value() for rate in self._last_lr]


class ReduceLROnPlateau:
    """Rates times `factor` after `patience` epochs without improvement."""

    def __init__(
        self, optimizer: Any, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
        threshold_mode: str = "rel", cooldown: int = 0, min_lr: Any = 0, eps: float = 1e-8,
    ) -> None:  # fmt: skip
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(
                f"`mode` must be min or max, `threshold_mode` rel or abs, but got {mode} and {threshold_mode}."
            )
        self.optimizer, self.factor, self.patience, self.cooldown, self.eps = optimizer, factor, patience, cooldown, eps
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.min_lrs = _of_groups(optimizer, min_lr, "min_lr")
        self.best, self.wait, self.cooldown_counter = math.inf if mode == "min" else -math.inf, 0, 0
        self._last_lr = [group["lr"] for group in optimizer.param_groups]

    def step(self, metrics: Any) -> bool:
        """Take note of an epoch's number."""
        current = float(metrics.asnumpy() if isinstance(metrics, Tensor) else metrics)
        if self._is_improvement(current):
            self.best, self.wait = current, 0
        else:
            self.wait += 1
        if self.in_cooldown():
            self.cooldown_counter, self.wait = self.cooldown_counter - 1, 0
        if self.wait > self.patience:
            for rate, least in zip(self._last_lr, self.min_lrs, strict=True):
                old = float(rate.asnumpy())
                new = max(old * self.factor, least)
                if old > new + self.eps:
                    rate.set_data(Tensor(new, np.float32))
            self.cooldown_counter, self.wait = self.cooldown, 0
        return True

    def in_cooldown(self) -> bool:
        """Whether rates have just been reduced."""
        return self.cooldown_counter > 0

    def _is_improvement(self, current: float) -> bool:
        sign = 1 if self.mode == "min" else -1
        if self.threshold_mode == "rel":
            bar = self.best * (1.0 - sign * self.threshold) if math.isfinite(self.best) else self.best
        else:
            bar = self.best - sign * self.threshold
        return current < bar if self.mode == "min" else current > bar

    def get_last_lr(self) -> list[Any]:
        """The rates in force."""
        return [rate.value() for rate in self._last_lr]
