"""NumPy's reductions and running sums, with its signatures. `where=`, `initial=` and `out=` are differentiable too."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core import views
from adjoint.core.dispatch import Value
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import is_inexact
from adjoint.ops import along_axis
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops import reduce as _r
from adjoint.ops.card import card
from adjoint.ops.compare import maximum as _maximum
from adjoint.ops.compare import minimum as _minimum
from adjoint.ops.language import broadcast_to, conj, not_equal, real, reshape
from adjoint.ops.language import where as _where
from adjoint.ops.numpylike.common import axes_in_order, cast, one_axis, stored, tensor
from adjoint.ops.numpylike.result_orders import k_order


def masked(x: Any, where: Any, fill: Any) -> Any:
    """The elements that do not count exchanged for one that changes nothing."""
    return x if where is True or where is None else _where(tensor(where), x, fill)


def _reduced(kind: Any, x: Any, axis: Any, keepdims: Any) -> Any:
    return card(kind, axes_in_order(kind.__name__.lower(), x, axis), bool(keepdims))(x)


def _widened(x: Any, dtype: Any) -> Any:
    """Sums and products of small integers are taken in int64 or uint64, unless a dtype is given."""
    return cast(x, dtype if dtype is not None else np.zeros(1, x.dtype).sum().dtype if x.dtype.kind in "biu" else None)


def _start(initial: Any, y: Any) -> Any:
    """`initial`, in the dtype of the result."""
    if isinstance(initial, Value):
        return cast(tensor(initial), y.dtype)
    return np.array(int(initial) if y.dtype.kind in "iu" and np.ndim(initial) == 0 else initial, y.dtype)


def _real_numbers(x: Any, dtype: Any) -> Any:
    """What a mean is taken of: integers as float64, since their sum could overflow."""
    return cast(x, np.float64 if dtype is None and x.dtype.kind in "biu" else dtype)


def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """As numpy.sum."""
    y = cast(_reduced(_r.Sum, masked(_widened(tensor(a), dtype), where, 0), axis, keepdims), dtype)
    return stored(out, y if initial is None else y + _start(initial, y))


def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """As numpy.prod; the derivative is exact where factors are 0."""
    x = masked(_widened(tensor(a), dtype), where, 1)
    y = x if axis == () else _f.prod(x, axes_in_order("prod", x, axis), keepdims=bool(keepdims)) if x.ndim else x
    y = cast(y, dtype)
    return stored(out, views.own(y, a) if initial is None else y * _start(initial, y))


def count_of(x: Any, axis: Any, where: Any) -> Any:
    """How many elements each mean is over: a number, or an array that keeps the axes if a mask says which count."""
    axes = axes_in_order("mean", x, axis)
    if where is True or where is None:
        return int(np.prod([x.shape[a] for a in axes], dtype=np.int64)) or np.nan
    chosen = broadcast_to(tensor(where), x.shape)
    return card(_r.Sum, axes, True)(F.cast(chosen, np.int64))


def _divided(total: Any, count: Any) -> Any:
    if isinstance(count, (int, float)):
        return total / count
    dtype = np.zeros(0, total.dtype).real.dtype if is_inexact(total.dtype) else np.float64
    return total / F.cast(reshape(count, total.shape), dtype)


def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    """As numpy.mean."""
    x = _real_numbers(tensor(a), dtype)
    total = _reduced(_r.Sum, masked(x, where, 0), axis, keepdims)
    return stored(out, _divided(total, count_of(x, axis, where)))


def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
    where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """As numpy.var."""
    x = _real_numbers(tensor(a), dtype)
    count = count_of(x, axis, where)
    x = masked(x, where, 0)  # NaN among what does not count would spoil the derivative of the rest
    if mean is None:
        mean = _divided(_reduced(_r.Sum, x, axis, True), count)
    off = x - mean
    square = real(off * conj(off)) if off.dtype.kind == "c" else off * off
    total = _reduced(_r.Sum, masked(square, where, 0), axis, keepdims)
    freedom = count - (ddof if correction is None else correction)
    if isinstance(freedom, (int, float)):
        freedom = freedom if freedom > 0 else np.nan
    return stored(out, _divided(total, freedom))


def std(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
    where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """As numpy.std; the derivative is 0 where all elements are equal."""
    square = var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    return stored(out, _f.safe_sqrt(square))


def _extreme(kind: Any, pick: Any, a: Any, axis: Any, out: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    x = tensor(a)
    if initial is not None:
        initial = _start(initial, x)
    if where is not True and where is not None:
        if initial is None:
            raise ArgumentError(
                f"{kind.__name__.lower()}: where= needs initial=, the result where nothing is chosen{called_at()}"
            )
        x = masked(x, where, initial)
    axes = axes_in_order(kind.__name__.lower(), x, axis)
    if initial is not None and 0 in (x.shape[a] for a in axes):
        shape = (1 if k in axes else n for k, n in enumerate(x.shape) if keepdims or k not in axes)
        return stored(out, broadcast_to(initial, tuple(shape)))
    y = _reduced(kind, x, axis, keepdims) if x.ndim else x
    return stored(out, y if initial is None else pick(y, initial))


def max(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    """As numpy.max; equal elements share the derivative."""
    return _extreme(_r.Max, _maximum, a, axis, out, keepdims, initial, where)


def min(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    """As numpy.min; equal elements share the derivative."""
    return _extreme(_r.Min, _minimum, a, axis, out, keepdims, initial, where)


amax, amin = max, min


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """As numpy.ptp."""
    return stored(out, max(a, axis, None, keepdims) - min(a, axis, None, keepdims))


def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    """As numpy.argmax."""
    return stored(out, _f.argmax(tensor(a), axis, bool(keepdims)))


def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    """As numpy.argmin."""
    return stored(out, _f.argmin(tensor(a), axis, bool(keepdims)))


def any(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    """As numpy.any."""
    return stored(out, _reduced(_r.Any, masked(tensor(a), where, False), axis, keepdims))


def all(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    """As numpy.all."""
    return stored(out, _reduced(_r.All, masked(tensor(a), where, True), axis, keepdims))


def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """As numpy.count_nonzero."""
    return sum(not_equal(tensor(a), 0), axis, keepdims=keepdims)


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """As numpy.cumsum."""
    x, axis = one_axis("cumsum", _widened(tensor(a), dtype), axis)
    return stored(out, cast(card(along_axis.CumSum, axis, False)(x), dtype))


@k_order
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """As numpy.cumprod; the derivative is exact where factors are 0."""
    x, axis = one_axis("cumprod", _widened(tensor(a), dtype), axis)
    return stored(out, cast(_f.cumprod(x, axis), dtype))


def _cumulative(running: Any, first: Any, x: Any, axis: Any, dtype: Any, include_initial: bool) -> Any:
    x = tensor(x)
    if axis is None and x.ndim > 1:
        raise ArgumentError(
            f"cumulative_{running.__name__[3:]}: axis must be given for more than one axis{called_at()}"
        )
    y = running(x, 0 if axis is None else axis, dtype)
    if not include_initial:
        return y
    axis = one_axis("cumulative", y, 0 if axis is None else axis)[1]
    shape = (*y.shape[:axis], 1, *y.shape[axis + 1 :])
    return _f.concat([np.full(shape, first, y.dtype), y], axis)


def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Any:
    """As numpy.cumulative_sum."""
    return stored(out, _cumulative(cumsum, 0, x, axis, dtype, include_initial))


def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Any:
    """As numpy.cumulative_prod."""
    return stored(out, _cumulative(cumprod, 1, x, axis, dtype, include_initial))
