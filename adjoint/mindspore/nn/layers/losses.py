"""Losses as Cells; labels and weights have zero gradients where MindSpore gives them zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import nn, ops
from adjoint.core.spec import dtype_of, shape_of
from adjoint.mindspore.nn.engine_layers import layer
from adjoint.mindspore.nn.layers.activation import get_activation
from adjoint.mindspore.ops import nn_functions as F

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "FocalLoss", "KLDivLoss", "L1LossExt", "MultiClassDiceLoss",
    "MultiMarginLoss", "MultilabelMarginLoss", "SampledSoftmaxLoss", "SoftmaxCrossEntropyWithLogits",
    "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]  # fmt: skip


def _get_axis(self: Any, x: Any) -> tuple[int, ...]:
    """All axes of an array."""
    return tuple(range(len(shape_of(x))))


LossBase = layer(nn.LossBase)
LossBase.get_axis = _get_axis


class BCELoss(layer(nn.BCELoss)):  # type: ignore[misc]
    """Binary cross-entropy of probabilities."""

    def construct(self, logits: Any, labels: Any) -> Any:
        return F.binary_cross_entropy(logits, labels, self.weight, self.reduction)


class BCEWithLogitsLoss(layer(nn.BCEWithLogitsLoss)):  # type: ignore[misc]
    """Binary cross-entropy of sigmoid(input)."""

    def construct(self, input: Any, target: Any) -> Any:
        return F.binary_cross_entropy_with_logits(input, target, self.weight, self.pos_weight, self.reduction)


class KLDivLoss(layer(nn.KLDivLoss)):  # type: ignore[misc]
    """labels (log(labels) - logits), where the logits are logarithms."""

    def construct(self, logits: Any, labels: Any) -> Any:
        return F.kl_div(logits, labels, self.reduction)


class CTCLoss(layer(nn.CTCLoss)):  # type: ignore[misc]
    """The negative logarithm of the probability of sequences of labels."""

    def construct(self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> Any:
        rest = self.blank, self.reduction, self.zero_infinity
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, *rest)[0]


class SoftmaxCrossEntropyWithLogits(layer(nn.SoftmaxCrossEntropyWithLogits)):  # type: ignore[misc]
    """Cross-entropy of softmax(logits) against probabilities, or classes if `sparse`."""

    def construct(self, logits: Any, labels: Any) -> Any:
        return super().construct(logits, labels if self.sparse else ops.stop_gradient(labels))


class L1LossExt(LossBase):  # type: ignore[misc, valid-type]
    """The absolute difference."""

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.l1_loss(logits, labels, self.reduction)


class FocalLoss(LossBase):  # type: ignore[misc, valid-type]
    """Cross-entropy in which samples count less the better they are predicted: (1 - p) to the power gamma.

    >>> import adjoint.mindspore as mindspore
    >>> print(FocalLoss()(mindspore.Tensor([[0.0, 0.0]]), mindspore.Tensor([[1]])))
    0.1732868
    """

    def __init__(self, weight: Any = None, gamma: float = 2.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight, self.gamma = weight, float(gamma)

    def construct(self, logits: Any, labels: Any) -> Any:
        n, classes = shape_of(logits)[:2]
        logs = ops.log_softmax(ops.reshape(logits, (n, classes, -1)), 1)
        labels = ops.reshape(labels, (n, shape_of(labels)[1], -1))
        by_class = ops.ones((1, classes, 1), dtype_of(logs)) if self.weight is None else self.weight[None, :, None]
        by_class = ops.broadcast_to(ops.cast(by_class, dtype_of(logs)), shape_of(logs))
        if shape_of(labels)[1] == 1:
            at = ops.cast(labels, np.int64)
            logs, by_class = (ops.squeeze(ops.take_along_axis(x, at, 1), 1) for x in (logs, by_class))
            return self.get_loss(ops.mean(-ops.pow(1.0 - ops.exp(logs), self.gamma) * by_class * logs, 1))
        share = ops.pow(1.0 - ops.exp(logs), self.gamma)
        return self.get_loss(ops.mean(-share * labels * by_class * logs, -1))


class MultilabelMarginLoss(LossBase):  # type: ignore[misc, valid-type]
    """How far the scores of wrong classes come within 1 of those of the right ones."""

    def construct(self, x: Any, target: Any) -> Any:
        return F.multilabel_margin_loss(x, target, self.reduction)


class MultiMarginLoss(layer(nn.MultiMarginLoss)):  # type: ignore[misc]
    """How far the score of each other class comes within the margin of the right one's."""

    def construct(self, x: Any, target: Any, weight: Any = None) -> Any:
        weight = self.weight if weight is None else weight
        return F.multi_margin_loss(x, target, self.p, self.margin, weight, self.reduction)


