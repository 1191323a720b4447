"""Cards of the special functions. SciPy is imported when the first one runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.arrays import special
from adjoint.ops.card import card, register
from adjoint.ops.families import Elementwise
from adjoint.ops.publish import public
from adjoint.ops.transcendental import exp


class SpecialFunction(Elementwise):
    """Functions that take several series."""

    work, expensive = 40, True


@register(function="erf", method=True, ufunc="erf", example="erf(Tensor([0.0])) -> [0.]")
@dataclass(frozen=True)
class Erf(SpecialFunction):
    """The error function."""

    edges = (-1e3, 0.0, 1e3)
    keeps_floats = True

    def eval(self, xp, x):
        return special(xp).erf(x)

    def emit(self, b, x):
        return b.call("erf", x)

    def partials(self, y, x):
        return (lambda: (2.0 / math.sqrt(math.pi)) * exp(-x * x),)


@register(function="erfc", method=True, ufunc="erfc", example="erfc(Tensor([0.0])) -> [1.]")
@dataclass(frozen=True)
class Erfc(SpecialFunction):
    """1 - erf(x), exact for large x."""

    edges = (-1e3, 20.0, 1e3)
    keeps_floats = True

    def eval(self, xp, x):
        return special(xp).erfc(x)

    def emit(self, b, x):
        return b.call("erfc", x)

    def partials(self, y, x):
        return (lambda: (-2.0 / math.sqrt(math.pi)) * exp(-x * x),)


@register(function="erfinv", method=True, ufunc="erfinv", example="erfinv(Tensor([0.0])) -> [0.]")
@dataclass(frozen=True)
class Erfinv(SpecialFunction):
    """The inverse of erf, between -1 and 1."""

    singular, domain, edges = True, (-0.8, 0.8), (-1.0, 1.0)
    calls = "erfinv"
    keeps_floats = True

    def eval(self, xp, x):
        return special(xp).erfinv(x)

    def emit(self, b, x):
        return b.special("erfinv", x)

    def partials(self, y, x):
        return (lambda: (0.5 * math.sqrt(math.pi)) * exp(y * y),)


@register(
    function="lgamma", aliases=("gammaln",), method=True, ufunc="gammaln", example="lgamma(Tensor([1.0])) -> [0.]"
)
@dataclass(frozen=True)
class Lgamma(SpecialFunction):
    """The logarithm of the absolute value of the gamma function."""

    singular, domain, edges = True, (0.5, 4.0), (1e-8, 1e8)
    calls = "gammaln"
    keeps_floats = True

    def eval(self, xp, x):
        return special(xp).gammaln(x)

    def emit(self, b, x):
        return b.special("gammaln", x)

    def partials(self, y, x):
        return (lambda: Polygamma(0)(x),)


@register
@dataclass(frozen=True)
class Polygamma(SpecialFunction):
    """The `order`-th derivative of digamma; digamma itself at order 0."""

    order: int

    singular, domain = True, (0.5, 4.0)
    keeps_floats = True

    def eval(self, xp, x):
        y = special(xp).digamma(x) if self.order == 0 else special(xp).polygamma(self.order, x)
        return y.astype(xp.float32) if xp.asarray(x).dtype == xp.float32 else y

    @property
    def calls(self) -> str:  # type: ignore[override]
        """Hurwitz's zeta function gives all but digamma."""
        return "_zeta" if self.order else "psi"

    def emit(self, b, x):
        if self.order == 0:
            return b.special("psi", x)
        sums = b.special("_zeta", b.constant(self.order + 1, np.float64), b.cast(x, np.dtype(np.float64)))
        return b.cast(b.mul(float((-1) ** (self.order + 1) * math.factorial(self.order)), sums), x.dtype)

    def partials(self, y, x):
        return (lambda: Polygamma(self.order + 1)(x),)

    @classmethod
    def samples(cls, draw):
        for order in (0, 1, 2):
            yield cls(order), (draw(2, 3, domain=cls.domain),)


@public(method=True, ufunc=("psi", "digamma"))
def digamma(input: Any) -> Any:
    """The logarithmic derivative of the gamma function.

    >>> from adjoint import ops, Tensor
    >>> print(ops.digamma(Tensor([1.0])).round(4))
    [-0.5772]
    """
    return card(Polygamma, 0)(input)


@public(method=True)
def polygamma(n: int, input: Any) -> Any:
    """The n-th derivative of digamma.

    >>> from adjoint import ops, Tensor
    >>> print(ops.polygamma(1, Tensor([1.0])).round(4))
    [1.6449]
    """
    return card(Polygamma, n)(input)


erf, erfc, erfinv, lgamma = Erf(), Erfc(), Erfinv(), Lgamma()
