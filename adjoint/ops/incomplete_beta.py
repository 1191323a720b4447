"""The incomplete beta function, and its derivatives by all its parameters. SciPy is imported when the first one runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.arrays import special
from adjoint.ops import language as F
from adjoint.ops.card import card, register
from adjoint.ops.incomplete import in_blocks, like_floats, no_rule, power_at_0
from adjoint.ops.special import Polygamma, SpecialFunction, lgamma
from adjoint.ops.special_slopes import DigammaStep
from adjoint.ops.transcendental import exp, log, log1p


@register(
    function="betainc", ufunc="betainc", example="betainc(Tensor([1.0]), Tensor([1.0]), Tensor([0.25])) -> [0.25]"
)
@dataclass(frozen=True)
class Betainc(SpecialFunction):
    """The regularised incomplete beta function of a, b and x, or its derivative by a and b, up to the second order."""

    by_a: int = 0
    by_b: int = 0

    arity, singular, domain, calls = 3, True, (0.5, 4.0), "betainc"

    @property
    def emits(self) -> str:  # type: ignore[override]
        """SciPy has no derivatives by the parameters."""
        return "" if self.by_a or self.by_b else "f"

    def eval(self, xp, a, b, x):
        if self.by_a + self.by_b == 0:
            return like_floats(xp, special(xp).betainc(a, b, x), a, b, x)
        return like_floats(
            xp, beta_series(self.by_a, self.by_b, *(np.asarray(v, np.float64) for v in (a, b, x))), a, b, x
        )

    def emit(self, b, alpha, beta, x):
        return b.special("betainc", alpha, beta, x)

    def partials(self, y, a, b, x):
        return (
            lambda: self._higher(1, 0)(a, b, x),
            lambda: self._higher(0, 1)(a, b, x),
            lambda: _beta_density(self.by_a, self.by_b, a, b, x),
        )

    def _higher(self, a: int, b: int) -> Any:
        if self.by_a + self.by_b == 2:
            no_rule(self, "its parameters, of third order")
        return card(Betainc, self.by_a + a, self.by_b + b)

    @classmethod
    def samples(cls, draw):
        yield cls(), tuple(draw(2, 3, domain=d) for d in (cls.domain, cls.domain, (0.1, 0.9)))
        for orders in ((1, 0), (0, 2)):
            yield cls(*orders), (np.array([[1], [2]]), np.array([3, 1, 2]), draw(2, 3, domain=(0.1, 0.9)))


def beta_slope(by_a: int, by_b: int) -> Any:
    """The derivative of betainc by its parameters."""
    return card(Betainc, by_a, by_b)


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """The derivative of betainc by x."""
    first, last = F.equal(x, 0), F.equal(x, 1)
    inside = F.where(F.bitwise_or(first, last), 0.5, x)
    constant = lgamma(a + b) - lgamma(a) - lgamma(b)
    usual = exp((a - 1) * log(inside) + (b - 1) * log1p(-inside) + constant)
    # At the edges, where logarithms are infinite, but the density and its derivatives may be numbers.
    low = F.pow(F.where(last, 1.0, 1.0 - x), b - 1.0) * power_at_0(first, x, a)
    high = F.pow(F.where(first, 1.0, x), a - 1.0) * power_at_0(last, 1.0 - x, b)
    return F.where(first, low * exp(constant), F.where(last, high * exp(constant), usual))


def _beta_density(by_a: int, by_b: int, a: Any, b: Any, x: Any) -> Any:
    """The same, differentiated by the parameters: it is exp(h), with the derivatives of h known."""
    density = beta_density(a, b, x)
    if by_a + by_b == 0:
        return density
    both = [card(Polygamma, k)(a + b) for k in range(by_a + by_b)]
    first, last = (F.bitwise_and(F.equal(x, end), F.greater(c, 1)) for end, c in ((0, a), (1, b)))  # there it is 0
    slope_a = log(F.where(first, 1.0, x)) - card(Polygamma, 0)(a) + both[0] if by_a else 1.0
    slope_b = log1p(-F.where(last, 0.0, x)) - card(Polygamma, 0)(b) + both[0] if by_b else 1.0
    if by_a + by_b == 1:
        return density * slope_a * slope_b
    if by_a == by_b:
        return density * (slope_a * slope_b + both[1])
    own, slope = (a, slope_a) if by_a else (b, slope_b)
    return density * (slope * slope + both[1] - card(Polygamma, 1)(own))


def beta_series(by_a: int, by_b: int, a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Derivatives of betainc by a and b, from its series; where x is large, from that of 1 - betainc, in b, a and 1 - x."""
    from scipy.special import betainc, betaincc

    a, b, x = np.broadcast_arrays(a, b, x)
    inside = (x > 0) & (x < 1) & (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b)
    shape, known = x.shape, np.isnan(a + b + x) | (a <= 0) | (b <= 0) | (x < 0) | (x > 1)
    result = np.where(known, np.nan, 0.0)
    a, b, x = (v[inside] for v in (a, b, x))

    def slope(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
        swapped = x > (a + 1) / (a + b + 2)
        value = np.where(swapped, -betaincc(a, b, x), betainc(a, b, x))
        first, second, at = np.where(swapped, b, a), np.where(swapped, a, b), np.where(swapped, 1 - x, x)
        relative, large = np.empty_like(value), first > 100  # where the terms hardly become smaller
        for function, part in ((_relative_slope, ~large), (_relative_slope_by_quadrature, large)):
            if part.any():
                relative[part] = function(by_a, by_b, *(v[part] for v in (swapped, first, second, at)))
        return value * relative

    result[inside] = in_blocks(slope, a, b, x)
    return result.reshape(shape)


def _relative_slope(by_a: int, by_b: int, swapped: Any, a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A derivative of betainc divided by it: the mean of those of its terms x^(a+n) (1-x)^b Γ(a+b+n) / (Γ(b) Γ(a+n+1)).

    Each term is the one before times x (a + b + n) / (a + n + 1), and the derivatives of its logarithm go on in the same way:
    terms are taken in blocks. Where it is swapped, the parameters have changed places.
    """
    from scipy.special import digamma, polygamma

    slope_a, slope_b = np.log(x) + digamma(a + b) - digamma(a + 1), np.log1p(-x) + digamma(a + b) - digamma(b)
    both, own_a, own_b = polygamma(1, a + b), polygamma(1, a + 1), polygamma(1, b)
    term, total, size, n, count = np.ones_like(x), np.zeros_like(x), np.zeros_like(x), 0, 32
    while True:
        steps = np.arange(n, n + count)[:, None]
        above, below = 1 / (a + b + steps), 1 / (a + steps + 1)
        ratio = x * below / above
        terms, along_a = _running(term, ratio, np.cumprod), _running(slope_a, above - below, np.cumsum)
        along_b, shared = _running(slope_b, above, np.cumsum), _running(both, -(above**2), np.cumsum)
        if by_a + by_b == 1:
            by_first, by_second = along_a, along_b
        elif by_a == by_b:
            by_first = by_second = along_a * along_b + shared
        else:
            own = _running(own_a, -(below**2), np.cumsum)
            by_first, by_second = along_a**2 + shared - own, along_b**2 + shared - own_b
            own_a = own[-1]
        factor = np.where(swapped == bool(by_a), by_second, by_first)[:-1]
        size, total = size + terms[:-1].sum(0), total + (terms[:-1] * factor).sum(0)
        term, slope_a, slope_b, both, n = terms[-1], along_a[-1], along_b[-1], shared[-1], n + count
        last = ratio[-1]
        done = (last < 1) & (term * (1 + np.abs(factor[-1])) < 1e-17 * size * (1 - last))
        if done.all():
            return total / size
        count = min(2 * count, max(32, 100_000 // max(1, x.size)))


def _relative_slope_by_quadrature(
    by_a: int, by_b: int, swapped: Any, a: np.ndarray, b: np.ndarray, x: np.ndarray
) -> np.ndarray:
    """The same from the integral, over t = x e^-u, of t^a (1-t)^(b-1) by u: by the double exponential rule, in its own width."""
    from scipy.special import polygamma

    step = card(DigammaStep).eval
    decay, spread = a - (b - 1) * x / (1 - x), np.sqrt(b / (a * (a + b)) + 1 / (a * a))
    s = np.arange(-4.2, 2.8, 0.04)[:, None]
    u = np.exp(0.5 * np.pi * np.sinh(s)) / (np.maximum(decay, 0) + 1 / spread)
    rest = np.log1p(-x * np.expm1(-u) / (1 - x))  # of log(1 - t)
    weights = u * np.cosh(s) * np.exp(-a * u + (b - 1) * rest)
    along_a, along_b = np.log(x) + step(np, a, b) - u, np.log1p(-x) + step(np, b, a) + rest
    if by_a + by_b == 1:
        by_first, by_second = along_a, along_b
    elif by_a == by_b:
        by_first = by_second = along_a * along_b + polygamma(1, a + b)
    else:
        both = polygamma(1, a + b)
        by_first, by_second = along_a**2 + both - polygamma(1, a), along_b**2 + both - polygamma(1, b)
    factor = np.where(swapped == bool(by_a), by_second, by_first)
    return (weights * factor).sum(0) / weights.sum(0)


def _running(first: np.ndarray, steps: np.ndarray, accumulate: Any) -> np.ndarray:
    """The values of a recurrence from its first on: sums of steps, or products of ratios; one more than there are steps."""
    return accumulate(np.concatenate([first[None], steps]), axis=0)
