"""Several processes as one program: how they find one another, meet, and end together.

JAX's distributed runtime computes across them (Gloo between CPUs, NCCL between GPUs). What it does not say, the roll call says: which
process did not come, and which was lost.
"""

from __future__ import annotations

import atexit
import contextlib
import inspect
import os
import socket
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from adjoint.backends.xla.devices import jax
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.random_counters import PROGRAM
from adjoint.parallel.launch_variables import LISTENER, Seat, heartbeat, seat
from adjoint.parallel.relay import Relay
from adjoint.parallel.roll_call import Coordinator, GroupMember, RollCall
from adjoint.parallel.wire import ProcessGroupError

LOST = 5  # the exit code of a process that ends because another was lost
COLLECTIVES = (
    "gloo",
    "nccl",
    "coordination service",
)  # in the words of errors that another process may be the cause of


@dataclass
class Running:
    """The run that this process belongs to."""

    seat: Seat
    process: int  # its number for the system: a fork of it is not part of the run
    patience: float  # how long to wait for the others at the end
    silence: float
    roll: RollCall
    relay: Relay | None
    failed: int = 0  # the exit code after an error that nobody caught


_running: Running | None = None
_ALONE = Seat("", 1, 0)


def initialize(
    coordinator: str | None = None,
    n: int | None = None,
    rank: int | None = None,
    *,
    devices: Sequence[int] | None = None,
    timeout: float = 300.0,
    heartbeat_timeout: float | None = None,
    shutdown_timeout: float = 300.0,
) -> None:
    """Make this process one of several that compute together. To be called before anything else uses JAX.

    What is not given is taken from the environment: `adjoint launch` and Slurm's `srun` say it by themselves, elsewhere
    ADJOINT_COORDINATOR, ADJOINT_PROCESSES and ADJOINT_RANK do. Where nothing says anything, this process is the only one. All
    processes begin with the random counter of rank 0, so that they sample the same. A second call does nothing.

    Args:
        coordinator: the host of rank 0 and a free port there, as "10.0.0.1:5000".
        n, rank: how many processes there are, and which of them this is.
        devices: the numbers of this machine's GPUs that this process is to use, if not all that it sees.
        timeout: seconds to wait for the others to come.
        heartbeat_timeout: seconds after which a process that is not heard from is lost (or ADJOINT_HEARTBEAT; 15 if neither
            says anything). A killed process is noticed at once.
        shutdown_timeout: seconds that a process at its end waits for the others to come to theirs.

    >>> from adjoint import parallel
    >>> parallel.initialize()
    >>> parallel.rank(), parallel.processes()
    (0, 1)
    """
    global _running
    wanted, silence = seat(coordinator, n, rank), heartbeat(heartbeat_timeout)
    if _running is not None:
        if wanted not in (_running.seat, _ALONE):
            is_now, asked = (f"rank {s.rank} of {s.n} at {s.coordinator}" for s in (_running.seat, wanted))
            raise ArgumentError(f"initialize: this process is {is_now} already, and cannot become {asked}{called_at()}")
        return
    if wanted.n == 1:
        return
    _refuse_if_late()
    roll, facts, relay = _meet(wanted, silence, timeout)
    _running = Running(wanted, os.getpid(), shutdown_timeout, silence, roll, relay)
    _follow_errors(_running)
    _start_jax(wanted, relay, facts["port"], devices, timeout, silence)
    PROGRAM.resume(int(facts["random"]))
    atexit.register(_leave, _running)


def rank() -> int:
    """Which process of the run this is, from 0.

    >>> from adjoint import parallel
    >>> parallel.rank()
    0
    """
    return _seat("rank").rank


def processes() -> int:
    """How many processes the run has.

    >>> from adjoint import parallel
    >>> parallel.processes()
    1
    """
    return _seat("processes").n


def barrier(name: str = "barrier", timeout: float = 600.0) -> None:
    """Wait until every process of the run has come to this barrier; after `timeout` seconds an error names those that did not.

    >>> from adjoint import parallel
    >>> parallel.barrier("all files are written")
    """
    if _seat("barrier").n > 1:
        assert _running is not None
        _running.roll.barrier(name, timeout)


def agree(what: str, said: str, timeout: float) -> None:
    """Wait until every process has come, and raise unless all of them say the same."""
    try:
        barrier(what, timeout)
        barrier(f"{what}: {said}", min(timeout, 20.0))
    except ProcessGroupError:
        raise ProcessGroupError(
            f"{what} is {said} in rank {rank()}, and something else in another: every process must give the same{called_at()}"
        ) from None


def _seat(caller: str) -> Seat:
    if _running is not None:
        return _running.seat
    if (found := seat(None, None, None)).n > 1:
        raise ProcessGroupError(
            f"parallel.{caller}: this is one of {found.n} processes, which have not met yet: call parallel.initialize() first{called_at()}"
        )
    return _ALONE


def _refuse_if_late() -> None:
    jax()  # where it is missing, a sentence says what to install
    from jax._src import xla_bridge

    begun = getattr(xla_bridge, "backends_are_initialized", None)
    if begun is not None and begun():
        raise ProcessGroupError(
            f"initialize: JAX has begun to work in this process, with its own devices only: call parallel.initialize() before "
            f"anything is computed with it, best at the top of the program{called_at()}"
        )
    if getattr(jax().distributed, "is_initialized", lambda: False)():
        raise ProcessGroupError(
            f"initialize: jax.distributed runs already: call parallel.initialize() in place of jax.distributed.initialize(){called_at()}"
        )


