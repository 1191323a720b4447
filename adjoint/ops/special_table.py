"""One card for the functions of scipy.special that SciPy itself computes: their names, and their derivatives in a table.

SciPy is imported when the first one runs. `fresnel:0` is the first of several results.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.arrays import special
from adjoint.core.errors import DtypeError, NotDifferentiableError, called_at
from adjoint.ops import language as F
from adjoint.ops.card import card, register
from adjoint.ops.families import Elementwise
from adjoint.ops.incomplete import gamma_density, gammainc_slope
from adjoint.ops.incomplete_beta import beta_density, beta_slope
from adjoint.ops.removable import log_over, sin_over, sinh_over, slope_of_e, slope_of_k
from adjoint.ops.special import Polygamma, SpecialFunction
from adjoint.ops.special_slopes import dawsn_slope, digamma_step, erfcx_slope, scaled_slope
from adjoint.ops.transcendental import exp, expm1
from adjoint.ops.trigonometric import cos, cosh, sin

Partials = Callable[..., tuple[Any, ...]]

#: By name: the partial derivatives as functions of the result and the inputs, and where samples of each input are drawn;
#: a domain of integers gives integers.
TABLE: dict[str, tuple[Partials, tuple[Any, ...]]] = {}


@register
@dataclass(frozen=True)
class Special(SpecialFunction):
    """A function of scipy.special, by its name."""

    name: str

    singular = True

    @property
    def arity(self) -> int:  # type: ignore[override]
        """How many inputs it has."""
        return len(TABLE[self.name][1])

    @property
    def calls(self) -> str:  # type: ignore[override]
        """The name without the number of the result."""
        return self.name.partition(":")[0]

    @property
    def emits(self) -> str:  # type: ignore[override]
        """Lambert's function is one of complex numbers."""
        return "" if self.calls == "lambertw" else "f"

    def emit(self, b, *xs):
        if self.calls in ("yn", "kn", "expn"):  # of whole order: SciPy cuts others off, with a warning
            xs = (b.trunc(xs[0]), *xs[1:])
        return b.special(self.calls, *xs, part=int(self.name.partition(":")[2] or 0))

    def eval(self, xp, *xs):
        name, _, part = self.name.partition(":")
        if any(getattr(x, "dtype", xp.dtype(type(x))).kind == "c" for x in xs):
            raise DtypeError(f"scipy.special.{name}: of complex numbers it has no derivative in adjoint{called_at()}")
        given = [_double(x) for x in xs] if xp is np else xs
        y = getattr(special(xp), name)(*given, *([int(part)] if name == "lambertw" else ()))
        y = y.real if name == "lambertw" else y[int(part)] if part else y
        floats = [x.dtype for x in xs if hasattr(x, "dtype") and x.dtype.kind == "f"]
        kind = np.result_type(*floats) if floats else np.float64
        return y if y.dtype == kind else xp.asarray(y, kind)

    def partials(self, y, *xs):
        return TABLE[self.name][0](y, *xs)

    @classmethod
    def samples(cls, draw):
        for name in _SAMPLED:
            domains = TABLE[name][1]
            xs = [draw(2, 3, domain=d) if isinstance(d[0], float) else np.array([*d] * 3)[:3] for d in domains]
            yield cls(name), tuple(xs)

    @classmethod
    def errors(cls):
        return iter(())


def _double(x: Any) -> Any:
    """The input in double precision, as compiled code computes: SciPy's loops in single precision lose tails."""
    return x.astype(np.float64) if getattr(x, "dtype", None) == np.float32 else x


def of(name: str) -> Any:
    """The function of scipy.special of this name."""
    return card(Special, name)


