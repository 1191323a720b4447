"""What the front end refuses, with the user's file, line and column."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from adjoint.core.errors import AdjointError
from adjoint.core.parsing import line_of

if TYPE_CHECKING:
    from adjoint.frontend.site import Site


class SourceError(AdjointError, OSError):
    """The source of a function could not be found, so its control flow cannot be read."""


class UnsupportedSyntaxError(AdjointError, SyntaxError):
    """Syntax that cannot become part of a graph: `filename`, `lineno`, `offset` (from 1) and `text` say where it is."""

    def __init__(self, message: str, filename: str, lineno: int, offset: int) -> None:
        text = line_of(filename, lineno)
        super().__init__(message, (filename, lineno, offset, text or None))


class ControlFlowError(AdjointError, TypeError):
    """A branch or loop on graph values whose variables do not fit together."""


def contains_itself(what: str) -> ControlFlowError:
    """A list or dict that is an item of itself, directly or not."""
    return ControlFlowError(f"{what} contains itself, which a graph cannot hold: take what is needed out of it")


def only_defined_in(where: str, name: str, before: str) -> ControlFlowError:
    """A variable that is used later has no value on some way."""
    return ControlFlowError(
        f"`{name}` is only defined in {where}, and it is used later: give it a value before {before}"
    )


class LeakError(AdjointError, RuntimeError):
    """A graph value was stored in an object that outlives the trace: `filename`, `lineno` and `offset` (from 1) say where."""

    def __init__(self, site: Site, value: str) -> None:
        self.filename, self.lineno, self.offset = site.filename, site.line, site.column
        super().__init__(
            f"`{site.text}` at {site.place} keeps {value} in an object that outlives the function, but the value is known only "
            f"when the graph runs: after the trace it has no number. (A branch of ad.cond, the body of a loop and a function with a rule "
            f"of its own are functions that may be traced by themselves.) Return it from the function instead"
        )


def place(filename: str, lineno: int, offset: int) -> str:
    """A position as messages show it, with the column counted from 1."""
    return f"{os.path.basename(filename)}:{lineno}:{offset}"