def _meet(
    where: Seat, silence: float, timeout: float
) -> tuple[Coordinator | GroupMember, dict[str, Any], Relay | None]:
    """Wait until all processes have come."""

    def lost(rank: int, why: str) -> None:
        _end(f"rank {rank} was lost: {why}", where)

    if where.rank == 0:
        coordinator = Coordinator(_listener(where), where.n, silence, lost)
        coordinator.gather(timeout)
        facts = {"port": _reserved_port(where), "random": PROGRAM.state()}
        coordinator.start(facts)
        return coordinator, facts, None
    member = GroupMember(where.host, where.port, where.rank, where.n, silence, lost)
    facts = member.join(timeout)
    return member, facts, Relay(where.host, facts["port"])


def _listener(where: Seat) -> socket.socket:
    handed = os.environ.get(LISTENER, "")
    if handed.isdecimal():
        with contextlib.suppress(OSError):
            found = socket.socket(fileno=int(handed))
            if found.getsockname()[1] == where.port:
                return found
            found.detach()
    try:
        if where.here:
            return socket.create_server((where.host, where.port))
        both = socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if both else socket.AF_INET
        return socket.create_server(("", where.port), family=family, dualstack_ipv6=both, backlog=128)
    except OSError as error:
        raise ProcessGroupError(
            f"initialize: rank 0 cannot listen on port {where.port} of this machine ({error.strerror}): choose another for coordinator{called_at()}"
        ) from None


_reserved: list[socket.socket] = []  # held until the program ends


def _reserved_port(where: Seat) -> int:
    """A port for JAX's coordinator, which may share it with a socket that is held here; nobody else is given it meanwhile."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    shared = hasattr(socket, "SO_REUSEPORT")
    if shared:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        _reserved.append(found)
    found.bind(("127.0.0.1" if where.here else "", 0))
    port = int(found.getsockname()[1])
    if not shared:
        found.close()
    return port


def _start_jax(
    where: Seat, relay: Relay | None, port: int, devices: Sequence[int] | None, timeout: float, silence: float
) -> None:
    module = jax()
    wanted = {
        "coordinator_address": f"127.0.0.1:{port if relay is None else relay.port}",
        "coordinator_bind_address": f"{'127.0.0.1' if where.here else '[::]'}:{port}",
        "num_processes": where.n,
        "process_id": where.rank,
        "local_device_ids": None if devices is None else list(devices),
        "cluster_detection_method": "deactivate",
        "initialization_timeout": max(1, int(timeout)),
        "heartbeat_timeout_seconds": max(100, int(4 * silence)),  # the roll call comes first, with a sentence
    }
    known = inspect.signature(module.distributed.initialize).parameters
    if module.config.jax_cpu_collectives_implementation in (None, "none"):
        module.config.update("jax_cpu_collectives_implementation", "gloo")
    if any(name.lower().endswith("_proxy") for name in os.environ):  # the relay is on this machine
        os.environ.setdefault("no_grpc_proxy", "127.0.0.1")
    with _without_signal_handler(module):
        try:
            module.distributed.initialize(**{name: value for name, value in wanted.items() if name in known})
        except (RuntimeError, ValueError) as error:
            raise ProcessGroupError(
                f"initialize: JAX's distributed runtime did not start: {error}{called_at()}"
            ) from None


@contextlib.contextmanager
def _without_signal_handler(module: Any) -> Any:
    """JAX's watch for SIGTERM would keep a process alive that is asked to end."""
    name = "jax_enable_preemption_service"
    before = getattr(module.config, name, None)
    if before is None:
        yield
        return
    module.config.update(name, False)
    try:
        yield
    finally:
        module.config.update(name, before)


# ---------------------------------------------------------------- the end


def _end(what: str, where: Seat) -> None:
    """End this process with a sentence, whatever its threads are doing."""
    text = (
        f"\nadjoint: {what}. Rank {where.rank} of {where.n} ends too, with exit code {LOST}; "
        "a run that is started again goes on from its last checkpoint.\n"
    )
    _flush()
    with contextlib.suppress(OSError):
        os.write(2, text.encode())
    os._exit(LOST)


def _flush() -> None:
    """Write out what was printed, unless that takes long: the reader may be gone."""

    def write_out() -> None:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()

    writer = threading.Thread(target=write_out, daemon=True)
    writer.start()
    writer.join(1.0)


def _follow_errors(run: Running) -> None:
    """After an error that nobody catches the others are told, at once."""
    show = sys.excepthook

    def told(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        show(kind, error, traceback)
        if os.getpid() != run.process:
            return
        if any(word in str(error).lower() for word in COLLECTIVES):
            time.sleep(
                run.silence + 2
            )  # likely the loss of another process: the roll call knows which, and ends this one
        run.failed = 130 if kind is KeyboardInterrupt else 1
        words = (str(error).strip().splitlines() or [""])[0][:200]
        run.roll.fail(f"it ended with {kind.__name__}{': ' * bool(words)}{words}")

    sys.excepthook = told


def _leave(run: Running) -> None:
    """At the end of the program: wait for the others, so that JAX's own end finds all of them."""
    if os.getpid() != run.process:
        return
    if run.failed:
        _flush()
        os._exit(run.failed)
    try:
        run.roll.leave(run.patience)
    except ProcessGroupError as error:
        run.roll.fail(f"it came to its end, and not all others came to theirs within {run.patience:g} s")
        _end(str(error), run.seat)
    if run.relay is not None:
        run.relay.release()
