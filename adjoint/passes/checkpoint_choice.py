"""Which results of a program to keep for its backward pass, and which to compute again: a dynamic program over lower sets.

A lower set is a part of a program that needs nothing from outside of it. Two of them, one inside the other, have a segment between
them. The backward pass of a segment either has all that it needs from the forward pass, or the segment is cut at a lower set in
between: what is needed beyond the cut is kept, the second part has its backward pass, and then the first part is computed again and
has its own, cut further where that is needed. (After Kusumoto et al., "A graph theoretic framework of recomputation algorithms",
2019, whose segments are not cut again.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

SLOTS = 256  # into how many amounts memory is divided


@dataclass(frozen=True)
class Item:
    """A step of a program: what it costs, the bytes of its result, those of them that the backward pass reads, and the items before
    it that it reads itself. `working` are bytes that its backward pass holds for a moment."""

    cost: int
    bytes: int
    needed: int
    inputs: tuple[int, ...]
    working: int = 0


@dataclass(frozen=True)
class PlannedPart:
    """Some items of a plan. They are computed again in the backward pass if `again`, as the parts inside say."""

    items: tuple[int, ...]
    again: bool = False
    inside: tuple[PlannedPart, ...] = ()


class CheckpointChoice:
    """The least recomputation for each amount of memory, over a family of lower sets (bit masks of items)."""

    def __init__(self, items: Sequence[Item], family: Sequence[int], slots: int | None = None) -> None:
        self.items = items
        everything = (1 << len(items)) - 1
        self.family = sorted({0, everything, *family}, key=lambda s: (s.bit_count(), s))
        self._measure()
        last = len(self.family) - 1
        self.all_bytes = int(self.stored[0, last])  # what is held if everything is kept
        self.slot = self._slot(slots or SLOTS)
        self.slots = -(-self.all_bytes // self.slot) + 1
        self._solve()

    def _slot(self, slots: int) -> int:
        """The bytes of one amount: the largest result is so many of them exactly."""
        about, largest = max(1, -(-self.all_bytes // slots)), max(item.bytes for item in self.items)
        return -(-largest // (largest // about)) if largest >= about else about

    def _measure(self) -> None:
        """For each pair of lower sets, the first inside the second: what is held at the second of what the first does not have, what
        the segment between them holds if it is kept whole, and what it costs to compute it again."""
        n, items = len(self.items), self.items
        inside = np.array([[s >> g & 1 for g in range(n)] for s in self.family], bool)
        held, again = np.zeros(inside.shape), np.zeros(inside.shape)
        for k, lower in enumerate(self.family):
            required = 0
            crossing = crossing_items(items, lower)
            for g in range(n - 1, -1, -1):
                if lower >> g & 1:
                    held[k, g] = items[g].bytes if crossing >> g & 1 else 0
                    if required >> g & 1 or (items[g].needed and not crossing >> g & 1):
                        again[k, g] = items[g].cost
                        for i in items[g].inputs:
                            required |= 0 if crossing >> i & 1 else 1 << i
        outside = (~inside).astype(float)
        needed = inside @ np.array([x.needed for x in items], float)
        working = np.array([x.working for x in items], float)
        self.is_inside = np.array([~(row & ~inside).any(1) for row in inside])
        most = np.array([np.where(inside & ~row, working, 0).max(1, initial=0) for row in inside])
        self.held = outside @ held.T  # [i, k]: of what lies between i and k
        self.again = outside @ again.T
        self.stored = needed[None, :] - needed[:, None] + most

    def _solve(self) -> None:
        count = len(self.family)
        need, held = (np.ceil(x / self.slot).astype(int) for x in (self.stored, self.held))
        self._held = held
        self.least = np.full((count, count, self.slots), np.inf)
        self._cut = np.full((count, count, self.slots), -1)
        amounts = np.arange(self.slots)
        pairs = [(i, j) for j in range(count) for i in range(j) if self.is_inside[i, j]]
        for i, j in sorted(pairs, key=lambda p: (self.family[p[1]] & ~self.family[p[0]]).bit_count()):
            best, cut = self.least[i, j], self._cut[i, j]
            best[need[i, j] :] = 0
            between = [k for k in range(i + 1, j) if self.is_inside[i, k] and self.is_inside[k, j]]
            if not between or need[i, j] <= 0:
                continue
            left = amounts[None, :] - held[i, between][:, None]
            rest = np.where(left < 0, np.inf, self.least[np.array(between)[:, None], j, np.maximum(left, 0)])
            total = rest + self.least[i, between] + self.again[i, between][:, None]
            k = total.argmin(0)
            better = total[k, amounts] < best
            best[better] = total[k, amounts][better]
            cut[better] = np.array(between)[k][better]

    @cached_property
    def frontier(self) -> list[tuple[int, float]]:
        """(bytes, cost of what is computed again), for the amounts of memory at which less is computed again."""
        costs = self.least[0, -1]
        return [
            (s * self.slot, float(c)) for s, c in enumerate(costs) if np.isfinite(c) and (s == 0 or c < costs[s - 1])
        ]

    def parts(self, memory: int) -> tuple[PlannedPart, ...]:
        """The plan with the least recomputation that holds no more than so many bytes, at least those of the frontier's first."""
        s = min(memory // self.slot, self.slots - 1)
        return tuple(self._parts(0, len(self.family) - 1, max(s, self.frontier[0][0] // self.slot)))

    def _parts(self, i: int, j: int, s: int) -> list[PlannedPart]:
        found: list[PlannedPart] = []
        while (k := int(self._cut[i, j, s])) >= 0:
            found.append(PlannedPart(self._between(i, k), bool(self.again[i, k]), tuple(self._parts(i, k, s))))
            i, s = k, s - int(self._held[i, k])
        return [*found, PlannedPart(self._between(i, j))]

    def _between(self, i: int, j: int) -> tuple[int, ...]:
        segment = self.family[j] & ~self.family[i]
        return tuple(g for g in range(len(self.items)) if segment >> g & 1)


def crossing_items(items: Sequence[Item], lower: int) -> int:
    """The items of a lower set that items outside of it read."""
    found = 0
    for g, item in enumerate(items):
        if not lower >> g & 1:
            for i in item.inputs:
                found |= 1 << i
    return found & lower


def prefixes(count: int) -> list[int]:
    """The lower sets that are beginnings of the order of the items."""
    return [(1 << k) - 1 for k in range(count + 1)]


def lower_sets(reads: Sequence[Sequence[int]], limit: int) -> list[int]:
    """Every lower set of items that read others, or, if there are more than `limit`: the beginnings of their order."""
    needs = [sum(1 << i for i in set(inputs)) for inputs in reads]
    found, fresh = {0}, [0]
    while fresh and len(found) <= limit:
        larger = {s | 1 << g for s in fresh for g, n in enumerate(needs) if not s >> g & 1 and n & ~s == 0}
        fresh = list(larger - found)
        found |= larger
    return list(found) if len(found) <= limit else prefixes(len(reads))
