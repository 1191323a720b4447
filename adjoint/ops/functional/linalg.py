"""Linear algebra as NumPy and SciPy name it, for batches of matrices along the last two axes.

Matrices that must be symmetric or Hermitian are made so: `cholesky` and `eigh` read (x + x') / 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.dispatch import Value, located, wrap
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.spec import dtype_of, shape_of
from adjoint.ops.broadcast import ndim
from adjoint.ops.contract import matmul
from adjoint.ops.decompose import cholesky, qr
from adjoint.ops.determinant import det, logdet, slogdet
from adjoint.ops.eigen import EigResult, eig, eigvals, lu
from adjoint.ops.einstein_sum import einsum
from adjoint.ops.functional.norms import cond, matrix_norm, matrix_rank, norm, vector_norm
from adjoint.ops.functional.products import (
    bmm,
    cross,
    dot,
    inner,
    kron,
    mm,
    multi_dot,
    mv,
    outer,
    tensordot,
    trace,
    vdot,
)
from adjoint.ops.linalg import expm, inv, inverse, matrix_exp, solve, solve_triangular
from adjoint.ops.matrix_equations import logm, solve_banded, solve_sylvester, sqrtm
from adjoint.ops.polar_factor import polar_factor as polar_factor
from adjoint.ops.spectral import eigh, eigvalsh, pinv, svd, svdvals
from adjoint.ops.stacking import array

__all__ = [
    "EigResult",
    "bmm", "cholesky", "cond", "cross", "det", "dot", "eig", "eigh", "eigvals", "eigvalsh", "einsum", "expm", "inner",
    "inv", "inverse", "kron", "logdet", "logm", "lu", "matmul", "matrix_exp", "matrix_norm", "matrix_power",
    "matrix_rank", "mm", "multi_dot", "mv", "norm", "outer", "pinv", "qr", "slogdet", "solve", "solve_banded",
    "solve_sylvester", "solve_triangular", "sqrtm", "svd", "svdvals", "tensordot", "trace", "vdot", "vector_norm",
]  # fmt: skip


def matrix_power(input: Any, n: int) -> Any:
    """Square matrices to an integer power; a negative one is a power of the inverse.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.matrix_power([[1.0, 1.0], [0.0, 1.0]], 3))
    [[1. 3.]
     [0. 1.]]
    """
    x, n = array(input), _integer(n)
    if ndim(x) < 2 or shape_of(x)[-1] != shape_of(x)[-2]:
        raise located(ShapeError(f"matrix_power: the last two axes of {shape_of(x)} must exist and be equal"))
    if n == 0:
        ones = np.broadcast_to(np.eye(shape_of(x)[-1], dtype=dtype_of(x)), shape_of(x))
        return wrap(ones) if isinstance(x, Value) else ones
    x = x if n > 0 else inv(x)
    power, n = None, abs(n)
    while True:  # x runs through the squares of squares, of which the bits of n choose
        if n & 1:
            power = x if power is None else matmul(power, x)
        n >>= 1
        if not n:
            return power
        x = matmul(x, x)


def _integer(n: Any) -> int:
    if not isinstance(n, (int, np.integer)):
        raise located(ArgumentError(f"matrix_power: the power must be an integer, not {n!r}"))
    return int(n)
