"""Which process of a run this is, from arguments, from variables of the environment, or from Slurm."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at

COORDINATOR, PROCESSES, RANK = "ADJOINT_COORDINATOR", "ADJOINT_PROCESSES", "ADJOINT_RANK"
LISTENER = "ADJOINT_LISTENER"  # the number of the open socket that `adjoint launch` hands to rank 0
HEARTBEAT = "ADJOINT_HEARTBEAT"
RESTART = "ADJOINT_RESTART"  # how often `adjoint launch` has started the run again
FIRST_PORT, PORTS = 61000, 4000  # for runs of Slurm: above those that systems give out by themselves


@dataclass(frozen=True)
class Seat:
    """Where rank 0 listens, and which process of how many this is."""

    coordinator: str
    n: int
    rank: int

    @property
    def host(self) -> str:
        return self.coordinator.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        return int(self.coordinator.rpartition(":")[2])

    @property
    def here(self) -> bool:
        """Whether all processes are on this machine."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


def seat(
    coordinator: str | None, n: int | None, rank: int | None, environment: Mapping[str, str] | None = None
) -> Seat:
    """The seat of this process: what is not given is taken from the environment; one process where nothing says anything.

    >>> seat(None, None, None, {})
    Seat(coordinator='', n=1, rank=0)
    >>> seat("10.0.0.1:5000", 4, 3, {}).host
    '10.0.0.1'
    >>> seat(None, None, None, {"ADJOINT_PROCESSES": "4", "ADJOINT_RANK": "1"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    adjoint.core.errors.ArgumentError: initialize: the address of rank 0 is missing: give coordinator= or set ADJOINT_COORDINATOR...
    """
    env = os.environ if environment is None else environment
    said = {COORDINATOR: coordinator, PROCESSES: n, RANK: rank}
    found: dict[str, object] = {name: env.get(name) if value is None else value for name, value in said.items()}
    found = {name: value for name, value in found.items() if value not in (None, "")}
    if not found:
        return _of_slurm(env) or Seat("", 1, 0)
    for name, what, argument in (
        (PROCESSES, "the number of processes", "n"),
        (RANK, "the rank of this process", "rank"),
        (COORDINATOR, "the address of rank 0", "coordinator"),
    ):
        if name not in found and not (name == COORDINATOR and found[PROCESSES] in (1, "1")):
            has = f" (there is {', '.join(sorted(found))})"
            raise ArgumentError(f"initialize: {what} is missing: give {argument}= or set {name}{has}{called_at()}")
    return _checked(found.get(COORDINATOR, ""), _number(PROCESSES, found[PROCESSES]), _number(RANK, found[RANK]))


def _checked(coordinator: object, n: int, rank: int) -> Seat:
    if n < 1 or not 0 <= rank < n:
        raise ArgumentError(f"initialize: rank {rank} of {n} processes: ranks count from 0 to n - 1{called_at()}")
    if not isinstance(coordinator, str):
        raise ArgumentTypeError(
            f"initialize: coordinator must be a text as '10.0.0.1:5000', not {coordinator!r}{called_at()}"
        )
    host, _, port = coordinator.rpartition(":")
    if n > 1 and not (host and port.isdecimal() and 0 < int(port) < 65536):
        raise ArgumentError(
            f"initialize: coordinator must be the host of rank 0 and a free port there, as '10.0.0.1:5000', not {coordinator!r}{called_at()}"
        )
    return Seat(coordinator, n, rank)


def _number(name: str, value: object) -> int:
    if isinstance(value, bool) or not (
        isinstance(value, int) or (isinstance(value, str) and value.strip().isdecimal())
    ):
        raise ArgumentTypeError(f"initialize: {name} must be an integer, not {value!r}{called_at()}")
    return int(value)


def heartbeat(given: float | None) -> float:
    """After how many seconds of silence a process is lost: as given, or ADJOINT_HEARTBEAT, or 15."""
    text = os.environ.get(HEARTBEAT, "15") if given is None else given
    try:
        seconds = float(text)
    except (TypeError, ValueError):
        seconds = 0.0
    if not 1.0 <= seconds <= 86400.0:
        raise ArgumentError(
            f"initialize: heartbeat (or {HEARTBEAT}) is a number of seconds, at least 1, not {text!r}{called_at()}"
        )
    return seconds


def _of_slurm(env: Mapping[str, str]) -> Seat | None:
    """The seat in a step of Slurm, as `srun` makes them; a batch script outside of steps is one process."""
    tasks, rank = env.get("SLURM_STEP_NUM_TASKS"), env.get("SLURM_PROCID")
    nodes, job = env.get("SLURM_STEP_NODELIST"), env.get("SLURM_JOB_ID")
    if tasks is None or rank is None or nodes is None or job is None:
        return None
    step = env.get("SLURM_STEP_ID", "0")
    spread = _number("SLURM_JOB_ID", job) * 31 + (int(step) if step.isdecimal() else 0)
    address = f"{first_host(nodes)}:{FIRST_PORT + spread % PORTS}"
    return _checked(address, _number("SLURM_STEP_NUM_TASKS", tasks), _number("SLURM_PROCID", rank))


def first_host(nodes: str) -> str:
    """The first of Slurm's list of nodes.

    >>> first_host("gpu[007-009,12],login1"), first_host("a1,a2"), first_host("rack[2-3]-node[01-16]")
    ('gpu007', 'a1', 'rack2-node01')
    """
    head = re.match(r"(?:[^,\[]|\[[^\]]*\])+", nodes.strip())
    return re.sub(r"\[([^\],-]*)[^\]]*\]", r"\1", head[0] if head else nodes)
