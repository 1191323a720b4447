"""Which Parameters an optimiser trains, and the learning rate and weight decay of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.core.parameter import Parameter
from adjoint.core.tensor import Tensor

LearningRate = float | Tensor | Iterable[float] | Callable[[int], Any]
WeightDecay = float | Callable[[int], Any]
Params = Iterable[Parameter] | Iterable[dict[str, Any]]
Schedule = Callable[[int], float]

KEYS = ("params", "lr", "weight_decay", "grad_centralization")


@dataclass(frozen=True)
class Member:
    """One Parameter and how it is trained."""

    parameter: Parameter
    schedule: Schedule
    weight_decay: float | Schedule
    centralised: bool = False


def schedule_of(what: str, rate: LearningRate) -> Schedule:
    """A learning rate as a function of the step, which begins at 0.

    After the last one of a list of rates, that one stays in force.
    """
    if callable(rate):
        return partial(_converted, rate)
    values = np.asarray(rate.asnumpy() if isinstance(rate, Tensor) else _listed(what, rate), np.float64)
    if values.ndim > 1 or values.size == 0 or not (values >= 0).all():
        raise ArgumentError(
            f"{what}: learning_rate must be a number >= 0, a list of them, or a function of the step, not {rate!r}"
            f"{called_at()}"
        )
    return partial(_of_table, np.atleast_1d(values).tolist())


# Schedules are partial calls of these, rather than functions made on the spot, so that an optimiser can be pickled.


def _converted(function: Callable[[int], Any], step: int) -> float:
    found = function(step)
    try:
        rate = float(found)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"a learning rate that is a function of the step gave {found!r:.60} at step {step}; a number is needed{called_at()}"
        ) from None
    if rate < 0:
        raise ArgumentError(
            f"a learning rate that is a function of the step gave {rate} at step {step}; it must be >= 0{called_at()}"
        )
    return rate


def _of_table(rates: list[float], step: int) -> float:
    return rates[min(step, len(rates) - 1)]


def _listed(what: str, rate: Any) -> Any:
    found = list(rate) if isinstance(rate, Iterable) and not isinstance(rate, (str, bytes, np.ndarray)) else rate
    for one in found if isinstance(found, list) else [found]:
        if isinstance(one, bool) or not isinstance(one, (int, float, np.ndarray, np.number, Tensor)):
            raise ArgumentTypeError(
                f"{what}: learning_rate must be a number, a list of numbers or a function of the step, not {rate!r}"
                f"{called_at()}"
            )
    return found


def members(what: str, params: Params, learning_rate: LearningRate, weight_decay: WeightDecay) -> list[Member]:
    """Each Parameter with its settings, in the order in which gradients are given.

    Without groups, weight decay leaves out Parameters with `beta` or `gamma` in their names, as MindSpore does: those
    of normalisation layers. In a group it holds for all.
    """
    single = isinstance(params, (Parameter, dict)) or not isinstance(params, Iterable)
    given: list[Any] = [params] if single else list(params)
    schedule = schedule_of(what, learning_rate)
    decay = _decay(what, weight_decay)
    if not given:
        raise ArgumentError(f"{what}: there are no parameters to train{called_at()}")
    if all(isinstance(p, Parameter) for p in given):
        found = [Member(p, schedule, 0.0 if "beta" in p.name or "gamma" in p.name else decay) for p in given]
    elif all(isinstance(g, dict) for g in given):
        found = _grouped(what, given, schedule, decay)
    else:
        raise ArgumentTypeError(
            f"{what}: params must be Parameters, for example net.trainable_params(), or dicts with the key 'params', not "
            f"{' and '.join(sorted({type(p).__name__ for p in given}))}{called_at()}"
        )
    for m in found:
        if m.parameter.dtype.kind == "c" or not np.issubdtype(_plain_kind(m.parameter.dtype), np.floating):
            raise ArgumentTypeError(
                f"{what}: Parameter '{m.parameter.name}' is {m.parameter.dtype}; only real ones are trained{called_at()}"
            )
    return found


def _plain_kind(dtype: np.dtype) -> Any:
    return np.float32 if dtype.name == "bfloat16" else dtype


def _decay(what: str, value: Any) -> float | Schedule:
    if callable(value):
        return partial(_converted, value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentTypeError(
            f"{what}: weight_decay must be a number or a function of the step, not {type(value).__name__}{called_at()}"
        )
    if value < 0:
        raise ArgumentError(f"{what}: weight_decay must be >= 0, not {value}{called_at()}")
    return float(value)


def _grouped(what: str, groups: Sequence[dict[str, Any]], schedule: Schedule, decay: float | Schedule) -> list[Member]:
    found: dict[Parameter, Member] = {}
    order = None
    for group in groups:
        if "order_params" in group:
            order = list(group["order_params"])
            continue
        if "params" not in group or (unknown := set(group) - set(KEYS)):
            wrong = f"unknown keys {sorted(unknown)}" if "params" in group else "no key 'params'"
            raise ArgumentError(
                f"{what}: a group has {wrong}; its keys are {', '.join(KEYS)}, or order_params alone{called_at()}"
            )
        own = schedule_of(what, group["lr"]) if "lr" in group else schedule
        own_decay = _decay(what, group["weight_decay"]) if "weight_decay" in group else decay
        for p in group["params"]:
            if p in found:
                raise ArgumentError(f"{what}: Parameter '{p.name}' is in two groups{called_at()}")
            found[p] = Member(p, own, own_decay, bool(group.get("grad_centralization", False)))
    if order is None:
        return list(found.values())
    if set(order) != set(found) or len(order) != len(found):
        raise ArgumentError(f"{what}: order_params must name each Parameter of the groups once{called_at()}")
    return [found[p] for p in order]
