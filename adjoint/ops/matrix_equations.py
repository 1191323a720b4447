"""Matrix equations and functions of matrices: Sylvester's equation, banded systems, the square root and the logarithm.

`X'` in comments is the conjugate transpose. The kernels are SciPy's.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.absent import instantiate
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.spec import Spec, broadcast, promote, shape_of
from adjoint.ops.broadcast import batch_all, batch_first, batch_front, conj, match, ndim, push
from adjoint.ops.card import card, register
from adjoint.ops.families import MatrixWork
from adjoint.ops.indexing import getitem
from adjoint.ops.joining import Concat
from adjoint.ops.language import (
    broadcast_to,
    cast,
    expand_last,
    matmul,
    permute,
    reshape,
    squeeze_last,
    sum_axes,
    where,
    zeros_like,
)
from adjoint.ops.linalg import (
    WHOLE,
    SquareMatrix,
    adjoint,
    check_square,
    inexact_dtype,
    well_conditioned,
)
from adjoint.ops.publish import public
from adjoint.ops.slicing import GetItem
from adjoint.ops.stacking import array

# ---------------------------------------------------------------- Sylvester's equation


@register
@dataclass(frozen=True)
class Sylvester(MatrixWork):
    """The y with a y + y b = q; the axes before the last two broadcast."""

    complex, work = True, 25

    def infer(self, a, b, q):
        check_square(self, a.shape)
        check_square(self, b.shape)
        if q.ndim < 2 or q.shape[-2:] != (a.shape[-1], b.shape[-1]):
            raise ShapeError(
                f"Sylvester: the right side of shape {q.shape} must have the shape "
                f"({a.shape[-1]}, {b.shape[-1]}) between matrices {a.shape} and {b.shape}"
            )
        lead = broadcast(self, [Spec(x.shape[:-2]) for x in (a, b, q)])
        return Spec(lead + q.shape[-2:], inexact_dtype(promote([a, b, q])))

    def eval(self, xp, a, b, q):
        from scipy.linalg import solve_sylvester

        dtype = inexact_dtype(np.result_type(a, b, q))
        a, b, q = (np.asarray(x, dtype) for x in (a, b, q))
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], q.shape[:-2])
        a, b, q = (np.broadcast_to(x, lead + x.shape[-2:]) for x in (a, b, q))
        y = np.zeros(q.shape, dtype)
        for i in np.ndindex(*lead) if y.size else ():
            y[i] = solve_sylvester(a[i], b[i], q[i])
        return y

    def vjp(self, g, y, a, b, q):
        back = self(adjoint(a), adjoint(b), g)
        return (
            lambda: match(-matmul(back, adjoint(y)), a),
            lambda: match(-matmul(adjoint(y), back), b),
            lambda: match(back, q),
        )

    def jvp(self, ts, y, a, b, q):
        return self(a, b, push(ts, lambda t: -matmul(t, y), lambda t: -matmul(y, t), lambda t: _spread(t, y)))

    def vmap(self, dims, *xs):
        rank = max(ndim(x) - (d is not None) for x, d in zip(xs, dims, strict=True))
        return self(*(batch_first(x, d, rank) for x, d in zip(xs, dims, strict=True)))

    @classmethod
    def samples(cls, draw):
        shapes = [
            ((), (), (), 3, 2),
            ((2,), (2,), (2,), 2, 2),
            ((2,), (), (), 2, 1),
            ((), (), (2,), 1, 2),
            ((0,), (), (0,), 2, 2),
        ]
        for a, b, q, m, n in shapes:
            yield cls(), (well_conditioned(draw, *a, m, m), well_conditioned(draw, *b, n, n), draw(*q, m, n))

    @classmethod
    def errors(cls):
        yield cls(), (Spec((2, 3)), Spec((2, 2)), Spec((2, 2))), "Sylvester: the last two axes of (2, 3) must be equal"
        yield cls(), (Spec((2, 2)), Spec((3, 3)), Spec((2, 2))), "must have the shape (2, 3)"


def _spread(t, y):
    """A tangent of the right side under the result's shape."""
    return t if shape_of(t) == shape_of(y) else broadcast_to(t, shape_of(y))


@public()
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """The x with a @ x + x @ b = q.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.solve_sylvester([[1.0]], [[3.0]], [[8.0]]))
    [[2.]]
    """
    return card(Sylvester)(array(a), array(b), array(q))


# ---------------------------------------------------------------- banded systems


