"""What a gradient keeps of the forward pass: a user's choice, as data that every mode reads."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, called_at

STRATEGIES = ("balanced", "sqrt", "budget", "offload", "binomial")
_UNITS = (
    {"": 1, "B": 1}
    | {f"{p}B": 1000**k for k, p in enumerate("KMGT", 1)}
    | {f"{p}IB": 1024**k for k, p in enumerate("KMGT", 1)}
)


@dataclass(frozen=True)
class CheckpointPolicy:
    """A strategy and its settings; None where the strategy decides."""

    strategy: str = "balanced"
    memory: int | None = None  # bytes that may be held, for "budget"
    snapshots: int | None = None  # states of a loop that are kept, for "binomial"
    directory: str | None = None  # where "offload" puts what it does not hold in memory

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ArgumentError(
                f"GradientCheckpoint: strategy must be one of {', '.join(STRATEGIES)}, not {self.strategy!r}{called_at()}"
            )
        for name, owner in (("memory", "budget"), ("snapshots", "binomial"), ("directory", "offload")):
            if getattr(self, name) is not None and self.strategy != owner:
                raise ArgumentError(
                    f'GradientCheckpoint: {name} is for strategy="{owner}", not for "{self.strategy}"{called_at()}'
                )
        if self.strategy == "budget" and self.memory is None:
            raise ArgumentError(
                f'GradientCheckpoint: strategy="budget" needs memory=, for example "200MB"{called_at()}'
            )
        if self.snapshots is not None and (type(self.snapshots) is not int or self.snapshots < 1):
            raise ArgumentError(
                f"GradientCheckpoint: snapshots must be an integer above zero, not {self.snapshots!r}{called_at()}"
            )
        if self.directory is not None and not os.path.isdir(self.directory):
            raise ArgumentError(f"GradientCheckpoint: there is no directory {self.directory!r}{called_at()}")


@dataclass(frozen=True)
class ShareOfMemory(CheckpointPolicy):
    """How far from the least memory (0) to what keeping everything takes (1): what a search for a budget tries.

    Each gradient notes in `asked` the bytes at both ends."""

    share: float = 1.0
    asked: list[tuple[int, int]] = field(default_factory=list, compare=False, repr=False)


@dataclass(frozen=True)
class KeepEverything(CheckpointPolicy):
    """Computes nothing again: what a strategy is weighed against."""

    strategy: str = "budget"
    memory: int | None = sys.maxsize


def not_on_disk() -> ArgumentError:
    """What is said where a compiled function is to keep values on disk."""
    return ArgumentError(
        'GradientCheckpoint: strategy="offload" is for dynamic mode. In a compiled function take another: "binomial" or "sqrt" for '
        f'loops, "balanced" or "budget" for all else, or jit(..., memory=...){called_at()}'
    )


def byte_count(what: str, given: Any) -> int:
    """So many bytes, given as an integer or as text: "200MB" is 200 million, "200MiB" 200 times 2**20."""
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool) and given > 0:
        return int(given)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", given) if isinstance(given, str) else None
    unit = None if found is None else _UNITS.get(found[2].upper())
    size = 0 if found is None or unit is None else int(float(found[1]) * unit)
    if size < 1:
        raise ArgumentError(
            f'{what} must be a number of bytes above zero or text like "200MB", not {given!r}{called_at()}'
        )
    return size
