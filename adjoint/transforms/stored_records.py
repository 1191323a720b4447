"""Records of a tape that keeps less than all: a value is held in one place, so that letting go of it is one assignment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from adjoint.core.dispatch import BOTTOM, Value
from adjoint.core.spec import Spec, spec_of
from adjoint.transforms.batch import Batch
from adjoint.transforms.dual import Dual
from adjoint.transforms.records import FORGOTTEN, Record, ResultRecord
from adjoint.transforms.rule_needs import needs_of

SMALL = 256  # bytes: a value that takes less than its record does is never let go of


class Away:
    """In place of a value that can be had back without computing it."""

    __slots__ = ()

    def back(self) -> Any:
        """The value."""
        raise NotImplementedError


class StoredRecord(Record):
    """A recorded call whose inputs are looked up where they were made; its result may be let go of and computed again."""

    __slots__ = ("bytes", "counted", "loose", "needs", "seconds", "spec", "wanted")

    def __init__(self, record: Record, seconds: float) -> None:
        self.op, self.parents, self.xs, self.y = record.op, record.parents, record.xs, record.y
        self.order, self.hooks = record.order, record.hooks
        self.seconds = seconds
        self.counted = True  # whether the bytes are among those that the tape holds
        self.needs = needs = needs_of(record)  # what the rule reads; None for everything
        self.wanted = needs is None or needs[0]  # whether a rule reads the result
        self.spec = _the_only(spec_of(self.y)) if isinstance(self.y, np.ndarray) else None
        for i, (p, x) in enumerate(zip(self.parents, self.xs, strict=True)):
            if p is None:
                continue
            if isinstance(p, StoredRecord) and (needs is None or needs[1][i]):
                p.wanted = True
            if p.y is x:
                self.xs[i] = FORGOTTEN
        self.bytes, freed = _memory_of(self.y, self._memory_of_inputs())
        self.loose = freed and not (self.op.opaque or self.op.effect or type(self.y) is tuple)

    def _memory_of_inputs(self) -> set[int]:
        """The arrays that own the memory of the inputs."""
        return {id(_owner(p.y)) for p in self.parents if p is not None and isinstance(p.y, np.ndarray)}

    @property
    def is_gone(self) -> bool:
        """Whether the result has to be computed again."""
        return self.y is FORGOTTEN

    def sources(self) -> Iterable[Record]:
        """The records whose results are this one's inputs."""
        return (p for p, x in zip(self.parents, self.xs, strict=True) if p is not None and x is FORGOTTEN)

    def read(self) -> list[Record]:
        """The records whose results the rule reads: this one's, inputs'."""
        if self.needs is None:
            return [self, *self.sources()]
        found: list[Record] = [self] if self.needs[0] else []
        for p, x, needed in zip(self.parents, self.xs, self.needs[1], strict=True):
            if needed and p is not None and x is FORGOTTEN:
                found.append(p)
        return found

    def inputs(self) -> list[Any]:
        """The inputs, all of which are there."""
        return [
            value_of(p) if x is FORGOTTEN and p is not None else x.back() if isinstance(x, Away) else x
            for p, x in zip(self.parents, self.xs, strict=True)
        ]

    def computed(self) -> Any:
        """The result once more: the same op on the same values."""
        xs = self.inputs()
        with np.errstate(all="ignore"):  # what there is to say was said the first time
            return self.op.show(*xs) if any(isinstance(x, Value) for x in xs) else self.op.eval(np, *xs)


def value_of(record: Record) -> Any:
    """The result of a call, which is there or can be had back."""
    return record.y.back() if isinstance(record.y, Away) else record.y


def missing(targets: Iterable[Record]) -> list[StoredRecord]:
    """The records to compute again, first to last, so that the results of the targets are there."""
    found: set[Record] = set()
    stack = [r for r in targets if r.y is FORGOTTEN]
    while stack:
        r = stack.pop()
        if r not in found:
            found.add(r)
            stack += [p for p in r.sources() if p.y is FORGOTTEN]  # type: ignore[attr-defined]
    return sorted(found, key=lambda r: r.order)  # type: ignore[arg-type]


def stored(result: Any, trace: Any, seconds: float) -> StoredRecord | None:
    """Store the call that gave a result of a tape; None if it recorded none, or has been stored already."""
    several = type(result) is tuple
    parts = [x for x in (result if several else (result,)) if isinstance(x, Value) and x._trace is trace]
    if not parts:
        return None
    record = parts[0]._extra.call if isinstance(parts[0]._extra, ResultRecord) else parts[0]._extra
    if type(record) is not Record:
        return None
    record = StoredRecord(record, seconds)
    for x in parts:
        if several:
            x._extra.call, x._extra.parents = record, (record,)
        else:
            x._extra = record
    return record


_specs: dict[Spec, Spec] = {}


def _the_only(spec: Spec) -> Spec:
    """The same for all records of one shape and dtype."""
    if len(_specs) > 4096:
        _specs.clear()
    return _specs.setdefault(spec, spec)


def _memory_of(y: Any, others: set[int]) -> tuple[int, bool]:
    """How many bytes a value takes that none of the others owns, and whether letting go of it could free any."""
    if isinstance(y, np.ndarray):
        owner = _owner(y)
        size = owner.nbytes
        return (0, True) if id(owner) in others else (size, True) if size >= SMALL else (0, False)
    if type(y) is tuple:
        return sum(_memory_of(v, others)[0] for v in y), False
    if not isinstance(y, Value):
        return 0, False
    kind = type(y._trace)
    if kind is Dual:
        (size, freed), (more, also) = (_memory_of(v, others) for v in (y._value, y._extra))
        return size + more, (freed or also) and is_recomputable(y)
    return _memory_of(y._value, others) if is_recomputable(y) else (0, False)


def is_recomputable(y: Any) -> bool:
    """Whether only vmap and forward mode are around a value: another tape would record it a second time, and keeps it."""
    while isinstance(y, Value):
        kind = type(y._trace)
        if kind is Dual and not is_recomputable(y._extra):
            return False
        if kind not in (Dual, Batch) and y._trace not in BOTTOM:
            return False
        y = y._value
    return True


def _owner(y: np.ndarray) -> np.ndarray:
    """The array whose memory a view shows."""
    while isinstance(y.base, np.ndarray):
        y = y.base
    return y
