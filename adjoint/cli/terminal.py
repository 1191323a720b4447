"""Text on a terminal: colours where they are shown, and characters that every terminal can take."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import Any, TextIO

STYLES = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "dim": "2"}


def coloured(stream: TextIO) -> bool:
    """Whether a stream shows colours: a terminal, unless NO_COLOR is set or the terminal is a plain one."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(getattr(stream, "isatty", lambda: False)())


def styled(text: str, style: str, stream: TextIO | None = None) -> str:
    """The text in a style, where the stream shows it."""
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if coloured(stream or sys.stdout) else text


def heading(text: str) -> None:
    """A line above a part of the output."""
    print(f"\n{styled(text, 'bold')}")


def take_any_character() -> None:
    """Let the streams replace characters that their encoding lacks, in place of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError):
                stream.reconfigure(errors="replace")


def columns(rows: list[list[Any]]) -> str:
    """Rows of a table, lined up to the left."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[k]) for row in texts) for k in range(len(texts[0]))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in texts)
