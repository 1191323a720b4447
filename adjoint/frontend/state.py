"""The variables that a branch or loop may change: look at them, put them back, give them new values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import CellType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any

import numpy as np

from adjoint.core import context, random_counters, tree, views
from adjoint.core.dispatch import Value, make, wrap
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.spec import spec_of
from adjoint.frontend.arrays_of_tensors import one_array
from adjoint.frontend.errors import ControlFlowError
from adjoint.frontend.facets import ABSENT
from adjoint.frontend.heap import Heap, HeldFacet
from adjoint.frontend.kinds import ATTRIBUTES, facets
from adjoint.frontend.libraries import is_users_class
from adjoint.frontend.site import Site
from adjoint.graph import trace
from adjoint.graph.numbers import is_number

NUMBERS = (bool, int, float, complex)
DRAWS = "the draws"
ARRAYS = (Value, np.ndarray, np.generic)


def is_graph_value(x: Any) -> bool:
    """Whether a value is known only when the graph runs; a Parameter may stand for one."""
    return isinstance(x, Value) and trace.is_graph_value(
        resolve(x, for_backward=False) if isinstance(x, Parameter) else x
    )


#: Stands for a variable without a value.
UNDEFINED: Any = ABSENT


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
class HeldAttribute:
    """An attribute of an object that a variable holds."""

    owner: Any
    attribute: str
    name: str

    def get(self) -> Any:
        held = getattr(self.owner, "__dict__", {})
        if self.attribute in held:
            return held[self.attribute]
        return UNDEFINED if _is_computed(self.owner, self.attribute) else getattr(self.owner, self.attribute, UNDEFINED)

    @property
    def is_cached(self) -> bool:
        """Whether it is computed when it is asked for the first time."""
        return isinstance(getattr(type(self.owner), self.attribute, None), cached_property)

    def set(self, value: Any) -> None:
        if self.get() is value:
            return
        if _is_computed(self.owner, self.attribute):
            self.owner.__dict__[self.attribute] = value
            return
        set_, delete = _setters(self.owner)
        if value is UNDEFINED:
            delete(self.owner, self.attribute)
        else:
            set_(self.owner, self.attribute, value)


def _setters(owner: Any) -> tuple[Callable[..., None], Callable[..., None]]:
    """How to set and delete an attribute without running code of the user's."""
    if isinstance(owner, type):
        return type.__setattr__, type.__delattr__
    return (object.__setattr__, object.__delattr__) if _sets_by_code(type(owner)) else (setattr, delattr)


def _sets_by_code(kind: type) -> bool:
    """Whether a class of the user's has a say in what setting an attribute does."""
    return isinstance(kind.__setattr__, FunctionType) and not kind.__setattr__.__module__.startswith("adjoint.")


def _is_computed(owner: Any, attribute: str) -> bool:
    """Whether the class has code for the attribute: a property, or another descriptor."""
    found = None if isinstance(owner, type) else getattr(type(owner), attribute, None)
    return hasattr(type(found), "__set__") and not isinstance(found, MemberDescriptorType)


def _is_kept(owner: Any, attribute: str) -> bool:
    """Whether an assignment to an attribute does nothing but keep the value."""
    return isinstance(owner, type) or not (_is_computed(owner, attribute) or _sets_by_code(type(owner)))


@dataclass(frozen=True, eq=False)
class HeldContents:
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


@dataclass(frozen=True, eq=False)
class HeldStore:
    """What a Parameter stands for, after a store."""

    name: str
    parameter: Parameter
    scope: Any

    def get(self) -> Any:
        return self.scope[self.parameter]

    def set(self, value: Any) -> None:
        if self.get() is not value:
            self.scope.hold(self.parameter, wrap(value))


Place = Variable | HeldAttribute | HeldContents | HeldStore | Box


def contents(owner: Any) -> Any:
    """A copy of what a mutable object holds that later changes of the object do not reach."""
    return make(owner._value, owner._trace, owner._extra) if isinstance(owner, Value) else facets(owner)[0].save(owner)


