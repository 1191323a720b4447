"""What Python itself reads and calls where converted code does not see it: the operators of a class, descriptors, the environment.

It is watched by the names in its code. What no name tells is not kept: a graph that holds for one call is right.
"""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.core import tree
from adjoint.core.dispatch import Value
from adjoint.core.errors import PACKAGE
from adjoint.frontend.code_names import globals_read, names_and_texts
from adjoint.frontend.files import is_users
from adjoint.frontend.guards import CONTAINERS, Found, Guard, image, is_constant, members
from adjoint.frontend.hidden import CACHED, is_asked, state_of
from adjoint.frontend.libraries import held_by_library, is_of_package, is_users_class
from adjoint.frontend.places import MISSING, ItemOf, Itself
from adjoint.graph.trace import is_graph_value

if TYPE_CHECKING:
    from adjoint.frontend.reads import Reads

#: Builtins that may read whatever they are told to by a text.
EVALUATING = frozenset({"eval", "exec"})
_ENVIRONMENT = frozenset({"environ", "getenv"})
#: Methods that converted code calls itself, where Python makes an object in the usual way.
_CALLED = {"__init__", "__call__", "__post_init__"}
#: Methods that run when a function is made, or that converted code calls itself.
_NOT_IMPLICIT = {
    "__init__", "__new__", "__call__", "__init_subclass__", "__class_getitem__", "__del__",
    "__post_init__", "__setattr__", "__reduce__", "__getstate__", "__setstate__", "__set_name__",
}  # fmt: skip
_SHOWING = {"__repr__", "__str__", "__format__"}


class Never(Found):
    """What is read cannot be watched: it does not hold for another call."""

    def fits(self, now: Any) -> bool:
        return False

    def code(self, now: str, hold: Any) -> str:
        return "False"


class Listing(Found):
    """What `dir` says of an object."""

    def __init__(self, names: list[str]) -> None:
        self.value = names

    def fits(self, now: Any) -> bool:
        return dir(now) == self.value


class Answer(Found):
    """What a function says of the state of the program, which is asked again."""

    def __init__(self, ask: Callable[[], Any], answer: Found) -> None:
        self.ask, self.answer = ask, answer

    def fits(self, now: Any) -> bool:
        try:
            return self.answer.fits(self.ask())
        except Exception:  # it answers no more: what it raises comes where the function, traced anew, calls it
            return False


class Names(Found):
    """How many names a class has: what is added to it hides what was found elsewhere, or is a method that Python calls by itself."""

    def __init__(self, cls: type) -> None:
        self.value = len(vars(cls))

    def fits(self, now: Any) -> bool:
        return len(now) == self.value

    def code(self, now: str, hold: Any) -> str:
        return f"len({now}) == {self.value}"


def names_of_class(reads: Reads, cls: type) -> None:
    """The names of a class of the user's are part of the program."""
    if is_users_class(cls):
        place = reads.attribute(cls, "__dict__", f"{cls.__qualname__}.__dict__")
        reads.guards.setdefault((place.key, "names"), Guard(place, Names(cls)))


def unwatched(reads: Reads, what: str) -> None:
    """Something is read that cannot be watched."""
    place = Itself(reads, what)
    reads.guards[place.key, what] = Guard(place, Never())


