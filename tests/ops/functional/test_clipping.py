"""Clipping against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import ops

M, V = (2, 3), (3,)


def scaled(most: float, *xs: np.ndarray) -> list[np.ndarray]:
    """Arrays scaled down together to a norm of at most `most`."""
    norm = np.sqrt(sum((x * x).sum() for x in xs))
    return [x * most / max(norm, most) for x in xs]


def table(row: Any) -> list[Any]:
    """The calls and their references."""
    return [
        row("clip_by_value", lambda x: ops.clip_by_value([x], -1, 1), lambda x: [np.clip(x, -1, 1)], M),
        row("clip_by_value", lambda x: ops.clip_by_value(x, None, 0.5), lambda x: np.minimum(x, 0.5), M),
        row("clip_by_norm", lambda *xs: ops.clip_by_norm(xs, 0.5), lambda *xs: tuple(scaled(0.5, *xs)), M, V),
        row("clip_by_norm", lambda x: ops.clip_by_norm(x, 100.0), lambda x: x, M),
        row("clip_by_global_norm", lambda *xs: ops.clip_by_global_norm(xs), lambda *xs: tuple(scaled(1.0, *xs)), M, V),
    ]  # fmt: skip


def test_function(verify: Callable[[], None]) -> None:
    verify()


def test_every_public_function_has_a_row(without_a_row: list[str]) -> None:
    assert not without_a_row
