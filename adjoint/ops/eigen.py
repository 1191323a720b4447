"""Eigenvalues and eigenvectors of general square matrices, and triangular factors with row exchanges: `eig`, `lu`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from adjoint.core.absent import ZERO, add
from adjoint.core.errors import ShapeError
from adjoint.core.spec import Spec, dtype_of, shape_of
from adjoint.ops.broadcast import batch_front, cast_like, conj, ndim
from adjoint.ops.card import card, register
from adjoint.ops.complex_parts import imag
from adjoint.ops.decompose import inverse_gaps, on_diagonal
from adjoint.ops.families import NotDifferentiable
from adjoint.ops.fourier import complex_dtype
from adjoint.ops.joining import Concat
from adjoint.ops.language import (
    abs,
    cast,
    equal,
    expand_row,
    masked_mul,
    matmul,
    real,
    sum_axes,
    where,
)
from adjoint.ops.linalg import (
    OneMatrix,
    Solve,
    SquareMatrix,
    TriangularSolve,
    adjoint,
    check_square,
    inexact_dtype,
    triangle,
    well_conditioned,
)
from adjoint.ops.publish import public
from adjoint.ops.reduce import ArgMax
from adjoint.ops.slicing import slice_axis
from adjoint.ops.stacking import array


@register
@dataclass(frozen=True)
class Eig(OneMatrix):
    """Eigenvalues, and eigenvectors as columns, of square matrices, as complex numbers.

    Each eigenvector has the norm 1 and a real largest component, as LAPACK's have, and the derivative keeps both so. Where
    eigenvalues coincide a matrix may have no derivative: what cannot be told from 0 has no influence there.
    """

    work = 25
    fails_where = "not a number"

    def infer(self, x):
        check_square(self, x.shape)
        dtype = complex_dtype(x.dtype)
        return Spec(x.shape[:-1], dtype), Spec(x.shape, dtype)

    def eval(self, xp, x):
        check_square(self, x.shape)
        values, vectors = xp.linalg.eig(x)
        dtype = complex_dtype(np.dtype(x.dtype))
        return values.astype(dtype), vectors.astype(dtype)

    takes_zero = True

    def vjp(self, g, y, x):
        (gw, gv), (w, v) = g, y
        inner = ZERO if gw is ZERO else on_diagonal(expand_row(gw))
        if gv is not ZERO:
            inner = add(inner, masked_mul(conj(inverse_gaps(w)), matmul(adjoint(v), self._turned(gv, v))))
        back = matmul(card(Solve)(adjoint(v), inner), adjoint(v))
        return (cast_like(back, x),)

    def _turned(self, gv, v):
        """The cotangent of the vectors, less what their length and phase hold still."""
        along = expand_row(sum_axes(conj(v) * gv, (ndim(v) - 2,)))
        place, pivot = _real_component(v)
        turned = where(place, 1j * imag(along) / conj(pivot), 0)
        return gv - real(along) * v - turned

    def jvp(self, ts, y, x):
        # v^-1 dx v has the changes of the eigenvalues on its diagonal, and those of the vectors, times gaps, beside it.
        w, v = y
        turned = card(Solve)(v, matmul(cast_like(ts[0], v), v))
        moved = matmul(v, masked_mul(inverse_gaps(w), turned))
        stretch = real(sum_axes(conj(v) * moved, (ndim(v) - 2,)))
        place, pivot = _real_component(v)
        phase = imag(sum_axes(where(place, moved / pivot, 0), (ndim(v) - 2,)))
        return sum_axes(on_diagonal(turned), (ndim(v) - 1,)), moved - v * expand_row(stretch + 1j * phase)

    @classmethod
    def samples(cls, draw):
        for shape in [(3, 3), (2, 2, 2), (1, 1), (0, 2, 2), (0, 0)]:
            x = draw(*shape, domain=(-0.5, 0.5))
            yield cls(), (x + np.diag(2.0 * np.arange(shape[-1])).astype(x.dtype),)
        x = draw(3, 3, domain=(-0.1, 0.1))
        yield cls(), (x + np.array([[1.0, -2.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.5, 4.0]]).astype(x.dtype),)

    errors = SquareMatrix.__dict__["errors"]


def _real_component(v):
    """Where each column has the component whose phase is fixed, the largest real one, and that component as a row."""
    if not shape_of(v)[-1]:
        return np.zeros(shape_of(v), bool), v
    size = where(equal(imag(v), 0), abs(v), -1)
    rows = expand_row(card(ArgMax, ndim(v) - 2)(size))
    place = equal(np.arange(shape_of(v)[-1])[:, None], rows)
    return place, expand_row(sum_axes(where(place, v, 0), (ndim(v) - 2,)))


class EigResult(NamedTuple):
    """What `eig` returns."""

    eigenvalues: Any
    eigenvectors: Any


@public()
def eig(input: Any) -> EigResult:
    """Eigenvalues, in no order, and eigenvectors as columns, of square matrices: always complex numbers.

    A function of the eigenvectors has a derivative where the eigenvalues differ from one another.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.eig([[0.0, 1.0], [-1.0, 0.0]]).eigenvalues)
    [0.+1.j 0.-1.j]
    """
    return EigResult(*card(Eig)(array(input)))


@public()
def eigvals(input: Any) -> Any:
    """Eigenvalues, in no order, of square matrices: always complex numbers.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.eigvals([[2.0, 0.0], [0.0, 1.0]]))
    [2.+0.j 1.+0.j]
    """
    return card(Eig)(array(input))[0]


# ---------------------------------------------------------------- triangular factors with row exchanges


@register
@dataclass(frozen=True)
class LU(OneMatrix):
    """l, u and exchanges of rows with x[order] = l u: l has ones on its diagonal, u is upper triangular.

    `RowOrder` makes the order of the exchanges, which LAPACK's partial pivoting finds and the derivative holds still.
    """

    def infer(self, x):
        self._check(x.shape)
        *lead, m, n = x.shape
        dtype, k = inexact_dtype(x.dtype), min(m, n)
        return Spec((*lead, m, k), dtype), Spec((*lead, k, n), dtype), Spec((*lead, k), np.dtype(np.int32))

    def _check(self, shape):
        if len(shape) < 2:
            raise ShapeError(f"LU: a matrix needs two axes, the input has shape {shape}")

    def eval(self, xp, x):
        from scipy.linalg.lapack import get_lapack_funcs

        self._check(x.shape)
        *lead, m, n = x.shape
        k, dtype = min(m, n), inexact_dtype(x.dtype)
        l, u = np.zeros((*lead, m, k), dtype), np.zeros((*lead, k, n), dtype)
        exchanges = np.zeros((*lead, k), np.int32)
        (factorised,) = get_lapack_funcs(("getrf",), dtype=dtype)
        for i in np.ndindex(*lead) if m and n else ():
            both, exchanges[i], _ = factorised(np.asarray(x[i], dtype))
            l[i], u[i] = np.tril(both[:, :k], -1) + np.eye(m, k, dtype=dtype), np.triu(both[:k])
        return l, u, exchanges

    def vjp(self, g, y, x):
        (gl, gu, _), (l, u, exchanges) = g, y
        m, n = shape_of(x)[-2:]
        k, rows, columns = min(m, n), ndim(x) - 2, ndim(x) - 1
        left, right = slice_axis(l, rows, 0, k), slice_axis(u, columns, 0, k)
        rest = None
        if m > n:  # the rows below are x u^-1
            low = slice_axis(l, rows, k, m)
            rest = _over(slice_axis(gl, rows, k, m), right)
            gl, gu = slice_axis(gl, rows, 0, k), gu - matmul(adjoint(low), rest)
        elif n > m:  # the columns on the right are l^-1 x
            rest = card(TriangularSolve, True, True, True)(left, slice_axis(gu, columns, k, n))
            gl, gu = gl - matmul(rest, adjoint(slice_axis(u, columns, k, n))), slice_axis(gu, columns, 0, k)
        inner = triangle(matmul(adjoint(left), gl), True, True) + triangle(matmul(gu, adjoint(right)), False)
        back = _over(card(TriangularSolve, True, True, True)(left, inner), right)
        if rest is not None:
            back = card(Concat, rows if m > n else columns)(back, rest)
        return (matmul(permutation(exchanges, m, back), back),)

    def jvp(self, ts, y, x):
        l, u, exchanges = y
        m, n = shape_of(x)[-2:]
        k, rows, columns = min(m, n), ndim(x) - 2, ndim(x) - 1
        left, right = slice_axis(l, rows, 0, k), slice_axis(u, columns, 0, k)
        t = matmul(adjoint(permutation(exchanges, m, ts[0])), ts[0])
        square = slice_axis(slice_axis(t, rows, 0, k), columns, 0, k)
        inner = _divided(card(TriangularSolve, True, False, True)(left, square), right)
        dl, du = matmul(left, triangle(inner, True, True)), matmul(triangle(inner, False), right)
        if m > n:
            below = slice_axis(t, rows, k, m) - matmul(slice_axis(l, rows, k, m), du)
            dl = card(Concat, rows)(dl, _divided(below, right))
        elif n > m:
            beside = slice_axis(t, columns, k, n) - matmul(dl, slice_axis(u, columns, k, n))
            du = card(Concat, columns)(du, card(TriangularSolve, True, False, True)(left, beside))
        return dl, du, ZERO

    @classmethod
    def samples(cls, draw):
        for shape in [(3, 3), (4, 2), (2, 4), (2, 3, 3), (1, 1), (0, 2, 2), (0, 0)]:
            x = well_conditioned(draw, *shape)
            yield cls(), (x[..., ::-1, :].copy() if shape == (3, 3) else x,)

    @classmethod
    def errors(cls):
        yield cls(), (Spec((3,)),), "LU: a matrix needs two axes, the input has shape (3,)"


def _over(x, upper):
    """x (upper')^-1, for the upper triangle of a matrix."""
    return adjoint(card(TriangularSolve, False)(upper, adjoint(x)))


def _divided(x, upper):
    """x upper^-1."""
    return adjoint(card(TriangularSolve, False, True)(upper, adjoint(x)))


@register
@dataclass(frozen=True)
class RowOrder(NotDifferentiable):
    """The order of `rows` rows after exchanges, one after the other, of row i with row x[i]."""

    rows: int

    def infer(self, x):
        return Spec((*x.shape[:-1], self.rows), np.dtype(np.int64))

    def eval(self, xp, x):
        order = np.broadcast_to(np.arange(self.rows), (*x.shape[:-1], self.rows)).copy()
        for row in range(x.shape[-1]):
            other = np.asarray(x)[..., row : row + 1]
            here, there = order[..., row].copy(), np.take_along_axis(order, other, -1)
            np.put_along_axis(order, other, here[..., None], -1)
            order[..., row] = there[..., 0]
        return order

    def vmap(self, dims, x):
        return self(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls(3), (np.array([2, 1, 2]),)
        yield cls(4), (np.array([[0, 3], [3, 1]]),)
        yield cls(2), (np.zeros((2, 0), int),)


def row_order(exchanges: Any, rows: int) -> Any:
    """The order of rows after exchanges."""
    return card(RowOrder, rows)(exchanges)


def with_exchanges(x: Any) -> Any:
    """l, u and the exchanges of rows, as LAPACK lists them."""
    return card(LU)(x)


def permutation(exchanges, rows, like):
    """The matrix p with p @ x[order] = x, in the dtype of `like`."""
    order = expand_row(row_order(exchanges, rows))
    return cast(equal(np.arange(rows)[:, None], order), dtype_of(like))


class LUResult(NamedTuple):
    """What `lu` returns."""

    P: Any
    L: Any
    U: Any


@public()
def lu(input: Any) -> LUResult:
    """P, L and U with P @ L @ U = x: a permutation, a lower triangle with ones on its diagonal and an upper triangle.

    >>> from adjoint.ops.functional import linalg
    >>> p, l, u = linalg.lu([[0.0, 2.0], [1.0, 3.0]])
    >>> print(u)
    [[1. 3.]
     [0. 2.]]
    """
    x = array(input)
    l, u, exchanges = card(LU)(x)
    return LUResult(permutation(exchanges, shape_of(x)[-2], u), l, u)
