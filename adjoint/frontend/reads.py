"""Take note of what a traced function reads from outside: variables around it, attributes, items of containers.

Converted code reports its reads here; what code that stays Python may read is found by the names in it. A graph is used again
only while every place it was built on holds what it held.
"""

from __future__ import annotations

import sys
import weakref
from contextvars import ContextVar
from functools import cached_property
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.dispatch import EAGER, HALF, Value, lift
from adjoint.core.errors import PACKAGE, called_at
from adjoint.core.parameter import Parameter
from adjoint.core.spec import spec_of
from adjoint.frontend import unseen
from adjoint.frontend.code_names import globals_read, names_and_texts
from adjoint.frontend.files import is_users
from adjoint.frontend.guards import (
    CONTAINERS,
    LENGTH,
    MUTABLE,
    SIZED,
    Guard,
    Held,
    Kind,
    Length,
    LibraryState,
    Method,
    Same,
    image,
    members,
)
from adjoint.frontend.places import MISSING, AttributeOf, Free, Global, ItemOf, Place
from adjoint.frontend.unseen import attributes_of, plainly
from adjoint.graph.trace import NeedsNumberError, Tracer, identity, is_graph_value

LARGE = 32_768  # bytes of an array that is an input of the graph rather than compared in each call
WRAPPER = type([].__len__)
PLAIN = (
    bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, range, slice, bytearray, np.ndarray,
    np.generic, np.dtype, type(None), Value, super, BuiltinFunctionType, WRAPPER, CellType, CodeType,
)  # fmt: skip