@register
@dataclass(frozen=True)
class BandedSolve(MatrixWork):
    """The y with A y = b, where A has `lower` diagonals below its main one and `upper` above it: the rows of `ab`.

    A[i, j] is ab[upper + i - j, j], as LAPACK stores it; entries of `ab` outside A are not read.
    """

    lower: int
    upper: int
    definite: bool = False  # whether A must be Hermitian and positive definite: others are refused

    complex, work = True, 4

    def infer(self, ab, b):
        rows = self.lower + self.upper + 1
        if ab.ndim != 2 or ab.shape[0] != rows:
            raise ShapeError(
                f"BandedSolve: {self.lower} diagonals below and {self.upper} above need {rows} rows, not {ab.shape}"
            )
        if b.ndim != 2 or b.shape[0] != ab.shape[1]:
            raise ShapeError(f"BandedSolve: the right side of shape {b.shape} must have {ab.shape[1]} rows")
        return Spec(b.shape, inexact_dtype(promote([ab, b])))

    def eval(self, xp, ab, b):
        from scipy.linalg import cholesky_banded, solve_banded

        dtype = inexact_dtype(np.result_type(ab, b))
        if not b.size:
            return np.zeros(b.shape, dtype)
        ab = np.where(self._inside(ab.shape[1]), np.asarray(ab, dtype), 0)
        if self.definite:
            cholesky_banded(ab[: self.upper + 1], check_finite=False)  # raises for others
        return solve_banded((self.lower, self.upper), ab, np.asarray(b, dtype), check_finite=False)

    def _rows(self, n):
        """For each element of `ab` its row in A; its column is its column."""
        return np.arange(-self.upper, self.lower + 1)[:, None] + np.arange(n)

    def _inside(self, n):
        """Which elements of `ab` are elements of A."""
        rows = self._rows(n)
        return (rows >= 0) & (rows < n)

    def _turned(self):
        return card(BandedSolve, self.upper, self.lower)

    def _transposed(self, ab):
        """The diagonals of the transpose, zero outside."""
        n = shape_of(ab)[1]
        other = self._turned()
        rows = other._rows(n)
        places = (self.upper + np.arange(n) - rows) * n + np.clip(rows, 0, max(n - 1, 0))
        taken = squeeze_last(_rows_of(reshape(ab, (shape_of(ab)[0] * n, 1)), places.ravel()))
        return where(other._inside(n), reshape(taken, rows.shape), 0)

    def vjp(self, g, y, ab, b):
        back = self._turned()(conj(self._transposed(ab)), g)

        def pull_diagonals():
            n, k = shape_of(b)
            rows = self._rows(n)
            at_rows = reshape(_rows_of(back, np.clip(rows, 0, max(n - 1, 0)).ravel()), (*rows.shape, k))
            found = -sum_axes(at_rows * conj(y), (2,))
            return match(where(self._inside(n), found, 0), ab)

        return pull_diagonals, lambda: match(back, b)

    def jvp(self, ts, y, ab, b):
        return self(ab, push(ts, lambda t: -self._product(t, y), lambda t: t))

    def _product(self, ab, y):
        """A y, with the rows of A standing in the columns of the transpose."""
        n, k = shape_of(y)
        rows = self._turned()._rows(n)
        at_rows = reshape(_rows_of(y, np.clip(rows, 0, max(n - 1, 0)).ravel()), (*rows.shape, k))
        return sum_axes(expand_last(self._transposed(ab)) * at_rows, (0,))

    def vmap(self, dims, ab, b):
        if dims[0] is None:
            b = batch_front(b, dims[1])
            size, rows, columns = shape_of(b)
            wide = reshape(permute(b, (1, 0, 2)), (rows, size * columns))
            return permute(reshape(self(ab, wide), (rows, size, columns)), (1, 0, 2))
        # One after the other, as one long system: matrices on a diagonal do not meet.
        ab, b = batch_all(dims, (ab, b))
        size, count, n = shape_of(ab)
        ab = where(self._inside(n), ab, 0)
        long = reshape(permute(ab, (1, 0, 2)), (count, size * n))
        return reshape(self(long, reshape(b, (size * n, shape_of(b)[2]))), shape_of(b))

    @classmethod
    def samples(cls, draw):
        for lower, upper, n, k in [(1, 1, 4, 2), (0, 2, 4, 1), (2, 1, 4, 2), (0, 0, 3, 1), (1, 1, 0, 2), (2, 2, 2, 1)]:
            ab = draw(lower + upper + 1, n, domain=(-1.0, 1.0))
            ab[upper] += 5
            yield cls(lower, upper), (ab, draw(n, k))

    @classmethod
    def errors(cls):
        yield cls(1, 1), (Spec((2, 4)), Spec((4, 1))), "1 diagonals below and 1 above need 3 rows"
        yield cls(0, 0), (Spec((1, 4)), Spec((3, 1))), "the right side of shape (3, 1) must have 4 rows"


def _rows_of(x, rows):
    """Rows of a matrix, by numbers known now."""
    return getitem(x, np.asarray(rows))


