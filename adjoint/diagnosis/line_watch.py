"""What watchers have in common: the user's line of each call, and of each derivative rule that runs."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from adjoint.core import watching
from adjoint.core.errors import user_place
from adjoint.graph.inplace import InPlace
from adjoint.graph.nested import Control

Place = tuple[str, int]

MANY = 500_000  # calls whose lines are remembered, for their derivatives

#: The line whose derivative rule runs, in a tuple: what a rule computes on its way is its own affair.
rule: ContextVar[tuple[Place | None] | None] = ContextVar("rule", default=None)


class LineWatcher(watching.Watcher):
    """Remembers the lines of calls that a tape records."""

    def __init__(self, everywhere: bool = False) -> None:
        self.everywhere = everywhere
        self.places: dict[int, Place | None] = {}  # of recorded calls, by their order

    def recorded(self, record: Any) -> None:
        bounded(self.places)
        inside = rule.get()
        self.places[record.order] = user_place() if inside is None else inside[0]


def bounded(table: dict[int, Any]) -> None:
    """Forget the older half of a table that has grown too large."""
    if len(table) >= MANY:
        for order in list(table)[: MANY // 2]:
            del table[order]


def has_lines_of_its_own(op: Any) -> bool:
    """Whether an op is a function of the user's or a whole graph: what runs inside it is looked at for itself."""
    return bool(op.opaque) or (isinstance(op, Control) and not isinstance(op, InPlace))


def wanted(record: Any, found: Any) -> list[Any]:
    """The cotangents that are wanted, computed."""
    return [c() if callable(c) and p is not None else c for p, c in zip(record.parents, found, strict=True)]
