"""Where the steps of a graph come from: the user's line, and the calls of functions and Cells around it."""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import Any, NamedTuple

from adjoint.core.context import DerivativePlace
from adjoint.core.errors import PACKAGE, user_place
from adjoint.frontend.files import is_users

FUNCTION, CELL, OP = "function", "cell", "op"


class CallScope(NamedTuple):
    """One call of a function or Cell; `number` tells the calls of one function apart."""

    kind: str
    name: str
    number: int
    detail: str = ""


class Origin(tuple[str, int]):
    """File and line of a step, as every node has them, with the calls around it and the step it belongs to.

    `key` is the number of the step of the forward graph: a step of a derivative graph has that of the step whose rule made it.
    """

    scope: tuple[CallScope, ...]
    key: int
    backward: bool

    def __new__(
        cls, place: tuple[str, int] | None, scope: tuple[CallScope, ...] = (), key: int = -1, backward: bool = False
    ) -> Origin:
        self = super().__new__(cls, place or ("", 0))
        self.scope, self.key, self.backward = scope, key, backward
        return self

    def derivative_place(self) -> Origin:
        """The origin of what a derivative rule makes for this step."""
        return DerivativeOrigin(self, self.scope, self.key, True)


class DerivativeOrigin(Origin, DerivativePlace):  # type: ignore[misc]
    """The origin of a step that a derivative rule made."""


def origin_of(node: Any) -> Origin:
    """The origin of a node, also of one that knows no more than its line."""
    place = node.place
    return place if isinstance(place, Origin) else Origin(place)


class Locator:
    """Says where the steps of a trace come from. What it has seen is let go with it, when the trace is over."""

    def __init__(self, root: FrameType) -> None:
        self._root = root  # what stands around the trace
        self._kinds: dict[CodeType, str] = {}
        self._calls: dict[Any, int] = {}
        self._count = 0

    def __call__(self) -> Origin:
        """The origin of the step that is being made."""
        place, frame = user_place(), sys._getframe(1)
        found: list[tuple[str, FrameType]] = []
        while frame is not None and frame is not self._root:
            code = frame.f_code
            kind = self._kinds.get(code)
            if kind is None:
                kind = self._kinds[code] = _kind(frame)
            if kind:
                found.append((kind, frame))
            frame = frame.f_back  # type: ignore[assignment]
        return Origin(place, self._scopes(found[::-1]))

    def _scopes(self, found: list[tuple[str, FrameType]]) -> tuple[CallScope, ...]:
        """The calls, the outermost first."""
        scopes: list[CallScope] = []
        last: FrameType | None = None
        outer: FrameType | None = None  # the call around
        path = ""  # of the Cell around
        for kind, frame in found:
            code, around = frame.f_code, scopes[-1].kind if scopes else ""
            if kind == FUNCTION:
                same = last is not None and (last.f_code.co_name, last.f_code.co_filename) == (
                    code.co_name,
                    code.co_filename,
                )
                last = frame
                if same or (around == CELL and code.co_name == "construct"):
                    continue  # the body of a loop or branch is a function of ours; a Cell stands for its own code
                name, detail = code.co_name.replace("<lambda>", "lambda"), ""
            elif kind == OP:
                if around == OP:
                    continue  # what a function of the library calls itself
                name, detail = code.co_name, ""
            else:
                cell = frame.f_locals["self"]
                detail, whole = type(cell).__name__, cell._path.rstrip(".")
                name, path = whole.removeprefix(path + ".") if path else whole, whole
                last = None
            number, outer = self._number(frame, outer), frame
            scopes.append(CallScope(kind, name or detail, number, detail if name else ""))
        return tuple(scopes)

    def _number(self, frame: FrameType, around: FrameType | None) -> int:
        """The number of a call: its frame bears it, and is not held, since a trace asks what is still there when a call has ended.

        Under a debugger, which has its own use for that place, calls from one place of the caller count as one.
        """
        mark = frame.f_trace
        if isinstance(mark, _CallNumber) and mark.of is self:
            return mark.number
        self._count += 1
        if mark is None and sys.gettrace() is None:
            frame.f_trace = _CallNumber(self, self._count)
            return self._count
        return self._calls.setdefault((frame.f_code, around and (around.f_code, around.f_lasti)), self._count)


class _CallNumber:
    """A number that a frame bears."""

    def __init__(self, of: Locator, number: int) -> None:
        self.of, self.number = of, number

    def __call__(self, *_: Any) -> None:
        """Nothing is traced."""


def _kind(frame: FrameType) -> str:
    """What a frame is a call of; empty for what is no part of the user's program."""
    code = frame.f_code
    path, name = code.co_filename, code.co_name
    if path.startswith(PACKAGE):
        inside = path[len(PACKAGE) :].replace("\\", "/")
        if inside == "nn/cell.py":
            return CELL if name == "_run" else ""
        public = inside.startswith("ops/functional/") and not name.startswith(("_", "<"))
        return OP if public and hasattr(sys.modules["adjoint.ops"], name) else ""
    return FUNCTION if is_users(path) and (name == "<lambda>" or not name.startswith("<")) else ""
