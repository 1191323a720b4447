"""Primitives of vectors and matrices."""

from __future__ import annotations

from typing import Any

from adjoint import ops
from adjoint.mindspore.absent import elsewhere as _elsewhere
from adjoint.mindspore.ops import decomposition_functions as _d
from adjoint.mindspore.ops import linalg_functions as _f
from adjoint.mindspore.ops.operations.math_ops import plain
from adjoint.mindspore.ops.primitive import primitive
from adjoint.mindspore.ops.promotion import in_float, tensor


def _of_matrices(self: Any, x: Any, y: Any) -> Any:
    if len(x.shape) != 2 or len(y.shape) != 2:
        raise ValueError(f"For 'MatMul', both inputs must have 2 axes, but got the shapes {x.shape} and {y.shape}.")
    return _f.matrix_product(x, y, self.transpose_a, self.transpose_b)


MatMul = primitive(
    "MatMul",
    _of_matrices,
    transpose_a=False,
    transpose_b=False,
)
BatchMatMul = primitive(
    "BatchMatMul",
    lambda self, x, y: _f.matrix_product(x, y, self.transpose_a, self.transpose_b),
    transpose_a=False,
    transpose_b=False,
)
Einsum = primitive("Einsum", lambda self, inputs: ops.einsum(self.equation, *inputs), equation=...)
Ger = plain("Ger", _f.ger)
Cross = primitive("Cross", lambda self, x, y: _f.cross(x, y, self.dim), dim=-65530)
Cdist = primitive("Cdist", lambda self, x, y: _f.cdist(x, y, self.p), p=2.0)
Pdist = primitive("Pdist", lambda self, x: _f.pdist(x, self.p), p=2.0)
Trace = plain("Trace", _f.trace)
Diag = plain("Diag", lambda x: _diagonal_tensor(tensor(x)))
Tril = primitive("Tril", lambda self, x: ops.tril(x, self.diagonal), diagonal=0)
Triu = primitive("Triu", lambda self, x: ops.triu(x, self.diagonal), diagonal=0)


def _diagonal_tensor(x: Any) -> Any:
    """A Tensor with twice the axes, and x on its diagonal."""
    return ops.reshape(ops.diag(ops.reshape(x, (-1,))), (*x.shape, *x.shape))


def _diagonal_part(x: Any) -> Any:
    """What lies on the diagonal of a Tensor, between the first and the second half of its axes."""
    half = tuple(x.shape[: x.ndim // 2])
    n = 1
    for size in half:
        n *= size
    return ops.reshape(ops.diagonal(ops.reshape(x, (n, n))), half)


DiagPart = plain("DiagPart", _diagonal_part)
MatrixInverse = primitive(
    "MatrixInverse", lambda self, x: _f.adjoint(_f.inverse(x)) if self.adjoint else _f.inverse(x), adjoint=False
)
MatrixDeterminant = plain("MatrixDeterminant", _f.matrix_determinant)
LogMatrixDeterminant = plain("LogMatrixDeterminant", _f.log_matrix_determinant)
MatrixExp = plain("MatrixExp", lambda x: ops.matrix_exp(in_float(x)))
MatrixPower = primitive("MatrixPower", lambda self, x: ops.matrix_power(x, self.n), n=...)
MatrixSolve = primitive("MatrixSolve", lambda self, a, b: _f.matrix_solve(a, b, self.adjoint), adjoint=False)
MatrixTriangularSolve = primitive(
    "MatrixTriangularSolve",
    lambda self, a, b: _f.triangular_solve(a, b, self.lower, self.adjoint),
    lower=True,
    adjoint=False,
)
Cholesky = primitive("Cholesky", lambda self, x: _f.cholesky(x, self.upper), upper=False)
CholeskyInverse = primitive("CholeskyInverse", lambda self, x: _f.cholesky_inverse(x, self.upper), upper=False)
CholeskySolve = primitive("CholeskySolve", lambda self, b, x: _f.cholesky_solve(b, x, self.upper), upper=False)
LuSolve = plain("LuSolve", _f.lu_solve)
LuUnpack = primitive(
    "LuUnpack",
    lambda self, x, pivots: _f.lu_unpack(x, pivots, self.unpack_data, self.unpack_pivots),
    unpack_data=True,
    unpack_pivots=True,
)
Qr = primitive("Qr", lambda self, x: _f.qr(x, "complete" if self.full_matrices else "reduced"), full_matrices=False)


def _svd(self: Any, x: Any) -> Any:
    if self.compute_uv:
        return _f.svd(x, self.full_matrices)
    return _f.svd(x, compute_uv=False), ops.zeros((1,), x.dtype), ops.zeros((1,), x.dtype)


Svd = primitive("Svd", _svd, full_matrices=False, compute_uv=True)


def _tridiagonal(superdiag: Any, maindiag: Any, subdiag: Any, rhs: Any) -> Any:
    """The product of a tridiagonal matrix, given by its diagonals, and another."""
    n = rhs.shape[-2]
    upper, main, lower = (ops.swapaxes(d, -1, -2) for d in (superdiag, maindiag, subdiag))
    zero = ops.zeros_like(ops.slice_axis(rhs, rhs.ndim - 2, 0, 1))
    above = ops.concat([ops.slice_axis(rhs, rhs.ndim - 2, 1, n), zero], -2)
    below = ops.concat([zero, ops.slice_axis(rhs, rhs.ndim - 2, 0, n - 1)], -2)
    return upper * above + main * rhs + lower * below


TridiagonalMatMul = plain("TridiagonalMatMul", _tridiagonal)
NuclearNorm = primitive(
    "NuclearNorm",
    lambda self, x: ops.matrix_norm(x, "nuc", (-2, -1) if self.dim is None else tuple(self.dim), self.keepdim),
    dim=None,
    keepdim=False,
)

Eig = primitive(
    "Eig",
    lambda self, x: _d.eig(x) if self.compute_v else (_d.eigvals(x), ops.zeros((1,), "complex64")),
    compute_v=False,
)
Geqrf = plain("Geqrf", _d.geqrf)
Orgqr = plain("Orgqr", _d.orgqr)
Ormqr = primitive(
    "Ormqr", lambda self, x, tau, other: _d.ormqr(x, tau, other, self.left, self.transpose), left=True, transpose=False
)
Lstsq = primitive("Lstsq", lambda self, x, a: _d.lstsq(x, a), fast=True, l2_regularizer=0.0)

__all__ = [name for name, value in globals().items() if getattr(value, "__module__", "") == "mindspore.ops.operations"]

__getattr__ = _elsewhere(__name__, "adjoint.mindspore.ops.operations")
