"""The process in which one contender lives: `python -m benchmarks.worker`, started by the race.

It answers each message with one timed turn. It needs NumPy and the contender's own package, nothing else.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from benchmarks.contenders import ENTRIES
from benchmarks.roofline import ceiling
from benchmarks.workloads import workloads

SEED = 0
GROUP = 1e-4  # seconds of calls timed together
Steps = dict[str, Callable[[], Any]]


@dataclass
class Ready:
    """What a process says before the race: the first call, its values, or why there are none."""

    first: float = 0.0
    values: list[np.ndarray] = field(default_factory=list)
    note: str = ""
    error: str = ""


def contend(pipe: Connection, name: str, workload: str, tiny: bool, turn: float, warm: float) -> None:
    """The process of a contender: the first call, then turns for the derivative and for the function alone."""
    ready, steps = Ready(), {}
    try:
        contender, work = ENTRIES[name].make(), workloads(tiny)[workload]
        inputs = work.inputs(np.random.default_rng(SEED))
        importlib.import_module(contender.ops)  # so that the first call does not pay for it
        start = time.perf_counter()
        steps["derivative"] = contender.prepare(work, inputs)
        result = steps["derivative"]()
        ready.first = time.perf_counter() - start
        ready.values = contender.values(result)
        try:
            steps["primal"] = contender.prepare(work, inputs, primal=True)
            steps["primal"]()
        except Exception as error:
            del steps["primal"]
            ready.note = f"function alone: {short(error)}"
    except Exception as error:
        ready.error = short(error)
    serve(pipe, ready, steps, turn, warm)


def measure_machine(pipe: Connection, kind: str, threads: int, tiny: bool, turn: float) -> None:
    """The process that measures the roofline; its first value is the amount of work of a step."""
    top = ceiling(kind, threads, tiny)
    top.step()
    serve(pipe, Ready(values=[np.array(top.amount)]), {"derivative": top.step}, turn, 4 * turn)


def serve(pipe: Connection, ready: Ready, steps: Steps, turn: float, warm: float) -> None:
    """Say how it went, then give a turn for every message that is true."""
    groups: dict[str, int] = {}
    try:
        groups = {name: group_of(step, warm) for name, step in steps.items()}
    except Exception as error:
        ready.error = short(error)
    pipe.send(vars(ready))  # plain, as this module has another name here
    while not ready.error and pipe.recv():
        pipe.send({name: seconds(step, groups[name], turn) for name, step in steps.items()})


def group_of(step: Callable[[], Any], warm: float) -> int:
    """How many calls to time together, so that reading the clock costs nothing; from the fastest call in the seconds that it is
    warmed: what compiles while it runs has done so by then."""
    end, fastest = time.perf_counter() + warm, float("inf")
    while True:
        start = time.perf_counter()
        step()
        now = time.perf_counter()
        fastest = min(fastest, now - start)
        if now > end:
            return max(1, int(GROUP / fastest))


def seconds(step: Callable[[], Any], group: int, turn: float) -> float:
    """The median time of a call within a turn, after a call that wakes threads and caches.

    A median, as one call during which another program had the processor says nothing about the others.
    """
    step()
    times, now = [], time.perf_counter()
    end = now + turn
    while now < end:
        start = now
        for _ in range(group):
            step()
        now = time.perf_counter()
        times.append((now - start) / group)
    return statistics.median(times)


def short(error: BaseException) -> str:
    """The first line of an error, and the line of code it came from."""
    text = [line for line in str(error).splitlines() if line.strip(" -")]
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{frame.filename.rpartition('/')[2]}:{frame.lineno}"
    return f"{type(error).__name__}: {text[0][:160] if text else ''} ({where})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=["contend", "measure_machine"])
    parser.add_argument("pipe", type=int, help="the file descriptor to talk through")
    parser.add_argument("arguments", type=json.loads)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # XLA takes as many threads as there are processors it may use
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(os.environ["OMP_NUM_THREADS"])])
    {"contend": contend, "measure_machine": measure_machine}[options.task](
        Connection(options.pipe), **options.arguments
    )


if __name__ == "__main__":
    main()
