"""The race over one workload: every contender in a process of its own, one running at a time, in turns."""

from __future__ import annotations

import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contenders import ENTRIES, OURS
from benchmarks.worker import Ready
from benchmarks.workload import Workload

ROOT = Path(__file__).parent.parent
MACHINE = "machine"


@dataclass(frozen=True)
class Settings:
    """How long and how large."""

    rounds: int = 21
    turn: float = 0.05  # seconds of calls in a turn
    warm: float = 0.2  # seconds of calls before the first turn
    limit: float = 180.0  # seconds for the first call and the rest of the preparation
    threads: int = 2
    tiny: bool = False
    verbose: bool = False  # show what the contenders print
    pythons: Mapping[str, str] = field(default_factory=dict)  # interpreters of packages that need their own environment


@dataclass
class Result:
    """What one contender did with one workload; seconds a call."""

    contender: str
    seconds: float | None = None  # median over the rounds
    spread: tuple[float, float] | None = None  # quartiles
    primal: float | None = None
    first: float | None = None
    error: str = ""
    note: str = ""


@dataclass
class Outcome:
    """The results of a workload, and the rate of the machine measured beside them (operations or bytes a second)."""

    workload: Workload
    results: list[Result]
    rate: float | None = None
    threads: int = 2  # of each contender


class Runner:
    """A contender's process, stopped whenever it is not its turn, so that no thread of it spins."""

    def __init__(
        self,
        name: str,
        python: str,
        task: str,
        settings: Settings,
        arguments: dict[str, Any],
        module: str = "benchmarks.worker",
    ) -> None:
        self.name = name
        self.turns: list[dict[str, float]] = []
        self.pipe, theirs = Pipe()
        message = json.dumps(arguments | {"tiny": settings.tiny, "turn": settings.turn})
        command = [python, "-m", module, task, str(theirs.fileno()), message]
        variables = {f"{library}_NUM_THREADS": str(settings.threads) for library in ("OMP", "OPENBLAS", "MKL")}
        variables["ADJOINT_CACHE"] = "0"  # a first call compiles, even if an earlier race has left its machine code
        output = None if settings.verbose else subprocess.DEVNULL
        self.process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], cwd=ROOT, env=os.environ | variables, stdout=output, stderr=output
        )
        theirs.close()

    def ready(self, limit: float) -> Ready:
        """Its first call, or why there is none."""
        try:
            if not self.pipe.poll(limit):
                return Ready(error=f"not ready after {limit:.0f} s")
            found = Ready(**self.pipe.recv())
        except (EOFError, OSError):
            return Ready(error=f"the process died (exit code {self.process.wait()})")
        self.pause()
        return found

    def turn(self, limit: float) -> str:
        """One timed turn; what went wrong, if anything."""
        self._signal("SIGCONT")
        try:
            self.pipe.send(True)
            if not self.pipe.poll(limit):
                return f"no answer for {limit:.0f} s"
            self.turns.append(self.pipe.recv())
        except (EOFError, OSError):
            return f"the process died (exit code {self.process.wait()})"
        self.pause()
        return ""

    def pause(self) -> None:
        """Let it wait for its turn."""
        self._signal("SIGSTOP")

    def close(self) -> None:
        self._signal("SIGCONT")
        self.process.kill()
        self.process.wait()
        self.pipe.close()

    def times(self, step: str) -> list[float]:
        return [turn[step] for turn in self.turns if step in turn]

    def _signal(self, name: str) -> None:
        if self.process.poll() is None:
            self.process.send_signal(getattr(signal, name))


