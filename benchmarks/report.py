"""The results as Markdown, JSON and a plot."""

from __future__ import annotations

import functools
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

from benchmarks.contenders import DYNAMIC, ENTRIES, OURS, STATIC
from benchmarks.race import Outcome, Result, Settings

PACKAGES = ("numpy", "scipy", "llvmlite", "torch", "jax", "autograd", "casadi", "mindspore")


@dataclass
class Report:
    """Everything one run found out."""

    settings: Settings
    names: list[str]
    outcomes: list[Outcome] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        """A table of times for each number of threads, three more for the largest, and what went wrong."""
        return PAGE.format(
            machine=machine(self.settings),
            day=date.today().isoformat(),
            rounds=self.settings.rounds,
            warm=self.settings.warm,
            hows="\n".join(row([name, ENTRIES[name].how]) for name in self.names),
            times="\n\n".join(self._times(threads) for threads in self._threads()),
            firsts=self._table(first_call),
            costs=self._table(cost),
            rooflines=self._table(share_of_roofline, ["measured"], measured_rate),
            notes="\n".join(f"- {note}" for note in [*self.notes, *self._failures()]) or "None.",
        )

    def _threads(self) -> list[int]:
        """The numbers of threads that there are results for; the largest first."""
        return sorted({o.threads for o in self.outcomes}, reverse=True)

    def _times(self, threads: int) -> str:
        ours = ["static vs best peer", "dynamic vs torch eager"]
        table = self._table(milliseconds, ours, versus_peers, threads)
        means = [
            f"{title} {statistics.geometric_mean(ratios):.2f}x"
            for title, ratio in zip(ours, (static_ratio, dynamic_ratio), strict=True)
            if (ratios := [r for o in self.outcomes if o.threads == threads and (r := ratio(o))])
        ]
        return (
            f"### {counted(threads).capitalize()}\n\n{table}\n\nGeometric means: {', '.join(means) or 'no peer ran'}."
        )

    def _table(
        self,
        cell: Callable[[Outcome, Result], str],
        more: Sequence[str] = (),
        extra: Callable[[Outcome], list[str]] = lambda outcome: [],
        threads: int | None = None,
    ) -> str:
        """A row for each workload, a cell for each contender and further columns; of the largest number of threads if not given."""
        threads = threads or max(self._threads(), default=0)
        lines = [row(["workload", *self.names, *more]), "|---" * (1 + len(self.names) + len(more)) + "|"]
        for outcome in (o for o in self.outcomes if o.threads == threads):
            cells = {r.contender: cell(outcome, r) for r in outcome.results}
            lines.append(row([outcome.workload.title, *(cells.get(n, "") for n in self.names), *extra(outcome)]))
        return "\n".join(lines)

    def _failures(self) -> list[str]:
        return [
            f"{outcome.workload.name}, {r.contender}, {counted(outcome.threads)}: {r.error or r.note}"
            for outcome in self.outcomes
            for r in outcome.results
            if r.error or r.note
        ]

    def json(self) -> str:
        """All figures, in seconds."""
        found = {
            "machine": machine(self.settings),
            "date": date.today().isoformat(),
            "settings": asdict(self.settings),
            "notes": self.notes,
            "workloads": [
                {
                    "name": o.workload.name,
                    "title": o.workload.title,
                    "threads": o.threads,
                    "work": asdict(o.workload.work) if o.workload.work else None,
                    "machine_rate": o.rate,
                    "results": [asdict(r) for r in o.results],
                }
                for o in self.outcomes
            ],
        }
        return json.dumps(found, indent=1)

    def write(self, stem: Path) -> None:
        """`stem`.md, .json and .png; without matplotlib there is no plot."""
        stem.parent.mkdir(parents=True, exist_ok=True)
        stem.with_suffix(".json").write_text(self.json() + "\n")
        stem.with_suffix(".md").write_text(self.markdown().replace("PLOT", f"{stem.name}.png"))
        try:
            self.plot(stem.with_suffix(".png"))
        except ImportError:
            note = "No plot: matplotlib is not installed."
            self.notes += [] if note in self.notes else [note]

    def plot(self, path: Path) -> None:
        """Every contender's time against the best peer's, on a logarithmic axis."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        most = max(self._threads(), default=0)
        shown = [(o, best) for o in reversed(self.outcomes) if o.threads == most and (best := best_peer(o))]
        figure, axes = pyplot.subplots(figsize=(10, 1.5 + 0.4 * len(shown)), layout="constrained")
        for name in self.names:
            points = [
                (r.seconds / best, height)
                for height, (o, best) in enumerate(shown)
                for r in o.results
                if r.contender == name and r.seconds
            ]
            mark, size = ("D", 60) if name in OURS else ("o", 25)
            axes.scatter(*(zip(*points, strict=True) if points else ([], [])), s=size, marker=mark, label=name)
        axes.set_xscale("log")
        axes.set_yticks(range(len(shown)), [o.workload.title for o, _ in shown])
        axes.axvline(1.0, color="black", linewidth=0.8)
        axes.grid(axis="x", alpha=0.3)
        axes.set_xlabel("time of a call / the best peer's: left of the line is faster")
        figure.legend(loc="outside upper center", ncols=5)
        figure.savefig(path, dpi=130)
        pyplot.close(figure)


# ------------------------------------------------------------ cells


def row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def rounded(x: float) -> str:
    """Two figures, or a whole number."""
    return f"{x:.2g}" if x < 10 else f"{x:,.0f}"


def best_peer(outcome: Outcome) -> float | None:
    """The shortest time of a contender that is not ours."""
    return min((r.seconds for r in outcome.results if r.seconds and r.contender not in OURS), default=None)


def milliseconds(outcome: Outcome, result: Result) -> str:
    if result.seconds is None:
        return "not yet" if result.contender in OURS else "see notes"
    text = f"{result.seconds * 1e3:.3g}" if result.seconds < 1 else f"{result.seconds * 1e3:,.0f}"
    quickest = min(r.seconds for r in outcome.results if r.seconds)
    return f"**{text}**" if result.seconds == quickest else text


def versus_peers(outcome: Outcome) -> list[str]:
    """How many times faster than the best peer static mode is, and dynamic mode than the same of PyTorch."""
    return [f"{ratio:.2g}x" if ratio else "" for ratio in (static_ratio(outcome), dynamic_ratio(outcome))]


def static_ratio(outcome: Outcome) -> float | None:
    best, mine = best_peer(outcome), seconds_of(outcome, STATIC)
    return best / mine if best and mine else None


def dynamic_ratio(outcome: Outcome) -> float | None:
    theirs, mine = seconds_of(outcome, "torch eager"), seconds_of(outcome, DYNAMIC)
    return theirs / mine if theirs and mine else None


def seconds_of(outcome: Outcome, contender: str) -> float | None:
    return next((r.seconds for r in outcome.results if r.contender == contender), None)


def counted(threads: int) -> str:
    return "one thread" if threads == 1 else f"{threads} threads"


def first_call(outcome: Outcome, result: Result) -> str:
    return f"{result.first:.2g}" if result.first else ""


def cost(outcome: Outcome, result: Result) -> str:
    return rounded(result.seconds / result.primal) if result.seconds and result.primal else ""


def share_of_roofline(outcome: Outcome, result: Result) -> str:
    work = outcome.workload.work
    if not (work and outcome.rate and result.seconds):
        return ""
    return f"{rounded(100 * work.amount / result.seconds / outcome.rate)}%"


def measured_rate(outcome: Outcome) -> list[str]:
    work = outcome.workload.work
    if not (work and outcome.rate):
        return [""]
    return [f"{work.kind} {outcome.rate / 1e9:.0f} {'GB' if work.kind == 'copy' else 'GF'}/s"]


# ------------------------------------------------------------ the machine


def machine(settings: Settings) -> str:
    """Processor, cores, threads, versions."""
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    cpu = names[0].split(":")[1].strip() if names else platform.machine()
    found = {p: installed(p, settings.pythons.get(p, sys.executable)) for p in PACKAGES}
    versions = [f"Python {platform.python_version()}", *(f"{p} {v}" for p, v in found.items() if v)]
    return f"{cpu}, {os.cpu_count()} cores, {platform.system()}, {', '.join(versions)}"


@functools.cache
def installed(package: str, python: str) -> str:
    """The version of a package in an environment, or nothing."""
    ask = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([python, "-c", ask], capture_output=True, text=True).stdout.strip()


PAGE = """# Benchmark

Written by `make bench` on {day}. Every contender runs in a process of its own; one runs at a time, the others are stopped; {rounds} rounds, in
each of which all have a turn in a new order; medians. Before its first turn each runs its step for {warm:g} seconds: what compiles while it runs,
as our dynamic mode does, has done so by then. Values and derivatives were compared before anything was timed.

Machine: {machine}.

![Times against the best peer](PLOT)

## Milliseconds a call

The last columns say how many times faster static mode is than the best peer, and dynamic mode than PyTorch's: above 1x we are faster. A peer
that did not run (see the notes) is not among those compared; a workload that has no cell for a peer was not written for it.

{times}

## How each was run

| contender | how |
|---|---|
{hows}

## Seconds of the first call

In a fresh process, after `import` of the framework: reading, differentiating, loading what it loads late (LLVM among it), compiling and running
once.

{firsts}

## Cost of the derivative

Time of the derivative (with its value; in training also the update) over that of the function alone.

{costs}

## Share of the machine's roofline

The least work a call needs over what it took, at the rate of NumPy's matrix product (sgemm, dgemm: floating-point operations) or of a copy
(bytes, larger than the caches) measured in the same rounds. Work that fits the caches may go beyond 100% of a copy.

{rooflines}

## Notes

{notes}
"""
