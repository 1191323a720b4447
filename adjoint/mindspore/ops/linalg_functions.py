"""Functions of vectors and matrices, with MindSpore's arguments and results."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from adjoint import ops as _ops
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.spec import normalize_axis
from adjoint.mindspore.ops.promotion import axes, in_float, listed, promoted, static, tensor, to_dtype
from adjoint.ops.numpylike import api as _np


def matmul(input: Any, other: Any) -> Any:
    """The product of matrices, in batches; vectors are rows or columns."""
    return _ops.matmul(*promoted(input, other))


def matrix_product(x: Any, y: Any, transpose_a: bool = False, transpose_b: bool = False) -> Any:
    """The product of matrices, in batches, each of which may be transposed first."""
    a, b = promoted(x, y)
    if a.ndim < 2 or b.ndim < 2:
        raise ShapeError(f"MatMul: matrices are needed, not the shapes {a.shape} and {b.shape}")
    return _ops.matmul(_ops.swapaxes(a, -1, -2) if transpose_a else a, _ops.swapaxes(b, -1, -2) if transpose_b else b)


def bmm(input_x: Any, mat2: Any) -> Any:
    """The product of matrices in batches."""
    return matrix_product(input_x, mat2)


def mm(input: Any, mat2: Any) -> Any:
    """The product of two matrices."""
    return _ops.mm(*promoted(input, mat2))


def dot(input: Any, other: Any) -> Any:
    """The sum of products along the last axis of the first and the last but one of the second."""
    a, b = promoted(input, other)
    return _ops.dot(a, b)


def outer(input: Any, vec2: Any) -> Any:
    """Every element of one vector times every one of the other."""
    a, b = promoted(input, vec2)
    return _ops.expand_dims(a, -1) * _ops.expand_dims(b, -2)


ger = outer


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * mat1 @ mat2."""
    return beta * input + alpha * _ops.matmul(mat1, mat2)


def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * mat @ vec."""
    return beta * input + alpha * _ops.matmul(mat, vec)


def addr(x: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * x + alpha * the outer product of two vectors."""
    return beta * x + alpha * outer(vec1, vec2)


def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * the sum of the products of a batch."""
    return beta * input + alpha * _ops.sum(_ops.matmul(batch1, batch2), 0)


def baddbmm(input: Any, batch1: Any, batch2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * the products of a batch."""
    return beta * input + alpha * _ops.matmul(batch1, batch2)


def tensor_dot(x1: Any, x2: Any, axes: Any) -> Any:
    """Products summed over the axes that are named of each."""
    a, b = promoted(x1, x2)
    return _ops.tensordot(a, b, static(axes))


def batch_dot(x1: Any, x2: Any, axes: Any = None) -> Any:
    """Products summed over one axis of each, for each element of a batch."""
    a, b = promoted(x1, x2)
    if axes is None:
        axes = (a.ndim - 1, b.ndim - 1 if b.ndim == 2 else b.ndim - 2)
    pair = (axes, axes) if isinstance(axes, int) else static(axes)
    first, second = normalize_axis("batch_dot", pair[0], a.ndim), normalize_axis("batch_dot", pair[1], b.ndim)
    left, right = list(builtins.range(a.ndim)), [0, *builtins.range(a.ndim, a.ndim + b.ndim - 1)]
    right[second] = left[first]
    letters = "abcdefghijklmnopqrstuvwxyz"
    kept = [i for i in left if i != left[first]] + [i for k, i in enumerate(right) if k not in (0, second)]
    text = [("".join(letters[i] for i in part)) for part in (left, right, kept)]
    found = _ops.einsum(f"{text[0]},{text[1]}->{text[2]}", a, b)
    return _ops.expand_dims(found, -1) if found.ndim == 1 else found


def vecdot(x: Any, y: Any, *, axis: int = -1) -> Any:
    """The sum of products along an axis, the first conjugated."""
    a, b = promoted(x, y)
    return _ops.sum(_ops.conj(a) * b, axis)


def cross(input: Any, other: Any, dim: Any = None) -> Any:
    """The vector product along an axis of size 3: the first such axis, if none is named."""
    a, b = promoted(input, other)
    if dim is None or dim == -65530:
        dim = next((k for k, n in enumerate(a.shape) if n == 3), None)
        if dim is None:
            raise ArgumentError(f"cross: no axis of the shape {a.shape} has size 3")
    return _ops.cross(a, b, axis=dim)


