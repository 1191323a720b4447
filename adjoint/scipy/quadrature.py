"""Integrals of functions of scipy.integrate, for Tensors: adaptive Gauss-Kronrod rules, in ops.

The intervals are chosen by numbers without derivatives. Limits are held still there, and enter by a Gauss rule on an interval of
length 0, which has the derivatives that Leibniz gives.
"""
# ruff: noqa: ARG001  (arguments of QUADPACK's own)

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from adjoint.api.batching import vmap
from adjoint.core import context
from adjoint.core.dispatch import Value
from adjoint.core.errors import ShapeError, called_at
from adjoint.graph.flow import while_loop
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.numpylike.common import array_of, is_known, refuse, tensor, values_in
from adjoint.scipy.wrapping import MARK, takes_functions

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


def _judged(values: Any, half: Any) -> tuple[Any, Any]:
    """The integral over an interval from the values at its nodes, and QUADPACK's estimate of the error."""
    _, kronrod, gauss = _rule()
    result = half * _f.sum(values * kronrod, -1)
    held = F.stop_gradient(values)
    mean = _f.sum(held * kronrod, -1) / 2
    spread = half * _f.sum(abs(held - F.expand_last(mean)) * kronrod, -1)
    error = abs(half * _f.sum(held * (kronrod - gauss), -1))
    zero = _f.logical_or(F.equal(spread, 0), F.equal(error, 0))
    ratio = 200 * error / F.where(zero, 1.0, spread)
    scaled = F.where(zero, error, spread * _f.minimum(1.0, F.pow(F.where(zero, 1.0, ratio), 1.5)))
    return result, F.stop_gradient(scaled)


def _known(
    f: Callable[[Any], Any], edges: list[float], absolute: float, relative: float, limit: int
) -> tuple[Any, float]:
    """Intervals halved by Python, the one with the largest error first, until the tolerance is met."""
    nodes, _, _ = _rule()

    def part(a: float, b: float) -> tuple[float, float, float, Any]:
        values = _f.stack([tensor(f(x)) for x in (a + b) / 2 + (b - a) / 2 * nodes], 0)
        result, error = _judged(values, (b - a) / 2)
        return float(array_of(error)), a, b, result

    parts = [part(a, b) for a, b in pairwise(edges)]
    while len(parts) < limit:
        total, error = sum(float(array_of(F.stop_gradient(p[3]))) for p in parts), sum(p[0] for p in parts)
        worst = max(range(len(parts)), key=lambda i: parts[i][0])
        _, a, b, _ = parts[worst]
        middle = (a + b) / 2
        if not error > max(absolute, relative * abs(total)) or middle in (a, b) or not math.isfinite(error):
            break
        parts[worst : worst + 1] = [part(a, middle), part(middle, b)]
    value = parts[0][3]
    for p in parts[1:]:
        value = value + p[3]
    return value, sum(p[0] for p in parts)


def _looped(f: Callable[[Any], Any], edges: Any, absolute: float, relative: float, limit: int) -> tuple[Any, Any]:
    """The same as a loop of a graph: a table of `limit` intervals, one more in each iteration."""
    nodes, _, _ = _rule()
    each = vmap(f)

    def judged(a: Any, b: Any) -> tuple[Any, Any]:
        """Integrals and errors of several intervals."""
        points = F.expand_last((a + b) / 2) + F.expand_last((b - a) / 2) * nodes
        values = each(_f.reshape(points, (points.size,)))
        return _judged(_f.reshape(tensor(values), points.shape), (b - a) / 2)

    count = edges.shape[0] - 1
    spare = np.zeros(limit - count)
    low, high = (_f.concat([v, spare], 0) for v in (edges[:-1], edges[1:]))
    results, errors = (_f.concat([v, spare], 0) for v in judged(edges[:-1], edges[1:]))

    def going(n: Any, low: Any, high: Any, results: Any, errors: Any) -> Any:
        bound = _f.maximum(absolute, relative * abs(F.stop_gradient(_f.sum(results))))
        return _f.logical_and(F.less(n, limit), F.greater(_f.sum(errors), bound))

    def halve(n: Any, low: Any, high: Any, results: Any, errors: Any) -> list[Any]:
        places = np.arange(limit)
        worst, fresh = F.equal(places, _f.argmax(errors, 0)), F.equal(places, n)
        a, b = (_f.sum(F.where(worst, v, 0.0)) for v in (low, high))
        middle = (a + b) / 2
        two, wrong = judged(_f.stack([a, middle], 0), _f.stack([middle, b], 0))

        def put(table: Any, at_worst: Any, at_fresh: Any) -> Any:
            return F.where(worst, at_worst, F.where(fresh, at_fresh, table))

        return [
            n + 1, put(low, a, middle), put(high, middle, b), put(results, two[0], two[1]), put(errors, wrong[0], wrong[1])
        ]  # fmt: skip

    state = [tensor(np.int64(count)), low, high, results, F.stop_gradient(errors)]
    _, _, _, results, errors = while_loop(going, halve, state)
    return _f.sum(results), _f.sum(errors)


def _moved_limit(f: Callable[[Any], Any], limit: Any) -> Any:
    """The integral from a limit to itself, with the derivatives up to order 6 that the limit has."""
    held = F.stop_gradient(limit)
    length = limit - held
    nodes, weights = np.polynomial.legendre.leggauss(3)
    return (
        length
        / 2
        * sum(float(w) * f(held + length * ((1 + float(x)) / 2)) for x, w in zip(nodes, weights, strict=True))
    )


