"""One arena for what is not a result: places are taken and given back while code is written, and laid out when all are known.

A place has an interval: from the moment at which it is taken to the one at which it is given back, in the order of the code. Two
places may share bytes if their intervals do not meet. What ends before a result is written may be in that result's memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from adjoint.backends.native.plan.arena_places import Place, events, lowest_gap, most_at_once, put_at
from adjoint.backends.native.plan.result_rooms import ResultRoom, placed_in_results
from adjoint.graph.node import Node

WORTH = 1 << 20  # bytes for which it is worth while to lay places out anew
MANY = 4000  # places that are compared with one another


@dataclass
class Arena:
    """The places of one function, and moments worth remembering."""

    places: list[Place] = field(default_factory=list)
    marks: list[tuple[int, Any]] = field(default_factory=list)  # what is written from a moment on
    rooms: dict[str, ResultRoom] = field(default_factory=dict)  # results that are being or have been written
    moments: list[int] = field(default_factory=list)  # between two units of the function's own graph
    size: int = 0  # when it is laid out
    given_back: int = 0  # by how much what is given back meanwhile lowers the peak of arena and results
    now: int = 0

    def take(self, size: int, node: Node | None = None, use: str = "") -> Place:
        """A place of so many bytes."""
        self.now += 1
        place = Place(size, len(self.places), self.now, node, use)
        self.places.append(place)
        return place

    def give(self, place: Place) -> None:
        """Let a place be used again."""
        self.now += 1
        place.end = self.now

    def begin_result(self, pointer: str, size: int) -> None:
        """Note that a result is written from now on."""
        self.now += 1
        self.rooms.setdefault(pointer, ResultRoom(pointer, size, self.now))

    def mark(self, what: Any) -> None:
        """Note what is written from now on."""
        self.marks.append((self.now, what))

    def lay_out(self) -> None:
        """Give every place its offset, in the arena or in a result where that saves much."""
        last = self.now + 1
        self.size, offsets = _laid_out(self.places, last)
        inside: dict[Place, tuple[str, int]] = {}
        if self.size > WORTH and len(self.places) <= MANY:
            inside = placed_in_results(self.places, list(self.rooms.values()), last)
            size, others = _laid_out([p for p in self.places if p not in inside], last)
            if self.size - size > WORTH:
                self.size, offsets = size, others
            else:
                inside = {}
        for place in self.places:
            place.base, place.offset = inside[place] if place in inside else ("", offsets[place.number])


def _laid_out(places: Sequence[Place], last: int) -> tuple[int, dict[int, int]]:
    """The bytes that places take, and the offset of each by its number: as they come, or the largest first where that saves much."""
    size, offsets = _as_they_come(places, last)
    if size - most_at_once(places, last)[0] > WORTH and len(places) <= MANY:
        other = _largest_first(places, last)
        if size - other[0] > WORTH:
            return other
    return size, offsets


def _as_they_come(places: Sequence[Place], last: int) -> tuple[int, dict[int, int]]:
    """Each place in the smallest gap that fits it when it is taken, else at the end."""
    offsets, size = dict[int, int](), 0
    free: list[tuple[int, int]] = []  # (offset, size), apart from each other
    for _, taken, place in events(places, last):
        if taken:
            fitting = [(n, offset) for offset, n in free if n >= place.room]
            if fitting:
                n, offset = min(fitting)
                free.remove((offset, n))
                if n > place.room:
                    free.append((offset + place.room, n - place.room))
            else:
                offset = size
                size += place.room
            offsets[place.number] = offset
        else:
            offset, n = offsets[place.number], place.room
            for other in [p for p in free if p[0] + p[1] == offset or p[0] == offset + n]:
                free.remove(other)
                offset, n = min(offset, other[0]), n + other[1]
            free.append((offset, n))
    return size, offsets


def _largest_first(places: Sequence[Place], last: int) -> tuple[int, dict[int, int]]:
    """Each place at the lowest offset at which it meets none that is there at the same time, the largest first."""
    offsets, size = dict[int, int](), 0
    done: list[tuple[int, int, Place]] = []  # (offset, end, place), by offset
    for place in sorted(places, key=lambda p: (-p.room, p.begin)):
        offset = lowest_gap(place, done, last)
        offsets[place.number] = offset
        size = max(size, offset + place.room)
        put_at(place, offset, place.room, done)
    return size, offsets
