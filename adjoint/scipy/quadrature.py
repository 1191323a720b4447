"""Integrals of functions of scipy.integrate, for Tensors, by `adaptive_quadrature`.

Limits are held still there, and enter by a Gauss rule on an interval of length 0, which has the derivatives that Leibniz gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.dispatch import Value
from adjoint.core.errors import ShapeError, called_at
from adjoint.graph.flow import cond
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.numpylike.common import array_of, is_known, refuse, tensor, values_in
from adjoint.scipy.adaptive_quadrature import known_integral, looped_integral
from adjoint.scipy.wrapping import MARK, takes_functions


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
    low, high = (F.stop_gradient(v) if isinstance(v, Value) else float(v) for v in (a, b))
    how = absolute, relative, limit
    if _is_infinite(low) and _is_infinite(high):
        if low == high:
            return tensor(0.0), 0.0
        sign = 1.0 if low < high else -1.0
        value, error = _finite(_half_line(lambda t: f(t) + f(-t), 0.0, 1.0), 0.0, 1.0, None, *how)
        return sign * value, error
    if _is_infinite(low) or _is_infinite(high):
        start, way = (high, low) if _is_infinite(low) else (low, high)
        direction = 1.0 if way > 0 else -1.0
        value, error = _finite(_half_line(f, start, direction), 0.0, 1.0, None, *how)
        return _with_limits(f, direction * (value if way is high else -value), a, b), error
    if points is None and (_moving(a) or _moving(b)):
        return _between_moving(f, a, b, how)
    value, error = _finite(f, low, high, points, *how)
    return _with_limits(f, value, a, b), error


def _with_limits(f: Any, value: Any, a: Any, b: Any) -> Any:
    """An integral with the derivatives by its limits."""
    value = value + _moved_limit(f, b) if _moving(b) else value
    return value - _moved_limit(f, a) if _moving(a) else value


def _between_moving(f: Any, a: Any, b: Any, how: Any) -> tuple[Any, Any]:
    """The integral between finite limits with derivatives. Where the integrand is singular at one, the interval is moved to a fixed
    one: the derivative is that of what is inside."""
    low, high = held = [F.stop_gradient(v) if isinstance(v, Value) else v for v in (a, b)]
    with np.errstate(all="ignore"):
        ends = [tensor(f(h)) for v, h in zip((a, b), held, strict=True) if _moving(v)]
    plain = _f.all(_f.isfinite(F.stop_gradient(_f.stack(ends, 0))))

    def at_limits() -> tuple[Any, Any]:
        value, error = _finite(f, low, high, None, *how)
        return _with_limits(f, value, a, b), error

    def moved() -> tuple[Any, Any]:
        return _finite(lambda u: (b - a) * f(a + (b - a) * u), 0.0, 1.0, None, *how)

    if is_known(plain):
        return at_limits() if array_of(plain) else moved()
    return tuple(cond(plain, lambda: _tensors(at_limits()), lambda: _tensors(moved())))  # type: ignore[return-value]


def _tensors(found: tuple[Any, Any]) -> list[Any]:
    return [F.cast(tensor(v), np.float64) for v in found]


def _half_line(f: Any, start: Any, direction: float) -> Callable[[Any], Any]:
    """The integrand on (0, 1) of an integral from `start` to infinity, by x = start + (1 - t) / t."""
    return lambda t: f(start + direction * ((1 - t) / t)) / (t * t)


def _finite(f: Any, a: Any, b: Any, points: Any, absolute: float, relative: float, limit: int) -> tuple[Any, Any]:
    probe = f(a + (b - a) * 0.4375)
    if all(is_known(v) for v in (probe, a, b)):
        low, high = (float(array_of(tensor(v))) for v in (a, b))
        inner = [] if points is None else sorted((float(p) for p in np.ravel(points)), reverse=high < low)
        return known_integral(f, [low, *inner, high], absolute, relative, max(limit, len(inner) + 1))
    line = [a, *(() if points is None else np.sort(np.ravel(points)).tolist()), b]
    edges = _f.stack([F.cast(tensor(v), np.float64) for v in line], 0)
    return looped_integral(f, edges, absolute, relative, max(limit, len(line) - 1))


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
