"""Cards of the incomplete gamma functions and of Hurwitz's zeta function. SciPy is imported when the first one runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.arrays import special
from adjoint.core.errors import NoRuleError
from adjoint.ops import language as F
from adjoint.ops.card import card, register
from adjoint.ops.publish import public
from adjoint.ops.special import Polygamma, SpecialFunction, lgamma
from adjoint.ops.transcendental import exp, log

BLOCK, TERMS = 4096, 32  # elements of a series, and of its terms, that are computed at a time


def like_floats(xp: Any, y: Any, *xs: Any) -> Any:
    """The result in the precision of the floats among the inputs."""
    floats = [x.dtype for x in xs if hasattr(x, "dtype") and x.dtype.kind == "f"]
    return xp.asarray(y, np.result_type(*floats) if floats else np.float64)


@register
@dataclass(frozen=True)
class Gammainc(SpecialFunction):
    """The regularised lower incomplete gamma function of a and x, or its `order`-th derivative by a."""

    order: int = 0

    arity, singular, domain, calls = 2, True, (0.5, 4.0), "gammainc"

    @property
    def emits(self) -> str:  # type: ignore[override]
        """SciPy has no derivatives by a."""
        return "" if self.order else "f"

    def eval(self, xp, a, x):
        if self.order == 0:
            return like_floats(xp, special(xp).gammainc(a, x), a, x)
        return like_floats(xp, _derivative(self.order, *(np.asarray(v, np.float64) for v in (a, x))), a, x)

    def emit(self, b, a, x):
        return b.special("gammainc", a, x)

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

    arity, singular, domain, calls = 2, True, (0.5, 4.0), "gammaincc"

    def eval(self, xp, a, x):
        return like_floats(xp, special(xp).gammaincc(a, x), a, x)

    def emit(self, b, a, x):
        return b.special("gammaincc", a, x)

    def partials(self, y, a, x):
        return lambda: -card(Gammainc, 1)(a, x), lambda: -_density(0, a, x)

    @classmethod
    def samples(cls, draw):
        yield cls(), (draw(2, 3, domain=cls.domain), draw(3, domain=cls.domain))


def _density(order: int, a: Any, x: Any) -> Any:
    """x^(a-1) e^-x / Γ(a), differentiated by a `order` times."""
    edge, far = F.equal(x, 0), F.equal(x, np.inf)  # at 0 logarithms are infinite, but derivatives may be numbers
    inside = F.where(F.bitwise_or(edge, far), 1.0, x)
    usual = exp((a - 1) * log(inside) - inside - lgamma(a))
    found = [F.where(edge, power_at_0(edge, x, a) * exp(-x - lgamma(a)), F.where(far, 0.0, usual))]
    if order == 0:
        return found[0]
    nothing = F.bitwise_or(far, F.bitwise_and(edge, F.greater(a, 1)))  # there it is 0, and its derivatives by a are
    slope = log(F.where(nothing, 1.0, x))
    slopes = [slope - card(Polygamma, 0)(a), *(-card(Polygamma, k)(a) for k in range(1, order))]
    return of_exponential(found, slopes, order)


def power_at_0(edge: Any, x: Any, a: Any) -> Any:
    """x^(a-1) where x is at the edge 0, with its derivatives by x; else 1."""
    return F.pow(F.where(edge, x, 1.0), F.where(edge, a, 1.0) - 1.0)


def of_exponential(found: list[Any], slopes: list[Any], order: int) -> Any:
    """The `order`-th derivative of exp(h), given exp(h) and the derivatives of h."""
    for k in range(1, order + 1):
        terms = [math.comb(k - 1, j) * found[j] * slopes[k - 1 - j] for j in range(k)]
        found.append(sum(terms[1:], terms[0]))
    return found[order]


def _derivative(order: int, a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The sum of x^(a+n) e^-x / Γ(a+n+1) over n, which is the function, each term differentiated by a.

    Where little is left to 1, what is left is differentiated instead.
    """
    from scipy.special import gammaincc

    a, x = np.broadcast_arrays(a, x)
    rest = gammaincc(a, x)
    far = (rest < 0.1) & (x > a + 1) & (a > 0) & np.isfinite(x)
    result = np.zeros(a.shape)
    if far.any():
        result[far] = -_derivative_of_rest(order, rest[far], a[far], x[far])
        if far.all():
            return result
    near = ~far
    result[near] = in_blocks(lambda a, x: _summed(order, a, x), a[near], x[near])
    return result


