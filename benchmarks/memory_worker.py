"""The process in which one contender of the memory benchmark lives: `python -m benchmarks.memory_worker`, started by it."""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory_contenders import MEMORY_ENTRIES, Framework
from benchmarks.memory_workloads import memory_workloads
from benchmarks.worker import SEED, short

GROUP = 0.2  # seconds of calls timed together
M_MMAP_THRESHOLD, PAGES = -3, 1 << 16


def weigh(pipe: Connection, name: str, workload: str, tiny: bool, turn: float) -> None:
    """The peak of a call once everything is compiled, beyond what the process has with its arguments.

    What is freed goes back to the operating system: the peak is what is held, not how the C library's heap is fragmented.
    """
    ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, PAGES)
    try:
        framework, step = ready(name, workload, tiny)
        pipe.send(measured(framework, step))
    except Exception as error:
        pipe.send({"error": short(error)})


def clock(pipe: Connection, name: str, workload: str, tiny: bool, turn: float) -> None:
    """The time of a call, whenever it is asked for; of a single thread the processor's, which other programs do not lengthen."""
    now = time.process_time if os.environ["OMP_NUM_THREADS"] == "1" else time.perf_counter
    try:
        _, step = ready(name, workload, tiny)
        seconds(step, now)
        pipe.send({})
    except Exception as error:
        pipe.send({"error": short(error)})
        return
    while pipe.recv():
        pipe.send({"seconds": seconds(step, now)})


def ready(name: str, workload: str, tiny: bool) -> tuple[Framework, Callable[[], Any]]:
    """A compiled call, after a tiny one of the same kind, for what a first call loads and keeps."""
    framework = MEMORY_ENTRIES[name].make()
    framework.prepare(memory_workloads(True)[workload], inputs(workload, True))()
    return framework, framework.prepare(memory_workloads(tiny)[workload], inputs(workload, tiny))


def inputs(workload: str, tiny: bool) -> Any:
    return memory_workloads(tiny)[workload].inputs(np.random.default_rng(SEED))


def measured(framework: Framework, step: Callable[[], Any]) -> dict[str, Any]:
    """The peak beyond the baseline, the bytes of the results, and numbers to compare them by."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before, start = status("VmRSS:"), time.process_time()
    result = step()
    spent, peak = time.process_time() - start, status("VmHWM:") - before
    arrays = [framework.leaf(leaf) for leaf in flat(result)]
    digest = [x for array in arrays for x in summary(array)]
    return {
        "peak": peak,
        "seconds": spent,
        "results": sum(array.nbytes for array in arrays),
        "values": [np.array(digest)],
    }


def summary(array: np.ndarray) -> list[float]:
    """Two numbers that any change of an array moves, in little memory."""
    flat = array.reshape(-1)
    total = along = 0.0
    for k in range(0, flat.size, 1 << 16):
        chunk = flat[k : k + (1 << 16)].astype(np.float64)
        total += float(np.sum(chunk**2))
        along += float(chunk @ np.cos(np.arange(k, k + chunk.size)))
    size = total**0.5
    return [size, size + along]


def flat(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [y for part in result for y in flat(part)]
    return [result]


def seconds(step: Callable[[], Any], now: Callable[[], float]) -> float:
    """The time of a call: the mean of several, where calls are short."""
    count, start = 0, now()
    while True:
        step()
        count += 1
        if (spent := now() - start) > GROUP:
            return spent / count


def status(name: str) -> int:
    """A row of the kernel's table of this process, in bytes."""
    rows = Path("/proc/self/status").read_text().splitlines()
    return next(int(row.split()[1]) * 1024 for row in rows if row.startswith(name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=["weigh", "clock"])
    parser.add_argument("pipe", type=int, help="the file descriptor to talk through")
    parser.add_argument("arguments", type=json.loads)
    options = parser.parse_args()
    threads, processors = int(os.environ["OMP_NUM_THREADS"]), sorted(os.sched_getaffinity(0))
    first = os.getppid() % max(len(processors) - threads + 1, 1)
    os.sched_setaffinity(0, processors[first : first + threads])
    {"weigh": weigh, "clock": clock}[options.task](Connection(options.pipe), **options.arguments)


if __name__ == "__main__":
    main()
