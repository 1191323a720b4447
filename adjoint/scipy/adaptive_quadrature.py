"""Adaptive Gauss-Kronrod rules for functions of one variable, in ops, as QUADPACK's QAGS takes them.

The intervals are chosen by numbers without derivatives. Where numbers are known Python halves them; in a graph or a batch a loop of
the graph does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from adjoint.api.batching import vmap
from adjoint.api.loops_and_branches import map as one_by_one
from adjoint.core.errors import BatchedError, warn_user
from adjoint.graph.flow import cond, while_loop
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.numpylike.common import array_of, tensor

LEVELS, DEEPEST = 11, 24  # halvings towards an end before its limit is taken, and until there are no more
DECREASE = 0.9995  # of the terms of a sum that has a limit, from one to the next

_NODES = """0.9956571630258081 0.9739065285171717 0.9301574913557082 0.8650633666889845 0.7808177265864169 0.6794095682990244
0.5627571346686047 0.4333953941292472 0.2943928627014602 0.1488743389816312 0.0""".split()  # noqa: SIM905
_KRONROD = """0.01169463886737187 0.03255816230796473 0.054755896574351996 0.07503967481091995 0.0931254545836976
0.10938715880229764 0.12349197626206585 0.13470921731147333 0.14277593857706008 0.14773910490133849 0.1494455540029169""".split()  # noqa: SIM905
_GAUSS = [
    "0.06667134430868814",
    "0.1494513491505806",
    "0.21908636251598204",
    "0.26926671930999635",
    "0.29552422471475287",
]


@cache
def _rule() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The 21 nodes on (-1, 1), Kronrod's weights, and Gauss's at every second node."""
    half, k = np.array(_NODES, float), np.array(_KRONROD, float)
    g = np.zeros(11)
    g[1:10:2] = np.array(_GAUSS, float)
    return (
        np.concatenate([-half[:-1], half[::-1]]),
        np.concatenate([k[:-1], k[::-1]]),
        np.concatenate([g[:-1], g[::-1]]),
    )


def _judged(values: Any, half: Any) -> tuple[Any, Any, Any]:
    """The integral over an interval from the values at its nodes, QUADPACK's estimate of the error, and whether that is none:
    as large as the integrand's own spread, as where a peak lies between the nodes."""
    _, kronrod, gauss = _rule()
    result = half * _f.sum(values * kronrod, -1)
    held = F.stop_gradient(values)
    mean = _f.sum(held * kronrod, -1) / 2
    spread = abs(half) * _f.sum(abs(held - F.expand_last(mean)) * kronrod, -1)
    error = abs(half * _f.sum(held * (kronrod - gauss), -1))
    zero = _f.logical_or(F.equal(spread, 0), F.equal(error, 0))
    ratio = _f.minimum(1.0, F.pow(200 * error / F.where(zero, 1.0, spread), 1.5))
    scaled = F.where(zero, error, spread * ratio)
    return result, F.stop_gradient(scaled), _f.logical_and(F.equal(ratio, 1.0), _f.logical_not(zero))


# ---------------------------------------------------------------- ends where the integrand is singular


def _limit(sums: Any) -> tuple[Any, Any]:
    """The limits of sequences along the last axis, and how far they may be off, as sequences that are shorter by one or two tell.
    Where the terms of the sums do not decrease there is no limit."""
    found = [_extrapolated(sums[..., : sums.shape[-1] - k]) for k in range(3)]
    held = [F.stop_gradient(v) for v in (sums, *found)]
    error = abs(held[1] - held[2]) + abs(held[1] - held[3])
    steps = abs(held[0][..., 1:] - held[0][..., :-1])
    endless = F.greater(steps[..., -1], _f.maximum(DECREASE * steps[..., -2], 1e-14 * abs(held[0][..., -1])))
    return found[0], F.where(_f.logical_or(endless, F.not_equal(error, error)), np.inf, error)


def _extrapolated(sums: Any) -> Any:
    """Wynn's epsilon algorithm, as far as it settles."""
    before, now = F.expand_last(0.0 * sums[..., 0]) * np.zeros(sums.shape[-1] + 1), sums
    found = [sums[..., -1]]
    for k in range(1, sums.shape[-1]):
        step = now[..., 1:] - now[..., :-1]
        before, now = now, before[..., 1:-1] + 1.0 / F.where(F.equal(step, 0), 1e-300, step)
        if k % 2 == 0:
            found.append(now[..., -1])
    limits = _f.stack(found, -1)
    held = F.stop_gradient(limits)
    change = abs(held[..., 1:] - held[..., :-1])
    best = _f.argmin(F.where(F.equal(change, change), change, np.inf), -1)
    return _f.sum(F.where(F.equal(F.expand_last(best), np.arange(len(found) - 1)), limits[..., 1:], 0.0), -1)


