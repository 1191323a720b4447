"""Intermediates in the memory of results: until a result is written, its memory is free.

The activations of a network die as the gradients of its weights are written. What lives for long goes into results that are written
after its end; what lives shortly stays in the arena, where it is still near.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from adjoint.backends.native.plan.arena_places import ALIGN, Place, lowest_gap, meet, most_at_once, put_at

EVEN = ".even"  # what the first address of a result that is a multiple of the alignment is called
LEAST = 1 << 16  # bytes that are worth a place elsewhere
ROUNDS = 8
SHORT = 16  # what lives for less than all the time over this stays in the arena


@dataclass(eq=False)
class ResultRoom:
    """The memory of a result, and the moment at which it is written.

    Places begin at its first multiple of the alignment. One that fits only without that begins where the result does, and has all of it.
    """

    pointer: str
    size: int
    begin: int
    held: list[tuple[int, int, Place]] = field(default_factory=list)  # (offset, end, place), by offset

    def take(self, place: Place, last: int) -> tuple[str, int] | None:
        """An address and an offset for a place; None if it does not fit, or the result is written before its end."""
        if place.size > self.size or (place.end or last) > self.begin:
            return None
        room = self.size - (ALIGN - 1)
        offset = lowest_gap(place, self.held, last)
        if offset + place.room <= room:
            put_at(place, offset, place.room, self.held)
            return f"{self.pointer}{EVEN}", offset
        if place.room > room and not any(meet(place, other, last) for _, _, other in self.held):
            put_at(place, 0, self.size + ALIGN, self.held)
            return self.pointer, 0
        return None


def placed_in_results(places: Sequence[Place], rooms: Sequence[ResultRoom], last: int) -> dict[Place, tuple[str, int]]:
    """The places that go into results, each with an address and an offset from there."""
    found: dict[Place, tuple[str, int]] = {}
    by_begin = sorted((r for r in rooms if r.size >= LEAST), key=lambda r: r.begin)
    for _ in range(ROUNDS if by_begin else 0):
        left = [p for p in places if p not in found]
        moment = most_at_once(left, last)[1]
        live = [p for p in left if _may_move(p, last) and p.begin <= moment < (p.end or last)]
        before = len(found)
        for place in sorted(live, key=lambda p: p.begin - (p.end or last)):
            where = next((where for room in by_begin if (where := room.take(place, last))), None)
            if where is not None:
                found[place] = where
        if len(found) == before:
            break
    return found


def _may_move(place: Place, last: int) -> bool:
    lives = (place.end or last) - place.begin
    return place.room >= LEAST and place.use not in ("scratch", "packed") and lives * SHORT > last
