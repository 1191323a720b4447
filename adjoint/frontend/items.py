"""What a `for` goes through, as far as a graph can: a number of iterations, and the item of each."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import GeneratorType
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.parsing import parsed
from adjoint.core.spec import int64
from adjoint.core.tensor import Tensor
from adjoint.frontend import state
from adjoint.graph.numbers import MANY, NeedsNumberError, as_number, is_integer
from adjoint.ops.functional import cast, maximum, minimum, where


@dataclass(frozen=True)
class LoopItems:
    """`count` items, a number or a graph value; `at(i)` is the item of iteration i, which may be a graph value too."""

    count: Any
    at: Callable[[Any], Any]


def items_of(iterable: Any) -> LoopItems | None:
    """The items of a range, of a graph value's rows, or of a combination of those; None for all that stays Python."""
    if isinstance(iterable, LoopItems):
        return iterable
    if isinstance(iterable, RunIterable):
        return iterable.items()
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


_ROWS = iter(Tensor(np.zeros(1))).gi_code  # type: ignore[attr-defined]
_ITERATORS = (type(iter(range(0))), type(iter(np.zeros(0))), reversed)


def unstarted(iterable: Any) -> LoopItems | None:
    """The items of an iterator that nobody else holds, of ranges, arrays and Tensors, zipped and enumerated perhaps."""
    if type(iterable) not in (zip, enumerate):
        return items_of(_source(iterable))
    reduced: Any = iterable.__reduce__()
    if len(reduced) != 2 or not all(_held(reduced, k) <= _HELD[type(iterable)] for k in _inner(reduced)):
        return None
    found = [unstarted(reduced[1][k]) for k in _inner(reduced)]
    if type(iterable) is enumerate:
        return None if found[0] is None else enumerated(found[0], reduced[1][1])
    return zipped(tuple(found))


def _inner(reduced: Any) -> range:
    """Where in a reduced `zip` or `enumerate` the iterators are that it goes through."""
    return range(1 if reduced[0] is enumerate else len(reduced[1]))


def _held(reduced: Any, k: int) -> int:
    """How many references there are to an iterator that a `zip` or `enumerate` goes through."""
    return sys.getrefcount(reduced[1][k])


def _held_alone(iterator: Any) -> int:
    reduced: Any = iterator.__reduce__()
    return _held(reduced, 0)


_HELD: dict[type, int] = {made: _held_alone(made(iter(range(0)))) for made in (zip, enumerate)}


def _source(iterator: Any) -> Any:
    """What an iterator goes through, if it is at the beginning; itself else."""
    if type(iterator) is GeneratorType:
        begun = iterator.gi_code is not _ROWS or inspect.getgeneratorstate(iterator) != inspect.GEN_CREATED
        frame: Any = iterator.gi_frame
        return iterator if begun else frame.f_locals["self"]
    if type(iterator) not in _ITERATORS:
        return iterator
    made: Any = iterator.__reduce__()
    if type(iterator) is reversed:
        return _Backwards(made[1][0]) if len(made) == 3 and made[2] == len(made[1][0]) - 1 else iterator
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


class RunIterable:
    """What `range`, `enumerate`, `zip` and `reversed` give where only the run knows how many items there are."""

    kind: Any = object

    def items(self) -> LoopItems:
        """What a `for` goes through."""
        raise NotImplementedError


def _refusing(what: str) -> Callable[..., Any]:
    def refuse(self: Any, *_: Any, **__: Any) -> Any:
        raise NeedsNumberError(
            f"{what} {self.kind.__name__}(...) whose number of items is known only when the graph runs: go through the items with a "
            f"`for` statement, or make the number static{called_at()}"
        )

    return refuse


for _name, _what in {
    "iter": "this takes all items of", "next": "this takes an item of", "getitem": "this indexes", "len": "this asks for the length of",
    "bool": "this asks whether there are items in", "contains": "this looks into", "eq": "this compares", "ne": "this compares",
    "hash": "this makes a key of", "repr": "this makes a text of", "format": "this makes a text of", "array": "this makes an array of",
    "reversed": "this turns round",
}.items():  # fmt: skip
    setattr(RunIterable, f"__{_name}__", _refusing(_what))


class GraphRange(RunIterable):
    """`range` with a bound that is a graph value."""

    kind = range

    def __init__(self, *bounds: Any) -> None:
        start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        if isinstance(step, int) and step == 0:
            raise ValueError("range() arg 3 must not be zero")
        for bound in (start, stop, step):
            if isinstance(bound, state.ARRAYS) and (bound.dtype.kind not in "iu" or bound.shape != ()):
                raise ArgumentError(
                    f"range() needs integers, this is {state.described(bound)}: cast it first{called_at()}"
                )
        self.start, self.stop = (as_number(_wide(b), 1 - MANY, MANY - 1) for b in (start, stop))
        self.step = step

    def items(self) -> LoopItems:
        """What a `for` goes through."""
        start, stop, step = self.start, self.stop, self.step
        if isinstance(step, int):
            iterations = (stop - start + (step - (1 if step > 0 else -1))) // step
        else:
            iterations = where(step > 0, (stop - start + step - 1) // step, (stop - start + step + 1) // step)
        return LoopItems(maximum(iterations, 0), lambda i: _affine(start, step, i))

    def has(self, x: Any) -> Any:
        """Whether a number is one of the items."""
        start, stop, step = self.start, self.stop, self.step
        if not isinstance(step, int):
            return _refusing("this looks into")(self)
        between = (x >= start) & (x < stop) if step > 0 else (x <= start) & (x > stop)
        return as_number(between if abs(step) == 1 and is_integer(x) else between & ((x - start) % step == 0), 0, 1)

    index = _refusing("this looks into")
    count = _refusing("this looks into")


class GraphIterator(RunIterable):
    """`enumerate`, `zip` or `reversed` of such a number of items: for one `for` statement."""

    def __init__(self, kind: Any, items: LoopItems) -> None:
        self.kind, self.left = kind, [items]

    def items(self) -> LoopItems:
        """What a `for` goes through."""
        return self.left.pop() if self.left else _refusing("this goes again through")(self)


class _Backwards(RunIterable):
    """What `reversed` goes through, before it has begun."""

    def __init__(self, sequence: Any) -> None:
        self.sequence = sequence

    def items(self) -> Any:
        """What a `for` goes through."""
        return backwards(items_of(self.sequence))


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
