"""Piecewise polynomials of scipy.interpolate, for Tensors: cubic splines, PCHIP, Akima; differentiable by x and y."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value
from adjoint.core.errors import ArgumentError, ShapeError, called_at, refused
from adjoint.core.spec import is_inexact, normalize_axis
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.functional import linalg as _l
from adjoint.ops.numpylike.common import array_of, is_known, tensor
from adjoint.ops.numpylike.selection import searchsorted
from adjoint.scipy.wrapping import refusal


def inexact(x: Any) -> Any:
    x = tensor(x)
    return x if is_inexact(x.dtype) else F.cast(x, np.float64)


def line(what: str, x: Any, least: int = 2) -> Any:
    """The nodes: a line of numbers that increase, as far as they are known."""
    x = inexact(x)
    if x.ndim != 1 or x.size < least:
        raise ShapeError(f"{what}: x must be a line of {least} numbers or more, not shape {x.shape}{called_at()}")
    if is_known(x) and not (np.diff(array_of(F.stop_gradient(x))) > 0).all():
        raise ArgumentError(f"{what}: x must increase from number to number{called_at()}")
    return x


def behind(v: Any, like: Any) -> Any:
    """A line with axes of size 1 behind it, as many as `like` has."""
    return _f.reshape(v, (v.shape[0], *(1,) * (like.ndim - 1)))


class Interpolator:
    """What the mirrors of SciPy's classes have in common: a method of SciPy's that they have not is refused by its name."""

    def __getattr__(self, name: str) -> Any:
        import scipy.interpolate

        theirs = getattr(scipy.interpolate, type(self).__name__)
        if name.startswith("_") or not callable(getattr(theirs, name, None)):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

        def refuse(*_args: Any, **_kwargs: Any) -> Any:
            raise refused(refusal(f"scipy.interpolate.{type(self).__name__}.{name}", "adjoint.scipy.interpolate"))

        return refuse


class PPoly(Interpolator):
    """Polynomials between nodes, as SciPy's: c[k, i] is the coefficient of (x - x[i])^(order - k)."""

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        self.c, self.x = inexact(c), inexact(x)
        self.extrapolate = True if extrapolate is None else extrapolate
        self.axis = axis

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The value, or the derivative of order `nu`, at x."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        x, nodes, c, order = inexact(x), self.x, self.c, self.c.shape[0] - 1
        if nu < 0:
            raise ArgumentError(f"{type(self).__name__}: the order of a derivative is 0 or more, not {nu}{called_at()}")
        flat = _f.reshape(x, (x.size,))
        if isinstance(extrapolate, str):
            if extrapolate != "periodic":
                raise ArgumentError(f"extrapolate must be True, False or 'periodic', not {extrapolate!r}{called_at()}")
            flat = nodes[0] + F.mod(flat - nodes[0], nodes[-1] - nodes[0])
        held = F.stop_gradient(flat)
        place = _f.clip(searchsorted(F.stop_gradient(nodes), held, "right") - 1, 0, nodes.shape[0] - 2)
        rest = c.ndim - 2
        along = _f.reshape(flat - _f.take(nodes, place, 0), (flat.size, *(1,) * rest))
        y: Any = np.zeros((flat.size, *c.shape[2:]), c.dtype)
        for k in range(order + 1 - nu):
            weight = math.perm(order - k, nu)
            y = y * along + weight * _f.take(c[k], place, 0)
        if extrapolate is False or (not isinstance(extrapolate, str) and not extrapolate):
            outside = _f.logical_or(F.less(held, nodes[0]), F.greater(held, nodes[-1]))
            y = F.where(_f.reshape(outside, (flat.size, *(1,) * rest)), np.nan, y)
        y = _f.reshape(tensor(y), (*x.shape, *c.shape[2:]))
        return _moved(y, x.ndim, self.axis)

    def derivative(self, nu: int = 1) -> PPoly:
        """The polynomials differentiated `nu` times."""
        if nu < 0:
            return self.antiderivative(-nu)
        order = self.c.shape[0] - 1
        kept = [math.perm(order - k, nu) * self.c[k] for k in range(order + 1 - nu)]
        return self._with(_f.stack(kept, 0) if kept else 0 * self.c[:1])

    def antiderivative(self, nu: int = 1) -> PPoly:
        """The polynomials integrated `nu` times, from 0 at the first node; those of periodic ones are not, and end at the last node."""
        if nu <= 0:
            return self.derivative(-nu)
        found: Any = self
        if self.extrapolate == "periodic":
            found = PPoly(self.c, self.x, False, self.axis)
        for _ in range(nu):
            order = found.c.shape[0] - 1
            parts = [found.c[k] / (order - k + 1) for k in range(order + 1)]
            width = behind(found.x[1:] - found.x[:-1], parts[0])
            total: Any = parts[0] * width
            for part in parts[1:]:
                total = (total + part) * width
            start = _f.concat([0 * total[:1], _f.cumsum(total, 0)[:-1]], 0)
            found = found._with(_f.stack([*parts, start], 0))
        return found

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral between limits."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        whole = self.antiderivative()
        if extrapolate != "periodic":
            return whole(b, 0, extrapolate) - whole(a, 0, extrapolate)
        start, period = self.x[0], self.x[-1] - self.x[0]

        def upto(end: Any) -> Any:
            turns = _f.floor(F.stop_gradient((inexact(end) - start) / period))
            return whole(end - turns * period, 0, True) + turns * whole(self.x[-1], 0, True)

        return upto(b) - upto(a)

    def _with(self, c: Any) -> PPoly:
        return PPoly(c, self.x, self.extrapolate, self.axis)


