"""Indexing as NumPy has it: x[i], x[i] = v, and the named forms."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from adjoint.core import tree, views
from adjoint.core.arrays import check_kind
from adjoint.core.dispatch import EAGER, Value, located
from adjoint.core.errors import AdjointError, IndexingError, called_at
from adjoint.core.spec import dtype_of, normalize_axis, shape_of, spec_of
from adjoint.ops.broadcast import ndim
from adjoint.ops.card import card
from adjoint.ops.index import Gather, ScatterAdd, ScatterSet, index_array
from adjoint.ops.language import permute, reshape
from adjoint.ops.masks import pick, traced_mask
from adjoint.ops.movement import inverse_permutation
from adjoint.ops.publish import public
from adjoint.ops.slicing import BasicIndex, GetItem, SetItem, freeze, show_index, with_room
from adjoint.ops.stacking import array

WHOLE = slice(None)


@public()
def getitem(x: Any, index: Any) -> Any:
    """x[index], for every index that NumPy takes.

    >>> import adjoint as ad
    >>> x = ad.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> print(x[:, 1], x[[1, 0], [0, 0]], x[x > 1.5])
    [2. 4.] [3. 1.] [2. 3. 4.]
    """
    if (basic := _basic(index)) is not None:
        op = card(GetItem, basic)
    else:
        if (mask := traced_mask(x, index)) is not None:
            return pick(x, mask)
        items = _items(index)
        if any(type(i) is _Array for i in items):
            found = _Advanced(shape_of(x), items).get(x)
            if isinstance(x, Value) and found.shape and (step := place(index)) is not None:
                views.relate(found, x, step)
            return found
        op = card(GetItem, freeze(items))
    try:
        return op(x)
    except IndexError as error:
        raise _as_written(op, x, error) from None


@public()
def setitem(x: Any, index: Any, value: Any) -> Any:
    """A copy of x with `value` at [index]: what `x[index] = value` binds x to.

    >>> from adjoint import ops, Tensor
    >>> print(ops.setitem(Tensor([1.0, 2.0, 3.0]), slice(0, 2), 9.0))
    [9. 9. 3.]
    """
    plain = isinstance(value, (Value, np.ndarray, np.generic, bool, int, float, complex))
    if not plain or (isinstance(value, np.ndarray) and value.dtype.hasobject):
        value = array(value)
    basic = _basic(index)
    mask = None if basic is not None else traced_mask(x, index)
    items = basic if basic is not None else () if mask is not None else _items(index)
    x = with_room(x, value)
    if mask is not None:
        return mask.put(x, value)
    if any(type(i) is _Array for i in items):
        return _Advanced(shape_of(x), items).put(ScatterSet(), x, value)
    rank = len(shape_of(x)) - sum(type(i) is int for i in items) + items.count(None)
    op = card(SetItem, freeze(items))
    try:
        return op(x, _fitted(value, rank))
    except IndexError as error:
        raise _as_written(op, x, error) from None


def place(index: Any) -> Any:
    """The step to the elements that NumPy shows as a view: an index of integers, slices, `...` and new axes; else None."""
    parts = index if isinstance(index, tuple) else (index,)
    if all(type(i) in _BASIC for i in parts):
        return card(GetItem, freeze(_items(index)))
    counted = all(type(i) in _BASIC or (shape_of(i) == () and dtype_of(i).kind in "iu") for i in parts if i is not None)
    return _Item(index) if counted else None


_BASIC = (int, slice, type(None), type(Ellipsis))


@dataclass(frozen=True, eq=False)
class _Item:
    """x[index] where an integer in the index is known only when a graph runs, as a step of a view."""

    index: Any

    ordered = False

    def show(self, x: Any) -> Any:
        return views.alone(getitem(x, self.index))

    def put(self, x: Any, y: Any) -> Any:
        return setitem(x, self.index, y)

    def eval(self, xp: Any, x: Any) -> Any:
        """An element like it: whether NumPy has a view does not depend on the number."""
        parts = self.index if isinstance(self.index, tuple) else (self.index,)
        return x[tuple(i if type(i) in _BASIC else 0 for i in parts)]

    def is_apart(self, other: Any, base: Any) -> bool:
        return False


def _as_written(op: Any, x: Any, error: IndexError) -> Exception:
    """The error about the index and the shape that the user sees, without a batch axis."""
    try:
        op.picked(shape_of(x))
    except IndexingError as better:
        return located(better)
    return error


def index_put_add(x: Any, index: Any, value: Any) -> Any:
    """A copy of x with `value` added at [index]; places named twice get both."""
    items = [_Array(np.asarray(i)) if type(i) is int else i for i in _items(index)]
    x = with_room(x, value)
    return _Advanced(shape_of(x), tuple(items)).put(ScatterAdd(), x, value)


def _fitted(value: Any, rank: int) -> Any:
    """The value without leading axes of size 1 that the place it goes to does not have."""
    shape = shape_of(value)
    extra = len(shape) - rank
    return reshape(value, shape[extra:]) if extra > 0 and set(shape[:extra]) == {1} else value


@dataclass(frozen=True, eq=False)
class _Array:
    """An array within an index, of integers; a mask comes as positions."""

    values: Any
    size: int | None = None  # the length of the mask, which must be that of the axis
    new: bool = False  # whether it picks from a new axis: a mask without axes

    def __str__(self) -> str:
        return str(spec_of(self.values))


def _basic(index: Any) -> BasicIndex | None:
    """The index as a card holds it, if it is made of Python's own integers, slices of them, None and `...`: the short way."""
    found: list[Any] = []
    for i in index if type(index) is tuple else (index,):
        kind = type(i)
        if kind is int or i is None:
            found.append(i)
        elif kind is slice:
            bounds = i.start, i.stop, i.step
            for v in bounds:
                if v is not None and type(v) is not int:
                    return None
            found.append(bounds)
        elif i is Ellipsis and Ellipsis not in found:
            found.append(i)
        else:
            return None
    return tuple(found)


