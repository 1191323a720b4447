"""Nested containers <-> flat lists of leaves.

Tuples, lists, dicts, their subclasses, named tuples, dataclasses and registered classes are containers; `None` is an empty one; all
else is a leaf. What a registered class or a static field keeps beside its children is part of the tree's shape.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from adjoint.core.dispatch import Value
from adjoint.core.errors import ArgumentError, called_at

Path = str
_NUMBERS = (Value, np.ndarray, np.generic, float, complex)
_BASES = (OrderedDict, defaultdict, dict, list, tuple)
_MISSING = object()


def _children(node: Any) -> tuple[list[tuple[str, Any]], Callable[[list[Any]], Any]] | None:
    """The named children of a container and how to rebuild it; None for a leaf."""
    kind = type(node)
    if node is None:
        return [], lambda _: None
    if kind is tuple or kind is list:
        return [(f"[{i}]", x) for i, x in enumerate(node)], kind
    if kind is dict:
        keys = list(node)
        return [(f"[{k!r}]", node[k]) for k in keys], lambda xs: dict(zip(keys, xs, strict=True))
    if kind in registered:
        return _registered_children(node)
    if isinstance(node, (dict, list, tuple)):
        return _with_attributes(node, _items(node))
    if hasattr(kind, "__dataclass_fields__"):
        names = [n for n in _layout(kind).fields if hasattr(node, n)]
        return _with_attributes(node, [(f".{n}", getattr(node, n)) for n in names], names)
    return None


def named_children(node: Any) -> tuple[list[tuple[str, Any]], Callable[[list[Any]], Any]] | None:
    """The children of a container, each with its part of a path, and how to make another one of new children; None for a leaf."""
    return None if is_leaf(node) else _children(node)


def children(node: Any) -> tuple[list[Any], Callable[[list[Any]], Any]] | None:
    """The children of a container, and how to make another one of new children; None for a leaf."""
    found = None if is_leaf(node) else _children(node)
    return None if found is None else ([x for _, x in found[0]], found[1])


# ---------------------------------------------------------------- registered classes

Flatten = Callable[[Any], tuple[Sequence[Any], Any]]
#: Of each registered class: the function to children and static data, and that from static data and children.
registered: WeakKeyDictionary[type, tuple[Flatten, Callable[[Any, Any], Any]]] = WeakKeyDictionary()
#: The fields of dataclasses that were declared static from outside.
_declared_static: WeakKeyDictionary[type, frozenset[str]] = WeakKeyDictionary()


def register(kind: type, flatten: Flatten, unflatten: Callable[[Any, Any], Any]) -> None:
    """Let the objects of a class be containers."""
    registered[kind] = flatten, unflatten


def declare_static(kind: type, names: frozenset[str]) -> None:
    """Let fields of a dataclass be part of its shape, not children."""
    _declared_static[kind] = names
    _layouts.pop(kind, None)


def _registered_children(node: Any) -> tuple[list[tuple[str, Any]], Callable[[list[Any]], Any]]:
    flatten, unflatten = registered[type(node)]
    found, static = flatten(node)
    attributes = list(getattr(node, "__dict__", {}).items())
    children = []
    for i, x in enumerate(found):  # each has the name of an attribute that holds it, if there is one
        k = next((k for k, (_, held) in enumerate(attributes) if held is x), None)
        children.append((f"[{i}]" if k is None else f".{attributes.pop(k)[0]}", x))
    return children, lambda xs: unflatten(static, tuple(xs))


class Static:
    """A static value as a part of a shape: equal where values are, also for lists, dicts and arrays."""

    __slots__ = ("key", "x")

    def __init__(self, x: Any) -> None:
        self.x, self.key = x, _static_key(x)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return repr(self.x)


def _static_key(x: Any) -> Any:
    kind = type(x)
    if isinstance(x, (float, complex)):
        return kind, repr(x)  # 0.0 is not -0.0 here, and NaN is NaN
    if isinstance(x, np.ndarray) and not x.dtype.hasobject:
        return kind, x.shape, x.dtype.str, x.tobytes()
    if isinstance(x, (list, tuple)):
        return kind, tuple(map(_static_key, x))
    if isinstance(x, (set, frozenset)):
        return kind, frozenset(map(_static_key, x))
    if isinstance(x, dict):
        return kind, tuple((k, _static_key(v)) for k, v in x.items())
    try:
        hash(x)
        return kind, CarriedAttribute(x) if isinstance(x, Value) else x
    except TypeError:
        return kind, CarriedAttribute(x)


# ---------------------------------------------------------------- containers of other classes
# They are made anew without their constructors: what these compute or check was done when the user made the object.


def _items(node: Any) -> list[tuple[str, Any]]:
    if isinstance(node, dict):
        base = _base(type(node))
        return [(f"[{k!r}]", base.__getitem__(node, k)) for k in base.keys(node)]
    if hasattr(node, "_fields"):
        return [(f".{n}", x) for n, x in zip(node._fields, tuple.__iter__(node), strict=True)]
    return [(f"[{i}]", x) for i, x in enumerate(_base(type(node)).__iter__(node))]


def _with_attributes(
    node: Any, items: list[tuple[str, Any]], fields: list[str] | None = None
) -> tuple[list[tuple[str, Any]], Callable[[list[Any]], Any]]:
    """The items of an object, the attributes with numbers behind them, and how to make another one; others are carried along."""
    attributes, static = attributes_of(node, fields or []), _layout(type(node)).static
    tracked = {name: x for name, x in attributes.items() if name not in static and _holds_numbers(x)}
    carried = {name: x for name, x in attributes.items() if name not in tracked}
    count = len(items)

    def rebuild(xs: list[Any]) -> Any:
        fresh = _blank(node, xs[:count], fields)
        for name, x in (*zip(fields or (), xs), *carried.items(), *zip(tracked, xs[count:], strict=True)):
            object.__setattr__(fresh, name, x)
        return fresh

    return [*items, *((f".{name}", x) for name, x in tracked.items())], rebuild


def _blank(node: Any, xs: list[Any], fields: list[str] | None) -> Any:
    """An object of the same class with these items, without attributes."""
    kind = type(node)
    if fields is not None:
        return object.__new__(kind)
    base: Any = _base(kind)
    if isinstance(node, tuple):
        return base.__new__(kind, xs)
    fresh = base.__new__(kind)
    if isinstance(node, list):
        list.extend(fresh, xs)
        return fresh
    if isinstance(node, defaultdict):
        fresh.default_factory = node.default_factory
    for key, x in zip(base.keys(node), xs, strict=True):
        base.__setitem__(fresh, key, x)
    return fresh


def _base(kind: type) -> Any:
    """The class that keeps the items: methods of the user's subclasses are not asked."""
    return next(c for c in kind.__mro__ if c in _BASES or "n_sequence_fields" in vars(c))


