"""Grids, diagonals and triangles against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import ops

M, V, S = (2, 3), (3,), ()


def table(row: Any) -> list[Any]:
    """The calls and their references."""
    return [
        row("meshgrid", ops.meshgrid, np.meshgrid, V, (2,), (2,)),
        row("meshgrid", lambda *xs: ops.meshgrid(*xs, indexing="ij"), lambda *xs: np.meshgrid(*xs, indexing="ij"), V, (2,)),
        row("diagonal", ops.diagonal, np.diagonal, (2, 3, 2)),
        row("diagonal", lambda x: ops.diagonal(x, -1, 2, 0), lambda x: np.diagonal(x, -1, 2, 0), (2, 2, 3)),
        row("diag", ops.diag, np.diag, V),
        row("diag", lambda x: ops.diag(x, 1), lambda x: np.diag(x, 1), M),
        row("diag_embed", lambda x: ops.diag_embed(x, -1), lambda x: np.stack([np.diag(v, -1) for v in x]), M),
        row("tril", lambda x: ops.tril(x, -1), lambda x: np.tril(x, -1), (2, 3, 3)),
        row("triu", ops.triu, np.triu, M),
    ]  # fmt: skip


def test_function(verify: Callable[[], None]) -> None:
    verify()


def test_every_public_function_has_a_row(without_a_row: list[str]) -> None:
    assert not without_a_row
