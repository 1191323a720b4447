"""Gathering, scattering, masks, and results whose size depends on the values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core.dispatch import EAGER, Value, beside, wrap
from adjoint.core.errors import (
    AdjointError,
    ArgumentTypeError,
    CutGradientError,
    EndedTransformError,
    called_at,
    refused,
)
from adjoint.core.spec import dtype_of, is_inexact, normalize_axis, shape_of
from adjoint.ops.broadcasting import broadcast_to
from adjoint.ops.compare import isnan, less, less_equal, minimum
from adjoint.ops.index import index_array, take_along_axis
from adjoint.ops.indexing import getitem, index_put_add, setitem, take
from adjoint.ops.language import bitwise_and, bitwise_not, bitwise_or, where
from adjoint.ops.masks import unknown_shape
from adjoint.ops.movement import reshape
from adjoint.ops.op_habits import GATHER
from adjoint.ops.publish import public


@public(method=True)
def gather(input_params: Any, input_indices: Any, axis: int = 0) -> Any:
    """The slices at these positions along an axis (MindSpore's gather).

    >>> from adjoint import ops, Tensor
    >>> print(ops.gather(Tensor([1.0, 2.0, 3.0]), Tensor([2, 2]), 0))
    [3. 3.]
    """
    if getattr(axis, "shape", ()):
        raise ArgumentTypeError(f"gather: {GATHER}{called_at()}")
    return take(input_params, input_indices, axis)


@public(method=True)
def index_select(input: Any, axis: int, index: Any) -> Any:
    """The slices at these positions along an axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.index_select(Tensor([1.0, 2.0, 3.0]), 0, Tensor([2, 0])))
    [3. 1.]
    """
    return take(input, index, axis)


@public(method=True)
def index_add(x: Any, indices: Any, y: Any, axis: int = 0) -> Any:
    """A copy with the slices of `y` added at these positions along an axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.index_add(ops.zeros(3), Tensor([0, 0]), Tensor([1.0, 2.0]), 0))
    [3. 0. 0.]
    """
    axis = normalize_axis("index_add", axis, len(shape_of(x)))
    return index_put_add(x, (*(slice(None),) * axis, index_array(indices)), y)


@public(method=True)
def index_fill(x: Any, axis: int, index: Any, value: Any) -> Any:
    """A copy with one value in the slices at these positions along an axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.index_fill(ops.zeros(3), 0, Tensor([0, 2]), 7.0))
    [7. 0. 7.]
    """
    axis = normalize_axis("index_fill", axis, len(shape_of(x)))
    return setitem(x, (*(slice(None),) * axis, index_array(index)), value)


@public(method=True)
def masked_fill(input_x: Any, mask: Any, value: Any) -> Any:
    """The input with `value` where the mask is true.

    >>> from adjoint import ops, Tensor
    >>> print(ops.masked_fill(Tensor([1.0, 2.0]), Tensor([True, False]), 9.0))
    [9. 2.]
    """
    return where(mask, value, input_x)


@public(method=True)
def masked_select(input: Any, mask: Any) -> Any:
    """The elements where the mask is true, in order.

    >>> from adjoint import ops, Tensor
    >>> print(ops.masked_select(Tensor([1.0, 2.0, 3.0]), Tensor([True, False, True])))
    [1. 3.]
    """
    shape = np.broadcast_shapes(shape_of(input), shape_of(mask))
    chosen = _values(mask, "masked_select")
    return getitem(broadcast_to(input, shape), (np.broadcast_to(chosen, shape),))


def _tuple(nonzero: Callable[..., Any]) -> Callable[..., Any]:
    def method(x: Any, as_tuple: bool = True) -> Any:
        """As numpy's method: an array of positions for each axis, which can index. `ops.nonzero` gives a row for each element."""
        return nonzero(x, as_tuple)

    return method


@public(method=True, as_method=_tuple)
def nonzero(input: Any, as_tuple: bool = False) -> Any:
    """Positions of the elements that are not zero: a row for each, or with `as_tuple` an array for each axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.nonzero(Tensor([0.0, 5.0, 7.0])))
    [[1]
     [2]]
    """
    found = np.nonzero(_values(input, "nonzero"))
    places = found if as_tuple else (np.stack(found, axis=1),)
    made = tuple(wrap(beside(i, input)) for i in places)
    return made if as_tuple else made[0]


