"""The unitary factor of a matrix, with derivatives also where singular values coincide, as those of the identity do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adjoint.core.errors import ShapeError
from adjoint.core.spec import Spec, shape_of
from adjoint.ops.card import card, register
from adjoint.ops.decompose import hermitian, skew, without
from adjoint.ops.language import matmul
from adjoint.ops.linalg import OneMatrix, Solve, adjoint, inexact_dtype
from adjoint.ops.matrix_equations import Sylvester


@register
@dataclass(frozen=True)
class PolarFactor(OneMatrix):
    """The u with x = u p, u'u = 1 and p Hermitian without negative eigenvalues, for at least as many rows as columns.

    Of two matrices nearby the factors differ by u w, where w is skew-Hermitian: dx = du p + u dp gives w p + p w = u'dx - dx'u.
    """

    fails_where = "not a number"
    work = 10

    def infer(self, x):
        self._check(x.shape)
        return Spec(x.shape, inexact_dtype(x.dtype))

    def _check(self, shape):
        if len(shape) < 2 or shape[-2] < shape[-1]:
            raise ShapeError(f"PolarFactor: at least as many rows as columns are needed, not the shape {shape}")

    def eval(self, xp, x):
        self._check(x.shape)
        u, _, vh = xp.linalg.svd(x, full_matrices=False)
        return xp.matmul(u, vh)

    def vjp(self, g, u, x):
        p, ut = self._stretch(u, x), adjoint(u)
        back = 2 * matmul(u, card(Sylvester)(p, p, skew(matmul(ut, g))))
        return (back + self._leaving(g, u, p),)

    def jvp(self, ts, u, x):
        p, t = self._stretch(u, x), ts[0]
        turned = matmul(u, card(Sylvester)(p, p, 2 * skew(matmul(adjoint(u), t))))
        return turned + self._leaving(t, u, p)

    def _stretch(self, u, x):
        return hermitian(matmul(adjoint(u), x))

    def _leaving(self, t, u, p):
        """What leaves the span of u, divided by p."""
        rows, columns = shape_of(u)[-2:]
        return adjoint(card(Solve)(p, adjoint(without(t, u)))) if rows > columns else 0.0

    @classmethod
    def samples(cls, draw):
        for shape in [(3, 3), (4, 2), (2, 2, 2), (1, 1), (0, 3, 2)]:
            x = draw(*shape, domain=(-0.5, 0.5))
            yield cls(), (x + 2 * np.eye(*shape[-2:], dtype=x.dtype),)

    @classmethod
    def errors(cls):
        yield cls(), (Spec((2, 3)),), "PolarFactor: at least as many rows as columns are needed, not the shape (2, 3)"


def polar_factor(x):
    """The factor u of x = u p, or of x = p u where x has fewer rows than columns."""
    rows, columns = shape_of(x)[-2:]
    return card(PolarFactor)(x) if rows >= columns else adjoint(card(PolarFactor)(adjoint(x)))
