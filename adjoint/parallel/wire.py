"""Short messages between the processes of a run: lines of JSON on a socket, and silence that does not last."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from typing import Any

from adjoint.core.errors import AdjointError

LONGEST = 1 << 16  # bytes of a message
CLOSED = "its connection closed: it was killed, or ended without a word"


class ProcessGroupError(AdjointError, RuntimeError):
    """Processes of a run that do not find one another, or no longer hear from one another."""


class Wire:
    """One connection. Whoever is silent for longer than `silence` seconds is gone."""

    def __init__(self, connection: socket.socket, silence: float) -> None:
        connection.settimeout(silence)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection, self.silence = connection, silence
        self.reader = connection.makefile("rb")
        self.lock = threading.Lock()
        self.reading = False

    def send(self, **message: Any) -> None:
        """Send a message, or nothing where the other side is gone: whoever reads will see that."""
        line = json.dumps(message).encode() + b"\n"
        with contextlib.suppress(OSError), self.lock:
            self.connection.sendall(line)

    def receive(self) -> dict[str, Any]:
        """The next message that is more than a sign of life; `{"gone": why}` when there will be no other."""
        self.reading = True
        while (message := self._next()) == {"beat": 1}:
            pass
        self.reading = False
        if "gone" in message:
            self.close()
        return message

    def _next(self) -> dict[str, Any]:
        try:
            line = self.reader.readline(LONGEST)
        except TimeoutError:
            return {"gone": f"nothing was heard from it for {self.silence:g} s: it is stopped, or its machine is down"}
        except (OSError, ValueError):
            return {"gone": CLOSED}
        return _read(line) if line.endswith(b"\n") else {"gone": CLOSED}

    def close(self) -> None:
        """End the connection, also for a thread that reads from it, which then closes its own end of it."""
        for end in (lambda: self.connection.shutdown(socket.SHUT_RDWR), self.connection.close):
            with contextlib.suppress(OSError):
                end()
        if not self.reading:
            self.reader.close()


def _read(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError:
        message = None
    return message if isinstance(message, dict) else {"gone": "it sent what is no message of adjoint"}


def stop_listening(listener: socket.socket) -> None:
    """Close a socket that listens, also for a thread that waits there."""
    for end in (lambda: listener.shutdown(socket.SHUT_RDWR), listener.close):
        with contextlib.suppress(OSError):
            end()


def beat(wires: Any, silence: float, ended: threading.Event) -> None:
    """Send signs of life on all these connections until the end."""
    while not ended.wait(silence / 5):
        for wire in list(wires()):
            wire.send(beat=1)


def in_background(work: Any, *arguments: Any) -> None:
    """Run in a thread that does not keep the program alive."""
    threading.Thread(target=work, args=arguments, daemon=True, name=f"adjoint {work.__name__}").start()


def ranks_text(ranks: Any) -> str:
    """Ranks in a sentence.

    >>> ranks_text([2]), ranks_text({3, 1})
    ('rank 2', 'ranks 1, 3')
    """
    listed = sorted(ranks)
    shown = ", ".join(map(str, listed[:8])) + (", ..." if len(listed) > 8 else "")
    return f"rank {shown}" if len(listed) == 1 else f"ranks {shown}"
