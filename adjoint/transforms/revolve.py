"""What to hold of a part of a program that is computed again: all of it, or states from which the rest is computed once more.

Binomial checkpointing (Griewank and Walther, Revolve): with s states and t repetitions, C(s + t, s) steps can be reversed. A
part is cut in two where the first can be reversed with s states and t - 1 repetitions, the second with s - 1 and t.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from adjoint.transforms.records import Record
from adjoint.transforms.stored_records import StoredRecord


def first_part(steps: int, states: int) -> int:
    """After how many of these steps a state is held, so that the least is computed again, if so many can be held.

    >>> first_part(10, 3), first_part(100, 1), first_part(5, 9)
    (4, 50, 1)
    """
    if states >= steps:
        return 1
    if states == 1:
        return max(1, steps // 2)
    times = 1
    while comb(states + times, states) < steps:
        times += 1
    low = steps - comb(states - 1 + times, states - 1)
    high = comb(states + times - 1, states)
    return min(max(1, (max(low, 1) + min(high, steps - 1)) // 2), steps - 1)


def held_of(again: Sequence[StoredRecord], free: float) -> set[Record]:
    """Which results, of records that are computed again one after another, are held afterwards in so many bytes."""
    if _read_bytes(again) <= free:
        return {r for r in again if r.wanted}
    last = _last_uses(again)
    cuts = _bytes_between(again, last)
    held: set[Record] = set()
    for start, place in _places(again, cuts, free):
        if place is None:
            held.update(r for r in again[start:] if r.wanted)
        else:
            held.update(r for r, used in zip(again[: place + 1], last, strict=False) if used > place)
    return held


def _read_bytes(again: Sequence[StoredRecord]) -> int:
    """The bytes of what rules read."""
    return sum(r.bytes for r in again if r.wanted)


def _last_uses(again: Sequence[StoredRecord]) -> list[int]:
    """For each record the place of the last one that reads its result; beyond the end for those that are wanted for themselves."""
    place = {r: i for i, r in enumerate(again)}
    last = [len(again)] * len(again)
    seen: set[int] = set()
    for i in range(len(again) - 1, -1, -1):
        for p in again[i].sources():
            k = place.get(p)  # type: ignore[call-overload]
            if k is not None and k not in seen:
                seen.add(k)
                last[k] = i
    return last


def _bytes_between(again: Sequence[StoredRecord], last: Sequence[int]) -> list[int]:
    """What is needed, after each record, by those that follow."""
    change = [0] * (len(again) + 2)
    for i, r in enumerate(again):
        change[i] += r.bytes
        change[last[i]] -= r.bytes
    found, now = [], 0
    for i in range(len(again)):
        now += change[i]
        found.append(now)
    return found


def _places(again: Sequence[StoredRecord], cuts: Sequence[int], free: float) -> list[tuple[int, int | None]]:
    """Where states are held: (beginning of the part, its place), the last one None if the part after it is held whole."""
    rest = _read_bytes(again)
    usual = sorted(cuts)[len(cuts) // 2] or 1
    places: list[tuple[int, int | None]] = []
    start, count = 0, len(again)
    while start < count:
        if rest <= free:
            return [*places, (start, None)]
        states = int(free // usual)
        if states < 1 or count - start < 2:
            break
        wanted = start + first_part(count - start, states) - 1
        reach = max(1, (count - start) // 16)
        window = range(max(start, wanted - reach), min(count - 1, wanted + reach + 1))
        place = min(window, key=lambda i: (cuts[i], abs(i - wanted)))
        if cuts[place] > free:
            break
        places.append((start, place))
        free -= cuts[place]
        rest -= _read_bytes(again[start : place + 1])
        start = place + 1
    return places
