"""Decompositions that have no derivative here, and what is computed from them; least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import ops as _ops
from adjoint.core.errors import NoRuleError
from adjoint.mindspore.ops.promotion import in_float, listed, promoted, tensor


def _values(what: str, x: Any) -> np.ndarray:
    """The values of a Tensor that nothing differentiates."""
    x = in_float(x)
    if getattr(x, "tracked", False):
        raise NoRuleError(what, "vjp or jvp", "Wrap the input in stop_gradient.")
    return x.asnumpy()


def eig(A: Any) -> tuple[Any, Any]:
    """The eigenvalues and eigenvectors of square matrices, complex; without a derivative."""
    x = _values("eig", A)
    found = np.linalg.eig(x)
    kind = np.result_type(x.dtype, np.complex64)
    return tensor(found.eigenvalues.astype(kind)), tensor(found.eigenvectors.astype(kind))


def eigvals(A: Any) -> Any:
    """The eigenvalues of square matrices, complex; without a derivative."""
    return eig(A)[0]


def geqrf(input: Any) -> tuple[Any, Any]:
    """A QR decomposition as LAPACK leaves it: reflectors below the diagonal, and their scales; without a derivative."""
    x = _values("geqrf", input)
    from scipy.linalg import lapack

    (function,) = lapack.get_lapack_funcs(("geqrf",), (x,))
    pairs = [function(m)[:2] for m in x.reshape(-1, *x.shape[-2:])]
    packed = np.stack([p for p, _ in pairs]).reshape(x.shape)
    return tensor(packed), tensor(np.stack([t for _, t in pairs]).reshape(*x.shape[:-2], -1))


def orgqr(input: Any, input2: Any) -> Any:
    """The orthonormal columns that reflectors with these scales make."""
    x, tau = promoted(input, input2)
    return _ops.slice_axis(_reflected(x, tau, x.shape[-2]), x.ndim - 1, 0, x.shape[-1])


def _reflected(x: Any, tau: Any, n: int) -> Any:
    """The product of the reflections 1 - tau v v^T, whose vectors are the columns of x below the diagonal."""
    product = _ops.broadcast_to(_ops.eye(n, None, x.dtype), (*x.shape[:-2], n, n))
    for k in range(tau.shape[-1]):
        column = _ops.slice_axis(x, x.ndim - 1, k, k + 1)
        unit = (np.arange(n) == k).astype(x.dtype)[:, None]
        v = _ops.where((np.arange(n) > k)[:, None], column, 0) + unit
        scale = _ops.reshape(_ops.slice_axis(tau, tau.ndim - 1, k, k + 1), (*tau.shape[:-1], 1, 1))
        product = product - scale * _ops.matmul(_ops.matmul(product, v), _ops.swapaxes(v, -1, -2))
    return product


def ormqr(input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    """A matrix times the orthogonal matrix that reflectors with these scales make, on one side or the other."""
    x, tau = promoted(input, tau)
    q = _reflected(x, tau, x.shape[-2])
    q = _ops.swapaxes(q, -1, -2) if transpose else q
    return _ops.matmul(q, other) if left else _ops.matmul(other, q)


def lstsq(input: Any, A: Any) -> Any:
    """The solution of equations in the sense of least squares."""
    x, b = promoted(in_float(input), in_float(A))
    column = _ops.expand_dims(b, -1) if b.ndim == x.ndim - 1 else b
    found = _ops.matmul(_ops.pinv(x), column)
    return found


__all__ = listed(globals())
