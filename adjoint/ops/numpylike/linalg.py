"""The functions of numpy.linalg, with their signatures."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.card import card
from adjoint.ops.functional import linalg as _l
from adjoint.ops.language import cast, conj, less, permute, real, where
from adjoint.ops.numpylike import movement as _m
from adjoint.ops.numpylike import products as _p
from adjoint.ops.numpylike.common import array_of, is_known, refuse, stored, tensor, tensors
from adjoint.ops.numpylike.movement import matrix_transpose as matrix_transpose
from adjoint.ops.numpylike.products import vecdot as vecdot
from adjoint.ops.spectral import Eigh, EighResult


class LstsqResult(NamedTuple):
    """What `lstsq` returns."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


def inv(a: Any) -> Any:
    """As numpy.linalg.inv."""
    return _l.inv(tensor(a))


def solve(a: Any, b: Any) -> Any:
    """As numpy.linalg.solve."""
    return _l.solve(tensor(a), tensor(b))


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """As numpy.linalg.pinv; `hermitian` changes nothing but NumPy's speed."""
    if rcond is None and rtol is None:
        rcond = 1e-15
    return _l.pinv(tensor(a), rcond, rtol=rtol)


def lstsq(a: Any, b: Any, rcond: Any = None) -> LstsqResult:
    """As numpy.linalg.lstsq; the solution and the residuals are differentiable."""
    a, b = tensor(a), tensor(b)
    if a.ndim != 2 or b.ndim not in (1, 2) or a.shape[0] != b.shape[0]:
        raise ShapeError(f"lstsq: a matrix and right sides are needed, not shapes {a.shape} and {b.shape}{called_at()}")
    m, n = a.shape
    s = _l.svdvals(a)
    limit = np.finfo(s.dtype).eps * (max(m, n) if rcond is None else 1) if rcond is None or rcond == -1 else rcond
    x = F.matmul(_l.pinv(a, limit), b)
    known = is_known(s)
    if not known and n < m:
        raise ShapeError(
            f"lstsq: the shape of the residuals depends on the rank, which is not known in a graph or a batch. Write "
            f"x = pinv(a) @ b, and b - a @ x for what is left over.{called_at()}"
        )
    above = less(limit * _f.max(s), s) if min(m, n) else np.zeros(0)
    rank = np.int32(array_of(above).sum()) if known else _f.sum(cast(above, np.int32), dtype=np.int32)
    off = b - F.matmul(a, x)
    square = real(off * conj(off)) if off.dtype.kind == "c" else off * off
    residuals = _f.sum(_f.reshape(square, (m, -1)), 0) if known and rank == n < m else tensor(np.zeros(0, s.dtype))
    return LstsqResult(x, residuals, tensor(rank), s)


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """As numpy.linalg.tensorsolve."""
    a, b = tensor(a), tensor(b)
    if axes is not None:
        moved = [k % a.ndim for k in axes]
        a = permute(a, (*(k for k in range(a.ndim) if k not in moved), *moved))
    shape = a.shape[b.ndim :]
    return _f.reshape(_l.solve(_f.reshape(a, (-1, prod(shape))), _f.reshape(b, -1)), shape)


def tensorinv(a: Any, ind: int = 2) -> Any:
    """As numpy.linalg.tensorinv."""
    a = tensor(a)
    if ind <= 0:
        raise ArgumentError(f"tensorinv: ind must be positive, not {ind}{called_at()}")
    return _f.reshape(_l.inv(_f.reshape(a, (prod(a.shape[:ind]), -1))), a.shape[ind:] + a.shape[:ind])


def matrix_power(a: Any, n: int) -> Any:
    """As numpy.linalg.matrix_power."""
    return tensor(_l.matrix_power(tensor(a), n))


def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """As numpy.linalg.multi_dot."""
    return stored(out, _l.multi_dot(tensors(arrays)))


# ---------------------------------------------------------------- determinants, norms


def det(a: Any) -> Any:
    """As numpy.linalg.det; the derivative of a singular matrix is right too."""
    return _l.det(tensor(a))


