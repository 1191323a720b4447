"""Connectionist temporal classification: the probability of a sequence of labels, summed over all its alignments.

An alignment gives each time a label or a blank; repeated labels count once unless a blank stands between them. With a blank
before, between and after the labels, an alignment at each time stays where it is, goes one place on, or skips a blank between
two different labels: a recursion over time, in logarithms, that the engine differentiates like any other loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.dispatch import EAGER, Value, wrap
from adjoint.core.errors import ArgumentError, DtypeError, ShapeError, called_at
from adjoint.core.spec import dtype_of, float32, is_half, is_inexact, shape_of
from adjoint.ops.along_axis import cumsum
from adjoint.ops.broadcasting import broadcast_to
from adjoint.ops.compare import greater, less
from adjoint.ops.functional.class_labels import at_classes, class_places
from adjoint.ops.functional.elementwise import isinf, logical_and
from adjoint.ops.functional.loss import reduced
from adjoint.ops.functional.of_cards import maximum, not_equal
from adjoint.ops.functional.reduction import logsumexp
from adjoint.ops.indexing import getitem, setitem, take
from adjoint.ops.joining import concat
from adjoint.ops.language import cast, reshape, where
from adjoint.ops.movement import expand_dims, moveaxis
from adjoint.ops.stacking import array, stack


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """The negative logarithm of the probability of each sequence of labels, and the logarithms of its forward variables.

    Args:
        log_probs: logarithms of probabilities (T, N, C), as `log_softmax` gives them; (T, C) for a single sample.
        targets: labels (N, S), padded with anything; or those of all samples one behind the other.
        input_lengths: how many times of each sample count, (N,).
        target_lengths: how many labels of each sample count, (N,).
        blank: the class that stands for no label.
        reduction: "none", "sum", or "mean": of the losses divided by the number of labels.
        zero_infinity: whether labels that no alignment can give, which cost infinity, cost nothing instead.

    Returns the loss, and the forward variables (N, T, 2 S + 1): place 2 k + 1 is label k, the others are blanks.

    >>> from adjoint import ops, Tensor
    >>> even = ops.log_softmax(ops.zeros((3, 1, 2)), -1)
    >>> loss, _ = ops.ctc_loss(even, Tensor([[1]]), [3], [1])
    >>> print(ops.exp(-loss).round(4))  # of the 8 alignments 101 and 000 do not give the label
    0.75
    """
    log_probs, single = _batched(log_probs)
    steps, samples, classes = shape_of(log_probs)
    if not 0 <= blank < classes:
        raise ArgumentError(f"ctc_loss: blank {blank} is not one of the classes 0 to {classes - 1}{called_at()}")
    lengths = _lengths("input_lengths", input_lengths, samples, steps)
    labels, counts = _labels(targets, target_lengths, samples, classes, blank)
    dtype = dtype_of(log_probs)
    wide = cast(log_probs, float32) if is_half(dtype) else log_probs

    places = _between_blanks(labels, blank)
    width = shape_of(places)[1]
    scores = at_classes("ctc_loss", wide, broadcast_to(expand_dims(places, 0), (steps, samples, width)), 2)
    start = np.full((samples, width), -np.inf, dtype_of(wide))
    start[:, 0] = 0  # before the first time: one step on is the first blank or the first label
    alphas, last = _forward(scores, wrap(start), _may_skip(places, blank), expand_dims(lengths, 1))

    at, end = np.arange(width), expand_dims(2 * counts, 1)
    is_end = logical_and(greater(at, end - 2), less(at, end + 1))  # the last label, or the blank behind it
    loss = -logsumexp(where(is_end, last, -np.inf), -1)
    if zero_infinity:
        loss = where(isinf(loss), 0, loss)
    if reduction == "mean":
        loss = loss / cast(maximum(counts, 1), dtype_of(loss))
    loss, alphas = reduced(loss, reduction), moveaxis(alphas, 1, 0)
    if single:
        loss, alphas = (loss if reduction != "none" else getitem(loss, 0)), getitem(alphas, 0)
    return (cast(loss, dtype), cast(alphas, dtype)) if is_half(dtype) else (loss, alphas)


def _forward(scores: Any, alpha: Any, skips: Any, lengths: Any) -> tuple[Any, Any]:
    """The forward variables (T, N, places) of all times, and those of each sample's last time."""
    in_graph = context.reader.get() is not None
    found: Any = broadcast_to(wrap(np.zeros((), dtype_of(alpha))), shape_of(scores)) if in_graph else []
    for t in range(shape_of(scores)[0]):
        inside = less(t, lengths)
        alpha = where(inside, getitem(scores, t) + _arriving(alpha, skips), alpha)
        row = where(inside, alpha, -np.inf)
        found = setitem(found, t, row) if in_graph else [*found, row]
    return found if in_graph else stack(found), alpha


