"""Tensors from nothing against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import ops

F64, F32 = np.dtype("float64"), np.dtype("float32")
M, V, S = (2, 3), (3,), ()
ROWS, PAIRS = np.array([1, 0, 1]), np.array([[1, 2], [0, 0], [1, 2]])


def table(row: Any) -> list[Any]:
    """The calls and their references."""
    return [
        row("zeros", lambda: ops.zeros((2, 3)), lambda: np.zeros((2, 3), "float32"), dtype=F32),
        row("ones", lambda: ops.ones(2, ad.int32), lambda: np.ones(2, "int32"), dtype=ad.int32),
        row("full", lambda v: ops.full((2, 3), v), lambda v: np.full((2, 3), v), S),
        row("full", lambda: ops.full(2, 7.0), lambda: np.full(2, 7.0), dtype=F32),
        row("full_like", lambda x, v: ops.full_like(x, v), np.full_like, M, S),
        row("zeros_like", lambda x: ops.zeros_like(x, ad.int8), lambda x: np.zeros_like(x, "int8"), M, dtype=ad.int8),
        row("ones_like", lambda x: ops.ones_like(x, ad.float64), lambda x: np.ones_like(x, "float64"), M, dtype=F64, zero=True),
        row("arange", lambda: ops.arange(2, 9, 3), lambda: np.arange(2, 9, 3), dtype=ad.int64),
        row("arange", lambda: ops.arange(0, 1, 0.25), lambda: np.arange(0, 1, 0.25), dtype=F32),
        row("linspace", lambda: ops.linspace(-1, 2, 7), lambda: np.linspace(-1, 2, 7), dtype=F32),
        row("linspace", lambda a, b: ops.linspace(a, b, 5), lambda a, b: np.linspace(a, b, 5), S, S),
        row("linspace", lambda a: ops.linspace(a, 1.0, 1), lambda a: np.linspace(a, 1.0, 1), S),
        row("linspace", lambda a: ops.linspace(a, 9.0, 4, ad.float32), lambda a: np.linspace(a, 9.0, 4), S, dtype=F32),
        row("logspace", lambda a, b: ops.logspace(a, b, 4, 3.0), lambda a, b: np.logspace(a, b, 4, base=3.0), S, S),
        row("eye", lambda: ops.eye(2, 3, ad.float64), lambda: np.eye(2, 3), dtype=F64),
        row("one_hot", lambda: ops.one_hot(ROWS, 2), lambda: np.eye(2)[ROWS], dtype=F32),
        row("one_hot", lambda: ops.one_hot(PAIRS, 3, axis=0), lambda: np.moveaxis(np.eye(3)[PAIRS], -1, 0), dtype=F32),
        row("one_hot", lambda a, b: ops.one_hot(ROWS, 2, a, b), lambda a, b: np.where(np.eye(2, dtype=bool)[ROWS], a, b), S, S),
        row("tril_indices", lambda: ops.tril_indices(3, 4, 1), lambda: np.stack(np.tril_indices(3, 1, 4)), dtype=ad.int64),
        row("triu_indices", lambda: ops.triu_indices(3, 4, -1), lambda: np.stack(np.triu_indices(3, -1, 4)), dtype=ad.int64),
        row("zeros_like", ops.zeros_like, np.zeros_like, M, zero=True),
        row("ones_like", ops.ones_like, np.ones_like, M, zero=True),
    ]  # fmt: skip


def test_function(verify: Callable[[], None]) -> None:
    verify()


def test_every_public_function_has_a_row(without_a_row: list[str]) -> None:
    assert not without_a_row
