"""Sums, means, extremes, running and sorted values against NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special as sp

import adjoint as ad
from adjoint import ops

F64 = np.dtype("float64")
M = (2, 3)
WHOLE_NUMBERS = ("sum", "mean", "prod", "max", "min", "var", "std", "median", "ptp", "cumsum", "cumprod")


def reductions(row: Any, name: str, function: Any, reference: Any) -> list[Any]:
    """All axes, one from the end, two at once, and one kept."""
    return [
        row(name, function, reference, M),
        row(name, lambda x: function(x, axis=-2), lambda x: reference(x, axis=-2), (2, 3, 2)),
        row(name, lambda x: function(x, axis=(0, 2)), lambda x: reference(x, axis=(0, 2)), (2, 3, 2)),
        row(name, lambda x: function(x, axis=1, keepdims=True), lambda x: reference(x, axis=1, keepdims=True), M),
    ]


def table(row: Any) -> list[Any]:
    """The calls and their references."""
    return [
        *reductions(row, "sum", ops.sum, np.sum),
        *reductions(row, "mean", ops.mean, np.mean),
        *reductions(row, "prod", ops.prod, np.prod),
        *reductions(row, "max amax", ops.max, np.max),
        *reductions(row, "min amin", ops.min, np.min),
        *reductions(row, "any", ops.any, np.any),
        *reductions(row, "all", ops.all, np.all),
        *reductions(row, "var", ops.var, np.var),
        *reductions(row, "std", ops.std, np.std),
        *reductions(row, "logsumexp", ops.logsumexp, sp.logsumexp),
        *reductions(row, "median", ops.median, np.median),
        *reductions(row, "ptp", ops.ptp, np.ptp),
        *reductions(row, "quantile", lambda x, **k: ops.quantile(x, 0.3, **k), lambda x, **k: np.quantile(x, 0.3, **k)),
        row("quantile", lambda x: ops.quantile(x, [0.1, 1.0], 0), lambda x: np.quantile(x, [0.1, 1.0], 0), (4, 2)),
        row("sum", lambda x: ops.sum(x, dtype=ad.float64), np.sum, M, dtype=F64),
        row("prod", lambda x: ops.prod(x, 1, dtype=ad.float64), lambda x: np.prod(x, 1), M, dtype=F64),
        row("var", lambda x: ops.var(x, 1, ddof=1), lambda x: np.var(x, 1, ddof=1), M),
        row("std", lambda x: ops.std(x, 1, ddof=1), lambda x: np.std(x, 1, ddof=1), M),
        row("var", ops.var, np.var, M, number="complex"),
        *(row(n, getattr(ops, n), getattr(np, n), M, number="int") for n in WHOLE_NUMBERS),
        *(row(n, getattr(ops, n), getattr(np, n), M, number="bool") for n in ("sum", "mean", "prod", "any", "all", "count_nonzero")),
        row("max", lambda x: ops.max(x, 0, return_indices=True), lambda x: (x.max(0), x.argmax(0)), M),
        row("min", lambda x: ops.min(x, 1, keepdims=True, return_indices=True), lambda x: (x.min(1, keepdims=True), x.argmin(1)[:, None]), M),
        row("argmax", lambda x: ops.argmax(x, 1, keepdims=True), lambda x: np.argmax(x, 1, keepdims=True), M),
        row("argmin", lambda x: ops.argmin(x, keepdims=True), lambda x: np.argmin(x, keepdims=True), M),
        row("argsort", lambda x: ops.argsort(x, 0, descending=True), lambda x: np.argsort(-x, 0, stable=True), M),
        row("count_nonzero", lambda x: ops.count_nonzero(x, 0, keep_dims=True), lambda x: np.count_nonzero(x, 0, keepdims=True), M),
        row("cumsum", lambda x: ops.cumsum(x, 1), lambda x: np.cumsum(x, 1), M),
        row("cumsum", ops.cumsum, np.cumsum, M),
        row("cumprod", lambda x: ops.cumprod(x, -1), lambda x: np.cumprod(x, -1), (2, 5)),
        row("cumprod", ops.cumprod, np.cumprod, M),
        row("cummax", lambda x: ops.cummax(x, 1)[0], lambda x: np.maximum.accumulate(x, 1), (2, 5)),
        row("cummin", lambda x: ops.cummin(x, 0)[0], lambda x: np.minimum.accumulate(x, 0), (5, 2)),
        row("cummin", lambda x: ops.cummin(x, 0)[0], lambda x: np.minimum.accumulate(x, 0), (5, 2), number="bool"),
        row("sort", ops.sort, lambda x: (np.sort(x), np.argsort(x)), M),
        row("sort", lambda x: ops.sort(x, 0, descending=True), lambda x: (-np.sort(-x, 0), np.argsort(-x, 0)), M),
        row("topk", lambda x: ops.topk(x, 2), lambda x: (-np.sort(-x)[:, [0, 1]], np.argsort(-x)[:, [0, 1]]), M),
        row("topk", lambda x: ops.topk(x, 1, 0, largest=False), lambda x: (np.sort(x, 0)[[0]], np.argsort(x, 0)[[0]]), M),
        *(row(n, getattr(ops, n), getattr(np, n), M, zero=True) for n in ("any", "all", "argmax", "argmin", "argsort", "count_nonzero")),
        *(row(n, getattr(ops, n), getattr(np, n), M, domain=(0.2, 0.8), number="complex") for n in ("sum", "mean", "prod", "cumsum", "cumprod")),
    ]  # fmt: skip


def test_function(verify: Callable[[], None]) -> None:
    verify()


def test_every_public_function_has_a_row(without_a_row: list[str]) -> None:
    assert not without_a_row
