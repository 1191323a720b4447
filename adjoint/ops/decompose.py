"""Cards that take matrices apart: Cholesky, QR, eigenvalues, singular values, the pseudo-inverse.

`X'` in comments is the conjugate transpose. Eigenvectors and singular vectors are determined up to a phase (for real
matrices a sign), and up to a rotation where values coincide: the rules hold what is free still, so derivatives are
right for every function whose value does not depend on that choice, and finite for all others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adjoint.core.errors import ShapeError
from adjoint.core.spec import Spec, dtype_of, shape_of
from adjoint.ops import language as F
from adjoint.ops.broadcast import conj, ndim
from adjoint.ops.card import card, register
from adjoint.ops.contract import matmul
from adjoint.ops.language import expand_last, expand_row, less_equal, sum_axes, where
from adjoint.ops.linalg import (
    OneMatrix,
    SquareMatrix,
    TriangularSolve,
    adjoint,
    check_square,
    epsilon,
    inexact_dtype,
    product,
    real,
    real_dtype,
    triangle,
)

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
    """The matrix of 1 / (s_j - s_i), and 0 where the two are equal to rounding."""
    return reciprocal(expand_row(s) - expand_last(s), rounding(s))


def inverse_sums(s):
    """The matrix of 1 / (s_i + s_j), and 0 where both are 0 to rounding."""
    return reciprocal(expand_last(s) + expand_row(s), rounding(s))


def inverse_values(s):
    """1 / s as a row, and 0 where s is 0 to rounding."""
    return reciprocal(expand_row(s), rounding(s))


def without(x, basis):
    """The part of the columns of x orthogonal to the orthonormal columns of `basis`."""
    return x - product(basis, adjoint(basis), x)


# ---------------------------------------------------------------- triangular factors


@register
@dataclass(frozen=True)
class Cholesky(SquareMatrix):
    """The lower triangular L with L L' = (x + x') / 2, which must be positive definite."""

    work = 10

    def eval(self, xp, x):
        check_square(self, x.shape)
        return xp.linalg.cholesky(_hermitian_array(xp, x))

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
            yield cls(), (_hermitian_array(np, x) + 4 * np.eye(shape[-1], dtype=x.dtype),)
        yield cls(), (draw(2, 2, domain=(0.0, 1.0)) + 3 * np.eye(2),)


def _hermitian_array(xp, x):
    return (x + xp.conj(xp.swapaxes(x, -1, -2))) / 2


def _half_lower(x):
    return triangle(x, lower=True, strict=True) + 0.5 * on_diagonal(x)


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


# ---------------------------------------------------------------- eigenvalues of Hermitian matrices


class SpectrumOfHermitian(OneMatrix):
    """Ops on the Hermitian part of a square matrix."""

    work = 10

    @classmethod
    def samples(cls, draw):
        for shape in [(3, 3), (2, 2, 2), (1, 1), (0, 2, 2), (0, 0)]:
            x = draw(*shape, domain=(-0.5, 0.5))
            yield cls(), (x + np.diag(1.0 + np.arange(shape[-1])).astype(x.dtype),)

    errors = SquareMatrix.__dict__["errors"]


@register
@dataclass(frozen=True)
class Eigh(SpectrumOfHermitian):
    """Eigenvalues in ascending order, and eigenvectors as columns, of the Hermitian part of square matrices."""

    complex = False  # works for complex matrices, but the phase of each eigenvector is free

    def infer(self, x):
        check_square(self, x.shape)
        return Spec(x.shape[:-1], real_dtype(x.dtype)), Spec(x.shape, inexact_dtype(x.dtype))

    def eval(self, xp, x):
        check_square(self, x.shape)
        return tuple(xp.linalg.eigh(_hermitian_array(xp, x)))

    def vjp(self, g, y, x):
        (gw, gv), (w, v) = g, y
        inner = on_diagonal(expand_row(gw)) + inverse_gaps(w) * matmul(adjoint(v), gv)
        return (hermitian(product(v, inner, adjoint(v))),)

    def jvp(self, ts, y, x):
        w, v = y
        turned = product(adjoint(v), hermitian(ts[0]), v)
        return _diagonal(turned), matmul(v, inverse_gaps(w) * turned)


def _diagonal(x):
    """The real part of the diagonals of square matrices."""
    return real(sum_axes(on_diagonal(x), (ndim(x) - 1,)))


@register
@dataclass(frozen=True)
class Eigvalsh(SpectrumOfHermitian):
    """Eigenvalues, in ascending order, of the Hermitian part of square matrices."""

    def infer(self, x):
        check_square(self, x.shape)
        return Spec(x.shape[:-1], real_dtype(x.dtype))

    def eval(self, xp, x):
        check_square(self, x.shape)
        return xp.linalg.eigvalsh(_hermitian_array(xp, x))

    def vjp(self, g, y, x):
        _, v = card(Eigh)(x)
        return (hermitian(matmul(scale_columns(v, g), adjoint(v))),)

    def jvp(self, ts, y, x):
        _, v = card(Eigh)(x)
        return _diagonal(product(adjoint(v), hermitian(ts[0]), v))


# ---------------------------------------------------------------- singular values


class Singular(OneMatrix):
    """Ops on matrices of any shape, by way of their singular values."""

    work = 10

    def _check(self, shape):
        if len(shape) < 2:
            raise ShapeError(f"{type(self).__name__}: a matrix needs two axes, the input has shape {shape}")
        return (*shape[:-2], min(shape[-2:]))

    @classmethod
    def samples(cls, draw):
        for shape in [(3, 3), (4, 2), (2, 3), (2, 2, 3), (1, 1), (0, 3, 2), (3, 0)]:
            x = draw(*shape, domain=(-0.5, 0.5))
            yield cls(), (x + np.eye(*shape[-2:], dtype=x.dtype) * (1.0 + np.arange(shape[-1])).astype(x.dtype),)

    @classmethod
    def errors(cls):
        yield cls(), (Spec((3,)),), f"{cls.__name__}: a matrix needs two axes, the input has shape (3,)"


@register
@dataclass(frozen=True)
class SVD(Singular):
    """u, s, v' with x = u diag(s) v': as many singular values, in descending order, as the shorter side has."""

    complex = False  # works for complex matrices, but the phase of each pair of vectors is free

    def infer(self, x):
        (*lead, k), (m, n) = self._check(x.shape), x.shape[-2:]
        dtype = inexact_dtype(x.dtype)
        return Spec((*lead, m, k), dtype), Spec((*lead, k), real_dtype(x.dtype)), Spec((*lead, k, n), dtype)

    def eval(self, xp, x):
        return tuple(xp.linalg.svd(x, full_matrices=False))

    def vjp(self, g, y, x):
        (gu, gs, gvh), (u, s, vh) = g, y
        (m, k), n = shape_of(u)[-2:], shape_of(vh)[-1]
        left, right = matmul(adjoint(u), gu), matmul(vh, adjoint(gvh))
        core = on_diagonal(expand_row(gs)) + hermitian(inverse_gaps(s) * (left + right))
        total = product(u, core + skew(inverse_sums(s) * (left - right)), vh)
        if m > k:
            total = total + matmul(without(gu * inverse_values(s), u), vh)
        if n > k:
            total = total + matmul(u, adjoint(without(adjoint(gvh) * inverse_values(s), adjoint(vh))))
        return (total,)

    def jvp(self, ts, y, x):
        # With p = u' dx v, a = u' du and b = v' dv are skew-Hermitian and p = a s + ds - s b, so that
        # a + b = (p + p') / gaps and a - b = (p - p') / sums. What leaves the spans of u and v comes on top.
        t, (u, s, vh) = ts[0], y
        v = adjoint(vh)
        (m, k), n = shape_of(u)[-2:], shape_of(v)[-2]
        p = product(adjoint(u), t, v)
        both, apart = inverse_gaps(s) * hermitian(p), inverse_sums(s) * skew(p)
        du, dv = matmul(u, both + apart), matmul(v, both - apart)
        if m > k:
            du = du + without(matmul(t, v) * inverse_values(s), u)
        if n > k:
            dv = dv + without(matmul(adjoint(t), u) * inverse_values(s), v)
        return du, _diagonal(p), adjoint(dv)


@register
@dataclass(frozen=True)
class SVDVals(Singular):
    """Singular values, in descending order."""

    def infer(self, x):
        return Spec(self._check(x.shape), real_dtype(x.dtype))

    def eval(self, xp, x):
        return xp.linalg.svd(x, compute_uv=False)

    def vjp(self, g, y, x):
        u, _, vh = card(SVD)(x)
        return (matmul(scale_columns(u, g), vh),)

    def jvp(self, ts, y, x):
        u, _, vh = card(SVD)(x)
        return real(sum_axes(conj(u) * matmul(ts[0], adjoint(vh)), (ndim(u) - 2,)))


@register
@dataclass(frozen=True)
class Pinv(Singular):
    """The Moore-Penrose inverse; singular values up to `rtol` times the largest count as 0 (None: up to rounding).

    Differentiated at constant rank: where the rank changes the pseudo-inverse is not continuous.
    """

    rtol: float | None = None

    def infer(self, x):
        self._check(x.shape)
        *lead, m, n = x.shape
        return Spec((*lead, n, m), inexact_dtype(x.dtype))

    def eval(self, xp, x):
        self._check(x.shape)
        if not x.size:
            return xp.zeros(self.infer(x).shape, inexact_dtype(x.dtype))
        eps = np.finfo(inexact_dtype(x.dtype)).eps
        return xp.linalg.pinv(x, max(x.shape[-2:]) * eps if self.rtol is None else self.rtol)

    def vjp(self, g, y, x):
        back, gh = adjoint(y), adjoint(g)
        outside = gh - product(x, y, gh)
        across = gh - product(gh, y, x)
        return (product(outside, y, back) + product(back, y, across) - product(back, g, back),)

    def jvp(self, ts, y, x):
        # Golub and Pereyra: dy = -y dx y + y y' dx' (1 - x y) + (1 - y x) dx' y' y.
        t, back = ts[0], adjoint(y)
        th = adjoint(t)
        outside = th - product(th, x, y)
        across = th - product(y, x, th)
        return product(y, back, outside) + product(across, back, y) - product(y, t, y)
