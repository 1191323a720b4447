"""B-splines, `interp1d` and interpolation on grids of scipy.interpolate, for Tensors."""
# ruff: noqa: ARG001  (arguments that SciPy takes)

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, CutGradientError, ShapeError, called_at
from adjoint.core.spec import normalize_axis
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.compare import isnan
from adjoint.ops.numpylike.common import array_of, is_known, is_traced, tensor
from adjoint.ops.numpylike.selection import searchsorted
from adjoint.scipy.piecewise import Interpolator, inexact, line


class BSpline(Interpolator):
    """As scipy.interpolate.BSpline: differentiable by x and by the coefficients; the knots are constants."""

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        self.t, self.c, self.k = _constant("BSpline", "t", t), inexact(c), int(k)
        self.extrapolate, self.axis = extrapolate, normalize_axis("BSpline", axis, self.c.ndim)

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The value, or the derivative of order `nu`, at x, by de Boor's recursion."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        x, t, k = inexact(x), self.t, self.k
        c, n = _f.moveaxis(self.c, self.axis, 0), len(t) - k - 1
        c = c[:n]
        flat = _f.reshape(x, (x.size,))
        if extrapolate == "periodic":
            flat = t[k] + F.mod(flat - t[k], t[n] - t[k])
        held = F.stop_gradient(flat)
        for _ in range(nu):
            if not k:
                c = 0 * c
                break
            width = t[k + 1 : k + len(t) - k - 1] - t[1 : len(t) - k - 1]
            scale = np.where(width > 0, k / np.where(width > 0, width, 1), 0.0)
            c, t, k = (c[1:] - c[:-1]) * scale.reshape((-1,) + (1,) * (c.ndim - 1)), t[1:-1], k - 1
        count = len(t) - k - 1
        place = _f.clip(searchsorted(t, held, "right") - 1, k, count - 1)
        rest = (1,) * (c.ndim - 1)
        d = [_f.take(c, place - k + j, 0) for j in range(k + 1)]
        for r in range(1, k + 1):
            for j in range(k, r - 1, -1):
                low, high = _f.take(t, place + (j - k), 0), _f.take(t, place + (j + 1 - r), 0)
                alpha = _f.reshape((flat - low) / (high - low), (flat.size, *rest))
                d[j] = (1 - alpha) * d[j - 1] + alpha * d[j]
        y = d[k]
        if extrapolate is False:
            outside = _f.logical_or(F.less(held, t[k]), F.greater(held, t[count]))
            y = F.where(_f.reshape(outside, (flat.size, *rest)), np.nan, y)
        y = _f.reshape(y, (*x.shape, *c.shape[1:]))
        axis = self.axis
        return y if not axis else _f.moveaxis(y, tuple(range(x.ndim)), tuple(range(axis, axis + x.ndim)))

    def derivative(self, nu: int = 1) -> Any:
        """A function: the derivative."""
        return lambda x, extrapolate=None: self(x, nu, extrapolate)


def _constant(what: str, name: str, x: Any) -> np.ndarray:
    """Numbers that must be known: there is no derivative by them here."""
    x = tensor(x)
    if is_traced(x) and (not is_known(x) or (x.dtype.kind == "f" and x.tracked)):
        raise CutGradientError(
            f"{what}: there is no derivative by {name}, which is being differentiated, batched or compiled. Pass {name} as a constant "
            f"array; CubicSpline is differentiable by its nodes{called_at()}"
        )
    return np.asarray(array_of(x), float)


def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> BSpline:
    """As scipy.interpolate.make_interp_spline, differentiable by y: the coefficients are a constant matrix times y."""
    from scipy.interpolate import make_interp_spline as made

    nodes = _constant("make_interp_spline", "x", x)
    y = inexact(y)
    axis = normalize_axis("make_interp_spline", axis, y.ndim)
    values = _f.moveaxis(y, axis, 0)
    n = len(nodes)
    if values.shape[0] != n:
        raise ShapeError(f"make_interp_spline: {n} nodes for {values.shape[0]} values{called_at()}")
    if bc_type == "periodic" or (isinstance(bc_type, tuple) and "periodic" in bc_type):
        eye = np.eye(n)
        eye[-1] = eye[0]  # the last value is the first
        found = made(nodes, eye, k, t, "periodic")
    else:
        found = made(nodes, np.eye(n), k, t, _spread(bc_type, n))
    still = made(nodes, np.zeros((n, n)), k, t, bc_type if bc_type == "periodic" else _spread(bc_type, n)).c
    matrix, offset = found.c - still, still[:, :1]
    c = F.matmul(matrix, _f.reshape(values, (n, -1))) + offset
    c = _f.reshape(c, (matrix.shape[0], *values.shape[1:]))
    extrapolate: Any = "periodic" if bc_type == "periodic" else True
    return BSpline(found.t, _f.moveaxis(c, 0, axis), k, extrapolate, axis)