@public()
def solve_banded(l_and_u: Any, ab: Any, b: Any) -> Any:
    """The x with A @ x = b for a banded A: l_and_u are the numbers of diagonals below and above the main one, and the rows of
    `ab` are the diagonals, the uppermost first: ab[u + i - j, j] = A[i, j].

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.solve_banded((0, 1), [[0.0, 1.0], [1.0, 2.0]], [3.0, 2.0]))
    [2. 1.]
    """
    return solve_banded_system(l_and_u, ab, b)


def solve_banded_system(l_and_u: Any, ab: Any, b: Any, definite: bool = False) -> Any:
    """As `solve_banded`; `definite` refuses matrices that are not positive definite."""
    lower, upper = (int(n) for n in l_and_u)
    b = array(b)
    op = card(BandedSolve, lower, upper, definite)
    return squeeze_last(op(array(ab), expand_last(b))) if ndim(b) == 1 else op(array(ab), b)


# ---------------------------------------------------------------- functions of matrices


@register
@dataclass(frozen=True)
class Sqrtm(SquareMatrix):
    """The principal square root of square matrices. That of real ones must be real: complex ones have any.

    `of_real`: complex ones that were real, which lie on the branch cut; the branch is then SciPy's for real matrices, not rounding's.
    """

    of_real: bool = False
    work = 25

    def eval(self, xp, x):
        from scipy.linalg import sqrtm

        return _function_of_matrix(self, (lambda x: sqrtm(x.real)) if self.of_real else sqrtm, x)

    def vjp(self, g, y, x):
        back = adjoint(y)
        return (card(Sylvester)(back, back, g),)

    def jvp(self, ts, y, x):
        return card(Sylvester)(y, y, ts[0])  # y dy + dy y = dx


@register
@dataclass(frozen=True)
class Logm(SquareMatrix):
    """The principal logarithm of square matrices. That of real ones must be real: complex ones have any."""

    work = 100

    def eval(self, xp, x):
        from scipy.linalg import logm

        return _function_of_matrix(self, logm, x)

    def vjp(self, g, y, x):
        return (self._along(adjoint(x), g),)

    def jvp(self, ts, y, x):
        return self._along(x, ts[0])

    def _along(self, x, t):
        """The derivative at x along t."""
        return self._series(x, t)[0]

    def taylor(self, order, series, y, x):
        return [self._series(x, *(instantiate(c, x) for c in series[0]))]

    def _series(self, *xs):
        """The later coefficients of the logarithm of a series: log [[x, t], [0, x]] = [[log x, D log(x)[t]], [0, log x]], and so on."""
        rows, columns, n, count = ndim(xs[0]) - 2, ndim(xs[0]) - 1, shape_of(xs[0])[-1], len(xs)
        zero = zeros_like(xs[0])
        blocks = [card(Concat, columns)(*[zero] * i, *xs[: count - i]) for i in range(count)]
        whole = self(card(Concat, rows)(*blocks))
        above = (*(WHOLE,) * rows, (0, n, None))
        return [card(GetItem, (*above, (k * n, (k + 1) * n, None)))(whole) for k in range(1, count)]


def _function_of_matrix(op, function, x):
    """A function of SciPy's on each matrix, in the dtype that the card promises."""
    check_square(op, x.shape)
    dtype = inexact_dtype(x.dtype)
    y, double = np.zeros(x.shape, dtype), np.result_type(dtype, np.float64)
    for i in np.ndindex(*x.shape[:-2]) if x.size else ():
        with warnings.catch_warnings():  # of singular matrices, whose result shows it
            warnings.simplefilter("ignore")
            found = function(np.asarray(x[i], double))
        if dtype.kind != "c" and np.iscomplexobj(found):
            if np.abs(found.imag).max() > 1e3 * np.finfo(dtype).eps * max(1.0, np.abs(found).max()):
                raise ArgumentError(
                    f"{type(op).__name__}: the result for a real matrix is complex (it has an eigenvalue on the negative axis). "
                    f"Make the matrix complex first: x.astype(complex), or x + 0j"
                )
            found = found.real
        y[i] = found
    return y


@public()
def sqrtm(input: Any) -> Any:
    """The principal square root of square matrices: y with y @ y = x.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.sqrtm([[4.0, 0.0], [0.0, 9.0]]))
    [[2. 0.]
     [0. 3.]]
    """
    return card(Sqrtm, False)(array(input))


def complex_root_of_real(x: Any) -> Any:
    """The principal square root of a real matrix, in complex numbers."""
    return card(Sqrtm, True)(cast(x, np.result_type(x.dtype, np.complex64)))


@public()
def logm(input: Any) -> Any:
    """The principal logarithm of square matrices, whose `expm` is x.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.logm([[1.0, 1.0], [0.0, 1.0]]))
    [[0. 1.]
     [0. 0.]]
    """
    return card(Logm)(array(input))
