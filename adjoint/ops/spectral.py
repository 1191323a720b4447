"""Eigenvalues of Hermitian matrices and singular values: `eigh`, `svd`, `pinv`.

Eigenvectors and singular vectors are determined up to a phase (for real matrices a sign): the rules hold it still, so derivatives
are right for every function whose value does not depend on it. Where values coincide vectors are any in a plane, and how those of
matrices nearby lie in it decides the derivative: it is NaN, if it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from adjoint.core.absent import ZERO, add, instantiate
from adjoint.core.errors import ShapeError
from adjoint.core.spec import Spec, shape_of
from adjoint.ops.broadcast import conj, ndim
from adjoint.ops.card import card, register
from adjoint.ops.decompose import (
    Complement,
    hermitian,
    hermitian_array,
    inverse_gaps,
    inverse_sums,
    inverse_values,
    on_diagonal,
    scale_columns,
    sides,
    skew,
    without,
)
from adjoint.ops.joining import concat
from adjoint.ops.language import expand_row, masked_mul, matmul, sum_axes
from adjoint.ops.linalg import OneMatrix, SquareMatrix, adjoint, check_square, inexact_dtype, product, real, real_dtype
from adjoint.ops.publish import public
from adjoint.ops.stacking import array


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
    """Eigenvalues in ascending order, and eigenvectors as columns, of the Hermitian part of square matrices.

    LAPACK reads one triangle, the `upper` or the lower one: the signs of the vectors depend on which, nothing else does.
    """

    upper: bool = False

    fails_where = "not a number"
    complex = False  # works for complex matrices, but the phase of each eigenvector is free

    @classmethod
    def samples(cls, draw):
        yield from super().samples(draw)
        yield cls(True), (draw(3, 3, domain=(-0.5, 0.5)) + np.diag([1.0, 2.0, 3.0]),)

    def infer(self, x):
        check_square(self, x.shape)
        return Spec(x.shape[:-1], real_dtype(x.dtype)), Spec(x.shape, inexact_dtype(x.dtype))

    def eval(self, xp, x):
        check_square(self, x.shape)
        return tuple(xp.linalg.eigh(hermitian_array(xp, x), "U" if self.upper else "L"))

    takes_zero = True

    def vjp(self, g, y, x):
        (gw, gv), (w, v) = g, y
        inner = ZERO if gw is ZERO else on_diagonal(expand_row(gw))
        if gv is not ZERO:
            inner = add(inner, masked_mul(inverse_gaps(w), matmul(adjoint(v), gv)))
        return (hermitian(product(v, inner, adjoint(v))),)

    def jvp(self, ts, y, x):
        w, v = y
        turned = product(adjoint(v), hermitian(ts[0]), v)
        return _diagonal(turned), matmul(v, masked_mul(inverse_gaps(w), turned))


def _diagonal(x):
    """The real part of the diagonals of square matrices."""
    return real(sum_axes(on_diagonal(x), (ndim(x) - 1,)))


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Any
    eigenvectors: Any


@public()
def eigh(input: Any) -> EighResult:
    """Eigenvalues in ascending order, and eigenvectors as columns, of symmetric or Hermitian matrices.

    A function of the eigenvectors has a derivative if it does not depend on their signs (or phases) and, where
    eigenvalues coincide, on the choice of vectors.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.eigh([[2.0, 1.0], [1.0, 2.0]]).eigenvalues)
    [1. 3.]
    """
    return EighResult(*card(Eigh)(array(input)))


@register
@dataclass(frozen=True)
class Eigvalsh(SpectrumOfHermitian):
    """Eigenvalues, in ascending order, of the Hermitian part of square matrices."""

    fails_where = "not a number"

    def infer(self, x):
        check_square(self, x.shape)
        return Spec(x.shape[:-1], real_dtype(x.dtype))

    def eval(self, xp, x):
        check_square(self, x.shape)
        return xp.linalg.eigvalsh(hermitian_array(xp, x))

    def vjp(self, g, y, x):
        _, v = card(Eigh)(x)
        return (hermitian(matmul(scale_columns(v, g), adjoint(v))),)

    def jvp(self, ts, y, x):
        _, v = card(Eigh)(x)
        return _diagonal(product(adjoint(v), hermitian(ts[0]), v))


@public()
def eigvalsh(input: Any) -> Any:
    """Eigenvalues, in ascending order, of symmetric or Hermitian matrices.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]]))
    [1. 3.]
    """
    return card(Eigvalsh)(array(input))


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

    fails_where = "not a number"
    complex = False  # works for complex matrices, but the phase of each pair of vectors is free

    def infer(self, x):
        (*lead, k), (m, n) = self._check(x.shape), x.shape[-2:]
        dtype = inexact_dtype(x.dtype)
        return Spec((*lead, m, k), dtype), Spec((*lead, k), real_dtype(x.dtype)), Spec((*lead, k, n), dtype)

    def eval(self, xp, x):
        return tuple(xp.linalg.svd(x, full_matrices=False))

    takes_zero = True

    def vjp(self, g, y, x):
        (gu, gs, gvh), (u, s, vh) = g, y
        if gu is gvh is ZERO:
            return (matmul(scale_columns(u, gs), vh),)
        gu, gs, gvh = map(instantiate, (gu, gs, gvh), y)
        (m, k), n = shape_of(u)[-2:], shape_of(vh)[-1]
        left, right = matmul(adjoint(u), gu), matmul(vh, adjoint(gvh))
        core = on_diagonal(expand_row(gs)) + hermitian(masked_mul(inverse_gaps(s), left + right))
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
        both, apart = masked_mul(inverse_gaps(s), hermitian(p)), inverse_sums(s) * skew(p)
        du, dv = matmul(u, both + apart), matmul(v, both - apart)
        if m > k:
            du = du + without(matmul(t, v) * inverse_values(s), u)
        if n > k:
            dv = dv + without(matmul(adjoint(t), u) * inverse_values(s), v)
        return du, _diagonal(p), adjoint(dv)


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Any
    S: Any
    Vh: Any


@public(method=True)
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
    u, s, vh = card(SVD)(x)
    m, n = sides("svd", x)
    if full_matrices and m > n:
        u = concat([u, card(Complement)(u)], axis=-1)
    if full_matrices and n > m:
        vh = concat([vh, adjoint(card(Complement)(adjoint(vh)))], axis=-2)
    return SVDResult(u, s, vh)


@register
@dataclass(frozen=True)
class SVDVals(Singular):
    """Singular values, in descending order."""

    fails_where = "not a number"

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


@public()
def svdvals(input: Any) -> Any:
    """Singular values, in descending order.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.svdvals([[0.0, 3.0], [2.0, 0.0]]))
    [3. 2.]
    """
    return card(SVDVals)(array(input))


@register
@dataclass(frozen=True)
class Pinv(Singular):
    """The Moore-Penrose inverse; singular values up to `rtol` times the largest count as 0 (None: up to rounding).

    Differentiated at constant rank: where the rank changes the pseudo-inverse is not continuous.
    """

    fails_where = "not a number"
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


@public()
def pinv(input: Any, rcond: float | None = None, *, rtol: float | None = None) -> Any:
    """The Moore-Penrose inverse of matrices of any shape; singular values up to `rcond` (or `rtol`) times the largest
    count as 0.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.pinv([[2.0], [0.0]]))
    [[0.5 0. ]]
    """
    return card(Pinv, rtol if rcond is None else rcond)(array(input))
