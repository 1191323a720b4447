"""Triangular factors of matrices: Cholesky, QR, and a basis of what their columns leave out.

`X'` in comments is the conjugate transpose. The helpers of the rules serve `spectral` too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from adjoint.core.dispatch import located
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.spec import Spec, dtype_of, shape_of
from adjoint.ops import language as F
from adjoint.ops.broadcast import ndim
from adjoint.ops.card import card, register
from adjoint.ops.joining import concat
from adjoint.ops.language import expand_last, expand_row, less_equal, matmul, sum_axes, where
from adjoint.ops.linalg import (
    OneMatrix,
    SquareMatrix,
    TriangularSolve,
    adjoint,
    check_square,
    epsilon,
    inexact,
    inexact_dtype,
    product,
    real,
    triangle,
)
from adjoint.ops.publish import public
from adjoint.ops.slicing import slice_axis
from adjoint.ops.stacking import array

# ---------------------------------------------------------------- helpers of the rules, written in ops


def hermitian(x):
    """The Hermitian part (x + x') / 2."""
    return 0.5 * (x + adjoint(x))


def skew(x):
    """The skew-Hermitian part (x - x') / 2."""
    return 0.5 * (x - adjoint(x))


def on_diagonal(x):
    """x where row and column are equal, 0 elsewhere; a row vector is put on the diagonal."""
    return where(np.eye(shape_of(x)[-1], dtype=bool), x, 0)


def scale_columns(x, s):
    """x diag(s)."""
    return x * expand_row(s)


def reciprocal(x, tolerance):
    """1 / x, and 0 where |x| is within `tolerance` of 0: what cannot be told from 0 has no influence."""
    zero = less_equal(F.abs(x), tolerance)
    return where(zero, 0, 1 / where(zero, 1, x))


def rounding(s):
    """How far the eigenvalues or singular values along the last axis can be off, with two axes of size 1."""
    total = sum_axes(F.abs(s), (ndim(s) - 1,))
    return epsilon(dtype_of(s)) * expand_last(expand_last(total))


def inverse_gaps(s):
    """The matrix of 1 / (s_j - s_i): how vectors turn towards one another. Where two are equal to rounding it is NaN, as their
    vectors are any in a plane; on the diagonal 0."""
    gaps = expand_row(s) - expand_last(s)
    equal = less_equal(F.abs(gaps), rounding(s))
    return where(np.eye(shape_of(s)[-1], dtype=bool), 0, where(equal, np.nan, 1 / where(equal, 1, gaps)))


def inverse_sums(s):
    """The matrix of 1 / (s_i + s_j), and 0 where both are 0 to rounding."""
    return reciprocal(expand_last(s) + expand_row(s), rounding(s))


def inverse_values(s):
    """1 / s as a row, and 0 where s is 0 to rounding."""
    return reciprocal(expand_row(s), rounding(s))


def without(x, basis):
    """The part of the columns of x orthogonal to the orthonormal columns of `basis`."""
    return x - product(basis, adjoint(basis), x)


def sides(what: str, x: Any) -> tuple[int, int]:
    if ndim(x) < 2:
        raise located(ShapeError(f"{what}: a matrix needs two axes, the input has shape {shape_of(x)}"))
    return shape_of(x)[-2:]  # type: ignore[return-value]


# ---------------------------------------------------------------- triangular factors


@register
@dataclass(frozen=True)
class Cholesky(SquareMatrix):
    """The lower triangular L with L L' = (x + x') / 2, which must be positive definite."""

    fails_where = "not positive definite"
    work = 10

    def eval(self, xp, x):
        check_square(self, x.shape)
        return xp.linalg.cholesky(hermitian_array(xp, x))

    def vjp(self, g, y, x):
        middle = _half_lower(matmul(adjoint(y), g))
        back = card(TriangularSolve, True, True)
        return (hermitian(adjoint(back(y, adjoint(back(y, middle))))),)

    def jvp(self, ts, y, x):
        # dL = L P(L^-1 dS L^-T'), where P keeps the lower triangle and half of the diagonal.
        solve = card(TriangularSolve)
        return matmul(y, _half_lower(solve(y, adjoint(solve(y, hermitian(ts[0]))))))

    @classmethod
    def samples(cls, draw):
        for shape in [(3, 3), (2, 2, 2), (1, 1), (0, 2, 2), (0, 0)]:
            x = draw(*shape, domain=(-1.0, 1.0))
            yield cls(), (hermitian_array(np, x) + 4 * np.eye(shape[-1], dtype=x.dtype),)
        yield cls(), (draw(2, 2, domain=(0.0, 1.0)) + 3 * np.eye(2),)


def hermitian_array(xp, x):
    return (x + xp.conj(xp.swapaxes(x, -1, -2))) / 2


def _half_lower(x):
    return triangle(x, lower=True, strict=True) + 0.5 * on_diagonal(x)


@public(method=True)
def cholesky(input: Any, *, upper: bool = False) -> Any:
    """The lower triangular L with L @ L' = x for positive definite x, or L' if `upper`.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.cholesky([[4.0, 2.0], [2.0, 2.0]]))
    [[2. 0.]
     [1. 1.]]
    """
    lower = card(Cholesky)(array(input))
    return adjoint(lower) if upper else lower


@register
@dataclass(frozen=True)
class QR(OneMatrix):
    """Q with orthonormal columns and an upper triangular R with a real diagonal, for at least as many rows as columns."""

    work = 10

    def infer(self, x):
        self._check(x.shape)
        dtype = inexact_dtype(x.dtype)
        n = x.shape[-1]
        return Spec(x.shape, dtype), Spec((*x.shape[:-2], n, n), dtype)

    def _check(self, shape):
        if len(shape) < 2:
            raise ShapeError(f"QR: a matrix needs two axes, the input has shape {shape}")
        if shape[-2] < shape[-1]:
            raise ShapeError(f"QR: the matrices {shape} have fewer rows than columns; linalg.qr splits them first")

    def eval(self, xp, x):
        self._check(x.shape)
        return tuple(xp.linalg.qr(x))

    def vjp(self, g, y, x):
        (gq, gr), (q, r) = g, y
        gu = matmul(gr, adjoint(r)) - matmul(adjoint(q), gq)
        upper = triangle(gu, lower=False, strict=True)
        gx = gq + matmul(q, upper + adjoint(upper) + real(on_diagonal(gu)))
        return (adjoint(card(TriangularSolve, False)(r, adjoint(gx))),)

    def jvp(self, ts, y, x):
        # dx r^-1 = dq + q u, where u = dr r^-1 is upper triangular with a real diagonal and q' dq is skew-Hermitian.
        q, r = y
        moved = adjoint(card(TriangularSolve, False, True)(r, adjoint(ts[0])))
        c = matmul(adjoint(q), moved)
        u = triangle(c, lower=False, strict=True) + adjoint(triangle(c, lower=True, strict=True)) + real(on_diagonal(c))
        return moved - matmul(q, u), matmul(u, r)

    @classmethod
    def samples(cls, draw):
        for shape in [(3, 3), (4, 2), (2, 3, 2), (1, 1), (0, 3, 2), (3, 0)]:
            x = draw(*shape, domain=(-1.0, 1.0))
            yield cls(), (x + 2 * np.eye(*shape[-2:], dtype=x.dtype),)

    @classmethod
    def errors(cls):
        yield cls(), (Spec((2, 3)),), "QR: the matrices (2, 3) have fewer rows than columns"
        yield cls(), (Spec((2,)),), "QR: a matrix needs two axes"


@register
@dataclass(frozen=True)
class Complement(OneMatrix):
    """Orthonormal columns that complete the orthonormal columns of x to a basis of the whole space."""

    work = 10
    complex = False  # a phase, or a rotation, is free: there is nothing to compare a kernel's derivative with

    def infer(self, x):
        *lead, rows, columns = x.shape
        self._check(rows, columns)
        return Spec((*lead, rows, rows - columns), inexact_dtype(x.dtype))

    def _check(self, rows, columns):
        if rows < columns:
            raise ShapeError(f"Complement: {columns} columns of length {rows} cannot be orthonormal")

    def eval(self, xp, x):
        self._check(*x.shape[-2:])
        return xp.linalg.qr(x, mode="complete")[0][..., x.shape[-1] :]

    def vjp(self, g, y, x):
        return (-product(y, adjoint(g), x),)

    def jvp(self, ts, y, x):
        return -product(x, adjoint(ts[0]), y)  # y stays orthogonal to x and does not turn within its space

    @classmethod
    def samples(cls, draw):
        for shape in [(3, 2), (2, 2, 1), (2, 2), (0, 3, 2)]:
            yield cls(), (np.linalg.qr(draw(*shape))[0],)

    @classmethod
    def errors(cls):
        yield cls(), (Spec((2, 3)),), "Complement: 3 columns of length 2 cannot be orthonormal"


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Any
    R: Any


@public()
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
    m, n = sides("qr", x)
    # Only the first m columns make Q; the others are coordinates in it.
    q, r = card(QR)(x if m >= n else slice_axis(x, ndim(x) - 1, 0, m))
    if m < n:
        r = concat([r, matmul(adjoint(q), slice_axis(x, ndim(x) - 1, m, n))], axis=-1)
    if mode == "complete" and m > n:
        q = concat([q, card(Complement)(q)], axis=-1)
        r = concat([r, np.zeros((*shape_of(r)[:-2], m - n, n), dtype_of(r))], axis=-2)
    return r if mode == "r" else QRResult(q, r)
