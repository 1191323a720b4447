"""The strategies "budget" and "binomial": values are let go of when the memory that they may take is used up."""

from __future__ import annotations

from bisect import insort
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from heapq import heappush
from math import log2
from operator import attrgetter
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value
from adjoint.core.errors import MemoryBudgetError, called_at
from adjoint.core.spec import dtype_of, elements, spec_of
from adjoint.transforms.checkpointed_tape import is_held_elsewhere
from adjoint.transforms.records import FORGOTTEN, Record
from adjoint.transforms.revolve import held_of
from adjoint.transforms.segmented_tape import SegmentedTape, is_idle
from adjoint.transforms.stored_records import StoredRecord
from adjoint.transforms.tape import Scattered

_order = attrgetter("order")


class BudgetTape(SegmentedTape):
    """Holds at most `limit` bytes of values and, in the sweep, of cotangents.

    Now and then it notes a state: what the user's function holds at that moment, from which all that follows can be computed.
    When memory is short the oldest values that belong to no state go first, then states, those first whose absence makes the
    shortest part to compute again. In the sweep a part is computed again within what is free (see `revolve`).
    """

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(what)
        self.limit = limit
        self.held = 0  # bytes of values
        self.largest = 0  # value
        self.total = 0  # bytes of all values, had none been let go of
        self._inside: deque[StoredRecord] = deque()  # what belongs to no state, oldest first
        self._states: list[tuple[float, int, list[StoredRecord]]] = []  # when, in seconds and order, and what was held
        self._members: Counter[StoredRecord] = Counter()  # of how many states a value is a part
        self._member_bytes = 0
        self._since = 0  # bytes since the last state
        self._pending: dict[int, int] = {}  # bytes of the cotangents that wait, and of those that have come to inputs
        self._waiting = 0  # their sum
        self._pinned: set[Record] = set()
        self._latest = 0  # the order of the last record
        self._work = 0  # bytes that a step of the sweep takes
        self._reused = False

    # ------------------------------------------------------------ recording

    def note(self, record: StoredRecord) -> None:
        super().note(record)
        self.held += record.bytes
        self.total += record.bytes
        self._since += record.bytes
        self.largest = max(self.largest, record.bytes)
        self._latest = record.order

    def tidy(self) -> None:
        if self.ended:
            return
        self._pinned.clear()
        if 8 * self._unseen >= len(self._live):
            self._look()
            self._least = min(self._least, self._live_bytes)
            grain = self.grain()
            if self._since > grain and (self._live_bytes <= self._least or self._since > 1.5 * grain):
                self._note_state()
        if self.held + 2 * self.largest > self.limit:
            self.release()
            self._make_room(2 * self.largest, self.largest)

    def grain(self) -> float:
        """After how many bytes a state is noted."""
        return self.limit / 32

    def let_go_by_user(self, record: StoredRecord) -> None:
        if record in self._members:
            return
        if is_idle(record):
            self.drop(record)
        elif record.loose:
            self._inside.append(record)

    def _note_state(self) -> None:
        state = [r for r in self._live if r.loose and r.bytes]
        for record in state:
            if record not in self._members:
                self._member_bytes += record.bytes
            self._members[record] += 1
        self._states.append((self.seconds, self._latest, state))
        self._since, self._least = 0, float("inf")

    # ------------------------------------------------------------ making room

    def _make_room(self, wanted: int, least: int) -> None:
        """Let go of values so that as many bytes are free as are wanted; an error if there are not the least that must be."""
        spared: list[StoredRecord] = []
        while self.held + self._waiting + wanted > self.limit:
            if not self._inside and self._unseen and not self.ended:
                self._look()
            elif self._states and (self._member_bytes > self.limit / 2 or not self._inside):
                self._drop_a_state()
            elif self._inside:
                record = self._inside.popleft()
                if record.y is not FORGOTTEN and (record in self._pinned or is_held_elsewhere(record)):
                    spared.append(record)
                else:
                    self.drop(record)
            else:
                break
        self._inside.extendleft(reversed(spared))
        self._drop_farthest(wanted)
        if self.held + self._waiting + least > self.limit:
            self._refuse(least)

    def _refuse(self, least: int) -> None:
        needed = self.held + self._waiting + least
        raise MemoryBudgetError(
            f"{self.what}: the checkpoints' budget of {self.limit:,} bytes cannot be kept: {needed:,} bytes are needed here, which are "
            f"inputs, results and cotangents of one step, and what the function holds itself. memory={self.total + self._waiting + 4 * self.largest} "
            "holds all values up to here; what comes after it needs its own, and is not known before it runs. `jit(grad(f)).memory(...)` says what "
            f"a compiled gradient takes in all{called_at()}"
        )

    def drop(self, record: StoredRecord) -> None:
        record.y = FORGOTTEN
        self._discount(record)

    def _discount(self, record: StoredRecord) -> None:
        if record.counted:
            record.counted = False
            self.held -= record.bytes

    def _count(self, record: StoredRecord) -> None:
        if not record.counted:
            record.counted = True
            self.held += record.bytes

    def _drop_farthest(self, wanted: int) -> None:
        """Let go of what was computed again too early."""
        if self.held + self._waiting + wanted > self.limit and self._again:
            self._again.sort()
            spared = []
            while self._again and self.held + self._waiting + wanted > self.limit:
                order, record = self._again.pop()
                if record in self._pinned or (record.y is not FORGOTTEN and is_held_elsewhere(record)):
                    spared.append((order, record))
                else:
                    self.drop(record)
            self._again += reversed(spared)

    def _drop_a_state(self) -> None:
        """Let go of the state whose absence makes the shortest part."""
        times = [0.0, *(s[0] for s in self._states), self.seconds]
        k = min(range(len(self._states)), key=lambda i: times[i + 2] - times[i])
        for record in self._without_state(k):
            if record.y is FORGOTTEN or (record not in self._pinned and not is_held_elsewhere(record)):
                self.drop(record)
            elif self.ended:
                insort(self._inside, record, key=_order)
            elif not is_held_elsewhere(record):
                self._inside.append(record)

    def _without_state(self, k: int) -> Iterable[StoredRecord]:
        """The values that are a part of no state once this one is gone."""
        for record in self._states.pop(k)[2]:
            self._members[record] -= 1
            if not self._members[record]:
                del self._members[record]
                self._member_bytes -= record.bytes
                yield record

    # ------------------------------------------------------------ the sweep

    def sweep(self, seeds: list[tuple[Record, Any]], again: bool = False) -> dict[Record, Any]:
        with self.sweeping:
            self._reused = again
            self._pending.clear()
            self._waiting = 0
            try:
                return super().sweep(seeds, again)
            finally:
                self._pinned.clear()

    def finish(self) -> None:
        self.release()
        live = [r for r in self._live if r.loose and r not in self._members]
        self._live.clear()
        self._inside = deque(sorted({*self._inside, *live}, key=_order))

    def values(self, record: Record, g: Any, grads: dict[int, Any]) -> tuple[Any, Any]:
        self._expect(record.order, size_of(g))
        if type(record) is not StoredRecord:
            return record.y, record.xs
        self._pinned = set(record.read())
        cotangents = sum(p.bytes if isinstance(p, StoredRecord) else size_of(p.y) for p in record.parents if p)
        self._work = cotangents + 2 * max(record.bytes, size_of(g))
        self._make_room(self._work, 0)
        return super().values(record, g, grads)

    def bring(self, targets: Iterable[Record]) -> None:
        targets = list(targets)
        self._pinned.update(targets)
        if not self.ended:  # another tape asks for values: what it has asked for before may go
            self._look()
            self._drop_farthest(2 * self.largest)
        super().bring(targets)

    def restore(self, again: Sequence[StoredRecord], targets: set[Record]) -> None:
        inside: set[Record] = set(again)
        targets = targets | self._pinned
        left = Counter(p for r in again for p in r.sources())
        self._pinned |= left.keys() - inside
        self._make_room(self._work, 0)
        held = held_of(again, self.limit - self.held - self._waiting - self._work)
        for record in again:
            self._make_room(record.bytes, record.bytes)
            record.y = record.computed()
            self._count(record)
            self._pinned.add(record)
            heappush(self._again, (-record.order, record))
            for p in record.sources():
                left[p] -= 1
                if not left[p] and p not in targets:
                    self._pinned.discard(p)
                    if p in inside and p not in held:
                        self.drop(p)  # type: ignore[arg-type]

    def passed(self, record: Record, grads: dict[int, Any]) -> None:
        super().passed(record, grads)
        if record.op is not None or record.parents:
            self._expect(record.order, 0)
        for p in record.parents:
            if p is not None:
                self._expect(p.order, size_of(grads.get(p.order)))
        if not self._reused:
            self._pass(record.order)

    def _pass(self, order: int) -> None:
        """The records from this order on are no longer held by the tape, nor is what they hold."""
        while self._states and self._states[-1][1] >= order:
            for record in self._without_state(-1):
                if record.order < order:
                    insort(self._inside, record, key=_order)
                else:
                    self._discount(record)
        while self._inside and self._inside[-1].order >= order:
            self._discount(self._inside.pop())

    def _expect(self, order: int, size: int) -> None:
        """Note how much the cotangent of a record takes."""
        self._waiting += size - self._pending.pop(order, 0)
        if size:
            self._pending[order] = size