def _arriving(alpha: Any, skips: Any) -> Any:
    """The logarithm of the probability to come to each place: from itself, from the one before, or from two before."""
    samples, width = shape_of(alpha)
    edge = np.full((samples, 2), -np.inf, dtype_of(alpha))
    wide = concat([edge, alpha], 1)
    one, two = (getitem(wide, (slice(None), slice(k, k + width))) for k in (1, 0))
    return logsumexp(stack([alpha, one, where(skips, two, -np.inf)]), 0)


def _between_blanks(labels: Any, blank: int) -> Any:
    """The labels (N, S) with a blank before, between and after them: (N, 2 S + 1)."""
    samples, count = shape_of(labels)
    pairs = stack([broadcast_to(np.asarray(blank, dtype_of(labels)), (samples, count)), labels], 2)
    return concat([reshape(pairs, (samples, 2 * count)), np.full((samples, 1), blank, dtype_of(labels))], 1)


def _may_skip(places: Any, blank: int) -> Any:
    """Whether a place can be reached from two before it: it is a label, and another one than that."""
    samples, width = shape_of(places)
    if width < 3:
        return np.zeros((samples, width), bool)
    here, before = getitem(places, (slice(None), slice(2, None))), getitem(places, (slice(None), slice(width - 2)))
    return concat([np.zeros((samples, 2), bool), logical_and(not_equal(here, blank), not_equal(here, before))], 1)


# ---------------------------------------------------------------- arguments


def _batched(log_probs: Any) -> tuple[Any, bool]:
    """The logarithms as (T, N, C), and whether they were those of a single sample."""
    log_probs = wrap(array(log_probs))
    shape = shape_of(log_probs)
    if not is_inexact(dtype_of(log_probs)) or len(shape) not in (2, 3):
        raise ShapeError(
            f"ctc_loss: log_probs must be floating-point numbers (T, N, C), or (T, C) for a single sample, not "
            f"{dtype_of(log_probs)} of shape {shape}{called_at()}"
        )
    return (expand_dims(log_probs, 1), True) if len(shape) == 2 else (log_probs, False)


def _known(x: Any) -> np.ndarray | None:
    """The numbers of an array, unless a transform or a graph holds them back."""
    if isinstance(x, Value):
        return x.asnumpy() if x._trace is EAGER else None
    return np.asarray(x)


def _lengths(name: str, given: Any, samples: int, most: int) -> Any:
    """An integer for each sample, none above `most`."""
    given = array(given)
    if dtype_of(given).kind not in "iu":
        raise DtypeError(f"ctc_loss: {name} must be integers, not {dtype_of(given)}{called_at()}")
    if shape_of(given) != (samples,) and not (samples == 1 and shape_of(given) == ()):
        raise ShapeError(
            f"ctc_loss: {name} must have a number for each of the {samples} samples, not the shape "
            f"{shape_of(given)}{called_at()}"
        )
    known = _known(given)
    if known is not None and known.size and not (known.min() >= 0 and known.max() <= most):
        raise ArgumentError(f"ctc_loss: {name} {known.tolist()} must lie between 0 and {most}{called_at()}")
    return wrap(reshape(given, (samples,)))


def _labels(targets: Any, target_lengths: Any, samples: int, classes: int, blank: int) -> tuple[Any, Any]:
    """The labels (N, S) with blanks behind their ends, and how many each sample has."""
    targets = array(targets)
    shape = shape_of(targets)
    if dtype_of(targets).kind not in "iu":
        raise DtypeError(f"ctc_loss: targets must be integers, not {dtype_of(targets)}{called_at()}")
    if len(shape) not in (1, 2) or (len(shape) == 2 and shape[0] != samples):
        raise ShapeError(
            f"ctc_loss: targets must have the shape ({samples}, S), or be the labels of all samples one behind the other, "
            f"not the shape {shape}{called_at()}"
        )
    counts = _lengths("target_lengths", target_lengths, samples, shape[-1])
    if len(shape) == 1:
        targets = _side_by_side(targets, counts)
    labels = where(less(np.arange(shape_of(targets)[1]), expand_dims(counts, 1)), targets, blank)
    known = _known(labels)
    if known is not None and ((known < 0) | (known >= classes)).any():
        wrong = known[(known < 0) | (known >= classes)][0]
        raise ArgumentError(f"ctc_loss: label {wrong} is not one of 0 to {classes - 1}{called_at()}")
    return class_places("ctc_loss", labels, classes), counts


def _side_by_side(targets: Any, counts: Any) -> Any:
    """Labels one behind the other as rows, with anything behind their ends."""
    total, known = shape_of(targets)[0], _known(counts)
    if known is not None and known.sum() != total and known.size > 1:
        raise ShapeError(f"ctc_loss: {total} labels for target_lengths that add up to {known.sum()}{called_at()}")
    width = total if known is None or known.size == 1 else int(known.max(initial=0))
    if not width:
        return np.zeros((shape_of(counts)[0], 0), dtype_of(targets))
    at = expand_dims(cumsum(counts, 0) - counts, 1) + np.arange(width)
    return take(targets, where(less(at, total), at, total - 1), 0)