def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariances of the rows."""
    weights = [None if w is None else tensor(w).asnumpy() for w in (fweights, aweights)]
    found = _np.cov(in_float(input), ddof=correction, fweights=weights[0], aweights=weights[1])
    return to_dtype(found, in_float(input).dtype)


def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbours along an axis."""
    parts = [p for p in (prepend, tensor(x), append) if p is not None]
    joined = _ops.concat(parts, axis) if len(parts) > 1 else parts[0]
    return _np.diff(joined, n, axis)


def dist(input: Any, other: Any, p: float = 2) -> Any:
    """The norm of a difference."""
    a, b = promoted(input, other)
    return _ops.vector_norm(_ops.reshape(a - b, (-1,)), p)


def cdist(x1: Any, x2: Any, p: float = 2.0) -> Any:
    """The distance of each row of one matrix from each row of another, in batches."""
    a, b = promoted(x1, x2)
    return _ops.vector_norm(_ops.expand_dims(a, -2) - _ops.expand_dims(b, -3), p, -1)


def pdist(input: Any, p: float = 2.0) -> Any:
    """The distances of the rows of a matrix from each other."""
    i, j = np.triu_indices(input.shape[-2], 1)
    a, b = (_ops.take(input, k, input.ndim - 2) for k in (i, j))
    return _ops.vector_norm(a - b, p, -1)


def renorm(input: Any, p: Any, axis: int, maxnorm: Any) -> Any:
    """Each slice along an axis scaled down to a norm, if it is longer."""
    axis = normalize_axis("renorm", axis, input.ndim)
    others = tuple(a for a in builtins.range(input.ndim) if a != axis)
    size = _ops.vector_norm(input, p, others, True)
    long = _ops.greater(size, maxnorm)
    return input * _ops.where(long, maxnorm / (_ops.where(long, size, 1) + 1e-7), 1.0)


