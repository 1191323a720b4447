"""Joining, splitting, repeating, rolling, padding against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import ops

M, V, S = (2, 3), (3,), ()


def pieces(x: np.ndarray, size: int) -> list[np.ndarray]:
    return [x[:, k : k + size] for k in range(0, x.shape[1], size)] if x.shape[1] else [x]


def table(row: Any) -> list[Any]:
    """The calls and their references."""
    return [
        row("tile", lambda x: ops.tile(x, 2), lambda x: np.tile(x, 2), M),
        row("tile", lambda x: ops.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3)), M),
        row("repeat repeat_interleave", lambda x: ops.repeat(x, 2), lambda x: np.repeat(x, 2), M),
        row("repeat", lambda x: ops.repeat(x, [2, 0, 1], 1), lambda x: np.repeat(x, [2, 0, 1], 1), M),
        row("roll", lambda x: ops.roll(x, 1), lambda x: np.roll(x, 1), M),
        row("roll", lambda x: ops.roll(x, (1, -4), (0, 1)), lambda x: np.roll(x, (1, -4), (0, 1)), M),
        row("roll", lambda x: ops.roll(x, (1, 1), 1), lambda x: np.roll(x, (1, 1), 1), M),
        row("concat cat concatenate", lambda *xs: ops.concat(xs, -1), lambda *xs: np.concatenate(xs, -1), M, (2, 1)),
        row("stack", lambda *xs: ops.stack(xs, 1), lambda *xs: np.stack(xs, 1), M, M),
        row("unstack unbind", lambda x: ops.unstack(x, 1), lambda x: [x[:, i] for i in range(x.shape[1])], M),
        row("split", lambda x: ops.split(x, 2, 1), lambda x: pieces(x, 2), M),
        row("split", lambda x: ops.split(x, [1, 0, 2], -1), lambda x: [x[:, [0]], x[:, []], x[:, [1, 2]]], M),
        row("chunk", lambda x: ops.chunk(x, 2, 1), lambda x: pieces(x, -(-x.shape[1] // 2)), M),
        row("array_split", lambda x: ops.array_split(x, 2, 1), lambda x: np.array_split(x, 2, 1), M),
        row("array_split", lambda x: ops.array_split(x, [1, -1, 7]), lambda x: np.array_split(x, [1, -1, 7]), (4,)),
        row("pad", lambda x: ops.pad(x, (1, 2)), lambda x: np.pad(x, ((0, 0), (1, 2))), M),
        row("pad", lambda x, v: ops.pad(x, (1, 0, 0, 1), value=v), lambda x, v: np.pad(x, ((0, 1), (1, 0)), constant_values=v), M, S),
        row("pad", lambda x: ops.pad(x, (1, -1)), lambda x: np.pad(np.delete(x, -1, 1), ((0, 0), (1, 0))), M),
        row("pad", lambda x: ops.pad(x, (1, 1), value=7), lambda x: np.pad(x, ((0, 0), (1, 1)), constant_values=7), M, number="int"),
        *(
            row("pad_widths", lambda x, ours=ours: ops.pad_widths(x, [(1, 0), (2, 1)], ours), lambda x, mode=mode: np.pad(x, [(1, 0), (2, 1)], mode), M)
            for ours, mode in (("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap"), ("symmetric", "symmetric"))
        ),
        row("array", lambda x, y: ops.array([[x, 2.0], [1.0, y * x]]), lambda x, y: np.array([[x, 2.0], [1.0, y * x]]), S, S),
    ]  # fmt: skip


def test_function(verify: Callable[[], None]) -> None:
    verify()


def test_every_public_function_has_a_row(without_a_row: list[str]) -> None:
    assert not without_a_row