class BinomialTape(BudgetTape):
    """Holds some states of the program, and as much again of the part that is computed again.

    Their number is given, or grows with the logarithm of the number of calls. Cotangents are not counted.
    """

    def __init__(self, what: str, snapshots: int | None) -> None:
        super().__init__(what, 0)
        self._snapshots = snapshots
        self._calls = 0
        self._state_bytes = 0

    def note(self, record: StoredRecord) -> None:
        super().note(record)
        self._calls += 1

    def _note_state(self) -> None:
        super()._note_state()
        self._state_bytes = max(self._state_bytes, sum(r.bytes for r in self._states[-1][2]))

    def grain(self) -> float:
        count = self._snapshots or 2 + int(log2(1 + self._calls))
        self.limit = 2 * count * max(self._state_bytes, self.largest) + 4 * self.largest
        return self._state_bytes

    def _expect(self, order: int, size: int) -> None:
        pass

    def _refuse(self, least: int) -> None:
        pass


def size_of(g: Any) -> int:
    """The bytes of a cotangent."""
    if isinstance(g, np.ndarray):
        return g.nbytes
    if isinstance(g, list):
        return sum(map(size_of, g))
    if isinstance(g, Value):
        return size_of(g._value)
    if isinstance(g, Scattered):
        return elements(spec_of(g)) * dtype_of(g).itemsize
    return 0
