"""Losses of predictions against labels, as cells. Those of distances and margins are in `margin`."""

from __future__ import annotations

from typing import Any

from adjoint import ops
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import dtype_of, shape_of
from adjoint.nn.cell import Cell
from adjoint.ops.functional.loss import same_shape


class LossBase(Cell):
    """A loss of one's own: `reduction` is "mean", "sum" or "none", and `get_loss` applies it.

    >>> import adjoint as ad
    >>> class Cubic(ad.nn.LossBase):
    ...     def construct(self, logits, labels):
    ...         return self.get_loss(abs(logits - labels) ** 3)
    >>> print(Cubic("sum")(ad.Tensor([1.0, 2.0]), ad.Tensor([0.0, 0.0])))
    9.0
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise ArgumentError(
                f"{type(self).__name__}: reduction must be 'mean', 'sum' or 'none', not {reduction!r}{called_at()}"
            )
        self.reduction = reduction

    def get_loss(self, x: Any, weights: Any = 1.0) -> Any:
        """The losses of single elements times their weights, reduced."""
        return ops.reduced(x if isinstance(weights, float) and weights == 1.0 else x * weights, self.reduction)

    def extra_repr(self) -> str:
        return f"reduction={self.reduction}"


class L1Loss(LossBase):
    """The absolute difference.

    >>> import adjoint as ad
    >>> print(ad.nn.L1Loss()(ad.Tensor([1.0, 3.0]), ad.Tensor([1.0, 1.0])))
    1.0
    """

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.l1_loss(logits, labels, self.reduction)


class MAELoss(L1Loss):
    """`L1Loss` under another name of MindSpore's.

    >>> import adjoint as ad
    >>> print(ad.nn.MAELoss()(ad.Tensor([1.0, 3.0]), ad.Tensor([1.0, 1.0])))
    1.0
    """


class MSELoss(LossBase):
    """The squared difference.

    >>> import adjoint as ad
    >>> print(ad.nn.MSELoss()(ad.Tensor([1.0, 3.0]), ad.Tensor([1.0, 1.0])))
    2.0
    """

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.mse_loss(logits, labels, self.reduction)


class RMSELoss(Cell):
    """The root of the mean squared difference; its derivative where they agree is 0.

    >>> import adjoint as ad
    >>> print(ad.nn.RMSELoss()(ad.Tensor([1.0, 3.0]), ad.Tensor([1.0, -1.0])))
    2.828427
    """

    def construct(self, logits: Any, label: Any) -> Any:
        return ops.safe_sqrt(ops.mse_loss(logits, label))


class SmoothL1Loss(LossBase):
    """The absolute difference less beta / 2; the squared one over 2 beta where it is smaller than beta.

    >>> import adjoint as ad
    >>> print(ad.nn.SmoothL1Loss()(ad.Tensor([1.0, 3.0]), ad.Tensor([0.5, 1.0])))
    [0.125 1.5  ]
    """

    def __init__(self, beta: float = 1.0, reduction: str = "none") -> None:
        super().__init__(reduction)
        if beta < 0:
            raise ArgumentError(f"SmoothL1Loss: beta must not be negative, not {beta}{called_at()}")
        self.beta = beta

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.smooth_l1_loss(logits, labels, self.beta, self.reduction)


class HuberLoss(LossBase):
    """Half the squared difference; beyond delta a straight line.

    >>> import adjoint as ad
    >>> print(ad.nn.HuberLoss("none", delta=2.0)(ad.Tensor([1.0, 4.0]), ad.Tensor([0.0, 0.0])))
    [0.5 6. ]
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        if delta <= 0:
            raise ArgumentError(f"HuberLoss: delta must be above 0, not {delta}{called_at()}")
        self.delta = delta

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.huber_loss(logits, labels, self.reduction, self.delta)


class CrossEntropyLoss(LossBase):
    """Cross-entropy of softmax(logits) against classes or probabilities; see `ops.cross_entropy`.

    >>> import adjoint as ad
    >>> print(ad.nn.CrossEntropyLoss()(ad.Tensor([[0.0, 0.0], [1.0, 1.0]]), ad.Tensor([0, 1])))
    0.6931472
    """

    def __init__(
        self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
    ) -> None:
        super().__init__(reduction)
        self.weight, self.ignore_index, self.label_smoothing = weight, ignore_index, label_smoothing

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.cross_entropy(logits, labels, self.weight, self.ignore_index, self.reduction, self.label_smoothing)


class SoftmaxCrossEntropyWithLogits(LossBase):
    """Cross-entropy of softmax(logits) along the last axis: with `sparse` against classes, else against probabilities.

    >>> import adjoint as ad
    >>> print(ad.nn.SoftmaxCrossEntropyWithLogits(sparse=True)(ad.Tensor([[0.0, 0.0]]), ad.Tensor([1])))
    [0.6931472]
    """

    def __init__(self, sparse: bool = False, reduction: str = "none") -> None:
        super().__init__(reduction)
        self.sparse = sparse

    def construct(self, logits: Any, labels: Any) -> Any:
        logs = ops.log_softmax(logits, -1)
        if self.sparse:
            classes = shape_of(logits)[-1]
            labels = ops.one_hot(labels, classes, dtype=dtype_of(logits))
        same_shape("SoftmaxCrossEntropyWithLogits", logits, labels)
        return self.get_loss(-ops.sum(labels * logs, -1))


