"""What a graph was built on besides its arguments: places that were read, what was found there, and whether it still is there."""

from __future__ import annotations

import operator
import os
from array import array
from collections import ChainMap, OrderedDict, UserDict, UserList, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType, MethodType
from typing import Any

import numpy as np

from adjoint.core.arrays import is_frozen
from adjoint.core.dispatch import EAGER, HALF, Value
from adjoint.core.parameter import Parameter
from adjoint.core.short_text import difference, short
from adjoint.core.spec import Spec
from adjoint.frontend.libraries import held_by_library
from adjoint.frontend.places import MISSING, Place

_VIEWS: tuple[Any, ...] = (type({}.keys()), type({}.values()), type({}.items()))
CONTAINERS = (list, tuple, dict, deque, UserDict, UserList, ChainMap, MappingProxyType, type(os.environ), *_VIEWS)
MUTABLE = (*CONTAINERS, set, bytearray, memoryview, array, np.ndarray)
SIZED = {list, dict, set, deque, bytearray}  # their length alone can be guarded
LENGTH = "length"
FEW = 64  # items
_CONSTANT = {bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range, slice}


def members(x: Any) -> list[Any]:
    """What a container holds; no method of a user's class is asked."""
    kind: Any
    for kind in (list, tuple, deque):
        if isinstance(x, kind):
            return list(kind.__iter__(x))
    if isinstance(x, dict):
        return list(_dict_of(x).values(x))
    return list(x.values() if isinstance(x, Mapping) else x)


def _dict_of(x: Any) -> Any:
    """The class of Python's own that knows the order of a dict."""
    return OrderedDict if isinstance(x, OrderedDict) else dict


def keys_of(x: Any) -> list[Any] | None:
    """The keys of a dict or the like; None for other containers."""
    if isinstance(x, dict):
        return list(_dict_of(x).keys(x))
    return list(x) if isinstance(x, Mapping) else None


# ---------------------------------------------------------------- what was found there


class Found:
    """What was found at a place: `fits` tells whether what is there now will do."""

    def fits(self, now: Any) -> bool:
        raise NotImplementedError

    def code(self, now: str, hold: Callable[[Any], str]) -> str:
        """The same as an expression of Python."""
        return f"{hold(self.fits)}({now})"

    def array(self) -> np.ndarray | None:
        """The array that was found; None if it was no array."""
        return None


@dataclass(frozen=True, eq=False)
class Same(Found):
    """This very object."""

    value: Any

    def fits(self, now: Any) -> bool:
        return now is self.value

    def code(self, now: str, hold: Callable[[Any], str]) -> str:
        return f"{now} is {hold(self.value)}"


@dataclass(frozen=True, eq=False)
class EqualValue(Found):
    """A number or text: the same value of the same type will do."""

    value: Any

    def fits(self, now: Any) -> bool:
        return now is self.value or (type(now) is type(self.value) and repr(now) == repr(self.value))

    def code(self, now: str, hold: Callable[[Any], str]) -> str:
        if self.value is None:
            return f"{now} is None"
        kind, value = hold(type(self.value)), hold(self.value)
        if type(self.value) in (int, bool, str) or (type(self.value) is float and self.value * 0 == 0 != self.value):
            return f"((now := {now}) is {value} or now.__class__ is {kind} and now == {value})"
        return super().code(now, hold)


@dataclass(frozen=True, eq=False)
class Method(Found):
    """A method of the place's owner, made anew by each access; `owner` is what to compare an object of a library by."""

    value: Any
    owner: Found | None = None

    def fits(self, now: Any) -> bool:
        same = type(now) is MethodType and now.__func__ is self.value
        return same and (self.owner is None or self.owner.fits(now.__self__))

    def code(self, now: str, hold: Callable[[Any], str]) -> str:
        return f"{now}.__func__ is {hold(self.value)}" if self.owner is None else super().code(now, hold)


@dataclass(frozen=True, eq=False)
class Items(Found):
    """A list, tuple, dict or deque with these items; `deep` are those of them that are compared by more than themselves."""

    kind: Any
    keys: Any
    items: list[Any]
    deep: dict[int, Found]
    value: str

    def fits(self, now: Any) -> bool:
        kind = type(now)
        if kind is not self.kind:
            return False
        if kind is list or kind is tuple:
            inside = now
        elif (list(now) if kind is dict else keys_of(now)) != self.keys:
            return False
        else:
            inside = list(now.values()) if kind is dict else members(now)
        if len(inside) != len(self.items) or not all(image.fits(inside[k]) for k, image in self.deep.items()):
            return False
        if all(map(operator.is_, inside, self.items)):  # a list of a million numbers is compared in C
            return True
        pairs = enumerate(zip(inside, self.items, strict=True))
        return all(a is b or k in self.deep or (is_constant(b) and EqualValue(b).fits(a)) for k, (a, b) in pairs)

    def code(self, now: str, hold: Callable[[Any], str]) -> str:
        """What is empty, or holds few items that are the very same, is seen without a call of ours."""
        known = f"(now := {now}).__class__ is {hold(self.kind)}"
        if self.deep or len(self.items) > FEW or self.kind not in (list, tuple, dict):
            return super().code(now, hold)
        if not self.items:
            return f"({known} and not now)"
        values, keys = ("now.values()", f" and [*now] == {hold(self.keys)}") if self.kind is dict else ("now", "")
        same = f"[*map(id, {values})] == {hold([*map(id, self.items)])}"  # which are held here, so that their ids stay theirs
        return f"({known} and {same}{keys} or {hold(self.fits)}(now))"


