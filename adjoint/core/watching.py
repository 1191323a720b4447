"""What looks on while a program runs: `debug_nan` and `profile`. Where nobody does, it costs the look at an empty list."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from adjoint.core import rules
from adjoint.core.errors import ArgumentError, called_at

#: The watchers that are on, in any thread: the engine asks no further while this is empty.
active: list[Watcher] = []

#: The watcher of this thread's `with` block.
_here: ContextVar[Watcher | None] = ContextVar("watcher_here", default=None)


class Watcher:
    """Is told of each op that runs on arrays, of each derivative rule, and of each graph that runs step by step."""

    name = "a watcher"
    everywhere = False  # whether it looks on in all threads

    def call(self, op: Any, arrays: Any) -> Any:
        """Run the kernel of an op on arrays."""
        raise NotImplementedError

    def recorded(self, record: Any) -> None:
        """A tape has recorded a call."""

    def pulled(self, record: Any, g: Any, y: Any, xs: Any) -> Any:
        """The cotangents of a recorded call's inputs; those of inputs that no tape tracks are not wanted."""
        raise NotImplementedError

    def swept(self, gradients: dict[Any, Any]) -> None:
        """A backward pass is over, with these cotangents of records."""

    def pushed(self, op: Any, ts: Any, y: Any, xs: Any, record: Any = None) -> Any:
        """The tangent of a call's result; of one that a tape has recorded, the record too."""
        raise NotImplementedError

    def steps(self, steps: Any, values: list[Any]) -> list[Any]:
        """Run the steps of a graph; `values` has the inputs and constants filled in."""
        raise NotImplementedError


def watcher() -> Watcher | None:
    """Who looks on just now; None in a thread in which nobody does."""
    return _here.get() or next((w for w in reversed(active) if w.everywhere), None)


@contextmanager
def nobody() -> Iterator[None]:
    """While the watcher of this thread does not look."""
    token = _here.set(None)
    try:
        yield
    finally:
        _here.reset(token)


def begin(new: Watcher) -> Any:
    """Let a watcher look on, in this thread or everywhere. Gives what `end` takes."""
    known = watcher()
    if known is not None and known.name != new.name:
        raise ArgumentError(f"{new.name} inside {known.name}: one of them at a time{called_at()}")
    active.append(new)
    for function in list(rules.compiled):
        function.take_the_long_way()
    return None if new.everywhere else _here.set(new)


def end(old: Watcher, token: Any) -> None:
    """Let it go."""
    active.remove(old)
    if token is not None:
        _here.reset(token)
