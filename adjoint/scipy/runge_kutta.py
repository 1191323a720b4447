"""Explicit Runge-Kutta methods with adaptive steps, in ops: SciPy's RK23, RK45 and DOP853, step by step as SciPy takes them.

Step sizes are chosen by numbers without derivatives, so that the derivative is that of the steps taken: exact to the tolerance.
Where numbers are known, Python takes the steps; in a graph or a batch, a loop of the graph does, with the same formulas.

Where the problem is stiff, SciPy's steps are as long as stability allows. Errors of the state then hardly decay from step to step:
the state stays within the tolerance, but its derivative does not. So steps are shorter there, and errors of both decay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, called_at
from adjoint.graph.flow import while_loop
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.numpylike.common import array_of, tensor

SAFETY, MIN_FACTOR, MAX_FACTOR = 0.9, 0.2, 10.0
MANY = 100_000  # attempted steps before a problem counts as too stiff
PATIENCE = 20_000  # steps that Python takes through a stiff problem
#: How long a step may be for stability, times the largest rate of the problem.
STABLE = {"RK23": 2.5, "RK45": 3.3, "DOP853": 6.0}
#: Parts of that: what counts as a sign of stiffness, and what a step may take after so many signs.
NEAR, SAFE, SIGNS = 0.8, 0.6, 4
Rhs = Callable[[Any, Any], Any]


@dataclass(frozen=True, eq=False)
class StepMethod:
    """The coefficients of a method, as SciPy names them."""

    name: str
    order: int  # of the error estimate
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    c: tuple[float, ...]
    errors: tuple[np.ndarray, ...]  # one estimate, or DOP853's of orders 5 and 3
    dense: np.ndarray  # P of RK23 and RK45, D of DOP853
    a_extra: tuple[tuple[float, ...], ...] = ()
    c_extra: tuple[float, ...] = ()


@cache
def method_of(name: str) -> StepMethod:
    """The method of a name, with the coefficients of SciPy's class."""
    import scipy.integrate as si

    cls: Any = getattr(si, name)

    def rows(table: np.ndarray) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(map(float, row)) for row in table)

    common = (name, int(cls.error_estimator_order), rows(cls.A), tuple(map(float, cls.B)), tuple(map(float, cls.C)))
    if name == "DOP853":
        return StepMethod(*common, (cls.E5, cls.E3), cls.D, rows(cls.A_EXTRA), tuple(map(float, cls.C_EXTRA)))
    return StepMethod(*common, (cls.E,), cls.P)


# ---------------------------------------------------------------- one step, in ops


def _combined(weights: Any, ks: list[Any]) -> Any:
    """The sum of weights times slopes, leaving out zeros."""
    total: Any = None
    for w, k in zip(weights, ks, strict=False):
        if w:
            total = w * k if total is None else total + w * k
    return 0.0 * ks[0] if total is None else total


def _step(method: StepMethod, f: Rhs, t: Any, y: Any, f0: Any, h: Any) -> tuple[Any, Any, list[Any]]:
    """The state and slope after a step, and the slopes of all stages."""
    ks = [f0]
    for row, c in zip(method.a[1:], method.c[1:], strict=True):
        ks.append(f(t + c * h, y + h * _combined(row, ks)))
    new = y + h * _combined(method.b, ks)
    slope = f(t + h, new)
    return new, slope, [*ks, slope]


def _stopped(x: Any) -> Any:
    return F.stop_gradient(x)


def _mean_square(x: Any) -> Any:
    size = abs(_stopped(x))
    return _f.mean(size * size) if x.size else tensor(np.float64(0.0))


def _error_norm(method: StepMethod, h: Any, y: Any, new: Any, ks: list[Any], rtol: Any, atol: Any) -> Any:
    """How many times the tolerance the error of a step is; 1 or more is too much."""
    scale = atol + _f.maximum(abs(_stopped(y)), abs(_stopped(new))) * rtol
    ks = [_stopped(k) for k in ks]
    if len(method.errors) == 1:
        return F.sqrt(_mean_square(h * _combined(method.errors[0], ks) / scale))
    five, three = (_mean_square(_combined(e, ks) / scale) for e in method.errors)
    both = five + 0.01 * three
    return F.where(F.equal(both, 0), 0.0, abs(h) * five / F.sqrt(F.where(F.equal(both, 0), 1.0, both)))


def _factor(method: StepMethod, error: Any) -> tuple[Any, Any]:
    """By what the step is multiplied after success, and after failure."""
    safe = F.where(F.equal(error, 0), 1.0, error)
    wanted = SAFETY * F.pow(safe, -1.0 / (method.order + 1))
    grown = F.where(F.equal(error, 0), MAX_FACTOR, _f.minimum(wanted, MAX_FACTOR))
    return grown, _f.maximum(wanted, MIN_FACTOR)


