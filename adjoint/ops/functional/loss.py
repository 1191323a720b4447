"""Loss functions."""

from __future__ import annotations

from typing import Any

from adjoint.core.errors import ArgumentError, called_at
from adjoint.ops import transcendental as _t
from adjoint.ops.compare import equal, where
from adjoint.ops.entropy import bce_with_logits as _bce
from adjoint.ops.functional.elementwise import clamp
from adjoint.ops.functional.reduction import mean, sum


def reduced(loss: Any, reduction: str) -> Any:
    """The loss of each element, or their mean or sum.

    >>> from adjoint import ops, Tensor
    >>> print(ops.reduced(Tensor([1.0, 3.0]), "mean"))
    2.0
    """
    if reduction == "mean":
        return mean(loss)
    if reduction == "sum":
        return sum(loss)
    if reduction == "none":
        return loss
    raise ArgumentError(f"reduction must be 'mean', 'sum' or 'none', not {reduction!r}{called_at()}")


def binary_cross_entropy_with_logits(
    logits: Any, label: Any, weight: Any = None, pos_weight: Any = None, reduction: str = "mean"
) -> Any:
    """Binary cross-entropy of sigmoid(logits) against labels, without overflow.

    `weight` scales each element, `pos_weight` the positive class.

    >>> from adjoint import ops, Tensor
    >>> print(ops.binary_cross_entropy_with_logits(Tensor([0.0]), Tensor([1.0])))
    0.6931472
    """
    return reduced(
        _bce(logits, label, 1.0 if weight is None else weight, 1.0 if pos_weight is None else pos_weight), reduction
    )


def binary_cross_entropy(logits: Any, labels: Any, weight: Any = None, reduction: str = "mean") -> Any:
    """Binary cross-entropy of probabilities against labels; logarithms count as at least -100.

    >>> from adjoint import ops, Tensor
    >>> print(ops.binary_cross_entropy(Tensor([0.5]), Tensor([1.0])))
    0.6931472
    """
    none, sure = equal(logits, 0), equal(logits, 1)
    log_p = where(none, -100.0, clamp(_t.log(where(none, 1, logits)), min=-100.0))
    log_q = where(sure, -100.0, clamp(_t.log1p(-where(sure, 0, logits)), min=-100.0))
    loss = -(labels * log_p + (1.0 - labels) * log_q)
    return reduced(loss if weight is None else weight * loss, reduction)


def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """The squared difference.

    >>> from adjoint import ops, Tensor
    >>> print(ops.mse_loss(Tensor([1.0, 3.0]), Tensor([1.0, 1.0])))
    2.0
    """
    difference = input - target
    return reduced(difference * difference, reduction)


def l1_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """The absolute difference.

    >>> from adjoint import ops, Tensor
    >>> print(ops.l1_loss(Tensor([1.0, 3.0]), Tensor([1.0, 1.0])))
    1.0
    """
    from adjoint.ops.arithmetic import abs_

    return reduced(abs_(input - target), reduction)
