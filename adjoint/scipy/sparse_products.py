"""Products of SciPy's sparse matrices, which are constants, with Tensors; and systems of them. Nothing is made dense."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentTypeError, CutGradientError, ShapeError, called_at
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.indexing import index_put_add
from adjoint.ops.numpylike.common import array_of, is_traced, refuse, tensor
from adjoint.ops.sparse_solve import solve_sparse


def _elements(matrix: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The stored elements of a sparse matrix, their rows and their columns."""
    if len(matrix.shape) != 2:
        raise ShapeError(
            f"a sparse array of {len(matrix.shape)} axes: products with Tensors need a matrix{called_at()}"
        )
    found = matrix.tocoo()
    rows, columns = found.coords if hasattr(found, "coords") else (found.row, found.col)
    return found.data, np.asarray(rows, np.int64), np.asarray(columns, np.int64)


def product(matrix: Any, x: Any) -> Any:
    """matrix @ x, for a line or a matrix of numbers."""
    x = tensor(x)
    m, n = matrix.shape
    if x.ndim not in (1, 2) or x.shape[0] != n:
        raise ShapeError(
            f"a sparse matrix of shape {matrix.shape} cannot be multiplied by shape {x.shape}{called_at()}"
        )
    data, rows, columns = _elements(matrix)
    dtype = np.result_type(data.dtype, x.dtype)
    x = F.cast(x, dtype) if x.dtype != dtype else x
    weights = data.astype(dtype).reshape((-1,) + (1,) * (x.ndim - 1))
    return index_put_add(np.zeros((m, *x.shape[1:]), dtype), rows, weights * _f.take(x, columns, 0))


def reflected_product(matrix: Any, x: Any) -> Any:
    """x @ matrix."""
    x = tensor(x)
    if x.ndim == 1:
        return product(matrix.T, x)
    if x.ndim != 2:
        raise ShapeError(
            f"shape {x.shape} cannot be multiplied by a sparse matrix of shape {matrix.shape}{called_at()}"
        )
    return _f.swapaxes(product(matrix.T, _f.swapaxes(x, 0, 1)), 0, 1)


def star(matrix: Any, x: Any) -> Any:
    """matrix * x: the product of matrices for SciPy's matrices, of elements for its arrays."""
    if not _is_array(matrix) and tensor(x).ndim:
        return product(matrix, x)
    return _scaled()


def reflected_star(matrix: Any, x: Any) -> Any:
    """x * matrix."""
    return reflected_product(matrix, x) if not _is_array(matrix) and tensor(x).ndim else _scaled()


def _is_array(matrix: Any) -> bool:
    from scipy.sparse import sparray

    return isinstance(matrix, sparray)


def _scaled() -> Any:
    raise CutGradientError(
        f"the elements of a sparse matrix times a Tensor that is being differentiated, batched or compiled: a sparse matrix of SciPy "
        f"cannot hold them. Multiply the result instead, as in c * (A @ x), or use A.toarray().{called_at()}"
    )


def dense_sum(matrix: Any, x: Any) -> Any:
    """matrix + x, which is dense."""
    return matrix.toarray() + tensor(x)


def dense_difference(matrix: Any, x: Any) -> Any:
    """matrix - x, which is dense."""
    return matrix.toarray() - tensor(x)


def dense_reflected_difference(matrix: Any, x: Any) -> Any:
    """x - matrix, which is dense."""
    return tensor(x) - matrix.toarray()


# ---------------------------------------------------------------- systems


def _system(what: str, matrix: Any, b: Any) -> Any:
    from scipy.sparse import coo_array, issparse

    b = tensor(b)
    if is_traced((matrix,), {}):
        raise CutGradientError(
            f"scipy.sparse.linalg.{what}: the matrix must be a constant, and this is a Tensor that is being differentiated, batched or "
            f"compiled. Use scipy.linalg.solve, which differentiates by a dense matrix.{called_at()}"
        )
    if not issparse(matrix):
        if not hasattr(matrix, "__array__"):
            raise ArgumentTypeError(f"{what}: a matrix is needed, not {type(matrix).__name__}{called_at()}")
        matrix = coo_array(array_of(matrix))
    n = matrix.shape[0]
    if matrix.shape != (n, n) or b.ndim not in (1, 2) or b.shape[0] != n:
        raise ShapeError(
            f"{what}: a matrix {matrix.shape} and a right side {b.shape} do not make a system{called_at()}"
        )
    data, rows, columns = _elements(matrix)
    return solve_sparse(data, rows, columns, b)


def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:  # noqa: ARG001
    """As scipy.sparse.linalg.spsolve for a constant matrix and a dense right side."""
    x = _system("spsolve", A, b)
    return _f.reshape(x, (-1,)) if x.ndim == 2 and x.shape[1] == 1 else x  # as SciPy has it: one column is a vector


def _iterative(name: str) -> Any:
    """A solver of SciPy's that iterates: here the system is solved directly, more exactly than its tolerance asks."""

    def solver(
        A: Any,
        b: Any,
        x0: Any = None,  # noqa: ARG001
        *,
        rtol: float = 1e-05,  # noqa: ARG001
        atol: float = 0.0,  # noqa: ARG001
        maxiter: Any = None,  # noqa: ARG001
        M: Any = None,  # noqa: ARG001
        callback: Any = None,
        **options: Any,  # noqa: ARG001
    ) -> Any:
        refuse(f"scipy.sparse.linalg.{name}", callback=callback)
        b = tensor(b)
        if b.ndim == 2 and b.shape[1] != 1:
            raise ShapeError(
                f"{name}: one right side is needed, not shape {b.shape}; spsolve takes several{called_at()}"
            )
        return _system(name, A, _f.reshape(b, (-1,))), 0

    solver.__name__ = solver.__qualname__ = name
    solver.__doc__ = f"As scipy.sparse.linalg.{name} for a constant matrix, solved directly: `x0`, tolerances and `M` change nothing."
    return solver


cg, gmres, bicgstab, bicg, minres = map(_iterative, ("cg", "gmres", "bicgstab", "bicg", "minres"))
