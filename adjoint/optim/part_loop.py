"""The loop over the parts of a batch: a file of its own, as compiled functions read it as they read a user's code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def add_parts(share: Callable[..., Any], sums: list[Any], pieces: list[Any], count: int) -> tuple[list[Any], list[Any]]:
    """The sums with the shares of so many more parts, and the further outputs of these."""
    others = []
    for k in range(count):
        found, more = share([piece[k] for piece in pieces])
        sums = [a + b for a, b in zip(sums, found)]
        others.append(more)
    return sums, others
