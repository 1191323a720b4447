"""Integers that only the run knows: a compiled function counts them in a `while`."""

from __future__ import annotations

from typing import Any


def halvings(x: Any) -> Any:
    """How often x can be halved until it is at most 1."""
    k = 0
    while x > 1.0:
        x, k = x / 2, k + 1
    return k