def race(workload: Workload, names: Sequence[str], settings: Settings, say: Callable[[str], None]) -> Outcome:
    """First calls one after another, values compared, then the rounds."""
    outcome = Outcome(workload, [], threads=settings.threads)
    runners: list[Runner] = []
    try:
        known = start(workload, names, settings, say, runners, outcome)
        judge(known, workload.tolerance, outcome.results)
        wrong = {r.contender for r in outcome.results if r.error}
        running = [r for r in runners if r.name not in wrong]
        lost = run_rounds(running, settings, say)
        for runner in running:
            if runner.name == MACHINE:
                times = runner.times("derivative")
                outcome.rate = float(known[MACHINE].values[0]) / statistics.median(times) if times else None
                continue
            result = next(r for r in outcome.results if r.contender == runner.name)
            if runner.name in lost:
                result.error = lost[runner.name]
            else:
                record(result, runner)
    finally:
        for runner in runners:
            runner.close()
    return outcome


def start(
    workload: Workload,
    names: Sequence[str],
    settings: Settings,
    say: Callable[[str], None],
    runners: list[Runner],
    outcome: Outcome,
) -> dict[str, Ready]:
    """Start every process in turn; what each said. Those that can run are added to `runners`, all to the outcome."""
    known = {}
    for name in names:
        say(f"{workload.name}: {name}")
        python = settings.pythons.get(ENTRIES[name].package, sys.executable)
        arguments = {"name": name, "workload": workload.name, "warm": settings.warm}
        runner = Runner(name, python, "contend", settings, arguments)
        known[name] = said = runner.ready(settings.limit)
        outcome.results.append(Result(name, first=said.first or None, error=said.error, note=said.note))
        if said.error:
            say(f"    {said.error}")
            runner.close()
        else:
            runners.append(runner)
    if workload.work:
        arguments = {"kind": workload.work.kind, "threads": settings.threads}
        runner = Runner(MACHINE, sys.executable, "measure_machine", settings, arguments)
        runners.append(runner)
        known[MACHINE] = said = runner.ready(settings.limit)
        if said.error:
            raise RuntimeError(f"the machine's rate could not be measured: {said.error}")
    return known


def judge(known: dict[str, Ready], tolerance: float, results: list[Result]) -> None:
    """Compare values with a peer's, or with ours where no peer ran; who differs from it has an error."""
    able = [r for r in results if not r.error]
    by_trust = sorted(able, key=lambda r: r.contender in OURS)
    if not by_trust:
        return
    reference = known[by_trust[0].contender].values
    for result in able:
        worst = difference(known[result.contender].values, reference)
        if not worst <= tolerance:
            result.error = f"differs from {by_trust[0].contender} by {worst:.1e}"


def difference(values: Sequence[np.ndarray], reference: Sequence[np.ndarray]) -> float:
    """The largest difference of any array, as a share of the reference's largest element; NaN where shapes differ."""
    if [np.shape(v) for v in values] != [np.shape(v) for v in reference]:
        return float("nan")
    pairs = zip(values, reference, strict=True)
    return max(float(np.max(np.abs(v - r)) / max(np.max(np.abs(r)), 1e-30)) for v, r in pairs)


def run_rounds(runners: Sequence[Runner], settings: Settings, say: Callable[[str], None]) -> dict[str, str]:
    """In each round every contender has a turn, in an order drawn anew. Those that were lost, and why."""
    order, draw, lost = list(runners), random.Random(0), {}
    began = time.perf_counter()
    for _ in range(settings.rounds):
        draw.shuffle(order)
        for runner in list(order):
            if error := runner.turn(settings.limit):
                lost[runner.name] = error
                order.remove(runner)
                runner.close()
    say(f"    {settings.rounds} rounds of {len(runners)} in {time.perf_counter() - began:.1f} s")
    return lost


def record(result: Result, runner: Runner) -> None:
    """Medians of the turns."""
    times, primal = runner.times("derivative"), runner.times("primal")
    result.seconds = statistics.median(times)
    low, _, high = statistics.quantiles(times, n=4) if len(times) > 1 else times * 3
    result.spread = low, high
    result.primal = statistics.median(primal) if primal else None


def able(workload: Workload, names: Sequence[str]) -> list[str]:
    """Those among the contenders that this workload is for."""
    return [
        name
        for name in names
        if (workload.scalar or not ENTRIES[name].scalar_only)
        and (workload.families is None or ENTRIES[name].package in workload.families)
    ]
