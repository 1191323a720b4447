"""Where to cut a row of steps into parts: the longest part as short as can be, and of such cuts the one that least bytes cross."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from adjoint.core.errors import ArgumentError


@dataclass(frozen=True)
class CrossingValue:
    """A value that step `made` makes and the steps `readers` read, in rising order; `seconds` is what it takes to send it once."""

    made: int
    readers: tuple[int, ...]
    bytes: int
    seconds: float


def best_cut(seconds: Sequence[float], values: Sequence[CrossingValue], parts: int) -> list[int]:
    """The steps with which the parts after the first begin.

    A part takes the time of its steps and of receiving, once each, the values that parts before it have made. Both searches are
    dynamic programs over all contiguous cuts without a part that is longer than one of an even cut, about O(steps²): the first finds the
    smallest time of the longest part, the second the fewest bytes with no part above it.

    >>> chain = [CrossingValue(k, (k + 1,), 8, 0.0) for k in range(5)]
    >>> best_cut([1, 1, 1, 1, 2, 2], chain, 2)
    [4]
    """
    n = len(seconds)
    if not 1 <= parts <= n:
        raise ArgumentError(f"best_cut: {n} steps cannot be cut into {parts} parts")
    limit = _even(seconds, values, parts) * (1 + 1e-9)
    longest = np.full((parts + 1, n + 1), np.inf)
    longest[0, 0] = 0.0
    for i, cost, _ in _rows(seconds, values, limit):
        ends = slice(i + 1, i + 1 + len(cost))  # the part before ends at i, this one at each of these steps
        np.minimum(longest[1:, ends], np.maximum(longest[:-1, i, None], cost), out=longest[1:, ends])
    limit = longest[parts, n] * (1 + 1e-9)
    fewest = np.full((parts + 1, n + 1), np.inf)
    fewest[0, 0] = 0.0
    begins = np.zeros((parts + 1, n + 1), np.int64)
    for i, cost, crossing in _rows(seconds, values, limit):
        ends = slice(i + 1, i + 1 + len(cost))
        found = fewest[:-1, i, None] + crossing
        begins[1:, ends][found < fewest[1:, ends]] = i
        np.minimum(fewest[1:, ends], found, out=fewest[1:, ends])
    cut = [n]
    for part in range(parts, 0, -1):
        cut.append(int(begins[part, cut[-1]]))
    return cut[-2:0:-1]


def _even(seconds: Sequence[float], values: Sequence[CrossingValue], parts: int) -> float:
    """The longest part of a cut into parts of about one time: no part of the best cut is longer."""
    n, passed = len(seconds), _passed(seconds)
    starts = np.searchsorted(passed, passed[-1] * np.arange(1, parts) / parts)
    for k in range(parts - 1):  # each part has a step at least
        starts[k] = min(max(starts[k], starts[k - 1] + 1 if k else 1), n - parts + 1 + k)
    edges = np.concatenate([[0], starts, [n]])
    times = np.diff(passed[edges])
    for value in values:
        at = np.searchsorted(starts, (value.made, *value.readers), side="right")
        for part in set(at[1:].tolist()) - {int(at[0])}:
            times[part] += value.seconds
    return float(times.max())


def _passed(seconds: Sequence[float]) -> np.ndarray:
    """The time before each step, and after the last."""
    return np.concatenate([[0.0], np.cumsum(np.asarray(seconds, np.float64))])


def _rows(
    seconds: Sequence[float], values: Sequence[CrossingValue], limit: float
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """For each step, what the parts cost that begin with it and end with each later one, as long as they cost no more than the limit,
    and how many bytes they receive."""
    n, passed = len(seconds), _passed(seconds)
    sent, bytes_ = np.zeros(n), np.zeros(n)  # of the values made before, by the step that reads them next
    next_read: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    made: list[list[int]] = [[] for _ in range(n)]
    for v, value in enumerate(values):
        made[value.made].append(v)
        for k, reader in enumerate(value.readers):
            next_read[reader].append((v, k))
    for i in range(n):
        last = int(np.searchsorted(passed, passed[i] + limit * (1 + 1e-9), side="right"))
        cost = passed[i + 1 : last] - passed[i] + np.cumsum(sent[i : last - 1])
        cost = cost[: int(np.searchsorted(cost, limit, side="right"))]
        yield i, cost, np.cumsum(bytes_[i : i + len(cost)])
        for v, k in (*((v, k + 1) for v, k in next_read[i]), *((v, 0) for v in made[i])):
            value = values[v]
            if k < len(value.readers):
                sent[value.readers[k]] += value.seconds
                bytes_[value.readers[k]] += value.bytes
