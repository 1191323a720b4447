"""Indexing with arrays: gather, and the two ways to scatter.

The first k axes of x are indexed by k integer arrays that broadcast together; `functional.indexing` brings every NumPy
index into this form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.absent import ZERO
from adjoint.core.dispatch import Value
from adjoint.core.errors import AdjointError, ArgumentError, DtypeError, IndexingError, ShapeError, called_at
from adjoint.core.spec import Spec, broadcast, normalize_axis, shape_of
from adjoint.ops.broadcast import batch_first, batch_front, batch_size, cast_like, match, ndim
from adjoint.ops.card import Op, card, register
from adjoint.ops.families import Linear
from adjoint.ops.language import broadcast_to, cast, equal, moveaxis, zeros_like
from adjoint.ops.publish import public
from adjoint.ops.slicing import GetItem, with_room


def _picked(op, x, indices):
    """The shape of x[indices]."""
    for i in indices:
        if i.dtype.kind not in "iu":
            raise DtypeError(f"{op}: an index array must hold integers, not {i.dtype}; cast it to int64")
    if len(indices) > x.ndim:
        raise IndexingError(f"{op}: {len(indices)} index arrays for an input of {x.ndim} axes")
    return broadcast(op, indices) + x.shape[len(indices) :]


def _batch_indices(dims, indices):
    """Index arrays with the batch axis in front and equal numbers of axes behind it."""
    rank = max(ndim(i) - (d is not None) for i, d in zip(indices, dims, strict=True))
    return [batch_first(i, d, rank) for i, d in zip(indices, dims, strict=True)], rank


def _lanes(size, rank):
    """An index array that keeps each batch element in its own lane."""
    return np.arange(size).reshape(size, *(1,) * rank)


@dataclass(frozen=True)
class OfClasses:
    """Whether the indices name classes or segments: then `of` is the function that has been given them, for messages."""

    of: str = ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({f'of={self.of!r}' if self.of else ''})"

    def refused(self, x: Any, indices: Any, error: IndexError) -> Exception:
        """The error of an index out of range. `class_places` has put labels below 0 below all places."""
        for n, i in zip(np.shape(x), indices, strict=False) if self.of else ():
            wrong = np.asarray(i)[(np.asarray(i) < -n) | (np.asarray(i) >= n)]
            if wrong.size:
                return self.unknown(int(wrong.flat[0]), n)
        return error

    def unknown(self, place: int, n: int) -> AdjointError:
        """The error of a place out of range, by the number that was given: see `class_places`, and `_ids` of segments."""
        given = place + (n if place < 0 else 0)
        if self.of.startswith("segment"):
            return IndexingError(f"{self.of}: the segment {given} is not one of the {n}")
        return ArgumentError(f"{self.of}: class {given} is not one of 0 to {n - 1}")


@register
@dataclass(frozen=True, repr=False)
class Gather(OfClasses, Linear):
    """x[i1, ..., ik] for integer arrays that broadcast together."""

    complex, copies, saved, indexing, first_index = True, True, True, "get", 1

    def infer(self, x, *indices):
        return Spec(_picked(self, x, indices), x.dtype)

    def eval(self, xp, x, *indices):
        try:
            return x[indices]
        except IndexError as error:
            raise self.refused(x, indices, error) from None

    def vjp(self, g, y, x, *indices):
        zeros = np.zeros(shape_of(x), x.dtype)
        return lambda: card(ScatterAdd, self.of)(zeros, g, *indices), *(ZERO,) * len(indices)

    def vmap(self, dims, x, *indices):
        if all(d is None for d in dims[1:]) and any(map(ndim, indices)):
            k = len(indices)
            inner = moveaxis(x, dims[0], k)  # behind the indexed axes, so that those stay in front
            return moveaxis(self(inner, *indices), ndim_of_broadcast(indices), 0)
        indices, rank = _batch_indices(dims[1:], indices)
        if dims[0] is None:
            return self(x, *indices)
        x = batch_front(x, dims[0])
        return self(x, _lanes(shape_of(x)[0], rank), *indices)

    @classmethod
    def samples(cls, draw):
        yield cls(), (draw(4), np.array([0, 3, 3]))
        yield cls(), (draw(4, 2), np.array([[0, 3], [-1, 1]]))
        yield cls(), (draw(4, 2, 3), np.array([0, 3, 1]), np.array([[1], [0]]))
        yield cls(), (draw(4), np.zeros(0, int))

    @classmethod
    def errors(cls):
        yield cls(), (Spec((3,)), Spec((2,))), "must hold integers"
        yield (
            cls(),
            (Spec((3,)), Spec((2,), np.dtype(int)), Spec((2,), np.dtype(int))),
            "2 index arrays for an input of 1",
        )


def ndim_of_broadcast(indices):
    return max(ndim(i) for i in indices)


def index_array(indices: Any) -> Any:
    if isinstance(indices, (Value, np.ndarray, int)):
        return indices
    array = np.asarray(indices)
    return array if array.size else array.astype(int)  # an empty list is one of integers


def grid_index(what: str, x: Any, indices: Any, axis: int, whole: bool = False) -> list[Any]:
    """One index array for each axis: `indices` for this one, each position itself for the others.

    The positions are those of `indices`, or with `whole` those of the input, against which `indices` broadcast.
    """
    shape = shape_of(x if whole else indices)
    n = len(shape_of(indices))
    if n != ndim(x):
        raise ShapeError(f"{what}: the indices have {n} axes, the input {ndim(x)}{called_at()}")
    return [
        indices if a == axis else np.arange(shape[a]).reshape((1,) * a + (-1,) + (1,) * (n - a - 1)) for a in range(n)
    ]


@public()
def take_along_axis(input: Any, indices: Any, axis: int) -> Any:
    """For each place of `indices`, the element at that position along the axis; the other axes broadcast.

    >>> from adjoint import ops, Tensor
    >>> print(ops.take_along_axis(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[1], [0]]), 1))
    [[2.]
     [3.]]
    """
    axis = normalize_axis("take_along_axis", axis, ndim(input))
    return Gather()(input, *grid_index("take_along_axis", input, index_array(indices), axis, whole=True))


@public(method=True)
def gather_elements(input: Any, dim: int, index: Any) -> Any:
    """For each place of `index`, the element at that position along the axis; `index` may be smaller than the input.

    >>> from adjoint import ops, Tensor
    >>> print(ops.gather_elements(Tensor([[1.0, 2.0], [3.0, 4.0]]), 1, Tensor([[1, 1]])))
    [[2. 2.]]
    """
    axis = normalize_axis("gather_elements", dim, len(shape_of(input)))
    return Gather()(input, *grid_index("gather_elements", input, index_array(index), axis))


@public(method=True)
def gather_nd(input_x: Any, indices: Any) -> Any:
    """Elements or slices named by the rows of `indices`.

    >>> from adjoint import ops, Tensor
    >>> print(ops.gather_nd(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[0, 1], [1, 0]])))
    [2. 3.]
    """
    columns = _columns(indices)
    return Gather()(input_x, *columns)


def _columns(indices: Any) -> list[Any]:
    indices = index_array(indices)
    return [card(GetItem, (..., k))(indices) for k in range(shape_of(indices)[-1])]


class Scatter(Op):
    """Ops that put values v at x[i1, ..., ik]."""

    complex, first_index = True, 2

    def infer(self, x, v, *indices):
        part = _picked(self, x, indices)
        lead = len(part) - v.ndim
        if lead < 0 or any(n not in (1, m) for n, m in zip(v.shape, part[lead:], strict=True)):
            raise ShapeError(f"{self}: values of shape {v.shape} do not fill the indexed part of shape {part}")
        return Spec(x.shape, x.dtype)

    def vmap(self, dims, x, v, *indices):
        size = batch_size(dims, (x, v, *indices))
        x = batch_front(x, dims[0]) if dims[0] is not None else broadcast_to(x, (size, *shape_of(x)))
        indices, rank = _batch_indices(dims[2:], indices)
        part = rank + ndim(x) - 1 - len(indices)
        return self(x, batch_first(v, dims[1], part), _lanes(size, rank), *indices)

    @classmethod
    def samples(cls, draw):
        yield cls(), (draw(4), draw(3), np.array([0, 3, 1]))
        yield cls(), (draw(4, 2), draw(2), np.array([2, -1]))
        yield cls(), (draw(4, 3), draw(2, 3), np.array([0, 3, 1]), np.array([[1], [0]]))
        yield cls(), (draw(4), draw(3), np.array([0, 3, 3]))

    @classmethod
    def errors(cls):
        yield cls(), (Spec((3,)), Spec((4,)), Spec((2,), np.dtype(int))), "do not fill the indexed part of shape (2,)"


@register
@dataclass(frozen=True, repr=False)
class ScatterAdd(OfClasses, Scatter):
    """A copy of x with v added at [i1, ..., ik]; places named twice get both."""

    indexing = "add"

    def eval(self, xp, x, v, *indices):
        y = xp.array(x)
        try:
            xp.add.at(y, indices, v)
        except IndexError as error:
            raise self.refused(x, indices, error) from None
        return y

    def update(self, x, v, *indices):
        if all(np.ndim(i) == 0 for i in indices):
            x[indices] += v
        else:
            np.add.at(x, indices, v)

    def vjp(self, g, y, x, v, *indices):
        return g, lambda: match(card(Gather, self.of)(g, *indices), v), *(ZERO,) * len(indices)

    def jvp(self, ts, y, x, v, *indices):
        t, s = ts[:2]
        if s is ZERO:
            return t
        return self(zeros_like(y) if t is ZERO else t, cast_like(s, y), *indices)


@public(method=True)
def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Any:
    """A copy with each element of `src` added at its `index` along an axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.scatter_add(ops.zeros(3), 0, Tensor([0, 2, 2]), Tensor([1.0, 2.0, 3.0])))
    [1. 0. 5.]
    """
    return _scatter("scatter_add", ScatterAdd(), input, dim, index, src)


@public(aliases=("tensor_scatter_add",))
def scatter_nd_add(input_x: Any, indices: Any, updates: Any) -> Any:
    """A copy with `updates` added at the places named by the rows of `indices`.

    >>> from adjoint import ops, Tensor
    >>> print(ops.scatter_nd_add(Tensor([1.0, 2.0]), Tensor([[1], [1]]), Tensor([10.0, 20.0])))
    [ 1. 32.]
    """
    return ScatterAdd()(with_room(input_x, updates), updates, *_columns(indices))


tensor_scatter_add = scatter_nd_add


@register
@dataclass(frozen=True)
class ScatterSet(Scatter):
    """A copy of x with v at [i1, ..., ik]; of values for the same place the last one stays."""

    copies, indexing = True, "set"

    def eval(self, xp, x, v, *indices):
        y = xp.array(x)
        y[indices] = v
        return y

    def update(self, x, v, *indices):
        x[indices] = v

    def vjp(self, g, y, x, v, *indices):
        rest = (ZERO,) * len(indices)
        if all(ndim(i) == 0 for i in indices):  # one place: nothing is replaced
            return lambda: self(g, 0, *indices), lambda: match(Gather()(g, *indices), v), *rest
        return lambda: self(g, 0, *indices), lambda: match(self._winners(x, indices) * Gather()(g, *indices), v), *rest

    def _winners(self, x, indices):
        """1 where a value stayed, 0 where a later one replaced it."""
        shape = _picked(self, x, [np.asarray(i) if not hasattr(i, "dtype") else i for i in indices])
        order = np.arange(int(np.prod(shape))).reshape(shape)
        placed = self(np.full(shape_of(x), -1), order, *indices)
        return cast(equal(Gather()(placed, *indices), order), x.dtype)

    def jvp(self, ts, y, x, v, *indices):
        t, s = ts[:2]
        if t is ZERO and s is ZERO:
            return ZERO
        return self(zeros_like(y) if t is ZERO else t, 0 if s is ZERO else cast_like(s, y), *indices)


@public(method=True)
def scatter(input: Any, axis: int, index: Any, src: Any) -> Any:
    """A copy with each element of `src` put at its `index` along an axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.scatter(ops.zeros(3), 0, Tensor([2, 0]), Tensor([5.0, 6.0])))
    [6. 0. 5.]
    """
    return _scatter("scatter", ScatterSet(), input, axis, index, src)


def _scatter(what: str, op: Any, x: Any, dim: int, index: Any, src: Any) -> Any:
    axis = normalize_axis(what, dim, len(shape_of(x)))
    index = index_array(index)
    if shape_of(src) and shape_of(src) != shape_of(index):
        # A larger source is cut to the index, as in PyTorch and MindSpore.
        if len(shape_of(src)) != len(shape_of(index)) or any(
            n < m for n, m in zip(shape_of(src), shape_of(index), strict=True)
        ):
            raise ShapeError(f"{what}: src has shape {shape_of(src)}, the index {shape_of(index)}{called_at()}")
        src = card(GetItem, tuple((0, n, None) for n in shape_of(index)))(src)
    return op(with_room(x, src), src, *grid_index(what, x, index, axis))


@public()
def tensor_scatter_update(input_x: Any, indices: Any, updates: Any) -> Any:
    """A copy with `updates` at the places named by the rows of `indices`.

    >>> from adjoint import ops, Tensor
    >>> print(ops.tensor_scatter_update(Tensor([1.0, 2.0]), Tensor([[1]]), Tensor([9.0])))
    [1. 9.]
    """
    return ScatterSet()(with_room(input_x, updates), updates, *_columns(indices))


gather, put_at, add_at = Gather(), ScatterSet(), ScatterAdd()  # for rules, with arguments in full
