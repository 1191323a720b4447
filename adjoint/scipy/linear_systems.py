"""scipy.linalg for Tensors. What is about memory and checks (`overwrite_a`, `check_finite`, `lapack_driver`) changes nothing here."""
# ruff: noqa: ARG001  (arguments of SciPy that are about memory, speed and checks)

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, called_at
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.eigen import row_order, with_exchanges
from adjoint.ops.functional import linalg as _l
from adjoint.ops.linalg import adjoint as _adjoint
from adjoint.ops.linalg import triangle as _triangle
from adjoint.ops.matrix_equations import solve_banded_system
from adjoint.ops.numpylike import linalg as _nl
from adjoint.ops.numpylike.common import is_known, refuse, tensor


def _transposed(x: Any) -> Any:
    return _f.swapaxes(x, -1, -2)


def _one_triangle(what: str, a: Any, lower: bool) -> Any:
    """The Hermitian matrix of which LAPACK reads one triangle: the derivative lies there too."""
    return _nl._hermitian(what, a, "L" if lower else "U")


# ---------------------------------------------------------------- systems

_GENERAL = {None, "gen", "general", "banded", "tridiagonal", "diagonal"}


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: Any = None,
    transposed: bool = False,
) -> Any:
    """As scipy.linalg.solve. Only the part of `a` that `assume_a` makes SciPy read has a derivative."""
    a, b = tensor(a), tensor(b)
    if assume_a in ("upper triangular", "lower triangular"):
        return solve_triangular(a, b, int(bool(transposed)), assume_a == "lower triangular")
    if assume_a in ("pos", "positive definite"):  # by its factor, which only a positive definite matrix has
        a = _one_triangle("solve", a, lower)
        factor = _l.cholesky(_transposed(a) if transposed else a)
        return (
            F.squeeze_last(cho_solve((factor, True), F.expand_last(b))) if b.ndim == 1 else cho_solve((factor, True), b)
        )
    if assume_a in ("her", "hermitian") or (assume_a in ("sym", "symmetric") and a.dtype.kind != "c"):
        a = _one_triangle("solve", a, lower)
    elif assume_a in ("sym", "symmetric"):
        strict = _f.tril(a, -1) if lower else _f.triu(a, 1)
        a = F.where(np.eye(a.shape[-1], dtype=bool), a, strict + _transposed(strict))
    elif assume_a == "diagonal":
        a = F.where(np.eye(a.shape[-1], dtype=bool), a, 0)
    elif assume_a == "tridiagonal":
        n = a.shape[-1]
        a = F.where(np.tri(n, n, 1, dtype=bool) & np.tri(n, n, 1, dtype=bool).T, a, 0)
    elif assume_a not in _GENERAL:
        raise ArgumentError(f"solve: assume_a={assume_a!r} is not one of SciPy's structures{called_at()}")
    return _l.solve(_transposed(a) if transposed else a, b)


def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """As scipy.linalg.solve_triangular."""
    return _l.solve_triangular(tensor(a), tensor(b), trans, lower, unit_diagonal)


