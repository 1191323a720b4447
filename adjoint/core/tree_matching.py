"""Two trees of one structure: the leaves of one at the places of the other's, or an error that names where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.core import tree as trees
from adjoint.core.errors import ArgumentError, called_at


def beside(tree: Any, like: Any, name: str = "the tree", other: str = "the other") -> list[Any]:
    """The leaves of a tree at the places of another's, in that one's order; None where it has None.

    A dict may name its keys in any order, and a list may stand for a tuple.

    >>> beside({"b": None, "a": 1}, {"a": "x", "b": (0.0, 0.0)})
    [1, None, None]
    """
    theirs = trees.named_children(like)
    if theirs is None:
        if tree is not None and not trees.is_leaf(tree):
            raise ArgumentError(f"{name} is {shown(tree)} where {other} is a leaf, {shown(like)}{called_at()}")
        return [tree]
    if tree is None or like is None:
        if tree is not None:
            raise ArgumentError(f"{name} is {shown(tree)} where {other} is None{called_at()}")
        return [None] * len(trees.leaves(like))
    mine = children_beside(tree, type(like), [n for n, _ in theirs[0]], name, f"{other} is {shown(like)}")
    return [
        leaf for (n, child), x in zip(theirs[0], mine, strict=True) for leaf in beside(x, child, name + n, other + n)
    ]


def children_beside(tree: Any, kind: type, names: Sequence[str], name: str, said: str) -> list[Any]:
    """The children of a container in the order of those of another one, of some class, with these names."""
    found = trees.named_children(tree)
    one = (dict, (list, tuple))  # a mapping may stand for a mapping, a sequence for a sequence
    alike = type(tree) is kind or any(isinstance(tree, k) and issubclass(kind, k) for k in one)
    if found is None or not alike or (not issubclass(kind, dict) and len(found[0]) != len(names)):
        raise ArgumentError(f"{name} is {shown(tree)}, {said}: the trees differ in structure{called_at()}")
    if not issubclass(kind, dict):
        return [x for _, x in found[0]]
    mine = dict(found[0])
    lacking, more = [n for n in names if n not in mine], [n for n in mine if n not in names]
    if lacking or more:
        where = f"{name}{more[0]} has no counterpart" if more else f"{name}{lacking[0]} is missing"
        raise ArgumentError(f"{where}, {said}: the trees differ in structure{called_at()}")
    return [mine[n] for n in names]


def check_static(tree: Any, label: tuple[Any, ...], name: str, other: str) -> None:
    """Refuse a container whose static data is not that of another one of its class, given by its label."""
    if type(tree) is not label[0] or len(label) == 1:
        return
    mine, theirs = trees.static_part(trees.label(tree)), trees.static_part(label)
    if mine == theirs:
        return
    if isinstance(mine, tuple):
        changed = [(n, x, y) for (n, x), (m, y) in zip(mine, theirs, strict=False) if n == m and x != y]
        name, mine, theirs = (f"{name}.{changed[0][0]}", *changed[0][1:]) if changed else (name, mine, theirs)
    raise ArgumentError(
        f"{name} is {mine!r:.60}, and {theirs!r:.60} in {other}: what is static is part of the structure and must be the same. A number that "
        f"changes must be a leaf{called_at()}"
    )


def check_all_static(tree: Any, like: Any, name: str, other: str) -> None:
    """The same for all containers of two trees of one structure."""
    theirs, mine = trees.named_children(like), trees.named_children(tree)
    if theirs is None or mine is None:
        return
    check_static(tree, trees.label(like), name, other)
    parts = dict(theirs[0])
    for n, child in mine[0]:
        if n in parts:
            check_all_static(child, parts[n], name + n, other)


def shown(x: Any) -> str:
    """A value as messages name it."""
    if x is None:
        return "None"
    if isinstance(x, (list, tuple)):
        return f"a {type(x).__name__} of {len(x)}"
    if isinstance(x, dict):
        return f"a {type(x).__name__} with the keys {list(x)!r:.80}"
    return f"{x!r:.40}" if isinstance(x, (str, bool, int, float)) else f"a {type(x).__name__}"