class TripletMarginLoss(layer(nn.TripletMarginLoss)):  # type: ignore[misc]
    """max(0, |x - positive| - |x - negative| + margin)."""

    def construct(self, x: Any, positive: Any, negative: Any, margin: Any = None) -> Any:
        margin = self.margin if margin is None else margin
        return F.triplet_margin_loss(x, positive, negative, margin, self.p, self.eps, self.swap, self.reduction)


class TripletMarginWithDistanceLoss(LossBase):  # type: ignore[misc, valid-type]
    """max(0, d(x, positive) - d(x, negative) + margin) with a distance of one's own."""

    def __init__(
        self, distance_function: Any = None, swap: bool = False, reduction: str = "mean", margin: float = 1.0
    ) -> None:
        super().__init__(reduction)
        self.distance_function, self.swap, self.margin = distance_function or _distance, swap, margin

    def construct(self, x: Any, positive: Any, negative: Any) -> Any:
        near, far = self.distance_function(x, positive), self.distance_function(x, negative)
        if self.swap:
            far = ops.minimum(far, self.distance_function(positive, negative))
        return self.get_loss(ops.maximum(near - far + self.margin, 0))


def _distance(x: Any, y: Any) -> Any:
    """The 2-norm of the difference along axis 1."""
    return ops.vector_norm(x - y, 2, 1)


class MultiClassDiceLoss(LossBase):  # type: ignore[misc, valid-type]
    """The mean over classes (axis 1) of the dice loss of each."""

    def __init__(self, weights: Any = None, ignore_indiex: int | None = None, activation: Any = "softmax") -> None:
        super().__init__()
        self.weights, self.ignore_indiex = weights, ignore_indiex
        self.activation = get_activation(activation) if isinstance(activation, str) else activation
        self.dice = layer(nn.DiceLoss)(1e-5)

    def construct(self, logits: Any, label: Any) -> Any:
        logits = logits if self.activation is None else self.activation(logits)
        total: Any = 0.0
        for k in range(shape_of(label)[1]):
            if k != self.ignore_indiex:
                loss = self.dice(logits[:, k], label[:, k])
                total = total + (loss if self.weights is None else loss * self.weights[k])
        return total / shape_of(label)[1]


class SampledSoftmaxLoss(LossBase):  # type: ignore[misc, valid-type]
    """Softmax cross-entropy over the right classes and some that are drawn."""

    def __init__(
        self, num_sampled: int, num_classes: int, num_true: int = 1, sampled_values: Any = None,
        remove_accidental_hits: bool = True, seed: int = 0, reduction: str = "none",
    ) -> None:  # fmt: skip
        super().__init__(reduction)
        if num_sampled > num_classes or num_true > num_classes or num_true < 1:
            raise ValueError(
                f"For 'SampledSoftmaxLoss', 'num_sampled' {num_sampled} and 'num_true' {num_true} must not be above "
                f"'num_classes' {num_classes}."
            )
        self.num_sampled, self.num_classes, self.num_true, self.seed = num_sampled, num_classes, num_true, seed
        self.sampled_values, self.remove_accidental_hits = sampled_values, remove_accidental_hits

    def _drawn(self, labels: Any) -> tuple[Any, Any, Any]:
        if self.sampled_values is not None:
            return tuple(self.sampled_values)
        drawn = ops.randperm(self.num_classes)[: self.num_sampled]
        expected = self.num_sampled / self.num_classes
        return drawn, ops.full(shape_of(labels), expected), ops.full((self.num_sampled,), expected)

    def construct(self, weights: Any, biases: Any, labels: Any, logits: Any) -> Any:
        labels = ops.reshape(labels, (-1, self.num_true))
        drawn, true_count, drawn_count = self._drawn(labels)
        rows = ops.take(weights, labels, 0)
        right = ops.sum(rows * logits[:, None, :], -1) + ops.take(biases, labels, 0) - ops.log(true_count)
        others = ops.matmul(logits, ops.transpose(ops.take(weights, drawn, 0))) + ops.take(biases, drawn, 0)
        if self.remove_accidental_hits:
            hit = ops.any(ops.equal(labels[:, :, None], drawn[None, None, :]), 1)
            others = ops.where(hit, -3.4e38, others)
        scores = ops.concat([right, others - ops.log(drawn_count)], 1)
        target = ops.concat([ops.ones_like(right) / self.num_true, ops.zeros_like(others)], 1)
        return -ops.sum(target * ops.log(ops.softmax(scores, 1) + 1e-20), 1)