def _moved(y: Any, count: int, axis: int) -> Any:
    """The first `count` axes moved to where the interpolated axis was."""
    if not axis:
        return y
    return _f.moveaxis(y, tuple(range(count)), tuple(range(axis, axis + count)))


def _samples(what: str, x: Any, y: Any, axis: int, least: int = 2) -> tuple[Any, Any, int]:
    """Nodes and values, the interpolated axis in front."""
    x, y = line(what, x, least), inexact(y)
    axis = normalize_axis(what, axis, y.ndim)
    y = _f.moveaxis(y, axis, 0)
    if y.shape[0] != x.shape[0]:
        raise ShapeError(f"{what}: {x.shape[0]} nodes for {y.shape[0]} values along axis {axis}{called_at()}")
    return x, y, axis


def _hermite(x: Any, y: Any, slopes: Any) -> Any:
    """The coefficients of the cubics with these values and slopes at the nodes."""
    dx = behind(x[1:] - x[:-1], y)
    rise = (y[1:] - y[:-1]) / dx
    t = (slopes[:-1] + slopes[1:] - 2 * rise) / dx
    return _f.stack([t / dx, (rise - slopes[:-1]) / dx - t, slopes[:-1], y[:-1]], 0)


class CubicHermiteSpline(PPoly):
    """As scipy.interpolate.CubicHermiteSpline."""

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        nodes, values, place = _samples("CubicHermiteSpline", x, y, axis)
        slopes = _f.moveaxis(inexact(dydx), place, 0)
        super().__init__(_hermite(nodes, values, slopes), nodes, extrapolate, place)


class PchipInterpolator(PPoly):
    """As scipy.interpolate.PchipInterpolator."""

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        nodes, values, place = _samples("PchipInterpolator", x, y, axis)
        super().__init__(_hermite(nodes, values, _monotone_slopes(nodes, values)), nodes, extrapolate, place)


