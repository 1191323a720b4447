"""NumPy's averages, quantiles, covariances, and its functions that pass over NaN, with its signatures."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError, called_at
from adjoint.core.spec import is_inexact, number_of
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops import reduce as _r
from adjoint.ops.card import card
from adjoint.ops.compare import isnan as _isnan
from adjoint.ops.compare import maximum as _maximum
from adjoint.ops.compare import minimum as _minimum
from adjoint.ops.language import (
    bitwise_and,
    broadcast_to,
    conj,
    equal,
    logical_not,
    moveaxis,
    permute,
    real,
    reshape,
    stop_gradient,
)
from adjoint.ops.language import where as _where
from adjoint.ops.numpylike.common import axes_in_order, cast, not_complex, operand, stored, tensor
from adjoint.ops.numpylike.joining import concatenate
from adjoint.ops.numpylike.reduction import (
    any,
    count_of,
    cumprod,
    cumsum,
    masked,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)
from adjoint.ops.numpylike.result_orders import some_order


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False) -> Any:
    """As numpy.average."""
    x = tensor(a)
    if weights is None:
        y = mean(x, axis, keepdims=keepdims)
        total: Any = tensor(np.full(y.shape, float(count_of(x, axis, True)), y.dtype))
        return (y, total) if returned else y
    w = tensor(weights)
    if w.shape != x.shape:
        axes = axes_in_order("average", x, axis)
        if axis is None or w.shape != tuple(x.shape[a] for a in (axis if isinstance(axis, tuple) else (axis,))):
            raise ArgumentTypeError(
                f"average: weights of shape {w.shape} for an input of shape {x.shape} and axis {axis}{called_at()}"
            )
        order = sorted(range(w.ndim), key=lambda k: (axis if isinstance(axis, tuple) else (axis,))[k] % x.ndim)
        w = permute(w, tuple(order))
        w = reshape(w, tuple(n if k in axes else 1 for k, n in enumerate(x.shape)))
    total = sum(broadcast_to(w, x.shape), axis, keepdims=keepdims)
    y = sum(x * w, axis, keepdims=keepdims) / total
    return (y, cast(total, y.dtype)) if returned else y


def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """As numpy.cov."""
    x = _rows(tensor(m), rowvar)
    if y is not None:
        x = concatenate([x, _rows(tensor(y), rowvar)], 0)
    x = cast(x, dtype if dtype is not None else np.result_type(x.dtype, np.float64))
    given = [tensor(w) for w in (fweights, aweights) if w is not None]
    weights = None if not given else given[0] if len(given) == 1 else given[0] * given[1]
    freedom = (0 if bias else 1) if ddof is None else ddof
    centre = average(x, 1, weights)
    total: Any = x.shape[1] if weights is None else _f.sum(weights)
    if aweights is None or freedom == 0:
        scale = total - freedom
    else:
        scale = total - freedom * _f.sum(weights * tensor(aweights)) / total
    off = x - _f.reshape(centre, (-1, 1))
    other = off if weights is None else off * weights
    other = conj(other) if other.dtype.kind == "c" else other
    return _f.squeeze(off @ _f.swapaxes(other, 0, 1) / scale)


def _rows(x: Any, rowvar: bool) -> Any:
    """One variable a row."""
    if x.ndim > 2:
        raise ShapeError(f"cov: at most two axes, not shape {x.shape}{called_at()}")
    return _f.reshape(x, (1, -1)) if x.ndim < 2 else x if rowvar else _f.swapaxes(x, 0, 1)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """As numpy.corrcoef."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = _f.sqrt(real(_f.diagonal(c)))
    c = c / _f.reshape(deviation, (-1, 1)) / deviation
    return _f.clip(c, -1, 1) if c.dtype.kind != "c" else c


# ---------------------------------------------------------------- order statistics

# Where the q-th part of n sorted elements ends: n*q + alpha + q*(1 - alpha - beta) - 1 (Hyndman and Fan).
_CONTINUOUS = {
    "linear": (1.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0), "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8), "interpolated_inverted_cdf": (0.0, 1.0),
}  # fmt: skip
_ROUNDED = {
    "lower": _f.floor,
    "higher": _f.ceil,
    "nearest": _f.round,
    "midpoint": lambda v: 0.5 * (_f.floor(v) + _f.ceil(v)),
}


