"""The memory benchmark's results as Markdown, JSON and a picture."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.memory_contenders import MEMORY_ENTRIES
from benchmarks.memory_workloads import memory_workloads
from benchmarks.race import Settings
from benchmarks.report import counted, machine, rounded, row

MIB = 2**20
COLOURS = {
    "adjoint dynamic": "tab:blue",
    "adjoint static": "tab:green",
    "torch eager": "tab:orange",
    "JAX jit": "tab:red",
}


@dataclass
class Measured:
    """What one contender took for one workload: bytes beyond the baseline, and seconds a call."""

    workload: str
    title: str
    contender: str
    peak: int | None = None
    results: int | None = None
    seconds: float | None = None
    error: str = ""

    @property
    def family(self) -> str:
        return MEMORY_ENTRIES[self.contender].family

    @property
    def ours(self) -> bool:
        return MEMORY_ENTRIES[self.contender].package == "adjoint"

    @property
    def plain(self) -> bool:
        return not MEMORY_ENTRIES[self.contender].way

    @property
    def beyond(self) -> int | None:
        """Bytes that are not results."""
        return None if self.peak is None or self.results is None else max(self.peak - self.results, 0)


@dataclass
class MemoryTables:
    """Everything that runs found out."""

    settings: Settings
    notes: list[str] = field(default_factory=list)
    found: list[Measured] = field(default_factory=list)

    def of(self, workload: str) -> list[Measured]:
        return [m for m in self.found if m.workload == workload]

    def add(self, more: list[Measured]) -> None:
        """In place of what was known of the same contenders, in their order."""
        new = {(m.workload, m.contender) for m in more}
        self.found = [m for m in self.found if (m.workload, m.contender) not in new] + more
        loads, names = list(memory_workloads(self.settings.tiny)), list(MEMORY_ENTRIES)
        self.found.sort(key=lambda m: (loads.index(m.workload), names.index(m.contender)))

    def load(self, saved: dict[str, Any]) -> None:
        self.notes += [note for note in saved["notes"] if note not in self.notes]
        self.found = [Measured(**m) for m in saved["found"] if m["contender"] in MEMORY_ENTRIES]

    def markdown(self) -> str:
        names = dict.fromkeys(m.workload for m in self.found)
        return PAGE.format(
            machine=f"{machine(self.settings)}, {counted(self.settings.threads)} each",
            day=date.today().isoformat(),
            clock=self._clock(),
            tables="\n\n".join(map(self._table, names)),
            targets="\n".join([row(["workload", "target", "found", "kept"]), "|---" * 4 + "|", *self._targets(names)]),
            notes="\n".join(f"- {note}" for note in [*self.notes, *self._failures()]) or "None.",
        )

    def _clock(self) -> str:
        """How times were taken."""
        if not self.settings.rounds:
            return "Times are the processor time of that one call."
        kind = "processor times" if self.settings.threads == 1 else "times"
        return (
            f"Times are taken in other processes, without that setting, after a first call: medians of {self.settings.rounds} rounds, in each of "
            f"which all have a turn, the others being stopped; {kind}."
        )

    def _table(self, workload: str) -> str:
        rows = self.of(workload)
        lines = [
            f"### {rows[0].title}",
            "",
            row(
                [
                    "contender",
                    "peak MiB",
                    "of them results",
                    "beyond results MiB",
                    "ms",
                    "beyond results, of plain",
                    "time, of plain",
                ]
            ),
            "|---" * 7 + "|",
        ]
        for m in rows:
            if m.peak is None or m.results is None or m.error:
                lines.append(row([m.contender, "see notes", *[""] * 5]))
                continue
            base = self.plain_of(m)
            share = "" if base is None or m.plain or not base.beyond else f"{100 * m.beyond / base.beyond:.3g}%"
            time = (
                ""
                if base is None or m.plain or not (m.seconds and base.seconds)
                else f"{100 * m.seconds / base.seconds:.0f}%"
            )
            ms = "" if m.seconds is None else rounded(m.seconds * 1e3)
            lines.append(row([m.contender, mib(m.peak), mib(m.results), mib(m.beyond), ms, share, time]))
        return "\n".join(lines)

    def plain_of(self, m: Measured) -> Measured | None:
        """The same framework and workload without computing again."""
        rows = [
            p for p in self.of(m.workload) if p.family == m.family and p.plain and p.peak is not None and not p.error
        ]
        return rows[0] if rows else None

    def _targets(self, names: Any) -> list[str]:
        return [line for name in names for line in [*self._plain_target(name), *self._checkpoint_target(name)]]

    def _plain_target(self, name: str) -> list[str]:
        """Without computing again: below every peer."""
        rows = [m for m in self.of(name) if m.plain and m.peak is not None and not m.error]
        peers = [m for m in rows if not m.ours]
        if not peers:
            return []
        best = min(peers, key=lambda m: m.peak)
        return [
            row(
                [
                    m.title,
                    f"{m.contender}: peak below every peer's",
                    f"{mib(m.peak)} MiB, {best.contender} {mib(best.peak)}",
                    yes(m.peak < best.peak),
                ]
            )
            for m in rows
            if m.ours
        ]

    def _checkpoint_target(self, name: str) -> list[str]:
        """Computing again: the least memory that keeps the limit of time; in a loop below 1% in three times the time."""
        loop = memory_workloads(self.settings.tiny)[name].loop
        share, slower = (0.01, 3.0) if loop else (0.2, 1.35)
        target = f"at most {share:.0%} of the memory beyond results, in {slower:g} times the time"
        lines = []
        for family in dict.fromkeys(m.family for m in self.of(name) if m.ours):
            rows = [m for m in self.of(name) if m.family == family and m.seconds and not m.plain and not m.error]
            judged = [(m, base) for m in rows if (base := self.plain_of(m)) and base.seconds and base.beyond]
            if not judged:
                continue
            kept = [x for x in judged if x[0].seconds <= slower * x[1].seconds and x[0].beyond <= share * x[1].beyond]
            quick = [x for x in judged if x[0].seconds <= slower * x[1].seconds]
            m, base = min(kept or quick or judged, key=lambda x: x[0].beyond)
            said = f"{MEMORY_ENTRIES[m.contender].way}: {m.beyond / base.beyond:.1%} in {m.seconds / base.seconds:.2f} times the time"
            lines.append(row([m.title, f"{family}: {target}", said, yes(bool(kept))]))
        return lines

    def _failures(self) -> list[str]:
        return [f"{m.workload}, {m.contender}: {m.error}" for m in self.found if m.error]

    def json(self) -> str:
        found = {"machine": machine(self.settings), "date": date.today().isoformat(), "settings": asdict(self.settings)}
        return json.dumps(found | {"notes": self.notes, "found": [asdict(m) for m in self.found]}, indent=1)

    def write(self, stem: Path) -> None:
        """`stem`.md, .json and .png; without matplotlib there is no picture."""
        stem.parent.mkdir(parents=True, exist_ok=True)
        stem.with_suffix(".json").write_text(self.json() + "\n")
        stem.with_suffix(".md").write_text(self.markdown().replace("PLOT", f"{stem.name}.png"))
        if not any(m.seconds for m in self.found):
            return  # memory alone: there is nothing to draw it against
        try:
            self.plot(stem.with_suffix(".png"))
        except ImportError:
            note = "No picture: matplotlib is not installed."
            self.notes += [] if note in self.notes else [note]

    def plot(self, path: Path) -> None:
        """For each workload, every contender's peak against its time."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        names = list(dict.fromkeys(m.workload for m in self.found if m.peak is not None and m.seconds and not m.error))
        figure, grid = pyplot.subplots(
            (len(names) + 1) // 2, 2, figsize=(13, 4.2 * ((len(names) + 1) // 2)), layout="constrained", squeeze=False
        )
        for axes in grid.flat[len(names) :]:
            axes.set_axis_off()
        for axes, name in zip(grid.flat, names, strict=False):
            rows = [m for m in self.of(name) if m.peak is not None and m.seconds and not m.error]
            for m in rows:
                marker = "o" if m.plain else "D"
                axes.scatter(m.seconds * 1e3, max(m.peak, 4096) / MIB, color=COLOURS[m.family], marker=marker, s=45)
                label = MEMORY_ENTRIES[m.contender].way or "plain"
                axes.annotate(
                    label,
                    (m.seconds * 1e3, max(m.peak, 4096) / MIB),
                    xytext=(4, 3),
                    textcoords="offset points",
                    fontsize=7,
                )
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_title(rows[0].title, fontsize=9, wrap=True)
            axes.set_xlabel("milliseconds a call")
            axes.set_ylabel("peak, MiB beyond arguments")
            axes.grid(alpha=0.3, which="both")
        for family, colour in COLOURS.items():
            figure.axes[0].scatter([], [], color=colour, label=family)
        figure.legend(loc="outside upper center", ncols=4)
        figure.savefig(path, dpi=110)
        pyplot.close(figure)


def mib(size: int | None) -> str:
    return "" if size is None else f"{size / MIB:,.1f}"


def yes(kept: bool) -> str:
    return "yes" if kept else "**no**"


PAGE = """# Memory of gradients

Written by `make bench` on {day}. Every contender runs each workload (value and gradient) in processes of its own. The peak is that of the
process's resident memory during a call, beyond what it was with the arguments in place, the program compiled where that can be done
without running it, and a tiny call of the same kind behind it. The C library gives freed memory of over 64 KiB back to the system there, so
that the peak is what is held, and not how a heap is fragmented. {clock} Values and gradients were compared first.

Plain is the gradient as it is. `parts` is `ad.checkpoint` around parts marked by hand: 8 layers of the perceptron, a layer of the transformer,
400 steps of the loop; torch's `checkpoint` and JAX's `remat` are around the same parts. `sqrt`, `balanced` and `binomial` are
`grad(f, checkpoint=...)`, `memory=` is `jit(f, memory=...)` with 30% of the plain gradient's intermediates.

Machine: {machine}.

![Peak memory against time](PLOT)

## Targets

{targets}

## Peak memory and time

{tables}

## Notes

{notes}
"""
