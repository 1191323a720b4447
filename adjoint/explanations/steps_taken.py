"""What a program did: its op calls on tracked values, one after another, and the two ways of carrying derivatives through them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.api.graph_call import GraphCall
from adjoint.core import context
from adjoint.core.absent import ZERO, instantiate
from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import user_place
from adjoint.core.parameter import Parameter
from adjoint.core.spec import dtype_of, has_derivative
from adjoint.core.stores import Bindings
from adjoint.graph.control import Cond, Loop
from adjoint.graph.inplace import InPlace
from adjoint.graph.recompute import Recomputed
from adjoint.graph.walk import replay
from adjoint.ops.language import cast
from adjoint.ops.stacking import stack
from adjoint.transforms.records import Record, ResultRecord
from adjoint.transforms.tape import Tape

Place = tuple[str, int]


def number(x: Any) -> np.ndarray:
    """The numbers of a value, whatever holds them."""
    while isinstance(x, Value):
        x = x._value
    return np.asarray(x)


@dataclass(eq=False)
class TableValue:
    """A value of the table: an input, or a result of a step."""

    value: Any
    record: Record | None  # None for what has no derivative: comparisons, indices, what is computed under no_grad
    name: str = ""  # the user's variable
    index: int = 0


@dataclass(eq=False)
class StepTaken:
    """One call of an op."""

    op: Any
    inputs: list[Any]  # the values in which it computed, one level below
    operands: list[TableValue | None]  # which values of the table they are; None for constants
    results: list[TableValue]
    several: bool
    record: Record | None
    place: Place | None


class Recorder(Tape):
    """A tape that also notes each call in order. Branches, loops and compiled functions are gone through step by step."""

    sparing = False

    def __init__(self) -> None:
        super().__init__("explain")
        self.steps: list[StepTaken] = []
        self.held: dict[Record, TableValue] = {}
        self.plain: dict[int, TableValue] = {}  # values without derivatives that a step has made, by identity
        self.names: dict[Record, str] = {}

    def input(self, value: Any, name: str) -> tuple[Any, TableValue]:
        """A tracked Tensor for an input, and its entry in the table."""
        x = self.track(value)
        entry = self.held[x._extra] = TableValue(value, x._extra, name)
        return x, entry

    def note(self, name: str, value: Any) -> None:
        """A variable of the user's holds this value."""
        if value._trace is self:
            self.names.setdefault(value._extra, name)

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        op = op.op if isinstance(op, InPlace) else op
        inside = _inside(op, xs)
        if inside is not None:
            return inside
        given = [x._value if isinstance(x, Value) and x._trace in (self, self.base) else x for x in xs]
        operands = [self._entry(x, v) for x, v in zip(xs, given, strict=True)]
        y = super().apply(op, xs)
        if not op.effect:
            self._noted(op, given, operands, y)
        return y

    def _entry(self, x: Any, value: Any) -> TableValue | None:
        if isinstance(x, Value) and x._trace is self:
            return self.held.get(x._extra)
        known = self.plain.get(id(value))
        return known if known is not None and known.value is value else None

    def _noted(self, op: Any, given: list[Any], operands: list[TableValue | None], y: Any) -> None:
        ys = list(y) if type(y) is tuple else [y]
        if any(isinstance(v, Value) and v._trace.level > self.level for v in ys):
            return  # an inner tape has taken it, and comes here with its own call
        results = []
        record: Record | None = None
        for v in ys:
            mine = isinstance(v, Value) and v._trace is self
            entry = TableValue(v._value if isinstance(v, Value) else v, v._extra if mine else None)
            if mine:
                self.held[v._extra] = entry
                record = v._extra.call if isinstance(v._extra, ResultRecord) else v._extra
            else:
                self.plain[id(entry.value)] = entry
            results.append(entry)
        place = context.place.get() or user_place()
        self.steps.append(StepTaken(op, given, operands, results, type(y) is tuple, record, place))


def _inside(op: Any, xs: tuple[Any, ...]) -> Any:
    """The results of an op that holds graphs, by the steps that are taken inside; None for any other op."""
    if isinstance(op, GraphCall):
        return tuple(replay(op.graph, xs))
    if isinstance(op, Recomputed):
        return tuple(replay(op.inner, xs))
    if isinstance(op, Cond):
        return tuple(replay(op.true if number(xs[0]) else op.false, xs[1:]))
    return _looped(op, xs) if isinstance(op, Loop) else None


def _looped(loop: Loop, xs: Sequence[Any]) -> tuple[Any, ...]:
    """The iterations of a loop, one after another."""
    carry, stacked, constants = loop.parts(xs)
    specs = loop.body.specs
    carry = [c if dtype_of(c) == s.dtype else cast(c, s.dtype) for c, s in zip(carry, specs, strict=False)]
    kept: list[list[Any]] = [[] for _ in specs[loop.carried :]]
    n, k = loop.iterations(stacked), 0
    while k < n or (loop.test is not None and number(replay(loop.test, [*carry, *constants])[0])):
        at = n - 1 - k if loop.backwards else k
        k += 1
        if loop.guarded and not number(stacked[0])[at]:
            out = [*carry, *(np.zeros(s.shape, s.dtype) for s in specs[loop.carried :])]
        else:
            out = replay(loop.body, [*carry, *(s[at] for s in stacked), *constants])
        carry = out[: loop.carried]
        for rows, y in zip(kept, out[loop.carried :], strict=True):
            rows.append(y)
    return (*carry, *(_stacked(rows, s, loop.backwards) for rows, s in zip(kept, specs[loop.carried :], strict=True)))


