"""Cards of the trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adjoint.ops import language as F
from adjoint.ops.card import register
from adjoint.ops.transcendental import FAR, ElementaryFunction, sqrt


@register(function="sin", method=True, ufunc=np.sin, example="sin(Tensor([0.0])) -> [0.]")
@dataclass(frozen=True)
class Sin(ElementaryFunction):
    """Sine."""

    complex, edges = True, (-1e3, 0.0, 1e3)

    def eval(self, xp, x):
        return xp.sin(x)

    def emit(self, b, x):
        return b.call("sin", x)

    def partials(self, y, x):
        return (cos(x),)


@register(function="cos", method=True, ufunc=np.cos, example="cos(Tensor([0.0])) -> [1.]")
@dataclass(frozen=True)
class Cos(ElementaryFunction):
    """Cosine."""

    complex, edges = True, (-1e3, 0.0, 1e3)

    def eval(self, xp, x):
        return xp.cos(x)

    def emit(self, b, x):
        return b.call("cos", x)

    def partials(self, y, x):
        return (-sin(x),)


@register(function="tan", method=True, ufunc=np.tan, example="tan(Tensor([0.0])) -> [0.]")
@dataclass(frozen=True)
class Tan(ElementaryFunction):
    """Tangent."""

    complex, domain, edges = True, (-1.0, 1.0), FAR

    def eval(self, xp, x):
        return xp.tan(x)

    def emit(self, b, x):
        return b.call("tan", x)

    def partials(self, y, x):
        return (1.0 + y * y,)


@register(
    function="asin",
    aliases=("arcsin",),
    method=("asin", "arcsin"),
    ufunc=np.arcsin,
    example="asin(Tensor([0.0])) -> [0.]",
)
@dataclass(frozen=True)
class Asin(ElementaryFunction):
    """Inverse sine."""

    complex, singular, domain, edges = True, True, (-0.8, 0.8), (-1.0, 1.0)

    def eval(self, xp, x):
        return xp.arcsin(x)

    def emit(self, b, x):
        return b.call("asin", x)

    def partials(self, y, x):
        return (lambda: 1.0 / sqrt((1.0 - x) * (1.0 + x)),)


@register(
    function="acos",
    aliases=("arccos",),
    method=("acos", "arccos"),
    ufunc=np.arccos,
    example="acos(Tensor([1.0])) -> [0.]",
)
@dataclass(frozen=True)
class Acos(ElementaryFunction):
    """Inverse cosine."""

    complex, singular, domain, edges = True, True, (-0.8, 0.8), (-1.0, 1.0)

    def eval(self, xp, x):
        return xp.arccos(x)

    def emit(self, b, x):
        return b.call("acos", x)

    def partials(self, y, x):
        return (lambda: -1.0 / sqrt((1.0 - x) * (1.0 + x)),)


@register(
    function="atan",
    aliases=("arctan",),
    method=("atan", "arctan"),
    ufunc=np.arctan,
    example="atan(Tensor([0.0])) -> [0.]",
)
@dataclass(frozen=True)
class Atan(ElementaryFunction):
    """Inverse tangent."""

    complex, domain, edges = True, (-0.8, 0.8), FAR

    def eval(self, xp, x):
        return xp.arctan(x)

    def emit(self, b, x):
        return b.call("atan", x)

    def partials(self, y, x):
        return (lambda: 1.0 / (1.0 + x * x),)


@register(function="sinh", method=True, ufunc=np.sinh, example="sinh(Tensor([0.0])) -> [0.]")
@dataclass(frozen=True)
class Sinh(ElementaryFunction):
    """Hyperbolic sine."""

    complex, singular, edges = True, True, (-30.0, 0.0, 30.0)

    def eval(self, xp, x):
        return xp.sinh(x)

    def emit(self, b, x):
        return b.call("sinh", x)

    def partials(self, y, x):
        return (cosh(x),)


@register(function="cosh", method=True, ufunc=np.cosh, example="cosh(Tensor([0.0])) -> [1.]")
@dataclass(frozen=True)
class Cosh(ElementaryFunction):
    """Hyperbolic cosine."""

    complex, singular, edges = True, True, (-30.0, 0.0, 30.0)

    def eval(self, xp, x):
        return xp.cosh(x)

    def emit(self, b, x):
        return b.call("cosh", x)

    def partials(self, y, x):
        return (sinh(x),)


@register(function="tanh", method=True, ufunc=np.tanh, example="tanh(Tensor([0.0])) -> [0.]")
@dataclass(frozen=True)
class Tanh(ElementaryFunction):
    """Hyperbolic tangent."""

    complex, edges = True, FAR

    def eval(self, xp, x):
        return xp.tanh(x)

    def emit(self, b, x):
        return b.call("tanh", x)

    def partials(self, y, x):
        return (1.0 - y * y,)


@register(
    function="asinh",
    aliases=("arcsinh",),
    method=("asinh", "arcsinh"),
    ufunc=np.arcsinh,
    example="asinh(Tensor([0.0])) -> [0.]",
)
@dataclass(frozen=True)
class Asinh(ElementaryFunction):
    """Inverse hyperbolic sine."""

    complex, domain, edges = True, (-0.8, 0.8), FAR

    def eval(self, xp, x):
        return xp.arcsinh(x)

    def emit(self, b, x):
        return b.call("asinh", x)

    def partials(self, y, x):
        return (lambda: 1.0 / sqrt(1.0 + x * x),)


@register(
    function="acosh",
    aliases=("arccosh",),
    method=("acosh", "arccosh"),
    ufunc=np.arccosh,
    example="acosh(Tensor([1.0])) -> [0.]",
)
@dataclass(frozen=True)
class Acosh(ElementaryFunction):
    """Inverse hyperbolic cosine."""

    complex, singular, domain, edges = True, True, (1.3, 3.0), (1.0, 1e10)

    def eval(self, xp, x):
        return xp.arccosh(x)

    def emit(self, b, x):
        return b.call("acosh", x)

    def partials(self, y, x):
        return (lambda: 1.0 / (sqrt(x - 1.0) * sqrt(x + 1.0)),)


@register(
    function="atanh",
    aliases=("arctanh",),
    method=("atanh", "arctanh"),
    ufunc=np.arctanh,
    example="atanh(Tensor([0.0])) -> [0.]",
)
@dataclass(frozen=True)
class Atanh(ElementaryFunction):
    """Inverse hyperbolic tangent."""

    complex, singular, domain, edges = True, True, (-0.8, 0.8), (-1.0, 1.0)

    def eval(self, xp, x):
        return xp.arctanh(x)

    def emit(self, b, x):
        return b.call("atanh", x)

    def partials(self, y, x):
        return (lambda: F.div(1.0, (1.0 - x) * (1.0 + x)),)


@register(
    function="atan2",
    aliases=("arctan2",),
    method=("atan2", "arctan2"),
    ufunc=np.arctan2,
    example="atan2(Tensor([0.0]), Tensor([1.0])) -> [0.]",
)
@dataclass(frozen=True)
class Atan2(ElementaryFunction):
    """The angle of the point (x, y), between -pi and pi; the derivative at the origin is 0."""

    arity, domain, edges = 2, (0.3, 2.0), FAR

    def eval(self, xp, y, x):
        return xp.arctan2(y, x)

    def emit(self, b, y, x):
        return b.call("atan2", y, x)

    def partials(self, z, y, x):
        square = x * x + y * y
        at_origin = F.equal(square, 0)
        inverse = F.where(at_origin, 0, 1.0 / F.where(at_origin, 1, square))
        return lambda: x * inverse, lambda: -y * inverse


sin, cos, tan, asin, acos, atan, atan2 = Sin(), Cos(), Tan(), Asin(), Acos(), Atan(), Atan2()
sinh, cosh, tanh, asinh, acosh, atanh = Sinh(), Cosh(), Tanh(), Asinh(), Acosh(), Atanh()
