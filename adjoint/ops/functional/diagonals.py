"""Grids, diagonals and triangles."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from adjoint.core import views
from adjoint.core.dispatch import Value
from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import dtype_of, shape_of
from adjoint.ops.broadcast import ndim
from adjoint.ops.broadcasting import BroadcastTo
from adjoint.ops.card import card
from adjoint.ops.functional.readonly import read_only
from adjoint.ops.index import Gather
from adjoint.ops.indexing import setitem
from adjoint.ops.language import where
from adjoint.ops.movement import Reshape, expand_dims, moveaxis
from adjoint.ops.padding import Pad
from adjoint.ops.publish import public


def meshgrid(*inputs: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """Coordinate arrays of a grid from the coordinates along each axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.meshgrid(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]))[0])
    [[1. 2.]
     [1. 2.]]
    """
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"meshgrid: indexing must be 'xy' or 'ij', not {indexing!r}{called_at()}")
    n = len(inputs)
    order = list(range(n))
    if indexing == "xy" and n > 1:
        order[0], order[1] = 1, 0
    shape = [0] * n
    for k, x in enumerate(inputs):
        shape[order[k]] = prod(shape_of(x))
    grids = []
    for k, x in enumerate(inputs):
        line = card(Reshape, tuple(prod(shape_of(x)) if a == order[k] else 1 for a in range(n)))(x)
        grids.append(card(BroadcastTo, tuple(shape))(line))
    return tuple(grids)


@public(method=True)
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The diagonal of two axes, as a new last axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.diagonal(Tensor([[1.0, 2.0], [3.0, 4.0]])))
    [1. 4.]
    """
    step = _Diagonal(offset, dim1, dim2)
    return read_only("diagonal", input, step.show, lambda x: step.eval(np, x))


def _places(shape: tuple[int, ...], offset: int) -> tuple[Any, Any]:
    """The rows and columns of a diagonal of the first two axes."""
    rows, columns = shape[:2]
    size = builtins.max(builtins.min(rows + builtins.min(offset, 0), columns - builtins.max(offset, 0)), 0)
    steps = np.arange(size)
    return steps + builtins.max(-offset, 0), steps + builtins.max(offset, 0)


@dataclass(frozen=True)
class _Diagonal:
    """The diagonal of two axes, as a step of a view."""

    offset: int
    dim1: int
    dim2: int

    ordered = False

    def show(self, x: Any) -> Any:
        front = moveaxis(x, (self.dim1, self.dim2), (0, 1))
        return views.alone(moveaxis(Gather()(front, *_places(shape_of(front), self.offset)), 0, -1))

    def put(self, x: Any, y: Any) -> Any:
        front = views.alone(moveaxis(x, (self.dim1, self.dim2), (0, 1)))
        placed = setitem(front, _places(shape_of(front), self.offset), moveaxis(y, -1, 0))
        return views.alone(moveaxis(placed, (0, 1), (self.dim1, self.dim2)))

    def eval(self, xp: Any, x: Any) -> Any:
        return xp.diagonal(x, self.offset, self.dim1, self.dim2)

    def is_apart(self, other: Any, base: Any) -> bool:
        return False


def shown_diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The diagonal of two axes; what is written to x is seen in it, and the other way round."""
    step = _Diagonal(offset, dim1, dim2)
    y = step.show(x)
    if isinstance(x, Value) and y.shape:
        views.relate(y, x, step)
    return y


@public(method=True)
def diag(input: Any, diagonal: int = 0) -> Any:
    """A matrix with the vector on its diagonal, or the diagonal of a matrix.

    >>> from adjoint import ops, Tensor
    >>> print(ops.diag(Tensor([1.0, 2.0])))
    [[1. 0.]
     [0. 2.]]
    """
    if ndim(input) == 1:
        return diag_embed(input, diagonal)
    if ndim(input) != 2:
        raise ShapeError(
            f"diag: a vector or matrix is needed, not shape {shape_of(input)}; see diag_embed{called_at()}"
        )
    return _diagonal(input, diagonal)


_diagonal = diagonal


@public(method=True)
def diag_embed(input: Any, offset: int = 0) -> Any:
    """Matrices with the last axis of the input on their diagonals.

    >>> from adjoint import ops, Tensor
    >>> print(ops.diag_embed(Tensor([1.0, 2.0]), 1))
    [[0. 1. 0.]
     [0. 0. 2.]
     [0. 0. 0.]]
    """
    n = shape_of(input)[-1] + builtins.abs(offset)
    above, below = builtins.max(offset, 0), builtins.max(-offset, 0)
    lead = [(0, 0)] * (ndim(input) - 1)
    row = card(Pad, (*lead, (above, below)))(input)  # the element of each column, at its place in the row
    return where(np.eye(n, n, offset, dtype=bool), expand_dims(row, -2), _nothing(input))


def _nothing(x: Any) -> Any:
    """The 0 that leaves the dtype as it is."""
    return False if dtype_of(x).kind == "b" else 0


@public(method=True)
def tril(input: Any, diagonal: int = 0) -> Any:
    """The part of a matrix on and below a diagonal, zeros above.

    >>> from adjoint import ops
    >>> print(ops.tril(ops.ones((2, 2))))
    [[1. 0.]
     [1. 1.]]
    """
    return where(np.tri(*_matrix_shape("tril", input), diagonal, dtype=bool), input, _nothing(input))


@public(method=True)
def triu(input: Any, diagonal: int = 0) -> Any:
    """The part of a matrix on and above a diagonal, zeros below.

    >>> from adjoint import ops
    >>> print(ops.triu(ops.ones((2, 2))))
    [[1. 1.]
     [0. 1.]]
    """
    return where(np.tri(*_matrix_shape("triu", input), diagonal - 1, dtype=bool), _nothing(input), input)


def _matrix_shape(what: str, x: Any) -> tuple[int, int]:
    if ndim(x) < 2:
        raise ShapeError(f"{what}: a matrix is needed, not shape {shape_of(x)}{called_at()}")
    return shape_of(x)[-2:]  # type: ignore[return-value]
