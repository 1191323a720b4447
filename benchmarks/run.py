"""Adjoint against other frameworks over many workloads.

    make bench                                              # sets up an environment with the peers and runs everything
    python -m benchmarks.run --quick --only mlp             # a short look, printed only
    python -m benchmarks.run --write docs/benchmark         # writes docs/benchmark.md, .json and .png

Results are saved after every workload. A contender that fails is reported and does not stop the others.
"""

from __future__ import annotations

import argparse
import compileall
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.contenders import ENTRIES
from benchmarks.race import ROOT, Settings, able, race
from benchmarks.report import Report, counted
from benchmarks.workloads import workloads


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="workloads whose name contains one of these")
    parser.add_argument("--contenders", nargs="+", metavar="NAME", choices=list(ENTRIES), default=list(ENTRIES))
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--quick", action="store_true", help="few short rounds")
    parser.add_argument("--tiny", action="store_true", help="tiny sizes, to test the harness")
    parser.add_argument(
        "--threads", type=int, nargs="+", default=[2], help="of each contender; several are run in turn"
    )
    parser.add_argument("--warm", type=float, default=5.0, help="seconds of calls before the first turn")
    parser.add_argument("--limit", type=float, default=180.0, help="seconds a contender may take to get ready")
    parser.add_argument(
        "--python", nargs="+", default=[], metavar="PACKAGE=PYTHON", help="interpreters for packages kept elsewhere"
    )
    parser.add_argument("--verbose", action="store_true", help="show what the contenders print")
    parser.add_argument("--write", type=Path, metavar="STEM", help="write STEM.md, STEM.json and STEM.png")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> Report:
    options = parse(arguments)
    rounds = options.rounds or (3 if options.quick else Settings.rounds)
    turn = 0.02 if options.quick else Settings.turn
    warm = 4 * turn if options.quick or options.tiny else options.warm
    pythons = dict(option.split("=", 1) for option in options.python)
    settings = Settings(rounds, turn, warm, options.limit, max(options.threads), options.tiny, options.verbose, pythons)
    names = [n for n in options.contenders if ENTRIES[n].installed(pythons)]
    missing = [n for n in options.contenders if n not in names]
    report = Report(
        settings, names, notes=[f"{n} was left out: {ENTRIES[n].package} is not installed." for n in missing]
    )
    report.notes.append(f"The load of the machine was {os.getloadavg()[0]:.1f} at the start.")
    say(report.notes[-1])
    # pip does this for the peers; ours runs from its source folder, and its first calls would pay for it
    for folder in ("adjoint", "benchmarks"):
        compileall.compile_dir(ROOT / folder, quiet=1)
    for name, workload in workloads(options.tiny).items():
        if options.only and not any(text in name for text in options.only):
            continue
        for threads in options.threads:
            say(f"{name}, {counted(threads)}")
            report.outcomes.append(race(workload, able(workload, names), replace(settings, threads=threads), say))
            if options.write:
                report.write(options.write)
    print(report.markdown())
    return report


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