def refill(owner: Any, value: Any) -> None:
    """Give a mutable object the contents of another."""
    if isinstance(owner, Value):
        new = wrap(value)
        owner._value, owner._trace, owner._extra = new._value, new._trace, new._extra
    else:
        facets(owner)[0].restore(owner, value)


class FrameVariables:
    """The variables that a block of code uses, reached through the closure of a function that names them all."""

    def __init__(self, names: Callable[[], Any] | None) -> None:
        cells = zip(names.__code__.co_freevars, names.__closure__ or (), strict=True) if names else ()
        self.variables: dict[str, Variable | Box] = {name: Variable(name, cell) for name, cell in cells}
        everything = names.__defaults__[0] if names and names.__defaults__ else None
        rest = zip(everything.__code__.co_freevars, everything.__closure__ or (), strict=True) if everything else ()
        #: All variables of the function: other names of what the code uses may be among them.
        self.others = {name: Variable(name, cell) for name, cell in rest if name not in self.variables}
        if (made := getattr(random_counters.source.get(), "made", None)) is not None:
            self.variables[DRAWS] = Box(DRAWS, made)  # draws at random count on in a branch or a loop

    def value(self, name: str) -> Any:
        found = self.variables.get(name)
        return UNDEFINED if found is None else found.get()

    def holds_graph_values(self) -> bool:
        """Whether any variable holds one, or a container with one."""
        return any(
            is_graph_value(x) for v in self.variables.values() for x in reachable(v.get()) if isinstance(x, Value)
        )

    def _is_array(self, name: str) -> bool:
        """Whether `x += v` writes into what the variable holds: a Tensor with axes."""
        owner = self.value(name)
        return isinstance(owner, Value) and not isinstance(owner, Parameter) and views.updates(owner)

    def places(self, site: Site) -> list[Place]:
        """What the source says may change: variables, the contents of Tensors, attributes.

        Whether `x[0][1] = v` changes a list or a Tensor in it, which may have other names too, shows when the code has run.
        """
        found: list[Place] = []
        for name in site.names:
            if name in site.updated and self._is_array(name):
                found.append(HeldContents(name, self.value(name)))
            elif name in self.variables:
                found.append(self.variables[name])
        for name in site.mutated:
            if isinstance(owner := self.value(name), Value) and not isinstance(owner, Parameter):
                found.append(HeldContents(name, owner))
        for base, attribute in site.attributes:
            owner = self.value(base)
            if not (owner is UNDEFINED or isinstance(owner, Value)) and _is_kept(owner, attribute):
                place = HeldAttribute(owner, attribute, f"{base}.{attribute}")
                if not isinstance(place.get(), Parameter):  # a store leaves the attribute as it is
                    found.append(place)
        return found


def reachable(value: Any) -> Iterator[Any]:
    """A value and what its containers and attributes hold, and so on; not what functions, classes and libraries hold."""
    seen: dict[int, Any] = {}
    stack = [value]
    while stack:
        x = stack.pop()
        if id(x) in seen:
            continue
        if isinstance(x, Value) and getattr(x, "_kin", None) is not None:
            seen[id(x)] = x
            stack += views.relatives(x)
        if not isinstance(x, (Value, FunctionType, type, ModuleType, *NUMBERS, str)):
            seen[id(x)] = x
            if isinstance(x, (tuple, frozenset)):
                stack += x
            elif not isinstance(x, np.ndarray) or x.dtype == object:
                stack += [y for facet in facets(x) for _, y in facet.parts(x)]
        yield x