def _monotone_slopes(x: Any, y: Any) -> Any:
    h = behind(x[1:] - x[:-1], y)
    m = (y[1:] - y[:-1]) / h
    if x.shape[0] == 2:
        return _f.concat([m, m], 0)
    flat = _f.logical_or(
        F.not_equal(F.sign(m[1:]), F.sign(m[:-1])), _f.logical_or(F.equal(m[1:], 0), F.equal(m[:-1], 0))
    )
    before, after = (F.where(flat, 1.0, v) for v in (m[:-1], m[1:]))
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    inner = F.where(flat, 0.0, (w1 + w2) / (w1 / before + w2 / after))

    def end(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
        d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
        wrong = F.not_equal(F.sign(d), F.sign(m0))
        steep = _f.logical_and(F.not_equal(F.sign(m0), F.sign(m1)), F.greater(abs(d), 3.0 * abs(m0)))
        return F.where(wrong, 0.0, F.where(steep, 3.0 * m0, d))

    return _f.concat([end(h[:1], h[1:2], m[:1], m[1:2]), inner, end(h[-1:], h[-2:-1], m[-1:], m[-2:-1])], 0)


class Akima1DInterpolator(PPoly):
    """As scipy.interpolate.Akima1DInterpolator."""

    def __init__(self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None) -> None:
        if method not in ("akima", "makima"):
            raise ArgumentError(f"Akima1DInterpolator: method must be 'akima' or 'makima', not {method!r}{called_at()}")
        nodes, values, place = _samples("Akima1DInterpolator", x, y, axis)
        slopes = _akima_slopes(nodes, values, method == "makima")
        super().__init__(_hermite(nodes, values, slopes), nodes, False if extrapolate is None else extrapolate, place)


def _akima_slopes(x: Any, y: Any, modified: bool) -> Any:
    inner = (y[1:] - y[:-1]) / behind(x[1:] - x[:-1], y)
    if x.shape[0] == 2:
        return _f.concat([inner, inner], 0)
    left = 2 * inner[:1] - inner[1:2]
    right = 2 * inner[-1:] - inner[-2:-1]
    m = _f.concat([2 * left - inner[:1], left, inner, right, 2 * right - inner[-1:]], 0)
    jumps = abs(m[1:] - m[:-1])
    if modified:
        jumps = jumps + 0.5 * abs(m[1:] + m[:-1])
    f1, f2 = jumps[2:], jumps[:-2]
    both = f1 + f2
    far = F.greater(both, 1e-9 * _f.max(F.stop_gradient(both)))
    share = F.where(far, f2 / F.where(far, both, 1.0), 0.0)
    return F.where(far, m[1:-2] + share * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))


# ---------------------------------------------------------------- cubic splines


