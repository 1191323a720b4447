"""Cards of determinants, with derivatives of every order at singular matrices too."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from adjoint.core.absent import ZERO
from adjoint.core.spec import Spec, is_complex, promote
from adjoint.ops.broadcast import batch_all, conj, match, ndim, push
from adjoint.ops.card import card, register
from adjoint.ops.complex_parts import imag
from adjoint.ops.contract import swap_last
from adjoint.ops.families import MatrixWork
from adjoint.ops.language import expand_last, less, log, sum_axes, where
from adjoint.ops.linalg import (
    Inv,
    OneMatrix,
    SquareMatrix,
    adjoint,
    check_square,
    inexact_dtype,
    real,
    real_dtype,
    well_conditioned,
)
from adjoint.ops.publish import public
from adjoint.ops.stacking import array


def as_matrix(x):
    """A number for each matrix, with two axes of size 1 to multiply it by."""
    return expand_last(expand_last(x))


def trace_of_product(x, y):
    """The trace of x y, without the product."""
    return sum_axes(swap_last(x) * y, (ndim(y) - 2, ndim(y) - 1))


@register
@dataclass(frozen=True)
class Det(OneMatrix):
    """The determinant of square matrices; differentiable at singular ones too."""

    work = 1

    def infer(self, x):
        check_square(self, x.shape)
        return Spec(x.shape[:-2], inexact_dtype(x.dtype))

    def eval(self, xp, x):
        return xp.linalg.det(x)

    def vjp(self, g, y, x):
        return (as_matrix(g) * conj(card(Cofactor)(x)),)

    def jvp(self, ts, y, x):
        return sum_axes(card(Cofactor)(x) * ts[0], (ndim(x) - 2, ndim(x) - 1))

    @classmethod
    def samples(cls, draw):
        yield from _any_square(cls, draw)

    errors = SquareMatrix.__dict__["errors"]


def _any_square(cls, draw):
    """Samples with square matrices, one of them singular."""
    for shape in [(3, 3), (2, 2, 2), (1, 1), (0, 2, 2), (0, 0)]:
        yield cls(), (draw(*shape),)
    yield cls(), (np.outer(*draw(2, 3)) + np.outer(*draw(2, 3)),)


@public(method=True)
def det(input: Any) -> Any:
    """The determinant of square matrices; its derivative at singular ones is the matrix of cofactors.

    >>> import adjoint as ad
    >>> from adjoint.ops.functional import linalg
    >>> print(ad.grad(linalg.det)(ad.Tensor([[1.0, 2.0], [2.0, 4.0]])))
    [[ 4. -2.]
     [-2.  1.]]
    """
    return card(Det)(array(input))


@register
@dataclass(frozen=True)
class Cofactor(MatrixWork):
    """The derivative by x of D^k det(x)[t1, ..., tk], which for k = 0 is the matrix of cofactors.

    That is det(x) x^-T if there is an inverse; a determinant is a polynomial, and so it exists if there is none.
    """

    complex, work = True, 1

    def infer(self, x, *ts):
        check_square(self, x.shape)
        return Spec(x.shape, inexact_dtype(promote([x, *ts])))

    def eval(self, xp, x, *ts):
        if not x.size or len(ts) >= x.shape[-1]:  # more directions than the polynomial has degrees
            return xp.zeros(x.shape, np.result_type(inexact_dtype(x.dtype), *(t.dtype for t in ts)))
        if xp is np and not ts and (inverse := _inverse_of_regular(x)) is not None:
            return np.swapaxes(np.linalg.det(x)[..., None, None] * inverse, -1, -2)
        points = _regular_points(xp, x)
        total = sum(cofactor_of_regular(xp, p, ts) for p in points) / len(points)
        return total if any(v.dtype.kind == "c" for v in (x, *ts)) else total.real

    def vjp(self, g, y, x, *ts):
        # Each derivative of a determinant is symmetric in its directions: contract with g where t stood.
        def pull(i):
            return match(conj(self(x, *ts[:i], conj(g), *ts[i + 1 :])), ts[i] if i < len(ts) else x)

        return lambda: pull(len(ts)), *(lambda i=i: pull(i) for i in range(len(ts)))

    def jvp(self, tangents, y, x, *ts):
        by_ts = [lambda t, i=i: self(x, *ts[:i], t, *ts[i + 1 :]) for i in range(len(ts))]
        return push(tangents, lambda t: self(x, *ts, t), *by_ts)

    def vmap(self, dims, *xs):
        return self(*batch_all(dims, xs))

    @classmethod
    def samples(cls, draw):
        yield from _any_square(cls, draw)
        yield cls(), (draw(3, 3), draw(3, 3))
        yield cls(), (draw(2, 3, 3), draw(2, 3, 3), draw(2, 3, 3))

    @classmethod
    def errors(cls):
        yield cls(), (Spec((2, 3)),), "Cofactor: the last two axes of (2, 3) must be equal"


def _regular_points(xp, x):
    """The matrices themselves, if all are well-conditioned, else some around them: see `points_around`."""
    return [x] if not xp.any(xp.linalg.cond(x, 1) >= condition_limit(x.dtype)) else points_around(xp, x)


def _inverse_of_regular(x: np.ndarray) -> np.ndarray | None:
    """The inverse of matrices, if all are well-conditioned, as it tells itself."""
    try:
        inverse = np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return None
    condition = _largest_column(x) * _largest_column(inverse)
    return inverse if (condition < condition_limit(x.dtype)).all() else None


def _largest_column(x: np.ndarray) -> Any:
    return np.abs(x).sum(-2).max(-1)


@cache
def condition_limit(dtype: np.dtype) -> float:
    """The condition from which on the inverse of a matrix has lost too many digits."""
    return float(np.finfo(inexact_dtype(dtype)).eps ** -0.25)


def points_around(xp: Any, x: Any, roots: int = 0) -> list[Any]:
    """Well-conditioned matrices around x, over which the determinant and its derivatives average to their values at x.

    If M lifts the r smallest singular values, det(x + z M) is a polynomial in z of degree r: its mean over r + 1 `roots`
    of unity, or more, is its value at z = 0, and so it is for all derivatives by x.
    """
    limit, dtype = condition_limit(x.dtype), np.result_type(inexact_dtype(x.dtype), np.complex64)
    u, s, vh = xp.linalg.svd(x)
    scale = xp.where(s[..., :1] > 0, s[..., :1], 1)
    small = s * limit <= scale
    shift = xp.matmul(u * xp.where(small, scale, 0)[..., None, :], vh)
    roots = roots or int(xp.max(xp.sum(small, axis=-1))) + 1
    return [x + np.exp(2j * np.pi * k / roots).astype(dtype) * shift for k in range(roots)]


def cofactor_of_regular(xp: Any, x: Any, ts: Any) -> Any:
    """The coefficient of e1...ek in det(z) z^-T for z = x + e1 t1 + ... + ek tk; products of e's are named by bits."""
    inverse, det = {0: xp.linalg.inv(x)}, {0: xp.linalg.det(x)}
    whole = (1 << len(ts)) - 1
    for s in range(1, whole + 1):
        bits = [i for i in range(len(ts)) if s >> i & 1]
        inverse[s] = -xp.matmul(inverse[0], sum(xp.matmul(ts[i], inverse[s ^ 1 << i]) for i in bits))
        rest = s ^ 1 << bits[-1]
        # Jacobi: the derivative of det(z) by e_i is det(z) times the trace of t_i z^-1.
        det[s] = sum(det[r] * xp.einsum("...ij,...ji->...", ts[bits[-1]], inverse[rest ^ r]) for r in _subsets(rest))
    return xp.swapaxes(sum(det[r][..., None, None] * inverse[whole ^ r] for r in _subsets(whole)), -1, -2)


