"""A line on the terminal when compiling takes long: what is being done, and which loop was unrolled."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TextIO

AFTER, EVERY = 2.0, 0.5  # seconds until it is shown, and until it is shown anew
_ERASED = "\r\x1b[K"


class CompileLine:
    """The line for one program, written by a thread of its own."""

    def __init__(self, name: str, stream: TextIO) -> None:
        self.name, self.stream = name, stream
        self.stage = self.note = ""
        self._began = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._show, name="adjoint compile line", daemon=True)
        self._thread.start()

    def _show(self) -> None:
        left = AFTER
        while not self._over.wait(left):
            self.stream.write(_ERASED + self.text()[: shutil.get_terminal_size().columns - 1])
            self.stream.flush()
            left = EVERY
        if left == EVERY:
            self.stream.write(_ERASED)
            self.stream.flush()

    def text(self) -> str:
        """What is shown."""
        seconds = time.monotonic() - self._began
        return "; ".join(part for part in (f"compiling {self.name}, {seconds:.0f} s", self.stage, self.note) if part)

    def end(self) -> None:
        """Take the line away."""
        self._over.set()
        self._thread.join()


_current: ContextVar[CompileLine | None] = ContextVar("compile line", default=None)


@contextmanager
def shown(name: str) -> Iterator[None]:
    """What is done inside has a line, if there is a terminal and it takes long; what is compiled on the way belongs to it."""
    stream = sys.stderr
    if _current.get() is not None or stream is None or not stream.isatty():
        yield
        return
    line = CompileLine(name, stream)
    token = _current.set(line)
    try:
        yield
    finally:
        _current.reset(token)
        line.end()


def stage(what: str) -> None:
    """Say what is being done now."""
    if (line := _current.get()) is not None:
        line.stage = what


def note(what: str) -> None:
    """Say what makes it long."""
    if (line := _current.get()) is not None:
        line.note = what
