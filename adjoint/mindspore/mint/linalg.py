"""mindspore.mint.linalg."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import ops as engine
from adjoint.mindspore import ops
from adjoint.mindspore.absent import fallback as _fallback
from adjoint.mindspore.mint import functions


def inv(input: Any) -> Any:
    """The inverse of a matrix."""
    return ops.inverse(input)


def norm(x: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of a vector or a matrix."""
    x = x if dtype is None else engine.cast(x, np.dtype(dtype))
    if ord is None:
        return functions.norm(x, 2, dim, keepdim)
    return ops.norm(x, ord, dim, keepdim)


def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of vectors."""
    x = x if dtype is None else engine.cast(x, np.dtype(dtype))
    return functions._vector_norm(x, ord, dim, keepdim)


def matrix_norm(A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of matrices."""
    A = A if dtype is None else engine.cast(A, np.dtype(dtype))
    return ops.norm(A, ord, dim, keepdim)


def qr(A: Any, mode: str = "reduced") -> Any:
    """An orthogonal and a triangular factor."""
    return ops.qr(A, mode)


__getattr__ = _fallback(__name__, "mint.linalg")
