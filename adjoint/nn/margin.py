"""Losses of distances and margins, as cells."""

from __future__ import annotations

from typing import Any

from adjoint import ops
from adjoint.core.errors import ArgumentError, called_at
from adjoint.nn.loss import LossBase


class HingeEmbeddingLoss(LossBase):
    """The distances labelled 1; how far those labelled -1 fall short of the margin.

    >>> import adjoint as ad
    >>> print(ad.nn.HingeEmbeddingLoss()(ad.Tensor([0.5, 0.25]), ad.Tensor([1.0, -1.0])))
    0.625
    """

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.hinge_embedding_loss(logits, labels, self.margin, self.reduction)


class MarginRankingLoss(LossBase):
    """max(0, -target (input1 - input2) + margin): whether one stands before the other.

    >>> import adjoint as ad
    >>> print(ad.nn.MarginRankingLoss()(ad.Tensor([1.0]), ad.Tensor([3.0]), ad.Tensor([1.0])))
    2.0
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def construct(self, input1: Any, input2: Any, target: Any) -> Any:
        return ops.margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class SoftMarginLoss(LossBase):
    """log(1 + exp(-labels logits)), for labels 1 and -1.

    >>> import adjoint as ad
    >>> print(ad.nn.SoftMarginLoss()(ad.Tensor([0.0]), ad.Tensor([1.0])))
    0.6931472
    """

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.soft_margin_loss(logits, labels, self.reduction)


class MultiLabelSoftMarginLoss(LossBase):
    """Binary cross-entropy of sigmoid(x) against each label, averaged over the last axis.

    >>> import adjoint as ad
    >>> print(ad.nn.MultiLabelSoftMarginLoss()(ad.Tensor([[0.0, 0.0]]), ad.Tensor([[1.0, 0.0]])))
    0.6931472
    """

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, x: Any, target: Any) -> Any:
        return ops.multilabel_soft_margin_loss(x, target, self.weight, self.reduction)


class MultiMarginLoss(LossBase):
    """How far the score of each other class comes within the margin of the right one's, to the power p.

    >>> import adjoint as ad
    >>> print(ad.nn.MultiMarginLoss()(ad.Tensor([[0.5, 0.25]]), ad.Tensor([0])))
    0.375
    """

    def __init__(self, p: int = 1, margin: float = 1.0, reduction: str = "mean", weight: Any = None) -> None:
        super().__init__(reduction)
        if p not in (1, 2):
            raise ArgumentError(f"MultiMarginLoss: p must be 1 or 2, not {p!r}{called_at()}")
        self.p, self.margin, self.weight = p, margin, weight

    def construct(self, x: Any, target: Any) -> Any:
        return ops.multi_margin_loss(x, target, self.p, self.margin, self.weight, self.reduction)


class CosineEmbeddingLoss(LossBase):
    """1 - cos of the angle of pairs labelled 1; how far the cos of those labelled -1 exceeds the margin.

    >>> import adjoint as ad
    >>> loss = ad.nn.CosineEmbeddingLoss()
    >>> print(loss(ad.Tensor([[1.0, 0.0]]), ad.Tensor([[0.0, 1.0]]), ad.Tensor([1.0])))
    1.0
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        if not -1 <= margin <= 1:
            raise ArgumentError(f"CosineEmbeddingLoss: margin must lie between -1 and 1, not {margin}{called_at()}")
        self.margin = margin

    def construct(self, logits_x1: Any, logits_x2: Any, labels: Any) -> Any:
        return ops.cosine_embedding_loss(logits_x1, logits_x2, labels, self.margin, self.reduction)


class TripletMarginLoss(LossBase):
    """max(0, |x - positive| - |x - negative| + margin), in the p-norm over the last axis.

    With `swap` the distance between the positive and the negative counts too, if it is smaller.

    >>> import adjoint as ad
    >>> loss = ad.nn.TripletMarginLoss(eps=0.0)
    >>> print(loss(ad.Tensor([[0.0, 0.0]]), ad.Tensor([[3.0, 4.0]]), ad.Tensor([[0.0, 2.0]])))
    4.0
    """

    def __init__(
        self, p: float = 2, swap: bool = False, eps: float = 1e-6, reduction: str = "mean", margin: float = 1.0
    ) -> None:
        super().__init__(reduction)
        if p < 1:
            raise ArgumentError(f"TripletMarginLoss: p must be 1 or more, not {p!r}{called_at()}")
        self.p, self.swap, self.eps, self.margin = p, swap, eps, margin

    def construct(self, x: Any, positive: Any, negative: Any) -> Any:
        return ops.triplet_margin_loss(x, positive, negative, self.margin, self.p, self.eps, self.swap, self.reduction)
