"""Memory of the arena that is given back to the operating system while a kernel runs: results grow, and what nothing needs any more goes.

A page that is given back is faulted in again by the next call, so that only as much goes as lowers the peak, and as a small part of the
call's time pays for. Large parts go by large pages, of which the system makes one in little time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from math import prod

from adjoint.backends.native.plan.arena_places import Place
from adjoint.backends.native.plan.result_rooms import EVEN, ResultRoom
from adjoint.backends.native.runtime import pages
from adjoint.graph.node import Graph
from adjoint.ops.contract import MatMul

FAULT, LARGE_FAULT = 0.6, 0.1  # nanoseconds for a byte of a page, or of a large one, that is faulted in again
LEAST = 1 << 20  # bytes of the peak that are worth it
PIECE = 1 << 18  # bytes of a part that goes
SPEED = 100.0  # operations on float32 in a nanosecond
SHARE = 0.02  # of the time, for faults
TRIES = 12  # to find what the time pays for

Regions = list[tuple[int, int]]  # offset and size


def spare_time(graph: Graph) -> float:
    """How many nanoseconds faults may take in a call of a graph, by the time that its matrix products take."""
    products = [n for n in graph.nodes if isinstance(n.op, MatMul)]
    operations = sum(2 * prod(n.shape) * n.inputs[0].shape[-1] * n.spec.dtype.itemsize / 4 for n in products)
    return SHARE * operations / SPEED


def given_back(
    places: Sequence[Place], last: int, size: int, rooms: Sequence[ResultRoom], moments: Sequence[int], spare: float
) -> tuple[int, dict[int, Regions]]:
    """By how many bytes the peak of arena and results falls, and what goes at which of the moments.

    `moments` are those between two units, in order; faults may take `spare` nanoseconds.
    """
    total = size + sum(r.size for r in rooms)
    growth = _growth(places, rooms, moments)
    if not growth or total - size < LEAST:
        return 0, {}
    free = _free_from(places, last, size, [moments[k] for k in growth])
    steps = [(moments[k], more, regions) for (k, more), regions in zip(growth.items(), free, strict=True)]
    least = _let_go(steps, total, size)
    best, lowest = least if _cost(least[1]) <= spare else (total, {}), least[0]
    for _ in range(TRIES if best is not least else 0):
        goal = (lowest + best[0]) // 2
        tried = _let_go(steps, total, goal)
        if _cost(tried[1]) <= spare and tried[0] < best[0]:
            best = tried
        else:
            lowest = goal
    return (total - best[0], best[1]) if total - best[0] >= LEAST else (0, {})


def _let_go(steps: Iterable[tuple[int, int, Regions]], total: int, goal: int) -> tuple[int, dict[int, Regions]]:
    """The peak, and what goes when: whatever can, whenever more than `goal` would be there."""
    steps = list(steps)
    there, gone, peak = total - sum(more for _, more, _ in steps), 0, 0
    found: dict[int, Regions] = {}
    for moment, more, regions in steps:
        there += more
        if there - gone > goal and (going := sum(n for _, n in regions)) > gone:
            gone = going
            found[moment] = regions
        peak = max(peak, there - gone)
    return peak, found


def _cost(found: dict[int, Regions]) -> float:
    """The nanoseconds that it takes to fault in again what goes."""
    regions = next(reversed(found.values()), [])
    return sum(n * (LARGE_FAULT if pages.page_size(n) == pages.LARGE_PAGE else FAULT) for _, n in regions)


def _growth(places: Iterable[Place], rooms: Iterable[ResultRoom], moments: Sequence[int]) -> dict[int, int]:
    """By how many bytes results grow, after which of the moments: when they are written, or intermediates in them."""
    inside: dict[str, list[Place]] = {}
    for place in places:
        if place.base:
            inside.setdefault(place.base.removesuffix(EVEN), []).append(place)
    found: dict[int, int] = {}
    for room in rooms:
        writes = [(p.begin, min(p.offset + p.room, room.size)) for p in inside.get(room.pointer, ())]
        there = 0
        for begin, size in sorted([*writes, (room.begin, room.size)]):
            k = bisect_left(moments, begin) - 1
            if size > there and k >= 0:
                found[k] = found.get(k, 0) + size - there
                there = size
    return dict(sorted(found.items()))


def _free_from(places: Iterable[Place], last: int, size: int, moments: Sequence[int]) -> list[Regions]:
    """For each of the moments, the pages of the arena that nothing uses from then on."""
    waiting = sorted((p for p in places if not p.base), key=lambda p: p.end or last)
    used: Regions = [(size, 0)]  # apart from each other, in order
    found = []
    for moment in reversed(moments):
        while waiting and (waiting[-1].end or last) > moment:
            place = waiting.pop()
            _unite(used, place.offset, place.offset + place.room)
        found.append([region for region in _pages(used) if region[1] >= PIECE])
    return found[::-1]


def _unite(used: Regions, begin: int, end: int) -> None:
    """Note that these bytes are used as well."""
    first = bisect_right(used, (begin, 0))
    first -= first > 0 and sum(used[first - 1]) >= begin
    past = first
    while past < len(used) and used[past][0] <= end:
        begin, end = min(begin, used[past][0]), max(end, sum(used[past]))
        past += 1
    used[first:past] = [(begin, end - begin)]


def _pages(used: Regions) -> Iterator[tuple[int, int]]:
    """The whole pages between what is used."""
    begin = 0
    for offset, size in used:
        page = pages.page_size(offset - begin)
        first, past = -(-begin // page) * page, offset // page * page
        if past > first:
            yield first, past - first
        begin = offset + size
