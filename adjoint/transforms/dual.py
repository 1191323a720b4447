"""Forward mode: dual numbers carry a tangent beside each value; `push` takes tangents through what a tape has recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.core import context, watching
from adjoint.core.absent import ZERO
from adjoint.core.dispatch import EAGER, Trace, Value, gathered, make, wrap
from adjoint.core.errors import EndedTransformError, called_at, user_place
from adjoint.transforms.records import ForgottenInputs, Record, ResultRecord, restore, upstream


class ForwardTrace(Trace):
    """A transform that carries derivatives along with the values, until the function has returned."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.level = context.new_level()
        self.ended = False
        self.base = EAGER if context.open_tape.get() is None else None

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        if self.ended:
            raise EndedTransformError(
                f"a Tensor made inside {self.what} was kept and used after {self.what} had ended. "
                f"Return it from the function, or keep x.detach() instead.{called_at()}"
            )
        if (clean := gathered(xs)) is not None:
            return op(*clean)
        tape = context.open_tape.get()
        if tape is not None and tape.level > self.level:
            return tape.record(op, xs)
        return self.carry(op, xs)

    def carry(self, op: Any, xs: tuple[Any, ...]) -> Any:
        """Apply `op` to values and derivatives."""
        raise NotImplementedError


class Dual(ForwardTrace):
    """Values x + t·ε of one level; the tangent t is held beside the value."""

    def __init__(self, what: str = "jvp") -> None:
        super().__init__(what)

    def track(self, value: Any, tangent: Any) -> Any:
        """The dual number of a value and a tangent, both one level below."""
        return make(value, self, tangent)

    def split(self, x: Any) -> tuple[Any, Any]:
        """The value one level below, and the tangent."""
        if isinstance(x, Value) and x._trace is self:
            return x._value, x._extra
        return x, ZERO

    def carry(self, op: Any, xs: tuple[Any, ...]) -> Any:
        values, tangents = [], []
        for x in xs:
            value, tangent = self.split(x)
            values.append(value._value if isinstance(value, Value) and value._trace is self.base else value)
            tangents.append(tangent)
        return self._pushed(op, values, tangents, op.show(*values))

    def recall(self, op: Any, xs: Sequence[Any], y: Any) -> Any:
        """The result of a call that is known already, with its tangent."""
        split = [self.split(x) for x in xs]
        return self._pushed(op, [x for x, _ in split], [t for _, t in split], y)

    def _pushed(self, op: Any, values: list[Any], tangents: list[Any], y: Any) -> Any:
        if not op.differentiable:
            return wrap(y)
        if context.muted_below.get() > self.level:
            op = op.muted()
            if op is None:
                return wrap(y)
        with np.errstate(all="ignore"):
            if isinstance(y, Value) and context.tracer.get() is not None:
                with context.setting(context.place, _tangent_place()):
                    t = pushed(op, tangents, y, values)
            else:
                t = pushed(op, tangents, y, values) if watching.active else op.jvp(tangents, y, *values)
        if type(y) is tuple:
            parts = t if type(t) is tuple else (ZERO,) * len(y)
            return tuple(make(v, self, s) if s is not ZERO else wrap(v) for v, s in zip(y, parts, strict=True))
        return wrap(y) if t is ZERO else make(y, self, t)


def _tangent_place() -> context.TangentPlace | None:
    """The line whose tangent is computed, for the nodes of a graph."""
    here = context.place.get() or user_place()
    return None if here is None else context.TangentPlace(here)


def pushed(op: Any, ts: list[Any], y: Any, xs: list[Any], record: Record | None = None) -> Any:
    """The tangent of a result, as who looks on is told."""
    watcher = watching.watcher() if watching.active else None
    return op.jvp(ts, y, *xs) if watcher is None else watcher.pushed(op, ts, y, xs, record)


def push(seeds: dict[Record, Any], roots: Sequence[Record]) -> dict[Record, Any]:
    """Tangents of the roots, given those of some inputs: what a tape has recorded, read in the order it was made."""
    tangents: dict[Record, Any] = dict(seeds)
    with np.errstate(all="ignore"):
        for record in upstream(roots):
            if isinstance(record, ResultRecord):
                t = tangents.get(record.call, ZERO)
                tangents[record] = ZERO if t is ZERO else t[record.index]
            elif record.op is not None:
                if type(record.xs) is ForgottenInputs:
                    restore(record)
                ts = [ZERO if p is None else tangents.get(p, ZERO) for p in record.parents]
                active = any(t is not ZERO for t in ts)
                tangents[record] = pushed(record.op, ts, record.y, record.xs, record) if active else ZERO
    return tangents