@register
@dataclass(frozen=True)
class Undifferentiated(Elementwise):
    """The value itself; to ask for a derivative by it is an error that says what has none."""

    what: str = "it has no derivative"
    emits = "fi"

    def eval(self, xp, x):
        return xp.asarray(x)

    def emit(self, b, x):
        return x

    def partials(self, y, x):
        return (self._refuse,)

    def _refuse(self) -> Any:
        raise NotDifferentiableError(
            f"{self.what}. Pass a plain number or array for it, or wrap it in ad.stop_gradient.{called_at()}"
        )

    @classmethod
    def samples(cls, draw):
        yield cls(), (np.array([1, 2, 3]),)


def undifferentiated(what: str, x: Any) -> Any:
    """A value by which there is no derivative: the error says `what`."""
    return card(Undifferentiated, what)(x)


def no_derivative(name: str, argument: str, what: str = "") -> Any:
    """A partial derivative that does not exist, or is not known."""

    def refuse() -> Any:
        raise NotDifferentiableError(
            f"scipy.special.{name} has no derivative by its argument {argument}{what and f', {what}'}. Pass a plain number or array "
            f"for it, or wrap it in ad.stop_gradient.{called_at()}"
        )

    return refuse


def _enter(name: str, *domains: Any) -> Callable[[Partials], Partials]:
    def enter(partials: Partials) -> Partials:
        TABLE[name] = partials, domains
        return partials

    return enter


def _psi(x: Any) -> Any:
    return card(Polygamma, 0)(x)


#: Which functions the checks of all cards look at; tests/scipy looks at every one.
_SAMPLED = ("erfcx", "ndtri", "exprel", "sici:1", "i1e", "jv", "kve", "expn", "gammaincinv", "lambertw:-1")
ROOT_PI = math.sqrt(math.pi)
_SMALL, _UNIT, _POSITIVE = (-2.0, 2.0), (0.1, 0.9), (0.5, 4.0)

# ---------------------------------------------------------------- one argument

_UNARY: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {
    "erfcinv": ((0.2, 1.8), lambda y, x: (-0.5 * ROOT_PI) * exp(y * y)),
    "erfcx": (_SMALL, lambda y, x: erfcx_slope(y, x)),
    "erfi": (_SMALL, lambda y, x: (2.0 / ROOT_PI) * exp(x * x)),
    "dawsn": (_SMALL, lambda y, x: dawsn_slope(y, x)),
    "ndtri": (_UNIT, lambda y, x: math.sqrt(2 * math.pi) * exp(0.5 * y * y)),
    "gamma": (_POSITIVE, lambda y, x: y * _psi(x)),
    "rgamma": (_POSITIVE, lambda y, x: _rgamma_slope(y, x)),
    "gammasgn": ((-1.9, -1.1), lambda y, x: 0.0),
    "expi": (_POSITIVE, lambda y, x: exp(x) / x),
    "exp1": (_POSITIVE, lambda y, x: -exp(-x) / x),
    "exprel": (_SMALL, lambda y, x: _exprel_slope(y, x)),
    "fresnel:0": (_SMALL, lambda y, x: sin((0.5 * math.pi) * x * x)),
    "fresnel:1": (_SMALL, lambda y, x: cos((0.5 * math.pi) * x * x)),
    "sici:0": (_SMALL, lambda y, x: sin_over(x)),
    "sici:1": (_POSITIVE, lambda y, x: cos(x) / x),
    "shichi:0": (_SMALL, lambda y, x: sinh_over(x)),
    "shichi:1": (_POSITIVE, lambda y, x: cosh(x) / x),
    "spence": (_POSITIVE, lambda y, x: -log_over(x)),
    "ellipk": (_UNIT, lambda y, m: slope_of_k(m, lambda m: (of("ellipe")(m) - (1.0 - m) * of("ellipk")(m)) / (2.0 * m * (1.0 - m)))),
    "ellipe": (_UNIT, lambda y, m: slope_of_e(m, lambda m: (of("ellipe")(m) - of("ellipk")(m)) / (2.0 * m))),
    "j0": (_SMALL, lambda y, x: -of("j1")(x)),
    "j1": (_SMALL, lambda y, x: _slope_of_j1(y, x)),
    "y0": (_POSITIVE, lambda y, x: -of("y1")(x)),
    "y1": (_POSITIVE, lambda y, x: of("y0")(x) - y / x),
    "i0": (_SMALL, lambda y, x: of("i1")(x)),
    "i1": (_SMALL, lambda y, x: 0.5 * (of("i0")(x) + of("iv")(2, x))),
    "i0e": (_SMALL, lambda y, x: scaled_slope(0, x, lambda x: of("i1e")(x) - F.sign(x) * of("i0e")(x))),
    "i1e": (_SMALL, lambda y, x: scaled_slope(1, x, lambda x: 0.5 * (of("i0e")(x) + of("ive")(2, x)) - F.sign(x) * of("i1e")(x))),
    "k0": (_POSITIVE, lambda y, x: -of("k1")(x)),
    "k1": (_POSITIVE, lambda y, x: -of("k0")(x) - y / x),
    "k0e": (_POSITIVE, lambda y, x: y - of("k1e")(x)),
    "k1e": (_POSITIVE, lambda y, x: y - of("k0e")(x) - y / x),
}  # fmt: skip


