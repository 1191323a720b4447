"""Losses of predictions against labels. Those of distances and margins are in `margin`."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError, called_at, user_frame
from adjoint.core.spec import dtype_of, shape_of
from adjoint.ops import transcendental as _t
from adjoint.ops.arithmetic import abs_
from adjoint.ops.compare import equal, greater, less
from adjoint.ops.entropy import bce_with_logits as _bce
from adjoint.ops.functional.activation import log_softmax
from adjoint.ops.functional.class_labels import at_classes, class_places, weights_at
from adjoint.ops.functional.elementwise import clamp, xlogy
from adjoint.ops.language import reshape, stop_gradient, where
from adjoint.ops.reduce import mean, sum
from adjoint.ops.stacking import array

REGISTRY = "__warningregistry__"  # where Python keeps the warnings that a module has been given


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
    difference = _difference("mse_loss", input, target)
    return reduced(difference * difference, reduction)


def l1_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """The absolute difference.

    >>> from adjoint import ops, Tensor
    >>> print(ops.l1_loss(Tensor([1.0, 3.0]), Tensor([1.0, 1.0])))
    1.0
    """
    return reduced(abs_(_difference("l1_loss", input, target)), reduction)


def smooth_l1_loss(input: Any, target: Any, beta: float = 1.0, reduction: str = "none") -> Any:
    """The absolute difference less beta / 2; the squared one over 2 beta where it is smaller than beta.

    >>> from adjoint import ops, Tensor
    >>> print(ops.smooth_l1_loss(Tensor([1.0, 3.0]), Tensor([0.5, 1.0])))
    [0.125 1.5  ]
    """
    if beta < 0:
        raise ArgumentError(f"smooth_l1_loss: beta must not be negative, not {beta}{called_at()}")
    if beta == 0:
        return l1_loss(input, target, reduction)
    return reduced(_huber("smooth_l1_loss", input, target, beta) / beta, reduction)


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    """Half the squared difference; beyond delta a straight line.

    >>> from adjoint import ops, Tensor
    >>> print(ops.huber_loss(Tensor([1.0, 4.0]), Tensor([0.0, 0.0]), "none", 2.0))
    [0.5 6. ]
    """
    if delta <= 0:
        raise ArgumentError(f"huber_loss: delta must be above 0, not {delta}{called_at()}")
    return reduced(_huber("huber_loss", input, target, delta), reduction)


def _huber(what: str, input: Any, target: Any, delta: float) -> Any:
    distance = abs_(_difference(what, input, target))
    return where(less(distance, delta), 0.5 * distance * distance, delta * (distance - 0.5 * delta))


def _difference(what: str, input: Any, target: Any) -> Any:
    """The difference; a warning if it pairs predictions with labels of others, as of the shapes (n, 1) and (n,)."""
    difference = input - target
    shapes = shape_of(input), shape_of(target)
    if math.prod(shape_of(difference)) > max(map(math.prod, shapes)) and (frame := user_frame()) is not None:
        text = (
            f"{what}: the shapes {shapes[0]} and {shapes[1]} broadcast to {shape_of(difference)}: reshape one of them"
        )
        where_from = frame.f_code.co_filename, frame.f_lineno
        warnings.warn_explicit(text, UserWarning, *where_from, registry=frame.f_globals.setdefault(REGISTRY, {}))
    return difference


def same_shape(what: str, a: Any, b: Any) -> None:
    """Refuse predictions and labels of different shapes, which would broadcast without a word."""
    if shape_of(a) != shape_of(b):
        raise ShapeError(f"{what}: the shapes {shape_of(a)} and {shape_of(b)} differ{called_at()}")


def kl_div(logits: Any, labels: Any, reduction: str = "mean") -> Any:
    """labels (log(labels) - logits), where the logits are logarithms; "batchmean" divides the sum by the batch size.

    >>> from adjoint import ops, Tensor
    >>> print(ops.kl_div(ops.log(Tensor([0.5, 0.5])), Tensor([0.0, 1.0]), "sum"))
    0.6931472
    """
    same_shape("kl_div", logits, labels)
    loss = xlogy(labels, labels) - labels * logits
    return sum(loss) / shape_of(logits)[0] if reduction == "batchmean" else reduced(loss, reduction)


def gaussian_nll_loss(
    x: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Negative log-likelihood of targets under normal distributions of the means x and these variances, at least eps.

    >>> from adjoint import ops, Tensor
    >>> print(ops.gaussian_nll_loss(Tensor([1.0]), Tensor([3.0]), Tensor([1.0])))
    2.0
    """
    at_least = stop_gradient(clamp(var, min=eps)) - stop_gradient(var)
    spread = var + at_least  # the bound is not differentiated: a variance below it can still grow
    distance = target - x
    loss = 0.5 * (_t.log(spread) + distance * distance / spread)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean"
) -> Any:
    """Negative log-likelihood of counts under Poisson rates, or their logarithms with `log_input`.

    `full` adds Stirling's approximation of log(target!) where the target is above 1.

    >>> from adjoint import ops, Tensor
    >>> print(ops.poisson_nll_loss(Tensor([0.0]), Tensor([2.0])))
    1.0
    """
    rate, log_rate = (_t.exp(input), input) if log_input else (input, _t.log(input + eps))
    loss = rate - target * log_rate
    if full:
        many = where(greater(target, 1), target, 1)
        stirling = many * _t.log(many) - many + 0.5 * _t.log(2 * math.pi * many)
        loss = loss + where(greater(target, 1), stirling, 0)
    return reduced(loss, reduction)


