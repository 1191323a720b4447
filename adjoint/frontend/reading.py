"""What converted code calls where it reads a variable from outside, an attribute or an item: see `reads.py`."""

from __future__ import annotations

import builtins
import functools
import importlib.util
import os
import sys
from abc import ABCMeta, get_cache_token
from collections.abc import Iterator
from contextvars import ContextVar
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from adjoint.core import context
from adjoint.core.dispatch import Value
from adjoint.core.errors import PACKAGE, called_at
from adjoint.core.parameter import Parameter
from adjoint.core.tree import leaves
from adjoint.frontend import aliases, unseen
from adjoint.frontend.arrays_of_tensors import OF_ARRAYS, one_array
from adjoint.frontend.errors import ControlFlowError, UnsupportedSyntaxError
from adjoint.frontend.files import is_read, is_users
from adjoint.frontend.guards import MUTABLE, Guard, Same
from adjoint.frontend.libraries import is_of_arrays, is_of_package, is_users_class
from adjoint.frontend.places import MISSING, Free, Global, ItemOf, Itself
from adjoint.frontend.reads import (
    WRAPPER,
    Reads,
    is_ours,
    is_plain,
    network_version,
    note_network,
    recorder,
    static_attribute,
    users_class,
    users_module,
)
from adjoint.graph.trace import NeedsNumberError, is_graph_value

#: Attributes of Cells that change only with their version.
OF_NETWORKS = {"__dict__", "_cells", "_params", "_around", "_hooks", "_by_mode", "_jitted"}

_HERE = os.path.join(PACKAGE, "frontend", "")


def variable(thunk: FunctionType, name: str, deep: bool | str = True) -> Any:
    """A global variable, or a builtin."""
    reads = recorder.get()
    if reads is None:
        return thunk()
    namespace = thunk.__globals__
    try:
        value = thunk()
    except NameError:
        for names in (namespace, vars(builtins)):
            reads.see(Global(names, name, f"`{name}`"), MISSING)
        raise
    module = namespace.get("__name__", "")
    if module.startswith("adjoint.nn") or is_read(module):
        return value
    now = namespace.get(name, MISSING)
    if now is MISSING and getattr(builtins, name, MISSING) is value:
        reads.see(Global(namespace, name, f"`{name}`"), MISSING)
        return reads.see(Global(vars(builtins), name, f"`{name}`"), value, deep)
    if now is not value or (type(value) is ModuleType and not users_module(value)):
        return value
    note_network(value)
    return _from_outside(reads.see(Global(namespace, name, f"`{name}`"), value, deep), f"`{name}`")


def free(thunk: FunctionType, deep: bool | str = True) -> Any:
    """A variable of a function around."""
    reads = recorder.get()
    cell = (thunk.__closure__ or (None,))[0]
    try:
        value = thunk()
    except NameError:
        if reads is not None and cell is not None and reads.knows(cell):
            reads.see(Free(cell, f"`{thunk.__code__.co_freevars[0]}`"), MISSING)
        raise
    if reads is None or cell is None or not reads.knows(cell):
        return value
    note_network(value)
    name = f"`{thunk.__code__.co_freevars[0]}`"
    return _from_outside(reads.see(Free(cell, name), value, deep), name)


def _from_outside(value: Any, name: str) -> Any:
    """A value read from outside; an iterator is refused: its items would be taken once, when the graph is built."""
    if isinstance(value, Iterator) and type(value).__module__ in ("builtins", "itertools"):
        raise ControlFlowError(
            f"{name} is an iterator from outside ({type(value).__name__}): its items would be taken once, when the graph is "
            f"built, and be the same in each call. Take the item outside and pass it as an argument{called_at()}"
        )
    return value