class Reads:
    """What has been read in one trace."""

    def __init__(self, tracer: Tracer, inputs: frozenset[str] = frozenset(), lifting: bool = True) -> None:
        self.tracer = tracer
        self.inputs = inputs  # labels of numbers that change so often that they are inputs of the graph
        self.lifting = lifting  # whether large arrays are inputs too
        self.guards: dict[Any, Guard] = {}
        self.sources: dict[Any, tuple[Place, Any]] = {}  # places whose values are inputs, and the graph values for them
        self.lifted: dict[int, Any] = {}  # by graph value, the array it stands for
        self.tensors: dict[Any, Place] = {}  # where the Tensors that record themselves were found
        self.weakly: Any = None  # the object whose method is compiled, which no guard is to keep alive
        self.weak: set[int] = set()  # ids of objects that were reached by weak references
        self.since = 0  # the moment when it began: see `tracked`
        self.results: dict[Any, Any] = {}  # what ops on a device have made since
        self.unread: list[str] = []  # why functions stay as they are
        self.unrolled: dict[str, str] = {}  # long loops that Python runs, by place, in words
        self.printed: list[Any] = []  # files that the graph prints into
        self._inside: set[int] = set()  # ids of objects made in the trace: nothing from outside can have one of these
        self._containers: dict[int, Any] = {}  # lists and dicts from outside
        self._looked_into: set[int] = set()
        self._cells: dict[int, CellType] = {}
        self._written: set[Any] = set()
        self._swept: set[Any] = set()

    # ------------------------------------------------------------ places

    def see(self, place: Place, value: Any, deep: bool | str = True, lift_it: bool = True) -> Any:
        """A value found at a place: itself, or what stands for it in the graph. With `deep`, what a container holds is read
        too, with LENGTH only how much."""
        length_alone = deep == LENGTH and type(value) in SIZED
        key = (place.key, LENGTH if length_alone else bool(deep) and isinstance(value, MUTABLE))
        self._contains(value)
        known = self.sources.get(place.key)
        if known is not None:
            return known[1]
        if key in self.guards or place.key in self._written or is_graph_value(value):
            return value
        if isinstance(value, Value):
            if isinstance(value, Parameter):
                self.guards[key] = Guard(place, Same(value))
                return value
            if value._trace is not EAGER and value._trace is not HALF:
                self.tensors[identity(value)] = place
                self.guards[key] = Guard(place, Same(value))
                return value
        if lift_it and self.lifting and self._becomes_input(place, value):
            return self._input(place, value)
        found = Length(type(value), len(value)) if length_alone else image(value, bool(deep))
        self._tensors_in(value)
        if isinstance(found, (Held, Method)) or found.fits(place.get()):  # what each access makes anew says nothing
            self.guards[key] = Guard(place, found)
            self.instance(value)
            if type(found) is LibraryState:
                unseen.parts_of_library(self, value)
        return value

    def _contains(self, value: Any) -> None:
        """Take note of a container from outside, and of what is in it."""
        if isinstance(value, MUTABLE) and id(value) not in self._containers:
            self._containers[id(value)] = value
            if isinstance(value, CONTAINERS):
                for x in members(value):
                    self._contains(x)
                    self.instance(x)

    def is_known(self, container: Any) -> bool:
        """Whether what a container holds has been handed to other code before."""
        if ("handed", id(container)) in self._swept:
            return True
        self._swept.add(("handed", id(container)))
        return False

    def holds(self, container: Any) -> bool:
        """Whether a container is from outside."""
        return id(container) in self._containers

    def _tensors_in(self, value: Any) -> None:
        """Take note of where a container holds Tensors that record themselves."""
        if type(value) in (list, tuple, dict) and id(value) not in self._looked_into:
            self._looked_into.add(id(value))
            for index, x in value.items() if isinstance(value, dict) else enumerate(value):
                if isinstance(x, Value) and not isinstance(x, Parameter) and x._trace not in (EAGER, HALF):
                    self.tensors[identity(x)] = ItemOf(value, index, "an item")
                self._tensors_in(x)

    def _becomes_input(self, place: Place, value: Any) -> bool:
        if isinstance(value, np.ndarray):
            large = value.nbytes > LARGE and type(value) is np.ndarray and value.dtype.kind in "fciub"
            return large or (place.label in self.inputs and value.dtype.kind in "fc")
        return place.label in self.inputs and isinstance(value, (float, np.floating, Value))

    def _input(self, place: Place, value: Any) -> Any:
        inside = self.tracer.param(spec_of(lift(value)))
        self.tracer.captured.append(PlaceInput(place))
        self.sources[place.key] = place, inside
        self.lifted[id(inside)] = value
        self.guards[place.key, True] = Guard(place, Kind(Kind.of(value)))
        return inside

    def attribute(self, owner: Any, name: str, text: str | None = None) -> AttributeOf:
        label = f"`{text}`" if text else f"attribute `{name}` of {_named(owner)}"
        weak = type(owner).__weakrefoffset__ != 0
        return AttributeOf(weakref.ref(owner) if weak else owner, name, label, weak)

    def settled(self) -> dict[Any, Guard]:
        """The guards, less those of objects that the trace has made and dropped."""
        return {key: g for key, guard in self.guards.items() if (g := self._settled(guard)) is not None}

    def _settled(self, guard: Guard) -> Guard | None:
        place = guard.place
        if type(place) is not AttributeOf or not place.weak:
            return guard
        owner = place.owner()
        if owner is None or owner is self.weakly or id(owner) in self.weak:
            return None if owner is None else guard
        return Guard(AttributeOf(owner, place.name, place.label), guard.image)

    # ------------------------------------------------------------ objects

    def first_time(self, what: Any) -> bool:
        """Whether something has not been looked at before in this trace."""
        if what in self._swept:
            return False
        self._swept.add(what)
        return True

    def is_outside(self, x: Any) -> bool:
        """Whether an object has been there before the trace, as far as one can tell."""
        return not is_plain(x) and id(x) not in self._inside

    def made(self, x: Any) -> None:
        """Take note of an object that the traced function has made."""
        if not is_plain(x):
            self._inside.add(id(x))
            unseen.methods_of(self, type(x))

    def written(self, holder: Any, attribute: str | None) -> None:
        """Take note of an attribute that the traced function has set: what it reads there later is its own."""
        if id(holder) in self.lifted and isinstance(holder, Value):
            raise NeedsNumberError(f"an array from outside is changed in place: pass it as an argument{called_at()}")
        if attribute is not None and not is_plain(holder):
            place = self.attribute(holder, attribute)
            if (place.key, False) not in self.guards and (place.key, True) not in self.guards:
                self._written.add(place.key)

    def visit(self, fn: FunctionType) -> None:
        """A function of the user's is called: its code and defaults are part of the program."""
        made_here = "_ad_runtime" in fn.__code__.co_freevars  # converted along with the function around it
        if made_here or id(fn) in self._swept or fn.__code__.co_filename.startswith(PACKAGE):
            return
        self._swept.add(id(fn))
        for cell in fn.__closure__ or ():
            self._cells[id(cell)] = cell
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self.see(self.attribute(fn, name), getattr(fn, name), name == "__kwdefaults__", False)

    def knows(self, cell: CellType) -> bool:
        """Whether a variable belongs to a function outside the trace."""
        return id(cell) in self._cells

    def instance(self, x: Any) -> None:
        """An object of the user's has come in: methods that Python calls by itself may read it."""
        if not self.is_outside(x) or isinstance(x, (type, ModuleType, FunctionType, MethodType)):
            return
        if id(x) in self._swept:
            return
        self._swept.add(id(x))
        unseen.implicit_methods(self, x, network_version(x))

    def through_property(self, x: Any, name: str, found: property | cached_property[Any]) -> None:
        """A property is read, and with it whatever its function reads."""
        self.see(self.attribute(type(x), name), found)
        function = found.func if isinstance(found, cached_property) else found.fget
        if type(function) is FunctionType:
            self.sweep(function, (x,))

    # ------------------------------------------------------------ code that stays Python

    def leave_unread(self, fn: FunctionType, why: Exception) -> None:
        """Note that a function stays as it is, for want of source. What it shows or asks for while it is traced could not be undone."""
        self.unread.append(str(why))
        if shown := (SHOWING | unseen.EVALUATING) & globals_read(fn.__code__):
            raise NeedsNumberError(f"`{fn.__qualname__}` calls {', '.join(sorted(shown))}{called_at()}")
        self.sweep(fn)

    def sweep(self, fn: FunctionType, owners: tuple[Any, ...] = ()) -> None:
        """All that a function which is not converted may read, by the names in it."""
        key = (id(fn.__code__), *map(id, owners))
        if key in self._swept:
            return
        self._swept.add(key)
        self.visit(fn)
        names = set(names_and_texts(fn.__code__))
        unseen.in_code(self, fn, names)
        for name in globals_read(fn.__code__) - fn.__globals__.keys():
            self.see(Global(fn.__globals__, name, f"`{name}`"), MISSING)
        for name in names & fn.__globals__.keys():
            value = fn.__globals__[name]
            if not (isinstance(value, ModuleType) and not users_module(value)):
                self.see(Global(fn.__globals__, name, f"`{name}`"), value, lift_it=False)
                self._follow(value, names)
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
            place = Free(cell, f"`{name}`")
            if (value := place.get()) is not MISSING:
                self.see(place, value, lift_it=False)
                self._follow(value, names)
        for owner in owners:
            self._follow(owner if self.is_outside(owner) else type(owner), names)

    def follow(self, x: Any, names: set[str] | None = None) -> None:
        """What a function may read that others call, or what code with these names may read of an object."""
        self._follow(x, names or set())

    def _follow(self, x: Any, names: set[str]) -> None:
        """What code with these names may read of an object."""
        if type(x) is FunctionType:
            if is_users(x.__code__.co_filename):
                self.sweep(x)
        elif type(x) is MethodType:
            if type(x.__func__) is FunctionType and is_users(x.__func__.__code__.co_filename):
                self.sweep(x.__func__, (x.__self__,))
        elif isinstance(x, CONTAINERS):
            for y in members(x):
                self._follow(y, names)
        elif unseen.through(self, x, names):
            return
        elif self.is_outside(x) and not (isinstance(x, ModuleType) and not users_module(x)):
            self._attributes(x, names)

    def _attributes(self, x: Any, names: set[str]) -> None:
        key = (id(x), frozenset(names))
        if key in self._swept:
            return
        self._swept.add(key)
        if isinstance(x, type):
            unseen.methods_of(self, x, False)
        else:
            unseen.called_unread(self, x, names)
        note_network(x)
        dynamic = names & {"getattr", "vars", "__dict__", "asdict", "astuple", "attrgetter", "hasattr"}
        for name in (names | unseen.names_of_users(x)) if dynamic else names:
            static = static_attribute(x, name)
            if static is MISSING:
                self._absent(x, name)
                continue
            if isinstance(static, (property, cached_property)):
                self.through_property(x, name, static)
            elif type(static) is FunctionType and not isinstance(x, ModuleType) and name not in attributes_of(x):
                if is_users(static.__code__.co_filename):
                    self.see(self.attribute(x, name), getattr(x, name))
                    self.sweep(static, (x,))
            elif not isinstance(static, (staticmethod, classmethod)) or users_class(x):
                unseen.descriptor(self, x, name, static)
                value = plainly(x, name)
                self.see(self.attribute(x, name), value, lift_it=False)
                self._follow(value, names)

    def _absent(self, x: Any, name: str) -> None:
        """An object has no such attribute, as far as can be told without calling anything of the user's."""
        own = any("__dict__" in vars(cls) for cls in type(x).__mro__)
        if own and not isinstance(x, (type, ModuleType)) and not hasattr(type(x), "__getattr__"):
            self.see(self.attribute(x, name), MISSING)


