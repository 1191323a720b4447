"""The containers of a tree themselves: which can be changed, what each holds, and whether one is inside itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjoint.core.tree import CarriedAttribute, Path, attributes_of, is_leaf, named_children


def containers(tree: Any, prefix: Path = "", every: bool = False) -> Iterator[tuple[Path, Any]]:
    """Each container that can be changed, with the Python expression that reaches it; with `every`, tuples and None too."""
    found = named_children(tree)
    if found is None or (tree is None and not every):
        return
    if every or type(tree) is not tuple:
        yield prefix, tree
    for name, child in found[0]:
        yield from containers(child, prefix + name, every)


def contents(container: Any) -> list[tuple[str, Any]]:
    """What a container holds: its items or fields, and its attributes, each with its name; equal where nothing has changed."""
    found = named_children(container)
    items = found[0] if found is not None else []
    attributes = {} if type(container) in (dict, list) else attributes_of(container, [])
    return [(name, CarriedAttribute(x)) for name, x in (*items, *attributes.items())]


def contains_itself(tree: Any, around: tuple[int, ...] = ()) -> bool:
    """Whether a container is inside itself."""
    if id(tree) in around:
        return True
    found = None if is_leaf(tree) or tree is None else named_children(tree)
    return found is not None and any(contains_itself(x, (*around, id(tree))) for _, x in found[0])
