"""A profile as a file in the Trace Event Format, which Chrome and Perfetto show."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from adjoint.core.errors import shown_place


def write_trace(path: str | os.PathLike[str], events: list[Any], begun: float, seconds: float) -> None:
    """Write the events; times are microseconds since the block began."""
    found = trace_events(events, begun, seconds)
    Path(path).write_text(json.dumps({"traceEvents": found, "displayTimeUnit": "ms"}), encoding="utf-8")


def trace_events(events: list[Any], begun: float, seconds: float) -> list[dict[str, Any]]:
    """A slice for each event, in the track of its thread, and a counter for the memory that results take."""
    pid = os.getpid()
    tracks = {thread: k + 1 for k, thread in enumerate(dict.fromkeys(e.thread for e in events))}
    common = {"pid": pid, "ph": "M"}
    found: list[dict[str, Any]] = [{**common, "tid": 0, "name": "process_name", "args": {"name": "adjoint"}}]
    found += [{**common, "tid": k, "name": "thread_name", "args": {"name": f"thread {k}"}} for k in tracks.values()]
    whole = {"name": "profile", "cat": "block", "ph": "X", "ts": 0.0, "dur": seconds * 1e6, "pid": pid, "tid": 0}
    found.append({**whole, "args": {}})
    for e in sorted(events, key=lambda e: e.start):
        start = (e.start - begun) * 1e6
        found.append(
            {
                "name": f"{e.name} (derivative)" if e.stage != "forward" else e.name,
                "cat": f"{e.stage},{e.mode}",
                "ph": "X",
                "ts": start,
                "dur": e.seconds * 1e6,
                "pid": pid,
                "tid": tracks[e.thread],
                "args": _details(e),
            }
        )
        end = start + e.seconds * 1e6
        found.append({"name": "results", "ph": "C", "ts": end, "pid": pid, "tid": 0, "args": {"bytes": e.live}})
    return found


def _details(event: Any) -> dict[str, Any]:
    args = {"pass": event.stage, "mode": event.mode, "result": event.shape, "bytes": event.bytes}
    if event.place is not None:
        args["line"] = shown_place(event.place)
    if event.iterations:
        args["iterations"] = list(event.iterations)
    return args
