"""Primitives: losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import ops
from adjoint.core.spec import dtype_of, shape_of
from adjoint.mindspore.ops import nn_functions as F
from adjoint.mindspore.ops.operations.argument_checks import REDUCTION, checked
from adjoint.mindspore.ops.primitive import primitive

__all__ = [
    "BCEWithLogitsLoss", "BinaryCrossEntropy", "CTCLoss", "CTCLossV2", "InTopK", "KLDivLoss", "L2Loss",
    "MultiMarginLoss", "MultilabelMarginLoss", "NLLLoss", "SigmoidCrossEntropyWithLogits", "SmoothL1Loss",
    "SoftMarginLoss", "SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits",
    "TripletMarginLoss",
]  # fmt: skip

fixed = ops.stop_gradient


def _softmax_cross_entropy(self: Any, logits: Any, labels: Any) -> Any:
    """The loss of each sample, and its derivative by the logits."""
    labels = fixed(labels)
    logs = ops.log_softmax(logits, -1)
    return -ops.sum(labels * logs, -1), fixed(ops.exp(logs) - labels)


def _sparse_softmax_cross_entropy(self: Any, logits: Any, labels: Any) -> Any:
    if not self.is_grad:
        return ops.cross_entropy(logits, labels)
    right = ops.one_hot(labels, shape_of(logits)[-1], dtype=dtype_of(logits))
    return (ops.softmax(logits, -1) - right) / shape_of(logits)[0]


def _sigmoid_cross_entropy(self: Any, logits: Any, label: Any) -> Any:
    return ops.binary_cross_entropy_with_logits(logits, fixed(label), reduction="none")


SoftmaxCrossEntropyWithLogits = primitive("SoftmaxCrossEntropyWithLogits", _softmax_cross_entropy)
SparseSoftmaxCrossEntropyWithLogits = primitive(
    "SparseSoftmaxCrossEntropyWithLogits", _sparse_softmax_cross_entropy, is_grad=False
)
SigmoidCrossEntropyWithLogits = primitive("SigmoidCrossEntropyWithLogits", _sigmoid_cross_entropy)
BinaryCrossEntropy = primitive(
    "BinaryCrossEntropy",
    lambda self, input, target, weight=None: F.binary_cross_entropy(input, target, weight, self.reduction),
    reduction="mean",
)
BCEWithLogitsLoss = primitive(
    "BCEWithLogitsLoss",
    lambda self, input, target, weight=None, posWeight=None: F.binary_cross_entropy_with_logits(
        input, target, weight, posWeight, self.reduction
    ),
    reduction="mean",
)


def _nll(self: Any, logits: Any, labels: Any, weight: Any) -> Any:
    """The loss, and the sum of the weights that count."""
    counted = ops.not_equal(labels, self.ignore_index)
    shares = ops.where(counted, ops.take(weight, ops.where(counted, labels, 0), 0), 0)
    loss = ops.nll_loss(logits, labels, fixed(weight), self.ignore_index, self.reduction)
    return loss, ops.sum(fixed(shares))


NLLLoss = primitive("NLLLoss", _nll, reduction="mean", ignore_index=-100)
SmoothL1Loss = primitive(
    "SmoothL1Loss",
    lambda self, prediction, target: ops.smooth_l1_loss(prediction, target, self.beta, self.reduction),
    beta=1.0, reduction="none",
)  # fmt: skip
KLDivLoss = primitive(
    "KLDivLoss", lambda self, logits, labels: F.kl_div(logits, labels, self.reduction), reduction="mean"
)
L2Loss = primitive("L2Loss", lambda self, input_x: ops.sum(input_x * input_x) / 2.0)
SoftMarginLoss = primitive(
    "SoftMarginLoss", lambda self, input, target: ops.soft_margin_loss(input, target, self.reduction), reduction="mean"
)
MultiMarginLoss = primitive(
    "MultiMarginLoss",
    lambda self, x, target, weight=None: F.multi_margin_loss(x, target, self.p, self.margin, weight, self.reduction),
    p=1, margin=1.0, reduction="mean",
)  # fmt: skip
MultilabelMarginLoss = primitive(
    "MultilabelMarginLoss",
    lambda self, x, target: F.multilabel_margin_parts(x, target, self.reduction),
    reduction="mean",
)
TripletMarginLoss = primitive(
    "TripletMarginLoss",
    lambda self, x, positive, negative, margin: F.triplet_margin_loss(
        x, positive, negative, margin, self.p, self.eps, self.swap, self.reduction
    ),
    p=2, swap=False, eps=1e-6, reduction="mean",
)  # fmt: skip


# ---------------------------------------------------------------- sequences


def _ctc(self: Any, x: Any, labels_indices: Any, labels_values: Any, sequence_length: Any) -> Any:
    """The loss of each sample and its derivative by the scores (T, N, C); the last class stands for no label."""
    if self.preprocess_collapse_repeated or not self.ctc_merge_repeated:
        raise NotImplementedError("ops.CTCLoss is provided with its default ways to treat repeated labels only")
    at, values = np.asarray(labels_indices.asnumpy()), np.asarray(labels_values.asnumpy())
    samples, classes = shape_of(x)[1:]
    counts = np.bincount(at[:, 0], minlength=samples)
    labels = np.full((samples, max(int(counts.max(initial=1)), 1)), classes - 1, np.int64)
    labels[at[:, 0], at[:, 1]] = values

    def loss(x: Any) -> Any:
        logs = ops.log_softmax(x, -1)
        return ops.ctc_loss(logs, labels, sequence_length, counts, classes - 1, "none")[0]

    from adjoint.api.grad import grad

    return loss(x), fixed(grad(loss)(fixed(x)))


CTCLoss = primitive(
    "CTCLoss", _ctc,
    preprocess_collapse_repeated=False, ctc_merge_repeated=True, ignore_longer_outputs_than_inputs=False,
)  # fmt: skip
CTCLossV2 = primitive(
    "CTCLossV2",
    lambda self, log_probs, targets, input_lengths, target_lengths: F.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
    ),
    blank=0, reduction="none", zero_infinity=False,
)  # fmt: skip


def in_top_k(x1: Any, x2: Any, k: int) -> Any:
    """Whether the score of a sample's class is among its k largest, (N,).

    >>> import adjoint.mindspore as mindspore
    >>> print(in_top_k(mindspore.Tensor([[0.1, 0.7, 0.2]]), mindspore.Tensor([2]), 2))
    [ True]
    """
    own = ops.take_along_axis(x1, ops.cast(x2, np.int64)[:, None], 1)
    above = ops.sum(ops.cast(ops.greater(x1, own), np.int32), 1)
    return ops.less(above, k)


InTopK = primitive("InTopK", lambda self, x1, x2: in_top_k(x1, x2, self.k), k=1)

for _kind in (BinaryCrossEntropy, BCEWithLogitsLoss, NLLLoss, SmoothL1Loss, MultiMarginLoss, TripletMarginLoss):
    checked(_kind, REDUCTION)
