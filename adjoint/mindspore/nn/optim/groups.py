"""Learning rates and weight decays of an optimizer, for all Parameters or by groups of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from adjoint.core.tensor import Tensor
from adjoint.mindspore.checks import at_least_zero
from adjoint.mindspore.common.parameter import Parameter, ParameterTuple
from adjoint.mindspore.nn.cell import Cell
from adjoint.mindspore.nn.learning_rate_schedule import LearningRateSchedule
from adjoint.nn.container import CellList

KEYS = ["params", "lr", "weight_decay", "order_params", "grad_centralization"]


class TableLR(LearningRateSchedule):
    """The learning rate of each step from a table."""

    def __init__(self, rates: Tensor, name: str) -> None:
        super().__init__()
        self.table = Parameter(rates, name=name)

    def construct(self, global_step: Any) -> Any:
        return self.table[global_step]


class FixedLR(LearningRateSchedule):
    """The same learning rate at every step, beside groups whose rates change."""

    def __init__(self, rate: Parameter) -> None:
        super().__init__()
        self.table = rate

    def construct(self, global_step: Any) -> Any:
        return self.table + 0.0


class ScaledDecay(Cell):
    """A weight decay that changes with the step, times the scale of the loss."""

    def __init__(self, weight_decay: Cell, loss_scale: float) -> None:
        super().__init__()
        self.weight_decay, self.loss_scale = weight_decay, loss_scale

    def construct(self, global_step: Any) -> Any:
        return self.weight_decay(global_step) * self.loss_scale


class LearningRates:
    """What an optimizer is told of learning rates, weight decays and the order of Parameters, in the form it is used in."""

    def __init__(self, name: str, given: list[Any], learning_rate: Any, weight_decay: Any, loss_scale: float) -> None:
        self.name, self.loss_scale = name, loss_scale
        self.is_group = isinstance(given[0], dict)
        self.is_group_lr = self.dynamic_lr = self.is_ordered = self.dynamic_weight_decay = False
        rate = self._rate(learning_rate)
        if self.is_group:
            self._grouped(given, rate, weight_decay)
        else:
            self.parameters = given
            self.learning_rate = self._built(rate, "learning_rate")
            decay = self._decay(weight_decay)
            self.decay_flags = tuple("beta" not in p.name and "gamma" not in p.name for p in given)
            self.dynamic_decay_flags: Any = isinstance(decay, Cell)
            self.exec_weight_decay = isinstance(decay, Cell) or decay > 0
            self.weight_decay: Any = decay if isinstance(decay, Cell) else Tensor(decay, np.float32)
            self.grad_centralization_flags = (False,) * len(given)

    def _rate(self, rate: Any) -> Any:
        """A learning rate as a float, a Tensor of float32 or a schedule."""
        if isinstance(rate, (float, int)):
            at_least_zero(self.name, **{"learning rate": float(rate)})
            return float(rate)
        if isinstance(rate, Tensor) and rate.ndim == 0:
            return Tensor(rate.asnumpy(), np.float32)
        self.dynamic_lr = True
        if isinstance(rate, LearningRateSchedule):
            return rate
        if isinstance(rate, Tensor):
            if rate.ndim > 1:
                raise ValueError(
                    f"For 'Optimizer', if 'learning_rate' is Tensor type, then the dimension of it should be 0 or 1, "
                    f"but got {rate.ndim}."
                )
            return Tensor(rate.asnumpy(), np.float32)
        if isinstance(rate, Iterable):
            return Tensor(np.array(list(rate)).astype(np.float32))
        raise TypeError(
            "For 'Optimizer', the argument 'learning_rate' must be int, float, Tensor, Iterable or LearningRateSchedule, "
            f"but got {type(rate)}."
        )

    def _built(self, rate: Any, name: str) -> Any:
        """A learning rate as a Parameter or a schedule."""
        if isinstance(rate, LearningRateSchedule):
            return rate
        if isinstance(rate, Tensor) and rate.ndim == 1:
            return TableLR(rate, name)
        held = Parameter(rate if isinstance(rate, Tensor) else Tensor(rate, np.float32), name=name)
        return FixedLR(held) if self.is_group_lr and self.dynamic_lr else held

    def _decay(self, decay: Any) -> Any:
        if isinstance(decay, (float, int)):
            at_least_zero(self.name, weight_decay=float(decay))
            return float(decay) * self.loss_scale
        if isinstance(decay, Cell):
            self.dynamic_weight_decay = True
            return ScaledDecay(decay, self.loss_scale)
        raise TypeError(
            f"For 'Optimizer', the argument 'Weight_decay' must be int, float or Cell, but got {type(decay)}"
        )

    # ------------------------------------------------------------ groups

    def _grouped(self, groups: list[dict[str, Any]], rate: Any, weight_decay: Any) -> None:
        self._checked(groups, rate)
        default = self._built(rate, "learning_rate")
        rows: list[tuple[Any, Any, Any, bool]] = []
        order: list[Any] = []
        for number, group in enumerate(groups):
            if "order_params" in group:
                order, self.is_ordered = list(group["order_params"]), True
                continue
            own = self._built(self._rate(group["lr"]), f"learning_rate_group_{number}") if "lr" in group else default
            decay = self._decay(group.get("weight_decay", weight_decay))
            centred = group.get("grad_centralization", False)
            if not isinstance(centred, bool):
                raise TypeError(
                    f"For 'Optimizer', the 'gradients_centralization' must be bool type, but got {type(centred)}."
                )
            rows += [(p, own, decay, centred) for p in group["params"]]
        rows = self._ordered(_once(rows), order) if order else _once(rows)
        self.group_params, self.group_lr, self.group_weight_decay, self.group_grad_centralization = map(
            list, zip(*rows, strict=True)
        )
        self.parameters, decays = self.group_params, self.group_weight_decay
        self.learning_rate = default
        if self.is_group_lr:
            self.learning_rate = CellList(self.group_lr) if self.dynamic_lr else _RateTuple(self.group_lr)
        self.decay_flags = tuple(isinstance(d, Cell) or d > 0 for d in decays)
        self.dynamic_decay_flags = tuple(isinstance(d, Cell) for d in decays)
        self.weight_decay = tuple(d if isinstance(d, Cell) else Tensor(d, np.float32) for d in decays)
        self.exec_weight_decay = any(self.decay_flags)
        self.grad_centralization_flags = tuple(self.group_grad_centralization)

    def _checked(self, groups: list[dict[str, Any]], rate: Any) -> None:
        length = rate.size if isinstance(rate, Tensor) and rate.ndim == 1 else 0
        for group in groups:
            if wrong := [key for key in group if key not in KEYS]:
                raise KeyError(f"For 'Optimizer', the key in group params must be one of in {KEYS}, but got {wrong}.")
            if "order_params" in group:
                _check_order(group)
                continue
            _check_members(group["params"])
            if "lr" in group:
                self.is_group_lr = True
                own = self._rate(group["lr"])
                size = own.size if isinstance(own, Tensor) and own.ndim == 1 else length
                if length and size != length:
                    raise ValueError(
                        "For 'Optimizer', the Tensor type dynamic learning rate in group must be the same size as the "
                        "argument 'learning_rate'."
                    )
                length = length or size

    def _ordered(self, rows: list[Any], order: list[Any]) -> list[Any]:
        if len(order) != len(rows):
            raise ValueError(
                "For 'Optimizer', the length of order parameters must be the same as the length of group parameters, "
                f"but got order parameters' length {len(order)}, group parameters' length {len(rows)}."
            )
        place = {p.name: i for i, p in enumerate(order)}
        if wrong := [p.name for p, *_ in rows if p.name not in place]:
            raise ValueError(f"For 'Optimizer', the parameter {wrong[0]} is not in order_params.")
        return sorted(rows, key=lambda row: place[row[0].name])


class _RateTuple(ParameterTuple):
    """The learning rate of each Parameter; groups share one."""

    def __new__(cls, rates: Iterable[Parameter] = ()) -> Any:
        return tuple.__new__(cls, rates)


def _once(rows: list[Any]) -> list[Any]:
    seen: set[str] = set()
    for p, *_ in rows:
        if p.name in seen:
            raise RuntimeError(
                f"For 'Optimizer', the {p.name} parameter already exists, it does not support repeated setting."
            )
        seen.add(p.name)
    return rows


def _check_order(group: dict[str, Any]) -> None:
    if len(group) > 1:
        raise ValueError(
            "For 'Optimizer', the order params dict in group parameters should only include the 'order_params' key, but "
            f"got {group.keys()}."
        )
    if not isinstance(group["order_params"], Iterable):
        raise TypeError(
            f"For 'Optimizer', the value of 'order_params' should be Iterable type, but got {type(group['order_params'])}."
        )


def _check_members(params: Any) -> None:
    if not isinstance(params, Iterable):
        raise TypeError(f"For 'Optimizer', the argument group `params` must be Iterable type, but got {type(params)}.")
    found = list(params)
    if not found:
        raise ValueError("For 'Optimizer', the argument group `params` must not be empty.")
    for index, p in enumerate(found):
        if not isinstance(p, Parameter):
            raise TypeError(
                f"For 'Optimizer', the element in group parameters must be Parameter type, but got {type(p)} at index "
                f"{index}."
            )
