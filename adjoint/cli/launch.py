"""`adjoint launch`: several processes of one program on this machine, which end together."""

from __future__ import annotations

import argparse
import glob
import os
import re
import signal
import socket
import sys
from collections.abc import Mapping
from typing import Any

from adjoint.cli.child_processes import Children, Outcome
from adjoint.cli.exits import FINE, CommandFailure
from adjoint.cli.terminal import styled
from adjoint.parallel.launch_variables import COORDINATOR, HEARTBEAT, LISTENER, PROCESSES, RANK, RESTART
from adjoint.parallel.process_group import LOST

HOST_DEVICES = "--xla_force_host_platform_device_count"


def add_options(made: argparse.ArgumentParser) -> None:
    """What can be said on the command line."""
    made.usage = "adjoint launch -n N [options] (script.py | -m module) [arguments...]"
    made.add_argument("-n", "--processes", type=int, required=True, metavar="N", help="how many processes")
    made.add_argument(
        "--devices-per-process", type=int, metavar="K",
        help="the GPUs that each process sees, or the devices that it takes its CPU for",
    )  # fmt: skip
    made.add_argument(
        "--restarts",
        type=int,
        default=0,
        metavar="R",
        help="start all again after a failure, up to R times (default 0)",
    )
    made.add_argument(
        "--heartbeat", type=float, metavar="S", help="a process that is silent for S seconds is lost (default 15)"
    )
    made.add_argument("-m", dest="module", action="store_true", help="run a module, as `python -m` does")
    made.add_argument(
        "program", nargs=argparse.REMAINDER, metavar="program", help="the script or module, and its arguments"
    )


def run(options: Any) -> int:
    """Start the processes, show what they print, and end as they do."""
    if os.name != "posix":
        raise CommandFailure(
            "adjoint launch runs on Linux and macOS: its processes are ended as groups, which this system has not"
        )
    command = _command(options)
    if options.processes < 1 or options.restarts < 0:
        raise CommandFailure("-n must be at least 1, and --restarts at least 0")
    if options.devices_per_process is not None and options.devices_per_process < 1:
        raise CommandFailure("--devices-per-process must be at least 1")
    if options.heartbeat is not None and not 1 <= options.heartbeat <= 86400:
        raise CommandFailure("--heartbeat is a number of seconds, at least 1")
    for attempt in range(options.restarts + 1):
        outcome = _once(options, command, attempt)
        if outcome.code == FINE or outcome.interrupted:
            return outcome.code
        _say(f"{_described(outcome)}; all processes have ended")
        if attempt < options.restarts:
            _say(f"starting all again: restart {attempt + 1} of {options.restarts}")
    return outcome.code


def _once(options: Any, command: list[str], attempt: int) -> Outcome:
    """Start all processes and wait for their end."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        common = {
            **os.environ,
            COORDINATOR: f"127.0.0.1:{listener.getsockname()[1]}",
            PROCESSES: str(options.processes),
            RESTART: str(attempt),
            "PYTHONUNBUFFERED": "1",
        }
        common.pop(LISTENER, None)
        if options.heartbeat is not None:
            common[HEARTBEAT] = str(options.heartbeat)
        children = Children()
        with children:
            for rank in range(options.processes):
                own = {**common, RANK: str(rank), **_devices(options, rank)}
                if rank == 0:
                    own[LISTENER] = str(listener.fileno())
                children.start(command, own, [listener.fileno()] if rank == 0 else [])
            listener.close()
            return children.wait(LOST)


def _command(options: Any) -> list[str]:
    if not options.program:
        raise CommandFailure("say what to launch: adjoint launch -n 2 script.py")
    first = options.program[0]
    if first == "--":
        del options.program[0]
        return _command(options)
    if not options.module and not os.path.isfile(first):
        hint = " (options of adjoint launch stand before the script)" if first.startswith("-") else ""
        raise CommandFailure(f"there is no file {first!r} to launch{hint}")
    return [sys.executable, *(["-m"] if options.module else []), *options.program]


def _devices(options: Any, rank: int) -> Mapping[str, str]:
    """The variables that give a process its devices: GPUs where there are some, else parts of the CPU."""
    count, n = options.devices_per_process, options.processes
    gpus = _gpus()
    if gpus and n > 1:
        each = count or len(gpus) // n
        if each < 1 or each * n > len(gpus):
            raise CommandFailure(
                f"{n} processes with {max(each, 1)} GPUs each need {max(each, 1) * n}; this machine has {len(gpus)} "
                "(JAX_PLATFORMS=cpu adjoint launch ... takes the CPU)"
            )
        return {"CUDA_VISIBLE_DEVICES": ",".join(gpus[rank * each : (rank + 1) * each])}
    if count is None:
        return {}
    if gpus:
        return {"CUDA_VISIBLE_DEVICES": ",".join(gpus[:count])}
    others = re.sub(rf"{HOST_DEVICES}=\S*", "", os.environ.get("XLA_FLAGS", "")).split()
    return {"XLA_FLAGS": " ".join([*others, f"{HOST_DEVICES}={count}"])}


def _gpus() -> list[str]:
    """The GPUs of this machine that JAX would use."""
    if "cpu" in os.environ.get("JAX_PLATFORMS", "").split(","):
        return []
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return [name for name in chosen.split(",") if name not in ("", "-1")]
    return [str(k) for k in range(len(glob.glob("/dev/nvidia[0-9]*")))]


def _described(outcome: Outcome) -> str:
    who = f"rank {outcome.rank}"
    if outcome.code > 128:
        try:
            return f"{who} was ended by {signal.Signals(outcome.code - 128).name}"
        except ValueError:
            pass
    return f"{who} ended with exit code {outcome.code}"


def _say(text: str) -> None:
    print(f"{styled('adjoint:', 'red', sys.stderr)} {text}", file=sys.stderr, flush=True)