def solve_banded(
    l_and_u: Any, ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """As scipy.linalg.solve_banded."""
    return _l.solve_banded(l_and_u, tensor(ab), tensor(b))


def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    """As scipy.linalg.solveh_banded."""
    ab, b = tensor(ab), tensor(b)
    width, n = ab.shape[0] - 1, ab.shape[1]
    rows = [ab[width - k] if not lower else ab[k] for k in range(width + 1)]  # by distance from the diagonal
    zero = [np.zeros(min(k, n), ab.dtype) for k in range(width + 1)]
    given, others = [], []
    for k in range(1, width + 1):
        if lower:  # row k holds a[j + k, j]; above the diagonal a[j - k, j] is its conjugate, k columns further on
            inner = rows[k][: n - k]
            others.append(_f.concat([zero[k], F.conj(inner) if ab.dtype.kind == "c" else inner], 0))
        else:
            inner = rows[k][k:]
            others.append(_f.concat([F.conj(inner) if ab.dtype.kind == "c" else inner, zero[k]], 0))
        given.append(rows[k])
    above, below = (others, given) if lower else (given, others)
    main = rows[0] if ab.dtype.kind != "c" else F.real(rows[0]) + 0j
    return solve_banded_system((width, width), _f.stack([*above[::-1], main, *below], 0), b, definite=True)


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """As scipy.linalg.cho_factor: the other triangle keeps the elements of `a`, and no derivative."""
    a = tensor(a)
    factor = cholesky(a, lower)
    rest = F.stop_gradient(_triangle(F.cast(a, factor.dtype) if a.dtype != factor.dtype else a, not lower, strict=True))
    return factor + rest, lower


def cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """As scipy.linalg.cho_solve."""
    c, lower = c_and_lower
    c, b = tensor(c), tensor(b)
    first, second = (0, 2) if lower else (2, 0)
    return _l.solve_triangular(c, _l.solve_triangular(c, b, first, bool(lower)), second, bool(lower))


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """As scipy.linalg.lu_factor; the row exchanges are held still by the derivative."""
    a = tensor(a)
    l, u, exchanges = with_exchanges(a)
    m, n = a.shape[-2:]
    if m < n:
        l = _f.concat([l, np.zeros((*l.shape[:-1], n - m), l.dtype)], -1)
    elif m > n:
        u = _f.concat([u, np.zeros((*u.shape[:-2], m - n, n), u.dtype)], -2)
    return _triangle(l, True, strict=True) + u, exchanges


def lu_solve(lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """As scipy.linalg.lu_solve."""
    both, exchanges = lu_and_piv
    both, exchanges, b = tensor(both), tensor(exchanges), tensor(b)
    if trans not in (0, 1, 2):
        raise ArgumentError(f"lu_solve: trans must be 0, 1 or 2, not {trans!r}{called_at()}")
    line = b.ndim == 1
    right = F.expand_last(b) if line else b
    order = row_order(exchanges, both.shape[-1])
    if trans == 0:
        right = _l.solve_triangular(both, _rows(right, order), 0, True, True)
        y = _l.solve_triangular(both, right, 0, False)
    else:
        right = _l.solve_triangular(both, right, trans, False)
        y = _rows(_l.solve_triangular(both, right, trans, True, True), _f.argsort(order, -1))
    return F.squeeze_last(y) if line else y


def _rows(x: Any, order: Any) -> Any:
    """The rows of matrices in another order."""
    lead = np.broadcast_shapes(order.shape[:-1], x.shape[:-2])
    x = _f.broadcast_to(x, (*lead, *x.shape[-2:]))
    order = _f.broadcast_to(F.expand_last(order), (*lead, order.shape[-1], x.shape[-1]))
    return _f.take_along_axis(x, order, x.ndim - 2)


def lstsq(
    a: Any,
    b: Any,
    cond: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: Any = None,
) -> Any:
    """As scipy.linalg.lstsq; the solution and the residuals are differentiable."""
    x, residuals, rank, s = _nl.lstsq(a, b, -1 if cond is None else cond)
    if tensor(b).ndim == 1 and residuals.shape == (1,):
        residuals = residuals[0]
    return x, residuals, rank, s


def inv(
    a: Any, overwrite_a: bool = False, check_finite: bool = True, *, assume_a: Any = None, lower: bool = False
) -> Any:
    """As scipy.linalg.inv."""
    a = tensor(a)
    if assume_a not in (None, "gen", "general"):
        identity = np.eye(a.shape[-1], dtype=a.dtype if a.dtype.kind in "fc" else None)
        return solve(a, identity, lower, assume_a=assume_a)
    return _l.inv(a)


def pinv(a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: bool = True) -> Any:
    """As scipy.linalg.pinv, but for `atol`."""
    refuse("scipy.linalg.pinv", atol=atol or None)
    a = tensor(a)
    y = _l.pinv(a, rtol)
    return (y, _l.matrix_rank(a, None, rtol)) if return_rank else y


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """As scipy.linalg.det."""
    return _l.det(tensor(a))


def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    """As scipy.linalg.norm. The derivative at 0 is 0."""
    return _l.norm(tensor(a), ord, axis, keepdims)


# ---------------------------------------------------------------- factors


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """As scipy.linalg.cholesky. Only the triangle that SciPy reads has a derivative."""
    return _l.cholesky(_one_triangle("cholesky", a, lower), upper=not lower)


def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> Any:
    """As scipy.linalg.lu; the order of the rows is held still by the derivative."""
    a = tensor(a)
    if p_indices and not permute_l:
        l, u, exchanges = with_exchanges(a)
        return _f.argsort(row_order(exchanges, a.shape[-2]), -1), l, u
    p, l, u = _l.lu(a)
    return (F.matmul(p, l), u) if permute_l else (p, l, u)


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """As scipy.linalg.qr, without pivoting and the mode 'raw'."""
    modes = {"full": "complete", "economic": "reduced", "r": "complete"}
    if mode not in modes:
        raise ArgumentError(f"qr: mode must be 'full', 'r' or 'economic' for Tensors, not {mode!r}{called_at()}")
    refuse("scipy.linalg.qr", pivoting=pivoting or None)
    q, r = _l.qr(tensor(a), modes[mode])
    return (r,) if mode == "r" else (q, r)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """As scipy.linalg.svd."""
    found = _l.svd(tensor(a), full_matrices, compute_uv)
    return tuple(found) if compute_uv else found


def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """As scipy.linalg.svdvals."""
    return _l.svdvals(tensor(a))


# ---------------------------------------------------------------- eigenvalues


def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Any:
    """As scipy.linalg.eigh, but for `subset_by_value`, whose number of results depends on the numbers."""
    refuse("scipy.linalg.eigh", subset_by_value=subset_by_value)
    x, factor = _one_triangle("eigh", a, lower), None
    if b is not None:
        # b = L L', and the problem is that of L^-1 a L^-1' (or of L' a L).
        factor = _l.cholesky(_one_triangle("eigh", b, lower))
        if type == 1:
            half = _l.solve_triangular(factor, x, 0, True)
            x = _adjoint(_l.solve_triangular(factor, _adjoint(half), 0, True))
        elif type in (2, 3):
            x = F.matmul(F.matmul(_adjoint(factor), x), factor)
        else:
            raise ArgumentError(f"eigh: type must be 1, 2 or 3, not {type!r}{called_at()}")
    first, last = (0, x.shape[-1] - 1) if subset_by_index is None else map(int, subset_by_index)
    if eigvals_only:
        return _l.eigvalsh(x)[..., first : last + 1]
    w, v = _l.eigh(x)
    if factor is not None:
        v = F.matmul(factor, v) if type == 3 else _l.solve_triangular(factor, v, 2, True)
    return w[..., first : last + 1], v[..., first : last + 1]


def eigvalsh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Any:
    """As scipy.linalg.eigvalsh, but for `subset_by_value`."""
    return eigh(
        a,
        b,
        lower=lower,
        eigvals_only=True,
        type=type,
        subset_by_index=subset_by_index,
        subset_by_value=subset_by_value,
    )


def eig(
    a: Any,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """As scipy.linalg.eig, without left eigenvectors: those are the right ones of a.conj().T."""
    refuse("scipy.linalg.eig", left=left or None, homogeneous_eigvals=homogeneous_eigvals or None)
    x = tensor(a) if b is None else _l.solve(tensor(b), tensor(a))
    w, v = _l.eig(x)
    if not right:
        return w
    if x.dtype.kind != "c" and is_known(w) and not np.any(F.stop_gradient(w).asnumpy().imag):
        v = F.real(v)  # as SciPy gives them
    return w, v


def eigvals(
    a: Any, b: Any = None, overwrite_a: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False
) -> Any:
    """As scipy.linalg.eigvals."""
    return eig(a, b, right=False, homogeneous_eigvals=homogeneous_eigvals)