def _items(index: Any) -> tuple:
    """The index as a tuple of integers, slices, None, Ellipsis and arrays."""
    items: list[Any] = []
    for i in index if isinstance(index, tuple) else (index,):
        items += _item(i)
    if sum(i is Ellipsis for i in items) > 1:
        raise IndexingError(f"an index can hold `...` once{called_at()}")
    return tuple(items)


def _item(i: Any) -> list[Any]:
    if isinstance(i, slice):
        return [slice(_bound(i.start), _bound(i.stop), _bound(i.step))]
    if i is None or i is Ellipsis:
        return [i]
    if isinstance(i, (int, np.integer)) and not isinstance(i, bool):
        return [int(i)]
    i = i if isinstance(i, (Value, np.ndarray)) else _listed(i)
    if isinstance(i, np.ndarray):
        check_kind(i)
    if i.dtype.kind == "b":
        mask = i.asnumpy() if isinstance(i, Value) else i
        if not mask.ndim:
            return [_Array(np.flatnonzero(mask), new=True)]
        return [_Array(places, size) for places, size in zip(np.nonzero(mask), mask.shape, strict=True)]
    if i.dtype.kind not in "iu":
        raise IndexingError(
            f"a Tensor of {i.dtype} cannot be an index; cast it to int64, or compare it for a mask{called_at()}"
        )
    if isinstance(i, Value) and i._trace is EAGER:
        i = np.asarray(i._value)
    return [int(i)] if not isinstance(i, Value) and i.ndim == 0 else [_Array(i)]


def _bound(v: Any) -> int | None:
    try:
        return None if v is None else operator.index(v)
    except TypeError as error:
        if isinstance(error, AdjointError):
            raise
        raise IndexingError(f"a slice is bounded by integers, not by {v!r}{called_at()}") from None


def _listed(i: Any) -> Any:
    """An index given as a list, a boolean, or an object that counts as an integer."""
    if isinstance(i, (list, tuple)) and any(isinstance(x, Value) for x in tree.leaves(i)):
        return array(i)
    try:
        found = np.asarray(operator.index(i) if hasattr(i, "__index__") and not isinstance(i, bool) else i)
    except ValueError:
        raise IndexingError(
            f"the list {i!r:.80} has rows of different lengths: it cannot be an index{called_at()}"
        ) from None
    if found.dtype.kind not in "biu" and found.size:
        raise IndexingError(
            f"{i!r:.80} cannot be an index; use integers, slices, `...`, None, and arrays or lists of integers "
            f"or booleans{called_at()}"
        )
    return found if found.size else found.astype(int)


