"""The variables that a branch or loop may change: look at them, put them back, give them new values."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from adjoint.core import random, tree
from adjoint.core.dispatch import Value, make, wrap
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.spec import spec_of
from adjoint.frontend.site import Site
from adjoint.graph import trace

NUMBERS = (bool, int, float, complex)
DRAWS = "the draws"
ARRAYS = (Value, np.ndarray, np.generic)


def is_graph_value(x: Any) -> bool:
    """Whether a value is known only when the graph runs; a Parameter may stand for one."""
    return isinstance(x, Value) and trace.is_graph_value(
        resolve(x, for_backward=False) if isinstance(x, Parameter) else x
    )


class _Undefined:
    def __repr__(self) -> str:
        return "undefined"


#: Stands for a variable without a value.
UNDEFINED: Any = _Undefined()


class Again(BaseException):
    """The attempt found out something that it should have known from its beginning. No handler of the user's catches it."""


@dataclass(frozen=True, eq=False)
class Variable:
    """A variable of the user's function."""

    name: str
    cell: CellType

    def get(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return UNDEFINED

    def set(self, value: Any) -> None:
        if value is not UNDEFINED:
            self.cell.cell_contents = value
        elif self.get() is not UNDEFINED:
            del self.cell.cell_contents


@dataclass(frozen=True, eq=False)
class AttributeOf:
    """An attribute of an object that a variable holds."""

    owner: Any
    attribute: str
    name: str

    def get(self) -> Any:
        return getattr(self.owner, self.attribute, UNDEFINED)

    def set(self, value: Any) -> None:
        if value is UNDEFINED:
            if self.get() is not UNDEFINED:
                delattr(self.owner, self.attribute)
        elif self.get() is not value:
            setattr(self.owner, self.attribute, value)


@dataclass(frozen=True, eq=False)
class Contents:
    """What a Tensor, a list or a dict holds, while it stays the same object."""

    name: str
    owner: Any

    def get(self) -> Any:
        return contents(self.owner)

    def set(self, value: Any) -> None:
        refill(self.owner, value)


@dataclass(eq=False)
class Box:
    """A place for a result that has no variable."""

    name: str
    value: Any = UNDEFINED

    def get(self) -> Any:
        return self.value

    def set(self, value: Any) -> None:
        self.value = value


Place = Variable | AttributeOf | Contents | Box


def contents(owner: Any) -> Any:
    """A copy of a mutable object that later changes of the object do not reach."""
    return make(owner._value, owner._trace, owner._extra) if isinstance(owner, Value) else type(owner)(owner)


def refill(owner: Any, value: Any) -> None:
    """Give a mutable object the contents of another."""
    if isinstance(owner, Value):
        new = wrap(value)
        owner._value, owner._trace, owner._extra = new._value, new._trace, new._extra
    elif isinstance(owner, list):
        owner[:] = value
    else:
        owner.clear()
        owner.update(value)


class Frame:
    """The variables that a block of code uses, reached through the closure of a function that names them all."""

    def __init__(self, names: Callable[[], Any] | None) -> None:
        cells = zip(names.__code__.co_freevars, names.__closure__ or (), strict=True) if names else ()
        self.variables: dict[str, Variable | Box] = {name: Variable(name, cell) for name, cell in cells}
        if (made := getattr(random.source.get(), "made", None)) is not None:
            self.variables[DRAWS] = Box(DRAWS, made)  # draws at random count on in a branch or a loop

    def value(self, name: str) -> Any:
        found = self.variables.get(name)
        return UNDEFINED if found is None else found.get()

    def holds_graph_values(self) -> bool:
        """Whether any variable holds one, or a container with one."""
        return any(
            is_graph_value(x) for v in self.variables.values() for x in reachable(v.get()) if isinstance(x, Value)
        )

    def places(self, site: Site) -> list[Place]:
        """What the source says may change: variables, the contents of Tensors, attributes.

        Whether `x[0][1] = v` changes a list or a Tensor in it, which may have other names too, shows when the code has run.
        """
        found: list[Place] = [self.variables[n] for n in site.names if n in self.variables]
        for name in site.mutated:
            if isinstance(owner := self.value(name), Value) and _is_mutable(owner):
                found.append(Contents(name, owner))
        for base, attribute in site.attributes:
            if (owner := self.value(base)) is not UNDEFINED and not isinstance(owner, Value):
                found.append(AttributeOf(owner, attribute, f"{base}.{attribute}"))
        return found


def _is_mutable(x: Any) -> bool:
    return (isinstance(x, Value) and not isinstance(x, Parameter)) or type(x) in (list, dict)


def _is_instance(x: Any) -> bool:
    """Whether an object keeps its attributes in a dict of its own; not functions, classes and modules."""
    return hasattr(x, "__dict__") and not isinstance(x, (type, FunctionType, MethodType, ModuleType, Value))


def reachable(value: Any, depth: int = 3) -> Iterator[Any]:
    """A value and what its containers and, to some depth, its attributes hold."""
    seen: set[int] = set()
    stack = [(value, depth)]
    while stack:
        x, left = stack.pop()
        if id(x) in seen:
            continue
        if isinstance(x, (list, tuple, dict, deque)):
            seen.add(id(x))
            stack += [(y, left) for y in (x.values() if isinstance(x, dict) else x)]
        elif left and _is_instance(x):
            seen.add(id(x))
            stack += [(y, left - 1) for y in vars(x).values()]
        yield x


class Snapshot:
    """Every variable of a frame, and the contents of all they hold, to be put back."""

    def __init__(self, frame: Frame, places: Sequence[Place]) -> None:
        boxes = (p for p in places if isinstance(p, (AttributeOf, Box)))
        self.before = [(v, v.get()) for v in (*frame.variables.values(), *boxes)]
        self.objects: dict[int, tuple[str, Any, Any]] = {}
        for place, value in self.before:
            for x in reachable(value):
                if id(x) not in self.objects and (_is_mutable(x) or _is_instance(x)):
                    self.objects[id(x)] = (place.name, x, contents(x) if _is_mutable(x) else dict(vars(x)))

    def restore(self) -> None:
        """Everything as it was."""
        for place, value in self.before:
            place.set(value)
        for _, owner, saved in self.objects.values():
            if _differs(owner, saved):
                refill(owner if _is_mutable(owner) else vars(owner), saved)

    def changed(self, places: Sequence[Place]) -> list[Place]:
        """What has other contents now and is not among the places."""
        known = {(id(p.owner), getattr(p, "attribute", None)) for p in places if isinstance(p, (Contents, AttributeOf))}
        found: list[Place] = []
        for key, (name, owner, saved) in self.objects.items():
            if not _differs(owner, saved):
                continue
            if _is_mutable(owner):
                found += [] if (key, None) in known else [Contents(name, owner)]
                continue
            now = vars(owner)
            for attribute in {**saved, **now}:
                if (key, attribute) not in known and now.get(attribute, UNDEFINED) is not saved.get(
                    attribute, UNDEFINED
                ):
                    found.append(AttributeOf(owner, attribute, f"{name}.{attribute}"))
        return found

    def frozen(self, value: Any) -> Any:
        """A value that stays what it is now when everything is put back."""
        leaves, rebuild = tree.flatten(value)
        return rebuild([contents(x) if self._is_changed(x) else x for x in leaves])

    def _is_changed(self, x: Any) -> bool:
        return isinstance(x, Value) and id(x) in self.objects and _differs(x, self.objects[id(x)][2])


def _differs(owner: Any, saved: Any) -> bool:
    if isinstance(owner, Value):
        return owner._value is not saved._value or owner._trace is not saved._trace
    if isinstance(owner, list):
        return len(owner) != len(saved) or any(a is not b for a, b in zip(owner, saved))
    now = owner if isinstance(owner, dict) else vars(owner)
    return list(now) != list(saved) or any(a is not b for a, b in zip(now.values(), saved.values()))


# ---------------------------------------------------------------- values as lists of leaves


@dataclass
class Flat:
    """A value taken apart: its leaves, how to rebuild it, and what it looks like without numbers."""

    leaves: list[Any]
    rebuild: Callable[[list[Any]], Any]
    shape: Any

    @staticmethod
    def of(value: Any) -> Flat:
        leaves, rebuild = tree.flatten(value)
        return Flat(leaves, rebuild, tree.shape(value))


def is_dynamic(leaf: Any) -> bool:
    """Whether a leaf can be a value of a graph."""
    return isinstance(leaf, (*NUMBERS, *ARRAYS))


def same(a: Any, b: Any) -> bool:
    """Whether two leaves are one known value, so that it need not pass through the graph."""
    if a is b:
        return True
    if isinstance(a, NUMBERS):
        return type(a) is type(b) and repr(a) == repr(b)
    if isinstance(a, ARRAYS) or isinstance(b, ARRAYS) or type(a) is not type(b):
        return False
    try:
        return bool(a == b)
    except Exception:  # no equality: only the same object is the same
        return False


def stand_in(leaf: Any) -> Any:
    """A value of the same kind for a place whose value is never used."""
    if not isinstance(leaf, Value):
        return leaf
    zeros = np.zeros(tuple(leaf.shape), leaf.dtype)
    return zeros.item() if spec_of(leaf).weak else zeros


def described(value: Any) -> str:
    """A value as messages name it: its dtype and shape, or its type."""
    if value is UNDEFINED:
        return "undefined"
    if value is None:
        return "None"
    if isinstance(value, NUMBERS):
        return f"the number {value!r}"
    if isinstance(value, ARRAYS):
        return str(spec_of(value))
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, dict):
        return f"a {type(value).__name__} with the keys {list(value)!r:.80}"
    return f"{value!r:.40}" if isinstance(value, str) else f"a {type(value).__name__}"
