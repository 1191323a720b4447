"""The linear algebra extension of the array API standard."""

from __future__ import annotations

from typing import Any

from adjoint.numpy import linalg as _l

cholesky, cross, diagonal, matmul = _l.cholesky, _l.cross, _l.diagonal, _l.matmul
matrix_norm, matrix_transpose, outer, svdvals = _l.matrix_norm, _l.matrix_transpose, _l.outer, _l.svdvals
tensordot, trace, vecdot, vector_norm = _l.tensordot, _l.trace, _l.vecdot, _l.vector_norm


def det(x: Any, /) -> Any:
    """The determinant."""
    return _l.det(x)


def eigh(x: Any, /) -> Any:
    """Eigenvalues and eigenvectors of a symmetric or Hermitian matrix."""
    return _l.eigh(x)


def eigvalsh(x: Any, /) -> Any:
    """Eigenvalues of a symmetric or Hermitian matrix."""
    return _l.eigvalsh(x)


def inv(x: Any, /) -> Any:
    """The inverse."""
    return _l.inv(x)


def matrix_power(x: Any, n: int, /) -> Any:
    """The n-th power of a matrix."""
    return _l.matrix_power(x, n)


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """The rank."""
    return _l.matrix_rank(x, rtol=rtol)


def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    """The pseudo-inverse."""
    return _l.pinv(x, rtol=rtol)


def qr(x: Any, /, *, mode: str = "reduced") -> Any:
    """The factors of the QR decomposition."""
    return _l.qr(x, mode)


def slogdet(x: Any, /) -> Any:
    """Sign and logarithm of the determinant."""
    return _l.slogdet(x)


def solve(x1: Any, x2: Any, /) -> Any:
    """The solution of a linear system."""
    return _l.solve(x1, x2)


def svd(x: Any, /, *, full_matrices: bool = True) -> Any:
    """The singular value decomposition."""
    return _l.svd(x, full_matrices)