class _Advanced:
    """An index with arrays, as a basic index, a transposition, and arrays on the leading axes."""

    def __init__(self, shape: tuple[int, ...], items: tuple) -> None:
        self.shape, self.items = shape, items
        consumed = sum(i is not None and i is not Ellipsis and not (type(i) is _Array and i.new) for i in items)
        if consumed > len(shape):
            raise self._misfit(f"it names {consumed} axes")
        # Beside arrays an integer counts as an array without axes.
        entries = [_Array(np.asarray(i)) if type(i) is int else i for i in items]
        spots = [k for k, e in enumerate(entries) if type(e) is _Array]
        adjacent = spots[-1] - spots[0] == len(spots) - 1  # `...` parts two arrays even if it stands for no axis
        fill = (WHOLE,) * (len(shape) - consumed)
        at = items.index(Ellipsis) if Ellipsis in items else len(entries)
        entries[at : at + 1] = fill
        spots = [k for k, e in enumerate(entries) if type(e) is _Array]
        self.basic = tuple((None if e.new else WHOLE) if type(e) is _Array else e for e in entries)
        self.trivial = all(e == WHOLE for e in self.basic)
        self.arrays = [entries[k].values for k in spots]
        self.entries = entries
        self._check_masks()
        rank = len(self.basic)
        self.forward = (*spots, *(a for a in range(rank) if a not in spots))
        self.lead = max(len(shape_of(a)) for a in self.arrays)
        self.target = spots[0] if adjacent else 0
        self.rank = self.lead + rank - len(spots)

    def _arrays_on_axes(self) -> Iterator[tuple[_Array, int]]:
        """Each array that stands on an axis of the input, with that axis."""
        own = [e for e in self.entries if e is not None and not (type(e) is _Array and e.new)]
        return ((e, axis) for axis, e in enumerate(own) if type(e) is _Array)

    def _check_masks(self) -> None:
        for e, axis in self._arrays_on_axes():
            if e.size not in (None, self.shape[axis]):
                raise self._misfit(f"the mask has {e.size} elements along axis {axis} of size {self.shape[axis]}")

    def _misfit(self, why: str) -> IndexingError:
        return IndexingError(f"index {show_index(self.items)} does not fit the shape {self.shape}: {why}{called_at()}")

    def _outside(self, error: IndexError) -> IndexError:
        """An error that names the number that is outside its axis."""
        for e, axis in self._arrays_on_axes():
            if isinstance(e.values, Value):
                continue
            size = self.shape[axis]
            wrong = e.values[(e.values < -size) | (e.values >= size)]
            if wrong.size:
                return self._misfit(f"{wrong.flat[0]} is outside axis {axis} of size {size}")
        return error

    def _result_order(self) -> tuple[int, ...]:
        """From (index axes, others) to where NumPy puts the index axes."""
        rest = list(range(self.lead, self.rank))
        return tuple(rest[: self.target] + list(range(self.lead)) + rest[self.target :])

    def get(self, x: Any) -> Any:
        part = x if self.trivial else card(GetItem, freeze(self.basic))(x)
        try:
            picked = Gather()(_permuted(part, self.forward), *self.arrays)
        except IndexError as error:
            raise self._outside(error) from None
        return _permuted(picked, self._result_order())

    def put(self, scatter: Any, x: Any, value: Any) -> Any:
        part = x if self.trivial else card(GetItem, freeze(self.basic))(x)
        moved = _permuted(part, self.forward)
        value = _fitted(value, self.rank)
        if self.target and 0 < len(shape_of(value)) <= self.rank:
            value = reshape(value, (1,) * (self.rank - len(shape_of(value))) + shape_of(value))
            value = _permuted(value, inverse_permutation(self._result_order()))
        try:
            written = scatter(moved, value, *self.arrays)
        except IndexError as error:
            raise self._outside(error) from None
        back = _permuted(written, inverse_permutation(self.forward))
        return back if self.trivial else card(SetItem, freeze(self.basic))(x, back)


def _permuted(x: Any, order: tuple[int, ...]) -> Any:
    return x if order == tuple(range(len(order))) else permute(x, order)


@public(method=True)
def take(input: Any, indices: Any, axis: int | None = None) -> Any:
    """The slices at these positions along an axis, or elements of the flattened input.

    >>> from adjoint import ops, Tensor
    >>> print(ops.take(Tensor([1.0, 2.0, 3.0]), [2, 0]))
    [3. 1.]
    """
    if axis is None:
        return getitem(reshape(input, (prod(shape_of(input)),)), (index_array(indices),))
    axis = normalize_axis("take", axis, ndim(input))
    return getitem(input, (*(slice(None),) * axis, index_array(indices)))
