"""Nested containers <-> flat lists of leaves.

Tuples, lists, dicts, named tuples and dataclasses are containers; `None` is an empty one; all else is a leaf.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from adjoint.core.errors import ArgumentError, called_at

Path = str


def _children(node: Any) -> tuple[list[tuple[str, Any]], Callable[[list[Any]], Any]] | None:
    """The named children of a container and how to rebuild it; None for a leaf."""
    kind = type(node)
    if node is None:
        return [], lambda _: None
    if kind is tuple or kind is list:
        return [(f"[{i}]", x) for i, x in enumerate(node)], kind
    if isinstance(node, dict):
        keys = list(node)
        return [(f"[{k!r}]", node[k]) for k in keys], lambda xs: _rebuild_dict(node, keys, xs)
    if isinstance(node, tuple) and hasattr(node, "_fields"):
        return [(f".{n}", x) for n, x in zip(node._fields, node, strict=True)], lambda xs: kind(*xs)
    if isinstance(node, (tuple, list)):
        return [(f"[{i}]", x) for i, x in enumerate(node)], kind
    if hasattr(node, "__dataclass_fields__") and not isinstance(node, type):
        names = [f.name for f in dataclasses.fields(node) if f.init]
        rebuild = lambda xs: dataclasses.replace(node, **dict(zip(names, xs, strict=True)))  # noqa: E731
        return [(f".{n}", getattr(node, n)) for n in names], rebuild
    return None


def _rebuild_dict(node: dict, keys: list, xs: list) -> dict:
    fresh = {} if type(node) is dict else copy.copy(node)  # a defaultdict keeps its factory
    for key, x in zip(keys, xs, strict=True):
        fresh[key] = x
    return fresh


def is_leaf(node: Any) -> bool:
    """Whether a value is not a container."""
    return not isinstance(node, (tuple, list, dict)) and node is not None and not hasattr(node, "__dataclass_fields__")


def _only(xs: list[Any]) -> Any:
    return xs[0]


def flatten(tree: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The leaves in order, and the function that puts new leaves in their places.

    >>> leaves, rebuild = flatten({"a": 1, "b": (2, None)})
    >>> leaves, rebuild([x * 10 for x in leaves])
    ([1, 2], {'a': 10, 'b': (20, None)})
    """
    found = None if is_leaf(tree) else _children(tree)
    if found is None:
        return [tree], _only
    children, rebuild = found
    leaves: list[Any] = []
    parts = []
    for _, child in children:
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
    if isinstance(tree, dict):
        return type(tree), tuple((k, shape(v)) for k, v in tree.items())
    found = _children(tree)
    return 0 if found is None else (type(tree), tuple(shape(child) for _, child in found[0]))


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
