"""The user's variables: which values they hold while a function runs, seen line by line as a debugger sees them."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from adjoint.core.dispatch import Value
from adjoint.frontend.files import is_users


class Watching:
    """While this is open, each Tensor that a variable of the user's is bound to is noted, with the variable's name.

    >>> found = []
    >>> with Watching(lambda name, value: found.append(name)):
    ...     pass
    >>> found
    []
    """

    def __init__(self, note: Callable[[str, Any], None]) -> None:
        self._note = note
        self._users: dict[CodeType, bool] = {}  # whether a function is the user's
        self._seen: dict[int, weakref.ref[Any]] = {}  # Tensors that have a name already, not held by it

    def __enter__(self) -> Watching:
        self._before = sys.gettrace()
        sys.settrace(self._entered)
        return self

    def __exit__(self, *exc: object) -> None:
        sys.settrace(self._before)

    def _entered(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        mine = self._users.get(code)
        if mine is None:
            ours = str(frame.f_globals.get("__name__", "")).split(".")[0] == "adjoint"
            mine = self._users[code] = is_users(code.co_filename) and not ours
        if not mine:
            return None
        self._look(frame)
        return self._stepped

    def _stepped(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event != "exception":
            self._look(frame)
        return self._stepped

    def _look(self, frame: FrameType) -> None:
        for name, value in list(frame.f_locals.items()):
            if isinstance(value, Value) and _is_users_name(name) and not self._has_name(value):
                self._seen[id(value)] = weakref.ref(value)
                self._note(name, value)

    def _has_name(self, value: Any) -> bool:
        known = self._seen.get(id(value))
        return known is not None and known() is value


def _is_users_name(name: str) -> bool:
    """Whether the user wrote a name, rather than Python (`.0`) or what reads the source (`_ad_item`)."""
    return name.isidentifier() and not name.startswith("_ad")