def _spread(bc_type: Any, n: int) -> Any:
    """Conditions with numbers, one for each column of a matrix."""
    if bc_type is None or isinstance(bc_type, str):
        return bc_type

    def side(conditions: Any) -> Any:
        if conditions is None or isinstance(conditions, str):
            return conditions
        return [(order, np.full(n, float(value))) for order, value in conditions]

    return tuple(side(s) for s in bc_type)


# ---------------------------------------------------------------- interp1d

_ORDERS: dict[Any, int] = {"slinear": 1, "quadratic": 2, "cubic": 3, "zero": 0}


class interp1d(Interpolator):
    """As scipy.interpolate.interp1d. Where values are not known, a point outside gives NaN in place of an error.

    Between the steps of the kinds nearest, previous and next the derivative by x is 0.
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: Any = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: Any = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        self.axis = normalize_axis("interp1d", axis, inexact(y).ndim)
        values, nodes = _f.moveaxis(inexact(y), self.axis, 0), inexact(x)
        if not assume_sorted:
            order = _f.argsort(F.stop_gradient(nodes), 0)
            nodes, values = _f.take(nodes, order, 0), _f.take(values, order, 0)
        self.x, self.y = line("interp1d", nodes, 1), values
        self.kind = kind if isinstance(kind, str) else int(kind)
        known = ("linear", "nearest", "nearest-up", "previous", "next", *_ORDERS)
        if isinstance(self.kind, str) and self.kind not in known:
            raise ArgumentError(
                f"interp1d: kind must be an order or one of {', '.join(known)}, not {kind!r}{called_at()}"
            )
        self.extrapolates = isinstance(fill_value, str) and fill_value == "extrapolate"
        self.below, self.above = fill_value if isinstance(fill_value, tuple) else (fill_value, fill_value)
        none_given = isinstance(fill_value, float) and np.isnan(fill_value)
        self.bounds_error = (none_given if bounds_error is None else bounds_error) and not self.extrapolates
        degree: Any = _ORDERS.get(self.kind, self.kind)
        self._spline = make_interp_spline(self.x, values, degree) if isinstance(degree, int) and degree > 0 else None

    def __call__(self, x: Any) -> Any:
        """The value at x."""
        x = inexact(x)
        flat = _f.reshape(x, (x.size,))
        held, nodes, n = F.stop_gradient(flat), self.x, self.x.shape[0]
        outside = [F.less(held, F.stop_gradient(nodes[0])), F.greater(held, F.stop_gradient(nodes[-1]))]
        if self.bounds_error and all(map(is_known, outside)) and any(array_of(o).any() for o in outside):
            raise ArgumentError(f"interp1d: a value of x is outside the interpolation range{called_at()}")
        rest = (1,) * (self.y.ndim - 1)
        if self._spline is not None:
            y = self._spline(flat)
        elif self.kind == "linear":
            place = _f.clip(searchsorted(F.stop_gradient(nodes), held, "left"), 1, n - 1)
            x0, x1, y0, y1 = (_f.take(v, place - d, 0) for v in (nodes, self.y) for d in (1, 0))
            y = y0 + (y1 - y0) * _f.reshape((flat - x0) / (x1 - x0), (flat.size, *rest))
        else:
            y = _f.take(self.y, self._step(held), 0)
            if self.kind == "zero":  # the others give NaN the value of a node, as SciPy's do
                y = F.where(_f.reshape(isnan(held), (flat.size, *rest)), np.nan, y)
        if not self.extrapolates:
            for mask, fill in zip(outside, (self.below, self.above), strict=True):
                y = F.where(_f.reshape(mask, (flat.size, *rest)), fill, y)
        y = _f.reshape(y, (*x.shape, *self.y.shape[1:]))
        axis = self.axis
        return y if not axis else _f.moveaxis(y, tuple(range(x.ndim)), tuple(range(axis, axis + x.ndim)))

    def _step(self, x: Any) -> Any:
        """The node whose value counts, for the kinds that are constant between nodes."""
        nodes, n = F.stop_gradient(self.x), self.x.shape[0]
        if self.kind in ("nearest", "nearest-up"):
            middles = (nodes[1:] + nodes[:-1]) / 2
            return _f.clip(searchsorted(middles, x, "right" if self.kind == "nearest-up" else "left"), 0, n - 1)
        if self.kind == "next":
            return _f.clip(searchsorted(nodes, x, "left"), 0, n - 1)
        return _f.clip(searchsorted(nodes, x, "right") - 1, 0, n - 1)


# ---------------------------------------------------------------- grids


class RegularGridInterpolator(Interpolator):
    """As scipy.interpolate.RegularGridInterpolator for the methods linear and nearest; differentiable by the values and the points asked
    for. Where values are not known, a point outside gives NaN in place of an error."""

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
        *,
        solver: Any = None,
        solver_args: Any = None,
    ) -> None:
        self.grid, self.values = [], inexact(values)
        for axis, p in enumerate(points):
            p, falls = _rising(p)
            self.grid.append(p)
            if falls is not False and axis < self.values.ndim:
                turned = _f.flip(self.values, (axis,))
                self.values = turned if falls is True else F.where(falls, turned, self.values)
        self.method, self.bounds_error, self.fill_value = _method(method), bounds_error, fill_value
        if tuple(g.shape[0] for g in self.grid) != self.values.shape[: len(self.grid)]:
            raise ShapeError(
                f"RegularGridInterpolator: values of shape {self.values.shape} do not fit the grid{called_at()}"
            )

    def __call__(self, xi: Any, method: Any = None) -> Any:
        """The values at points whose coordinates lie along the last axis."""
        method = self.method if method is None else _method(method)
        rank = len(self.grid)
        xi = xi[0] if isinstance(xi, tuple) and len(xi) == 1 else xi
        if isinstance(xi, tuple):
            xi = _f.stack([tensor(v) for v in np.broadcast_arrays(*xi)] if not is_traced(xi) else _broadcast(xi), -1)
        else:
            xi = inexact(xi)
            if xi.ndim == 1 and xi.size % rank == 0:  # as SciPy takes a line: point after point
                xi = _f.reshape(xi, (xi.size // rank, rank))
        xi = inexact(xi)
        if xi.shape[-1:] != (rank,):
            raise ShapeError(
                f"RegularGridInterpolator: points of {rank} coordinates are needed, not shape {xi.shape}{called_at()}"
            )
        flat = _f.reshape(xi, (-1, rank))
        places, shares, outside = [], [], []
        for k, nodes in enumerate(self.grid):
            x = flat[:, k]
            held, still = F.stop_gradient(x), F.stop_gradient(nodes)
            outside.append(_f.logical_or(F.less(held, still[0]), F.greater(held, still[-1])))
            place = _f.clip(searchsorted(still, held, "right") - 1, 0, max(nodes.shape[0] - 2, 0))
            low = _f.take(nodes, place, 0)
            width = _f.take(nodes, place + 1, 0) - low if nodes.shape[0] > 1 else 1.0
            places.append(place)
            shares.append((x - low) / width)
        beyond = outside[0]
        for o in outside[1:]:
            beyond = _f.logical_or(beyond, o)
        unknown = _f.any(isnan(F.stop_gradient(flat)), -1)
        beyond = _f.logical_or(beyond, unknown) if self.bounds_error else beyond
        if self.bounds_error and is_known(beyond) and array_of(beyond).any():
            raise ArgumentError(f"RegularGridInterpolator: a point is out of bounds{called_at()}")
        y = self._at(places, shares, method)
        if self.bounds_error or self.fill_value is not None:
            fill = np.nan if self.bounds_error else self.fill_value
            y = F.where(_f.reshape(beyond, (flat.shape[0], *(1,) * (y.ndim - 1))), fill, y)
        y = F.where(_f.reshape(unknown, (flat.shape[0], *(1,) * (y.ndim - 1))), np.nan, y)
        return _f.reshape(y, (*xi.shape[:-1], *self.values.shape[rank:]))

    def _at(self, places: list[Any], shares: list[Any], method: str) -> Any:
        rest = self.values.ndim - len(self.grid)
        if method == "nearest":
            chosen = [
                p + F.cast(F.greater(F.stop_gradient(s), 0.5), np.int64) for p, s in zip(places, shares, strict=True)
            ]
            return self._corner(chosen)
        total: Any = None
        for corner in itertools.product((0, 1), repeat=len(self.grid)):
            if any(c and g.shape[0] == 1 for c, g in zip(corner, self.grid, strict=True)):
                continue
            weight: Any = 1.0
            for c, s in zip(corner, shares, strict=True):
                weight = weight * (s if c else 1 - s)
            term = self._corner([p + c for p, c in zip(places, corner, strict=True)])
            term = _f.reshape(weight, (-1, *(1,) * rest)) * term
            total = term if total is None else total + term
        return total

    def _corner(self, places: list[Any]) -> Any:
        """The values at nodes, one number along each axis of the grid."""
        flat: Any = places[0]
        for p, g in zip(places[1:], self.grid[1:], strict=True):
            flat = flat * g.shape[0] + p
        count = int(np.prod([g.shape[0] for g in self.grid]))
        return _f.take(_f.reshape(self.values, (count, *self.values.shape[len(self.grid) :])), flat, 0)


def _rising(points: Any) -> tuple[Any, Any]:
    """Nodes of a grid from the lowest to the highest, and whether they were given the other way round."""
    points = inexact(points)
    if points.ndim != 1 or points.size < 2:
        return line("RegularGridInterpolator", points, 1), False
    if not is_known(points):
        held = F.stop_gradient(points)
        falls = F.less(held[-1], held[0])
        return F.where(falls, _f.flip(points, (0,)), points), falls
    numbers = array_of(F.stop_gradient(points))
    falls = bool(numbers[-1] < numbers[0])
    return line("RegularGridInterpolator", _f.flip(points, (0,)) if falls else points, 1), falls


def _broadcast(xs: tuple) -> list[Any]:
    xs = tuple(inexact(x) for x in xs)
    shape = np.broadcast_shapes(*(x.shape for x in xs))
    return [_f.broadcast_to(x, shape) for x in xs]


def _method(method: str) -> str:
    if method not in ("linear", "nearest"):
        raise ArgumentError(
            f"RegularGridInterpolator: the method {method!r} is not supported for Tensors; linear and nearest are{called_at()}"
        )
    return method


def interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = np.nan
) -> Any:
    """As scipy.interpolate.interpn for the methods linear and nearest."""
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)


def bspline_of_scipy(spline: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """A B-spline that SciPy made, at a Tensor."""
    return BSpline(spline.t, spline.c, spline.k, spline.extrapolate, spline.axis)(x, nu, extrapolate)


def interp1d_of_scipy(made: Any, x: Any) -> Any:
    """An interp1d that SciPy made, at a Tensor."""
    fill: Any = "extrapolate" if made._extrapolate else made.fill_value
    values = np.moveaxis(np.asarray(made._y).reshape(len(made.x), *made._y_extra_shape), 0, made._y_axis)
    of_steps = made._kind != "spline"
    ours = interp1d(
        made.x, values, made._kind if of_steps else "linear", made._y_axis, True, made.bounds_error, fill, True
    )
    if not of_steps:
        c = np.asarray(made._spline.c)
        ours._spline = BSpline(made._spline.t, c.reshape(len(c), *made._y_extra_shape), made._spline.k)
    return ours(x)


def grid_of_scipy(made: Any, xi: Any, method: Any = None, **options: Any) -> Any:
    """A RegularGridInterpolator that SciPy made, at a Tensor."""
    if options:
        raise ArgumentError(f"RegularGridInterpolator: {', '.join(options)} is not supported for Tensors{called_at()}")
    ours = RegularGridInterpolator(made.grid, made.values, method or made.method, made.bounds_error, made.fill_value)
    return ours(xi)
