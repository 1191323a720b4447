"""Cards of linear algebra: inverse, linear systems, the matrix exponential.

All act on the last two axes and treat the axes before them as a batch. `X'` in comments is the conjugate transpose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.absent import instantiate
from adjoint.core.dispatch import located
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.spec import (
    Shape,
    Spec,
    broadcast,
    dtype_of,
    float32,
    float64,
    is_complex,
    is_half,
    is_inexact,
    promote,
    shape_of,
)
from adjoint.ops import language as F
from adjoint.ops.broadcast import batch_first, batch_front, conj, match, ndim, push
from adjoint.ops.card import Op, card, register
from adjoint.ops.contract import swap_last
from adjoint.ops.families import MatrixWork
from adjoint.ops.joining import Concat
from adjoint.ops.language import (
    broadcast_to,
    cast,
    expand_last,
    matmul,
    permute,
    reshape,
    squeeze_last,
    where,
    zeros_like,
)
from adjoint.ops.publish import public
from adjoint.ops.slicing import GetItem
from adjoint.ops.stacking import array

WHOLE = (None, None, None)


# ---------------------------------------------------------------- helpers of the rules, written in ops


def adjoint(x):
    """The conjugate transpose of the last two axes."""
    return conj(swap_last(x))


def product(*factors):
    """The matrix product of all factors, from the left."""
    first, *rest = factors
    for factor in rest:
        first = matmul(first, factor)
    return first


def real(x):
    """The real part, free of charge for real values."""
    return F.real(x) if is_complex(x) else x


def triangle(x, lower, strict=False):
    """The lower or upper triangle of the last two axes, zero elsewhere; without the diagonal if `strict`."""
    return where(triangle_mask(shape_of(x)[-2:], lower, strict), x, 0)


def triangle_mask(shape, lower, strict):
    """Where the triangle is; plain booleans."""
    rows, columns = shape
    below = np.tri(rows, columns, -1 if lower == strict else 0, dtype=bool)
    return below if lower else ~below


# ---------------------------------------------------------------- families


def check_square(op: Op, shape: Shape) -> None:
    """Refuse anything but square matrices."""
    name = type(op).__name__
    if len(shape) < 2:
        raise ShapeError(f"{name}: a matrix needs two axes, the input has shape {shape}")
    if shape[-1] != shape[-2]:
        raise ShapeError(f"{name}: the last two axes of {shape} must be equal")


def inexact_dtype(dtype: np.dtype) -> np.dtype:
    """Integers are computed in float64."""
    return dtype if is_inexact(dtype) else float64


def real_dtype(dtype: np.dtype) -> np.dtype:
    """
    >>> real_dtype(np.dtype("complex64"))
    dtype('float32')
    """
    return np.zeros((), inexact_dtype(dtype)).real.dtype


def epsilon(dtype: np.dtype) -> float:
    """The spacing of numbers next to 1 in the precision that this dtype is computed in."""
    return float(np.finfo(float32 if is_half(dtype) else dtype).eps)


def inexact(x: Any) -> Any:
    """The input as an array of floating point or complex numbers."""
    x = array(x)
    return x if is_inexact(dtype_of(x)) else cast(x, float64)


class OneMatrix(MatrixWork):
    """Ops on one matrix, batched over its leading axes."""

    complex = True

    def vmap(self, dims, x):
        return self(batch_front(x, dims[0]))


class SquareMatrix(OneMatrix):
    """Ops on one square matrix with a result of the same shape."""

    def infer(self, x):
        check_square(self, x.shape)
        return Spec(x.shape, inexact_dtype(x.dtype))

    @classmethod
    def samples(cls, draw):
        for lead in [(), (2,), (2, 1), (0,)]:
            yield cls(), (well_conditioned(draw, *lead, 3, 3),)
        yield cls(), (well_conditioned(draw, 1, 1),)
        yield cls(), (draw(0, 0),)

    @classmethod
    def errors(cls):
        yield cls(), (Spec((2, 3)),), f"{cls.__name__}: the last two axes of (2, 3) must be equal"
        yield cls(), (Spec((3,)),), f"{cls.__name__}: a matrix needs two axes"


def well_conditioned(draw, *shape):
    """A sample far from singular matrices."""
    x = draw(*shape, domain=(-1.0, 1.0))
    return x + 3 * np.eye(*shape[-2:], dtype=x.dtype)


# ---------------------------------------------------------------- inverse and linear systems


@register
@dataclass(frozen=True)
class Inv(SquareMatrix):
    """The inverse of square matrices."""

    fails_where = "singular"

    def eval(self, xp, x):
        return xp.linalg.inv(x)

    def vjp(self, g, y, x):
        back = adjoint(y)
        return (-product(back, g, back),)

    def jvp(self, ts, y, x):
        return -product(y, ts[0], y)


@public(aliases=("inverse",), method=("inv", "inverse"))
def inv(input: Any) -> Any:
    """The inverse of square matrices.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.inv([[2.0, 0.0], [0.0, 4.0]]))
    [[0.5  0.  ]
     [0.   0.25]]
    """
    return card(Inv)(array(input))


inverse = inv


class LinearSystem(MatrixWork):
    """Ops that solve A y = b for a matrix b of right sides; leading axes broadcast."""

    complex = True

    def infer(self, a, b):
        check_square(self, a.shape)
        name = type(self).__name__
        if b.ndim < 2 or b.shape[-2] != a.shape[-1]:
            raise ShapeError(
                f"{name}: the right side of shape {b.shape} must have {a.shape[-1]} rows, as the matrix {a.shape}"
            )
        lead = broadcast(self, [Spec(a.shape[:-2]), Spec(b.shape[:-2])])
        return Spec(lead + b.shape[-2:], inexact_dtype(promote([a, b])))

    def vmap(self, dims, a, b):
        da, db = dims
        if da is None and ndim(a) == 2 and ndim(b) == 3:
            # One matrix, many right sides: the batch becomes columns, and the matrix is factorised once.
            size, rows, columns = shape_of(b := batch_front(b, db))
            wide = reshape(permute(b, (1, 0, 2)), (rows, size * columns))
            return permute(reshape(self(a, wide), (rows, size, columns)), (1, 0, 2))
        rank = max(ndim(x) - (d is not None) for x, d in ((a, da), (b, db)))
        return self(batch_first(a, da, rank), batch_first(b, db, rank))

    @classmethod
    def right_sides(cls, draw):
        for a, b in [((3, 3), (3, 2)), ((2, 3, 3), (2, 3, 1)), ((2, 3, 3), (3, 2)), ((3, 3), (2, 3, 2)),
                     ((2, 1, 2, 2), (3, 2, 2)), ((0, 2, 2), (0, 2, 1)), ((2, 2), (2, 0)), ((0, 0), (0, 2))]:  # fmt: skip
            yield well_conditioned(draw, *a), draw(*b)

    @classmethod
    def errors(cls):
        name = cls.__name__
        yield cls(), (Spec((2, 3)), Spec((2, 1))), f"{name}: the last two axes of (2, 3) must be equal"
        yield cls(), (Spec((3, 3)), Spec((2, 1))), f"{name}: the right side of shape (2, 1) must have 3 rows"
        yield cls(), (Spec((2, 3, 3)), Spec((4, 3, 1))), "do not broadcast"


@register
@dataclass(frozen=True)
class Solve(LinearSystem):
    """The y with a y = b; the axes before the last two broadcast."""

    fails_where = "singular"

    def eval(self, xp, a, b):
        return xp.linalg.solve(a, b)

    def vjp(self, g, y, a, b):
        back = self(adjoint(a), g)
        return lambda: match(-matmul(back, adjoint(y)), a), lambda: match(back, b)

    def jvp(self, ts, y, a, b):
        return self(a, push(ts, lambda t: -matmul(t, y), lambda t: _spread_rows(t, y)))

    @classmethod
    def samples(cls, draw):
        for a, b in cls.right_sides(draw):
            yield cls(), (a, b)


def _spread_rows(t, y):
    """A tangent of the right side, which the matrix's leading axes may have broadcast, under the result's shape."""
    return t if shape_of(t) == shape_of(y) else broadcast_to(t, shape_of(y))


@public()
def solve(a: Any, b: Any) -> Any:
    """The x with a @ x = b: b is a vector if it has one axis, else a matrix of right sides.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0]))
    [1.  0.5]
    """
    return _for_columns(card(Solve), array(a), array(b))


def _for_columns(op: Any, a: Any, b: Any) -> Any:
    """A system with one right side is a system with one column."""
    return op(a, b) if ndim(b) != 1 else squeeze_last(op(a, expand_last(b)))


@register
@dataclass(frozen=True)
class TriangularSolve(LinearSystem):
    """The y with A y = b, or A' y = b if `adjoint`, where A is the lower or upper triangle of a.

    The other triangle is not read, nor, with `unit`, the diagonal, which then counts as ones.
    """

    fails_where = "singular triangle"
    lower: bool = True
    adjoint: bool = False
    unit: bool = False

    def eval(self, xp, a, b):
        dtype = inexact_dtype(np.result_type(a, b))
        if xp is np and a.ndim == b.ndim == 2 and a.shape[0] == a.shape[1] and b.size:
            from scipy.linalg import solve_triangular

            a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
            return solve_triangular(a, b, 2 * self.adjoint, self.lower, self.unit, check_finite=False)
        full = xp.where(triangle_mask(a.shape[-2:], self.lower, self.unit), a, 0)
        full = full + xp.eye(a.shape[-1], dtype=dtype) if self.unit else full
        return xp.linalg.solve(xp.conj(xp.swapaxes(full, -1, -2)) if self.adjoint else full, b)

    def vjp(self, g, y, a, b):
        back = card(TriangularSolve, self.lower, not self.adjoint, self.unit)(a, g)

        def pull_matrix():
            outer = matmul(y, adjoint(back)) if self.adjoint else matmul(back, adjoint(y))
            return match(-triangle(outer, self.lower, self.unit), a)

        return pull_matrix, lambda: match(back, b)

    def jvp(self, ts, y, a, b):
        def push_matrix(t):
            t = triangle(t, self.lower, self.unit)
            return -matmul(adjoint(t) if self.adjoint else t, y)

        return self(a, push(ts, push_matrix, lambda t: _spread_rows(t, y)))

    @classmethod
    def samples(cls, draw):
        for a, b in cls.right_sides(draw):
            yield cls(), (a, b)
        for flags in [(False, False, False), (True, True, False), (False, True, True), (True, False, True)]:
            yield cls(*flags), (well_conditioned(draw, 3, 3), draw(3, 2))
            yield cls(*flags), (well_conditioned(draw, 2, 2, 2), draw(2, 1))


@public()
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
    return _for_columns(card(TriangularSolve, bool(lower), kind > 0, bool(unit_diagonal)), a, array(b))


# ---------------------------------------------------------------- the matrix exponential


@register
@dataclass(frozen=True)
class Expm(SquareMatrix):
    """The matrix exponential of square matrices."""

    def eval(self, xp, x):
        check_square(self, x.shape)
        from scipy.linalg import expm

        return expm(x.astype(inexact_dtype(x.dtype), copy=False))

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
        """The later coefficients of the exponential of a series: exp [[x, t], [0, x]] = [[exp x, D exp(x)[t]], [0, exp x]], and so on."""
        rows, columns = ndim(xs[0]) - 2, ndim(xs[0]) - 1
        n, count, zero = shape_of(xs[0])[-1], len(xs), zeros_like(xs[0])
        blocks = [card(Concat, columns)(*[zero] * i, *xs[: count - i]) for i in range(count)]
        whole = self(card(Concat, rows)(*blocks))
        above = (*(WHOLE,) * rows, (0, n, None))
        return [card(GetItem, (*above, (k * n, (k + 1) * n, None)))(whole) for k in range(1, count)]


@public(aliases=("expm",))
def matrix_exp(input: Any) -> Any:
    """The matrix exponential of square matrices.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.matrix_exp([[0.0, 1.0], [0.0, 0.0]]))
    [[1. 1.]
     [0. 1.]]
    """
    return card(Expm)(array(input))


expm = matrix_exp
