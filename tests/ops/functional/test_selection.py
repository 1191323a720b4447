"""Gathering, scattering, masks, and results whose size depends on the values, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import ops

M, V, S = (2, 3), (3,), ()
MASK = np.array([[True, False, True], [False, False, True]])
ROWS, PAIRS = np.array([1, 0, 1]), np.array([[1, 2], [0, 0], [1, 2]])


def added(x: np.ndarray, index: Any, v: Any) -> np.ndarray:
    y = x.copy()
    np.add.at(y, index, v)
    return y


def replaced(x: np.ndarray, index: Any, v: Any) -> np.ndarray:
    y = x.copy()
    y[index] = v
    return y


def table(row: Any) -> list[Any]:
    """The calls and their references."""
    return [
        row("gather", lambda x: ops.gather(x, ROWS, 0), lambda x: x[ROWS], M),
        row("index_select", lambda x: ops.index_select(x, 1, ROWS), lambda x: x[:, ROWS], M),
        row("gather_elements", lambda x: ops.gather_elements(x, 1, PAIRS[:2]), lambda x: x[[[0], [1]], PAIRS[:2]], M),
        row("gather_elements", lambda x: ops.gather_elements(x, 0, PAIRS[1:2]), lambda x: x[[0, 0], [0, 1]][None], M),
        row("gather_nd", lambda x: ops.gather_nd(x, PAIRS), lambda x: x[PAIRS[:, 0], PAIRS[:, 1]], M),
        row("gather_nd", lambda x: ops.gather_nd(x, PAIRS[:, :1]), lambda x: x[PAIRS[:, 0]], M),
        row("scatter_nd_add tensor_scatter_add", lambda x, v: ops.scatter_nd_add(x, PAIRS, v), lambda x, v: added(x, tuple(PAIRS.T), v), M, V),
        row("tensor_scatter_update", lambda x, v: ops.tensor_scatter_update(x, PAIRS, v), lambda x, v: replaced(x, tuple(PAIRS.T), v), M, V),
        row("scatter_add", lambda x, v: ops.scatter_add(x, 0, PAIRS[1:2], v), lambda x, v: added(x, ([0, 0], [0, 1]), v[0, :2]), M, M),
        row("scatter", lambda x, v: ops.scatter(x, 1, PAIRS[:2], v), lambda x, v: replaced(x, ([0, 0, 1], [1, 2, 0]), v.ravel()[[0, 1, 3]]), M, (2, 2)),
        row("index_add", lambda x, v: ops.index_add(x, ROWS, v, 1), lambda x, v: added(x, (slice(None), ROWS), v), M, M),
        row("index_fill", lambda x, v: ops.index_fill(x, 1, [2, 0], v), lambda x, v: replaced(x, (slice(None), [2, 0]), v), M, S),
        row("masked_fill", lambda x, v: ops.masked_fill(x, MASK, v), lambda x, v: np.where(MASK, v, x), M, S),
        row("masked_select", lambda x: ops.masked_select(x, MASK), lambda x: x[MASK], M),
        row("masked_select", lambda x: ops.masked_select(x, MASK), lambda x: np.broadcast_to(x, (2, 3))[MASK], V),
        row("nonzero", ops.nonzero, np.argwhere, M, batches=False),
        row("nonzero", lambda x: ops.nonzero(x, as_tuple=True), np.nonzero, M, number="bool", batches=False),
        row("argwhere", ops.argwhere, np.argwhere, M, number="bool", batches=False),
        row("unique", ops.unique, np.unique, M, batches=False),
        row(
            "unique",
            lambda x: ops.unique(x, return_inverse=True, return_counts=True),
            lambda x: np.unique(x, return_inverse=True, return_counts=True),
            (3, 4),
            number="int",
            batches=False,
        ),
        row("searchsorted", lambda x, v: ops.searchsorted(ops.sort(x)[0], v), lambda x, v: np.searchsorted(np.sort(x), v), (4,), M),
        row("searchsorted", lambda x, v: ops.searchsorted(x, v, right=True), lambda x, v: np.searchsorted(x, v, "right"), (1,), M, number="int"),
        row("bincount", lambda x: ops.bincount(x, minlength=3), lambda x: np.bincount(x, minlength=3), (4,), domain=(0, 4), number="int", batches=False),
        row("bincount", lambda w: ops.bincount(ROWS, w, 4), lambda w: np.bincount(ROWS, w, 4), V),
    ]  # fmt: skip


def test_function(verify: Callable[[], None]) -> None:
    verify()


def test_every_public_function_has_a_row(without_a_row: list[str]) -> None:
    assert not without_a_row
