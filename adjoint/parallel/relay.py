"""A relay between JAX's client and its coordinator, in each process but the first.

JAX aborts a process within milliseconds after its connection to the coordinator breaks, without a sentence. The relay keeps JAX's end
open when the other end breaks, so that the roll call has the time to say who was lost, and to end the process in order.
"""

from __future__ import annotations

import contextlib
import socket
import threading

from adjoint.parallel.wire import in_background


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
        self.listener.close()

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
            in_background(self._pass_on, near, far, True)
            in_background(self._pass_on, far, near, False)

    def _pass_on(self, source: socket.socket, sink: socket.socket, outward: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        if outward or self.released.is_set():
            for end in (source, sink):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
