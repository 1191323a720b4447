"""`debug_nan`: look at what each op, each derivative rule and each step of a graph gives, and stop at the first NaN or infinity."""

from __future__ import annotations

from collections import Counter
from types import CodeType, FrameType
from typing import Any

import numpy as np

from adjoint.core import context, watching
from adjoint.core.errors import ArgumentTypeError, called_at, user_frame, user_place
from adjoint.diagnosis import graph_steps
from adjoint.diagnosis.bottoms import arrays_in, bottom
from adjoint.diagnosis.line_watch import LineWatcher, Place, bounded, has_lines_of_its_own, rule, wanted
from adjoint.diagnosis.non_finite import Bad, Finding, first_bad, holds, stage_of
from adjoint.graph.node import Const, Node, Param
from adjoint.graph.steps import Steps
from adjoint.ops.movement import Movement

#: Ops that hand on elements, besides those that only move them: a NaN in what they give was there before.
HANDING_ON = ("Where", "Concat", "Stack", "Split", "Unstack", "Cast", "StopGradient", "SetItem", "PutItem", "Gather",
              "ScatterSet", "After", "Real", "Imag", "Conj", "Neg", "Abs", "Maximum", "Minimum")  # fmt: skip


class NanWatcher(LineWatcher):
    """Looks for NaN, and for infinities if these count."""

    name = "debug_nan"

    def __init__(self, inf: bool, everywhere: bool = False) -> None:
        super().__init__(everywhere)
        self.inf = inf
        self._runs: Counter[tuple[CodeType, int]] = Counter()
        self._suspects: dict[int, Finding] = {}  # of records whose cotangent is not finite, by their order
        self._first: Finding | None = None  # of the backward pass that runs

    # ------------------------------------------------------------ dynamic mode

    def call(self, op: Any, arrays: Any) -> Any:
        with np.errstate(all="ignore"):
            y = op.eval(np, *arrays)
        if rule.get() is not None or has_lines_of_its_own(op):
            return y
        place, runs = self._site(user_frame())
        for part in arrays_in(y):
            bad = first_bad(part, self.inf)
            if bad is None or op.effect:
                continue
            op, given = getattr(op, "op", op), tuple(arrays_in(arrays))
            known = holds(given, bad.kind)
            if known and (bad.kind == "inf" or _hands_on(op)):
                continue
            said = f"with an input of {op}" if known else ""
            raise Finding(bad, op, place, given, outside=said, runs=runs).error()
        return y

    def pulled(self, record: Any, g: Any, y: Any, xs: Any) -> Any:
        op, place = record.op, self.places.get(record.order)
        if has_lines_of_its_own(op):  # lines of the user's, or of the graph, of their own
            found = wanted(record, op.vjp(g, y, *xs))
        else:
            with context.setting(rule, rule.get() or (place,)):
                found = wanted(record, op.vjp(g, y, *xs))
        if rule.get() is None:
            self._follow(record, place, found, g, xs)
        return found

    def _follow(self, record: Any, place: Place | None, found: Any, g: Any, xs: Any) -> None:
        """Note the inputs whose cotangents are not finite, and why. It is said if a gradient is not: 0 times infinity may be 0."""
        for parent, c in zip(record.parents, found, strict=True):
            finding = None if parent is None else self._finding("backward", record.op, place, c, (g,), xs)
            if finding is None:
                continue
            known = self._suspects.get(record.order) or (self._first if finding.incoming else None) or finding
            if known is finding and finding.incoming and finding.bad.kind == "inf":
                continue  # an infinity that was given
            self._first = self._first or known
            bounded(self._suspects)
            self._suspects[parent.order] = known

    def swept(self, gradients: dict[Any, Any]) -> None:
        if rule.get() is not None:
            return
        for record, g in gradients.items():
            array, finding = bottom(g), self._suspects.get(record.order) or self._first
            if array is not None and finding is not None and first_bad(array, self.inf) is not None:
                raise finding.error()
        self._first = None

    def pushed(self, op: Any, ts: Any, y: Any, xs: Any, record: Any = None) -> Any:
        place = user_place() if record is None else self.places.get(record.order)
        if has_lines_of_its_own(op):
            return op.jvp(ts, y, *xs)
        with context.setting(rule, rule.get() or (place,)):
            t = op.jvp(ts, y, *xs)
        if rule.get() is None and (finding := self._finding("tangent", op, place, t, ts, xs)) is not None:
            raise finding.error()
        return t

    def _finding(self, stage: str, op: Any, place: Place | None, c: Any, came: Any, xs: Any) -> Finding | None:
        """What is to be said of a derivative, if it is not finite."""
        array = bottom(c)
        bad = None if array is None else first_bad(array, self.inf)
        if bad is None:
            return None
        given, derivatives = tuple(arrays_in(tuple(xs))), list(arrays_in(tuple(came)))
        incoming = holds(derivatives, bad.kind)
        if bad.kind == "inf" and (holds(given, "inf") or (incoming and stage == "tangent")):
            return None
        return Finding(bad, op, place, given, stage, incoming=incoming)

    def _site(self, frame: FrameType | None) -> tuple[Place | None, int]:
        """The user's line that runs, and how often it has."""
        if frame is None:
            return None, 0
        key = frame.f_code, frame.f_lasti
        self._runs[key] += 1
        return (frame.f_code.co_filename, frame.f_lineno), self._runs[key]

    # ------------------------------------------------------------ graphs

    def steps(self, steps: Steps, values: list[Any]) -> list[Any]:
        """Run a graph. What is not finite is traced, and reported if it reaches a result: a branch or a `where` may drop it."""
        outer = graph_steps.frame.get()
        suspects = self._inputs(steps, values)
        for node, reads, write, leaving in graph_steps.walked(steps, values, lambda _, compute: compute()):
            bad = next((b for part in arrays_in(values[write]) if (b := first_bad(part, self.inf))), None)
            if bad is None:
                continue
            known = next((suspects[i] for i in reads if i in suspects), None) or leaving
            given = tuple(arrays_in([values[i] for i in reads]))
            if known is None and bad.kind == "inf" and holds(given, "inf"):
                continue  # an infinity that was given
            if known is None:
                known = _arisen(steps, node, bad, given)
            suspects[write] = known
        found = [suspects.get(i) for i in steps.outputs]
        inside = outer is not None and any(steps.graph is g for g in outer.op.graphs().values())
        carried = getattr(outer.op, "carried", len(found)) if outer is not None and inside else len(found)
        first = next((f for f in found[:carried] if f is not None), None)
        if first is not None and (not inside or hasattr(outer.op, "carried")):  # type: ignore[union-attr]
            raise first.error()
        if inside and outer is not None:
            outer.leaving = outer.leaving or next((f for f in found if f is not None), None)
        return [values[i] for i in steps.outputs]

    def _inputs(self, steps: Steps, values: list[Any]) -> dict[int, Finding]:
        """What came into a graph with a NaN in it."""
        found = {}
        frame = user_frame()
        place = None if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        for slot, node in enumerate(steps.order):
            bad = first_bad(values[slot], False) if isinstance(node.op, (Param, Const)) else None
            if bad is not None:
                name = getattr(node.op, "name", "")
                what = (
                    f"input {node.op.index}{f' ({name})' if name else ''}"
                    if isinstance(node.op, Param)
                    else "a constant"
                )
                outside = f"as {what} of the graph of {steps.graph.name}"
                found[slot] = Finding(bad, None, node.place or place, (), outside=outside)
        return found


