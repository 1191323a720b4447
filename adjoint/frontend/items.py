"""What a `for` goes through, as far as a graph can: a number of iterations, and the item of each."""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.parsing import parsed
from adjoint.core.spec import int64
from adjoint.core.tensor import Tensor
from adjoint.frontend import state
from adjoint.graph.numbers import MANY, NeedsNumberError, as_number
from adjoint.ops.functional import cast, maximum, minimum, where


@dataclass(frozen=True)
class LoopItems:
    """`count` items, a number or a graph value; `at(i)` is the item of iteration i, which may be a graph value too."""

    count: Any
    at: Callable[[Any], Any]

    def __iter__(self) -> Iterator[Any]:
        if state.is_graph_value(self.count):
            raise NeedsNumberError(
                f"the number of items is known only when the graph runs: go through them with a `for` statement{called_at()}"
            )
        return map(self.at, range(self.count))

    def __len__(self) -> int:
        return int(self.count)

    def __getitem__(self, index: Any) -> Any:
        return self.at(index)


def items_of(iterable: Any) -> LoopItems | None:
    """The items of a range, of a graph value's rows, or of a combination of those; None for all that stays Python."""
    if isinstance(iterable, LoopItems):
        return iterable
    if type(iterable) is range:
        start, step = iterable.start, iterable.step
        return LoopItems(len(iterable), lambda i: _affine(start, step, i))
    if state.is_graph_value(iterable) and iterable.shape:
        return LoopItems(iterable.shape[0], lambda i: iterable[i])
    if type(iterable) is np.ndarray and iterable.ndim == 1 and iterable.dtype.kind in "fciub":
        return LoopItems(len(iterable), functools.partial(_looked_up, iterable))
    return None


def _looked_up(array: np.ndarray, i: Any) -> Any:
    """An element of an array of numbers; where the graph decides which one, an element of a constant."""
    return Tensor(array)[i] if state.is_graph_value(i) else array[i]


def unstarted(iterable: Any) -> LoopItems | None:
    """The items of a `zip` or `enumerate` that nobody else holds, of ranges and arrays."""
    if type(iterable) not in (zip, enumerate):
        return None
    reduced: Any = iterable.__reduce__()
    made, arguments, *rest = reduced
    if rest:
        return None
    if made is enumerate:
        return enumerated(_source(arguments[0]), arguments[1])
    return zipped(tuple(map(_source, arguments)))


_ITERATORS = (type(iter(range(0))), type(iter(np.zeros(0))))


def _source(iterator: Any) -> Any:
    """The range or array that an iterator goes through, if it is at the beginning; itself else."""
    if type(iterator) not in _ITERATORS:
        return iterator
    made: Any = iterator.__reduce__()
    begun = made[2] if len(made) == 3 else True  # None from Python 3.12 on, for a range of what is left
    return iterator if begun else made[1][0]


def counting(iterable: Any) -> LoopItems | None:
    """The first items of an `itertools.count` of integers; they are taken to suffice."""
    if type(iterable) is not itertools.count:
        return None
    shown = repr(iterable).removeprefix("count(").removesuffix(")")
    first, *step = ast.literal_eval(parsed(f"({shown},)", mode="eval"))
    if type(first) is not int or (step and type(step[0]) is not int):
        return None
    return LoopItems(MANY, lambda i: _affine(first, step[0] if step else 1, i))


def _affine(start: Any, step: Any, i: Any) -> Any:
    scaled = i if isinstance(step, int) and step == 1 else i * step
    return scaled if isinstance(start, int) and start == 0 else scaled + start


def graph_range(*bounds: Any) -> LoopItems:
    """`range` with a bound that is a graph value."""
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if isinstance(step, int) and step == 0:
        raise ValueError("range() arg 3 must not be zero")
    for bound in (start, stop, step):
        if isinstance(bound, state.ARRAYS) and (bound.dtype.kind not in "iu" or bound.shape != ()):
            raise ArgumentError(f"range() needs integers, this is {state.described(bound)}: cast it first{called_at()}")
    start, stop = (as_number(_wide(b), 1 - MANY, MANY - 1) for b in (start, stop))
    if isinstance(step, int):
        iterations = (stop - start + (step - (1 if step > 0 else -1))) // step
    else:
        iterations = where(step > 0, (stop - start + step - 1) // step, (stop - start + step + 1) // step)
    return LoopItems(maximum(iterations, 0), lambda i: _affine(start, step, i))


def _wide(bound: Any) -> Any:
    """A bound of a range as an integer of 64 bits."""
    return cast(bound, int64) if isinstance(bound, Value) and bound.dtype != int64 else bound


def zipped(parts: tuple[Any, ...]) -> LoopItems | None:
    """`zip` of things that all have items."""
    found = [items_of(p) for p in parts]
    known = [f for f in found if f is not None]
    if len(known) < len(found) or not known:
        return None
    count = known[0].count
    for other in known[1:]:
        both = isinstance(count, int) and isinstance(other.count, int)
        count = min(count, other.count) if both else minimum(count, other.count)
    return LoopItems(count, lambda i: tuple(f.at(i) for f in known))


def enumerated(iterable: Any, start: Any = 0) -> LoopItems | None:
    """`enumerate` of something that has items."""
    found = items_of(iterable)
    return None if found is None else LoopItems(found.count, lambda i: (_affine(start, 1, i), found.at(i)))


def backwards(iterable: Any) -> LoopItems | None:
    """`reversed` of something that has items."""
    found = items_of(iterable)
    return None if found is None else LoopItems(found.count, lambda i: found.at(found.count - 1 - i))
