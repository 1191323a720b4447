"""Statistics of samples, as scipy.stats has them: means, moments, correlation, entropy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjoint.core.errors import ArgumentError, called_at
from adjoint.ops import language as F
from adjoint.ops import transcendental as _t
from adjoint.ops.functional import xlogy
from adjoint.ops.language import where
from adjoint.ops.numpylike import reduction as _r
from adjoint.ops.numpylike.common import refuse
from adjoint.ops.numpylike.special_ufuncs import COMPOSED_SPECIAL
from adjoint.scipy.special.exponential_sums import floating
from adjoint.scipy.stats.continuous import beta

__all__ = ["entropy", "gmean", "hmean", "kurtosis", "pearsonr", "sem", "skew", "zscore"]


def _line(what: str, a: Any, axis: Any, nan_policy: str) -> tuple[Any, Any]:
    """The samples and the axis along which they lie; without one they are one sample."""
    refuse(f"scipy.stats.{what}", nan_policy=None if nan_policy == "propagate" else nan_policy)
    a = floating(a)
    if axis is None or a.ndim == 0:
        return F.reshape(a, (a.size,)), 0
    return a, axis


def _mean(a: Any, axis: Any, weights: Any, keepdims: bool, flat: bool) -> Any:
    """The mean along an axis, weighted by what broadcasts to the samples; flat ones (axis=None) have flat weights."""
    if weights is None:
        return _r.mean(a, axis, keepdims=keepdims)
    w = floating(weights)
    if flat:
        w = F.reshape(w, (w.size,))
    if w.ndim > a.ndim or any(m not in (1, n) for m, n in zip(w.shape[::-1], a.shape[::-1], strict=False)):
        raise ArgumentError(f"weights of shape {w.shape} do not broadcast to the sample, {a.shape}{called_at()}")
    w = F.broadcast_to(w, a.shape)
    return _r.sum(w * a, axis, keepdims=keepdims) / _r.sum(w, axis, keepdims=keepdims)


def gmean(
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    weights: Any = None,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """As scipy.stats.gmean: the geometric mean.

    >>> import adjoint as ad
    >>> print(ad.scipy.stats.gmean([1.0, 4.0]))
    2.0
    """
    refuse("scipy.stats.gmean", dtype=dtype)
    flat = axis is None
    a, axis = _line("gmean", a, axis, nan_policy)
    return _t.exp(_mean(_t.log(a), axis, weights, keepdims, flat))


def hmean(
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    *,
    weights: Any = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """As scipy.stats.hmean: the harmonic mean; NaN if there is a negative number.

    >>> import adjoint as ad
    >>> print(ad.scipy.stats.hmean([1.0, 3.0]))
    1.5
    """
    refuse("scipy.stats.hmean", dtype=dtype)
    flat = axis is None
    a, axis = _line("hmean", a, axis, nan_policy)
    a = a * where(F.less(a, 0), np.nan, 1.0)
    return F.div(1.0, _mean(F.div(1.0, a), axis, weights, keepdims, flat))


def _centred(a: Any, axis: Any) -> Any:
    return a - _r.mean(a, axis, keepdims=True)


def zscore(a: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """As scipy.stats.zscore: each sample less the mean, in standard deviations.

    >>> import adjoint as ad
    >>> print(ad.scipy.stats.zscore([1.0, 3.0]))
    [-1.  1.]
    """
    shape = floating(a).shape
    a, axis = _line("zscore", a, axis, nan_policy)
    away = _centred(a, axis)
    return F.reshape(away / _t.sqrt(_r.sum(away * away, axis, keepdims=True) / (a.shape[axis] - ddof)), shape)


def sem(a: Any, axis: Any = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    """As scipy.stats.sem: the standard error of the mean.

    >>> import adjoint as ad
    >>> print(ad.scipy.stats.sem([1.0, 3.0]))
    1.0
    """
    a, axis = _line("sem", a, axis, nan_policy)
    away, count = _centred(a, axis), a.shape[axis]
    return _t.sqrt(_r.sum(away * away, axis, keepdims=keepdims) / (count - ddof)) / float(np.sqrt(count))


def _standard_moment(a: Any, axis: Any, order: int, keepdims: bool) -> Any:
    away = _centred(a, axis)
    square = away * away
    second = _r.mean(square, axis, keepdims=keepdims)
    power = _r.mean(square * away if order == 3 else square * square, axis, keepdims=keepdims)
    return power / (second * _t.sqrt(second) if order == 3 else second * second)


def skew(a: Any, axis: Any = 0, bias: bool = True, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    """As scipy.stats.skew: the third standardised moment.

    >>> import adjoint as ad
    >>> print(ad.scipy.stats.skew([1.0, 2.0, 3.0]))
    0.0
    """
    a, axis = _line("skew", a, axis, nan_policy)
    n = a.shape[axis]
    y = _standard_moment(a, axis, 3, keepdims)
    return y if bias or n < 3 else float(np.sqrt((n - 1.0) * n) / (n - 2.0)) * y


def kurtosis(
    a: Any,
    axis: Any = 0,
    fisher: bool = True,
    bias: bool = True,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    """As scipy.stats.kurtosis: the fourth standardised moment, less 3 if it is Fisher's.

    >>> import adjoint as ad
    >>> print(ad.scipy.stats.kurtosis([1.0, 3.0], fisher=False))
    1.0
    """
    a, axis = _line("kurtosis", a, axis, nan_policy)
    n = a.shape[axis]
    y = _standard_moment(a, axis, 4, keepdims)
    if not bias and n > 3:
        y = ((n * n - 1.0) * y - 3.0 * (n - 1.0) ** 2) / ((n - 2.0) * (n - 3.0)) + 3.0
    return y - 3.0 if fisher else y


def entropy(
    pk: Any, qk: Any = None, base: Any = None, axis: Any = 0, *, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    """As scipy.stats.entropy: of a distribution, or relative to another; both are made to sum to 1.

    >>> import adjoint as ad
    >>> print(ad.scipy.stats.entropy([1.0, 1.0], base=2))
    1.0
    """
    pk, axis = _line("entropy", pk, axis, nan_policy)
    p = pk / _r.sum(pk, axis, keepdims=True)
    if qk is None:
        terms = -xlogy(p, where(F.equal(p, 0), 1.0, p))
        terms = where(F.less(p, 0), -np.inf, terms)
    else:
        q = _line("entropy", qk, axis, nan_policy)[0]
        terms = COMPOSED_SPECIAL["rel_entr"](p, q / _r.sum(q, axis, keepdims=True))
    y = _r.sum(terms, axis, keepdims=keepdims)
    return y if base is None else F.div(y, _t.log(base))


class PearsonCorrelation(NamedTuple):
    """What `pearsonr` gives."""

    statistic: Any
    pvalue: Any


def pearsonr(
    x: Any, y: Any, *, alternative: str = "two-sided", method: Any = None, axis: Any = 0
) -> PearsonCorrelation:
    """As scipy.stats.pearsonr: the correlation of two samples, and how likely it is by chance.

    >>> import adjoint as ad
    >>> print(ad.scipy.stats.pearsonr([1.0, 2.0, 3.0], [1.0, 2.0, 2.0]).statistic.round(4))
    0.866
    """
    refuse("scipy.stats.pearsonr", method=method, alternative=None if alternative == "two-sided" else alternative)
    (x, axis), y = _line("pearsonr", x, axis, "propagate"), _line("pearsonr", y, axis, "propagate")[0]
    dx, dy = _centred(x, axis), _centred(y, axis)
    scale = _t.sqrt(_r.sum(dx * dx, axis)) * _t.sqrt(_r.sum(dy * dy, axis))
    r = _r.sum(dx * dy, axis) / scale
    half = 0.5 * x.shape[axis] - 1.0
    if half <= 0:
        return PearsonCorrelation(r, 1.0 + 0.0 * r)
    return PearsonCorrelation(r, 2.0 * beta.sf(F.abs(r), half, half, loc=-1.0, scale=2.0))