def first_step(
    method: StepMethod, f: Rhs, t0: Any, y0: Any, f0: Any, length: Any, direction: Any, rtol: Any, atol: Any
) -> Any:
    """The size of the first step, as SciPy guesses it."""
    if not y0.size:
        return abs(length)
    scale = atol + abs(_stopped(y0)) * rtol
    d0, d1 = (F.sqrt(_mean_square(v / scale)) for v in (y0, f0))
    tiny = _f.logical_or(F.less(d0, 1e-5), F.less(d1, 1e-5))
    h0 = F.where(tiny, 1e-6, 0.01 * d0 / F.where(tiny, 1.0, d1))
    h0 = _f.minimum(h0, abs(length))
    f1 = f(t0 + h0 * direction, _stopped(y0) + h0 * direction * _stopped(f0))
    d2 = F.sqrt(_mean_square((_stopped(f1) - _stopped(f0)) / scale)) / h0
    largest = _f.maximum(d1, d2)
    flat = F.less_equal(largest, 1e-15)
    h1 = F.where(flat, _f.maximum(1e-6, h0 * 1e-3), F.pow(0.01 / F.where(flat, 1.0, largest), 1 / (method.order + 1)))
    return _f.minimum(_f.minimum(100 * h0, h1), abs(length))


def _stretch(method: StepMethod, f: Rhs, t: Any, new: Any, h: Any, ks: list[Any]) -> Any:
    """The length of a step times the largest rate of the problem, as the slopes of two states at one time tell it."""
    ks, new = [_stopped(k) for k in ks], _stopped(new)
    if method.c[-1] == 1.0:  # the last stage and the end of the step
        other, apart = ks[-2], h * (_combined(method.b, ks) - _combined(method.a[-1], ks))
    else:
        apart = h * _combined(method.errors[0], ks)
        other = _stopped(f(t + h, new - apart))
    size = F.sqrt(_mean_square(apart))
    none = F.equal(size, 0)
    return F.where(none, 0.0, abs(h) * F.sqrt(_mean_square(ks[-1] - other)) / F.where(none, 1.0, size))


# ---------------------------------------------------------------- between the ends of a step


def dense(method: StepMethod, f: Rhs, t: Any, y: Any, new: Any, ks: list[Any], h: Any) -> Callable[[Any], Any]:
    """The solution within a step: a function of x from 0 to 1, an array whose axis comes last in the result."""
    if method.name != "DOP853":
        powers = [_combined(method.dense[:, j], ks) for j in range(method.dense.shape[1])]

        def polynomial(x: Any) -> Any:
            total = F.expand_last(powers[-1]) * x
            for q in reversed(powers[:-1]):
                total = (total + F.expand_last(q)) * x
            return F.expand_last(y) + h * total

        return polynomial
    every = list(ks)
    for row, c in zip(method.a_extra, method.c_extra, strict=True):
        every.append(f(t + c * h, y + h * _combined(row, every)))
    change = new - y
    parts = [change, h * ks[0] - change, 2 * change - h * (ks[-1] + ks[0])]
    parts += [h * _combined(row, every) for row in method.dense]

    def interpolant(x: Any) -> Any:
        total: Any = 0.0
        for i, part in enumerate(reversed(parts)):
            total = (total + F.expand_last(part)) * (x if i % 2 == 0 else 1 - x)
        return total + F.expand_last(y)

    return interpolant


# ---------------------------------------------------------------- the steps


@dataclass
class Solution:
    """What the steps give: times and states (n, times), and how it ended."""

    t: Any
    y: Any
    evaluations: Any
    success: Any