def _is_infinite(x: Any) -> bool:
    return not isinstance(x, Value) and math.isinf(float(x))


def _moving(x: Any) -> bool:
    return isinstance(x, Value) and x.tracked and x.dtype.kind == "f"


def _integral(f: Any, a: Any, b: Any, points: Any, absolute: float, relative: float, limit: int) -> tuple[Any, Any]:
    """The integral between limits, of which a constant one may be infinite."""
    held = [F.stop_gradient(v) if isinstance(v, Value) else float(v) for v in (a, b)]
    low, high = held
    if _is_infinite(low) and _is_infinite(high):
        if low == high:
            return tensor(0.0), 0.0
        sign = 1.0 if low < high else -1.0
        both = _half_line(lambda t: f(t) + f(-t), 0.0, 1.0)
        value, error = _finite(both, 0.0, 1.0, None, absolute, relative, limit)
        return sign * value, error
    if _is_infinite(low) or _is_infinite(high):
        start, way = (high, low) if _is_infinite(low) else (low, high)
        direction = 1.0 if way > 0 else -1.0
        value, error = _finite(_half_line(f, start, direction), 0.0, 1.0, None, absolute, relative, limit)
        value = direction * (value if way is high else -value)
    else:
        value, error = _finite(f, low, high, points, absolute, relative, limit)
    if _moving(b):
        value = value + _moved_limit(f, b)
    if _moving(a):
        value = value - _moved_limit(f, a)
    return value, error


def _half_line(f: Any, start: Any, direction: float) -> Callable[[Any], Any]:
    """The integrand on (0, 1) of an integral from `start` to infinity, by x = start + (1 - t) / t."""
    return lambda t: f(start + direction * ((1 - t) / t)) / (t * t)


def _finite(f: Any, a: Any, b: Any, points: Any, absolute: float, relative: float, limit: int) -> tuple[Any, Any]:
    probe = f(a + (b - a) * 0.4375)
    if all(is_known(v) for v in (probe, a, b)):
        low, high = (float(array_of(tensor(v))) for v in (a, b))
        inner = [] if points is None else sorted((float(p) for p in np.ravel(points)), reverse=high < low)
        return _known(f, [low, *inner, high], absolute, relative, max(limit, len(inner) + 1))
    line = [a, *(() if points is None else np.sort(np.ravel(points)).tolist()), b]
    edges = _f.stack([F.cast(tensor(v), np.float64) for v in line], 0)
    return _looped(f, edges, absolute, relative, max(limit, len(line) - 1))


@takes_functions
def quad(
    func: Any,
    a: Any,
    b: Any,
    args: Any = (),
    full_output: Any = 0,
    epsabs: float = 1.49e-08,
    epsrel: float = 1.49e-08,
    limit: int = 50,
    points: Any = None,
    weight: Any = None,
    wvar: Any = None,
    wopts: Any = None,
    maxp1: int = 50,
    limlst: int = 50,
    complex_func: bool = False,
) -> Any:
    """As scipy.integrate.quad, differentiable by the limits, `args` and whatever `func` reads; infinite limits are constants."""
    import scipy.integrate as si

    args = args if isinstance(args, tuple) else (args,)
    called = context.readable(func)
    given = next(values_in((a, b, args)), None) is not None
    if not given and next(values_in(called(_inner_point(a, b), *args)), None) is None:
        original = getattr(si.quad, MARK)
        return original(
            func,
            a,
            b,
            args,
            full_output,
            epsabs,
            epsrel,
            limit,
            points,
            weight,
            wvar,
            wopts,
            maxp1,
            limlst,
            complex_func,
        )
    refuse("scipy.integrate.quad", weight=weight, full_output=full_output or None, complex_func=complex_func or None)

    def f(x: Any) -> Any:
        y = tensor(called(x, *args))
        if y.shape != ():
            raise ShapeError(f"quad: the function must give one number, not shape {y.shape}{called_at()}")
        return y if y.dtype.kind == "f" else F.cast(y, np.float64)

    return _integral(f, a, b, points, epsabs, epsrel, int(limit))


def _inner_point(a: Any, b: Any) -> float:
    low, high = (
        float(v) if math.isfinite(v) else math.copysign(1.0 + abs(w if math.isfinite(w) else 0.0), v)
        for v, w in ((a, b), (b, a))
    )
    return low + 0.4375 * (high - low)


@takes_functions
def dblquad(
    func: Any, a: Any, b: Any, gfun: Any, hfun: Any, args: Any = (), epsabs: float = 1.49e-08, epsrel: float = 1.49e-08
) -> Any:
    """As scipy.integrate.dblquad."""
    lower, upper = (context.readable(g) if callable(g) else (lambda x, g=g: g) for g in (gfun, hfun))

    def inner(x: Any) -> Any:
        return quad(lambda y: context.readable(func)(y, x, *args), lower(x), upper(x), (), 0, epsabs, epsrel)[0]

    return quad(inner, a, b, (), 0, epsabs, epsrel)


@takes_functions
def fixed_quad(func: Any, a: Any, b: Any, args: Any = (), n: int = 5) -> Any:
    """As scipy.integrate.fixed_quad."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    points = (b - a) * (nodes + 1) / 2.0 + a
    return (b - a) / 2.0 * _f.sum(weights * tensor(context.readable(func)(points, *args)), -1), None