def _slope_of_j1(y: Any, x: Any) -> Any:
    """The derivative of J1; far out, where SciPy has no J2, by J1 itself."""
    far = F.greater(F.abs(x), 1e6)
    near = F.where(far, 0.0, x)
    return F.where(far, of("j0")(x) - y / F.where(far, x, 1.0), 0.5 * (of("j0")(near) - of("jv")(2, near)))


def _rgamma_slope(y: Any, x: Any) -> Any:
    """The derivative of 1 / gamma(x), which is smooth at the poles of gamma: by reflection below 1/2."""
    low = F.less(x, 0.5)
    left, right = F.where(low, x, 0.0), F.where(low, 1.0, x)
    nearest = F.stop_gradient(F.floor(left + 0.5))
    even = F.equal(nearest, 2.0 * F.floor(0.5 * nearest))
    angle = math.pi * (left - nearest)
    turned = cos(angle) - sin(angle) * _psi(1.0 - left) / math.pi
    return F.where(low, F.where(even, 1.0, -1.0) * of("gamma")(1.0 - left) * turned, -y * _psi(right))


def _exprel_slope(y: Any, x: Any) -> Any:
    """The derivative of (exp(x) - 1) / x; by its series near 0, where the closed form cancels."""
    near = F.less(F.abs(x), 0.3)
    small, large = F.where(near, x, 0.0), F.where(near, 1.0, x)
    series: Any = 0.0
    for k in range(12, -1, -1):
        series = series * small + (k + 1) / math.factorial(k + 2)
    return F.where(near, series, (exp(large) - expm1(large) / large) / large)


def _entered(slope: Callable[[Any, Any], Any]) -> Partials:
    return lambda y, x: (lambda: slope(y, x),)


for _name, (_domain, _slope) in _UNARY.items():
    TABLE[_name] = _entered(_slope), (_domain,)


@_enter("lambertw:0", (0.1, 4.0))
@_enter("lambertw:-1", (-0.3, -0.1))
def _lambertw(y: Any, x: Any) -> tuple[Any, ...]:
    return (lambda: F.div(1.0, exp(y) * (1.0 + y)),)


# ---------------------------------------------------------------- Bessel functions of any order


def _bessel(name: str, below: float, above: float, scale: Callable[[Any, Any], Any] | None = None) -> None:
    def partials(y: Any, v: Any, x: Any) -> tuple[Any, ...]:
        def slope() -> Any:
            y_below, y_above = of(name)(v - 1, x), of(name)(v + 1, x)
            found = 0.5 * (below * y_below + above * y_above)
            return found if scale is None else found + scale(y, x)

        return no_derivative(name, "v", "its order"), slope

    TABLE[name] = partials, ((0, 1, 2), _POSITIVE)


