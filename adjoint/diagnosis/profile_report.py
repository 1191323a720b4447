"""What `ad.profile` found, as tables by op and by line, as text, HTML and a trace file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from os import PathLike
from typing import Any

from adjoint.core.errors import shown_place
from adjoint.diagnosis.chrome_trace import write_trace

Place = tuple[str, int]
ROWS = 20  # of a printed table
WIDTH = 70  # of a column of it


@dataclass(frozen=True)
class NodeTime:
    """All calls of one op from one line, in one pass. `first` is when the first of them began, in seconds."""

    op: str
    stage: str
    mode: str
    place: Place | None
    shape: str
    calls: int
    seconds: float
    bytes: int
    first: float


@dataclass(frozen=True)
class LineTime:
    """All that one line of the user's program took."""

    place: Place | None
    calls: int
    forward: float
    backward: float
    bytes: int

    @property
    def seconds(self) -> float:
        """Both passes."""
        return self.forward + self.backward

    @property
    def text(self) -> str:
        """The line as it is shown: `file.py:12: z = x @ w`."""
        return "(no line of the program)" if self.place is None else shown_place(self.place)


class ProfileReport:
    """Times and memory of a block. `nodes` and `lines` are the tables, most time first."""

    def __init__(self, events: list[Any]) -> None:
        self.events = events
        self.begun = 0.0
        self.seconds = 0.0  # of the whole block
        self.peak_bytes = 0  # the most that results of ops took at one time
        self.peak_place: Place | None = None  # the line that ran then
        self.result: Any = None  # what the function returned
        self.native = False  # whether machine code was timed
        self.units: list[Any] = []  # its units, most time first

    # ------------------------------------------------------------ tables

    @property
    def nodes(self) -> list[NodeTime]:
        """By op, line and pass."""
        groups = _grouped(self.events, lambda e: (e.name, e.stage, e.mode, e.place and tuple(e.place)))
        rows = []
        for (op, stage, mode, place), es in groups.items():
            seconds, size = sum(e.own for e in es), sum(e.bytes for e in es)
            rows.append(NodeTime(op, stage, mode, place, es[0].shape, len(es), seconds, size, es[0].start - self.begun))
        return sorted(rows, key=lambda row: -row.seconds)

    @property
    def lines(self) -> list[LineTime]:
        """By line of the user's program; what forward mode computes of derivatives counts as forward."""
        rows = []
        for place, es in _grouped(self.events, lambda e: e.place and tuple(e.place)).items():
            back = sum(e.own for e in es if e.stage == "backward")
            rows.append(LineTime(place, len(es), sum(e.own for e in es) - back, back, sum(e.bytes for e in es)))
        return sorted(rows, key=lambda row: -row.seconds)

    @property
    def op_seconds(self) -> float:
        """Seconds in ops and derivative rules; the rest of `seconds` is Python, tracing and compiling."""
        return sum(e.own for e in self.events if e.counted)

    def _notes(self) -> list[str]:
        rest = max(self.seconds - self.op_seconds, 0.0)
        parts = [f"{_time(self.op_seconds)} in ops", f"{_time(rest)} between them (Python, tracing, compiling)"]
        peak = f"results of ops took {_size(self.peak_bytes)} at the peak"
        if self.peak_place is not None:
            peak += f", at {shown_place(self.peak_place)}"
        notes = [f"{_time(self.seconds)}: {', '.join(parts)}", peak]
        if any(e.mode == "static" for e in self.events):
            faster = (
                f"machine code took {_time(sum(u.seconds for u in self.units))}"
                if self.native
                else "machine code is faster"
            )
            notes.append(
                f"compiled functions ran step by step in the interpreter, so that each node has a time: {faster}"
            )
        return notes

    def _table(self) -> list[list[list[str]]]:
        total = self.op_seconds or 1.0
        lines = [["line", "forward", "backward", "share", "results", "calls"]]
        for r in self.lines[:ROWS]:
            share = f"{100 * r.seconds / total:.1f}%"
            lines.append([r.text, _time(r.forward), _time(r.backward), share, _size(r.bytes), str(r.calls)])
        nodes = [["op", "pass", "time", "share", "results", "calls", "first result", "line"]]
        for n in self.nodes[:ROWS]:
            share = f"{100 * n.seconds / total:.1f}%"
            where = "" if n.place is None else shown_place(n.place)
            nodes.append([n.op, n.stage, _time(n.seconds), share, _size(n.bytes), str(n.calls), n.shape, where])
        units = [["machine code", "time", "share", "calls", "ops", "lines"]]
        whole = sum(u.seconds for u in self.units) or 1.0
        for u in self.units[:ROWS]:
            share = f"{100 * u.seconds / whole:.1f}%"
            where = ", ".join(shown_place(place) for place in u.places)
            units.append([u.kind, _time(u.seconds), share, str(u.calls), " ".join(u.ops), where])
        return [lines, nodes, *([units] if self.native else [])]

    def __str__(self) -> str:
        lines, nodes, *units = [[[_short(cell) for cell in row] for row in table] for table in self._table()]
        more = [f"({len(self.nodes) - ROWS} more)"] if len(self.nodes) > ROWS else []
        below = ["", *_text(units[0])] if units else []
        return "\n".join([*self._notes(), "", *_text(lines), "", *_text(nodes), *more, *below])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        notes = "".join(f"<div>{escape(note)}</div>" for note in self._notes())
        tables = "".join(_html(table) for table in self._table())
        return f'<div class="adjoint-profile">{notes}{tables}</div>'

    def save(self, path: str | PathLike[str]) -> None:
        """Write a trace file for chrome://tracing and ui.perfetto.dev: JSON with one slice an op, and the memory over time."""
        write_trace(path, self.events, self.begun, self.seconds)


def _grouped(events: Iterable[Any], key: Callable[[Any], Any]) -> dict[Any, list[Any]]:
    """The events that are counted, by a key, in the order in which they began."""
    groups: dict[Any, list[Any]] = {}
    for event in sorted((e for e in events if e.counted), key=lambda e: e.start):
        groups.setdefault(key(event), []).append(event)
    return groups


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.2f} {unit}"
    return f"{seconds * 1e6:.1f} us"


def _size(count: int) -> str:
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count} B"


def _short(cell: str) -> str:
    return cell if len(cell) <= WIDTH else f"{cell[: WIDTH - 1]}…"


def _text(table: list[list[str]]) -> list[str]:
    widths = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
    left = {"line", "op", "pass", "first result", "machine code", "ops", "lines"}
    return [
        "  ".join(
            cell.ljust(w) if name in left else cell.rjust(w)
            for cell, w, name in zip(row, widths, table[0], strict=True)
        ).rstrip()
        for row in table
    ]


def _html(table: list[list[str]]) -> str:
    head, *rows = table
    cells = lambda row, tag: "".join(f"<{tag} style='text-align:left'>{escape(c)}</{tag}>" for c in row)  # noqa: E731
    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f"<table><thead><tr>{cells(head, 'th')}</tr></thead><tbody>{body}</tbody></table>"