def cross_entropy(
    input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """Cross-entropy of softmax(input) against classes, given as integers, or against probabilities.

    The classes are axis 1 of the input (the only one of a single sample). `weight` scales each class; samples of the
    class `ignore_index` count nothing, and the mean is over the weights of the others. `label_smoothing` mixes the target
    with equal probabilities.

    >>> from adjoint import ops, Tensor
    >>> print(ops.cross_entropy(Tensor([[0.0, 0.0], [1.0, 1.0]]), Tensor([0, 1])))
    0.6931472
    """
    axis, target = _class_axis("cross_entropy", input), array(target)
    logs = log_softmax(input, axis)
    if dtype_of(target).kind in "iu":
        return nll_loss(logs, target, weight, ignore_index, reduction, label_smoothing)
    shape = shape_of(input)
    if shape_of(target) != shape:
        raise ShapeError(
            f"cross_entropy: probabilities must have the shape of the input, {shape}, not {shape_of(target)}{called_at()}"
        )
    if label_smoothing:
        target = (1.0 - label_smoothing) * target + label_smoothing / shape[axis]
    loss = -sum(_by_class(weight, shape, axis) * target * logs, axis)
    return reduced(loss, reduction)


def nll_loss(
    inputs: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """The negative logarithm of the probability of each class of `target`; see `cross_entropy`.

    >>> from adjoint import ops, Tensor
    >>> print(ops.nll_loss(ops.log(Tensor([[0.25, 0.75], [0.5, 0.5]])), Tensor([0, 1]), reduction="none"))
    [1.3862944 0.6931472]
    """
    axis, shape = _class_axis("nll_loss", inputs), shape_of(inputs)
    target = array(target)
    if shape_of(target) != shape[:axis] + shape[axis + 1 :]:
        raise ShapeError(
            f"nll_loss: the input has shape {shape} with the classes on axis {axis}; the target must have the others, "
            f"not {shape_of(target)}{called_at()}"
        )
    ignored = equal(target, ignore_index)
    label = where(ignored, 0, class_places("nll_loss", target, shape[axis], ignore_index))
    column = reshape(label, (*shape[:axis], 1, *shape[axis + 1 :]))
    loss = -reshape(at_classes("nll_loss", inputs, column, axis), shape_of(target))
    share = where(
        ignored, 0, np.ones((), dtype_of(inputs)) if weight is None else weights_at("nll_loss", weight, label)
    )
    loss = share * loss
    if label_smoothing:
        even = where(ignored, 0, -sum(_by_class(weight, shape, axis) * inputs, axis))
        loss = (1.0 - label_smoothing) * loss + label_smoothing / shape[axis] * even
    return sum(loss) / sum(share) if reduction == "mean" else reduced(loss, reduction)


def _class_axis(what: str, x: Any) -> int:
    if not shape_of(x):
        raise ShapeError(f"{what}: the input has no axis of classes{called_at()}")
    return min(len(shape_of(x)) - 1, 1)


def _by_class(weight: Any, shape: tuple[int, ...], axis: int) -> Any:
    """The weight of each class, in a shape that meets the input."""
    return 1.0 if weight is None else reshape(weight, (shape[axis], *(1,) * (len(shape) - axis - 1)))