def _subsets(s):
    return [r for r in range(s + 1) if r | s == s]


@register
@dataclass(frozen=True)
class SLogDet(OneMatrix):
    """Sign (or phase) and logarithm of the absolute value of the determinant of square matrices."""

    work = 1

    def infer(self, x):
        check_square(self, x.shape)
        return Spec(x.shape[:-2], inexact_dtype(x.dtype)), Spec(x.shape[:-2], real_dtype(x.dtype))

    def eval(self, xp, x):
        return tuple(xp.linalg.slogdet(x))

    def vjp(self, g, y, x):
        sign, log = g
        if is_complex(x):
            # log det = log|det| + i phase, and the sign is exp(i phase).
            log = log + 1j * imag(sign * conj(y[0]))
        return (as_matrix(log) * adjoint(card(Inv)(x)),)

    def jvp(self, ts, y, x):
        t = trace_of_product(card(Inv)(x), ts[0])
        return (y[0] * (1j * imag(t)), real(t)) if is_complex(x) else (ZERO, t)

    @classmethod
    def samples(cls, draw):
        for shape in [(3, 3), (2, 2, 2), (1, 1), (0, 2, 2)]:
            yield cls(), (well_conditioned(draw, *shape),)
        yield cls(), (-well_conditioned(draw, 3, 3),)

    errors = SquareMatrix.__dict__["errors"]


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Any
    logabsdet: Any


@public()
def slogdet(input: Any) -> SlogdetResult:
    """Sign (for complex matrices the phase) of the determinant, and logarithm of its absolute value.

    >>> from adjoint.ops.functional import linalg
    >>> sign, logabsdet = linalg.slogdet([[0.0, 1.0], [1.0, 0.0]])
    >>> print(sign, logabsdet)
    -1.0 0.0
    """
    return SlogdetResult(*card(SLogDet)(array(input)))


@public()
def logdet(input: Any) -> Any:
    """The logarithm of the determinant; NaN where a real determinant is negative.

    >>> from adjoint.ops.functional import linalg
    >>> print(linalg.logdet([[1.0, 2.0], [0.0, 1.0]]))
    0.0
    """
    sign, size = slogdet(input)
    return size + log(sign) if is_complex(sign) else where(less(sign, 0), float("nan"), size)
