"""`ad.profile`: how long each op, each derivative rule and each step of a graph takes, and the memory of what it gives."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from weakref import ref

import numpy as np

from adjoint import backends
from adjoint.core import context, watching
from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at, user_place
from adjoint.diagnosis import graph_steps
from adjoint.diagnosis.bottoms import bottom
from adjoint.diagnosis.line_watch import LineWatcher, Place, has_lines_of_its_own, rule, wanted
from adjoint.diagnosis.native_times import NativeTimes
from adjoint.diagnosis.non_finite import stage_of
from adjoint.diagnosis.profile_report import ProfileReport
from adjoint.graph.steps import Steps

_now = time.perf_counter


@dataclass(slots=True, eq=False)
class Event:
    """Something that took time. `inside` is what ran within it and is counted for itself."""

    name: str
    stage: str  # "forward", "backward" or "tangent"
    mode: str  # "dynamic" or "static"
    place: Place | None
    start: float
    thread: int
    seconds: float = 0.0
    inside: float = 0.0
    bytes: int = 0  # of its results
    live: int = 0  # bytes of all results that are held afterwards
    iterations: tuple[int, ...] = ()
    counted: bool = True  # False for a step of a rule, which is counted as a whole
    shape: str = field(default="")

    @property
    def own(self) -> float:
        """Seconds without what ran inside."""
        return max(self.seconds - self.inside, 0.0)


#: The event that runs in this thread.
_open: ContextVar[Event | None] = ContextVar("open_event", default=None)


class ProfileWatcher(LineWatcher):
    """Takes the time of everything that runs on arrays."""

    name = "profile"

    def __init__(self, native: bool = False) -> None:
        super().__init__()
        self.native = NativeTimes() if native else None
        self.events: list[Event] = []
        self.live = self.peak = 0
        self.peak_place: Place | None = None
        self._held: dict[int, ref[Any]] = {}
        self._lock = threading.Lock()

    def timed(self, event: Event, run: Callable[[], Any]) -> Any:
        """Run something as an event."""
        outer = _open.get()
        event.start = _now()
        with context.setting(_open, event):
            found = run()
        event.seconds = _now() - event.start
        if outer is not None and event.counted:
            outer.inside += event.seconds
        self._weigh(event, found)
        if outer is not None and not event.counted:
            outer.bytes += event.bytes
        self.events.append(event)
        return found

    def _event(self, op: Any, stage: str, mode: str, place: Place | None, **more: Any) -> Event:
        return Event(type(getattr(op, "op", op)).__name__, stage, mode, place, 0.0, threading.get_ident(), **more)

    def _weigh(self, event: Event, found: Any) -> None:
        """Add up the memory of results that own theirs, as long as they live."""
        parts = [bottom(x) for x in (found if isinstance(found, (tuple, list)) else (found,))]
        for x in parts:
            if x is not None and not event.shape:
                event.shape = f"{np.asarray(x).dtype} {np.shape(x)}"
            if isinstance(x, np.ndarray) and x.base is None and x.nbytes and id(x) not in self._held:
                event.bytes += x.nbytes
                self._hold(x)
        event.live = self.live
        if self.live > self.peak:
            self.peak, self.peak_place = self.live, event.place

    def _hold(self, x: np.ndarray) -> None:
        key, size = id(x), x.nbytes

        def let_go(_: Any) -> None:
            self._held.pop(key, None)
            self.live -= size

        self._held[key] = ref(x, let_go)
        self.live += size

    # ------------------------------------------------------------ what the engine tells

    def call(self, op: Any, arrays: Any) -> Any:
        inside = rule.get()
        run = functools.partial(op.eval, np, *arrays)
        if op.effect:
            return run()
        if inside is not None:  # a step of a rule
            return self.timed(self._event(op, "backward", "dynamic", inside[0], counted=False), run)
        return self.timed(self._event(op, "forward", "dynamic", user_place()), run)

    def pulled(self, record: Any, g: Any, y: Any, xs: Any) -> Any:
        op, place = record.op, self.places.get(record.order)
        return self._by_rule(op, "backward", place, lambda: wanted(record, op.vjp(g, y, *xs)))

    def pushed(self, op: Any, ts: Any, y: Any, xs: Any, record: Any = None) -> Any:
        place = user_place() if record is None else self.places.get(record.order)
        return self._by_rule(op, "tangent", place, lambda: op.jvp(ts, y, *xs))

    def _by_rule(self, op: Any, stage: str, place: Place | None, run: Callable[[], Any]) -> Any:
        if rule.get() is not None or context.tracer.get() is not None:  # inside another, or building a graph
            return run()
        if has_lines_of_its_own(op):
            return self.timed(self._event(op, stage, "dynamic", place), run)
        with context.setting(rule, (place,)):
            return self.timed(self._event(op, stage, "dynamic", place), run)

    def steps(self, steps: Steps, values: list[Any]) -> list[Any]:
        """Run a graph, and take the time of each node."""
        if self.native is not None and graph_steps.frame.get() is None and rule.get() is None:
            inputs, outer = [values[i] for i in steps.inputs], _open.get()
            with watching.nobody():
                extra = self.native.run(steps.graph, inputs)
            if outer is not None:  # it is no part of the step by step run
                outer.inside += extra
        around = graph_steps.iterations
        counted = rule.get() is None

        def run(node: Any, compute: Callable[[], Any]) -> Any:
            stage = stage_of(node.place)
            event = self._event(node.op, stage, "static", node.place, iterations=around(), counted=counted)
            return self.timed(event, compute)

        for _ in graph_steps.walked(steps, values, run):
            pass
        return [values[i] for i in steps.outputs]


class profile:
    """Time and memory by op and by line of the user's program, the forward and the backward pass apart.

    `with ad.profile() as p:` looks at a block; `ad.profile(f)(*args)` calls `f` and gives the report, with what `f` returned as
    `result`. The report prints as a table, shows itself in a notebook, and `save("trace.json")` writes a file for
    chrome://tracing and ui.perfetto.dev. Functions under `jit` run step by step meanwhile, each node with its line and time;
    their machine code, which fuses nodes, is faster.

    Args:
        fn: the function; without it, for a `with` block.
        native: also run the machine code of functions under `jit`, in a build that takes the time of each of its units: `units`.
            The build is compiled first, and each graph runs three times as often.

    >>> import adjoint as ad
    >>> p = ad.profile(ad.grad(lambda x: ad.ops.sum(ad.ops.sin(x))))(ad.Tensor([1.0, 2.0]))
    >>> [(row.op, row.stage, row.calls) for row in sorted(p.nodes, key=lambda row: row.first)]
    [('Sin', 'forward', 1), ('Sum', 'forward', 1), ('Sum', 'backward', 1), ('Sin', 'backward', 1)]
    >>> p.result.shape
    (2,)
    """

    def __init__(self, fn: Callable[..., Any] | None = None, *, native: bool = False) -> None:
        if native:
            backends.checked("native")
        self._native = bool(native)
        if fn is not None and not callable(fn):
            raise ArgumentTypeError(
                f"profile: {fn!r} is no function; write ad.profile(f)(*args), or `with ad.profile() as p:`{called_at()}"
            )
        self._fn = fn
        self._running: tuple[ProfileWatcher, Any, ProfileReport] | None = None

    def __enter__(self) -> ProfileReport:
        if self._fn is not None:
            raise ArgumentTypeError(
                f"profile: a function is profiled by calling it, ad.profile(f)(*args); a block by `with ad.profile() as p:`{called_at()}"
            )
        if self._running is not None:
            raise ArgumentTypeError(f"profile: this one is running already{called_at()}")
        if isinstance(watching.watcher(), ProfileWatcher):
            raise ArgumentError(
                f"profile inside profile: the outer one would not see what runs in the inner{called_at()}"
            )
        watcher = ProfileWatcher(self._native)
        report = ProfileReport(watcher.events)
        self._running = watcher, watching.begin(watcher), report
        report.begun = _now()
        return report

    def __exit__(self, *exc: Any) -> None:
        assert self._running is not None
        watcher, token, report = self._running
        report.seconds = _now() - report.begun
        if watcher.native is not None:
            report.seconds -= watcher.native.spent
            report.units, report.native = watcher.native.rows(), True
        report.peak_bytes, report.peak_place = watcher.peak, watcher.peak_place
        self._running = None
        watching.end(watcher, token)

    def __call__(self, *args: Any, **kwargs: Any) -> ProfileReport:
        if self._fn is None:
            raise ArgumentTypeError(f"profile: give the function first, ad.profile(f)(*args){called_at()}")
        with profile(native=self._native) as report:
            report.result = self._fn(*args, **kwargs)
        return report
