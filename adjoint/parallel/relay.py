"""A relay between JAX's client and its coordinator, in each process but the first.

JAX aborts a process within milliseconds after its connection to the coordinator breaks, without a sentence. The relay keeps JAX's end
open when the other end breaks, so that the roll call has the time to say who was lost, and to end the process in order.
"""

from __future__ import annotations

import contextlib
import socket
import threading

from adjoint.parallel.wire import in_background, stop_listening


class Relay:
    """Passes on everything between connections to its own `port` on this machine and an address."""

    def __init__(self, host: str, port: int) -> None:
        self.target = (host, port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])
        self.released = threading.Event()
        in_background(self._accept)

    def release(self) -> None:
        """From now on a connection that ends at one side ends at the other: the program is at its end."""
        self.released.set()
        stop_listening(self.listener)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self.target, 10.0)
            except OSError:
                near.close()  # JAX tries again
                continue
            far.settimeout(None)
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            in_background(self._outward, near, far)
            in_background(self._inward, far, near)

    def _outward(self, near: socket.socket, far: socket.socket) -> None:
        """What JAX sends, until it ends the connection; what cannot be passed on any more is dropped."""
        with contextlib.suppress(OSError):
            while data := near.recv(1 << 16):
                with contextlib.suppress(OSError):
                    far.sendall(data)
        with contextlib.suppress(OSError):
            far.shutdown(socket.SHUT_RDWR)
        near.close()

    def _inward(self, far: socket.socket, near: socket.socket) -> None:
        """What JAX receives; that there will be nothing more is passed on at the end of the program only."""
        with contextlib.suppress(OSError):
            while data := far.recv(1 << 16):
                near.sendall(data)
        if self.released.is_set():
            with contextlib.suppress(OSError):
                near.shutdown(socket.SHUT_RDWR)
        far.close()
