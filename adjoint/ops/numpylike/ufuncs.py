"""What each ufunc of NumPy, and many of scipy.special, means for Tensors."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core import views
from adjoint.core.errors import DtypeError, called_at
from adjoint.core.spec import dtype_of, is_half, is_inexact, number_of
from adjoint.ops import arithmetic as _a
from adjoint.ops import compare as _c
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops import transcendental as _t
from adjoint.ops import trigonometric as _g
from adjoint.ops.language import (
    equal,
    greater,
    less,
    sgn,
    stop_gradient,
)
from adjoint.ops.numpylike import products as _p
from adjoint.ops.numpylike.common import array_of, cast, tensor
from adjoint.ops.numpylike.special_ufuncs import COMPOSED_SPECIAL
from adjoint.ops.publish import SPECIAL, UFUNCS

LN2 = math.log(2.0)


def _positive(x: Any) -> Any:
    return views.own(tensor(x), x)


def _sign(x: Any) -> Any:
    return sgn(x)


def _reciprocal(x: Any) -> Any:
    if not is_inexact(dtype_of(x)):
        raise DtypeError(
            f"numpy.reciprocal: of integers it is 0 but for 1 and -1, and not defined at 0. Write 1.0 / x{called_at()}"
        )
    return _f.reciprocal(x)


def _logaddexp2(x: Any, y: Any) -> Any:
    return _t.logaddexp(x * LN2, y * LN2) / LN2


def _radians(x: Any) -> Any:
    return x * (math.pi / 180)


def _degrees(x: Any) -> Any:
    return x * (180 / math.pi)


def signbit(x: Any) -> Any:
    """Whether the sign is negative, that of -0.0 too."""
    return less(_g.atan2(stop_gradient(x), -1.0), 0)  # atan2 tells -0.0 (-pi) from 0.0 (pi)


def _copysign(x: Any, y: Any) -> Any:
    return _c.where_(signbit(y), -1, 1) * F.abs(x)


def heaviside(x: Any, at_zero: Any) -> Any:
    """0 below 0, 1 above, `at_zero` at 0."""
    step = _c.where_(equal(x, 0), at_zero, _c.where_(greater(x, 0), 1.0, 0.0))
    return _c.where_(_c.isnan(x), np.nan, step)


def _float_power(x: Any, y: Any) -> Any:
    xs = [tensor(x), tensor(y)]
    return _a.pow_(*(cast(v, np.result_type(v.dtype, np.float64)) for v in xs))


def _fmax(x: Any, y: Any) -> Any:
    return _c.where_(_c.isnan(y), x, _c.where_(_c.isnan(x), y, _c.maximum(x, y)))


def _fmin(x: Any, y: Any) -> Any:
    return _c.where_(_c.isnan(y), x, _c.where_(_c.isnan(x), y, _c.minimum(x, y)))


def _modf(x: Any) -> tuple[Any, Any]:
    whole = _c.trunc(x)
    return x - whole, whole


def _divmod(x: Any, y: Any) -> tuple[Any, Any]:
    return _a.floor_div(x, y), _a.mod(x, y)


def _ldexp(x: Any, n: Any) -> Any:
    return x * cast(_f.exp2(cast(tensor(n), np.float64)), tensor(x).dtype)


def _frexp(x: Any) -> tuple[Any, Any]:
    exponent = tensor(np.frexp(array_of(x))[1])
    return _ldexp(x, -exponent), exponent


#: Ufuncs that are composed of several cards.
COMPOSED: dict[np.ufunc, Callable[..., Any]] = {
    np.positive: _positive, np.rint: _c.round_, np.sign: _sign, np.fabs: F.abs, np.square: _f.square, np.reciprocal: _reciprocal,
    np.fmod: _f.fmod, np.hypot: _f.hypot, np.exp2: _f.exp2, np.logaddexp2: _logaddexp2, np.deg2rad: _radians,
    np.radians: _radians, np.rad2deg: _degrees, np.degrees: _degrees, np.signbit: signbit, np.copysign: _copysign,
    np.heaviside: heaviside, np.float_power: _float_power, np.fmax: _fmax, np.fmin: _fmin, np.modf: _modf,
    np.divmod: _divmod, np.ldexp: _ldexp, np.frexp: _frexp, np.isinf: _f.isinf, np.logical_and: _f.logical_and,
    np.logical_or: _f.logical_or, np.logical_xor: _f.logical_xor, np.logical_not: _f.logical_not,
    np.vecdot: _p.vecdot,
}  # fmt: skip
COMPOSED.update({getattr(np, f.__name__): f for f in (_p.matvec, _p.vecmat) if hasattr(np, f.__name__)})  # NumPy 2.2


# ---------------------------------------------------------------- dtypes

_PYTHON = {"i": int, "f": float, "c": complex}


def _dtypes(ufunc: np.ufunc, inputs: tuple) -> tuple[np.dtype, ...]:
    """The dtypes that NumPy computes in, for the inputs and then the results; what it refuses is refused.

    Python numbers give way to arrays, and integers to half precision.
    """
    kinds: list[Any] = [dtype_of(x) for x in inputs]
    half = next((d for d in kinds if is_half(d)), None)
    for i, x in enumerate(inputs):
        if number_of(x) is not None:
            kinds[i] = _PYTHON.get(kinds[i].kind, kinds[i])
        elif half is not None and kinds[i].kind in "biu" and ufunc is not np.ldexp:
            kinds[i] = half
    if not any(isinstance(d, np.dtype) for d in kinds):
        kinds = [dtype_of(x) for x in inputs]
    try:
        return ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout))  # type: ignore[arg-type]
    except TypeError:
        named = " and ".join(str(dtype_of(x)) for x in inputs)
        raise DtypeError(
            f"numpy.{ufunc.__name__}: not defined for {named}; cast the input first{called_at()}"
        ) from None


def _in_dtype(x: Any, dtype: np.dtype) -> Any:
    """An input as the composed function takes it: Python numbers stay, and half precision is rounded at the end alone."""
    if number_of(x) is not None:
        return x
    return cast(tensor(x), np.float32 if is_half(dtype) else dtype)


def _conformed(ufunc: np.ufunc, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is composed of cards, with the dtypes of the ufunc it stands for."""

    def computed(*inputs: Any, **options: Any) -> Any:
        dtypes = _dtypes(ufunc, inputs)
        results = dtypes[ufunc.nin :]
        if all(d.kind == "b" for d in results) and ufunc.signature is None:
            return function(*inputs, **options)
        y = function(*map(_in_dtype, inputs, dtypes), **options)
        if isinstance(y, tuple):
            return tuple(cast(tensor(v), d) for v, d in zip(y, results, strict=True))
        return cast(tensor(y), results[0])

    return computed


@functools.cache
def meaning(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """The function on Tensors that a ufunc stands for; None if there is none."""
    composed = COMPOSED.get(ufunc) or COMPOSED_SPECIAL.get(ufunc.__name__) or SPECIAL.get(ufunc.__name__)
    return UFUNCS.get(ufunc) or (composed and _conformed(ufunc, composed))