def attr(owner: Any, name: str, text: str = "", deep: bool | str = True) -> Any:
    """`owner.name`."""
    if name in OF_ARRAYS:
        owner = one_array(owner)
    reads = recorder.get()
    if reads is None:
        return getattr(owner, name)
    try:
        value = _found(owner, name)
    except AttributeError:
        if reads.is_outside(owner):
            reads.see(reads.attribute(owner, name, text), MISSING)
        raise
    if isinstance(owner, super):
        _of_bases(reads, owner, name)
    if type(owner) is CellType and name == "cell_contents":
        return reads.see(Free(owner, f"`{text}`"), value, deep)
    if is_plain(owner):
        return value
    if not reads.is_outside(owner):
        cached = isinstance(getattr(type(owner), name, None), functools.cached_property)
        own = name in unseen.attributes_of(owner) and not cached
        own = own or (network_version(owner) and is_of_package(type(owner)))
        return value if own else _of_class(reads, owner, name, value, deep)
    if type(owner) is ContextVar and not _caller().startswith(PACKAGE):
        reads.see(Itself(owner, f"`{text}`"), owner.get(MISSING), lift_it=False)
    return _from_outside(_attribute(reads, owner, name, value, text, deep), f"`{text or name}`")


def _caller() -> str:
    """The file of the code that reads, behind the functions here that do it."""
    frame: Any = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return str(frame.f_code.co_filename)


def _found(owner: Any, name: str) -> Any:
    """`owner.name`; the function of a property is read as any other that is called."""
    kind: Any = type(owner)
    bound = owner
    if isinstance(owner, super):
        getter = next((vars(cls)[name] for cls in _bases(owner) if name in vars(cls)), None)
        bound = owner.__self__  # type: ignore[attr-defined]
    else:
        getter = getattr(kind, name, None)
    fget = getter.fget if type(getter) is property else None
    usual = kind is super or kind.__getattribute__ is object.__getattribute__
    if type(fget) is not FunctionType or not usual or hasattr(type(bound), "__getattr__"):
        return getattr(owner, name)
    if not is_users(fget.__code__.co_filename):
        return getattr(owner, name)
    try:
        read = context.readable(fget)
    except UnsupportedSyntaxError:
        return getattr(owner, name)  # it stays Python's
    return read(bound)


def _bases(owner: super) -> tuple[type, ...]:
    """The classes in which `super()` looks."""
    this, kind = owner.__thisclass__, owner.__self_class__  # type: ignore[attr-defined]
    around = () if kind is None else kind.__mro__
    return around[around.index(this) + 1 :] if this in around else ()


def _of_bases(reads: Reads, owner: super, name: str) -> None:
    """An attribute that `super()` finds: those of the classes up to the one that has it."""
    for cls in _bases(owner):
        if cls.__module__ != "builtins" and not is_of_package(cls):
            reads.see(reads.attribute(cls, name), getattr(cls, name, MISSING), lift_it=False)
        if name in vars(cls):
            return


def _of_class(reads: Reads, owner: Any, name: str, value: Any, deep: bool | str) -> Any:
    """An attribute that an object made in the trace has from its class, which is from outside."""
    cls = type(owner)
    static = static_attribute(cls, name)
    if static is MISSING or isinstance(static, (MemberDescriptorType, GetSetDescriptorType)) or not users_class(owner):
        return value
    if isinstance(static, (property, functools.cached_property)):
        reads.through_property(owner, name, static)
        return value
    unseen.descriptor(reads, owner, name, static)
    of_class = unseen.plainly(cls, name)
    found = reads.see(reads.attribute(cls, name), of_class, deep, value is of_class)
    return found if value is of_class else value  # a method, or what another descriptor made for the object