class _Span:
    """The intervals between two edges, as they are halved. At an end that stays the worst the integrals of ever smaller intervals
    are a sequence, whose limit is taken."""

    def __init__(self, f: Callable[[Any], Any], a: float, b: float) -> None:
        self.f, self.ends = f, (a, b)
        self.parts = {(a, b): self._part(a, b)}
        self.singular: dict[float, float] = {}  # ends, with the error of the limit there

    def _part(self, a: float, b: float) -> tuple[Any, float, bool]:
        nodes, _, _ = _rule()
        values = _f.stack([tensor(self.f(x)) for x in (a + b) / 2 + (b - a) / 2 * nodes], 0)
        result, error, unsure = _judged(values, (b - a) / 2)
        return result, float(array_of(error)), bool(array_of(unsure))

    def _end_of(self, key: tuple[float, float]) -> float | None:
        return next((e for e in self.ends if e in key), None)

    def _level(self, key: tuple[float, float]) -> float:
        """How often the span has been halved for an interval."""
        return math.log2(abs((self.ends[1] - self.ends[0]) / (key[1] - key[0])))

    def _error(self, key: tuple[float, float]) -> float:
        """What halving an interval may mend; at a singular end, as far as it is worth it."""
        end = self._end_of(key)
        if end not in self.singular:
            return self.parts[key][1]
        return self.singular[end] if self._level(key) < DEEPEST else 0.0

    def worst(self) -> tuple[float, tuple[float, float]]:
        """The largest error, and the interval that has it."""
        return max((self._error(key), key) for key in self.parts)

    def halve(self, key: tuple[float, float]) -> bool:
        """Put two intervals in place of one; tells whether that was possible."""
        end = self._end_of(key)
        if end is not None and end not in self.singular and self._level(key) > LEVELS - 0.5:
            self.singular[end] = math.inf
            return True
        a, b = key
        middle = (a + b) / 2
        if middle in (a, b):
            return False
        del self.parts[key]
        self.parts[a, middle], self.parts[middle, b] = self._part(a, middle), self._part(middle, b)
        return True

    def integral(self) -> tuple[Any, float]:
        """The integral and the estimate of its error."""
        middle = sum(self.ends) / 2
        near = {e: [k for k in self.parts if abs(sum(k) / 2 - e) < abs(middle - e)] for e in self.singular}
        done = {k for keys in near.values() for k in keys}
        terms = [(result, error) for key, (result, error, _) in self.parts.items() if key not in done]
        terms += [self._towards(end, keys) for end, keys in near.items()]
        value = terms[0][0]
        for result, _ in terms[1:]:
            value = value + result
        return value, sum(error for _, error in terms)

    def _towards(self, end: float, keys: list[tuple[float, float]]) -> tuple[Any, float]:
        """The integral over the half next to a singular end."""
        far = sorted((k for k in keys if end not in k), key=lambda k: -abs(sum(k) / 2 - end))
        length, sums, total = abs(self.ends[1] - self.ends[0]), [], None
        for key in far:
            total = self.parts[key][0] if total is None else total + self.parts[key][0]
            level = np.log2(length / min(abs(v - end) for v in key))
            if abs(level - round(level)) < 1e-3:
                sums.append(total)
        value, change = _limit(_f.stack(sums, 0))
        self.singular[end] = float(array_of(change))
        return value, self.singular[end] + sum(self.parts[k][1] for k in far)


def known_integral(
    f: Callable[[Any], Any], edges: list[float], absolute: float, relative: float, limit: int
) -> tuple[Any, float]:
    """Intervals halved by Python, the one with the largest error first, until the tolerance is met."""
    spans = [_Span(f, a, b) for a, b in pairwise(edges)]
    unsure = any(part[2] for span in spans for part in span.parts.values())
    while True:
        found = [span.integral() for span in spans]
        total, error = sum(float(array_of(F.stop_gradient(v))) for v, _ in found), sum(e for _, e in found)
        met = error <= max(absolute, relative * abs(total))
        if (met and not unsure) or error != error or sum(len(s.parts) for s in spans) >= limit:
            break
        unsure = False
        worst = max(spans, key=lambda span: span.worst()[0])
        if not worst.halve(worst.worst()[1]):
            break
    if not met:
        _warn(error, limit)
    value = found[0][0]
    for other, _ in found[1:]:
        value = value + other
    return value, error


