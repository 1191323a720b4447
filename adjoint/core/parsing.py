"""Python's parser and its cache of source lines, for one thread at a time.

The parser counts nested nodes in one place for all threads: two that build trees at once end in `SystemError: AST constructor
recursion depth mismatch`. The cache of lines drops a file and reads it again, and another thread finds it gone.
"""

from __future__ import annotations

import ast
import linecache
import threading
from typing import Any

_LOCK = threading.RLock()


def lines_of(filename: str, module_globals: dict[str, Any] | None = None) -> list[str]:
    """The lines of a file as they were when it was loaded, as far as Python knows them; none if it does not."""
    with _LOCK:
        while True:
            try:
                return linecache.getlines(filename, module_globals)
            except KeyError:  # dropped meanwhile by a thread that shows a traceback
                continue


def line_of(filename: str, number: int) -> str:
    """One line of a file, by its number from 1; empty if there is none."""
    lines = lines_of(filename)
    return lines[number - 1] if 1 <= number <= len(lines) else ""


def parsed(text: str, filename: str = "<unknown>", mode: str = "exec") -> Any:
    """The tree of a text."""
    with _LOCK:
        return ast.parse(text, filename, mode)
