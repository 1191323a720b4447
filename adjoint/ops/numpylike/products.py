"""NumPy's products of vectors, matrices and arrays, with its signatures."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from adjoint.core import views
from adjoint.core.dispatch import Value
from adjoint.core.errors import ShapeError, called_at
from adjoint.core.layout import UNKNOWN, layout_of, scaled
from adjoint.ops import functional as _f
from adjoint.ops.functional import products as _p
from adjoint.ops.language import conj, expand_last, expand_row, matmul, squeeze_axis, squeeze_last
from adjoint.ops.numpylike.common import cast, refuse, stored, tensor


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """As numpy.dot."""
    return stored(out, _p.dot(tensor(a), tensor(b)))


def vdot(a: Any, b: Any, /) -> Any:
    """As numpy.vdot."""
    return _p.vdot(tensor(a), tensor(b))


def inner(a: Any, b: Any, /) -> Any:
    """As numpy.inner."""
    return _p.inner(tensor(a), tensor(b))


def outer(a: Any, b: Any, out: Any = None) -> Any:
    """As numpy.outer."""
    return stored(out, _p.outer(tensor(a), tensor(b)))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """As numpy.tensordot."""
    return _p.tensordot(tensor(a), tensor(b), axes)


def kron(a: Any, b: Any) -> Any:
    """As numpy.kron."""
    return _p.kron(tensor(a), tensor(b))


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """As numpy.cross."""
    return _p.cross(tensor(a), tensor(b), axisa, axisb, axisc, axis)


def einsum(*operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any) -> Any:
    """As numpy.einsum."""
    refuse("einsum", **{k: v for k, v in kwargs.items() if (k, v) not in {("casting", "safe"), ("order", "K")}})
    subscripts, *arrays = operands
    if not isinstance(subscripts, str):  # einsum(x, [0, 1], y, [1, 2]): arrays and lists of axes in turn
        paired = len(operands) - len(operands) % 2
        subscripts, *arrays = (tensor(x) if k % 2 == 0 and k < paired else x for k, x in enumerate(operands))
    else:
        arrays = [tensor(x) for x in arrays]
    y = _f.einsum(subscripts, *arrays)
    if out is None and y.ndim > 1 and builtins.sum(isinstance(x, Value) for x in (subscripts, *arrays)) > 1:
        views.settle(y, scaled(layout_of(np.einsum(*map(_small, (subscripts, *arrays)), optimize=optimize)), y.shape))
    return stored(out, y)


def _small(x: Any) -> Any:
    """An array that lies as x does, with two elements along an axis at most."""
    if not isinstance(x, Value):
        return x
    shape = tuple(builtins.min(n, 2) for n in x.shape)
    lies = scaled(views.layout(x), shape)
    return np.zeros(shape) if lies is None or lies is UNKNOWN else np.zeros_like(lies, float)


# ---------------------------------------------------------------- of the last axes


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """As numpy.vecdot: the first vector is conjugated."""
    x, y = (_f.moveaxis(tensor(v), axis, -1) for v in (x1, x2))
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError(f"vecdot: vectors of {x.shape[-1]} and {y.shape[-1]} elements{called_at()}")
    products = (conj(x) if x.dtype.kind == "c" else x) * y
    return cast(_f.sum(products, -1), products.dtype)


def matvec(x1: Any, x2: Any, /) -> Any:
    """As numpy.matvec."""
    return squeeze_last(matmul(_matrix("matvec", x1), expand_last(tensor(x2))))


def vecmat(x1: Any, x2: Any, /) -> Any:
    """As numpy.vecmat: the vector is conjugated."""
    x = tensor(x1)
    row = matmul(expand_row(conj(x) if x.dtype.kind == "c" else x), _matrix("vecmat", x2))
    return squeeze_axis(row, row.ndim - 2)


def _matrix(what: str, x: Any) -> Any:
    x = tensor(x)
    if x.ndim < 2:
        raise ShapeError(f"{what}: shape {x.shape} where a matrix, or a stack of them, is needed{called_at()}")
    return x