def _warn(error: float, limit: int) -> None:
    """Say that the tolerance was not met, as SciPy does."""
    from scipy.integrate import IntegrationWarning

    said = f"quad: the estimate of the error is {error:.2g} after {limit} intervals or fewer: the integral may be divergent, or slowly convergent"
    warn_user(said, IntegrationWarning)


def looped_integral(
    f: Callable[[Any], Any], edges: Any, absolute: float, relative: float, limit: int
) -> tuple[Any, Any]:
    """The same as a loop of a graph: a table of `limit` intervals, one more in each iteration. Limits at both ends of each span are
    taken at last, if the tolerance was not met."""
    nodes, _, _ = _rule()
    each = _at_once(f)

    def judged(a: Any, b: Any) -> tuple[Any, Any, Any]:
        """Integrals of several intervals, their errors, and which of these are none."""
        points = F.expand_last((a + b) / 2) + F.expand_last((b - a) / 2) * nodes
        values = each(_f.reshape(points, (points.size,)))
        return _judged(_f.reshape(tensor(values), points.shape), (b - a) / 2)

    count = edges.shape[0] - 1
    spare = np.zeros(limit - count)
    low, high = (_f.concat([v, spare], 0) for v in (edges[:-1], edges[1:]))
    first = judged(edges[:-1], edges[1:])
    results, errors = (_f.concat([v, spare], 0) for v in first[:2])
    unsure = _f.any(first[2])

    def unmet(results: Any, errors: Any) -> Any:
        bound = _f.maximum(absolute, relative * abs(F.stop_gradient(_f.sum(results))))
        return _f.logical_not(F.less_equal(_f.sum(errors), bound))

    def going(n: Any, _low: Any, _high: Any, results: Any, errors: Any) -> Any:
        more = _f.logical_or(unmet(results, errors), _f.logical_and(F.equal(n, count), unsure))
        return _f.logical_and(F.less(n, limit), more)

    def halve(n: Any, low: Any, high: Any, results: Any, errors: Any) -> list[Any]:
        places = np.arange(limit)
        worst, fresh = F.equal(places, _f.argmax(errors, 0)), F.equal(places, n)
        a, b = (_f.sum(F.where(worst, v, 0.0)) for v in (low, high))
        middle = (a + b) / 2
        two, wrong, _ = judged(_f.stack([a, middle], 0), _f.stack([middle, b], 0))

        def put(table: Any, at_worst: Any, at_fresh: Any) -> Any:
            return F.where(worst, at_worst, F.where(fresh, at_fresh, table))

        return [
            n + 1, put(low, a, middle), put(high, middle, b), put(results, two[0], two[1]), put(errors, wrong[0], wrong[1])
        ]  # fmt: skip

    state = [tensor(np.int64(count)), low, high, results, F.stop_gradient(errors)]
    _, _, _, results, errors = while_loop(going, halve, state)
    plain = [_f.sum(results), F.stop_gradient(_f.sum(errors))]
    return tuple(cond(unmet(results, errors), lambda: _by_limits(judged, edges, plain), lambda: plain))  # type: ignore[return-value]


def _by_limits(judged: Callable[[Any, Any], Any], edges: Any, plain: list[Any]) -> list[Any]:
    """The integral from the limits at both ends of each span, if these are surer than the plain one."""
    count, size = edges.shape[0] - 1, LEVELS - 1
    outer, inner = 2.0 ** -np.arange(1, LEVELS), 2.0 ** -np.arange(2, LEVELS + 1)
    a, length = F.expand_last(edges[:-1]), F.expand_last(edges[1:] - edges[:-1])
    low = _f.concat([a + length * inner, a + length * (1 - outer)], -1)
    high = _f.concat([a + length * outer, a + length * (1 - inner)], -1)
    results, errors, _ = judged(_f.reshape(low, (2 * count * size,)), _f.reshape(high, (2 * count * size,)))
    values, change = _limit(_f.cumsum(_f.reshape(results, (2 * count, size)), -1))
    value, error = _f.sum(values), _f.sum(change) + _f.sum(errors)
    surer = _f.logical_or(F.less(error, plain[1]), _f.logical_not(F.less(abs(plain[1]), np.inf)))
    return [F.where(surer, value, plain[0]), F.where(surer, error, plain[1])]


def _at_once(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of several points: as a batch, or one after the other where it chooses between them."""
    batch = vmap(f)

    def each(points: Any) -> Any:
        try:
            return batch(points)
        except BatchedError:
            return one_by_one(f, points)

    return each