class NLLLoss(LossBase):
    """The negative logarithm of the probability of each class, given logarithms; see `ops.nll_loss`.

    >>> import adjoint as ad
    >>> print(ad.nn.NLLLoss()(ad.ops.log(ad.Tensor([[0.25, 0.75]])), ad.Tensor([0])))
    1.3862944
    """

    def __init__(self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight, self.ignore_index = weight, ignore_index

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.nll_loss(logits, labels, self.weight, self.ignore_index, self.reduction)


class BCELoss(LossBase):
    """Binary cross-entropy of probabilities against labels; logarithms count as at least -100.

    >>> import adjoint as ad
    >>> print(ad.nn.BCELoss()(ad.Tensor([0.5]), ad.Tensor([1.0])))
    0.6931472
    """

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, logits: Any, labels: Any) -> Any:
        same_shape("BCELoss", logits, labels)
        return ops.binary_cross_entropy(logits, labels, self.weight, self.reduction)


class BCEWithLogitsLoss(LossBase):
    """Binary cross-entropy of sigmoid(logits) against labels, without overflow.

    >>> import adjoint as ad
    >>> print(ad.nn.BCEWithLogitsLoss()(ad.Tensor([0.0]), ad.Tensor([1.0])))
    0.6931472
    """

    def __init__(self, reduction: str = "mean", weight: Any = None, pos_weight: Any = None) -> None:
        super().__init__(reduction)
        self.weight, self.pos_weight = weight, pos_weight

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.binary_cross_entropy_with_logits(logits, labels, self.weight, self.pos_weight, self.reduction)


class KLDivLoss(LossBase):
    """labels (log(labels) - logits), where the logits are logarithms; "batchmean" divides the sum by the batch size.

    >>> import adjoint as ad
    >>> print(ad.nn.KLDivLoss("sum")(ad.ops.log(ad.Tensor([0.5, 0.5])), ad.Tensor([0.0, 1.0])))
    0.6931472
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__("sum" if reduction == "batchmean" else reduction)
        self.reduction = reduction

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.kl_div(logits, labels, self.reduction)


class PoissonNLLLoss(LossBase):
    """Negative log-likelihood of counts under Poisson rates, or their logarithms with `log_input`.

    `full` adds Stirling's approximation of log(target!) where the target is above 1.

    >>> import adjoint as ad
    >>> print(ad.nn.PoissonNLLLoss()(ad.Tensor([0.0]), ad.Tensor([2.0])))
    1.0
    """

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def construct(self, input: Any, target: Any) -> Any:
        return ops.poisson_nll_loss(input, target, self.log_input, self.full, self.eps, self.reduction)


class GaussianNLLLoss(LossBase):
    """Negative log-likelihood of labels under normal distributions of these means and variances, at least eps.

    >>> import adjoint as ad
    >>> print(ad.nn.GaussianNLLLoss()(ad.Tensor([1.0]), ad.Tensor([3.0]), ad.Tensor([1.0])))
    2.0
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.full, self.eps = full, eps

    def construct(self, logits: Any, labels: Any, var: Any) -> Any:
        return ops.gaussian_nll_loss(logits, labels, var, self.full, self.eps, self.reduction)


class DiceLoss(Cell):
    """1 - 2 |a b| / (|a|² + |b|²): how little two masks overlap.

    >>> import adjoint as ad
    >>> print(ad.nn.DiceLoss(smooth=0.0)(ad.Tensor([1.0, 0.0]), ad.Tensor([1.0, 0.0])))
    0.0
    """

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        self.smooth = smooth

    def construct(self, logits: Any, label: Any) -> Any:
        same_shape("DiceLoss", logits, label)
        both = ops.sum(logits * label)
        total = ops.sum(logits * logits) + ops.sum(label * label)
        return 1 - 2 * both / (total + self.smooth)


class CTCLoss(LossBase):
    """The negative logarithm of the probability of sequences of labels, over all their alignments; see `ops.ctc_loss`.

    >>> import adjoint as ad
    >>> even = ad.ops.log_softmax(ad.ops.zeros((3, 1, 2)), -1)
    >>> print(ad.nn.CTCLoss(reduction="sum")(even, ad.Tensor([[1]]), [3], [1]).round(4))
    0.2877
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def construct(self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> Any:
        loss, _ = ops.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )
        return loss

    def extra_repr(self) -> str:
        return f"blank={self.blank}, reduction={self.reduction}, zero_infinity={self.zero_infinity}"