def _is_covered(reads: Reads, owner: Any, name: str, value: Any) -> bool:
    """Whether an attribute of a Cell changes only with the Cell's version, or with what its classes define.

    What the user's own classes give it (constants, properties, methods) may change at any time.
    """
    kind, own = type(owner), type(value) is MethodType and value.__self__ is owner
    if name == "__dict__" and not _caller().startswith(PACKAGE):
        for key, held in value.items():
            if not key.startswith("_"):
                reads.see(ItemOf(value, key, f"attribute `{key}` of {kind.__name__}"), held)
    if name in OF_NETWORKS or (own and is_ours(value)):
        return True
    getters = [
        vars(cls)[name] for cls in kind.__mro__ for name in ("__getattr__", "__getattribute__") if name in vars(cls)
    ]
    usual = all(type(getter) is not FunctionType or is_ours(getter) for getter in getters)
    if usual and any(name in unseen.attributes_of(owner).get(held, ()) for held in ("_params", "_cells")):
        return True
    if all(is_of_package(cls) or not is_users_class(cls) for cls in kind.__mro__):
        return not (own or isinstance(value, (*MUTABLE, Value))) or isinstance(value, Parameter)
    return False


def _attribute(reads: Reads, owner: Any, name: str, value: Any, text: str, deep: bool | str) -> Any:
    if isinstance(owner, ModuleType):
        if name == "__dict__" and not is_of_arrays(owner):
            reads.see(Itself(value, f"`{text or 'vars'}`"), value, True, False)
            return value
        if name not in vars(owner) and type(getter := unseen.module_getter(owner)) is FunctionType:
            reads.sweep(getter)
            return reads.see(reads.attribute(owner, name, text), value, deep)
        fixed = callable(value) and is_of_arrays(owner) and _caller().startswith(PACKAGE)
        known = not users_module(owner) and (isinstance(value, ModuleType) or fixed)
        return value if known else reads.see(Global(vars(owner), name, f"`{text}`"), value, deep)
    reads.instance(owner)
    if type(value) in (BuiltinFunctionType, WRAPPER):
        return value
    if note_network(owner):
        note_network(value)
        reads.instance(value)
        if _is_covered(reads, owner, name, value):
            return value
    static = static_attribute(owner, name)
    if isinstance(static, property):
        reads.through_property(owner, name, static)
        return value
    if isinstance(static := getattr(type(owner), name, None), functools.cached_property):
        reads.through_property(owner, name, static)
    else:
        unseen.descriptor(reads, owner, name, static_attribute(owner, name))
    note_network(value)
    return reads.see(reads.attribute(owner, name, text), value, deep)


def _is_key(index: Any) -> bool:
    """Whether an index can be asked for again in each call: plain values, and tuples of them."""
    return type(index) in (int, str, bool, float, type(None)) or (type(index) is tuple and all(map(_is_key, index)))


def items(container: Any, index: Any, text: str = "") -> Any:
    """`container[index]` where the container comes from outside."""
    reads = recorder.get()
    if reads is None or isinstance(container, Value) or is_graph_value(index):
        return container[index]
    if not reads.holds(container) and (is_plain(container) or not reads.is_outside(container)):
        return container[index]
    try:
        value = container[index]
    except LookupError:
        if _is_key(index):
            reads.see(ItemOf(container, index, f"`{text}`"), MISSING)
        else:
            whole(container, text)
        raise
    if not _is_key(index):
        whole(container, text)
        return value
    note_network(value)
    return _from_outside(reads.see(ItemOf(container, index, f"`{text}`"), value), f"`{text}`")


def whole(container: Any, text: str) -> None:
    """All that a container holds is read, which comes from outside if it has a name there."""
    reads = recorder.get()
    if reads is not None and text and (reads.holds(container) or reads.is_outside(container)):
        reads.see(Itself(container, f"`{text}`"), container, lift_it=False)


def getattr_(owner: Any, name: str, *default: Any) -> Any:
    """`getattr`, which may be told what to give where there is nothing."""
    value = getattr(owner, name, MISSING)
    if value is not MISSING:
        return attr(owner, name)
    reads = recorder.get()
    if reads is not None and reads.is_outside(owner):
        reads.see(reads.attribute(owner, name), MISSING)
    return getattr(owner, name, *default)


def hasattr_(owner: Any, name: str) -> bool:
    """`hasattr`."""
    return getattr_(owner, name, MISSING) is not MISSING


