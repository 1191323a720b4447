"""Cards of the Bessel functions. SciPy is imported when the first one runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.arrays import special
from adjoint.core.errors import ArgumentTypeError, called_at
from adjoint.core.spec import dtype_of, float32, is_inexact
from adjoint.ops.arithmetic import sign
from adjoint.ops.card import card, register
from adjoint.ops.casting import cast
from adjoint.ops.publish import public
from adjoint.ops.special import SpecialFunction

#: Kinds of Bessel functions, by SciPy's names: the e says that exponential growth is divided out.
_SIGNS = {"jv": (1, -1), "yv": (1, -1), "iv": (1, 1), "kv": (-1, -1), "ive": (1, 1), "kve": (-1, -1)}


@register
@dataclass(frozen=True)
class Bessel(SpecialFunction):
    """A Bessel function of whole order, by SciPy's name of its kind: jv, yv, iv, kv, or ive and kve, which are scaled."""

    kind: str
    order: int

    singular, domain = True, (0.5, 4.0)
    keeps_floats = True

    @property
    def calls(self) -> str:  # type: ignore[override]
        """SciPy's name of the kind."""
        return self.kind

    def emit(self, b, x):
        return b.special(self.kind, self.order, x)

    def eval(self, xp, x):
        y = getattr(special(xp), self.kind)(self.order, x)
        return y.astype(xp.float32) if xp.asarray(x).dtype == xp.float32 else y

    def partials(self, y, x):
        return (lambda: self._slope(y, x),)

    def _slope(self, y: Any, x: Any) -> Any:
        """Half of the neighbours' sum or difference; the scaled ones have the derivative of their scale too."""
        below, above = (card(Bessel, self.kind, abs(self.order + step))(x) for step in (-1, 1))
        if self.order == 0 and self.kind in ("jv", "yv"):
            below = -below  # of order -1
        first, second = _SIGNS[self.kind]
        slope = 0.5 * (first * below + second * above)
        return slope - sign(x) * y if self.kind == "ive" else slope + y if self.kind == "kve" else slope

    @classmethod
    def samples(cls, draw):
        for kind in _SIGNS:
            for order in (0, 1, 2):
                yield cls(kind, order), (draw(2, 3, domain=cls.domain),)


def _bessel(kind: str, order: int, x: Any) -> Any:
    if not isinstance(order, (int, np.integer)) or order < 0:
        raise ArgumentTypeError(f"bessel: the order must be 0, 1, 2, ..., not {order!r}{called_at()}")
    return card(Bessel, kind, order)(x if is_inexact(dtype_of(x)) else cast(x, float32))


@public()
def bessel_j(order: int, input: Any) -> Any:
    """The Bessel function of the first kind, of whole order.

    >>> from adjoint import ops, Tensor
    >>> print(ops.bessel_j(0, Tensor([0.0, 1.0])).round(4))
    [1.     0.7652]
    """
    return _bessel("jv", order, input)


@public()
def bessel_y(order: int, input: Any) -> Any:
    """The Bessel function of the second kind, of whole order.

    >>> from adjoint import ops, Tensor
    >>> print(ops.bessel_y(0, Tensor([1.0])).round(4))
    [0.0883]
    """
    return _bessel("yv", order, input)


@public()
def bessel_i(order: int, input: Any, scaled: bool = False) -> Any:
    """The modified Bessel function of the first kind, of whole order; times exp(-|x|) if it is scaled.

    >>> from adjoint import ops, Tensor
    >>> print(ops.bessel_i(1, Tensor([1.0])).round(4))
    [0.5652]
    """
    return _bessel("ive" if scaled else "iv", order, input)


@public()
def bessel_k(order: int, input: Any, scaled: bool = False) -> Any:
    """The modified Bessel function of the second kind, of whole order; times exp(x) if it is scaled.

    >>> from adjoint import ops, Tensor
    >>> print(ops.bessel_k(0, Tensor([1.0])).round(4))
    [0.421]
    """
    return _bessel("kve" if scaled else "kv", order, input)
