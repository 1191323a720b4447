"""Reshaping, transposing, broadcasting, picking along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from adjoint.core import views
from adjoint.core.dispatch import Value
from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import dtype_of, normalize_axis, shape_of
from adjoint.ops.card import card
from adjoint.ops.functional.index import getitem
from adjoint.ops.index import Gather
from adjoint.ops.movement import BroadcastTo, Flip, Reshape, Transpose
from adjoint.ops.slicing import GetItem


def _ndim(x: Any) -> int:
    return len(shape_of(x))


def _ints(values: Any) -> tuple[int, ...]:
    """A shape or list of axes given as one sequence or as separate numbers."""
    if len(values) == 1 and isinstance(values[0], (tuple, list, np.ndarray)):
        values = values[0]
    return tuple(int(v) for v in values)


def reshape(input: Any, *shape: Any) -> Any:
    """The same elements in the same order under another shape; one size may be -1.

    >>> from adjoint import ops, Tensor
    >>> print(ops.reshape(Tensor([1.0, 2.0, 3.0, 4.0]), (2, -1)))
    [[1. 2.]
     [3. 4.]]
    """
    want = _ints(shape)
    if -1 in want:
        known = -prod(want)
        total = prod(shape_of(input))
        if want.count(-1) > 1 or (known and total % known):
            raise ShapeError(f"reshape: {total} elements of shape {shape_of(input)} do not fill {want}{called_at()}")
        want = tuple((total // known if known else 0) if n == -1 else n for n in want)
    return card(Reshape, want)(input)


def flatten(input: Any, order: str = "C", *, start_dim: int = 0, end_dim: int = -1) -> Any:
    """All axes, or those from `start_dim` to `end_dim`, in one.

    >>> from adjoint import ops, Tensor
    >>> print(ops.flatten(Tensor([[1.0, 2.0], [3.0, 4.0]])))
    [1. 2. 3. 4.]
    """
    if order not in ("C", "F"):
        raise ArgumentError(f"flatten: order must be 'C' or 'F', not {order!r}{called_at()}")
    if order == "F":
        input = transpose(input)
    shape = shape_of(input)
    if not shape:
        return views.alone(card(Reshape, (1,))(input))
    a, b = (normalize_axis("flatten", d, len(shape)) for d in (start_dim, end_dim))
    return views.alone(card(Reshape, (*shape[:a], prod(shape[a : b + 1]), *shape[b + 1 :]))(input))


def ravel(input: Any, order: str = "C") -> Any:
    """All axes in one; the same elements, not copies of them, where their order allows it.

    >>> from adjoint import ops, Tensor
    >>> print(ops.ravel(Tensor([[1.0, 2.0], [3.0, 4.0]])))
    [1. 2. 3. 4.]
    """
    if order not in ("C", "F"):
        raise ArgumentError(f"ravel: order must be 'C' or 'F', not {order!r}{called_at()}")
    input = transpose(input) if order == "F" else input
    line = card(Reshape, (prod(shape_of(input)),))(input)
    return line if views.layout(input) is None else views.alone(line)


def transpose(input: Any, *axes: Any) -> Any:
    """The axes in another order; reversed if none is given.

    >>> from adjoint import ops, Tensor
    >>> print(ops.transpose(Tensor([[1.0, 2.0], [3.0, 4.0]])))
    [[1. 3.]
     [2. 4.]]
    """
    n = _ndim(input)
    perm = tuple(reversed(range(n))) if not axes or axes == (None,) else _ints(axes)
    return card(Transpose, tuple(normalize_axis("transpose", a, n) for a in perm))(input)


permute = transpose


def swapaxes(input: Any, axis0: int, axis1: int) -> Any:
    """Two axes exchanged.

    >>> from adjoint import ops, Tensor
    >>> ops.swapaxes(ops.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    n = _ndim(input)
    perm = list(range(n))
    a, b = normalize_axis("swapaxes", axis0, n), normalize_axis("swapaxes", axis1, n)
    perm[a], perm[b] = b, a
    return card(Transpose, tuple(perm))(input)


swapdims = swapaxes


def t(input: Any) -> Any:
    """A matrix transposed; vectors and scalars stay.

    >>> from adjoint import ops
    >>> ops.t(ops.ones((2, 3))).shape
    (3, 2)
    """
    if _ndim(input) > 2:
        raise ShapeError(f"t: a matrix is needed, not shape {shape_of(input)}; use transpose or swapaxes{called_at()}")
    return transpose(input)


def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """Axes moved to other places, the rest kept in order.

    >>> from adjoint import ops
    >>> ops.moveaxis(ops.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    n = _ndim(x)
    sources = [normalize_axis("moveaxis", a, n) for a in (source if isinstance(source, (tuple, list)) else (source,))]
    targets = [
        normalize_axis("moveaxis", a, n)
        for a in (destination if isinstance(destination, (tuple, list)) else (destination,))
    ]
    if len(sources) != len(targets):
        raise ArgumentError(f"moveaxis: {len(sources)} axes for {len(targets)} places{called_at()}")
    order = [a for a in range(n) if a not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return card(Transpose, tuple(order))(x)


movedim = moveaxis


def squeeze(input: Any, axis: Any = None) -> Any:
    """Axes of size 1 dropped: all of them, or those named.

    >>> from adjoint import ops
    >>> ops.squeeze(ops.ones((1, 3, 1))).shape, ops.squeeze(ops.ones((1, 3, 1)), 0).shape
    ((3,), (3, 1))
    """
    shape = shape_of(input)
    if axis is None:
        return card(Reshape, tuple(n for n in shape if n != 1))(input)
    axes = [normalize_axis("squeeze", a, len(shape)) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    for a in axes:
        if shape[a] != 1:
            raise ShapeError(f"squeeze: axis {a} of shape {shape} has size {shape[a]}, not 1{called_at()}")
    return card(Reshape, tuple(n for a, n in enumerate(shape) if a not in axes))(input)


def expand_dims(input: Any, axis: Any) -> Any:
    """New axes of size 1 at these places of the result.

    >>> from adjoint import ops
    >>> ops.expand_dims(ops.ones((2, 3)), 1).shape
    (2, 1, 3)
    """
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    n = _ndim(input) + len(axes)
    places = {normalize_axis("expand_dims", a, n) for a in axes}
    if len(places) != len(axes):
        raise ArgumentError(f"expand_dims: axis {axis} names an axis twice{called_at()}")
    rest = iter(shape_of(input))
    return card(Reshape, tuple(1 if a in places else next(rest) for a in range(n)))(input)


unsqueeze = expand_dims


def broadcast_to(input: Any, shape: Sequence[int]) -> Any:
    """The input repeated along new axes and axes of size 1; -1 keeps a size.

    >>> from adjoint import ops, Tensor
    >>> print(ops.broadcast_to(Tensor([1.0, 2.0]), (2, 2)))
    [[1. 2.]
     [1. 2.]]
    """
    want = tuple(int(n) for n in shape)
    have = shape_of(input)
    lead = len(want) - len(have)
    want = tuple(have[a - lead] if n == -1 and a >= lead else n for a, n in enumerate(want))
    return card(BroadcastTo, want)(input)


def expand(input: Any, *size: Any) -> Any:
    """`broadcast_to` with the sizes as separate arguments.

    >>> from adjoint import ops, Tensor
    >>> ops.expand(Tensor([[1.0], [2.0]]), 2, 3).shape
    (2, 3)
    """
    return broadcast_to(input, _ints(size))


def broadcast_arrays(*inputs: Any) -> tuple[Any, ...]:
    """All inputs, repeated to their common shape.

    >>> from adjoint import ops, Tensor
    >>> [x.shape for x in ops.broadcast_arrays(Tensor([1.0]), Tensor([[1.0], [2.0]]))]
    [(2, 1), (2, 1)]
    """
    shape = np.broadcast_shapes(*(shape_of(x) for x in inputs))
    return tuple(x if shape_of(x) == shape else card(BroadcastTo, shape)(x) for x in inputs)


def flip(input: Any, axis: Any = None) -> Any:
    """The order reversed along an axis, several axes, or all.

    >>> from adjoint import ops, Tensor
    >>> print(ops.flip(Tensor([1.0, 2.0, 3.0])))
    [3. 2. 1.]
    """
    n = _ndim(input)
    axes = range(n) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    return card(Flip, tuple(normalize_axis("flip", a, n) for a in axes))(input)


def slice_axis(x: Any, axis: int, start: int, stop: int) -> Any:
    """x[..., start:stop, ...] along one non-negative axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.slice_axis(Tensor([1.0, 2.0, 3.0]), 0, 1, 3))
    [2. 3.]
    """
    return card(GetItem, (*((None, None, None),) * axis, (start, stop, None)))(x)


def take(input: Any, indices: Any, axis: int | None = None) -> Any:
    """The slices at these positions along an axis, or elements of the flattened input.

    >>> from adjoint import ops, Tensor
    >>> print(ops.take(Tensor([1.0, 2.0, 3.0]), [2, 0]))
    [3. 1.]
    """
    if axis is None:
        return getitem(reshape(input, -1), (_index_array(indices),))
    axis = normalize_axis("take", axis, _ndim(input))
    return getitem(input, (*(slice(None),) * axis, _index_array(indices)))


def _index_array(indices: Any) -> Any:
    if isinstance(indices, (Value, np.ndarray, int)):
        return indices
    array = np.asarray(indices)
    return array if array.size else array.astype(int)  # an empty list is one of integers


def _grid_index(what: str, x: Any, indices: Any, axis: int, whole: bool = False) -> list[Any]:
    """One index array for each axis: `indices` for this one, each position itself for the others.

    The positions are those of `indices`, or with `whole` those of the input, against which `indices` broadcast.
    """
    shape = shape_of(x if whole else indices)
    n = len(shape_of(indices))
    if n != _ndim(x):
        raise ShapeError(f"{what}: the indices have {n} axes, the input {_ndim(x)}{called_at()}")
    return [
        indices if a == axis else np.arange(shape[a]).reshape((1,) * a + (-1,) + (1,) * (n - a - 1)) for a in range(n)
    ]


def take_along_axis(input: Any, indices: Any, axis: int) -> Any:
    """For each place of `indices`, the element at that position along the axis; the other axes broadcast.

    >>> from adjoint import ops, Tensor
    >>> print(ops.take_along_axis(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[1], [0]]), 1))
    [[2.]
     [3.]]
    """
    axis = normalize_axis("take_along_axis", axis, _ndim(input))
    return Gather()(input, *_grid_index("take_along_axis", input, _index_array(indices), axis, whole=True))


def ones_like_shape(x: Any, shape: tuple[int, ...]) -> Any:
    """Plain ones of another shape, in the dtype of x.

    >>> from adjoint import ops, Tensor
    >>> ops.ones_like_shape(Tensor([1.0]), (2,))
    array([1., 1.], dtype=float32)
    """
    return np.ones(shape, dtype_of(x))
