"""One arena for what is not a result: places are taken and given back while code is written, and laid out when all are known.

A place has an interval: from the moment at which it is taken to the one at which it is given back, in the order of the code. Two
places may share bytes if their intervals do not meet.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from adjoint.graph.node import Node

ALIGN = 64
WORTH = 1 << 20  # bytes for which it is worth while to lay places out anew
MANY = 4000  # places that are compared with one another


@dataclass(eq=False)
class Place:
    """Some bytes of the arena, for a time. `node` is what they hold, or what it is made of; `use` says for what if not the node."""

    size: int
    number: int
    begin: int
    node: Node | None = None
    use: str = ""
    end: int | None = None
    offset: int = -1

    @property
    def room(self) -> int:
        """Its bytes, up to the next multiple of the alignment."""
        return -(-max(self.size, 1) // ALIGN) * ALIGN


@dataclass
class Arena:
    """The places of one function, and moments worth remembering."""

    places: list[Place] = field(default_factory=list)
    marks: list[tuple[int, Any]] = field(default_factory=list)  # what is written from a moment on
    size: int = 0  # when it is laid out
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

    def mark(self, what: Any) -> None:
        """Note what is written from now on."""
        self.marks.append((self.now, what))

    def lay_out(self) -> None:
        """Give every place its offset: as they come, or the largest first where that saves much."""
        last = self.now + 1
        size, offsets = _as_they_come(self.places, last)
        if size - most_at_once(self.places, last)[0] > WORTH and len(self.places) <= MANY:
            other = _largest_first(self.places, last)
            if size - other[0] > WORTH:
                size, offsets = other
        self.size = size
        for place, offset in zip(self.places, offsets, strict=True):
            place.offset = offset


def events(places: Iterable[Place], last: int) -> list[tuple[int, int, Place]]:
    """(moment, 1 for taken or 0 for given back, place), in order."""
    found = [(p.begin, 1, p) for p in places] + [(p.end or last, 0, p) for p in places]
    return sorted(found, key=lambda e: e[:2])


def most_at_once(places: Sequence[Place], last: int) -> tuple[int, int]:
    """The most bytes that are held at one moment, and that moment."""
    held, most = 0, (0, 0)
    for moment, taken, place in events(places, last):
        held += place.room if taken else -place.room
        if held > most[0]:
            most = held, moment
    return most


def _as_they_come(places: Sequence[Place], last: int) -> tuple[int, list[int]]:
    """Each place in the smallest gap that fits it when it is taken, else at the end."""
    offsets, size = [0] * len(places), 0
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


def _largest_first(places: Sequence[Place], last: int) -> tuple[int, list[int]]:
    """Each place at the lowest offset at which it meets none that is there at the same time, the largest first."""
    offsets, size = [0] * len(places), 0
    done: list[tuple[int, int, Place]] = []  # (offset, end, place), by offset
    for place in sorted(places, key=lambda p: (-p.room, p.begin)):
        offset = 0
        for begin, end, other in done:
            if other.begin < (place.end or last) and place.begin < (other.end or last):
                if begin - offset >= place.room:
                    break
                offset = max(offset, end)
        offsets[place.number] = offset
        size = max(size, offset + place.room)
        insort(done, (offset, offset + place.room, place), key=itemgetter(0))
    return size, offsets