class PlaceInput:
    """A captured value that is read anew for each run."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def value(self) -> Any:
        """What is there now."""
        return lift(self.place.get())


#: Builtins whose effect leaves the program.
SHOWING = frozenset({"print", "input", "open", "breakpoint"})

#: What is being recorded; None outside of a trace.
recorder: ContextVar[Reads | None] = ContextVar("reads", default=None)

# ---------------------------------------------------------------- what things are


def is_plain(x: Any) -> bool:
    """Whether an object has no attributes that a user may set."""
    return isinstance(x, PLAIN) and (type(x) in PLAIN or isinstance(x, super) or plainly(x, "__dict__") is MISSING)


def network_version(x: Any) -> bool:
    """Whether an object counts the changes of its attributes, as Cells do."""
    return hasattr(type(x), "construct") and "_version" in attributes_of(x)


def note_network(x: Any) -> bool:
    """Take note of a Cell's version, if it is one."""
    if is_plain(x) or not network_version(x):
        return False
    used = context.cells.get()
    if used is not None:
        used.setdefault(x, x.__dict__["_version"])
    return True


def users_module(module: ModuleType) -> bool:
    """Whether a module is the user's."""
    file = getattr(module, "__file__", None)
    if file is None:
        return module.__name__ not in sys.stdlib_module_names and module.__name__ not in sys.builtin_module_names
    return is_users(file) and not file.startswith(PACKAGE)


def users_class(x: Any) -> bool:
    """Whether an object's class is the user's."""
    module = sys.modules.get(str(type(x).__module__))
    return module is None or users_module(module)


def is_ours(method: MethodType | FunctionType) -> bool:
    """Whether a function belongs to adjoint."""
    code = getattr(getattr(method, "__func__", method), "__code__", None)
    return code is not None and code.co_filename.startswith(PACKAGE)


def static_attribute(x: Any, name: str) -> Any:
    """An attribute as it stands in the object or its class, without calling anything."""
    for cls in x.__mro__ if isinstance(x, type) else type(x).__mro__:
        if name in vars(cls):
            found = vars(cls)[name]
            return found if isinstance(found, property) else attributes_of(x).get(name, found)
    return attributes_of(x).get(name, MISSING)


def _named(x: Any) -> str:
    if isinstance(x, (type, FunctionType)):
        return x.__qualname__
    return type(x).__name__
