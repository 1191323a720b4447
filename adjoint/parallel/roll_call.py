"""Who of a run is there: rank 0 hears from every process, says who was lost, and opens barriers.

Rank 0 listens on the coordinator's address; each other process has one connection to it. A killed process closes its
connection, and a machine that went down is silent: both are known in a bounded time, whatever the main thread waits for.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from adjoint.parallel.wire import ProcessGroupError, Wire, beat, in_background, ranks_text, stop_listening

OnLoss = Callable[[int, str], None]


class RollCall(Protocol):
    """What a process knows of the others."""

    def barrier(self, name: str, timeout: float) -> None:
        """Wait until every process has come here."""

    def leave(self, timeout: float) -> None:
        """Say that this process is done, and wait until all are."""

    def fail(self, why: str) -> None:
        """Say that this process ends with an error."""


class Coordinator:
    """Rank 0: accepts the others, and watches them.

    Args:
        listener: a socket that listens.
        n: the processes of the run, with this one.
        silence: seconds after which a process that is not heard from is lost.
        on_loss: called with the rank that was lost and why, in a thread.
    """

    def __init__(self, listener: socket.socket, n: int, silence: float, on_loss: OnLoss) -> None:
        self.listener, self.n, self.silence, self.on_loss = listener, n, silence, on_loss
        self.wires: dict[int, Wire] = {}
        self.came: dict[str, set[int]] = defaultdict(set)  # by barrier
        self.passed: Counter[str] = Counter()
        self.left: set[int] = set()
        self.refusal = ""
        self.begun = False
        self.change = threading.Condition()
        self.ended = threading.Event()

    def gather(self, timeout: float) -> None:
        """Wait until the processes of all ranks have come."""
        in_background(self._accept)
        with self.change:
            self.change.wait_for(lambda: self.refusal or len(self.wires) == self.n - 1, timeout)
            missing = set(range(1, self.n)) - set(self.wires)
        if self.refusal or missing:
            why = self.refusal or f"{ranks_text(missing)} of {self.n} did not come within {timeout:g} s"
            self._tell_all(refused=why)
            self.close()
            raise ProcessGroupError(f"initialize: {why}")

    def start(self, facts: Mapping[str, Any]) -> None:
        """Tell all what they need to begin, and watch them from now on."""
        self.begun = True
        self._tell_all(go=dict(facts))
        for rank, wire in self.wires.items():
            in_background(self._listen, rank, wire)
        in_background(beat, lambda: self.wires.values(), self.silence, self.ended)

    def barrier(self, name: str, timeout: float) -> None:
        """Wait until every process has come here."""
        self.passed[name] += 1
        key = f"{name}#{self.passed[name]}"
        self._arrive(key, 0)
        with self.change:
            if not self.change.wait_for(lambda: len(self.came[key]) == self.n, timeout):
                raise ProcessGroupError(late(name, timeout, self._missing(key)))
            del self.came[key]

    def leave(self, timeout: float) -> None:
        """Wait until all processes are done."""
        self._part(0)
        with self.change:
            done = self.change.wait_for(lambda: len(self.left) == self.n, timeout)
            staying = set(range(self.n)) - self.left
        if not done:
            raise ProcessGroupError(late("the end of the program", timeout, staying))
        self.ended.set()  # from here on, a connection that closes is no loss
        self._tell_all(all_done=True)

    def fail(self, why: str) -> None:
        """Tell the others, and give them time to hear it."""
        self.ended.set()
        self._tell_all(lost=0, why=why)
        self._until_heard()

    def close(self) -> None:
        """End all connections."""
        self.ended.set()
        stop_listening(self.listener)
        for wire in list(self.wires.values()):
            wire.close()

    def _accept(self) -> None:
        while not self.ended.is_set():
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            in_background(self._greet, Wire(connection, self.silence))

    def _greet(self, wire: Wire) -> None:
        """Take a process in, or say why not; what is no process of ours is sent away."""
        said = wire.receive()
        rank, n = said.get("hello"), said.get("n")
        if type(rank) is not int or type(n) is not int:
            return wire.close()
        if self.begun:
            wire.send(late=f"rank {rank} comes to a run of {self.n} processes that has begun without it")
            return wire.close()
        with self.change:
            why = self._objection(rank, n)
            if not why:
                self.wires[rank] = wire
            elif len(self.wires) < self.n - 1:
                self.refusal = why
            self.change.notify_all()
        if why:
            wire.send(refused=why)
            wire.close()
        return None

    def _objection(self, rank: int, n: int) -> str:
        if n != self.n:
            return f"rank {rank} was started as one of {n} processes, rank 0 as one of {self.n}"
        if not 0 < rank < n:
            return f"rank {rank} of {n} came to rank 0: ranks count from 0 to {n - 1}, and there is one of each"
        return f"two processes were started as rank {rank}" if rank in self.wires else ""

    def _listen(self, rank: int, wire: Wire) -> None:
        while "gone" not in (message := wire.receive()):
            self._hear(rank, wire, message)
        why = str(message["gone"])
        with self.change:
            self.wires.pop(rank, None)
            self.change.notify_all()
            expected = self.ended.is_set()
            if not expected:
                self.ended.set()
        if not expected:
            self._tell_all(lost=rank, why=why)
            self._until_heard()
            self.on_loss(rank, why)

    def _hear(self, rank: int, wire: Wire, message: Mapping[str, Any]) -> None:
        if "at" in message:
            self._arrive(str(message["at"]), rank)
        elif "who" in message:
            wire.send(missing=sorted(self._missing(str(message["who"]))))
        elif "bye" in message:
            self._part(rank)

    def _until_heard(self) -> None:
        """Wait until the others have closed their connections: what is sent to them must not be lost by an early end."""
        with self.change:
            self.change.wait_for(lambda: not self.wires, 2.0)

    def _arrive(self, key: str, rank: int) -> None:
        with self.change:
            self.came[key].add(rank)
            complete = len(self.came[key]) == self.n
            self.change.notify_all()
        if complete:
            self._tell_all(open=key)

    def _part(self, rank: int) -> None:
        with self.change:
            self.left.add(rank)
            self.change.notify_all()

    def _missing(self, key: str) -> set[int]:
        with self.change:
            return set(range(self.n)) - self.came.get(key, set())

    def _tell_all(self, **message: Any) -> None:
        for wire in list(self.wires.values()):
            wire.send(**message)


class GroupMember:
    """Any other rank: one connection to rank 0.

    Args:
        host, port: where rank 0 listens.
        rank, n: which process of how many this is.
        silence, on_loss: as for the Coordinator.
    """

    def __init__(self, host: str, port: int, rank: int, n: int, silence: float, on_loss: OnLoss) -> None:
        self.host, self.port, self.rank, self.n = host, port, rank, n
        self.silence, self.on_loss = silence, on_loss
        self.opened: set[str] = set()
        self.passed: Counter[str] = Counter()
        self.missing: list[int] | None = None
        self.all_done = False
        self.change = threading.Condition()
        self.ended = threading.Event()
        self.wire: Wire

    def join(self, timeout: float) -> dict[str, Any]:
        """Find rank 0, and wait until all have come; gives what rank 0 says to begin with.

        A rank 0 that ends, or that belongs to a run which has lost a process, may be about to start again.
        """
        until = time.monotonic() + timeout
        while True:
            self.wire = Wire(self._connect(until, timeout), max(until - time.monotonic(), 0.1))
            self.wire.send(hello=self.rank, n=self.n)
            said = self.wire.receive()
            if "go" in said or "refused" in said or time.monotonic() + 0.5 > until:
                break
            self.wire.close()
            time.sleep(0.2)
        if "go" not in said:
            self.wire.close()
            ended = f"rank 0 at {self.host}:{self.port} answered, and then ended or fell silent before all had come"
            raise ProcessGroupError(f"initialize: {said.get('refused') or said.get('late') or ended}")
        self.wire.silence = self.silence
        self.wire.connection.settimeout(self.silence)
        in_background(self._listen)
        in_background(beat, lambda: [self.wire], self.silence, self.ended)
        return dict(said["go"])

    def barrier(self, name: str, timeout: float) -> None:
        """Wait until every process has come here."""
        self.passed[name] += 1
        key = f"{name}#{self.passed[name]}"
        self.wire.send(at=key)
        with self.change:
            if self.change.wait_for(lambda: key in self.opened, timeout):
                return self.opened.discard(key)
            self.missing = None
            self.wire.send(who=key)
            self.change.wait_for(lambda: self.missing is not None, 2.0)
            raise ProcessGroupError(late(name, timeout, self.missing or []))

    def leave(self, timeout: float) -> None:
        """Say that this process is done, and wait until all are."""
        self.wire.send(bye=True)
        with self.change:
            if not self.change.wait_for(lambda: self.all_done, timeout):
                raise ProcessGroupError(late("the end of the program", timeout, []))

    def fail(self, why: str) -> None:
        """Tell rank 0, which tells the others."""
        self.ended.set()
        self.wire.send(gone=why)

    def _connect(self, until: float, timeout: float) -> socket.socket:
        while True:
            try:
                return socket.create_connection((self.host, self.port), max(until - time.monotonic(), 0.1))
            except OSError as error:
                if time.monotonic() + 0.2 > until:
                    raise ProcessGroupError(
                        f"initialize: rank {self.rank} did not reach rank 0 at {self.host}:{self.port} within {timeout:g} s "
                        f"({error}): is rank 0 started, and is that its address?"
                    ) from None
            time.sleep(0.1)

    def _listen(self) -> None:
        while not {"lost", "gone"} & set(message := self.wire.receive()):
            self._hear(message)
        lost, why = int(message.get("lost", 0)), str(message.get("why", message.get("gone")))
        if not (self.all_done or self.ended.is_set()):
            self.ended.set()
            self.on_loss(lost, why)

    def _hear(self, message: Mapping[str, Any]) -> None:
        with self.change:
            if "open" in message:
                self.opened.add(str(message["open"]))
            elif "missing" in message:
                self.missing = list(message["missing"])
            elif "all_done" in message:
                self.all_done = True
                self.ended.set()
            self.change.notify_all()


def late(name: str, timeout: float, missing: Any) -> str:
    """The sentence for a barrier that did not open in time."""
    who = ranks_text(missing) if missing else "another process"
    return f"barrier {name!r}: {who} did not come within {timeout:g} s, though still running"
