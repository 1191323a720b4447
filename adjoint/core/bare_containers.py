"""Named tuples and dataclasses that hold their items and fields, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.core import tree


def bare_children(node: Any) -> Sequence[Any] | None:
    """The children of a named tuple or a dataclass that holds nothing else; None for any other object."""
    kind = type(node)
    if kind in tree.registered:
        return None
    if isinstance(node, tuple):
        return node if hasattr(kind, "_fields") and not (kind.__dictoffset__ or tree._layout(kind).slots) else None
    held = getattr(node, "__dict__", None)
    if held is None or not hasattr(kind, "__dataclass_fields__"):
        return None
    layout = tree._layout(kind)
    if layout.static or layout.slots or held.keys() != set(layout.fields):
        return None
    return [getattr(node, name) for name in layout.fields]
