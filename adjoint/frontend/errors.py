"""What the front end refuses, with the user's file, line and column."""

from __future__ import annotations

import linecache
import os

from adjoint.core.errors import AdjointError


class SourceError(AdjointError, OSError):
    """The source of a function could not be found, so its control flow cannot be read."""


class UnsupportedSyntaxError(AdjointError, SyntaxError):
    """Syntax that cannot become part of a graph: `filename`, `lineno`, `offset` (from 1) and `text` say where it is."""

    def __init__(self, message: str, filename: str, lineno: int, offset: int) -> None:
        text = linecache.getline(filename, lineno)
        super().__init__(message, (filename, lineno, offset, text or None))


class ControlFlowError(AdjointError, TypeError):
    """A branch or loop on graph values whose variables do not fit together."""


def place(filename: str, lineno: int, offset: int) -> str:
    """A position as messages show it, with the column counted from 1."""
    return f"{os.path.basename(filename)}:{lineno}:{offset}"
