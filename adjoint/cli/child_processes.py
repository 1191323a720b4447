"""Processes that are started together and end together, whichever way they end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, BinaryIO

GRACE = 10.0  # seconds in which the others end by themselves after a failure: they have a sentence to say
PATIENCE = 5.0  # seconds between asking a process to end and ending it

#: Run in each child before the program: where this system can, the child ends when the launcher does, also if that is killed.
_BEFORE = """\
import os, signal, sys
try:
    import ctypes
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
except (ImportError, OSError, AttributeError):  # no such call on this system
    pass
if os.getppid() != int(sys.argv[1]):
    os._exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""


@dataclass(frozen=True)
class Outcome:
    """How a run ended: the exit code, of which process, and whether the user or the system asked for the end."""

    code: int
    rank: int = 0
    interrupted: bool = False


class Children:
    """The processes of a run. Leaving the `with` ends those that are left."""

    def __init__(self) -> None:
        self.started: list[subprocess.Popen[bytes]] = []
        self.readers: list[threading.Thread] = []
        self.asked: int = 0  # the signal by which this process was asked to end
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Children:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        self.end(signal.SIGTERM)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def start(self, command: Sequence[str], environment: Mapping[str, str], handed: Sequence[int]) -> None:
        """Start one more, in a process group of its own; `handed` are the files that it gets open."""
        rank = len(self.started)
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _BEFORE, str(os.getpid()), *command],
            env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, pass_fds=handed,
        )  # fmt: skip
        self.started.append(child)
        for source, sink in ((child.stdout, sys.stdout), (child.stderr, sys.stderr)):
            assert source is not None
            reader = threading.Thread(target=_show, args=(source, _writer(sink), f"[{rank}] "), daemon=True)
            reader.start()
            self.readers.append(reader)

    def wait(self, follower: int) -> Outcome:
        """Wait for the end of all. After a failure the others have some seconds to end by themselves.

        `follower` is the exit code of a process that ends because another did: it is not the first that failed.
        """
        failed: Outcome | None = None
        while failed is None and not self._ended() and not self.asked:
            time.sleep(0.05)
            failed = self._failed(follower)
        if self.asked:
            self.end(self.asked)
            return Outcome(128 + self.asked, interrupted=True)
        if failed is not None:
            self._until(lambda: self._ended() or bool(self.asked), GRACE)
            failed = self._failed(follower)
        self.end(signal.SIGTERM)
        return failed or self._failed(follower) or Outcome(0)

    def end(self, number: int) -> None:
        """Ask those that are left to end, then end them and all that they started."""
        asked_before, self.asked = self.asked, 0
        self._signal(number)
        self._until(lambda: self._ended() or bool(self.asked), PATIENCE)  # who asks again does not want to wait
        self._signal(signal.SIGKILL, groups=True)
        for child in self.started:
            child.wait()
        for reader in self.readers:
            reader.join(1.0)
        self.asked = self.asked or asked_before

    def _signal(self, number: int, groups: bool = False) -> None:
        for child in self.started:
            if groups or child.poll() is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(child.pid, number)

    def _failed(self, follower: int) -> Outcome | None:
        codes = [(rank, child.returncode) for rank, child in enumerate(self.started) if child.returncode]
        first = next((c for c in codes if c[1] != follower), codes[0] if codes else None)
        return None if first is None else Outcome(first[1] if first[1] > 0 else 128 - first[1], first[0])

    def _ended(self) -> bool:
        return None not in [
            child.poll() for child in self.started
        ]  # each is asked: that is how its exit code becomes known

    def _until(self, true: Callable[[], bool], seconds: float) -> None:
        until = time.monotonic() + seconds
        while not true() and time.monotonic() < until:
            time.sleep(0.02)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self.asked = number


def _writer(stream: Any) -> Callable[[bytes], None]:
    """Writes whole lines of bytes to a text stream of this process."""

    def write(line: bytes) -> None:
        stream.write(line.decode(errors="replace"))
        stream.flush()

    return write


def _show(source: BinaryIO, write: Callable[[bytes], None], prefix: str) -> None:
    """Copy lines with a prefix, each in one piece."""
    with source:
        for line in source:
            with contextlib.suppress(OSError, ValueError):  # whoever read the output has gone: the processes go on
                write(prefix.encode() + line + (b"" if line.endswith(b"\n") else b"\n"))
