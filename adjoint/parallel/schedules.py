"""The order in which the stages of a pipeline do their work, and when each piece of it happens."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from adjoint.core.drawing import COLOURS, FAINT, INK
from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at

SCHEDULES = ("gpipe", "1f1b")
SHOWN = 160  # columns of a timeline as text


class Task(NamedTuple):
    """One micro-batch through one stage: "F" forward or "B" backward."""

    kind: str
    stage: int
    micro_batch: int


@dataclass(frozen=True)
class PipelineSchedule:
    """What each stage does, in its order: `orders` has a row of tasks for each stage.

    Printed, it is its timeline for stages that all take one unit of time forward and two backward.
    """

    name: str
    orders: tuple[tuple[Task, ...], ...]

    @property
    def stages(self) -> int:
        return len(self.orders)

    @property
    def micro_batches(self) -> int:
        return sum(t.kind == "F" for t in self.orders[0])

    def in_flight(self) -> list[int]:
        """For each stage, of how many micro-batches it holds what the backward pass needs, at the most."""
        found = []
        for order in self.orders:
            now = most = 0
            for task in order:
                now += 1 if task.kind == "F" else -1
                most = max(most, now)
            found.append(most)
        return found

    def simulate(
        self,
        forward: float | Sequence[float] = 1.0,
        backward: float | Sequence[float] = 2.0,
        transfer: float | Sequence[float] = 0.0,
    ) -> Timeline:
        """When each task begins and ends, by simulation of the events.

        A task begins when its stage has done the one before it and what it needs has arrived: forward from the stage before, backward from the stage
        behind.

        Args:
            forward: the time of a micro-batch forward through a stage, or of each stage.
            backward: the same for the backward pass.
            transfer: the time between two neighbouring stages, or of each such pair.

        >>> print(pipeline_schedule("gpipe", 2, 3).simulate())
        stage 0  F0 F1 F2 .  .  .  B0=== B1=== B2===
        stage 1  .  F0 F1 F2 B0=== B1=== B2=== .  .
        12 units of time, of which a stage idles 25.0%
        """
        n = self.stages
        ahead, back, between = (
            _each(what, value, count)
            for what, value, count in (
                ("forward", forward, n),
                ("backward", backward, n),
                ("transfer", transfer, max(n - 1, 0)),
            )
        )
        ends: dict[Task, float] = {}
        rows: list[list[TaskTime]] = [[] for _ in range(n)]
        free, place = [0.0] * n, [0] * n
        waiting = sum(map(len, self.orders))
        while waiting:
            before = waiting
            for s, order in enumerate(self.orders):
                while place[s] < len(order):
                    task = order[place[s]]
                    arrived = _arrival(task, ends, between, n)
                    if arrived is None:
                        break
                    start = max(free[s], arrived)
                    free[s] = ends[task] = start + (ahead if task.kind == "F" else back)[s]
                    rows[s].append(TaskTime(task, start, free[s]))
                    place[s] += 1
                    waiting -= 1
            if waiting == before:
                raise ArgumentError(f"the schedule {self.name!r} waits for itself: no stage can go on{called_at()}")
        return Timeline(tuple(map(tuple, rows)))

    def issue_order(self) -> list[Task]:
        """All tasks in one row in which each comes after what it needs, as the stages would begin them."""
        times = [t for row in self.simulate().rows for t in row]
        return [t.task for t in sorted(times, key=lambda t: (t.start, t.task.kind, -t.task.stage))]

    def __str__(self) -> str:
        return f"{self.name}: {self.stages} stages, {self.micro_batches} micro-batches\n{self.simulate()}"

    def _repr_svg_(self) -> str:
        return self.simulate().svg()


def _each(what: str, value: float | Sequence[float], count: int) -> list[float]:
    found = [float(value)] * count if isinstance(value, (int, float)) else [float(v) for v in value]
    if len(found) != count or any(not v >= 0 for v in found):
        raise ArgumentError(f"simulate: {what} must be {count} times, none below zero, not {value!r}{called_at()}")
    return found


def _arrival(task: Task, ends: dict[Task, float], between: list[float], n: int) -> float | None:
    """When what a task needs has arrived; None if that is not known yet."""
    s, k = task.stage, task.micro_batch
    needs = [(Task("F", s, k), 0.0)] if task.kind == "B" else []
    if task.kind == "F" and s > 0:
        needs.append((Task("F", s - 1, k), between[s - 1]))
    if task.kind == "B" and s < n - 1:
        needs.append((Task("B", s + 1, k), between[s]))
    if any(t not in ends for t, _ in needs):
        return None
    return max((ends[t] + delay for t, delay in needs), default=0.0)


class TaskTime(NamedTuple):
    """When a task began and ended."""

    task: Task
    start: float
    end: float


@dataclass(frozen=True)
class Timeline:
    """When each stage does what: a row of times for each stage. Printed, a picture in text; `svg()` draws it."""

    rows: tuple[tuple[TaskTime, ...], ...]

    @property
    def length(self) -> float:
        """From the first task's beginning to the last one's end."""
        return max((t.end for row in self.rows for t in row), default=0.0)

    @property
    def bubble(self) -> float:
        """The share of the time in which a stage idles, on average.

        >>> round(pipeline_schedule("1f1b", 4, 8).simulate().bubble, 3)  # (4 - 1) / (8 + 4 - 1)
        0.273
        """
        busy = sum(t.end - t.start for row in self.rows for t in row)
        whole = self.length * len(self.rows)
        return 1 - busy / whole if whole else 0.0

    def __str__(self) -> str:
        unit = min((t.end - t.start for row in self.rows for t in row if t.end > t.start), default=1.0)
        width = 1 + max((len(_label(t.task)) for row in self.rows for t in row), default=1)
        unit = max(unit, self.length * width / SHOWN)
        lines = [f"stage {s}  {_drawn(row, unit, width, self.length)}".rstrip() for s, row in enumerate(self.rows)]
        return "\n".join([*lines, f"{self.length:.4g} units of time, of which a stage idles {self.bubble:.1%}"])

    def svg(self) -> str:
        """The same as a picture: forward in one colour, backward in another."""
        scale, high = 900 / (self.length or 1.0), 26
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="980" height="{high * len(self.rows) + 8}" font-family="sans-serif" font-size="11">'
        ]
        for s, row in enumerate(self.rows):
            y = 4 + high * s
            parts.append(f'<text x="2" y="{y + 16}" fill="{INK}">stage {s}</text>')
            parts.append(f'<rect x="60" y="{y}" width="900" height="{high - 4}" fill="{FAINT}" fill-opacity="0.4"/>')
            for t in row:
                x, w = 60 + t.start * scale, max((t.end - t.start) * scale - 1, 0.5)
                colour, label = COLOURS[t.task.kind == "B"], html.escape(_label(t.task))
                parts.append(
                    f'<rect x="{x:.1f}" y="{y}" width="{w:.1f}" height="{high - 4}" fill="{colour}"><title>{label}</title></rect>'
                )
                if w > 9 * len(label):
                    parts.append(f'<text x="{x + 3:.1f}" y="{y + 16}" fill="white">{label}</text>')
        return "".join([*parts, "</svg>"])

    _repr_svg_ = svg


def _label(task: Task) -> str:
    return f"{task.kind}{task.micro_batch}"


def _drawn(row: Sequence[TaskTime], unit: float, width: int, length: float) -> str:
    """One stage as text: labels where tasks begin, `=` while they last, dots where nothing is done."""
    columns = round(length / unit) * width
    text = [" "] * columns
    for at in range(0, columns, width):
        text[at] = "."
    for t in row:
        a, b = round(t.start / unit) * width, round(t.end / unit) * width
        name = _label(t.task)
        if b > a:
            text[a:b] = list(name.ljust(b - a - 1, "=")[: b - a - 1] + " ")
    return "".join(text)


def pipeline_schedule(name: str, stages: int, micro_batches: int) -> PipelineSchedule:
    """The schedule of a pipeline.

    "gpipe" runs all micro-batches forward and then all backward: each stage holds what all of them need for the backward pass. "1f1b" goes back with a
    micro-batch as soon as it can, and from then on alternates: stage s of p holds at most p - s of them; it takes the same time.

    >>> print(pipeline_schedule("1f1b", 2, 3))
    1f1b: 2 stages, 3 micro-batches
    stage 0  F0 F1 .  .  B0=== F2 B1=== .  B2===
    stage 1  .  F0 B0=== F1 B1=== F2 B2=== .  .
    12 units of time, of which a stage idles 25.0%
    >>> pipeline_schedule("1f1b", 4, 8).in_flight(), pipeline_schedule("gpipe", 4, 8).in_flight()
    ([4, 3, 2, 1], [8, 8, 8, 8])
    """
    for what, value in (("stages", stages), ("micro_batches", micro_batches)):
        check_positive("pipeline_schedule", what, value)
    if name not in SCHEDULES:
        raise ArgumentError(
            f"pipeline_schedule: there is no schedule {name!r}; there are {', '.join(SCHEDULES)}{called_at()}"
        )
    orders = []
    for s in range(stages):
        first = micro_batches if name == "gpipe" else min(micro_batches, stages - 1 - s)
        order = [Task("F", s, k) for k in range(first)]
        for k in range(first, micro_batches):
            order += [Task("F", s, k), Task("B", s, k - first)]
        order += [Task("B", s, k) for k in range(micro_batches - first, micro_batches)]
        orders.append(tuple(order))
    return PipelineSchedule(name, tuple(orders))


def check_positive(what: str, name: str, value: Any) -> None:
    """An error if a number of things is none."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentTypeError(f"{what}: {name} must be an integer, not {value!r}{called_at()}")
    if value < 1:
        raise ArgumentError(f"{what}: {name} must be above zero, not {value}{called_at()}")
