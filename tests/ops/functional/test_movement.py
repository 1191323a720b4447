"""Reshaping, joining, splitting, repeating, padding against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import ops

M, V, S = (2, 3), (3,), ()
ROWS, PAIRS = np.array([1, 0, 1]), np.array([[1, 2], [0, 0], [1, 2]])


def pieces(x: np.ndarray, size: int) -> list[np.ndarray]:
    return [x[:, k : k + size] for k in range(0, x.shape[1], size)] if x.shape[1] else [x]


def table(row: Any) -> list[Any]:
    """The calls and their references."""
    return [
        row("reshape", lambda x: ops.reshape(x, (3, -1)), lambda x: x.reshape(3, -1), M),
        row("reshape", lambda x: ops.reshape(x, -1), lambda x: x.reshape(-1), M),
        row("flatten ravel", ops.flatten, np.ravel, M),
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
        row("tile", lambda x: ops.tile(x, 2), lambda x: np.tile(x, 2), M),
        row("tile", lambda x: ops.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3)), M),
        row("repeat repeat_interleave", lambda x: ops.repeat(x, 2), lambda x: np.repeat(x, 2), M),
        row("repeat", lambda x: ops.repeat(x, [2, 0, 1], 1), lambda x: np.repeat(x, [2, 0, 1], 1), M),
        row("flip", ops.flip, np.flip, M),
        row("flip", lambda x: ops.flip(x, (-1,)), lambda x: np.flip(x, (-1,)), M),
        row("roll", lambda x: ops.roll(x, 1), lambda x: np.roll(x, 1), M),
        row("roll", lambda x: ops.roll(x, (1, -4), (0, 1)), lambda x: np.roll(x, (1, -4), (0, 1)), M),
        row("roll", lambda x: ops.roll(x, (1, 1), 1), lambda x: np.roll(x, (1, 1), 1), M),
        row("slice_axis", lambda x: ops.slice_axis(x, 1, 1, 3), lambda x: x[:, 1:3], M),
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
        row("take", lambda x: ops.take(x, [[5, 0], [1, 1]]), lambda x: np.take(x, [[5, 0], [1, 1]]), M),
        row("take", lambda x: ops.take(x, ROWS, -1), lambda x: np.take(x, ROWS, -1), M),
        row("take", lambda x: ops.take(x, 1, 0), lambda x: np.take(x, 1, 0), M),
        row("take_along_axis", lambda x: ops.take_along_axis(x, ROWS[None], 0), lambda x: np.take_along_axis(x, ROWS[None], 0), M),
        row("take_along_axis", lambda x: ops.take_along_axis(x, PAIRS[:1], 1), lambda x: np.take_along_axis(x, PAIRS[:1], 1), M),
        row("take_along_axis", lambda x: ops.take_along_axis(x, PAIRS, 1), lambda x: np.take_along_axis(x, PAIRS, 1), (1, 3)),
        row("meshgrid", ops.meshgrid, np.meshgrid, V, (2,), (2,)),
        row("meshgrid", lambda *xs: ops.meshgrid(*xs, indexing="ij"), lambda *xs: np.meshgrid(*xs, indexing="ij"), V, (2,)),
        row("diagonal", ops.diagonal, np.diagonal, (2, 3, 2)),
        row("diagonal", lambda x: ops.diagonal(x, -1, 2, 0), lambda x: np.diagonal(x, -1, 2, 0), (2, 2, 3)),
        row("diag", ops.diag, np.diag, V),
        row("diag", lambda x: ops.diag(x, 1), lambda x: np.diag(x, 1), M),
        row("diag_embed", lambda x: ops.diag_embed(x, -1), lambda x: np.stack([np.diag(v, -1) for v in x]), M),
        row("tril", lambda x: ops.tril(x, -1), lambda x: np.tril(x, -1), (2, 3, 3)),
        row("triu", ops.triu, np.triu, M),
        row("ones_like_shape", lambda x: ops.ones_like_shape(x, (2,)), lambda x: np.ones(2), M, zero=True),
        row("array", lambda x, y: ops.array([[x, 2.0], [1.0, y * x]]), lambda x, y: np.array([[x, 2.0], [1.0, y * x]]), S, S),
    ]  # fmt: skip


def test_function(verify: Callable[[], None]) -> None:
    verify()


def test_every_public_function_has_a_row(without_a_row: list[str]) -> None:
    assert not without_a_row
