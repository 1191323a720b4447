"""Python's parser, for one thread at a time.

The parser counts nested nodes in one place for all threads: two that build trees at once end in `SystemError: AST constructor
recursion depth mismatch`.
"""

from __future__ import annotations

import ast
import threading
from typing import Any

_LOCK = threading.RLock()


def parsed(text: str, filename: str = "<unknown>", mode: str = "exec") -> Any:
    """The tree of a text."""
    with _LOCK:
        return ast.parse(text, filename, mode)