@dataclasses.dataclass(frozen=True)
class _Layout:
    """Where the objects of a class keep what they hold."""

    fields: tuple[str, ...]
    slots: tuple[str, ...]
    cached: frozenset[str]
    static: frozenset[str]  # fields that are no children


_layouts: WeakKeyDictionary[type, _Layout] = WeakKeyDictionary()


def _layout(kind: type) -> _Layout:
    found = _layouts.get(kind)
    if found is not None:
        return found
    every = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    static = frozenset(f.name for f in every if f.metadata.get("static")) | _declared_static.get(kind, frozenset())
    fields = tuple(f.name for f in every if f.init and f.name not in static)
    hidden = {"__dict__", "__weakref__", *fields}
    computed = (n for c in kind.__mro__ for n, x in vars(c).items() if isinstance(x, cached_property))
    found = _Layout(fields, tuple(n for n in slots(kind) if n not in hidden), frozenset(computed), static)
    _layouts[kind] = found
    return found


def slots(kind: type) -> list[str]:
    """The names in the `__slots__` of a class and its bases, as attributes have them."""
    found: list[str] = []
    for c in kind.__mro__:
        own = c.__dict__.get("__slots__", ())
        for name in [own] if isinstance(own, str) else own:
            private = name.startswith("__") and not name.endswith("__")
            found.append(f"_{c.__name__.lstrip('_')}{name}" if private else name)
    return found


def attributes_of(node: Any, fields: list[str]) -> dict[str, Any]:
    """What an object holds besides its fields and items; what it computes when asked is left to be computed again."""
    layout = _layout(type(node))
    held = {name: getattr(node, name, _MISSING) for name in layout.slots}
    held |= getattr(node, "__dict__", {})
    return {n: x for n, x in held.items() if n not in fields and n not in layout.cached and x is not _MISSING}


def _carried(node: Any) -> tuple[Any, ...]:
    """What objects of one shape have in common: keys, names, and attributes without numbers."""
    keys = tuple(_base(type(node)).keys(node)) if isinstance(node, dict) else ()
    layout = _layout(type(node))
    held = attributes_of(node, list(layout.fields)).items()
    static = tuple((n, Static(x)) for n, x in held if n in layout.static)
    others = ((n, x) for n, x in held if n not in layout.static)
    return keys, tuple((n, None if _holds_numbers(x) else _carried_shape(x)) for n, x in others), static


def _carried_shape(x: Any) -> Any:
    xs, _ = flatten(x)
    return shape(x), tuple(map(CarriedAttribute, xs))


def _holds_numbers(x: Any) -> bool:
    return any(isinstance(leaf, _NUMBERS) for leaf in leaves(x))