def asked(reads: Reads, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A function or method of Python's library or NumPy's is called: what it says may depend on what nobody sees."""
    owner = getattr(fn, "__self__", None)
    if type(fn) in (BuiltinFunctionType, MethodType) and state_of(owner) is not None and reads.is_outside(owner):
        reads.see(Itself(owner, f"what `{fn.__name__}` asks"), owner, True, False)
    remembered = isinstance(fn, CACHED)  # what it gives is the very same until it forgets
    if (remembered or is_asked(fn)) and not any(is_graph_value(x) for x in (*args, *kwargs.values())):
        place = Itself(fn, f"what `{getattr(fn, '__name__', 'a function')}` says")
        ask = functools.partial(fn, *args, **kwargs)
        key = (place.key, "says", *map(id, args), *kwargs, *map(id, kwargs.values()))
        reads.guards[key] = Guard(place, Answer(ask, image(ask(), not remembered)))


# ---------------------------------------------------------------- methods that Python calls


def implicit_methods(reads: Reads, x: Any, network: bool) -> None:
    """An object of the user's has come in: what the methods may read that Python calls by itself. Those of our own Cells read what
    their versions tell of."""
    for inside in attributes_of(x).get("_cells", {}).values() if network else ():
        reads.instance(inside)
    for cls in type(x).__mro__:
        if network and is_of_package(cls):
            continue
        names_of_class(reads, cls)
        for name, method in list(vars(cls).items()):
            implicit = name.startswith("__") and name.endswith("__") and name not in _NOT_IMPLICIT
            if implicit and type(method) is FunctionType and is_users(method.__code__.co_filename):
                reads.see(reads.attribute(type(x), name), getattr(type(x), name))
                if name not in _SHOWING:  # what they read is looked for where an object is seen to become text
                    reads.sweep(method, (x,))


def methods_of(reads: Reads, cls: type, usual: bool = True) -> None:
    """Objects of a class are made by the traced function: what the methods may read that Python calls by itself.

    Without `usual`, Python calls `__init__` too.
    """
    if not reads.first_time(("methods", weakref.ref(cls), usual)) or not is_users_class(cls):
        return
    for kind in type.mro(type(cls))[:-1]:  # a metaclass of the user's makes the object
        for name in ("__call__", "__instancecheck__"):
            _method(reads, kind, name, (cls,))
    for kind in cls.__mro__:
        names_of_class(reads, kind)
        for name in list(vars(kind)):
            if name.startswith("__") and name.endswith("__") and not (usual and name in _CALLED):
                _method(reads, kind, name, (cls,))


def _method(reads: Reads, kind: type, name: str, owners: tuple[Any, ...]) -> None:
    method = vars(kind).get(name)
    method = method.__func__ if isinstance(method, (staticmethod, classmethod)) else method
    if type(method) is not FunctionType or not _is_pythons(method):
        return
    reads.see(reads.attribute(kind, name), getattr(kind, name), lift_it=False)
    reads.sweep(method, owners)


def _is_pythons(method: FunctionType) -> bool:
    """Whether a method is the user's and was not converted with the function around it, nor written by `dataclass`."""
    code = method.__code__
    return (
        is_users(code.co_filename)
        and not code.co_filename.startswith(PACKAGE)
        and code.co_filename != "<string>"
        and "_ad_runtime" not in code.co_freevars
    )


def filled_in(reads: Reads, x: Any) -> None:
    """A method of adjoint's runs on an object whose class is the user's, and calls what that class defines."""
    if isinstance(x, Value) or not reads.is_outside(x) or not is_users_class(type(x)):
        return
    for cls in type(x).__mro__:
        if is_users_class(cls) and not is_of_package(cls):
            names_of_class(reads, cls)
            for name, method in list(vars(cls).items()):
                if type(method) is FunctionType and is_users(method.__code__.co_filename):
                    reads.see(reads.attribute(cls, name), method)
                    reads.sweep(method, (x,))


def parts_of_library(reads: Reads, x: Any) -> None:
    """What an object of ours or of a library holds is called by its methods: a Bijector of the user's, a function."""
    held = held_by_library(x)
    if held is None:
        reads.follow(x)
        filled_in(reads, x)
    elif reads.first_time(("parts", id(x))):
        for y in held.values():
            for part in members(y) if isinstance(y, CONTAINERS) else (y,):
                if not (is_constant(part) or isinstance(part, (Value, np.ndarray))):
                    parts_of_library(reads, part)


def held_inside(reads: Reads, x: Any) -> None:
    """Methods that Python calls may read what an object holds that the traced function has made."""
    kind = type(x)
    if not is_users_class(kind):
        return
    names = frozenset[str]().union(*(_names(cls) for cls in kind.__mro__))
    for value in _held_by(x).values() if names else ():
        reads.follow(value, set(names))


def _held_by(x: Any) -> dict[str, Any]:
    """The attributes of an object, in its slots too, without a call of the user's."""
    held = dict(attributes_of(x))
    for name in tree.slots(type(x)):
        if name not in ("__dict__", "__weakref__") and (y := plainly(x, name)) is not MISSING:
            held[name] = y
    return held


@functools.cache
def _names_of(code: Any) -> frozenset[str]:
    return names_and_texts(code)


def _names(kind: type) -> frozenset[str]:
    """The names in the methods of a class that Python calls by itself."""
    found = [
        _names_of(m.__code__)
        for name, m in list(vars(kind).items())
        if type(m) is FunctionType and name.startswith("__") and name.endswith("__") and name not in _CALLED
        if _is_pythons(m)
    ]
    return frozenset[str]().union(*found)


def descriptor(reads: Reads, x: Any, name: str, static: Any) -> None:
    """An attribute comes from a descriptor of the user's: what its `__get__` may read."""
    get = getattr(type(static), "__get__", None)
    of_library = isinstance(static, (functools.partialmethod, functools.singledispatchmethod))
    if isinstance(static, FunctionType) or not (of_library or (type(get) is FunctionType and _is_pythons(get))):
        return
    holder = next((cls for cls in (x if isinstance(x, type) else type(x)).__mro__ if name in vars(cls)), None)
    if holder is not None and reads.first_time(("descriptor", id(x), weakref.ref(holder), name)):
        reads.see(ItemOf(vars(holder), name, f"`{holder.__qualname__}.{name}`"), static, False, False)
        if not of_library:
            reads.sweep(get, (static, x))  # type: ignore[arg-type]


def called_unread(reads: Reads, x: Any, names: set[str]) -> None:
    """Code that stays Python may call an object of the user's: what its `__call__`, or the `construct` of Cells, may read."""
    cells = attributes_of(x).get("_cells")
    for cls in type(x).__mro__:
        for name in ("__call__", "construct") if isinstance(cells, dict) else ("__call__",):
            method = vars(cls).get(name)
            if type(method) is FunctionType and _is_pythons(method):
                reads.see(reads.attribute(cls, name), method)
                reads.sweep(method, (x,))
    for inside in cells.values() if isinstance(cells, dict) else ():
        reads.follow(inside, names)


def names_of_users(x: Any) -> set[str]:
    """The names that an object has, or its classes of the user's."""
    classes = [cls for cls in type(x).__mro__ if is_users_class(cls) and not is_of_package(cls)]
    return {*attributes_of(x), *(name for cls in classes for name in vars(cls) if not name.startswith("__"))}


# ---------------------------------------------------------------- what names do not tell


def in_code(reads: Reads, fn: FunctionType, names: set[str]) -> None:
    """What code that stays Python may read besides the variables that it names."""
    read = globals_read(fn.__code__)
    if found := EVALUATING & read:
        unwatched(reads, f"what `{fn.__qualname__}` reads by `{min(found)}`")
    if _ENVIRONMENT & (names | read):
        environment(reads)


def environment(reads: Reads, key: Any = None) -> None:
    """Variables of the environment are read: one of them, or any."""
    if type(key) is str:
        place = ItemOf(os.environ, key, f"`os.environ[{key!r}]`")
        reads.see(place, os.environ.get(key, MISSING), lift_it=False)
    else:
        reads.see(Itself(os.environ, "`os.environ`"), os.environ, lift_it=False)


def through(reads: Reads, x: Any, names: set[str]) -> bool:
    """Whether an object gives another one to who has it, which may be read: what is in a ContextVar or a `functools.partial`."""
    if type(x) is ContextVar:
        value = x.get(MISSING)
        reads.see(Itself(x, f"what `{x.name}` holds"), value, lift_it=False)
        reads.follow(value, names)
    elif isinstance(x, functools.partial):
        for y in (x.func, x.args, x.keywords):
            reads.follow(y, names)
    else:
        return False
    return True


# ---------------------------------------------------------------- looking at objects of the user's


def plainly(x: Any, name: str, default: Any = MISSING) -> Any:
    """An attribute of any object, whatever its `__getattr__` raises."""
    try:
        return getattr(x, name, default)
    except Exception:  # of the user's code, which is only looked at here; where it is used, it raises
        return default


def attributes_of(x: Any) -> dict[str, Any] | MappingProxyType[str, Any]:
    """The `__dict__` of any object; empty for what has none."""
    found = plainly(x, "__dict__", None)
    return found if isinstance(found, (dict, MappingProxyType)) else {}


def is_callable_by(x: Any) -> Any:
    """The method that makes an object callable, if it is one of the user's."""
    method = getattr(type(x), "__call__", None)  # noqa: B004
    return method if isinstance(method, (FunctionType, MethodType)) else None


def module_getter(module: ModuleType) -> Any:
    """The `__getattr__` of a module."""
    return vars(module).get("__getattr__")
