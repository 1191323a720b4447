"""The version of all derivative rules: what was derived under an older one is derived anew."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakSet

F = TypeVar("F", bound=Callable[..., Any])

#: One more with each rule that is registered, replaced or restored (`bprop_getters`, `defvjp`, `defjvp`).
version = 0

#: The cards whose rule comes from outside just now, and what gives it.
replaced: dict[type, Callable[..., Any]] = {}

#: Whether a rule is being transposed: that is linear algebra, by each card's own rule.
transposing: ContextVar[bool] = ContextVar("transposing", default=False)

#: Compiled functions: their graphs may hold what a rule gave.
compiled: WeakSet[Any] = WeakSet()


def changed() -> None:
    """Say that a rule has changed: graphs derived before are not used again."""
    global version
    version += 1
    for function in list(compiled):
        function.forget("a derivative rule changed")


def kept(fn: F) -> F:
    """Remember the results of a function of a graph, or of a loop, in the graph itself: they are let go together."""

    def remembered(first: Any, *rest: Any) -> Any:
        held = vars(getattr(first, "body", first))  # a loop's in the graph of its body
        table = held.get("_kept")
        if table is None:
            table = held["_kept"] = {}
        key = (fn, first, *rest)
        if key not in table:
            table[key] = fn(first, *rest)
        return table[key]

    return wraps(fn)(remembered)  # type: ignore[return-value]


def derived(fn: F) -> F:
    """Remember the results of a function that applies rules, as long as no rule changes."""

    @kept
    def under(first: Any, _version: int, *rest: Any) -> Any:
        return fn(first, *rest)

    return wraps(fn)(lambda first, *rest: under(first, version, *rest))  # type: ignore[return-value]
