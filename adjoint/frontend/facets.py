"""What mutable objects hold, side by side: save it, see whether it has changed, put it back. `kinds.py` says who has which."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from adjoint.core import tree, views

#: Stands for an attribute or variable without a value.
ABSENT: Any = type("_Absent", (), {"__repr__": lambda self: "undefined"})()

_RESULT = "Compute the new value in both cases and return it, or move the statement out of the {block}"


class Facet:
    """One side of an object's state. `merges` says how a graph can choose between two such states, if it can."""

    what = "an object"
    advice = _RESULT
    merges = ""  # "contents", "attributes", "variable"
    restores = True

    def save(self, x: Any) -> Any:
        """A copy of the state."""
        raise NotImplementedError

    def differs(self, x: Any, saved: Any) -> bool:
        return bool(self.save(x) != saved)

    def restore(self, x: Any, saved: Any) -> None:
        """Put a saved state back."""

    def parts(self, x: Any) -> Iterable[tuple[str, Any]]:
        """What the state refers to, each with how it is reached."""
        return ()


def _same_objects(a: Any, b: Any) -> bool:
    return len(a) == len(b) and all(map(operator.is_, a, b))


class TensorFacet(Facet):
    merges = "contents"

    def save(self, x: Any) -> Any:
        return x._value, x._trace, x._extra

    def differs(self, x: Any, saved: Any) -> bool:
        return x._value is not saved[0] or x._trace is not saved[1]

    def restore(self, x: Any, saved: Any) -> None:
        x._value, x._trace, x._extra = saved

    def parts(self, x: Any) -> Iterable[tuple[str, Any]]:
        return [("", y) for y in views.relatives(x)]


class ListFacet(Facet):
    merges = "contents"

    def save(self, x: Any) -> Any:
        return list.copy(x)

    def differs(self, x: Any, saved: Any) -> bool:
        return not _same_objects(list.copy(x), saved)

    def restore(self, x: Any, saved: Any) -> None:
        list.__setitem__(x, slice(None), saved)

    def parts(self, x: Any) -> Iterable[tuple[str, Any]]:
        return [("", y) for y in list.__iter__(x)]


class DequeFacet(ListFacet):
    def save(self, x: Any) -> Any:
        return list(deque.__iter__(x))

    def differs(self, x: Any, saved: Any) -> bool:
        return not _same_objects(list(deque.__iter__(x)), saved)

    def restore(self, x: Any, saved: Any) -> None:
        deque.clear(x)
        deque.extend(x, saved)

    def parts(self, x: Any) -> Iterable[tuple[str, Any]]:
        return [("", y) for y in deque.__iter__(x)]


class DictFacet(Facet):
    merges = "contents"
    base: Any = dict

    def save(self, x: Any) -> Any:
        return dict(self.base.items(x))

    def differs(self, x: Any, saved: Any) -> bool:
        return not (_same_objects(self.base.keys(x), saved) and _same_objects(self.base.values(x), saved.values()))

    def restore(self, x: Any, saved: Any) -> None:
        self.base.clear(x)
        for key, value in saved.items():
            self.base.__setitem__(x, key, value)

    def parts(self, x: Any) -> Iterable[tuple[str, Any]]:
        return [("", y) for pair in self.base.items(x) for y in pair]


class OrderedItemsFacet(DictFacet):
    base = OrderedDict


class FactoryFacet(Facet):
    """The `default_factory` of a defaultdict."""

    def save(self, x: Any) -> Any:
        return x.default_factory

    def restore(self, x: Any, saved: Any) -> None:
        x.default_factory = saved

    def parts(self, x: Any) -> Iterable[tuple[str, Any]]:
        return [(".default_factory", x.default_factory)]


class SetFacet(Facet):
    what = "a set"
    advice = (
        "Give each thing a truth value or a number in a list or dict instead, or move the statement out of the {block}"
    )

    def save(self, x: Any) -> Any:
        return list(set.__iter__(x))

    def differs(self, x: Any, saved: Any) -> bool:
        return {id(y) for y in set.__iter__(x)} != {id(y) for y in saved}

    def restore(self, x: Any, saved: Any) -> None:
        set.clear(x)
        set.update(x, saved)

    def parts(self, x: Any) -> Iterable[tuple[str, Any]]:
        return [("", y) for y in set.__iter__(x)]


class BytesFacet(Facet):
    what = "a bytearray"
    advice = "Use a Tensor instead (ops.zeros), or move the statement out of the {block}"

    def save(self, x: Any) -> Any:
        return bytes(x)

    def restore(self, x: Any, saved: Any) -> None:
        x[:] = saved


class ArrayItemsFacet(BytesFacet):
    what = "an array"

    def save(self, x: Any) -> Any:
        return x.tobytes()

    def restore(self, x: Any, saved: Any) -> None:
        del x[:]
        x.frombytes(saved)


