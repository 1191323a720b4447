"""Cards of the incomplete gamma and beta functions and of Hurwitz's zeta function. SciPy is imported when the first one runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.arrays import special
from adjoint.core.errors import NoRuleError
from adjoint.ops.card import card, register
from adjoint.ops.publish import public
from adjoint.ops.special import Polygamma, SpecialFunction, lgamma
from adjoint.ops.transcendental import exp, log, log1p


def _like(xp: Any, y: Any, *xs: Any) -> Any:
    """The result in the precision of the floats among the inputs."""
    floats = [x.dtype for x in xs if hasattr(x, "dtype") and x.dtype.kind == "f"]
    return xp.asarray(y, np.result_type(*floats) if floats else np.float64)


@register
@dataclass(frozen=True)
class Gammainc(SpecialFunction):
    """The regularised lower incomplete gamma function of a and x, or its `order`-th derivative by a."""

    order: int = 0

    arity, singular, domain = 2, True, (0.5, 4.0)

    def eval(self, xp, a, x):
        if self.order == 0:
            return _like(xp, special(xp).gammainc(a, x), a, x)
        return _like(xp, _derivative(self.order, *(np.asarray(v, np.float64) for v in (a, x))), a, x)

    def partials(self, y, a, x):
        return lambda: card(Gammainc, self.order + 1)(a, x), lambda: _density(self.order, a, x)

    @classmethod
    def samples(cls, draw):
        for order in (0, 1):
            yield cls(order), (draw(2, 3, domain=cls.domain), draw(3, domain=cls.domain))


@register
@dataclass(frozen=True)
class Gammaincc(SpecialFunction):
    """The regularised upper incomplete gamma function of a and x: computed for itself, it keeps its digits where it is small."""

    arity, singular, domain = 2, True, (0.5, 4.0)

    def eval(self, xp, a, x):
        return _like(xp, special(xp).gammaincc(a, x), a, x)

    def partials(self, y, a, x):
        return lambda: -card(Gammainc, 1)(a, x), lambda: -_density(0, a, x)

    @classmethod
    def samples(cls, draw):
        yield cls(), (draw(2, 3, domain=cls.domain), draw(3, domain=cls.domain))


def _density(order: int, a: Any, x: Any) -> Any:
    """x^(a-1) e^-x / Γ(a), differentiated by a `order` times."""
    found = [exp((a - 1) * log(x) - x - lgamma(a))]
    slopes = [log(x) - card(Polygamma, 0)(a), *(-card(Polygamma, k)(a) for k in range(1, order))]
    return of_exponential(found, slopes, order)


def of_exponential(found: list[Any], slopes: list[Any], order: int) -> Any:
    """The `order`-th derivative of exp(h), given exp(h) and the derivatives of h."""
    for k in range(1, order + 1):
        terms = [math.comb(k - 1, j) * found[j] * slopes[k - 1 - j] for j in range(k)]
        found.append(sum(terms[1:], terms[0]))
    return found[order]


def _derivative(order: int, a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The sum of x^(a+n) e^-x / Γ(a+n+1) over n, which is the function, each term differentiated by a."""
    from scipy.special import digamma, gammaln, polygamma

    a, x = np.broadcast_arrays(a, x)
    largest = float(x.max(initial=0.0, where=np.isfinite(x)))
    n = np.arange(int(largest + 12 * math.sqrt(largest + 1) + 60)).reshape((-1,) + (1,) * a.ndim)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = [np.exp((a + n) * np.log(x) - x - gammaln(a + n + 1))]
        slopes = [np.log(x) - digamma(a + n + 1), *(-polygamma(k, a + n + 1) for k in range(1, order))]
        total = of_exponential(found, slopes, order).sum(0)
    return np.where(x > 0, total, 0.0)


@public(ufunc="gammainc")
def gammainc(a: Any, x: Any) -> Any:
    """The regularised lower incomplete gamma function.

    >>> from adjoint import ops, Tensor
    >>> print(ops.gammainc(Tensor([1.0]), Tensor([2.0])).round(4))
    [0.8647]
    """
    return card(Gammainc, 0)(a, x)


@public(ufunc="gammaincc")
def gammaincc(a: Any, x: Any) -> Any:
    """The regularised upper incomplete gamma function: 1 - gammainc(a, x), without the loss of digits where that is close to 0.

    >>> from adjoint import ops, Tensor
    >>> print(ops.gammaincc(Tensor([1.0]), Tensor([2.0])).round(4))
    [0.1353]
    """
    return card(Gammaincc)(a, x)


@register(
    function="betainc", ufunc="betainc", example="betainc(Tensor([1.0]), Tensor([1.0]), Tensor([0.25])) -> [0.25]"
)
@dataclass(frozen=True)
class Betainc(SpecialFunction):
    """The regularised incomplete beta function of a, b and x; it has no derivative by a and b."""

    arity, singular = 3, True

    def eval(self, xp, a, b, x):
        return _like(xp, special(xp).betainc(a, b, x), a, b, x)

    def partials(self, y, a, b, x):
        return (
            lambda: _no_rule(self, "its first input"),
            lambda: _no_rule(self, "its second input"),
            lambda: exp((a - 1) * log(x) + (b - 1) * log1p(-x) + lgamma(a + b) - lgamma(a) - lgamma(b)),
        )

    @classmethod
    def samples(cls, draw):
        yield cls(), (np.array([[1], [2]]), np.array([3, 1, 2]), draw(2, 3, domain=(0.1, 0.9)))


@register(function="zeta", ufunc="zeta", example="zeta(Tensor([2.0]), Tensor([1.0])).round(4) -> [1.6449]")
@dataclass(frozen=True)
class Zeta(SpecialFunction):
    """Hurwitz's zeta function, the sum of (q + n)^-x over all n from 0 on; it has no derivative by x."""

    arity, singular = 2, True

    def eval(self, xp, x, q):
        return _like(xp, special(xp).zeta(x, q), x, q)

    def partials(self, y, x, q):
        return lambda: _no_rule(self, "its first input"), lambda: -x * card(Zeta)(x + 1, q)

    @classmethod
    def samples(cls, draw):
        yield cls(), (np.array([[2], [3]]), draw(2, 3, domain=(0.5, 3.0)))


def _no_rule(op: Any, what: str) -> Any:
    raise NoRuleError(op, f"vjp or jvp by {what}", "Wrap that input in stop_gradient.")
