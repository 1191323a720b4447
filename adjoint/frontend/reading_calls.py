"""What converted code tells where it calls something: what a callee, and the code that it is handed to, may read."""

from __future__ import annotations

import functools
import sys
import weakref
from types import FunctionType, MethodType, ModuleType
from typing import Any

from adjoint.frontend import unseen
from adjoint.frontend.files import is_users
from adjoint.frontend.guards import CONTAINERS, LENGTH, Guard, Kind, is_constant, members
from adjoint.frontend.places import Free, Itself
from adjoint.frontend.reads import (
    Reads,
    is_ours,
    is_plain,
    note_network,
    recorder,
    users_class,
)


def printed(x: Any) -> Any:
    """An object becomes text: its methods for that, and what they may read."""
    handed((x,))
    return x


def read_by(fn: Any) -> bool | str:
    """What of a container a function of the name `len` reads: the length alone, if it is Python's own."""
    return LENGTH if fn is len else True


def _shown(reads: Reads, x: Any) -> None:
    """What the methods may read that make a text of an object."""
    for name in ("__format__", "__str__", "__repr__"):
        method = getattr(type(x), name)
        if type(method) is FunctionType and is_users(method.__code__.co_filename):
            reads.see(reads.attribute(type(x), name), method)
            reads.sweep(method, (x,))


def alive(ref: weakref.ref[Any]) -> None:
    """A weak reference is asked for its object, which the graph does not keep alive."""
    reads = recorder.get()
    if reads is not None:
        place = Itself(ref, "what a weak reference refers to")
        reads.guards[place.key, False] = Guard(place, Kind(Kind.of(ref())))
        reads.weak.add(id(ref()))


def bound(fn: functools.partial[Any]) -> None:
    """A `functools.partial` is called: what it was given is part of the program."""
    reads = recorder.get()
    if reads is not None and reads.is_outside(fn):
        for name in ("func", "args", "keywords"):
            reads.see(reads.attribute(fn, name), getattr(fn, name))


def called(kind: type) -> None:
    """An object is called: how that is done is part of the program."""
    reads = recorder.get()
    method = kind.__call__
    if reads is not None and type(method) is FunctionType and not is_ours(method):
        reads.see(reads.attribute(kind, "__call__"), method)


def instantiated(cls: type) -> None:
    """An object is made: how that is done is part of the program."""
    reads = recorder.get()
    if reads is not None and is_users(getattr(sys.modules.get(str(cls.__module__)), "__file__", None) or "<none>"):
        for name in ("__init__", "__new__", "__post_init__"):
            method = getattr(cls, name, None)
            if type(method) is FunctionType and not is_ours(method):
                reads.see(reads.attribute(cls, name), method)


def handed(things: tuple[Any, ...]) -> None:
    """Objects are handed to code that knows nothing of graphs: it may read their attributes and call their functions."""
    reads = recorder.get()
    if reads is None:
        return
    for x in things:
        if isinstance(x, CONTAINERS) and reads.holds(x) and not reads.is_known(x):
            handed(tuple(y for y in members(x) if not is_constant(y)))
        if is_plain(x) or isinstance(x, (type, ModuleType)) or note_network(x):
            continue
        if isinstance(x, (FunctionType, MethodType)) or hasattr(x, "__wrapped__"):
            for function in _inside(x):
                reads.follow(function)
        elif not reads.is_outside(x):
            continue
        elif users_class(x):
            if hasattr(x, "__dict__"):
                reads.see(reads.attribute(x, "__dict__"), x.__dict__, True, False)
            _shown(reads, x)
        else:
            for value in list(unseen.attributes_of(x).values()):
                if isinstance(value, (FunctionType, MethodType)):
                    reads.follow(value)
    if things and hasattr(things[0], "registry") and isinstance(things[0], FunctionType):  # `functools.singledispatch`
        registry = things[0].registry  # type: ignore[attr-defined]
        reads.see(Itself(registry, f"`{things[0].__name__}.registry`"), registry)


def _inside(fn: Any) -> list[Any]:
    """A function and those that it wraps."""
    cells = (Free(c, "").get() for c in getattr(fn, "__closure__", None) or ())
    found = [fn, getattr(fn, "__wrapped__", None), *cells]
    return [f for f in found if isinstance(f, (FunctionType, MethodType))]


def made(x: Any) -> Any:
    """A result of code that knows nothing of graphs: new if nobody else has it."""
    reads = recorder.get()
    if reads is not None and sys.getrefcount(x) <= _NEW:
        reads.made(x)
    return x


def _count(x: Any) -> int:
    return sys.getrefcount(x)


_NEW = _count(object())  # references to an object that only its caller and the function called know
