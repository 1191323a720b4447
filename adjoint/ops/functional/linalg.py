"""Linear algebra as NumPy and SciPy name it, for batches of matrices along the last two axes.

Matrices that must be symmetric or Hermitian are made so: `cholesky` and `eigh` read (x + x') / 2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjoint.core.dispatch import Value, located, wrap
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.spec import dtype_of, is_complex, shape_of
from adjoint.ops import decompose as _d
from adjoint.ops import determinant as _det
from adjoint.ops import linalg as _l
from adjoint.ops.broadcast import conj, ndim
from adjoint.ops.card import card
from adjoint.ops.functional.norms import cond, inexact, matrix_norm, matrix_rank, norm, vector_norm
from adjoint.ops.functional.products import (
    bmm,
    cross,
    dot,
    einsum,
    inner,
    kron,
    matmul,
    mm,
    multi_dot,
    mv,
    outer,
    tensordot,
    trace,
    vdot,
)
from adjoint.ops.joining import concat
from adjoint.ops.language import expand_last, less, log, squeeze_last, where
from adjoint.ops.slicing import slice_axis
from adjoint.ops.stacking import array

__all__ = [
    "bmm", "cholesky", "cond", "cross", "det", "dot", "eigh", "eigvalsh", "einsum", "expm", "inner", "inv", "inverse",
    "kron", "logdet", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "mm", "multi_dot", "mv",
    "norm", "outer", "pinv", "qr", "slogdet", "solve", "solve_triangular", "svd", "svdvals", "tensordot", "trace",
    "vdot", "vector_norm",
]  # fmt: skip


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Any
    R: Any


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Any
    eigenvectors: Any


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Any
    S: Any
    Vh: Any


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Any
    logabsdet: Any


# ---------------------------------------------------------------- inverse and linear systems


def inv(input: Any) -> Any:
    """The inverse of square matrices.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.inv([[2.0, 0.0], [0.0, 4.0]]))
    [[0.5  0.  ]
     [0.   0.25]]
    """
    return card(_l.Inv)(array(input))


inverse = inv


def pinv(input: Any, rcond: float | None = None, *, rtol: float | None = None) -> Any:
    """The Moore-Penrose inverse of matrices of any shape; singular values up to `rcond` (or `rtol`) times the largest
    count as 0.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.pinv([[2.0], [0.0]]))
    [[0.5 0. ]]
    """
    return card(_d.Pinv, rtol if rcond is None else rcond)(array(input))


def solve(a: Any, b: Any) -> Any:
    """The x with a @ x = b: b is a vector if it has one axis, else a matrix of right sides.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0]))
    [1.  0.5]
    """
    return _for_columns(card(_l.Solve), array(a), array(b))


def _for_columns(op: Any, a: Any, b: Any) -> Any:
    """A system with one right side is a system with one column."""
    return op(a, b) if ndim(b) != 1 else squeeze_last(op(a, expand_last(b)))


def solve_triangular(a: Any, b: Any, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False) -> Any:
    """The x with A @ x = b, where A is the upper or lower triangle of a, transposed if `trans` is 1 or 'T', conjugated
    too if it is 2 or 'C'.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.solve_triangular([[2.0, 0.0], [1.0, 1.0]], [2.0, 3.0], lower=True))
    [1. 2.]
    """
    kinds = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}
    if trans not in kinds:
        raise located(ArgumentError(f"solve_triangular: trans must be 0, 1, 2, 'N', 'T' or 'C', not {trans!r}"))
    a, kind = array(a), kinds[trans]
    if kind == 1:
        a = conj(a)  # the transpose is the conjugate transpose of the conjugate
    return _for_columns(card(_l.TriangularSolve, bool(lower), kind > 0, bool(unit_diagonal)), a, array(b))


def matrix_power(input: Any, n: int) -> Any:
    """Square matrices to a whole power; a negative one is a power of the inverse.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.matrix_power([[1.0, 1.0], [0.0, 1.0]], 3))
    [[1. 3.]
     [0. 1.]]
    """
    x, n = array(input), _whole(n)
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


def _whole(n: Any) -> int:
    if not isinstance(n, (int, np.integer)):
        raise located(ArgumentError(f"matrix_power: the power must be an integer, not {n!r}"))
    return int(n)


def matrix_exp(input: Any) -> Any:
    """The matrix exponential of square matrices.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.matrix_exp([[0.0, 1.0], [0.0, 0.0]]))
    [[1. 1.]
     [0. 1.]]
    """
    return card(_l.Expm)(array(input))


expm = matrix_exp


# ---------------------------------------------------------------- determinants


def det(input: Any) -> Any:
    """The determinant of square matrices; its derivative at singular ones is the matrix of cofactors.

    >>> import adjoint as ad
    >>> from adjoint.ops.functional import linalg
    >>> print(ad.grad(linalg.det)(ad.Tensor([[1.0, 2.0], [2.0, 4.0]])))
    [[ 4. -2.]
     [-2.  1.]]
    """
    return card(_det.Det)(array(input))


def slogdet(input: Any) -> SlogdetResult:
    """Sign (for complex matrices the phase) of the determinant, and logarithm of its absolute value.

    >>> from adjoint.ops.functional import linalg
    >>> sign, logabsdet = linalg.slogdet([[0.0, 1.0], [1.0, 0.0]])
    >>> print(sign, logabsdet)
    -1.0 0.0
    """
    return SlogdetResult(*card(_det.SLogDet)(array(input)))


def logdet(input: Any) -> Any:
    """The logarithm of the determinant; NaN where a real determinant is negative.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.logdet([[1.0, 2.0], [0.0, 1.0]]))
    0.0
    """
    sign, size = slogdet(input)
    return size + log(sign) if is_complex(sign) else where(less(sign, 0), float("nan"), size)


# ---------------------------------------------------------------- factors


def cholesky(input: Any, *, upper: bool = False) -> Any:
    """The lower triangular L with L @ L' = x for positive definite x, or L' if `upper`.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.cholesky([[4.0, 2.0], [2.0, 2.0]]))
    [[2. 0.]
     [1. 1.]]
    """
    lower = card(_d.Cholesky)(array(input))
    return _l.adjoint(lower) if upper else lower


def qr(input: Any, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and an upper triangular R with Q @ R = x.

    `mode` "reduced" gives as many columns as the shorter side has, "complete" a square Q, "r" gives R alone.

    >>> from adjoint.ops.functional import linalg
    >>> q, r = linalg.qr([[0.0, 2.0], [1.0, 3.0]])
    >>> print(abs(r))
    [[1. 3.]
     [0. 2.]]
    """
    if mode not in ("reduced", "complete", "r"):
        raise located(ArgumentError(f"qr: mode must be 'reduced', 'complete' or 'r', not {mode!r}"))
    x = inexact(input)
    m, n = _sides("qr", x)
    # Only the first m columns make Q; the others are coordinates in it.
    q, r = card(_d.QR)(x if m >= n else slice_axis(x, ndim(x) - 1, 0, m))
    if m < n:
        r = concat([r, matmul(_l.adjoint(q), slice_axis(x, ndim(x) - 1, m, n))], axis=-1)
    if mode == "complete" and m > n:
        q = concat([q, card(_d.Complement)(q)], axis=-1)
        r = concat([r, np.zeros((*shape_of(r)[:-2], m - n, n), dtype_of(r))], axis=-2)
    return r if mode == "r" else QRResult(q, r)


