"""Losses against formulas in NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special as sp

from adjoint import ops

M, V, S = (2, 3), (3,), ()


def cross_entropy(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return -(q * np.log(p) + (1 - q) * np.log1p(-p))


def table(row: Any) -> list[Any]:
    """The calls and their references."""
    return [
        row("mse_loss", ops.mse_loss, lambda x, y: np.mean((x - y) ** 2), M, V),
        row("l1_loss", ops.l1_loss, lambda x, y: np.mean(np.abs(x - y)), M, V),
        *(row("reduced", lambda x, how=how: ops.reduced(x, how), ref, M) for how, ref in (("mean", np.mean), ("sum", np.sum), ("none", np.copy))),
        row("mse_loss", lambda x, y: ops.mse_loss(x, y, "none"), lambda x, y: (x - y) ** 2, M, V),
        row("l1_loss", lambda x, y: ops.l1_loss(x, y, "sum"), lambda x, y: np.sum(np.abs(x - y)), M, M),
        row("binary_cross_entropy", lambda p, q: ops.binary_cross_entropy(p, q, reduction="none"), cross_entropy, M, M, domain=(0.2, 0.8)),
        row(
            "binary_cross_entropy",
            lambda p, q, w: ops.binary_cross_entropy(p, q, w),
            lambda p, q, w: np.mean(w * cross_entropy(p, q)),
            M, M, V,
            domain=(0.2, 0.8),
        ),
        row(
            "binary_cross_entropy_with_logits",
            lambda z, q: ops.binary_cross_entropy_with_logits(z, q),
            lambda z, q: np.mean(cross_entropy(sp.expit(z), q)),
            M, M,
            domain=(0.2, 0.8),
        ),
        row(
            "binary_cross_entropy_with_logits",
            lambda z, q, w, p: ops.binary_cross_entropy_with_logits(z, q, w, p, "sum"),
            lambda z, q, w, p: np.sum(w * -(p * q * sp.log_expit(z) + (1 - q) * sp.log_expit(-z))),
            M, M, V, V,
            domain=(0.2, 0.8),
        ),
    ]  # fmt: skip


def test_function(verify: Callable[[], None]) -> None:
    verify()


def test_every_public_function_has_a_row(without_a_row: list[str]) -> None:
    assert not without_a_row