for _name, _below, _above, _scale in (
    ("jv", 1.0, -1.0, None), ("yv", 1.0, -1.0, None), ("yn", 1.0, -1.0, None), ("iv", 1.0, 1.0, None), ("kv", -1.0, -1.0, None),
    ("kn", -1.0, -1.0, None), ("ive", 1.0, 1.0, lambda y, x: -F.sign(x) * y), ("kve", -1.0, -1.0, lambda y, x: y),
):  # fmt: skip
    _bessel(_name, _below, _above, _scale)


# ---------------------------------------------------------------- gamma, beta and their inverses


@_enter("betaln", _POSITIVE, _POSITIVE)
def _betaln(y: Any, a: Any, b: Any) -> tuple[Any, ...]:
    return lambda: -digamma_step(a, b), lambda: -digamma_step(b, a)


@_enter("beta", _POSITIVE, _POSITIVE)
def _beta(y: Any, a: Any, b: Any) -> tuple[Any, ...]:
    return lambda: -y * digamma_step(a, b), lambda: -y * digamma_step(b, a)


@_enter("binom", (3.2, 5.0), (0.5, 2.5))
def _binom(y: Any, n: Any, k: Any) -> tuple[Any, ...]:
    return lambda: y * digamma_step(n - k + 1, k), lambda: y * digamma_step(k + 1, n - 2 * k)


@_enter("poch", _POSITIVE, _POSITIVE)
def _poch(y: Any, z: Any, m: Any) -> tuple[Any, ...]:
    return lambda: y * digamma_step(z, m), lambda: y * _psi(z + m)


@_enter("expn", (0, 1, 3), _POSITIVE)
def _expn(y: Any, n: Any, x: Any) -> tuple[Any, ...]:
    def slope() -> Any:
        first = F.less(n, 1)
        below = of("expn")(F.where(first, 0, n - 1), x)
        return -F.where(first, (exp(-x) + y) / x, below)

    return no_derivative("expn", "n"), slope


def along(slope: Any, density: Any) -> Any:
    """The derivative of an inverse by a parameter; at the ends, which stay where they are, it is 0."""
    fixed = F.equal(slope, 0)
    return -F.where(fixed, 0.0, slope) / F.where(fixed, 1.0, density)


@_enter("gammaincinv", _POSITIVE, _UNIT)
def _gammaincinv(y: Any, a: Any, p: Any) -> tuple[Any, ...]:
    return lambda: along(gammainc_slope(a, y), gamma_density(a, y)), lambda: F.div(1.0, gamma_density(a, y))


@_enter("gammainccinv", _POSITIVE, _UNIT)
def _gammainccinv(y: Any, a: Any, p: Any) -> tuple[Any, ...]:
    return lambda: along(gammainc_slope(a, y), gamma_density(a, y)), lambda: F.div(-1.0, gamma_density(a, y))


@_enter("betaincc", _POSITIVE, _POSITIVE, _UNIT)
def _betaincc(y: Any, a: Any, b: Any, x: Any) -> tuple[Any, ...]:
    return (
        lambda: -beta_slope(1, 0)(a, b, x),
        lambda: -beta_slope(0, 1)(a, b, x),
        lambda: -beta_density(a, b, x),
    )


def _beta_inverse(y: Any, a: Any, b: Any, sign: float) -> tuple[Any, ...]:
    return (
        lambda: along(beta_slope(1, 0)(a, b, y), beta_density(a, b, y)),
        lambda: along(beta_slope(0, 1)(a, b, y), beta_density(a, b, y)),
        lambda: F.div(sign, beta_density(a, b, y)),
    )


@_enter("betaincinv", _POSITIVE, _POSITIVE, _UNIT)
def _betaincinv(y: Any, a: Any, b: Any, p: Any) -> tuple[Any, ...]:
    return _beta_inverse(y, a, b, 1.0)


@_enter("betainccinv", _POSITIVE, _POSITIVE, _UNIT)
def _betainccinv(y: Any, a: Any, b: Any, p: Any) -> tuple[Any, ...]:
    return _beta_inverse(y, a, b, -1.0)