def slogdet(a: Any) -> Any:
    """As numpy.linalg.slogdet."""
    return _l.slogdet(tensor(a))


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """As numpy.linalg.norm. The derivative at 0 is 0."""
    return _l.norm(tensor(x), ord, axis, keepdims)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """As numpy.linalg.vector_norm. The derivative at 0 is 0."""
    return _l.vector_norm(tensor(x), ord, axis, keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """As numpy.linalg.matrix_norm. The derivative at 0 is 0."""
    return _l.matrix_norm(tensor(x), ord, keepdims=keepdims)


def cond(x: Any, p: Any = None) -> Any:
    """As numpy.linalg.cond."""
    return _l.cond(tensor(x), p)


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """As numpy.linalg.matrix_rank; `hermitian` changes nothing but NumPy's speed."""
    x = tensor(A)
    if x.ndim < 2:
        return tensor(int((array_of(x) != 0).any()))
    return _l.matrix_rank(x, tol, rtol)


# ---------------------------------------------------------------- decompositions


def _hermitian(what: str, a: Any, uplo: str) -> Any:
    """The Hermitian matrix that NumPy sees: it reads one triangle, so the derivative lies in that triangle too."""
    x = tensor(a)
    if uplo.upper() not in ("L", "U"):
        raise ArgumentError(f"{what}: UPLO must be 'L' or 'U', not {uplo!r}{called_at()}")
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{what}: square matrices are needed, not shape {x.shape}{called_at()}")
    strict = _f.tril(x, -1) if uplo.upper() == "L" else _f.triu(x, 1)
    turned = _f.swapaxes(conj(strict) if x.dtype.kind == "c" else strict, -1, -2)
    diagonal = np.eye(x.shape[-1], dtype=bool)
    return where(diagonal, real(x) if x.dtype.kind == "c" else x, strict + turned)


def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """As numpy.linalg.cholesky. Only the triangle that NumPy reads has a derivative."""
    return _l.cholesky(_hermitian("cholesky", a, "U" if upper else "L"), upper=upper)


def eigh(a: Any, UPLO: str = "L") -> Any:
    """As numpy.linalg.eigh. Only the triangle that NumPy reads has a derivative."""
    return EighResult(*card(Eigh, UPLO in ("U", "u"))(_hermitian("eigh", a, UPLO)))


def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """As numpy.linalg.eigvalsh. Only the triangle that NumPy reads has a derivative."""
    return _l.eigvalsh(_hermitian("eigvalsh", a, UPLO))


def eig(a: Any) -> Any:
    """As numpy.linalg.eig, for eigenvalues that differ. Where the numbers are not known (in a graph or a batch) the results are complex."""
    return _as_real(tensor(a), *_l.eig(tensor(a)))


def eigvals(a: Any) -> Any:
    """As numpy.linalg.eigvals. Where the numbers are not known (in a graph or a batch) the results are complex."""
    return _as_real(tensor(a), _l.eigvals(tensor(a)))[0]


def _as_real(x: Any, *found: Any) -> Any:
    """NumPy gives real results where the eigenvalues of a real matrix are all real."""
    known = x.dtype.kind != "c" and is_known(found[0])
    are_real = known and not np.any(array_of(F.stop_gradient(found[0])).imag)
    found = tuple(map(real, found)) if are_real else found
    return _l.EigResult(*found) if len(found) == 2 else found


def qr(a: Any, mode: str = "reduced") -> Any:
    """As numpy.linalg.qr, but for the mode 'raw'."""
    return _l.qr(tensor(a), mode)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """As numpy.linalg.svd."""
    refuse("svd", hermitian=hermitian or None)
    return _l.svd(tensor(a), full_matrices, compute_uv)


def svdvals(x: Any, /) -> Any:
    """As numpy.linalg.svdvals."""
    return _l.svdvals(tensor(x))


# ---------------------------------------------------------------- the array API's forms


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """As numpy.linalg.trace: of the last two axes."""
    return _m.trace(x, offset, -2, -1, dtype)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """As numpy.linalg.diagonal: of the last two axes."""
    return _m.diagonal(x, offset, -2, -1)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """As numpy.linalg.cross."""
    return _p.cross(x1, x2, axis=axis)


def outer(x1: Any, x2: Any, /) -> Any:
    """As numpy.linalg.outer."""
    return _p.outer(x1, x2)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """As numpy.linalg.tensordot."""
    return _p.tensordot(x1, x2, axes)


def matmul(x1: Any, x2: Any, /) -> Any:
    """As numpy.linalg.matmul."""
    return F.matmul(tensor(x1), tensor(x2))