def _sides(what: str, x: Any) -> tuple[int, int]:
    if ndim(x) < 2:
        raise located(ShapeError(f"{what}: a matrix needs two axes, the input has shape {shape_of(x)}"))
    return shape_of(x)[-2:]  # type: ignore[return-value]


def eigh(input: Any) -> EighResult:
    """Eigenvalues in ascending order, and eigenvectors as columns, of symmetric or Hermitian matrices.

    A function of the eigenvectors has a derivative if it does not depend on their signs (or phases) and, where
    eigenvalues coincide, on the choice of vectors.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.eigh([[2.0, 1.0], [1.0, 2.0]]).eigenvalues)
    [1. 3.]
    """
    return EighResult(*card(_d.Eigh)(array(input)))


def eigvalsh(input: Any) -> Any:
    """Eigenvalues, in ascending order, of symmetric or Hermitian matrices.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]]))
    [1. 3.]
    """
    return card(_d.Eigvalsh)(array(input))


def svd(input: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """U, S and Vh with x = (U * S) @ Vh, the singular values S in descending order.

    `full_matrices=False` gives as many vectors as the shorter side has, else they are completed to square matrices;
    `compute_uv=False` gives S alone. A function of the vectors has a derivative if it does not depend on their signs
    (or phases) and, where singular values coincide, on the choice of vectors.

    >>> from adjoint.ops.functional import linalg
    >>> u, s, vh = linalg.svd([[3.0, 0.0], [0.0, 2.0], [0.0, 0.0]], full_matrices=False)
    >>> print(s, u.shape)
    [3. 2.] (3, 2)
    """
    x = array(input)
    if not compute_uv:
        return svdvals(x)
    u, s, vh = card(_d.SVD)(x)
    m, n = _sides("svd", x)
    if full_matrices and m > n:
        u = concat([u, card(_d.Complement)(u)], axis=-1)
    if full_matrices and n > m:
        vh = concat([vh, _l.adjoint(card(_d.Complement)(_l.adjoint(vh)))], axis=-2)
    return SVDResult(u, s, vh)


def svdvals(input: Any) -> Any:
    """Singular values, in descending order.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.svdvals([[0.0, 3.0], [2.0, 0.0]]))
    [3. 2.]
    """
    return card(_d.SVDVals)(array(input))
