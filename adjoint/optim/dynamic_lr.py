"""Learning rates written out, one for each step. An epoch is `step_per_epoch` steps, and rates change between epochs."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import ParamSpec

from adjoint.core.errors import ArgumentError, called_at

P = ParamSpec("P")
Rate = Callable[[int], float]  # of an epoch, the first of which is 0

_WHOLE = ("total_step", "step_per_epoch", "decay_epoch", "warmup_epoch")


def _by_epoch(make: Callable[P, Rate]) -> Callable[P, list[float]]:
    """The rates of `total_step` steps, for a function that gives the rate of an epoch."""
    signature = inspect.signature(make)

    @functools.wraps(make)
    def rates(*args: P.args, **kwargs: P.kwargs) -> list[float]:
        given = signature.bind(*args, **kwargs).arguments
        for name in _WHOLE:
            value = given.get(name, 1)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ArgumentError(
                    f"{make.__name__}: {name} must be an integer above zero, not {value!r}{called_at()}"
                )
        rate = make(*args, **kwargs)
        return [rate(i // given["step_per_epoch"]) for i in range(given["total_step"])]

    rates.__signature__ = signature.replace(return_annotation="list[float]")  # type: ignore[attr-defined]
    return rates


def _part(epoch: int, length: int, is_stair: bool) -> float:
    """How often `length` fits into the epochs so far."""
    return epoch // length if is_stair else epoch / length


def piecewise_constant_lr(milestone: Sequence[int], learning_rates: Sequence[float]) -> list[float]:
    """`learning_rates[k]` until step `milestone[k]`.

    >>> import adjoint as ad
    >>> ad.optim.piecewise_constant_lr([2, 5], [0.1, 0.05])
    [0.1, 0.1, 0.05, 0.05, 0.05]
    """
    if len(milestone) != len(learning_rates):
        raise ArgumentError(
            f"piecewise_constant_lr: {len(milestone)} milestones for {len(learning_rates)} learning rates{called_at()}"
        )
    rates: list[float] = []
    for end, rate in zip(milestone, learning_rates, strict=True):
        if end <= len(rates):
            raise ArgumentError(
                f"piecewise_constant_lr: milestones must rise from above zero, {milestone}{called_at()}"
            )
        rates += [rate] * (end - len(rates))
    return rates


@_by_epoch
def exponential_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> Rate:
    """`learning_rate * decay_rate ** (epoch / decay_epoch)`; the exponent is rounded down if `is_stair`.

    >>> import adjoint as ad
    >>> ad.optim.exponential_decay_lr(0.5, 0.5, 4, 2, 1)
    [0.5, 0.5, 0.25, 0.25]
    """
    return lambda epoch: learning_rate * decay_rate ** _part(epoch, decay_epoch, is_stair)


@_by_epoch
def natural_exp_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> Rate:
    """`learning_rate * exp(-decay_rate * epoch)`; if `is_stair`, the epoch is rounded down to a multiple of `decay_epoch`.

    >>> import adjoint as ad
    >>> [round(r, 4) for r in ad.optim.natural_exp_decay_lr(0.1, 0.9, 6, 2, 2, True)]
    [0.1, 0.1, 0.1, 0.1, 0.0165, 0.0165]
    """
    length = decay_epoch if is_stair else 1
    return lambda epoch: learning_rate * math.exp(-decay_rate * (epoch // length * length))


@_by_epoch
def inverse_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> Rate:
    """`learning_rate / (1 + decay_rate * epoch / decay_epoch)`; the quotient is rounded down if `is_stair`.

    >>> import adjoint as ad
    >>> ad.optim.inverse_decay_lr(0.5, 1.0, 4, 1, 1)
    [0.5, 0.25, 0.16666666666666666, 0.125]
    """
    return lambda epoch: learning_rate / (1 + decay_rate * _part(epoch, decay_epoch, is_stair))


@_by_epoch
def cosine_decay_lr(min_lr: float, max_lr: float, total_step: int, step_per_epoch: int, decay_epoch: int) -> Rate:
    """From `max_lr` to `min_lr` along half a cosine of `decay_epoch` epochs, then `min_lr`.

    >>> import adjoint as ad
    >>> ad.optim.cosine_decay_lr(0.0, 0.5, 6, 2, 2)
    [0.5, 0.5, 0.25, 0.25, 0.0, 0.0]
    """

    def rate(epoch: int) -> float:
        return min_lr + (max_lr - min_lr) * (1 + math.cos(math.pi * min(epoch, decay_epoch) / decay_epoch)) / 2

    return rate


@_by_epoch
def polynomial_decay_lr(
    learning_rate: float, end_learning_rate: float, total_step: int, step_per_epoch: int,
    decay_epoch: int, power: float, update_decay_epoch: bool = False,
) -> Rate:  # fmt: skip
    """From `learning_rate` to `end_learning_rate` as `(1 - epoch / decay_epoch) ** power`.

    After `decay_epoch` epochs the rate stays; if `update_decay_epoch`, the decay is stretched by another `decay_epoch`.

    >>> import adjoint as ad
    >>> ad.optim.polynomial_decay_lr(0.5, 0.0, 6, 2, 2, 1.0)
    [0.5, 0.5, 0.25, 0.25, 0.0, 0.0]
    """

    def rate(epoch: int) -> float:
        length = decay_epoch * max(math.ceil(epoch / decay_epoch), 1) if update_decay_epoch else decay_epoch
        return (learning_rate - end_learning_rate) * (1 - min(epoch, length) / length) ** power + end_learning_rate

    return rate


@_by_epoch
def warmup_lr(learning_rate: float, total_step: int, step_per_epoch: int, warmup_epoch: int) -> Rate:
    """From 0 to `learning_rate` in `warmup_epoch` equal parts, then `learning_rate`.

    >>> import adjoint as ad
    >>> ad.optim.warmup_lr(0.5, 6, 2, 2)
    [0.0, 0.0, 0.25, 0.25, 0.5, 0.5]
    """
    return lambda epoch: learning_rate * min(epoch, warmup_epoch) / warmup_epoch