def in_blocks(fn: Any, *arrays: np.ndarray) -> np.ndarray:
    """A function of the elements of vectors, of so many at a time: what it makes of each in between need not be there at once."""
    count = len(arrays[0])
    if count <= BLOCK:
        return fn(*arrays)
    return np.concatenate([fn(*(v[k : k + BLOCK] for v in arrays)) for k in range(0, count, BLOCK)])


def _summed(order: int, a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The series term by term, for vectors, so many terms at a time."""
    from scipy.special import digamma, gammaln, polygamma

    largest = float(x.max(initial=0.0, where=np.isfinite(x)))
    terms, total = int(largest + 12 * math.sqrt(largest + 1) + 60), np.zeros(a.shape)
    some = max(TERMS, BLOCK * TERMS // max(len(a), 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        for first in range(0, terms, some):
            n = np.arange(first, min(first + some, terms))[:, None]
            found = [np.exp((a + n) * np.log(x) - x - gammaln(a + n + 1))]
            slopes = [np.log(x) - digamma(a + n + 1), *(-polygamma(k, a + n + 1) for k in range(1, order))]
            total += of_exponential(found, slopes, order).sum(0)
    return np.where((x > 0) & (x < np.inf), total, np.where(np.isnan(a + x), np.nan, 0.0))


def _derivative_of_rest(order: int, rest: np.ndarray, a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The derivative by a of gammaincc, which is x^a e^-x / Γ(a) / s with s a continued fraction: x + 1 - a - (1 - a) / (x + 3 - a - ...)."""
    from scipy.special import digamma, polygamma

    terms, s = 64, _fraction(order, 32, a, x)
    while terms <= 8192:
        before, s = s, _fraction(order, terms, a, x)
        if (np.abs(s - before).max(-1) <= 1e-15 * np.abs(s).max(-1)).all():
            break
        terms *= 2
    logs: list[Any] = [None]  # the power series of log(s) around a
    for k in range(1, order + 1):
        logs.append((s[k] - sum(j / k * logs[j] * s[k - j] for j in range(1, k))) / s[0])
    slopes = [np.log(x) - digamma(a) - logs[1]]
    slopes += [-polygamma(k, a) - math.factorial(k + 1) * logs[k + 1] for k in range(1, order)]
    return of_exponential([rest], slopes, order)


def _fraction(order: int, terms: int, a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The power series around a, up to an order, of that continued fraction with so many terms."""
    s = np.zeros((order + 1, *a.shape))
    s[0], s[1] = x - a + (2 * terms + 1), -1.0
    for n in range(terms, 0, -1):
        inverse = [1 / s[0]]
        for k in range(1, order + 1):
            inverse.append(-inverse[0] * sum(s[j] * inverse[k - j] for j in range(1, k + 1)))
        for k in range(order + 1):
            s[k] = n * (inverse[k - 1] if k else 0.0) - n * (n - a) * inverse[k]
        s[0] += x - a + (2 * n - 1)
        s[1] -= 1.0
    return s


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


def gamma_density(a: Any, x: Any) -> Any:
    """The derivative of gammainc by x."""
    return _density(0, a, x)


def gammainc_slope(a: Any, x: Any) -> Any:
    """The derivative of gammainc by a."""
    return card(Gammainc, 1)(a, x)


@register(function="zeta", ufunc="zeta", example="zeta(Tensor([2.0]), Tensor([1.0])).round(4) -> [1.6449]")
@dataclass(frozen=True)
class Zeta(SpecialFunction):
    """Hurwitz's zeta function, the sum of (q + n)^-x over all n from 0 on; it has no derivative by x."""

    arity, singular, calls = 2, True, "_zeta"

    def eval(self, xp, x, q):
        return like_floats(xp, special(xp).zeta(x, q), x, q)

    def emit(self, b, x, q):
        return b.special("_zeta", x, q)

    def partials(self, y, x, q):
        return lambda: no_rule(self, "its argument x"), lambda: -x * card(Zeta)(x + 1, q)

    @classmethod
    def samples(cls, draw):
        yield cls(), (np.array([[2], [3]]), draw(2, 3, domain=(0.5, 3.0)))


def no_rule(op: Any, what: str) -> Any:
    raise NoRuleError(op, f"vjp or jvp by {what}", "Wrap that input in stop_gradient.")
