"""Memory of the arena that is given back to the operating system while a kernel runs: results grow, and what nothing needs any more goes.

A page that is given back is faulted in again by the next call, so that only as much goes as a small part of the call's time pays for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import prod

from adjoint.backends.native.plan.arena_places import Place
from adjoint.backends.native.plan.result_rooms import ResultRoom
from adjoint.graph.node import Graph
from adjoint.ops.contract import MatMul

LEAST = 1 << 25  # bytes that are worth it
PIECE = 1 << 22  # bytes of a part that goes
SPEED = 100.0  # operations on float32 in a nanosecond
FAULT = 0.5  # nanoseconds for a byte that is faulted in again
SHARE = 0.01  # of the time, for faults

Regions = list[tuple[int, int]]  # offset and size


def affordable_bytes(graph: Graph) -> int:
    """How many bytes may be faulted in again in a call of a graph, by the time that its matrix products take."""
    products = [n for n in graph.nodes if isinstance(n.op, MatMul)]
    operations = sum(2 * prod(n.shape) * n.inputs[0].shape[-1] * n.spec.dtype.itemsize / 4 for n in products)
    return int(SHARE * operations / SPEED / FAULT)


def given_back(
    places: Sequence[Place], last: int, size: int, rooms: Sequence[ResultRoom], moments: Sequence[int], most: int
) -> tuple[int, dict[int, Regions]]:
    """By how many bytes the peak of arena and results falls, and what goes at which of the moments.

    `moments` are those between two units, in order; at most about `most` bytes go.
    """
    total = size + sum(r.size for r in rooms)
    writes: dict[int, int] = {}  # by the last moment before, the bytes of the results that begin
    for room in rooms:
        k = bisect_left(moments, room.begin) - 1
        if k >= 0 and room.size >= 1 << 16:
            writes[moments[k]] = writes.get(moments[k], 0) + room.size
    goal = total - min(most, _least(places, last, size, writes, total))
    if total - goal < LEAST:
        return 0, {}
    found: dict[int, Regions] = {}
    resident, gone = total - sum(writes.values()), 0
    peak = 0
    for moment in sorted(writes):
        resident += writes[moment]
        if resident - gone > goal and total - gone > goal:
            regions = _unused(places, last, size, moment)
            if sum(n for _, n in regions) > gone:
                gone = sum(n for _, n in regions)
                found[moment] = regions
        peak = max(peak, resident - gone)
    return total - peak, found


def _least(places: Sequence[Place], last: int, size: int, writes: dict[int, int], total: int) -> int:
    """By how much the peak falls if all goes that can."""
    resident, peak = total - sum(writes.values()), 0
    for moment in sorted(writes):
        resident += writes[moment]
        peak = max(peak, resident - sum(n for _, n in _unused(places, last, size, moment)))
    return total - max(peak, size)


def _unused(places: Sequence[Place], last: int, size: int, moment: int) -> Regions:
    """The parts of the arena that nothing uses from a moment on."""
    found: Regions = []
    begin = 0
    for offset, room in sorted((p.offset, p.room) for p in places if not p.base and (p.end or last) > moment):
        if offset - begin >= PIECE:
            found.append((begin, offset - begin))
        begin = max(begin, offset + room)
    if size - begin >= PIECE:
        found.append((begin, size - begin))
    return found
