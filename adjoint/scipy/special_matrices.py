"""Matrices of scipy.linalg that are built from lines, and systems of them, for Tensors."""
# ruff: noqa: ARG001  (arguments of SciPy that are about memory, speed and checks)

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.errors import ShapeError, called_at
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.functional import linalg as _l
from adjoint.ops.numpylike.common import promoted, tensor


def _line(what: str, x: Any) -> Any:
    x = tensor(x)
    if x.ndim > 1:
        raise ShapeError(f"{what}: a line of numbers is needed, not shape {x.shape}{called_at()}")
    return _f.reshape(x, (x.size,))


def _picked(line: Any, places: np.ndarray) -> Any:
    return _f.take(line, places, 0)


def toeplitz(c: Any, r: Any = None) -> Any:
    """As scipy.linalg.toeplitz."""
    c = _line("toeplitz", c)
    r = (F.conj(c) if c.dtype.kind == "c" else c) if r is None else _line("toeplitz", r)
    m, n = c.size, r.size
    values = _f.concat([_f.flip(c, 0), r[1:]], 0)  # c[m-1] ... c[0] r[1] ... r[n-1]
    return _picked(values, m - 1 - np.arange(m)[:, None] + np.arange(n))


def hankel(c: Any, r: Any = None) -> Any:
    """As scipy.linalg.hankel."""
    c = _line("hankel", c)
    r = _line("hankel", np.zeros(c.size, c.dtype) if r is None else r)
    values = _f.concat([c, r[1:]], 0)
    return _picked(values, np.arange(c.size)[:, None] + np.arange(r.size))


def circulant(c: Any) -> Any:
    """As scipy.linalg.circulant."""
    c = tensor(c)
    n = c.shape[-1]
    return _f.take(c, (np.arange(n)[:, None] - np.arange(n)) % max(n, 1), c.ndim - 1)


def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """As scipy.linalg.convolution_matrix."""
    a = _line("convolution_matrix", a)
    k = a.size
    full = _f.concat([a, np.zeros(n - 1, a.dtype)], 0)
    matrix = toeplitz(full, _f.concat([a[:1], np.zeros(n - 1, a.dtype)], 0))
    rows = {"full": (0, n + k - 1), "same": ((min(n, k) - 1) // 2, (min(n, k) - 1) // 2 + max(n, k)),
            "valid": (min(n, k) - 1, max(n, k))}  # fmt: skip
    if mode not in rows:
        raise ShapeError(f"convolution_matrix: mode must be 'full', 'same' or 'valid', not {mode!r}{called_at()}")
    first, last = rows[mode]
    return matrix[first:last]


def block_diag(*arrs: Any) -> Any:
    """As scipy.linalg.block_diag."""
    blocks = [tensor(a) for a in arrs] or [tensor(np.zeros((1, 0)))]
    blocks = [_f.reshape(b, (1,) * (2 - b.ndim) + b.shape) for b in blocks]
    dtype, width, rows, before = promoted(blocks), sum(b.shape[-1] for b in blocks), [], 0
    lead = np.broadcast_shapes(*(b.shape[:-2] for b in blocks))
    for b in blocks:
        b = _f.broadcast_to(F.cast(b, dtype) if b.dtype != dtype else b, (*lead, *b.shape[-2:]))
        m, n = b.shape[-2:]
        rows.append(
            _f.concat([np.zeros((*lead, m, before), dtype), b, np.zeros((*lead, m, width - before - n), dtype)], -1)
        )
        before += n
    return _f.concat(rows, -2)


def khatri_rao(a: Any, b: Any) -> Any:
    """As scipy.linalg.khatri_rao."""
    a, b = tensor(a), tensor(b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ShapeError(
            f"khatri_rao: matrices with as many columns are needed, not {a.shape} and {b.shape}{called_at()}"
        )
    return _f.reshape(_f.expand_dims(a, 1) * _f.expand_dims(b, 0), (a.shape[0] * b.shape[0], a.shape[1]))


def _of_pair(c_or_cr: Any) -> Any:
    return toeplitz(*c_or_cr) if isinstance(c_or_cr, tuple) else toeplitz(c_or_cr)


def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """As scipy.linalg.solve_toeplitz, through the matrix: SciPy's recursion is faster for large ones."""
    return _l.solve(_of_pair(c_or_cr), tensor(b))


def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Any:
    """As scipy.linalg.matmul_toeplitz, through the matrix."""
    return F.matmul(_of_pair(c_or_cr), tensor(x))


def solve_circulant(
    c: Any, b: Any, singular: str = "raise", tol: Any = None, caxis: int = -1, baxis: int = 0, outaxis: int = 0
) -> Any:
    """As scipy.linalg.solve_circulant for a line `c`, through the matrix; `singular` matrices are refused."""
    c, b = tensor(c), tensor(b)
    if c.ndim != 1 or singular != "raise" or baxis % b.ndim or outaxis % b.ndim:
        raise ShapeError(f"solve_circulant: a line c and the axis 0 of b are supported for Tensors{called_at()}")
    return _l.solve(circulant(c), b)