class CubicSpline(PPoly):
    """As scipy.interpolate.CubicSpline."""

    def __init__(self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> None:
        nodes, values, place = _samples("CubicSpline", x, y, axis)
        start, end = _conditions(bc_type)
        periodic = start == "periodic"
        slopes = _periodic_slopes(nodes, values) if periodic else _spline_slopes(nodes, values, start, end)
        extrapolate = ("periodic" if periodic else True) if extrapolate is None else extrapolate
        super().__init__(_hermite(nodes, values, slopes), nodes, extrapolate, place)


def _conditions(bc_type: Any) -> tuple[Any, Any]:
    """The conditions at both ends: "not-a-knot", "periodic", or pairs of order and value."""
    named = {"natural": (2, 0.0), "clamped": (1, 0.0), "not-a-knot": "not-a-knot", "periodic": "periodic"}
    pair = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
    found = [named.get(c, c) if isinstance(c, str) else c for c in pair]
    for c in found:
        if isinstance(c, str) and c not in ("not-a-knot", "periodic"):
            raise ArgumentError(f"CubicSpline: the condition {c!r} is not one of SciPy's{called_at()}")
        if not isinstance(c, str) and int(c[0]) not in (1, 2):
            raise ArgumentError(f"CubicSpline: conditions are on derivatives 1 or 2, not {c[0]}{called_at()}")
    if (found[0] == "periodic") != (found[1] == "periodic"):
        raise ArgumentError(f"CubicSpline: 'periodic' is a condition on both ends{called_at()}")
    return found[0], found[1]


def _spline_slopes(x: Any, y: Any, start: Any, end: Any) -> Any:
    """The slopes of the spline at its nodes: a tridiagonal system."""
    n, flat = x.shape[0], _f.reshape(y, (y.shape[0], -1))
    h = x[1:] - x[:-1]
    hr = F.expand_last(h)
    rise = (flat[1:] - flat[:-1]) / hr
    if n == 2:  # SciPy takes the slope of the line where a knot is missing
        start, end = ((1, rise[0]) if c == "not-a-knot" else c for c in (start, end))
    elif n == 3 and start == end == "not-a-knot":
        middle = (hr[0] * rise[1] + hr[1] * rise[0]) / (hr[0] + hr[1])
        return _f.reshape(_f.stack([2 * rise[0] - middle, middle, 2 * rise[1] - middle], 0), y.shape)
    width = flat.shape[1]

    def given(value: Any) -> Any:
        value = inexact(value)
        return _f.broadcast_to(_f.reshape(value, (-1,)) if value.ndim else value, (width,))

    if start == "not-a-knot":
        d = x[2] - x[0]
        first, beside = h[1], d
        b0 = ((h[0] + 2 * d) * h[1] * rise[0] + h[0] * h[0] * rise[1]) / d
    elif int(start[0]) == 1:
        first, beside, b0 = 0 * h[0] + 1, 0 * h[0], given(start[1])
    else:
        first, beside = 2 * h[0], h[0]
        b0 = -0.5 * given(start[1]) * h[0] * h[0] + 3 * (flat[1] - flat[0])
    if end == "not-a-knot":
        d = x[-1] - x[-3]
        last, below = h[-2], d
        bn = (h[-1] * h[-1] * rise[-2] + (2 * d + h[-1]) * h[-2] * rise[-1]) / d
    elif int(end[0]) == 1:
        last, below, bn = 0 * h[0] + 1, 0 * h[0], given(end[1])
    else:
        last, below = 2 * h[-1], h[-1]
        bn = 0.5 * given(end[1]) * h[-1] * h[-1] + 3 * (flat[-1] - flat[-2])
    zero = np.zeros(1, x.dtype)
    one = [_f.reshape(v, (1,)) for v in (beside, first, last, below)]
    diagonals = _f.stack([
        _f.concat([zero, one[0], h[:-1]], 0),
        _f.concat([one[1], 2 * (h[:-1] + h[1:]), one[2]], 0),
        _f.concat([h[1:], one[3], zero], 0),
    ], 0)  # fmt: skip
    inner = 3 * (hr[1:] * rise[:-1] + hr[:-1] * rise[1:])
    right = _f.concat([F.expand_row(b0), inner, F.expand_row(bn)], 0)
    return _f.reshape(_l.solve_banded((1, 1), diagonals, right), y.shape)


def _periodic_slopes(x: Any, y: Any) -> Any:
    """The slopes of the spline that goes on as it began."""
    if is_known(y) and not np.allclose(
        array_of(F.stop_gradient(y[0])), array_of(F.stop_gradient(y[-1])), rtol=1e-15, atol=1e-15
    ):
        raise ArgumentError(
            f"CubicSpline: the first and the last value of a periodic spline must be equal{called_at()}"
        )
    flat = _f.reshape(y, (y.shape[0], -1))
    h = x[1:] - x[:-1]
    rise = (flat[1:] - flat[:-1]) / F.expand_last(h)
    m = x.shape[0] - 1
    before, slope_before = _f.roll(h, 1, 0), _f.roll(rise, 1, 0)
    eye = np.eye(m, dtype=x.dtype)
    system = (
        eye * F.expand_last(2 * (before + h))
        + np.roll(eye, -1, 1) * F.expand_last(h)
        + np.roll(eye, 1, 1) * F.expand_last(before)
    )
    # Row i: h[i] s[i-1] + 2 (h[i-1] + h[i]) s[i] + h[i-1] s[i+1]
    right = 3 * (F.expand_last(h) * slope_before + F.expand_last(before) * rise)
    slopes = _l.solve(system, right)
    return _f.reshape(_f.concat([slopes, slopes[:1]], 0), y.shape)


def of_scipy(spline: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """A spline that SciPy made, at a Tensor."""
    return _mirrored(spline)(x, nu, extrapolate)


def integral_of_scipy(spline: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    """The integral of a spline that SciPy made, between Tensors."""
    return _mirrored(spline).integrate(a, b, extrapolate)


def _mirrored(spline: Any) -> PPoly:
    held = isinstance(spline.c, Value) or spline.c.dtype.kind in "fc"
    return PPoly(spline.c if held else np.asarray(spline.c, float), spline.x, spline.extrapolate, spline.axis)
