"""Reshaping, transposing, broadcasting, picking against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import ops

M, V, S = (2, 3), (3,), ()
ROWS, PAIRS = np.array([1, 0, 1]), np.array([[1, 2], [0, 0], [1, 2]])


def table(row: Any) -> list[Any]:
    """The calls and their references."""
    return [
        row("reshape", lambda x: ops.reshape(x, (3, -1)), lambda x: x.reshape(3, -1), M),
        row("reshape", lambda x: ops.reshape(x, -1), lambda x: x.reshape(-1), M),
        row("flatten", ops.flatten, np.ravel, M),
        row("ravel", ops.ravel, np.ravel, M),
        row("flatten", lambda x: ops.flatten(x, "F"), lambda x: x.ravel("F"), M),
        row("flatten", lambda x: ops.flatten(x, start_dim=1), lambda x: x.reshape(len(x), x[:1].size), (2, 3, 2)),
        row("transpose permute", ops.transpose, np.transpose, (2, 3, 2)),
        row("transpose", lambda x: ops.transpose(x, (1, -1, 0)), lambda x: x.transpose(1, -1, 0), (2, 3, 2)),
        row("swapaxes swapdims", lambda x: ops.swapaxes(x, 0, -1), lambda x: np.swapaxes(x, 0, -1), (2, 3, 2)),
        row("t", ops.t, np.transpose, M),
        row("moveaxis movedim", lambda x: ops.moveaxis(x, 0, -1), lambda x: np.moveaxis(x, 0, -1), (2, 3, 2)),
        row("moveaxis", lambda x: ops.moveaxis(x, (0, 1), (2, 0)), lambda x: np.moveaxis(x, (0, 1), (2, 0)), (2, 3, 2)),
        row("squeeze", ops.squeeze, np.squeeze, (1, 3, 1)),
        row("squeeze", lambda x: ops.squeeze(x, (0, -1)), lambda x: np.squeeze(x, (0, -1)), (1, 3, 1)),
        row("expand_dims unsqueeze", lambda x: ops.expand_dims(x, (0, -1)), lambda x: np.expand_dims(x, (0, -1)), M),
        row("broadcast_to", lambda x: ops.broadcast_to(x, (2, -1, 2)), lambda x: np.broadcast_to(x, (2, len(x), 2)), (3, 1)),
        row("expand", lambda x: ops.expand(x, 2, 3), lambda x: np.broadcast_to(x, (2, 3)), V),
        row("broadcast_arrays", ops.broadcast_arrays, np.broadcast_arrays, M, V, (2, 1)),
        row("flip", ops.flip, np.flip, M),
        row("flip", lambda x: ops.flip(x, (-1,)), lambda x: np.flip(x, (-1,)), M),
        row("slice_axis", lambda x: ops.slice_axis(x, 1, 1, 3), lambda x: x[:, 1:3], M),
        row("take", lambda x: ops.take(x, [[5, 0], [1, 1]]), lambda x: np.take(x, [[5, 0], [1, 1]]), M),
        row("take", lambda x: ops.take(x, ROWS, -1), lambda x: np.take(x, ROWS, -1), M),
        row("take", lambda x: ops.take(x, 1, 0), lambda x: np.take(x, 1, 0), M),
        row("take_along_axis", lambda x: ops.take_along_axis(x, ROWS[None], 0), lambda x: np.take_along_axis(x, ROWS[None], 0), M),
        row("take_along_axis", lambda x: ops.take_along_axis(x, PAIRS[:1], 1), lambda x: np.take_along_axis(x, PAIRS[:1], 1), M),
        row("take_along_axis", lambda x: ops.take_along_axis(x, PAIRS, 1), lambda x: np.take_along_axis(x, PAIRS, 1), (1, 3)),
        row("ones_like_shape", lambda x: ops.ones_like_shape(x, (2,)), lambda x: np.ones(2), M, zero=True),
    ]  # fmt: skip


def test_function(verify: Callable[[], None]) -> None:
    verify()


def test_every_public_function_has_a_row(without_a_row: list[str]) -> None:
    assert not without_a_row
