"""A tape that keeps some of the values it has recorded, and has the others computed again when the sweep comes to them.

What is recorded is a program (see `records`): the ops, their order and their inputs stay, so that a value that was let go of is
computed again to the last bit. Which values stay is what strategies differ in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from heapq import heappop, heappush
from threading import RLock
from time import perf_counter
from typing import Any

from adjoint.core.arrays import holders
from adjoint.core.dispatch import Value, make
from adjoint.transforms.records import FORGOTTEN, Record
from adjoint.transforms.rule_needs import deferred
from adjoint.transforms.stored_records import Away, StoredRecord, missing, stored, value_of
from adjoint.transforms.tape import Tape, sweep


class OuterValue(Away):
    """A value that another such tape has recorded, and may have let go of."""

    __slots__ = ("record", "tape")

    def __init__(self, x: Value) -> None:
        self.tape: Any = x._trace
        self.record = x._extra

    def back(self) -> Any:
        self.tape.bring([self.record])
        return make(value_of(self.record), self.tape, self.record)


class CheckpointedTape(Tape):
    """Records the ops on Tensors of its level, and lets go of values."""

    sparing = False  # what is computed again needs all of its inputs

    def __init__(self, what: str = "grad") -> None:
        super().__init__(what)
        self.seconds = 0.0  # what the recorded ops have taken
        self._again: list[tuple[int, StoredRecord]] = []  # what has been computed again, latest first
        self.sweeping = RLock()  # values come and go: one sweep at a time

    # ------------------------------------------------------------ recording

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        self.tidy()
        start = perf_counter()
        result = super().apply(op, xs)
        seconds = perf_counter() - start
        record = stored(result, self, seconds)
        if record is not None:
            self.seconds += seconds
            _refer_to_outer_tapes(record)
            self.note(record)
        return result

    def tidy(self) -> None:
        """Let go of what need not be held; called before each op, when the user's function holds what it still needs."""
        raise NotImplementedError

    def note(self, record: StoredRecord) -> None:
        """Take notice of a recorded call."""
        raise NotImplementedError

    def finish(self) -> None:
        """Recording is over: hold no records, so that each goes when the sweep has passed it."""
        raise NotImplementedError

    # ------------------------------------------------------------ the sweep

    def sweep(self, seeds: list[tuple[Record, Any]], again: bool = False) -> dict[Record, Any]:
        with self.sweeping:
            self.finish()
            try:
                return sweep(seeds, None, self)
            finally:
                self._let_go(0)

    def values(self, record: Record, g: Any, grads: dict[int, Any]) -> tuple[Any, Any]:
        """The result and the inputs of a call: those that are gone are computed again."""
        if type(record) is not StoredRecord:
            return record.y, record.xs
        self.bring(record.read())
        if record.needs is None:
            return value_of(record), record.inputs()
        return self._handed(record), [
            self._handed(p) if x is FORGOTTEN and p is not None else x
            for p, x in zip(record.parents, record.xs, strict=True)
        ]

    def _handed(self, record: Record) -> Any:
        """A value for a rule; one that is not there, which the rule does not read, stays away."""
        if record.y is not FORGOTTEN and not isinstance(record.y, Away):
            return record.y
        spec = record.spec if isinstance(record, StoredRecord) else None
        return self._fetch(record) if spec is None else deferred(spec, partial(self._fetch, record))

    def _fetch(self, record: Record) -> Any:
        self.bring([record])
        return value_of(record)

    def passed(self, record: Record, grads: dict[int, Any]) -> None:
        """Let go of what was computed again for this record and those after it."""
        self._let_go(record.order)

    def bring(self, targets: Iterable[Record]) -> None:
        """Compute again what is missing of these results."""
        targets = set(targets)
        if again := missing(targets):
            self.restore(again, targets)

    def restore(self, again: Sequence[StoredRecord], targets: set[Record]) -> None:
        """Compute these results again, each from those before it; hold those that rules read."""
        idle: set[Record] = {r for r in again if not r.wanted and r not in targets}
        left = Counter(p for r in again for p in r.sources() if p in idle)
        for record in again:
            record.y = record.computed()
            heappush(self._again, (-record.order, record))
            for p in record.sources():
                if p in left:
                    left[p] -= 1
                    if not left[p]:
                        self.drop(p)  # type: ignore[arg-type]

    def _let_go(self, order: int) -> None:
        """Let go of what was computed again from this order on."""
        while self._again and -self._again[0][0] >= order:
            self.drop(heappop(self._again)[1])

    def drop(self, record: StoredRecord) -> None:
        """Let go of a result."""
        record.y = FORGOTTEN

    def release(self) -> None:
        """Let go of what was computed again and nobody else holds: values that another tape asked for."""
        held = []
        while self._again:
            order, record = heappop(self._again)
            if is_held_elsewhere(record):
                held.append((order, record))
            else:
                self.drop(record)
        self._again = held  # sorted, so it is a heap


def is_held_elsewhere(record: StoredRecord) -> bool:
    """Whether something beside its record holds a result: the user's function, or a view of it."""
    own = 1 + sum(p is not None and p.y is record.y for p in record.parents)  # an op may hand its input on
    return holders(record.y) > own


def _refer_to_outer_tapes(record: StoredRecord) -> None:
    """Hold what other such tapes have recorded by its record there, so that they can let go of it."""
    if _is_outer(record.y):
        record.y._extra.wanted = True
        record.y, record.bytes, record.loose = OuterValue(record.y), 0, False
    for i, x in enumerate(record.xs):
        if _is_outer(x):
            p = record.parents[i]
            x._extra.wanted = True
            known = p is not None and isinstance(p.y, OuterValue) and p.y.record is x._extra
            record.xs[i] = FORGOTTEN if known else OuterValue(x)


def _is_outer(x: Any) -> bool:
    return isinstance(x, Value) and isinstance(x._trace, CheckpointedTape)