def _place(q: Any, count: Any, method: str) -> Any:
    """The fractional place of each q among `count` sorted elements."""
    if method in _CONTINUOUS:
        alpha, beta = _CONTINUOUS[method]
        return count * q + (alpha + q * (1 - alpha - beta)) - 1
    if method in _ROUNDED:
        return _ROUNDED[method]((count - 1) * q)
    if method == "inverted_cdf":
        return _f.ceil(count * q - 1)
    if method == "averaged_inverted_cdf":  # half-way where the distribution function has a step
        place = count * q - 1
        return F.where(F.equal(place, _f.floor(place)), place + 0.5, _f.ceil(place))
    raise ArgumentTypeError(
        f"quantile: method={method!r} has no derivative here; use one of {', '.join([*_CONTINUOUS, *_ROUNDED, 'inverted_cdf', 'averaged_inverted_cdf'])}"
    )


def _quantiles(x: Any, q: Any, weak: bool, axis: Any, keepdims: Any, method: str, ignore_nan: bool) -> Any:
    """Elements at the places `q` of the sorted axes, by linear interpolation; differentiable in x and q.

    A `weak` q, a Python number, leaves the dtype of x as it is.
    """
    if not is_inexact(x.dtype):
        x = F.cast(x, np.float64)
    axes = axes_in_order("quantile", x, axis)
    rest = tuple(k for k in range(x.ndim) if k not in axes)
    kept = tuple(x.shape[k] for k in rest)
    n = int(np.prod([x.shape[k] for k in axes], dtype=np.int64))
    dtype = x.dtype if weak else np.result_type(x.dtype, q.dtype)
    if not n:
        y = tensor(np.full((*q.shape, *kept), np.nan, dtype))
        return _kept(y, x.shape, axes, q.ndim) if keepdims else y
    line = reshape(permute(x, rest + axes), (*kept, n))
    ordered = _f.sort(line, -1)[0]  # NaN comes last
    missing = _isnan(line)
    count: Any = n
    if ignore_nan:
        count = card(_r.Sum, (len(kept),), True)(F.cast(logical_not(missing), np.int64))
    place = _place(reshape(q, (q.size,)), count, method)
    place = _f.clip(place, 0, F.cast(_maximum(count - 1, 0), np.float64) if ignore_nan else n - 1)
    low = stop_gradient(_f.floor(place))
    part = cast(place - low, dtype)
    low = broadcast_to(F.cast(low, np.int64), (*kept, q.size))
    below = _f.take_along_axis(ordered, low, -1)
    above = _f.take_along_axis(ordered, _minimum(low + 1, n - 1), -1)
    # Not below + part * (above - below): infinite neighbours would give NaN.
    y = _where(equal(part, 0), below, below * (1 - part) + above * part)
    if not ignore_nan:
        y = _where(card(_r.Any, (len(kept),), True)(missing), np.nan, y)
    y = reshape(moveaxis(y, len(kept), 0), (*q.shape, *kept))
    return _kept(y, x.shape, axes, q.ndim) if keepdims else y


def _kept(y: Any, shape: tuple[int, ...], axes: tuple[int, ...], lead: int) -> Any:
    return reshape(y, (*y.shape[:lead], *(1 if k in axes else n for k, n in enumerate(shape))))


#: Methods that choose one of the elements.
_OF_ELEMENTS = {"lower", "higher", "nearest", "inverted_cdf", "closest_observation"}


