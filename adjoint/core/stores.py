"""Writes to Parameters. Outside of transforms they happen at once; a transform keeps them until its function has returned.

Inside, a store changes what the Parameter stands for: reads before it give the old value, reads after it the new one, and
gradients follow them: the gradient by a Parameter is that by the value it had when the call began.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core import context, placement
from adjoint.core.language import language


class Bindings(dict):
    """What Parameters stand for inside a transform, and what has been stored in them there."""

    outer: Any = None

    def __init__(self, pairs: Any = (), lower: Callable[[Any], Any] | None = None) -> None:
        super().__init__(pairs)
        self.stored: dict[Any, Any] = {}
        self.lower = lower  # from a value of this transform to one outside
        self._first: dict[Any, Any] = {}  # what they stood for before

    def store(self, p: Any, value: Any) -> None:
        """Let a Parameter stand for another value from here on."""
        cut = p.stores_are_constants and value.dtype.kind not in "biu"
        self.hold(p, language.replaced(p.current(), value) if cut else value)

    def hold(self, p: Any, value: Any) -> None:
        """Take a value for what was stored."""
        if p not in self.stored:
            self._first[p] = p.current()
        self.stored[p] = self[p] = value

    def back_to(self, stored: dict[Any, Any]) -> None:
        """As it was when these values had been stored."""
        for p in [p for p in self.stored if p not in stored]:
            self[p] = self._first.pop(p)
            del self.stored[p]
        for p, value in stored.items():
            self.hold(p, value)

    def since(self, stored: dict[Any, Any]) -> list[Any]:
        """The Parameters that have been written to since these values had been stored."""
        return [p for p, value in self.stored.items() if stored.get(p) is not value]

    def hand_on(self) -> None:
        """Store outside what was stored here; this scope is no longer the one in force."""
        for p, value in self.stored.items() if self.lower is not dropped else ():
            store(p, value if self.lower is None else self.lower(value))


def dropped(value: Any) -> Any:
    """As `lower`: nothing that is stored is kept, since the same function runs once more."""
    return value


def store(p: Any, value: Any) -> None:
    """Give a Parameter a value of its shape and dtype, by way of the transform that is active."""
    scope = context.bindings.get()
    if scope is not None:
        scope.store(p, value)
        return
    if (tape := context.open_tape.get()) is not None:
        tape.store(p, value)
    p._value = _held(value._plain(), p._value)


def _held(value: Any, before: Any) -> Any:
    """What a Parameter holds after a store: an array of its own. Host values go to its device, others stay where they are."""
    if placement.is_device_array(value):
        return value
    return placement.beside(np.array(value, before.dtype), before)