def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of vectors or matrices, or of all elements."""
    x = to_dtype(in_float(A), dtype)
    if ord is None:
        return _ops.vector_norm(x, 2, axes(dim), keepdim)
    if dim is None and x.ndim not in (1, 2):
        raise ArgumentError(f"norm: of {x.ndim} axes, the norm of order {ord!r} needs dim")
    return _ops.norm(x, ord, static(dim), keepdim)


def vector_norm(x: Any, ord: Any = 2, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Any:
    """The norm of vectors."""
    return _ops.vector_norm(to_dtype(in_float(x), dtype), ord, axes(axis), keepdims)


def matrix_norm(A: Any, ord: Any = "fro", axis: Any = (-2, -1), keepdims: bool = False, *, dtype: Any = None) -> Any:
    """The norm of matrices."""
    return _ops.matrix_norm(to_dtype(in_float(A), dtype), ord, static(axis), keepdims)


def lp_norm(x: Any, axis: Any, p: int = 2, keep_dims: bool = False, epsilon: float = 1e-12) -> Any:
    """The p-norm along axes, at least epsilon."""
    return _ops.maximum(_ops.vector_norm(tensor(x), p, axes(axis), keep_dims), epsilon)


def cond(A: Any, p: Any = None) -> Any:
    """The condition number of a matrix."""
    return _ops.cond(in_float(A), p)


def cholesky(input_x: Any, upper: bool = False) -> Any:
    """The triangular factor of a positive definite matrix."""
    return _ops.cholesky(in_float(input_x), upper=upper)


def cholesky_inverse(input_x: Any, upper: bool = False) -> Any:
    """The inverse of a matrix, from its triangular factor."""
    x = in_float(input_x)
    half = _ops.inv(_ops.triu(x) if upper else _ops.tril(x))
    flipped = _ops.swapaxes(half, -1, -2)
    return _ops.matmul(half, flipped) if upper else _ops.matmul(flipped, half)


def cholesky_solve(input: Any, input2: Any, upper: bool = False) -> Any:
    """The solution of equations with a matrix, from its triangular factor."""
    b, factor = promoted(input, input2)
    lower = _ops.swapaxes(_ops.triu(factor), -1, -2) if upper else _ops.tril(factor)
    return _ops.solve(_ops.matmul(lower, _ops.swapaxes(lower, -1, -2)), b)


def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False) -> Any:
    """The solution of equations with a matrix, or its conjugate transpose."""
    a, b = promoted(matrix, rhs)
    return _ops.solve(_ops.conj(_ops.swapaxes(a, -1, -2)) if adjoint else a, b)


def triangular_solve(a: Any, b: Any, lower: bool = True, adjoint: bool = False) -> Any:
    """The solution of equations with a triangular matrix, or its conjugate transpose."""
    return _ops.solve_triangular(a, b, "C" if adjoint else 0, lower)


def lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> tuple[Any, ...]:
    """The permutation and the triangular factors of a matrix, from what an LU decomposition leaves."""
    x = tensor(LU_data)
    n, m = x.shape[-2:]
    k = builtins.min(n, m)
    unit = _ops.eye(n, k, x.dtype)
    lower = _ops.tril(_ops.slice_axis(x, x.ndim - 1, 0, k), -1) + unit
    upper = _ops.triu(_ops.slice_axis(x, x.ndim - 2, 0, k))
    order = _permutation(tensor(LU_pivots).asnumpy(), n)
    turned = np.swapaxes(np.eye(n, dtype=x.dtype)[order], -1, -2)
    return tensor(turned), lower, upper


def _permutation(pivots: np.ndarray, n: int) -> np.ndarray:
    """The order of rows that exchanges of rows (counted from 1) lead to."""
    order = np.broadcast_to(np.arange(n), (*pivots.shape[:-1], n)).copy()
    for place in np.ndindex(*pivots.shape[:-1]):
        for i, j in enumerate(pivots[place] - 1):
            order[place][[i, j]] = order[place][[j, i]]
    return order


def lu_solve(b: Any, LU_data: Any, LU_pivots: Any) -> Any:
    """The solution of equations with a matrix, from its LU decomposition."""
    p, lower, upper = lu_unpack(LU_data, LU_pivots)
    b = tensor(b)
    column = _ops.expand_dims(b, -1) if b.ndim == tensor(LU_data).ndim - 1 else b
    found = _ops.solve(_ops.matmul(lower, upper), _ops.matmul(_ops.swapaxes(p, -1, -2), column))
    return _ops.squeeze(found, -1) if column is not b else found


def matrix_determinant(input: Any) -> Any:
    """The determinant of square matrices."""
    return _ops.det(in_float(input))


def log_matrix_determinant(input: Any) -> tuple[Any, Any]:
    """The sign of the determinant and the logarithm of its size."""
    sign, size = _ops.slogdet(in_float(input))
    return sign, size


slogdet = log_matrix_determinant


def inverse(input: Any) -> Any:
    """The inverse of square matrices."""
    return _ops.inv(in_float(input))


def pinv(x: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """The pseudo-inverse of matrices."""
    return _ops.pinv(in_float(x), None if rtol is None else static(rtol))


def svd(input: Any, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """The singular values, and the left and the right singular vectors as columns."""
    x = in_float(input)
    if not compute_uv:
        return _ops.svdvals(x)
    u, s, vh = _ops.svd(x, full_matrices)
    return s, u, _ops.conj(_ops.swapaxes(vh, -1, -2))


def qr(input: Any, mode: str = "reduced") -> tuple[Any, Any]:
    """Orthonormal columns and an upper triangle whose product is the matrix."""
    if mode not in ("reduced", "complete"):
        raise ArgumentError(f"qr: mode must be 'reduced' or 'complete', not {mode!r}")
    q, r = _ops.qr(in_float(input), mode)
    return q, r


def adjoint(x: Any) -> Any:
    """The last two axes exchanged, and the conjugate."""
    return _ops.conj(_ops.swapaxes(x, -1, -2))


def vander(x: Any, N: Any = None) -> Any:
    """The powers of a vector as columns, the highest first."""
    return to_dtype(_np.vander(x, N), x.dtype)


def trapz(y: Any, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Any:
    """The integral by the trapezoidal rule."""
    return _np.trapezoid(in_float(y), x, dx, dim)


def einsum(equation: str, *operands: Any) -> Any:
    """Products summed as an equation says."""
    return _ops.einsum(equation, *operands)


def diag(input: Any) -> Any:
    """A diagonal matrix, or the diagonal of one."""
    return _ops.diag(tensor(input))


def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The last axis as the diagonal of two."""
    found = _ops.diag_embed(tensor(input), offset)
    first, second = (normalize_axis("diag_embed", d, found.ndim) for d in (dim1, dim2))
    return _ops.moveaxis(found, (-2, -1), (first, second))


def trace(input: Any) -> Any:
    """The sum of the diagonal of a matrix."""
    return to_dtype(_ops.trace(input), input.dtype)


__all__ = listed(globals())
