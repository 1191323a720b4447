"""The strategies "sqrt" and "balanced": a program in segments, of which one at a time is computed again."""

from __future__ import annotations

from adjoint.transforms.checkpointed_tape import CheckpointedTape, is_held_elsewhere
from adjoint.transforms.records import FORGOTTEN
from adjoint.transforms.stored_records import StoredRecord


class SegmentedTape(CheckpointedTape):
    """Keeps what the user's function holds at the ends of segments, and the last segment.

    A segment ends when its values take as much memory as all that is kept of those before it, at a moment when the function holds
    little. So segments grow, and n equal steps have about √(2n) of them, without n being known.
    """

    def __init__(self, what: str = "grad") -> None:
        super().__init__(what)
        self.kept_bytes = 0  # at the ends of segments
        self._open: list[StoredRecord] = []  # values of the open segment, which the function no longer holds
        self._open_bytes = 0
        self._live: list[StoredRecord] = []  # those that it held when we looked last
        self._live_bytes = 0
        self._least: float = float("inf")  # the least that it held in this segment
        self._unseen = 0  # ops since we looked

    def note(self, record: StoredRecord) -> None:
        self._live.append(record)
        self._live_bytes += record.bytes
        self._unseen += 1

    def tidy(self) -> None:
        if self.ended or 8 * self._unseen < len(self._live):
            return
        self._look()
        held = self._open_bytes + self._live_bytes
        self._least = min(self._least, self._live_bytes)
        if held > self.kept_bytes and (self._live_bytes <= self._least or held > 1.5 * self.kept_bytes):
            self._close()

    def _look(self) -> None:
        """See what the function has let go of. Views are let go of before what they are views of."""
        self._unseen = 0
        live = []
        for record in reversed(self._live):
            if record.y is not FORGOTTEN and is_held_elsewhere(record):
                live.append(record)
                continue
            self._live_bytes -= record.bytes
            if record.y is not FORGOTTEN:
                self.let_go_by_user(record)
        live.reverse()
        self._live = live

    def let_go_by_user(self, record: StoredRecord) -> None:
        """Take notice that nothing but the tape holds a result."""
        if is_idle(record):
            self.drop(record)
        else:
            self._open.append(record)
            self._open_bytes += record.bytes

    def _close(self) -> None:
        """End the segment: let go of what is inside, and keep what the function holds."""
        self.release()
        while self._open:
            record = self._open.pop()
            if record.loose and not self.is_worth_keeping(record):
                record.y = FORGOTTEN
            elif record.y is not FORGOTTEN:
                self.kept_bytes += record.bytes
        self.kept_bytes += self._live_bytes
        self._open_bytes = self._live_bytes = 0
        self._live.clear()
        self._least = float("inf")

    def finish(self) -> None:
        self.release()
        self._open.clear()
        self._live.clear()

    def is_worth_keeping(self, record: StoredRecord) -> bool:
        """Whether a value inside a segment stays."""
        return False


def is_idle(record: StoredRecord) -> bool:
    """Whether a value is not worth holding: no rule reads it, or it is a view, which costs nothing to make again."""
    return record.loose and not (record.bytes and record.wanted)


class BalancedTape(SegmentedTape):
    """Keeps values inside segments too, where that lowers the product of time and memory.

    A value of b bytes that took s seconds is kept if s / b is above T / M: the time of the whole gradient so far, in which
    everything is computed twice and differentiated, over the memory held so far. Of ops of one kind the quickest counts, since
    others may have been interrupted.
    """

    def __init__(self, what: str = "grad") -> None:
        super().__init__(what)
        self._rates: dict[tuple[type, int], float] = {}  # seconds, by kind of op and bytes of the result

    def note(self, record: StoredRecord) -> None:
        super().note(record)
        key = type(record.op), record.bytes
        self._rates[key] = min(record.seconds, self._rates.get(key, record.seconds))

    def is_worth_keeping(self, record: StoredRecord) -> bool:
        seconds = self._rates[type(record.op), record.bytes]
        return seconds * (self.kept_bytes + self._open_bytes) > 4 * self.seconds * record.bytes > 0
