"""`GradientCheckpoint`: how the memory of a gradient is chosen."""

from __future__ import annotations

import os
from typing import Any

from adjoint.core.checkpoint_policy import CheckpointPolicy, byte_count
from adjoint.core.errors import ArgumentTypeError, called_at


class GradientCheckpoint(CheckpointPolicy):
    """What a gradient keeps of the forward pass, and what it computes again: `grad(f, checkpoint=GradientCheckpoint(...))`.

    Args:
        strategy: "balanced" for the least product of time and memory; "sqrt" for about √n parts of a program of n steps, of which one
            at a time is computed again; "budget" for the least recomputation that fits `memory`; "offload" to put what is kept on
            disk; "binomial" for loops, with a number of states that grows with the logarithm of the number of iterations (Revolve).
        memory: for "budget", what may be held: a number of bytes, or text like "200MB" or "1.5GiB".
        snapshots: for "binomial", how many states of a loop are kept; chosen by the number of iterations if not given.
        directory: for "offload", where files are made; the system's place for temporary files if not given.

    >>> import adjoint as ad
    >>> def f(x):
    ...     for _ in range(16):
    ...         x = ad.ops.sin(x)
    ...     return x
    >>> print(ad.grad(f, checkpoint=ad.GradientCheckpoint("sqrt"))(1.0) == ad.grad(f)(1.0))
    True
    """

    def __init__(
        self,
        strategy: str = "balanced",
        *,
        memory: int | str | None = None,
        snapshots: int | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> None:
        size = None if memory is None else byte_count("GradientCheckpoint: memory", memory)
        super().__init__(strategy, size, snapshots, None if directory is None else os.fspath(directory))


def checked_policy(what: str, given: Any) -> CheckpointPolicy | None:
    """What a user gave as `checkpoint=`: a strategy's name, a GradientCheckpoint or None."""
    if given is None or isinstance(given, CheckpointPolicy):
        return given
    if isinstance(given, str):
        return GradientCheckpoint(given)
    raise ArgumentTypeError(
        f'{what}: checkpoint must be a GradientCheckpoint or a name like "sqrt", not {given!r}{called_at()}'
    )