class NumPyFacet(Facet):
    """The numbers behind an array and its views. An array too large to be copied is locked meanwhile: see `Heap`."""

    what = "a NumPy array"
    advice = "Use a Tensor instead (ad.Tensor, ops.zeros), or move the statement out of the {block}"

    def save(self, x: Any) -> Any:
        return x.shape, x.dtype, list(x.flat) if x.dtype.hasobject else x.tobytes()

    def differs(self, x: Any, saved: Any) -> bool:
        now = self.save(x)
        return now[:2] != saved[:2] or not (
            _same_objects(now[2], saved[2]) if isinstance(now[2], list) else now[2] == saved[2]
        )

    def restore(self, x: Any, saved: Any) -> None:
        shape, dtype, data = saved
        if (x.shape, x.dtype) != (shape, dtype):  # to set them is deprecated since NumPy 2.5, for the user as for us
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                x.dtype, x.shape = dtype, shape
        if isinstance(data, bytes):
            x[...] = np.frombuffer(data, dtype).reshape(shape)
        else:
            for i, y in enumerate(data):
                x.flat[i] = y

    def parts(self, x: Any) -> Iterable[tuple[str, Any]]:
        inner = [("", y) for y in x.flat] if x.dtype == object else []
        return [*inner, ("", x.base)] if x.base is not None else inner


class AttributesFacet(Facet):
    """The attributes that an object keeps itself, in its `__dict__` or in slots."""

    merges = "attributes"

    def save(self, x: Any) -> Any:
        held = dict(getattr(x, "__dict__", ()))
        for name in slots(type(x)):
            held[name] = _slot(x, name)
        return held

    def differs(self, x: Any, saved: Any) -> bool:
        return not _same_attributes(self.save(x), saved)

    def restore(self, x: Any, saved: Any) -> None:
        named = slots(type(x))
        for name in named:
            if saved[name] is not ABSENT:
                object.__setattr__(x, name, saved[name])
            elif _slot(x, name) is not ABSENT:
                object.__delattr__(x, name)
        if (held := getattr(x, "__dict__", None)) is not None:
            held.clear()
            held.update({k: v for k, v in saved.items() if k not in named})

    def parts(self, x: Any) -> Iterable[tuple[str, Any]]:
        return [(f".{name}", y) for name, y in self.save(x).items()]


def _same_attributes(now: dict[str, Any], saved: dict[str, Any]) -> bool:
    return list(now) == list(saved) and all(map(operator.is_, now.values(), saved.values()))


_slot_names: WeakKeyDictionary[type, tuple[str, ...]] = WeakKeyDictionary()


def slots(kind: type) -> tuple[str, ...]:
    found = _slot_names.get(kind)
    if found is None:
        names = {n: None for n in tree.slots(kind) if n not in ("__dict__", "__weakref__")}
        found = _slot_names[kind] = tuple(names)
    return found


def _slot(x: Any, name: str) -> Any:
    try:
        return object.__getattribute__(x, name)
    except AttributeError:
        return ABSENT


class FunctionFacet(AttributesFacet):
    """The attributes of a function, but for what we note there."""

    def save(self, x: Any) -> Any:
        return {name: y for name, y in x.__dict__.items() if not name.startswith("_ad_")}

    def restore(self, x: Any, saved: Any) -> None:
        for name in self.save(x).keys() - saved.keys():
            del x.__dict__[name]
        x.__dict__.update(saved)


class ClassFacet(Facet):
    merges = "attributes"
    _OWN = {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "_abc_impl", "__abstractmethods__"}

    def save(self, x: Any) -> Any:
        return {k: v for k, v in vars(x).items() if k not in self._OWN}

    def differs(self, x: Any, saved: Any) -> bool:
        return not _same_attributes(self.save(x), saved)

    def restore(self, x: Any, saved: Any) -> None:
        now = self.save(x)
        for name in {**saved, **now}:
            if name not in saved:
                type.__delattr__(x, name)
            elif now.get(name, ABSENT) is not saved[name]:
                type.__setattr__(x, name, saved[name])

    def parts(self, x: Any) -> Iterable[tuple[str, Any]]:
        return [*((f".{name}", y) for name, y in self.save(x).items()), *(("", base) for base in x.__bases__)]


class GlobalsFacet(Facet):
    """The variables of a module."""

    what = "a global variable"
    advice = "Return the value instead, or pass it in as an argument"

    def save(self, x: Any) -> Any:
        return {k: v for k, v in dict.items(x) if not (isinstance(k, str) and k.startswith("__"))}

    def differs(self, x: Any, saved: Any) -> bool:
        now = self.save(x)
        return now.keys() != saved.keys() or any(now[k] is not v for k, v in saved.items())

    def restore(self, x: Any, saved: Any) -> None:
        for name in self.save(x).keys() - saved.keys():
            del x[name]
        x.update({k: v for k, v in saved.items() if x.get(k, ABSENT) is not v})


class CellFacet(Facet):
    """A variable that functions share."""

    merges = "variable"

    def save(self, x: Any) -> Any:
        try:
            return x.cell_contents
        except ValueError:
            return ABSENT

    def differs(self, x: Any, saved: Any) -> bool:
        return self.save(x) is not saved

    def restore(self, x: Any, saved: Any) -> None:
        if saved is not ABSENT:
            x.cell_contents = saved
        elif self.save(x) is not ABSENT:
            del x.cell_contents

    def parts(self, x: Any) -> Iterable[tuple[str, Any]]:
        return [("", self.save(x))]
