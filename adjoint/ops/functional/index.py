"""Indexing as NumPy has it: x[i], x[i] = v, and the named forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.dispatch import EAGER, Value
from adjoint.core.errors import IndexingError, called_at
from adjoint.core.spec import shape_of
from adjoint.core.verbs import verbs
from adjoint.ops.card import card
from adjoint.ops.index import Gather, ScatterAdd, ScatterSet
from adjoint.ops.movement import GetItem, SetItem, freeze

WHOLE = slice(None)


def getitem(x: Any, index: Any) -> Any:
    """x[index], for every index that NumPy takes.

    >>> import adjoint as ad
    >>> x = ad.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> print(x[:, 1], x[[1, 0], [0, 0]], x[x > 1.5])
    [2. 4.] [3. 1.] [2. 3. 4.]
    """
    if type(index) is int:
        return card(GetItem, (index,))(x)
    items = _items(index)
    if not any(_is_array(i) for i in items):
        return card(GetItem, freeze(items))(x)
    return _Advanced(shape_of(x), items).get(x)


def setitem(x: Any, index: Any, value: Any) -> Any:
    """A copy of x with `value` at [index]: what `x[index] = value` binds x to."""
    items = _items(index)
    if not isinstance(value, (Value, np.ndarray, np.generic, bool, int, float, complex)):
        value = verbs.array(value)
    if not any(_is_array(i) for i in items):
        return card(SetItem, freeze(items))(x, value)
    return _Advanced(shape_of(x), items).put(ScatterSet(), x, value)


def index_put_add(x: Any, index: Any, value: Any) -> Any:
    """A copy of x with `value` added at [index]; places named twice get both."""
    items = _items(index)
    return _Advanced(shape_of(x), items).put(ScatterAdd(), x, value)


def _items(index: Any) -> tuple:
    """The index as a tuple of ints, slices, None, Ellipsis and integer arrays; masks become positions."""
    items: list[Any] = []
    for i in index if isinstance(index, tuple) else (index,):
        items += _item(i)
    if sum(i is Ellipsis for i in items) > 1:
        raise IndexingError(f"an index can hold `...` once{called_at()}")
    return tuple(items)


def _item(i: Any) -> list[Any]:
    if isinstance(i, slice):
        return [slice(*(None if v is None else int(v) for v in (i.start, i.stop, i.step)))]
    if i is None or i is Ellipsis or (isinstance(i, (int, np.integer)) and not isinstance(i, bool)):
        return [int(i) if isinstance(i, np.integer) else i]
    if not isinstance(i, (Value, np.ndarray)):
        i = np.asarray(i) if len(np.shape(i)) and np.size(i) else np.asarray(i, dtype=bool if isinstance(i, (bool, np.bool_)) else int)
    if i.dtype.kind == "b":
        mask = i.asnumpy() if isinstance(i, Value) else i
        return list(np.nonzero(mask)) if mask.ndim else [None, np.nonzero(mask.reshape(1))[0]]
    if i.dtype.kind not in "iu":
        raise IndexingError(f"a Tensor of {i.dtype} cannot be an index; cast it to int64, or compare it for a mask{called_at()}")
    if isinstance(i, Value) and i._trace is EAGER:
        i = np.asarray(i._value)
    return [int(i)] if not isinstance(i, Value) and i.ndim == 0 else [i]


def _is_array(i: Any) -> bool:
    return isinstance(i, (Value, np.ndarray))


class _Advanced:
    """An index with arrays, as a basic index, a transposition, and arrays on the leading axes."""

    def __init__(self, shape: tuple[int, ...], items: tuple) -> None:
        consumed = sum(i is not None and i is not Ellipsis for i in items)
        if consumed > len(shape):
            raise IndexingError(f"{consumed} indices for a Tensor of {len(shape)} axes{called_at()}")
        fill = (WHOLE,) * (len(shape) - consumed)
        at = items.index(Ellipsis) if any(i is Ellipsis for i in items) else None
        items = items + fill if at is None else items[:at] + fill + items[at + 1 :]
        # Beside arrays a whole number counts as an array without axes.
        entries = [np.asarray(i) if type(i) is int else i for i in items]
        spots = [k for k, e in enumerate(entries) if _is_array(e)]
        self.arrays = [entries[k] for k in spots]
        self.basic = tuple(WHOLE if _is_array(e) else e for e in entries)
        self.trivial = all(e == WHOLE for e in self.basic if e is not None) and None not in self.basic
        rank = len(self.basic)
        self.forward = (*spots, *(a for a in range(rank) if a not in spots))
        self.lead = max(len(shape_of(a)) for a in self.arrays)
        adjacent = spots == list(range(spots[0], spots[0] + len(spots)))
        self.target = spots[0] if adjacent else 0
        self.rank = self.lead + rank - len(spots)

    def _result_order(self) -> tuple[int, ...]:
        """From (index axes, others) to where NumPy puts the index axes."""
        rest = list(range(self.lead, self.rank))
        return tuple(rest[: self.target] + list(range(self.lead)) + rest[self.target :])

    def get(self, x: Any) -> Any:
        part = x if self.trivial else card(GetItem, freeze(self.basic))(x)
        picked = Gather()(_permuted(part, self.forward), *self.arrays)
        return _permuted(picked, self._result_order())

    def put(self, scatter: Any, x: Any, value: Any) -> Any:
        part = x if self.trivial else card(GetItem, freeze(self.basic))(x)
        moved = _permuted(part, self.forward)
        if self.target and len(shape_of(value)):
            missing = self.rank - len(shape_of(value))
            value = verbs.reshape(value, ((1,) * missing + shape_of(value)) if missing > 0 else shape_of(value))
            order = self._result_order()
            value = _permuted(value, tuple(sorted(range(self.rank), key=order.__getitem__)))
        written = scatter(moved, value, *self.arrays)
        back = _permuted(written, tuple(sorted(range(len(self.forward)), key=self.forward.__getitem__)))
        return back if self.trivial else card(SetItem, freeze(self.basic))(x, back)


def _permuted(x: Any, order: tuple[int, ...]) -> Any:
    return x if order == tuple(range(len(order))) else verbs.permute(x, order)


verbs.getitem, verbs.setitem = getitem, setitem
