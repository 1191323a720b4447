"""NumPy's differences, integrals, interpolation, filters, polynomials and statistics, with its signatures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError, called_at
from adjoint.core.spec import is_inexact, normalize_axis, number_of
from adjoint.ops import compare as _c
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.language import bitwise_and, broadcast_to, conj, equal, greater, less, not_equal, zeros_like
from adjoint.ops.numpylike.common import array_of, cast, is_known, not_complex, promoted, refuse, tensor
from adjoint.ops.numpylike.joining import concatenate
from adjoint.ops.numpylike.result_orders import k_order
from adjoint.ops.numpylike.selection import searchsorted
from adjoint.ops.spectral import pinv


def _cut(x: Any, axis: int, start: int | None, stop: int | None, step: int | None = None) -> Any:
    index = (slice(None),) * axis + (slice(start, stop, step),)
    return x[index]


def _steps(x: Any, axis: int) -> Any:
    """The differences between neighbours along an axis."""
    return _cut(x, axis, 1, None) - _cut(x, axis, None, -1)


def _inexact(x: Any) -> Any:
    return x if is_inexact(x.dtype) else F.cast(x, np.float64)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """As numpy.diff."""
    x = tensor(a)
    if n < 0:
        raise ArgumentError(f"diff: n must not be negative, but is {n}{called_at()}")
    axis = normalize_axis("diff", axis, x.ndim)
    edge = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    ends = [None if e is None else tensor(e) for e in (prepend, append)]
    before, after = ([] if e is None else [e if e.ndim else broadcast_to(e, edge)] for e in ends)
    if before or after:
        x = concatenate([*before, x, *after], axis)
    for _ in range(n):
        left, right = _cut(x, axis, None, -1), _cut(x, axis, 1, None)
        x = not_equal(right, left) if x.dtype.kind == "b" else right - left
    return x


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """As numpy.ediff1d."""
    x = _f.reshape(tensor(ary), -1)
    begin, end = ([] if e is None else [_like_steps(e, x)] for e in (to_begin, to_end))
    return concatenate([*begin, _steps(x, 0), *end])


def _like_steps(e: Any, x: Any) -> Any:
    """What ediff1d puts before or behind the differences."""
    e = _f.reshape(tensor(e), -1)
    if not np.can_cast(e.dtype, x.dtype, "same_kind"):
        raise DtypeError(f"ediff1d: {e.dtype} beside differences of {x.dtype}: cast one of them{called_at()}")
    return cast(e, x.dtype)


@k_order
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """As numpy.gradient."""
    y = tensor(f)
    if y.dtype.kind == "b":
        raise DtypeError(f"gradient: truth values have no differences; cast them first{called_at()}")
    y = _inexact(y)
    axes = range(y.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = [normalize_axis("gradient", a, y.ndim) for a in axes]
    spacings = list(varargs) if len(varargs) != 1 else [varargs[0]] * len(axes)
    if not varargs:
        spacings = [1.0] * len(axes)
    if len(spacings) != len(axes):
        raise ArgumentTypeError(f"gradient: {len(varargs)} spacings for {len(axes)} axes{called_at()}")
    if edge_order not in (1, 2):
        raise ArgumentError(f"gradient: edge_order must be 1 or 2, not {edge_order}{called_at()}")
    found = []
    for a, spacing in zip(axes, spacings, strict=True):
        if y.shape[a] <= edge_order:
            raise ShapeError(
                f"gradient: axis {a} of shape {y.shape} needs at least {edge_order + 1} elements{called_at()}"
            )
        step = tensor(spacing) if number_of(spacing) is None else cast(tensor(spacing), y.dtype)
        found.append(_slope(y, a, step, edge_order))
    return found[0] if len(found) == 1 else tuple(found)


def _slope(y: Any, axis: int, spacing: Any, edge_order: int) -> Any:
    """The slope along an axis by NumPy's formulas, so that the results are rounded as NumPy's are."""
    n, h, even = y.shape[axis], spacing, spacing.ndim == 0
    if not even:
        if spacing.shape != (n,):
            raise ShapeError(f"gradient: {spacing.shape} coordinates for an axis of {n} elements{called_at()}")
        h = _steps(_inexact(spacing), 0)
        even = not h.tracked and is_known(h) and bool((array_of(h) == array_of(h)[0]).all())
        h = h[0] if even else _f.reshape(h, (-1,) + (1,) * (y.ndim - axis - 1))

    def at(k: int) -> Any:
        return _cut(y, axis, k, k + 1 or None)

    below, middle, above = _cut(y, axis, None, -2), _cut(y, axis, 1, -1), _cut(y, axis, 2, None)
    if even:
        inner = (above - below) / (2.0 * h)
        first, last = (-1.5 / h, 2.0 / h, -0.5 / h), (0.5 / h, -2.0 / h, 1.5 / h)
    else:
        d, e = h[:-1], h[1:]
        inner = -e / (d * (d + e)) * below + (e - d) / (d * e) * middle + d / (e * (d + e)) * above
        if edge_order == 2:
            d, e = h[:1], h[1:2]
            first = -(2.0 * d + e) / (d * (d + e)), (d + e) / (d * e), -d / (e * (d + e))
            d, e = h[-2:-1], h[-1:]
            last = e / (d * (d + e)), -(e + d) / (d * e), (2.0 * e + d) / (e * (d + e))
    if edge_order == 1:
        ends = [(at(1) - at(0)) / (h if even else h[:1]), (at(-1) - at(-2)) / (h if even else h[-1:])]
    else:
        ends = [a * at(k) + b * at(k + 1) + c * at(k + 2) for k, (a, b, c) in ((0, first), (-3, last))]
    return concatenate([ends[0], inner, ends[1]], axis)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """As numpy.trapezoid."""
    y = tensor(y)
    axis = normalize_axis("trapezoid", axis, y.ndim)
    width: Any = dx
    if x is not None:
        x = tensor(x)
        width = _steps(x, 0 if x.ndim == 1 else axis)
        if x.ndim == 1:
            width = _f.reshape(width, (-1,) + (1,) * (y.ndim - axis - 1))
    heights = (_cut(y, axis, 1, None) + _cut(y, axis, None, -1)) / 2.0
    return _f.sum(heights * width, axis)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """As numpy.interp, differentiable in x, xp and fp; at a node the slope is that of the interval to its right."""
    x, xp = (cast(not_complex("interp", tensor(v)), np.float64) for v in (x, xp))
    fp = cast(tensor(fp), np.complex128 if tensor(fp).dtype.kind == "c" else np.float64)
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise ShapeError(f"interp: xp {xp.shape} and fp {fp.shape} must be lines of the same length{called_at()}")
    if period is not None:
        x, xp = x % period, xp % period
        order = _f.argsort(xp)
        xp, fp = _f.take(xp, order, 0), _f.take(fp, order, 0)
        xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = concatenate([fp[-1:], fp, fp[:1]])
        left = right = None
    n = xp.shape[0]
    low = fp[0] if left is None else left
    high = fp[-1] if right is None else right
    if n == 1:
        inside = fp[0]
    else:
        k = _f.clip(searchsorted(xp, x, "right") - 1, 0, n - 2)
        x0, x1, y0, y1 = (_f.take(line, i, 0) for line in (xp, fp) for i in (k, k + 1))
        width = x1 - x0
        inside = y0 + (x - x0) * ((y1 - y0) / _c.where_(equal(width, 0), 1, width))
        inside = _c.where_(equal(x, x1), y1, inside)  # exact at the last node
    return _c.where_(less(x, xp[0]), low, _c.where_(greater(x, xp[-1]), high, inside))


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """As numpy.convolve."""
    x, y = tensor(a), tensor(v)
    x, y = (_f.reshape(t, -1) if t.ndim == 0 else t for t in (x, y))
    if x.ndim != 1 or y.ndim != 1 or not x.size or not y.size:
        raise ShapeError(f"convolve: two lines are needed, not shapes {x.shape} and {y.shape}{called_at()}")
    x, y = (y, x) if y.size > x.size else (x, y)
    n, m = x.size, y.size
    # Row i of the table holds the m elements of the padded longer line that y, reversed, is laid against.
    table = np.arange(n + m - 1)[:, None] + np.arange(m)
    full = _f.take(_f.pad_widths(x, [(m - 1, m - 1)]), table, 0) @ _f.flip(y)
    return _trimmed("convolve", full, n, m, mode)


def _trimmed(what: str, full: Any, n: int, m: int, mode: str) -> Any:
    if mode == "full":
        return full
    if mode == "same":
        return full[(m - 1) // 2 : (m - 1) // 2 + n]
    if mode == "valid":
        return full[m - 1 : n]
    raise ArgumentError(f"{what}: mode must be 'full', 'same' or 'valid', not {mode!r}{called_at()}")


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """As numpy.correlate."""
    x, y = tensor(a), tensor(v)
    if y.size > x.size:  # the other way round, the same numbers come in reverse
        swapped = _f.flip(correlate(y, x, mode))
        return conj(swapped) if swapped.dtype.kind == "c" else swapped
    return convolve(x, conj(_f.flip(y)) if y.dtype.kind == "c" else _f.flip(y), mode)


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Any:
    """As numpy.unwrap."""
    x = tensor(p)
    axis = normalize_axis("unwrap", axis, x.ndim)
    step = _steps(x, axis)
    if is_inexact(promoted([x, tensor(period)])):
        half, boundary_ambiguous = period / 2, True
    else:
        half, rest = divmod(period, 2)
        boundary_ambiguous = rest == 0
    wrapped = (step + half) % period - half
    if boundary_ambiguous:
        wrapped = _c.where_(bitwise_and(equal(wrapped, -half), greater(step, 0)), half, wrapped)
    jump = wrapped - step
    jump = _c.where_(less(F.abs(step), half if discont is None else discont), 0, jump)
    return concatenate([_cut(x, axis, 0, 1), _cut(x, axis, 1, None) + _f.cumsum(jump, axis)], axis)


# ---------------------------------------------------------------- polynomials


def polyval(p: Any, x: Any) -> Any:
    """As numpy.polyval."""
    if isinstance(x, np.poly1d):
        raise ArgumentTypeError(f"polyval: x must be numbers, not a polynomial{called_at()}")
    coefficients, x = tensor(p), tensor(x)
    y = zeros_like(x)
    for c in coefficients:
        y = y * x + c
    return tensor(y)


def poly(seq_of_zeros: Any) -> Any:
    """As numpy.poly of a line of roots; the characteristic polynomial of a matrix is refused."""
    roots = not_complex("poly", tensor(seq_of_zeros))
    if roots.ndim > 1:
        raise ShapeError(f"poly: a line of roots is needed, not shape {roots.shape}{called_at()}")
    roots = roots if roots.dtype.kind == "f" and roots.dtype != np.float16 else F.cast(roots, np.float64)
    y = tensor(np.ones(1, roots.dtype))
    for k in range(roots.size):
        y = concatenate([y, zeros_like(y[:1])]) - concatenate([zeros_like(y[:1]), y * _f.reshape(roots, -1)[k]])
    return y


def polyadd(a1: Any, a2: Any) -> Any:
    """As numpy.polyadd."""
    x, y = (_f.reshape(tensor(a), -1) for a in (a1, a2))
    n = max(x.size, y.size)
    x, y = (_f.pad_widths(t, [(n - t.size, 0)]) for t in (x, y))
    return x + y


def polysub(a1: Any, a2: Any) -> Any:
    """As numpy.polysub."""
    return polyadd(a1, -tensor(a2))


def polymul(a1: Any, a2: Any) -> Any:
    """As numpy.polymul."""
    return convolve(a1, a2)


def polyder(p: Any, m: int = 1) -> Any:
    """As numpy.polyder."""
    c = tensor(p)
    c = F.cast(c, np.result_type(c.dtype, np.int64)) if m else c  # NumPy multiplies by integers of 64 bits
    for _ in range(m):
        c = c[:-1] * np.arange(c.size - 1, 0, -1)
    return c


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """As numpy.polyint."""
    c = _inexact(tensor(p))
    constants = _f.reshape(tensor(0.0 if k is None else k), -1)
    constants = broadcast_to(constants, (m,)) if constants.size == 1 else constants
    c = F.cast(c, np.result_type(c.dtype, np.int64)) if m else c
    for i in range(m):
        c = concatenate([c / np.arange(c.size, 0, -1), constants[i : i + 1]])
    return c


def polyfit(x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    """As numpy.polyfit, for the coefficients alone; differentiable in x, y and w."""
    refuse("polyfit", full=full or None, cov=cov or None)
    if not isinstance(deg, (int, np.integer)):
        raise ArgumentTypeError(f"polyfit: deg must be an integer, not {deg!r}{called_at()}")
    x, y = _inexact(tensor(x)), _inexact(tensor(y))
    table = vander(x, int(deg) + 1)
    if w is not None:
        table = table * _f.reshape(tensor(w), (-1, 1))
        y = y * _f.reshape(tensor(w), (-1,) + (1,) * (y.ndim - 1))
    scale = _f.sqrt(_f.sum(table * table, 0))
    rcond = x.size * np.finfo(x.dtype).eps if rcond is None else rcond
    fitted = pinv(table / scale, rcond) @ y
    return fitted / (scale if y.ndim == 1 else _f.reshape(scale, (-1, 1)))


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """As numpy.vander."""
    x = tensor(x)
    if x.ndim != 1:
        raise ShapeError(f"vander: a line is needed, not shape {x.shape}{called_at()}")
    powers = np.arange(x.size if N is None else N)
    column = cast(_f.reshape(x, (-1, 1)), promoted([x, powers]))
    return column ** (powers if increasing else powers[::-1])