def known_steps(
    method: StepMethod,
    f: Rhs,
    t0: float,
    y0: Any,
    end: float,
    times: np.ndarray | None,
    rtol: Any,
    atol: Any,
    h: Any,
    limit: float,
) -> Solution:
    """The steps taken by Python, where numbers are known. Without `times` the states are those at the ends of the steps."""
    t, y, slope, direction = t0, y0, f(t0, y0), 1.0 if end >= t0 else -1.0
    size = (
        float(array_of(first_step(method, f, t, y, slope, min(abs(end - t), limit), direction, rtol, atol)))
        if h is None
        else h
    )
    count, found, at = 2, [], []
    if times is None:
        found, at = [F.expand_last(y)], [t0]
    elif (start := times[times == t0]).size:
        found, at = [F.expand_last(y)] * start.size, [*start]
    attempts = signs = 0
    stable = STABLE[method.name]
    while t != end:
        smallest = 10 * abs(np.nextafter(t, direction * np.inf) - t)
        size, rejected = min(max(size, smallest), limit), False
        if signs >= SIGNS and abs(end - t) > PATIENCE * size:
            raise ArgumentError(
                f"{method.name}: the problem is stiff, and takes steps of {size:.1g} from {t:.6g} to {end:.6g}. Scale it, take another "
                f"model of what decays fast, or solve it with SciPy outside the derivative{called_at()}"
            )
        while True:
            attempts += 1
            if attempts > MANY:
                raise ArgumentError(
                    f"{method.name}: {MANY} steps were not enough. The problem may be stiff; scale it, loosen rtol and atol, or solve "
                    f"it with SciPy outside the derivative{called_at()}"
                )
            if not size >= smallest:
                break
            later = t + size * direction
            later = end if direction * (later - end) > 0 else later
            step = later - t
            size = abs(step)
            new, after, ks = _step(method, f, t, y, slope, step)
            count += len(method.b)
            error = float(array_of(_error_norm(method, step, y, new, ks, rtol, atol)))
            grown, shrunk = (float(array_of(v)) for v in _factor(method, tensor(np.float64(error))))
            if error < 1:
                size *= min(1.0, grown) if rejected else grown
                break
            size, rejected = size * (shrunk if shrunk == shrunk else MIN_FACTOR), True
        if not size >= smallest and not error < 1:
            return Solution(np.array(at), _f.concat(found, -1) if found else F.expand_last(y)[..., :0], count, False)
        if times is None:
            found.append(F.expand_last(new))
            at.append(later)
        else:
            inside = times[(direction * (times - t) > 0) & (direction * (times - later) <= 0)]
            if inside.size:
                found.append(dense(method, f, t, y, new, ks, step)((inside - t) / step))
                at += [*inside]
                count += len(method.c_extra)
        stretch = float(array_of(_stretch(method, f, t, new, step, ks)))
        signs += stretch > NEAR * stable
        if signs >= SIGNS and stretch:
            size = min(size, SAFE * stable / stretch * abs(step))
        t, y, slope = later, new, after
    return Solution(np.array(at), _f.concat(found, -1) if found else F.expand_last(y)[..., :0], count, True)


def looped_steps(
    method: StepMethod, f: Rhs, t0: Any, y0: Any, end: Any, times: Any, rtol: Any, atol: Any, h: Any, limit: float
) -> Solution:
    """The steps as a loop of a graph: each iteration attempts one, and fills in the states at the times within it."""
    t0, end, times = (F.cast(tensor(v), np.float64) for v in (t0, end, times))
    direction = F.where(F.less(end, t0), -1.0, 1.0)
    slope = f(t0, y0)
    size = (
        first_step(method, f, t0, y0, slope, _f.minimum(abs(end - t0), limit), direction, rtol, atol)
        if h is None
        else h
    )
    size = F.cast(_stopped(tensor(size)), np.float64)
    out = F.where(F.equal(times, t0), F.expand_last(y0), np.full((), np.nan, y0.dtype))

    def going(*state: Any) -> Any:
        t, size, count = state[0], state[3], state[6]
        smallest = 1e-15 * _f.maximum(abs(t), 1e-290)
        return _f.logical_and(
            _f.logical_and(F.not_equal(t, end), F.less(count, MANY)),
            _f.logical_or(F.greater(size, smallest), F.equal(count, 0)),
        )

    def attempt(t: Any, y: Any, slope: Any, size: Any, rejected: Any, out: Any, count: Any, signs: Any) -> list[Any]:
        size = _f.minimum(size, limit)
        later = t + size * direction
        later = F.where(F.greater(direction * (later - end), 0), end, later)
        step = later - t
        new, after, ks = _step(method, f, t, y, slope, step)
        error = _error_norm(method, step, y, new, ks, rtol, atol)
        grown, shrunk = _factor(method, error)
        good = F.less(error, 1)
        inside = _f.logical_and(
            _f.logical_and(F.greater(direction * (times - t), 0), F.less_equal(direction * (times - later), 0)), good
        )
        place = F.where(inside, (times - t) / step, 0.0)
        out = F.where(inside, dense(method, f, t, y, new, ks, step)(place), out)
        grown = F.where(rejected, _f.minimum(grown, 1.0), grown)
        shrunk = F.where(F.equal(shrunk, shrunk), shrunk, MIN_FACTOR)
        stretch = _stretch(method, f, t, new, step, ks)
        signs = signs + F.cast(_f.logical_and(good, F.greater(stretch, NEAR * stable)), np.int64)
        capped = _f.logical_and(_f.logical_and(good, F.greater_equal(signs, SIGNS)), F.greater(stretch, 0))
        most = F.where(capped, SAFE * stable / F.where(capped, stretch, 1.0), MAX_FACTOR)
        size = abs(step) * F.where(good, _f.minimum(grown, most), shrunk)
        kept = [F.where(good, a, b) for a, b in ((later, t), (new, y), (after, slope))]
        return [*kept, _stopped(size), _f.logical_not(good), out, count + 1, signs]

    stable = STABLE[method.name]
    state = [t0, y0, slope, size, tensor(np.bool_(False)), out, tensor(np.int64(0)), tensor(np.int64(0))]
    t, _, _, _, _, out, count, _ = while_loop(going, attempt, state)
    return Solution(times, out, 2 + count * len(method.b), F.equal(t, end))
