"""Losses as cells."""

from __future__ import annotations

from typing import Any

from adjoint import ops
from adjoint.nn.cell import Cell


class BCEWithLogitsLoss(Cell):
    """Binary cross-entropy of sigmoid(logits) against labels, without overflow.

    >>> import adjoint as ad
    >>> print(ad.nn.BCEWithLogitsLoss()(ad.Tensor([0.0]), ad.Tensor([1.0])))
    0.6931472
    """

    def __init__(self, reduction: str = "mean", weight: Any = None, pos_weight: Any = None) -> None:
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(f"BCEWithLogitsLoss: reduction must be 'mean', 'sum' or 'none', not {reduction!r}")
        self.reduction, self.weight, self.pos_weight = reduction, weight, pos_weight

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.binary_cross_entropy_with_logits(logits, labels, self.weight, self.pos_weight, self.reduction)
