"""Functions of scipy.special that are no ufuncs, for Tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.spec import is_inexact, number_of
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops import transcendental as _t
from adjoint.ops.compare import where_ as where
from adjoint.ops.numpylike import reduction as _r
from adjoint.ops.numpylike.common import axes_in_order, cast, refuse, tensor

__all__ = ["log_softmax", "logsumexp", "softmax", "softplus"]


def floating(x: Any) -> Any:
    """A Tensor of floating-point numbers; integers become float64."""
    x = tensor(x)
    return x if is_inexact(x.dtype) else cast(x, np.float64)


def floating_together(*xs: Any) -> tuple[Any, ...]:
    """Tensors of floating-point numbers: Python numbers take the dtype of the arrays beside them, as NumPy has it."""
    arrays = {k: floating(x) for k, x in enumerate(xs) if number_of(x) is None}
    kind = np.result_type(*(a.dtype for a in arrays.values())) if arrays else np.dtype(np.float64)
    return tuple(arrays[k] if k in arrays else cast(tensor(x), kind) for k, x in enumerate(xs))


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """As scipy.special.logsumexp: the logarithm of the sum of b * exp(a).

    >>> import adjoint as ad
    >>> print(ad.scipy.special.logsumexp([0.0, 0.0], b=[1.0, 3.0]).round(4))
    1.3863
    """
    a, *rest = floating_together(*((a,) if b is None else (a, b)))
    if rest:
        (b,) = rest
        shape = np.broadcast_shapes(a.shape, b.shape)
        a, b = F.broadcast_to(a, shape), F.broadcast_to(b, shape)
        a = where(F.equal(b, 0), -np.inf, a)  # SciPy's: exp(inf) * 0 is 0
    axes = axes_in_order("logsumexp", a, axis)
    at = F.stop_gradient(_r.max(a, axes, keepdims=True)) if a.size else np.full((), -np.inf)
    at = where(_f.isfinite(at), at, 0.0)
    terms = _t.exp(a - at) if b is None else b * _t.exp(a - at)
    total = _r.sum(terms, axes, keepdims=keepdims)
    at = at if keepdims else F.reshape(at, total.shape) if a.size else at
    size = total
    sign = None
    if return_sign:
        sign = F.sgn(F.stop_gradient(total))
        size = F.abs(total)
    elif b is not None:
        size = where(F.less(total, 0), np.nan, total)
    y = _t.log(size) + at
    return (y, sign) if return_sign else y


def softmax(x: Any, axis: Any = None) -> Any:
    """As scipy.special.softmax.

    >>> import adjoint as ad
    >>> print(ad.scipy.special.softmax([0.0, 0.0]))
    [0.5 0.5]
    """
    x = floating(x)
    axes = axes_in_order("softmax", x, axis)
    e = _t.exp(x - F.stop_gradient(_r.max(x, axes, keepdims=True)))
    return e / _r.sum(e, axes, keepdims=True)


def log_softmax(x: Any, axis: Any = None) -> Any:
    """As scipy.special.log_softmax.

    >>> import adjoint as ad
    >>> print(ad.scipy.special.log_softmax([0.0, 0.0]).round(4))
    [-0.6931 -0.6931]
    """
    x = floating(x)
    axes = axes_in_order("log_softmax", x, axis)
    return x - logsumexp(x, axes, keepdims=True)


def softplus(x: Any, **kwargs: Any) -> Any:
    """As scipy.special.softplus: log(1 + exp(x)).

    >>> import adjoint as ad
    >>> print(ad.scipy.special.softplus(0.0).round(4))
    0.6931
    """
    refuse("scipy.special.softplus", **kwargs)
    return _t.softplus(floating(x))
