"""Losses of distances and margins against formulas in NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial import distance

import adjoint as ad
from adjoint import ops

M, V = (3, 4), (4,)
SIGNS, CLASSES = np.array([1.0, -1.0, -1.0, 1.0]), np.array([2, 0, 3])


def by_row(pick: Callable[..., float], *matrices: np.ndarray) -> np.ndarray:
    """A number for each row of some matrices."""
    return np.array([pick(*rows) for rows in zip(*matrices, strict=True)])


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return 1 - distance.cosine(a, b)


def pair_costs(a: np.ndarray, b: np.ndarray) -> float:
    costs = [1 - c if s > 0 else max(0, c - 0.1) for c, s in zip(by_row(cosine, a, b), SIGNS[:3], strict=True)]
    return float(np.mean(costs))


def triplet(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    """One row of the loss, with the nearer of the two distances to the negative."""
    near, far, between = (distance.minkowski(u, v, 3) for u, v in ((a, b), (a, c), (b, c)))
    return max(0.0, near - min(far, between) + 1.0)


def class_margins(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    found = []
    for row, c in zip(x, CLASSES, strict=True):
        others = [max(0.0, 1 - row[c] + v) ** 2 for k, v in enumerate(row) if k != c]
        found.append(w[c] * sum(others) / len(row))
    return np.array(found)


def table(row: Any) -> list[Any]:
    """The calls and their references."""
    return [
        row(
            "hinge_embedding_loss",
            lambda x: ops.hinge_embedding_loss(x, SIGNS, 1.5),
            lambda x: np.mean([v if s > 0 else max(0, 1.5 - v) for v, s in zip(x, SIGNS, strict=True)]),
            V,
        ),
        row(
            "margin_ranking_loss",
            lambda x, y: ops.margin_ranking_loss(x, y, SIGNS.astype(x.dtype), 0.3, "none"),
            lambda x, y: np.array([max(0, -s * (a - b) + 0.3) for a, b, s in zip(x, y, SIGNS, strict=True)]),
            V, V,
        ),
        row("soft_margin_loss", lambda x: ops.soft_margin_loss(x, SIGNS.astype(x.dtype)), lambda x: np.mean(np.log1p(np.exp(-SIGNS * x))), V),
        row(
            "multilabel_soft_margin_loss",
            lambda x, w: ops.multilabel_soft_margin_loss(x, (SIGNS[None] > 0).astype(x.dtype), w, "none"),
            lambda x, w: np.mean(w * np.log1p(np.exp(-SIGNS * x)), 1),
            (1, 4), V,
        ),
        row("multi_margin_loss", lambda x, w: ops.multi_margin_loss(x, CLASSES, 2, 1.0, w, "none"), class_margins, M, V, domain=(0.2, 1.0)),
        row("cosine_similarity", ops.cosine_similarity, lambda a, b: by_row(cosine, a, b), M, M),
        row("cosine_embedding_loss", lambda a, b: ops.cosine_embedding_loss(a, b, SIGNS[:3], 0.1), pair_costs, M, M, domain=(0.2, 1.0)),
        row(
            "triplet_margin_loss",
            lambda a, b, c: ops.triplet_margin_loss(a, b, c, p=3, eps=0.0, swap=True, reduction="none"),
            lambda a, b, c: by_row(triplet, a, b, c),
            M, M, M,
        ),
    ]  # fmt: skip


def test_vectors_of_zeros_have_no_nan() -> None:
    zero, one = np.zeros((1, 3)), np.ones((1, 3))
    for loss in (
        lambda x: ops.sum(ops.cosine_similarity(x, one)),
        lambda x: ops.cosine_embedding_loss(x, one, SIGNS[:1]),
    ):
        assert np.isfinite(ad.grad(loss)(zero).asnumpy()).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: ops.multi_margin_loss(x, [0, 1], p=3), "p must be 1 or 2, not 3"),
        (lambda x: ops.multi_margin_loss(x, x), "scores (N, C) and classes (N,) are needed"),
        (lambda x: ops.cosine_embedding_loss(x, x, 1.0, 2.0), "margin must lie between -1 and 1, not 2.0"),
        (lambda x: ops.triplet_margin_loss(x, x, x, p=0.5), "p must be 1 or more, not 0.5"),
        (lambda x: ops.soft_margin_loss(x, 1.0), "the shapes (2, 4) and () differ"),
    ],
)
def test_refusals(call: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        call(ops.ones((2, 4)))
    assert words in str(caught.value) and "called at test_margin.py" in str(caught.value)


def test_function(verify: Callable[[], None]) -> None:
    verify()


def test_every_public_function_has_a_row(without_a_row: list[str]) -> None:
    assert not without_a_row
