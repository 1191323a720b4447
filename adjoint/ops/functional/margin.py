"""Losses of distances and margins."""

from __future__ import annotations

from typing import Any

from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import dtype_of, shape_of
from adjoint.ops import transcendental as _t
from adjoint.ops.compare import equal
from adjoint.ops.functional.activation import softplus
from adjoint.ops.functional.class_labels import at_classes, class_places, weights_at
from adjoint.ops.functional.creation import one_hot
from adjoint.ops.functional.loss import binary_cross_entropy_with_logits, reduced, same_shape
from adjoint.ops.functional.norms import vector_norm
from adjoint.ops.functional.of_cards import maximum, minimum
from adjoint.ops.language import where
from adjoint.ops.movement import expand_dims
from adjoint.ops.reduce import mean, sum
from adjoint.ops.stacking import array
from adjoint.ops.transcendental import relu


def hinge_embedding_loss(inputs: Any, targets: Any, margin: float = 1.0, reduction: str = "mean") -> Any:
    """The distances labelled 1; how far those labelled -1 fall short of the margin.

    >>> from adjoint import ops, Tensor
    >>> print(ops.hinge_embedding_loss(Tensor([0.5, 0.25]), Tensor([1.0, -1.0])))
    0.625
    """
    near = where(equal(targets, 1), inputs, 0)
    far = where(equal(targets, -1), relu(margin - inputs), 0)
    return reduced(near + far, reduction)


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Any:
    """max(0, -target (input1 - input2) + margin): whether one stands before the other.

    >>> from adjoint import ops, Tensor
    >>> print(ops.margin_ranking_loss(Tensor([1.0]), Tensor([3.0]), Tensor([1.0])))
    2.0
    """
    return reduced(relu(-target * (input1 - input2) + margin), reduction)


def soft_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """log(1 + exp(-target input)), for targets 1 and -1.

    >>> from adjoint import ops, Tensor
    >>> print(ops.soft_margin_loss(Tensor([0.0]), Tensor([1.0])))
    0.6931472
    """
    same_shape("soft_margin_loss", input, target)
    return reduced(softplus(-target * input), reduction)


def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Any:
    """Binary cross-entropy of sigmoid(input) against each label, averaged over the last axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.multilabel_soft_margin_loss(Tensor([[0.0, 0.0]]), Tensor([[1.0, 0.0]])))
    0.6931472
    """
    same_shape("multilabel_soft_margin_loss", input, target)
    return reduced(mean(binary_cross_entropy_with_logits(input, target, weight, None, "none"), -1), reduction)


def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, reduction: str = "mean"
) -> Any:
    """How far the score of each other class comes within the margin of the right one's, to the power p.

    >>> from adjoint import ops, Tensor
    >>> print(ops.multi_margin_loss(Tensor([[0.5, 0.25]]), Tensor([0])))
    0.375
    """
    if p not in (1, 2):
        raise ArgumentError(f"multi_margin_loss: p must be 1 or 2, not {p!r}{called_at()}")
    if len(shape_of(input)) != 2 or shape_of(target) != shape_of(input)[:1]:
        raise ShapeError(
            f"multi_margin_loss: scores (N, C) and classes (N,) are needed, not the shapes {shape_of(input)} and "
            f"{shape_of(target)}{called_at()}"
        )
    classes = shape_of(input)[1]
    places = class_places("multi_margin_loss", array(target), classes)
    right = one_hot(target, classes, dtype=dtype_of(input))
    short = relu(margin - at_classes("multi_margin_loss", input, expand_dims(places, 1), 1) + input)
    short = short if p == 1 else short * short
    if weight is not None:
        short = short * expand_dims(weights_at("multi_margin_loss", weight, places), 1)
    return reduced(sum((1 - right) * short, 1) / classes, reduction)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cos of the angle between vectors along an axis; their lengths count as at least eps.

    >>> from adjoint import ops, Tensor
    >>> print(ops.cosine_similarity(Tensor([[3.0, 4.0]]), Tensor([[0.0, 2.0]])))
    [0.8]
    """
    squares = [maximum(sum(x * x, dim), eps * eps) for x in (x1, x2)]
    return sum(x1 * x2, dim) / (_t.sqrt(squares[0]) * _t.sqrt(squares[1]))


def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Any:
    """1 - cos of the angle of pairs labelled 1; how far the cos of those labelled -1 exceeds the margin.

    >>> from adjoint import ops, Tensor
    >>> print(ops.cosine_embedding_loss(Tensor([[1.0, 0.0]]), Tensor([[0.0, 1.0]]), Tensor([1.0])))
    1.0
    """
    if not -1 <= margin <= 1:
        raise ArgumentError(f"cosine_embedding_loss: margin must lie between -1 and 1, not {margin}{called_at()}")
    lengths = [sum(v * v, -1) + 1e-12 for v in (input1, input2)]  # vectors of zeros: no angle, no NaN
    cosine = sum(input1 * input2, -1) / _t.sqrt(lengths[0] * lengths[1])
    alike = where(equal(target, 1), 1 - cosine, 0)
    return reduced(alike + where(equal(target, -1), relu(cosine - margin), 0), reduction)


def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, reduction: str = "mean",
) -> Any:  # fmt: skip
    """max(0, |anchor - positive| - |anchor - negative| + margin), in the p-norm over the last axis.

    With `swap` the distance between the positive and the negative counts too, if it is smaller.

    >>> from adjoint import ops, Tensor
    >>> far = Tensor([[0.0, 2.0]])
    >>> print(ops.triplet_margin_loss(Tensor([[0.0, 0.0]]), Tensor([[3.0, 4.0]]), far, eps=0.0))
    4.0
    """
    if p < 1:
        raise ArgumentError(f"triplet_margin_loss: p must be 1 or more, not {p!r}{called_at()}")

    def distance(a: Any, b: Any) -> Any:
        return vector_norm(a - b + eps, p, -1)

    near, far = distance(anchor, positive), distance(anchor, negative)
    far = minimum(far, distance(positive, negative)) if swap else far
    return reduced(relu(near - far + margin), reduction)