class CarriedAttribute:
    """An attribute that is carried along, as a part of an object's shape: equal plain values are one, objects are themselves."""

    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CarriedAttribute) or type(self.x) is not type(other.x):
            return False
        return self.x is other.x or (isinstance(self.x, (int, str, bytes)) and bool(self.x == other.x))

    def __hash__(self) -> int:
        return hash(self.x) if isinstance(self.x, (int, str, bytes)) else id(self.x)


def is_leaf(node: Any) -> bool:
    """Whether a value is not a container."""
    if isinstance(node, _NUMBERS):
        return True
    if node is None or isinstance(node, (tuple, list, dict)) or hasattr(type(node), "__dataclass_fields__"):
        return False
    return type(node) not in registered


def _only(xs: list[Any]) -> Any:
    return xs[0]


def _unnamed_children(container: Any) -> tuple[Sequence[Any], Callable[[list[Any]], Any]]:
    """The children of a container without their names, and how to make another one of new children."""
    kind = type(container)
    if kind is tuple or kind is list:
        return container, kind
    if kind is dict:
        keys = list(container)
        return list(container.values()), lambda xs: dict(zip(keys, xs, strict=True))
    found = _children(container)
    assert found is not None
    return [x for _, x in found[0]], found[1]


def flatten(tree: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The leaves in order, and the function that puts new leaves in their places.

    >>> leaves, rebuild = flatten({"a": 1, "b": (2, None)})
    >>> leaves, rebuild([x * 10 for x in leaves])
    ([1, 2], {'a': 10, 'b': (20, None)})
    """
    if is_leaf(tree):
        return [tree], _only
    children, rebuild = _unnamed_children(tree)
    if all(isinstance(x, _NUMBERS) for x in children):
        return list(children), rebuild
    leaves: list[Any] = []
    parts = []
    for child in children:
        inner, inner_rebuild = flatten(child)
        parts.append((len(leaves), len(leaves) + len(inner), inner_rebuild))
        leaves += inner
    return leaves, lambda xs: rebuild([make(xs[start:stop]) for start, stop, make in parts])


def shape(tree: Any) -> Any:
    """The containers alone, as a value to compare and hash: trees of one shape hold their leaves in the same places.

    >>> shape({"a": 1, "b": (2, None)}) == shape({"a": 5, "b": (7, None)})
    True
    """
    if is_leaf(tree):
        return 0
    if type(tree) is dict:
        return dict, tuple((k, shape(v)) for k, v in tree.items())
    found = _children(tree)
    if found is None:
        return 0
    return *label(tree), tuple(shape(child) for _, child in found[0])


def label(node: Any) -> tuple[Any, ...]:
    """What a container is without its children: its class, its keys, and what is static in it."""
    kind = type(node)
    if kind in (tuple, list, type(None)):
        return (kind,)
    if kind in registered:
        return kind, Static(registered[kind][0](node)[1])
    return kind, _carried(node)


def static_part(label: tuple[Any, ...]) -> Any:
    """Of a label: what is static by declaration, the static fields of a dataclass or what a registered class keeps."""
    if len(label) == 1:
        return ()
    return label[1] if isinstance(label[1], Static) else label[1][-1]


def paths(tree: Any, prefix: Path = "") -> Iterator[tuple[Path, Any]]:
    """Each leaf with the Python expression that reaches it.

    >>> list(paths({"w": [1, 2]}, "params"))
    [("params['w'][0]", 1), ("params['w'][1]", 2)]
    """
    found = _children(tree)
    if found is None:
        yield prefix, tree
        return
    for name, child in found[0]:
        yield from paths(child, prefix + name)


def leaves(tree: Any) -> list[Any]:
    """The leaves in order."""
    return flatten(tree)[0]


def leaves_like(tree: Any, like: Any) -> list[Any]:
    """The leaves of a tree in the order of another tree's: a dict may name its keys in any order.

    >>> leaves_like({"b": 2, "a": 1}, {"a": 0.0, "b": 0.0})
    [1, 2]
    """
    if isinstance(tree, dict) and isinstance(like, dict):
        if not tree.keys() <= like.keys():  # one that is missing shows in the count
            raise ArgumentError(
                f"a dict with the keys {list(tree)} was given for one with the keys {list(like)}{called_at()}"
            )
        return [leaf for key in like for leaf in leaves_like(tree[key], like[key])]
    ours, theirs = _children(tree), _children(like)
    if ours is None or theirs is None or len(ours[0]) != len(theirs[0]):
        return leaves(tree)
    return [leaf for (_, a), (_, b) in zip(ours[0], theirs[0], strict=True) for leaf in leaves_like(a, b)]


def map(fn: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """Apply `fn` to each leaf, and to the leaves at the same places of further trees.

    >>> map(lambda x, y: x + y, (1, [2]), (10, [20]))
    (11, [22])
    """
    xs, rebuild = flatten(tree)
    others = [leaves_like(t, tree) for t in rest]
    return rebuild([fn(*args) for args in zip(xs, *others, strict=True)])