def _stacked(rows: list[Any], spec: Any, backwards: bool) -> Any:
    return stack(rows[::-1] if backwards else rows) if rows else np.zeros((0, *spec.shape), spec.dtype)


class TrackedParameters(Bindings):
    """While a program is recorded, each Parameter that it reads is an input."""

    def __init__(self, outer: Any, recorder: Recorder, chosen: Callable[[Parameter], bool]) -> None:
        super().__init__((), lambda x: x)
        self.outer, self.recorder, self.chosen = outer or {}, recorder, chosen
        self.entries: dict[Parameter, TableValue] = {}

    def __contains__(self, p: object) -> bool:
        return True

    def __missing__(self, p: Parameter) -> Any:
        value = self.outer[p] if p in self.outer else wrap(p._value)
        if not (self.chosen(p) and has_derivative(p.dtype)):
            self[p] = value
            return value
        below = value._value if value._trace is self.recorder.base else value
        self[p], self.entries[p] = self.recorder.input(below, p.name)
        return self[p]

    def hand_on(self) -> None:
        """What is stored in Parameters is not kept: the program only shows what it does."""


# ---------------------------------------------------------------- derivatives through the steps


@dataclass(eq=False)
class Contribution:
    """What a step adds to the adjoint of one of its inputs."""

    operand: TableValue
    position: int  # among the inputs of the step
    first: bool  # whether it is the first one to come
    total: Any  # the adjoint when it has been added


@dataclass(eq=False)
class Pulled:
    """The adjoints of a step's results, and what it gives to its inputs."""

    adjoints: list[Any]  # ZERO where none has come
    contributions: list[Contribution] = field(default_factory=list)


def pull(
    steps: Sequence[StepTaken], seeds: Sequence[tuple[TableValue, Any]], wanted: set[Record]
) -> tuple[dict[TableValue, Any], dict[StepTaken, Pulled]]:
    """The reverse sweep: the adjoint of each value, and the part of each step in it."""
    adjoints: dict[TableValue, Any] = {}
    for entry, g in seeds:
        adjoints[entry] = g if entry not in adjoints else adjoints[entry] + g
    pulled: dict[StepTaken, Pulled] = {}
    with np.errstate(all="ignore"):
        for step in reversed(steps):
            gs = [adjoints.get(y, ZERO) for y in step.results]
            if step.record is None or step.record not in wanted or all(g is ZERO for g in gs):
                continue
            found = pulled[step] = Pulled(gs)
            for k, c in enumerate(_rule(step, gs)):
                operand = step.operands[k]
                if operand is None or operand.record not in wanted:
                    continue
                c = c() if callable(c) else c
                if c is not ZERO:
                    first = operand not in adjoints
                    adjoints[operand] = c if first else adjoints[operand] + c
                    found.contributions.append(Contribution(operand, k, first, adjoints[operand]))
    return adjoints, pulled


def _rule(step: StepTaken, gs: list[Any]) -> Sequence[Any]:
    ys = tuple([y.value for y in step.results])
    if not step.several:
        return step.op.vjp(gs[0], ys[0], *step.inputs)  # type: ignore[no-any-return]
    given = gs if step.op.takes_zero else tuple(map(instantiate, gs, ys))
    return step.op.vjp(given, ys, *step.inputs)  # type: ignore[no-any-return]


def push(steps: Sequence[StepTaken], seeds: dict[TableValue, Any]) -> dict[TableValue, Any]:
    """Forward mode: the tangent of each value that has one."""
    tangents = dict(seeds)
    with np.errstate(all="ignore"):
        for step in steps:
            ts = [ZERO if x is None else tangents.get(x, ZERO) for x in step.operands]
            if step.record is None or all(t is ZERO for t in ts):
                continue
            ys = tuple([y.value for y in step.results])
            t = step.op.jvp(ts, ys if step.several else ys[0], *step.inputs)
            parts = t if type(t) is tuple else (t,) if not step.several else (ZERO,) * len(ys)
            tangents.update({y: part for y, part in zip(step.results, parts, strict=True) if part is not ZERO})
    return tangents


def reached(steps: Sequence[StepTaken], sources: Sequence[TableValue]) -> set[Record]:
    """The records that depend on some inputs."""
    found = {x.record for x in sources if x.record is not None}
    for step in steps:
        if step.record is not None and any(x is not None and x.record in found for x in step.operands):
            found |= {step.record, *(y.record for y in step.results if y.record is not None)}
    return found
