"""Learning rates written out, one for each step. An epoch is `step_per_epoch` steps, and rates change between epochs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from adjoint.core.errors import ArgumentError, called_at


def _by_epoch(
    what: str, rate: Callable[[int], float], total_step: int, step_per_epoch: int, length: int
) -> list[float]:
    for name, value in (
        ("total_step", total_step),
        ("step_per_epoch", step_per_epoch),
        ("the length in epochs", length),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ArgumentError(f"{what}: {name} must be a whole number above zero, not {value!r}{called_at()}")
    return [rate(i // step_per_epoch) for i in range(total_step)]


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


def exponential_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """`learning_rate * decay_rate ** (epoch / decay_epoch)`; the exponent is rounded down if `is_stair`.

    >>> import adjoint as ad
    >>> ad.optim.exponential_decay_lr(0.5, 0.5, 4, 2, 1)
    [0.5, 0.5, 0.25, 0.25]
    """
    power = (lambda e: e // decay_epoch) if is_stair else (lambda e: e / decay_epoch)
    return _by_epoch(
        "exponential_decay_lr",
        lambda e: learning_rate * decay_rate ** power(e),
        total_step,
        step_per_epoch,
        decay_epoch,
    )


def natural_exp_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """`learning_rate * exp(-decay_rate * epoch)`; if `is_stair`, the epoch is rounded down to a multiple of `decay_epoch`.

    >>> import adjoint as ad
    >>> [round(r, 4) for r in ad.optim.natural_exp_decay_lr(0.1, 0.9, 6, 2, 2, True)]
    [0.1, 0.1, 0.1, 0.1, 0.0165, 0.0165]
    """
    rounded = (lambda e: e // decay_epoch * decay_epoch) if is_stair else (lambda e: e)
    return _by_epoch(
        "natural_exp_decay_lr",
        lambda e: learning_rate * math.exp(-decay_rate * rounded(e)),
        total_step,
        step_per_epoch,
        decay_epoch,
    )


def inverse_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """`learning_rate / (1 + decay_rate * epoch / decay_epoch)`; the quotient is rounded down if `is_stair`.

    >>> import adjoint as ad
    >>> ad.optim.inverse_decay_lr(0.5, 1.0, 4, 1, 1)
    [0.5, 0.25, 0.16666666666666666, 0.125]
    """
    part = (lambda e: e // decay_epoch) if is_stair else (lambda e: e / decay_epoch)
    return _by_epoch(
        "inverse_decay_lr",
        lambda e: learning_rate / (1 + decay_rate * part(e)),
        total_step,
        step_per_epoch,
        decay_epoch,
    )


def cosine_decay_lr(
    min_lr: float, max_lr: float, total_step: int, step_per_epoch: int, decay_epoch: int
) -> list[float]:
    """From `max_lr` to `min_lr` along half a cosine of `decay_epoch` epochs, then `min_lr`.

    >>> import adjoint as ad
    >>> ad.optim.cosine_decay_lr(0.0, 0.5, 6, 2, 2)
    [0.5, 0.5, 0.25, 0.25, 0.0, 0.0]
    """
    return _by_epoch(
        "cosine_decay_lr",
        lambda e: min_lr + (max_lr - min_lr) * (1 + math.cos(math.pi * min(e, decay_epoch) / decay_epoch)) / 2,
        total_step,
        step_per_epoch,
        decay_epoch,
    )


def polynomial_decay_lr(
    learning_rate: float, end_learning_rate: float, total_step: int, step_per_epoch: int,
    decay_epoch: int, power: float, update_decay_epoch: bool = False,
) -> list[float]:  # fmt: skip
    """From `learning_rate` to `end_learning_rate` as `(1 - epoch / decay_epoch) ** power`.

    After `decay_epoch` epochs the rate stays; if `update_decay_epoch`, the decay is stretched by another `decay_epoch`.

    >>> import adjoint as ad
    >>> ad.optim.polynomial_decay_lr(0.5, 0.0, 6, 2, 2, 1.0)
    [0.5, 0.5, 0.25, 0.25, 0.0, 0.0]
    """

    def rate(epoch: int) -> float:
        length = decay_epoch * max(math.ceil(epoch / decay_epoch), 1) if update_decay_epoch else decay_epoch
        return (learning_rate - end_learning_rate) * (1 - min(epoch, length) / length) ** power + end_learning_rate

    return _by_epoch("polynomial_decay_lr", rate, total_step, step_per_epoch, decay_epoch)


def warmup_lr(learning_rate: float, total_step: int, step_per_epoch: int, warmup_epoch: int) -> list[float]:
    """From 0 to `learning_rate` in `warmup_epoch` equal parts, then `learning_rate`.

    >>> import adjoint as ad
    >>> ad.optim.warmup_lr(0.5, 6, 2, 2)
    [0.0, 0.0, 0.25, 0.25, 0.5, 0.5]
    """
    return _by_epoch(
        "warmup_lr",
        lambda e: learning_rate * min(e, warmup_epoch) / warmup_epoch,
        total_step,
        step_per_epoch,
        warmup_epoch,
    )
