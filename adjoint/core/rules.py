"""The version of all derivative rules: what was derived under an older one is derived anew."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, TypeVar
from weakref import WeakSet

F = TypeVar("F", bound=Callable[..., Any])

#: One more with each rule that is registered, replaced or restored (`bprop_getters`, `defvjp`, `defjvp`).
version = 0

#: The cards whose rule comes from outside just now.
replaced: tuple[type, ...] = ()

#: Whether a rule is being transposed: that is linear algebra, by each card's own rule.
transposing: ContextVar[bool] = ContextVar("transposing", default=False)

_derived: list[Any] = []  # caches of what was derived by rules

#: Compiled functions: their graphs may hold what a rule gave.
compiled: WeakSet[Any] = WeakSet()


def changed() -> None:
    """Say that a rule has changed: graphs derived before are not used again."""
    global version
    version += 1
    for cache in _derived:
        cache.cache_clear()
    for function in list(compiled):
        function.forget("a derivative rule changed")


def derived(fn: F) -> F:
    """Remember the results of a function that applies rules, as long as no rule changes."""
    cache = lru_cache(maxsize=1024)(fn)
    _derived.append(cache)
    return cache  # type: ignore[return-value]
