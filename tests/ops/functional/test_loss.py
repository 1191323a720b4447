"""Losses against formulas in NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special as sp
from scipy import stats

from adjoint import Tensor, ops

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
        row("cross_entropy", lambda x: ops.cross_entropy(x, CLASSES), lambda x: np.mean(picked(x, CLASSES)), (3, 4)),
        row(
            "cross_entropy",
            lambda x, w: ops.cross_entropy(x, CLASSES, w, ignore_index=1, label_smoothing=0.1),
            lambda x, w: smoothed(x, w, CLASSES, 1, 0.1),
            (3, 4), (4,),
            domain=(0.5, 2.0),
        ),
        row(
            "cross_entropy",
            lambda x, q, w: ops.cross_entropy(x, q, w, reduction="none", label_smoothing=0.2),
            lambda x, q, w: -np.sum(w[:, None] * (0.8 * q + 0.05) * sp.log_softmax(x, 1), 1),
            (2, 4, 2), (2, 4, 2), (4,),
        ),
        row("nll_loss", lambda x: ops.nll_loss(x, CLASSES), lambda x: -np.mean(picked_from(x, CLASSES)), (3, 4)),
        row("nll_loss", lambda x: ops.nll_loss(x, [[1, 0]], reduction="sum"), lambda x: -(x[0, 1, 0] + x[0, 0, 1]), (1, 4, 2)),
        row("nll_loss", lambda x: ops.nll_loss(x, 2), lambda x: -x[2], (4,)),
        row("huber_loss", lambda x, y: ops.huber_loss(x, y, "none", 0.7), lambda x, y: sp.huber(0.7, x - y), M, M),
        row("smooth_l1_loss", lambda x, y: ops.smooth_l1_loss(x, y, 0.5), lambda x, y: sp.huber(0.5, x - y) / 0.5, M, M),
        row("smooth_l1_loss", lambda x, y: ops.smooth_l1_loss(x, y, 0, "sum"), lambda x, y: np.sum(np.abs(x - y)), M, M),
        row("kl_div", ops.kl_div, lambda x, q: np.mean(sp.rel_entr(q, np.exp(x))), M, M, domain=(0.2, 2.0)),
        row("kl_div", lambda x, q: ops.kl_div(x, q, "batchmean"), lambda x, q: np.sum(sp.rel_entr(q, np.exp(x))) / np.float64(len(x)), M, M, domain=(0.2, 2.0)),
        row(
            "gaussian_nll_loss",
            lambda x, y, v: ops.gaussian_nll_loss(x, y, v, full=True),
            lambda x, y, v: -np.mean(stats.norm.logpdf(y, x, np.sqrt(v))),
            M, M, M,
            domain=(0.5, 2.0),
        ),
        row("poisson_nll_loss", ops.poisson_nll_loss, lambda x, k: np.mean(np.exp(x) - k * x), M, M),
        row(
            "poisson_nll_loss",
            lambda x: ops.poisson_nll_loss(x, Tensor(COUNTS.astype(x.dtype)), log_input=False, full=True, eps=0.0, reduction="none"),
            lambda x: x - COUNTS * np.log(x) + [0, 0, 3 * np.log(3) - 3 + np.log(6 * np.pi) / 2],
            M,
            domain=(0.5, 2.0),
        ),
    ]  # fmt: skip


CLASSES, COUNTS = np.array([2, 0, 1]), np.array([0.0, 1.0, 3.0])


def picked_from(x: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """x at the class of each row, one by one."""
    if len(x) != len(classes):
        raise ValueError
    return np.stack([x[i, c] for i, c in enumerate(classes)])


def picked(x: np.ndarray, classes: np.ndarray) -> np.ndarray:
    return -picked_from(sp.log_softmax(x, 1), classes)


def smoothed(x: np.ndarray, w: np.ndarray, classes: np.ndarray, ignored: int, share: float) -> np.ndarray:
    """Cross-entropy against smoothed labels, sample by sample."""
    logs, total, weights = sp.log_softmax(x, 1), np.float64(0), np.float64(0)
    picked_from(x, classes)
    for row, c in zip(logs, classes, strict=True):
        if c != ignored:
            total -= (1 - share) * w[c] * row[c] + share * np.mean(w * row)
            weights += w[c]
    return total / weights


def test_cross_entropy_of_large_numbers_is_exact() -> None:
    x = np.array([[1000.0, 0.0], [0.0, -1000.0]])
    assert ops.cross_entropy(x, [0, 0], reduction="none").tolist() == [0.0, 0.0]
    assert ops.cross_entropy(x, [1, 1], reduction="none").tolist() == [1000.0, 1000.0]
    assert ops.cross_entropy(x, [[1.0, 0.0], [0.5, 0.5]], reduction="none").tolist() == [0.0, 500.0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: ops.cross_entropy(x, [0, 4]), "class 4 is not one of 0 to 3"),
        (lambda x: ops.cross_entropy(x, [0, -1]), "class -1 is not one of 0 to 3"),
        (lambda x: ops.cross_entropy(x, [0]), "the target must have the others, not (1,)"),
        (lambda x: ops.cross_entropy(x, np.ones((4, 2))), "probabilities must have the shape of the input, (2, 4)"),
        (lambda x: ops.cross_entropy(x, [0, 1], reduction="max"), "reduction must be 'mean', 'sum' or 'none'"),
        (lambda x: ops.cross_entropy(1.0, [0]), "the input has no axis of classes"),
        (lambda x: ops.huber_loss(x, x, delta=0.0), "delta must be above 0, not 0.0"),
        (lambda x: ops.smooth_l1_loss(x, x, -1.0), "beta must not be negative, not -1.0"),
        (lambda x: ops.kl_div(x, 1.0), "kl_div: the shapes (2, 4) and () differ"),
    ],
)
def test_refusals(call: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        call(ops.ones((2, 4)))
    assert words in str(caught.value) and "called at test_loss.py" in str(caught.value)


def test_function(verify: Callable[[], None]) -> None:
    verify()


def test_every_public_function_has_a_row(without_a_row: list[str]) -> None:
    assert not without_a_row
