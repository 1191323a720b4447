"""The memory of gradients: peak beyond the arguments, and time, with and without computing again, against other frameworks.

    make bench                                                # sets up an environment with the peers and runs everything
    python -m benchmarks.memory --only transformer            # one workload, printed only
    python -m benchmarks.memory --write docs/memory_benchmark # writes docs/memory_benchmark.md, .json and .png

Every contender has a process of its own for each workload. Results are saved after every workload; with --again, contenders that are in
the file already are not run again. A contender that fails is reported and does not stop the others.
"""

from __future__ import annotations

import argparse
import compileall
import importlib.util
import json
import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.memory_contenders import MEMORY_ENTRIES
from benchmarks.memory_report import Measured, MemoryTables
from benchmarks.memory_workloads import MemoryWorkload, memory_workloads
from benchmarks.race import ROOT, Runner, Settings, difference

MODULE = "benchmarks.memory_worker"
TOLERANCE = 1e-2  # of sums over many gradients in single precision


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="workloads whose name contains one of these")
    parser.add_argument("--contenders", nargs="+", metavar="TEXT", help="contenders whose name contains one of these")
    parser.add_argument(
        "--rounds",
        type=int,
        default=3,
        help="timed turns of each contender; 0 for the processor time of the call whose memory is measured",
    )
    parser.add_argument("--tiny", action="store_true", help="tiny sizes, to test the harness")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--limit", type=float, default=300.0, help="seconds a contender may take to get ready, or for a turn"
    )
    parser.add_argument("--verbose", action="store_true", help="show what the contenders print")
    parser.add_argument("--write", type=Path, metavar="STEM", help="write STEM.md, STEM.json and STEM.png")
    parser.add_argument("--again", action="store_true", help="go on with STEM.json: run only what it lacks")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> MemoryTables:
    options = parse(arguments)
    settings = Settings(options.rounds, 0.0, 0.0, options.limit, options.threads, options.tiny, options.verbose)
    packages = {e.package for e in MEMORY_ENTRIES.values()}
    missing = sorted(p for p in packages if importlib.util.find_spec(p) is None)
    tables = MemoryTables(settings, [f"Left out, as it is not installed: {p}." for p in missing])
    if options.again and options.write and options.write.with_suffix(".json").exists():
        tables.load(json.loads(options.write.with_suffix(".json").read_text()))
    if (load := os.getloadavg()[0]) > 0.5:
        tables.notes.append(f"The machine was shared with other work (load {load:.1f} at the start).")
    for folder in ("adjoint", "benchmarks"):
        compileall.compile_dir(ROOT / folder, quiet=1)
    for name, workload in memory_workloads(options.tiny).items():
        if options.only and not any(text in name for text in options.only):
            continue
        done = {m.contender for m in tables.of(name) if not m.error}
        names = [
            title
            for title, entry in MEMORY_ENTRIES.items()
            if entry.for_workload(workload) and entry.package not in missing and title not in done
            if not options.contenders or any(text in title for text in options.contenders)
        ]
        tables.add(measure(workload, names, settings))
        if options.write:
            tables.write(options.write)
    print(tables.markdown())
    return tables


def measure(workload: MemoryWorkload, names: Sequence[str], settings: Settings) -> list[Measured]:
    """Each contender's peak, one after another; then timed turns, in each round one of everybody."""
    found, values = [], {}
    for name in names:
        result = Measured(workload.name, workload.title, name)
        runner, said = _started("weigh", result, settings)
        runner.close()
        if not result.error:
            result.peak, result.results, values[name] = said["peak"], said["results"], said["values"]
            result.seconds = None if settings.rounds else said["seconds"]
        say(f"{workload.name}: {name}: {result.error or f'{result.peak / 2**20:,.1f} MiB'}")
        found.append(result)
    _compare(values, found)
    if settings.rounds:
        _clock([result for result in found if not result.error], settings)
    return found


def _clock(found: Sequence[Measured], settings: Settings) -> None:
    """Median times of a call, each contender in a process that is stopped when it is not its turn."""
    runners = []
    try:
        for result in found:
            runners.append((_started("clock", result, settings)[0], result))
        for _ in range(settings.rounds):
            for runner, result in runners:
                result.error = result.error or runner.turn(settings.limit)
        for runner, result in runners:
            times = runner.times("seconds")
            result.seconds = statistics.median(times) if times and not result.error else None
    finally:
        for runner, _ in runners:
            runner.close()


def _started(task: str, result: Measured, settings: Settings) -> tuple[Runner, dict[str, Any]]:
    """A contender's process and what it says when it is ready; it is then stopped until its turn."""
    arguments = {"name": result.contender, "workload": result.workload}
    runner = Runner(result.contender, sys.executable, task, settings, arguments, MODULE)
    said: dict[str, Any] = {"error": f"not ready after {settings.limit:.0f} s"}
    try:
        if runner.pipe.poll(settings.limit):
            said = runner.pipe.recv()
    except (EOFError, OSError):
        said = {"error": f"the process died (exit code {runner.process.wait()})"}
    runner.pause()
    result.error = said.get("error", "")
    return runner, said


def _compare(values: dict[str, Any], found: list[Measured]) -> None:
    """Who differs from a peer, or from our plain gradient where no peer ran, has an error."""
    order = sorted(values, key=lambda name: MEMORY_ENTRIES[name].package == "adjoint")
    for result in found:
        if not result.error and not (worst := difference(values[result.contender], values[order[0]])) <= TOLERANCE:
            result.error = f"differs from {order[0]} by {worst:.1e}"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