def _quantile_checked(
    what: str, a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: Any, weights: Any, nan: bool
) -> Any:
    if weights is not None:
        raise ArgumentTypeError(f"{what}: the argument weights= is not supported for Tensors{called_at()}")
    weak = number_of(q) is not None
    q = cast(tensor(q), None if is_inexact(tensor(q).dtype) else np.float64)
    if not q.tracked and not ((q.asnumpy() >= 0) & (q.asnumpy() <= 1)).all():
        raise ArgumentError(f"{what}: q must lie in [0, 1] (or [0, 100] for percentiles){called_at()}")
    x = not_complex(what, tensor(a))
    if x.dtype.kind == "b" and method not in _OF_ELEMENTS and "median" not in what:
        raise DtypeError(f"{what}: between truth values there is nothing to interpolate; cast them first{called_at()}")
    y = _quantiles(x, q, weak, axis, keepdims, method, nan)
    return stored(out, cast(y, x.dtype) if method in _OF_ELEMENTS else y)


@some_order
def quantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: Any = False, *, weights: Any = None,
) -> Any:  # fmt: skip
    """As numpy.quantile, differentiable in `q` too; without weights."""
    return _quantile_checked("quantile", a, q, axis, out, method, keepdims, weights, False)


@some_order
def percentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: Any = False, *, weights: Any = None,
) -> Any:  # fmt: skip
    """As numpy.percentile; without weights."""
    return _quantile_checked("percentile", a, operand(q) / 100.0, axis, out, method, keepdims, weights, False)


@some_order
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    """As numpy.median."""
    return _quantile_checked("median", a, 0.5, axis, out, "linear", keepdims, None, False)


@some_order
def nanquantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: Any = False, *, weights: Any = None,
) -> Any:  # fmt: skip
    """As numpy.nanquantile; without weights."""
    return _quantile_checked("nanquantile", a, q, axis, out, method, keepdims, weights, True)


@some_order
def nanpercentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: Any = False, *, weights: Any = None,
) -> Any:  # fmt: skip
    """As numpy.nanpercentile; without weights."""
    return _quantile_checked("nanpercentile", a, operand(q) / 100.0, axis, out, method, keepdims, weights, True)


@some_order
def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    """As numpy.nanmedian."""
    return _quantile_checked("nanmedian", a, 0.5, axis, out, "linear", keepdims, None, True)


# ---------------------------------------------------------------- without NaN


def _present(a: Any, where: Any) -> tuple[Any, Any]:
    """The input, and a mask of the elements that are numbers and chosen."""
    x = tensor(a)
    there = logical_not(_isnan(x))
    return x, there if where is True or where is None else bitwise_and(there, tensor(where))


def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """As numpy.nansum."""
    x, there = _present(a, where)
    return sum(x, axis, dtype, out, keepdims, initial, there)


def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """As numpy.nanprod."""
    x, there = _present(a, where)
    return prod(x, axis, dtype, out, keepdims, initial, there)


def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    """As numpy.nanmean."""
    x, there = _present(a, where)
    return mean(x, axis, dtype, out, keepdims, where=there)


def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
    where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """As numpy.nanvar."""
    x, there = _present(a, where)
    return var(x, axis, dtype, out, ddof, keepdims, where=there, mean=mean, correction=correction)


def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
    where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """As numpy.nanstd."""
    x, there = _present(a, where)
    return std(x, axis, dtype, out, ddof, keepdims, where=there, mean=mean, correction=correction)


def _present_extreme(
    extreme: Any, worst: float, a: Any, axis: Any, out: Any, keepdims: Any, initial: Any, where: Any
) -> Any:
    x, there = _present(a, where)
    if not is_inexact(x.dtype):
        return extreme(x, axis, out, keepdims, initial, where)
    if initial is not None:
        return extreme(x, axis, out, keepdims, initial, there)
    found = any(broadcast_to(there, x.shape), axis, None, keepdims)
    return stored(out, _where(found, extreme(x, axis, None, keepdims, worst, there), np.nan))


def nanmax(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    """As numpy.nanmax."""
    return _present_extreme(max, -np.inf, a, axis, out, keepdims, initial, where)


def nanmin(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    """As numpy.nanmin."""
    return _present_extreme(min, np.inf, a, axis, out, keepdims, initial, where)


def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """As numpy.nancumsum."""
    x, there = _present(a, True)
    return cumsum(masked(x, there, 0), axis, dtype, out)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """As numpy.nancumprod."""
    x, there = _present(a, True)
    return cumprod(masked(x, there, 1), axis, dtype, out)
