"""NumPy's functions on parts of numbers, comparison, copies and questions about arrays, with its signatures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.core import views
from adjoint.core.errors import ArgumentError, DtypeError, called_at
from adjoint.core.spec import is_inexact
from adjoint.core.tensor import Tensor
from adjoint.ops import compare as _c
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.functional import parts
from adjoint.ops.language import bitwise_and, bitwise_or, equal, not_equal
from adjoint.ops.numpylike.common import array_of, cast, is_known, not_complex, stored, tensor
from adjoint.ops.numpylike.result_orders import k_order


def real(val: Any) -> Any:
    """As numpy.real."""
    return parts.real_part(tensor(val))


def imag(val: Any) -> Any:
    """As numpy.imag."""
    return parts.imaginary_part(tensor(val))


def angle(z: Any, deg: bool = False) -> Any:
    """As numpy.angle."""
    turned = _f.angle(tensor(z))
    return turned * (180 / math.pi) if deg else turned


@k_order
def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """As numpy.round. The derivative is zero."""
    x = tensor(a)
    if x.dtype.kind == "b" and not decimals:
        x = cast(x, np.float16)
    return stored(out, views.own(x, x) if x.dtype.kind in "iu" and decimals >= 0 else _f.round(x, int(decimals)))


around = round


def fix(x: Any, out: Any = None) -> Any:
    """As numpy.fix. The derivative is zero."""
    return stored(out, _f.trunc(tensor(x)))


def sinc(x: Any) -> Any:
    """As numpy.sinc, smooth at 0 to every order."""
    return _f.sinc(tensor(x))


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """As numpy.nan_to_num. The derivative is zero where a number was exchanged."""
    if not copy and isinstance(x, Tensor) and is_inexact(x.dtype):  # NumPy writes into the array itself
        return stored(x, nan_to_num(x, True, nan, posinf, neginf))
    x = tensor(x)
    if not is_inexact(x.dtype):
        return views.own(x, x) if copy else x
    if x.dtype.kind == "c":
        parts = (nan_to_num(part, True, nan, posinf, neginf) for part in (_f.real(x), _f.imag(x)))
        return _f.complex(*parts)
    limits = np.finfo(x.dtype)
    x = _c.where_(_c.isnan(x), nan, x)
    x = _c.where_(equal(x, np.inf), float(limits.max) if posinf is None else posinf, x)
    return _c.where_(equal(x, -np.inf), float(limits.min) if neginf is None else neginf, x)


def real_if_close(a: Any, tol: float = 100) -> Any:
    """As numpy.real_if_close."""
    x = tensor(a)
    if x.dtype.kind != "c":
        return x
    if not is_known(x):
        raise DtypeError(
            f"real_if_close: whether the result is real depends on values that are known only when the graph runs. "
            f"Write np.real(x).{called_at()}"
        )
    limit = tol * np.finfo(x.dtype).eps if tol > 1 else tol
    return _f.real(x) if (np.abs(array_of(x).imag) < limit).all() else x


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """As numpy.astype. A cast to integers ends the gradient."""
    y = cast(tensor(x), dtype)
    y = y if device is None else y.to(device)
    return views.own(y, x) if copy else y


def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """As numpy.apply_along_axis."""
    x = tensor(arr)
    if not -x.ndim <= axis < x.ndim:
        raise ArgumentError(f"apply_along_axis: axis {axis} for {x.ndim} axes{called_at()}")
    axis %= x.ndim
    rest = x.shape[:axis] + x.shape[axis + 1 :]
    lines = _f.reshape(_f.moveaxis(x, axis, -1), (-1, x.shape[axis]))
    results = _f.stack([tensor(func1d(line, *args, **kwargs)) for line in lines])
    results = _f.reshape(results, (*rest, *results.shape[1:]))
    inner = results.ndim - len(rest)
    return _f.moveaxis(results, tuple(range(len(rest), results.ndim)), tuple(range(axis, axis + inner)))


def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    """As numpy.apply_over_axes."""
    x = tensor(a)
    n = x.ndim
    for axis in axes if isinstance(axes, (tuple, list)) else (axes,):
        y = tensor(func(x, axis % n))
        x = y if y.ndim == x.ndim else _f.expand_dims(y, axis % n)
        if x.ndim != n:
            raise ArgumentError(f"apply_over_axes: the function gave an array of {y.ndim} axes from {n}{called_at()}")
    return x


# ---------------------------------------------------------------- comparison


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """As numpy.isclose."""
    x, y = tensor(a), tensor(b)
    with np.errstate(invalid="ignore"):  # inf - inf
        return _f.isclose(x, y if y.dtype.kind in "fc" else F.cast(y, np.float64), rtol, atol, equal_nan)


def _truth(y: Any) -> Any:
    """A truth value as Python has it; in a graph or a batch, where it is not known yet, as a Tensor."""
    return bool(y) if is_known(y) else y


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """As numpy.allclose."""
    return _truth(_f.all(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """As numpy.array_equal."""
    x, y = tensor(a1), tensor(a2)
    if is_known(x) and is_known(y):
        return np.array_equal(array_of(x), array_of(y), equal_nan)
    if x.shape != y.shape:
        return False
    same = equal(x, y)
    if equal_nan:
        same = bitwise_or(same, bitwise_and(_c.isnan(x), _c.isnan(y)))
    return _f.all(same)


def array_equiv(a1: Any, a2: Any) -> Any:
    """As numpy.array_equiv."""
    x, y = tensor(a1), tensor(a2)
    if is_known(x) and is_known(y):
        return np.array_equiv(array_of(x), array_of(y))
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return _f.all(equal(x, y))


def isreal(x: Any) -> Any:
    """As numpy.isreal."""
    return equal(_f.imag(tensor(x)), 0)


def iscomplex(x: Any) -> Any:
    """As numpy.iscomplex."""
    return not_equal(_f.imag(tensor(x)), 0)


def isposinf(x: Any, out: Any = None) -> Any:
    """As numpy.isposinf."""
    return stored(out, equal(not_complex("isposinf", tensor(x)), np.inf))


def isneginf(x: Any, out: Any = None) -> Any:
    """As numpy.isneginf."""
    return stored(out, equal(not_complex("isneginf", tensor(x)), -np.inf))


# ---------------------------------------------------------------- questions


def iscomplexobj(x: Any) -> bool:
    """As numpy.iscomplexobj."""
    return tensor(x).dtype.kind == "c"


def isrealobj(x: Any) -> bool:
    """As numpy.isrealobj."""
    return not iscomplexobj(x)


def shape(a: Any) -> tuple[int, ...]:
    """As numpy.shape."""
    return tensor(a).shape


def ndim(a: Any) -> int:
    """As numpy.ndim."""
    return tensor(a).ndim


def size(a: Any, axis: Any = None) -> int:
    """As numpy.size."""
    x = tensor(a)
    if axis is None:
        return x.size
    return math.prod(x.shape[k] for k in (axis if isinstance(axis, tuple) else (axis,)))


def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """As numpy.result_type."""
    return np.result_type(*(a.dtype if isinstance(a, Tensor) else a for a in arrays_and_dtypes))


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """As numpy.can_cast."""
    return np.can_cast(from_.dtype if isinstance(from_, Tensor) else from_, to, casting)


def common_type(*arrays: Any) -> type:
    """As numpy.common_type."""
    return np.common_type(*(np.empty(0, tensor(a).dtype) for a in arrays))