@public(method=True)
def argwhere(input: Any) -> Any:
    """Positions of the elements that are not zero, a row for each.

    >>> from adjoint import ops, Tensor
    >>> print(ops.argwhere(Tensor([0.0, 5.0])))
    [[1]]
    """
    return nonzero(input)


@public(method=True)
def unique(input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> Any:
    """The distinct values in order, differentiable: each takes the derivative at its first place.

    With `return_inverse`, also for each element the position of its value; with `return_counts`, how often each occurs.

    >>> from adjoint import ops, Tensor
    >>> print(ops.unique(Tensor([3.0, 1.0, 3.0])))
    [1. 3.]
    """
    _, first, inverse, counts = np.unique(
        _values(input, "unique"), return_index=True, return_inverse=True, return_counts=True
    )
    values = getitem(reshape(input, -1), (first,))
    extra = []
    if return_inverse:
        extra.append(wrap(inverse.reshape(shape_of(input))))
    if return_counts:
        extra.append(wrap(counts))
    return (values, *extra) if extra else values


def searchsorted(sorted_sequence: Any, values: Any, right: bool = False) -> Any:
    """Where each value would be inserted to keep the sequence in order; a sequence of several axes is sorted in the last.

    >>> from adjoint import ops, Tensor
    >>> print(ops.searchsorted(Tensor([1.0, 3.0, 5.0]), Tensor([2.0, 5.0])))
    [1 2]
    """
    pair = (sorted_sequence, values)
    if len(shape_of(sorted_sequence)) == 1 and not any(isinstance(x, Value) and x._trace is not EAGER for x in pair):
        return wrap(np.searchsorted(_values(sorted_sequence), _values(values), "right" if right else "left"))
    size = shape_of(sorted_sequence)[-1]
    at = take if len(shape_of(sorted_sequence)) == 1 else take_along_axis
    below = comes_up_to if right else comes_before
    position: Any = np.zeros(shape_of(values), int)
    for k in reversed(range(size.bit_length())):  # a binary search of all values at once
        ahead = position + 2**k
        probe = minimum(ahead, size) - 1
        further = bitwise_and(below(at(sorted_sequence, probe, -1), values), less_equal(ahead, size))
        position = where(further, ahead, position)
    return wrap(position)


def comes_before(x: Any, y: Any) -> Any:
    """Whether x stands before y in order; NaN comes last."""
    if not is_inexact(dtype_of(x)) or not is_inexact(dtype_of(y)):
        return less(x, y)
    return bitwise_or(less(x, y), bitwise_and(isnan(y), bitwise_not(isnan(x))))


def comes_up_to(x: Any, y: Any) -> Any:
    """Whether x stands before y in order or is equal to it; NaN comes last."""
    return bitwise_or(less_equal(x, y), isnan(y)) if is_inexact(dtype_of(y)) else less_equal(x, y)


@public(method=True)
def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each integer occurs, or the sum of the weights at its places (differentiable in them).

    >>> from adjoint import ops, Tensor
    >>> print(ops.bincount(Tensor([0, 2, 2])))
    [1 0 2]
    """
    indices = _values(input, "bincount")
    if weights is None:
        return wrap(beside(np.bincount(indices, minlength=minlength), input))
    weights = weights if isinstance(weights, Value) else np.asarray(weights)
    size = max(int(indices.max(initial=-1)) + 1, minlength)
    return index_put_add(np.zeros(size, weights.dtype), (indices,), weights)


def _values(x: Any, what: str = "") -> np.ndarray:
    """The numbers behind a value. `what` has a result whose shape depends on them."""
    if not isinstance(x, Value):
        return np.asarray(x)
    try:
        return x.asnumpy()
    except (CutGradientError, EndedTransformError):
        raise
    except AdjointError as error:  # a node of a graph, or a batch
        raise refused(unknown_shape(what)) if what else error from None