def vars_(owner: Any) -> Any:
    """`vars` of an object."""
    return vars(owner) if unseen.plainly(owner, "__dict__") is MISSING else attr(owner, "__dict__")


def dir_(owner: Any) -> list[str]:
    """`dir` of an object."""
    names, reads = dir(owner), recorder.get()
    if reads is not None and reads.is_outside(owner):
        method = getattr(type(owner), "__dir__", None)
        if type(method) is FunctionType:
            reads.sweep(method, (owner,))
        place = Itself(owner, "what `dir` lists")
        reads.guards[place.key, "dir"] = Guard(place, unseen.Listing(names))
    return names


def callable_(x: Any) -> bool:
    """`callable`: whether the class of an object has a method for that."""
    _class_of(x)
    reads = recorder.get()
    if reads is not None and reads.is_outside(x) and is_users_class(type(x)):
        reads.see(reads.attribute(type(x), "__call__"), unseen.is_callable_by(x) or MISSING, lift_it=False)
    return callable(x)


def _class_of(x: Any) -> None:
    """The class of an object from outside is asked for, which may become another one."""
    reads = recorder.get()
    if reads is None or isinstance(x, (type, ModuleType, FunctionType, MethodType)) or not reads.is_outside(x):
        return
    if is_users_class(type(x)):
        reads.see(reads.attribute(x, "__class__"), type(x), lift_it=False)


def isinstance_(x: Any, kinds: Any) -> bool:
    """`isinstance`, to which an array that is an input of the graph is an array."""
    reads = recorder.get()
    if reads is not None and any(type(kind) is ABCMeta and is_users_class(kind) for kind in leaves(kinds)):
        place = Itself(get_cache_token, "what `register` says of an abstract class")
        reads.see(place, place.get())
    _class_of(x)
    return isinstance(_as_it_was(x), kinds)


def type_(*args: Any, **options: Any) -> Any:
    """`type`, likewise."""
    if len(args) == 1:
        _class_of(args[0])
    return type(_as_it_was(args[0])) if len(args) == 1 else type(*args, **options)


def _as_it_was(x: Any) -> Any:
    reads = recorder.get()
    return x if reads is None or not isinstance(x, Value) else reads.lifted.get(id(x), x)


def updated(x: Any, by: Any) -> Any:
    """`by` of `x += by`, unless x is an array from outside: that would change what is outside."""
    if _as_it_was(x) is not x:
        raise NeedsNumberError(f"an array from outside is changed in place: pass it as an argument{called_at()}")
    if not isinstance(x, Value) and (reason := aliases.refusal(x)) is not None:
        raise ControlFlowError(f"a {type(x).__name__} is changed in place, but {reason}{called_at()}")
    return by


def imported(name: str, level: int, *names: str) -> None:
    """`from name import names` in a function: the module and what it holds are read."""
    reads = recorder.get()
    if reads is None:
        return
    package = sys._getframe(1).f_globals.get("__package__") or ""
    full = importlib.util.resolve_name("." * level + name, package) if level else name
    module = sys.modules.get(full)
    if isinstance(module, ModuleType) and users_module(module):
        reads.see(Global(sys.modules, full, f"module `{full}`"), module)
        for each in names:
            if each in vars(module):
                reads.see(Global(vars(module), each, f"`{full}.{each}`"), vars(module)[each], lift_it=False)


def globals_() -> dict[str, Any]:
    """`globals()`: all of them may be read."""
    namespace = sys._getframe(1).f_globals
    if (reads := recorder.get()) is not None:
        reads.see(Itself(namespace, "`globals()`"), namespace)
    return namespace


def identified(*things: Any) -> None:
    """Objects are told apart by their identity: an equal one will not do."""
    reads = recorder.get()
    if reads is None:
        return
    for x in things:
        if reads.holds(x):
            for (key, _), guard in list(reads.guards.items()):
                if guard.place.get() is x:
                    reads.guards[key, "identity"] = Guard(guard.place, Same(x))