class Snapshot:
    """The variables of a frame and all that some functions can reach, to be put back."""

    def __init__(self, frame: FrameVariables, places: Sequence[Place], *functions: Any) -> None:
        self.before = [(v, v.get()) for v in (*frame.variables.values(), *(p for p in places if isinstance(p, Box)))]
        self.cells = {id(v.cell) for v in frame.variables.values() if isinstance(v, Variable)}
        named = [(place.name, value) for place, value in self.before]
        self.heap = Heap([*named, *(("", f) for f in functions)])
        self.values = {id(h.owner): h for h in self.heap.held if isinstance(h.owner, Value)}
        self.scope: Any = context.bindings.get()
        self.stored = {} if self.scope is None else dict(self.scope.stored)

    def restore(self) -> None:
        """Everything as it was."""
        for place, value in self.before:
            place.set(value)
        self.heap.restore()
        if self.scope is not None and self.scope.since(self.stored):
            self.scope.back_to(self.stored)

    def changed(self, places: Sequence[Place], where: str) -> list[Place]:
        """What has other contents now and is not among the places; ControlFlowError for what a graph cannot choose."""
        known = {
            (id(p.owner), getattr(p, "attribute", None)) for p in places if isinstance(p, (HeldContents, HeldAttribute))
        }
        known |= {(id(p.cell), None) for p in places if isinstance(p, Variable)}
        found: list[Place] = []
        if self.scope is not None:
            stored = {p.parameter for p in places if isinstance(p, HeldStore)}
            written = [p for p in self.scope.since(self.stored) if p not in stored]
            found += [HeldStore(f"Parameter '{p.name}'", p, self.scope) for p in written]
        for h in self.heap.changed():
            if id(h.owner) in self.cells:
                continue
            found += [p for p in _places(h, where) if (id(_owner(p)), getattr(p, "attribute", None)) not in known]
        return found

    def frozen(self, value: Any) -> Any:
        """A value that stays what it is now when everything is put back."""
        leaves, rebuild = tree.flatten(value)
        return rebuild([contents(x) if self._is_changed(x) else one_array(x) for x in leaves])

    def _is_changed(self, x: Any) -> bool:
        return isinstance(x, Value) and id(x) in self.values and self.values[id(x)].differs()


def _owner(place: Any) -> Any:
    return place.cell if isinstance(place, Variable) else place.owner


#: Attributes of Cells that count their changes: they go with what they count.
_COUNTERS = {"_version", "_changed"}


def _places(h: HeldFacet, where: str) -> list[Place]:
    """The places that stand for a change."""
    if h.facet.merges == "contents":
        return [HeldContents(h.name, h.owner)]
    if h.facet.merges == "variable":
        return [Variable(h.name, h.owner)]
    if h.facet.merges == "attributes":
        names = [n for n in h.changed_attributes() if n not in _COUNTERS]
        return [HeldAttribute(h.owner, n, f"{h.name}.{n}") for n in names]
    what = f"`{h.name}` ({h.facet.what})"
    if isinstance(h.owner, dict):
        what = " and ".join(f"`{h.name}{n}` (a global variable)" for n in h.changed_attributes())
    raise refused(f"{what} is changed in", where, h.facet.advice)


def refused(what: str, where: str, advice: str) -> ControlFlowError:
    """The error for a side effect that would take place while the graph is built, whatever its run chooses."""
    block = "loop" if "loop" in where or "body" in where else "branch"
    return ControlFlowError(
        f"{what} {where}. Whether and how often it happens is known only when the graph runs, which is without Python. "
        f"{advice.format(block=block)}"
    )


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


def is_mutable(x: Any) -> bool:
    """Whether a value is an array, a container or another object of which one can tell whether two names mean the same one."""
    if isinstance(x, ARRAYS):
        return not isinstance(x, (Parameter, np.generic)) and not is_number(x)
    if isinstance(x, (*NUMBERS, str, bytes, tuple, frozenset, FunctionType, ModuleType, type)) or x is UNDEFINED:
        return False
    return bool(facets(x)) and (is_users_class(type(x)) or facets(x)[0] is not ATTRIBUTES)


def same(a: Any, b: Any) -> bool:
    """Whether two leaves are one known value, so that it need not pass through the graph."""
    if a is b:
        return True
    if isinstance(a, NUMBERS):
        return type(a) is type(b) and repr(a) == repr(b)
    if isinstance(a, ARRAYS) or isinstance(b, ARRAYS) or type(a) is not type(b) or is_mutable(a):
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