@dataclass(frozen=True, eq=False)
class Length(Found):
    """A container of this kind and length, whatever is in it."""

    kind: Any
    length: int

    def fits(self, now: Any) -> bool:
        return type(now) is self.kind and len(now) == self.length

    def code(self, now: str, hold: Callable[[Any], str]) -> str:
        return f"(now := {now}).__class__ is {hold(self.kind)} and len(now) == {self.length}"


@dataclass(frozen=True, eq=False)
class Contents(Found):
    """A set or an array with this in it."""

    kind: type
    value: Any

    @staticmethod
    def of(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return x.shape, x.dtype, x.tolist() if x.dtype.hasobject else x.tobytes()
        return x.tobytes() if isinstance(x, (np.generic, memoryview, array)) else type(x)(x)

    def fits(self, now: Any) -> bool:
        return type(now) is self.kind and bool(self.of(now) == self.value)

    def array(self) -> np.ndarray | None:
        if not issubclass(self.kind, np.ndarray) or self.value[1].hasobject:
            return np.frombuffer(self.value, np.dtype(self.kind))[0] if issubclass(self.kind, np.number) else None
        return np.frombuffer(self.value[2], self.value[1]).reshape(self.value[0])


@dataclass(frozen=True, eq=False)
class LibraryState(Found):
    """This object of NumPy or SciPy, or array of objects, with this in it: a sparse matrix, a spline, a distribution."""

    value: Any
    parts: dict[str, Found]

    def fits(self, now: Any) -> bool:
        return now is self.value and self.changed() is None

    def changed(self) -> str | None:
        """The name of the first part that is not as it was; None if all are."""
        now = held_by_library(self.value)
        if now is None:
            return "contents"
        gone = next((k for k, part in self.parts.items() if k not in now or not part.fits(now[k])), None)
        return gone or next((k for k in now if k not in self.parts and not k.startswith("_")), None)


@dataclass(frozen=True, eq=False)
class Held(Found):
    """A Tensor that holds this value; `contents` is what to compare memory by that others can write to."""

    value: Value
    inside: Any
    contents: Contents | None = None
    trace: Any = EAGER  # with `requires_grad` it becomes another one

    def fits(self, now: Any) -> bool:
        same = now is self.value and now._value is self.inside and now._trace is self.trace
        return same and (self.contents is None or self.contents.fits(self.inside))

    def array(self) -> np.ndarray | None:
        return _array(self.inside) if self.contents is None else self.contents.array()

    def code(self, now: str, hold: Callable[[Any], str]) -> str:
        if self.contents is not None:
            return super().code(now, hold)
        known = f"(now := {now}) is {hold(self.value)} and now._value is {hold(self.inside)}"
        return f"{known} and now._trace is {hold(self.trace)}"


@dataclass(frozen=True, eq=False)
class Kind(Found):
    """A number or array of this kind: its value is an input of the graph."""

    value: Any

    @staticmethod
    def of(x: Any) -> Any:
        return (type(x), x.shape, x.dtype) if isinstance(x, (np.ndarray, Value)) else type(x)

    def fits(self, now: Any) -> bool:
        return bool(self.of(now) == self.value)


def is_constant(x: Any) -> bool:
    """Whether an object is a number, a text or the like: an equal one will do."""
    return type(x) in _CONSTANT


def image(x: Any, deep: bool = True, around: tuple[int, ...] = ()) -> Found:
    """What to compare with later: with `deep`, a container by its contents."""
    kind = type(x)
    if is_constant(x):
        return EqualValue(x)
    if isinstance(x, Value):  # what Parameters, and Tensors that record themselves, hold is an input of the graph
        fixed = x._trace is EAGER or x._trace is HALF
        if not fixed or isinstance(x, Parameter):
            return Same(x)
        shared = isinstance(x._value, np.ndarray) and not is_frozen(x._value)
        return Held(x, x._value, Contents(type(x._value), Contents.of(x._value)) if shared else None, x._trace)
    if kind is MethodType:
        owner = image(x.__self__, False, around)
        return Method(x.__func__, owner if isinstance(owner, LibraryState) else None)
    if isinstance(x, np.generic):
        return Contents(kind, Contents.of(x))
    if id(x) in around:
        return Same(x)
    if (state := held_by_library(x)) is not None:
        return LibraryState(x, {k: image(y, True, (*around, id(x))) for k, y in state.items()})
    if not (deep or isinstance(x, (tuple, frozenset))):
        return Same(x)
    around = (*around, id(x))
    if isinstance(x, CONTAINERS):
        items = members(x)
        found = {k: image(y, True, around) for k, y in enumerate(items) if not is_constant(y)}
        more = {k: i for k, i in found.items() if type(i) is not Same}
        return Items(kind, keys_of(x), items, more, shown(x))
    if isinstance(x, (set, frozenset, bytearray, memoryview, array, np.ndarray)):
        return Contents(kind, Contents.of(x))
    return Same(x)


def shown(x: Any) -> str:
    """A value in a message."""
    if x is MISSING:
        return "nothing"
    if isinstance(x, CONTAINERS) and type(x).__iter__ not in (list.__iter__, tuple.__iter__, dict.__iter__):
        return f"a {type(x).__name__}"
    return short(x)


# ---------------------------------------------------------------- both together


@dataclass(frozen=True, eq=False)
class Guard:
    """A place and what was found there."""

    place: Place
    image: Found

    def holds(self) -> bool:
        return self.image.fits(self.place.get())

    def code(self, hold: Callable[[Any], str]) -> str:
        """The same as an expression of Python."""
        if type(self.image) is Same and self.image.value is MISSING:
            return f"{hold(self.place.get)}() is MISSING"
        return self.image.code(self.place.code(hold), hold)

    def reason(self) -> str:
        """What has changed, in words."""
        now = self.place.get()
        if isinstance(self.image, Items):
            return f"{self.place.label} changed from {self.image.value} to {shown(now)}"
        if isinstance(self.image, Length) and type(now) is self.image.kind:
            return f"the length of {self.place.label} changed from {self.image.length} to {len(now)}"
        if isinstance(self.image, LibraryState) and now is self.image.value:
            return f"{self.place.label} changed: its {(self.image.changed() or 'contents').strip('_')} is another, or has other contents"
        if isinstance(self.image, (EqualValue, Same, Method, LibraryState)):
            before, after = shown(self.image.value), shown(now)
            said = f" from {before} to {after}" if before != after else f": it is another {after.removeprefix('a ')}"
            return f"{self.place.label} changed{said}"
        if isinstance(self.image, Kind):
            return f"{self.place.label} changed from {_kind(self.image.value)} to {_kind(Kind.of(now))}"
        old, new = self.image.array(), _array(now)
        if old is not None and new is not None:
            return f"{self.place.label} changed: {difference(old, new)}".replace(": from", " from")
        return f"{self.place.label} changed: it is {shown(now)}, or has other contents"


def _array(x: Any) -> np.ndarray | None:
    """The array that a value is or holds; None if there is none."""
    x = x._value if isinstance(x, Value) else x
    return np.asarray(x) if isinstance(x, (np.ndarray, np.generic)) and not x.dtype.hasobject else None


def _kind(kind: Any) -> str:
    """What `Kind` knows of a number or array, in words."""
    return f"{kind[0].__name__} {Spec(*kind[1:])}" if isinstance(kind, tuple) else f"a {kind.__name__}"


def first_change(guards: Iterable[Guard]) -> Guard | None:
    """The first guard that does not hold any more."""
    return next((g for g in guards if not g.holds()), None)


def compiled(guards: Iterable[Guard]) -> Callable[[], bool]:
    """One function that tells whether all of them hold.

    >>> from adjoint.frontend.places import Global
    >>> space = {"k": 2.0}
    >>> check = compiled([Guard(Global(space, "k", "`k`"), image(2.0))])
    >>> first = check()
    >>> space["k"] = 3.0
    >>> first, check()
    (True, False)
    """
    held: dict[str, Any] = {"MISSING": MISSING}
    names: dict[int, str] = {}
    number = count()

    def hold(x: Any) -> str:
        name = names.get(id(x))
        if name is None:
            name = names[id(x)] = f"_{next(number)}"
            held[name] = x
        return name

    terms = [g.code(hold) for g in guards] or ["True"]
    lines = ["def check():", "  now = None", "  try:"]
    for at in range(0, len(terms), 50):  # an expression of a thousand terms is too deep for Python's compiler
        lines.append(f"    if not ({' and '.join(terms[at : at + 50])}): return False")
    lines += ["    return True", "  except (AttributeError, LookupError, TypeError, ValueError): return False"]
    exec("\n".join(lines), held)
    return held["check"]
