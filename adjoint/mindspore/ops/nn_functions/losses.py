"""Losses with MindSpore's arguments; labels and weights have zero gradients where MindSpore gives them zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.spec import dtype_of, shape_of

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "ctc_loss", "kl_div",
    "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "multilabel_margin_parts", "triplet_margin_loss",
]  # fmt: skip


def _fixed(x: Any) -> Any:
    return None if x is None else ops.stop_gradient(x)


def binary_cross_entropy(logits: Any, labels: Any, weight: Any = None, reduction: str = "mean") -> Any:
    """Binary cross-entropy of probabilities."""
    return ops.binary_cross_entropy(logits, labels, _fixed(weight), reduction)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: str = "mean"
) -> Any:
    """Binary cross-entropy of sigmoid(input)."""
    return ops.binary_cross_entropy_with_logits(input, target, _fixed(weight), _fixed(pos_weight), reduction)


def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Any:
    """1 - cos of pairs labelled 1; how far the cos of those labelled -1 exceeds the margin."""
    return ops.cosine_embedding_loss(input1, input2, target, float(margin), reduction)


def kl_div(logits: Any, labels: Any, reduction: str = "mean") -> Any:
    """labels (log(labels) - logits), where the logits are logarithms."""
    return ops.kl_div(logits, ops.stop_gradient(labels), reduction)


def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """The squared difference."""
    return ops.mse_loss(input, target, reduction)


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """The negative logarithm of the probability of each sequence of labels; its gradient is that of a softmax's input."""
    normal = ops.log_softmax(log_probs, -1)
    given = ops.stop_gradient(log_probs - normal) + normal
    loss, alphas = ops.ctc_loss(given, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)
    return loss, ops.stop_gradient(alphas)


def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1, weight: Any = None, reduction: str = "mean"
) -> Any:
    """How far the score of each other class comes within the margin of the right one's."""
    return ops.multi_margin_loss(input, target, p, float(margin), _fixed(weight), reduction)


def multilabel_margin_parts(x: Any, target: Any, reduction: str) -> tuple[Any, Any]:
    """The loss, and which classes are right ones: those of a row of `target` up to its first -1."""
    single = len(shape_of(x)) == 1
    x, target = (x[None], target[None]) if single else (x, target)
    n, classes = shape_of(x)
    before_end = ops.less(ops.cumsum(ops.cast(ops.less(target, 0), np.int32), 1), 1)
    safe = ops.where(before_end, target, 0)
    hits = ops.one_hot(safe, classes, dtype=dtype_of(x)) * ops.cast(before_end, dtype_of(x))[..., None]
    is_right = ops.minimum(ops.sum(hits, 1), 1.0)
    scores = ops.take_along_axis(x, ops.cast(safe, np.int64), 1)
    short = ops.relu(1.0 - (scores[:, :, None] - x[:, None, :]))
    counted = ops.cast(before_end, dtype_of(x))[:, :, None] * (1.0 - is_right)[:, None, :]
    loss = ops.reduced(ops.sum(ops.reshape(short * counted, (n, -1)), 1) / classes, reduction)
    is_right = ops.cast(is_right, np.int32)
    return (loss[0] if single and reduction == "none" else loss), (is_right[0] if single else is_right)


def multilabel_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """How far the scores of wrong classes come within 1 of those of the right ones.

    >>> import adjoint.mindspore as mindspore
    >>> x = mindspore.Tensor([[0.1, 0.2, 0.4, 0.8]])
    >>> print(multilabel_margin_loss(x, mindspore.Tensor([[3, 0, -1, 1]])))
    0.85
    """
    return multilabel_margin_parts(input, target, reduction)[0]


def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: int = 2, eps: float = 1e-6, swap: bool = False,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """max(0, |anchor - positive| - |anchor - negative| + margin)."""
    margin = margin if isinstance(margin, float) else float(margin)
    return ops.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction)
