"""Runs a function on many numbers in several processes, and survives those that crash or hang."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from adjoint.core.progress import Progress

CHUNK = 1000  # numbers for one process, which is then replaced by a fresh one

Examine = Callable[[int], "str | None"]


def _work(examine: Examine, seeds: Sequence[int], out: Connection) -> None:
    for seed in seeds:
        out.send((seed, examine(seed)))
    out.close()


@dataclass
class _Worker:
    """A process, and the numbers it still has to do."""

    process: BaseProcess
    results: Connection
    left: list[int]
    since: float = field(default_factory=time.monotonic)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.results.close()


def watched(
    examine: Examine,
    seeds: Sequence[int],
    jobs: int,
    limit: float,
    say: Callable[[str], Any] = print,
    every: float = 10.0,
    what: str = "programs",
) -> int:
    """How many numbers `examine` says something about. What it says is shown at once, a summary at the end.

    A process that dies, or takes longer than `limit` seconds for one number, is reported and replaced.
    """
    todo = [list(seeds[k : k + CHUNK]) for k in range(0, len(seeds), CHUNK)][::-1]
    workers: dict[Connection, _Worker] = {}
    progress, began = Progress(lines=every), time.monotonic()
    progress.begin(what, len(seeds))
    done = wrong = crashed = counted = 0

    def rate() -> float:
        return max(done, 1) / max(time.monotonic() - began, 1e-9)

    def words() -> str:
        return f"{wrong} wrong, {rate():.1f} a second, {(len(seeds) - done) / rate() / 60:.1f} min left"

    while todo or workers:
        while todo and len(workers) < jobs:
            worker = _started(examine, todo.pop())
            workers[worker.results] = worker
        for results in wait(list(workers), 1.0):
            worker = workers[results]  # type: ignore[index]
            try:
                seed, found = worker.results.recv()
                worker.left.remove(seed)
                worker.since = time.monotonic()
            except EOFError:  # the process has ended: all done, or in the middle of a number
                worker.process.join()
                seed = worker.left.pop(0) if worker.left else None
                found = f"the process ended with code {worker.process.exitcode}"
                crashed += seed is not None
                _replaced(workers, worker, todo)
            if seed is not None:
                done += 1
                if found is not None:
                    wrong += 1
                    say(f"\nseed {seed}: {found}")
        for worker in list(workers.values()):
            if worker.left and time.monotonic() - worker.since > limit:
                say(f"\nseed {worker.left.pop(0)}: took longer than {limit:.0f} s and was ended")
                done, wrong, crashed = done + 1, wrong + 1, crashed + 1
                _replaced(workers, worker, todo)
        progress.advance(done - counted, words)
        counted = done
    progress.end(words)
    progress.close()
    say(f"{done} of {len(seeds)} {what}, {words()}")
    say(
        f"seeds {seeds[0]} to {seeds[-1]}: {done} {what}, {wrong} wrong, {crashed} of them crashed or hung"
        if seeds
        else "no seeds"
    )
    return wrong


def _started(examine: Examine, seeds: list[int]) -> _Worker:
    context = multiprocessing.get_context("spawn")
    results, out = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(examine, seeds, out), daemon=True)
    process.start()
    out.close()  # so that the end of the process is the end of what it sends
    return _Worker(process, results, list(seeds))


def _replaced(workers: dict[Connection, _Worker], worker: _Worker, todo: list[list[int]]) -> None:
    """End a worker; another one does what it has left."""
    del workers[worker.results]
    worker.end()
    if worker.left:
        todo.append(worker.left)
