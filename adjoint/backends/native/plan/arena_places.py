"""Places of the arena: bytes for a time, and how they lie beside each other."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from adjoint.graph.node import Node

ALIGN = 64


@dataclass(eq=False)
class Place:
    """Some bytes of the arena, for a time. `node` is what they hold, or what it is made of; `use` says for what if not the node."""

    size: int
    number: int
    begin: int
    node: Node | None = None
    use: str = ""
    end: int | None = None
    base: str = ""  # the address in a result from which its offset counts, else it is in the arena
    offset: int = -1

    @property
    def room(self) -> int:
        """Its bytes, up to the next multiple of the alignment."""
        return -(-max(self.size, 1) // ALIGN) * ALIGN


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


def meet(a: Place, b: Place, last: int) -> bool:
    """Whether two places are there at the same time."""
    return a.begin < (b.end or last) and b.begin < (a.end or last)


def lowest_gap(place: Place, done: list[tuple[int, int, Place]], last: int) -> int:
    """The lowest offset at which a place meets none of `done` that is there at the same time: (offset, end, place), by offset."""
    offset = 0
    for begin, end, other in done:
        if meet(place, other, last):
            if begin - offset >= place.room:
                break
            offset = max(offset, end)
    return offset


def put_at(place: Place, offset: int, size: int, done: list[tuple[int, int, Place]]) -> None:
    """Note where a place is, and how many bytes nothing else may have there."""
    insort(done, (offset, offset + size, place), key=itemgetter(0))