def _arisen(steps: Steps, node: Node, bad: Bad, given: tuple[np.ndarray, ...]) -> Finding:
    """What is to be said of a step that gave what is not finite, of what was."""
    op, around = getattr(node.op, "op", node.op), graph_steps.iterations()
    stage = stage_of(node.place)
    if stage == "forward":
        return Finding(bad, op, node.place, given, iterations=around)
    makers = {str(n.op) for n in steps.order if n.place == node.place and stage_of(n.place) == "forward"}
    name = makers.pop() if len(makers) == 1 else "this line"
    return Finding(bad, op, node.place, given, stage, iterations=around, step_of=name)


def _hands_on(op: Any) -> bool:
    return isinstance(op, Movement) or type(op).__name__ in HANDING_ON


class debug_nan:
    """Stop at the line where a NaN or an infinity first arises, in the forward or in the backward pass.

    As a `with` block it looks on in this thread; `on()` and `off()` switch it for the whole program. The `NonFiniteError`
    names the op, the line, the element, the inputs' ranges, and what is usually behind it. Functions under `jit` run
    step by step meanwhile, and name the line and the iteration of a loop all the same. What comes in infinite may stay
    so (a mask of -inf); a NaN that comes in is reported at the first computation with it.

    Args:
        inf: False lets infinities pass, as long as no NaN comes of them.

    >>> import adjoint as ad
    >>> def loss(x):
    ...     return ad.ops.sum(ad.ops.sqrt(x))
    >>> with ad.debug_nan():  # doctest: +ELLIPSIS
    ...     ad.grad(loss)(ad.Tensor([4.0, 0.0]))
    Traceback (most recent call last):
    adjoint.diagnosis.non_finite.NonFiniteError: infinity in the backward pass, in the derivative of Sqrt(): element [1] of shape (2,)...
    """

    def __init__(self, *args: Any, inf: bool = True) -> None:
        if args:
            raise ArgumentTypeError(
                f"debug_nan takes no function: write `with ad.debug_nan():` around the call{called_at()}"
            )
        if not isinstance(inf, (bool, np.bool_)):
            raise ArgumentTypeError(
                f"debug_nan: inf is True or False, not {inf!r}; use it as `with ad.debug_nan():`{called_at()}"
            )
        self._inf = bool(inf)
        self._tokens: list[tuple[NanWatcher, Any]] = []

    def __enter__(self) -> debug_nan:
        self._begin(NanWatcher(self._inf))
        return self

    def __exit__(self, *exc: Any) -> None:
        self.off()

    def on(self) -> debug_nan:
        """Look on in all threads, until `off()`."""
        self._begin(NanWatcher(self._inf, everywhere=True))
        return self

    def off(self) -> None:
        """Look on no more."""
        if self._tokens:
            watching.end(*self._tokens.pop())

    def _begin(self, watcher: NanWatcher) -> None:
        self._tokens.append((watcher, watching.begin(watcher)))

    def __call__(self, fn: Any) -> Any:
        raise ArgumentTypeError(f"debug_nan is no decorator: write `with ad.debug_nan():` around the call{called_at()}")
