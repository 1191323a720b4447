"""Cards of exp, log, the trigonometric and hyperbolic functions, and the smooth activations."""

from __future__ import annotations

import math
from dataclasses import dataclass

from adjoint.core.arrays import special
from adjoint.core.spec import dtype_of
from adjoint.ops import language as F
from adjoint.ops.card import register
from adjoint.ops.families import Elementwise

FAR = (-1e3, 1e3)


class Function(Elementwise):
    """Elementary functions: a polynomial or more for each element."""

    work, expensive = 15, True


@register
@dataclass(frozen=True)
class Exp(Function):
    """e ** x."""

    complex, singular, edges = True, True, (-1e3, 0.0)

    def eval(self, xp, x):
        return xp.exp(x)

    def partials(self, y, x):
        return (y,)


@register
@dataclass(frozen=True)
class Expm1(Function):
    """e ** x - 1, exact near 0."""

    complex, singular, edges = True, True, (-1e3, 1e-12)

    def eval(self, xp, x):
        return xp.expm1(x)

    def partials(self, y, x):
        return (y + 1.0,)


@register
@dataclass(frozen=True)
class Log(Function):
    """Natural logarithm."""

    complex, singular, domain, edges = True, True, (0.3, 3.0), (0.0, 1e-30, 1e30)

    def eval(self, xp, x):
        return xp.log(x)

    def partials(self, y, x):
        return (lambda: F.div(1.0, x),)


@register
@dataclass(frozen=True)
class Log1p(Function):
    """log(1 + x), exact near 0."""

    complex, singular, domain, edges = True, True, (-0.5, 2.0), (-1.0, 1e-12, 1e30)

    def eval(self, xp, x):
        return xp.log1p(x)

    def partials(self, y, x):
        return (lambda: F.div(1.0, 1.0 + x),)


@register
@dataclass(frozen=True)
class Log2(Function):
    """Logarithm to base 2, exact for powers of 2."""

    singular, domain, edges = True, (0.3, 3.0), (0.0, 1e-30, 1e30)

    def eval(self, xp, x):
        return xp.log2(x)

    def partials(self, y, x):
        return (lambda: F.div(1.0 / math.log(2.0), x),)


@register
@dataclass(frozen=True)
class Log10(Function):
    """Logarithm to base 10, exact for powers of 10."""

    singular, domain, edges = True, (0.3, 3.0), (0.0, 1e-30, 1e30)

    def eval(self, xp, x):
        return xp.log10(x)

    def partials(self, y, x):
        return (lambda: F.div(1.0 / math.log(10.0), x),)


@register
@dataclass(frozen=True)
class Sqrt(Function):
    """Square root."""

    complex, singular, domain, edges = True, True, (0.3, 3.0), (0.0, 1e-30, 1e30)

    def eval(self, xp, x):
        return xp.sqrt(x)

    def partials(self, y, x):
        return (lambda: 0.5 / y,)


@register
@dataclass(frozen=True)
class Cbrt(Function):
    """Cube root, real for negative numbers too."""

    singular, domain, edges = True, (0.3, 3.0), (-8.0, 0.0, 1e30)

    def eval(self, xp, x):
        return xp.cbrt(x)

    def partials(self, y, x):
        return (lambda: (1.0 / 3.0) / (y * y),)


@register
@dataclass(frozen=True)
class Sin(Function):
    """Sine."""

    complex, edges = True, (-1e3, 0.0, 1e3)

    def eval(self, xp, x):
        return xp.sin(x)

    def partials(self, y, x):
        return (cos(x),)


@register
@dataclass(frozen=True)
class Cos(Function):
    """Cosine."""

    complex, edges = True, (-1e3, 0.0, 1e3)

    def eval(self, xp, x):
        return xp.cos(x)

    def partials(self, y, x):
        return (-sin(x),)


@register
@dataclass(frozen=True)
class Tan(Function):
    """Tangent."""

    complex, domain, edges = True, (-1.0, 1.0), FAR

    def eval(self, xp, x):
        return xp.tan(x)

    def partials(self, y, x):
        return (1.0 + y * y,)


@register
@dataclass(frozen=True)
class Asin(Function):
    """Inverse sine."""

    complex, singular, domain, edges = True, True, (-0.8, 0.8), (-1.0, 1.0)

    def eval(self, xp, x):
        return xp.arcsin(x)

    def partials(self, y, x):
        return (lambda: 1.0 / sqrt((1.0 - x) * (1.0 + x)),)


@register
@dataclass(frozen=True)
class Acos(Function):
    """Inverse cosine."""

    complex, singular, domain, edges = True, True, (-0.8, 0.8), (-1.0, 1.0)

    def eval(self, xp, x):
        return xp.arccos(x)

    def partials(self, y, x):
        return (lambda: -1.0 / sqrt((1.0 - x) * (1.0 + x)),)


@register
@dataclass(frozen=True)
class Atan(Function):
    """Inverse tangent."""

    complex, domain, edges = True, (-0.8, 0.8), FAR

    def eval(self, xp, x):
        return xp.arctan(x)

    def partials(self, y, x):
        return (lambda: 1.0 / (1.0 + x * x),)


@register
@dataclass(frozen=True)
class Sinh(Function):
    """Hyperbolic sine."""

    complex, singular, edges = True, True, (-30.0, 0.0, 30.0)

    def eval(self, xp, x):
        return xp.sinh(x)

    def partials(self, y, x):
        return (cosh(x),)


@register
@dataclass(frozen=True)
class Cosh(Function):
    """Hyperbolic cosine."""

    complex, singular, edges = True, True, (-30.0, 0.0, 30.0)

    def eval(self, xp, x):
        return xp.cosh(x)

    def partials(self, y, x):
        return (sinh(x),)


@register
@dataclass(frozen=True)
class Tanh(Function):
    """Hyperbolic tangent."""

    complex, edges = True, FAR

    def eval(self, xp, x):
        return xp.tanh(x)

    def partials(self, y, x):
        return (1.0 - y * y,)


@register
@dataclass(frozen=True)
class Asinh(Function):
    """Inverse hyperbolic sine."""

    complex, domain, edges = True, (-0.8, 0.8), FAR

    def eval(self, xp, x):
        return xp.arcsinh(x)

    def partials(self, y, x):
        return (lambda: 1.0 / sqrt(1.0 + x * x),)


@register
@dataclass(frozen=True)
class Acosh(Function):
    """Inverse hyperbolic cosine."""

    complex, singular, domain, edges = True, True, (1.3, 3.0), (1.0, 1e10)

    def eval(self, xp, x):
        return xp.arccosh(x)

    def partials(self, y, x):
        return (lambda: 1.0 / (sqrt(x - 1.0) * sqrt(x + 1.0)),)


@register
@dataclass(frozen=True)
class Atanh(Function):
    """Inverse hyperbolic tangent."""

    complex, singular, domain, edges = True, True, (-0.8, 0.8), (-1.0, 1.0)

    def eval(self, xp, x):
        return xp.arctanh(x)

    def partials(self, y, x):
        return (lambda: F.div(1.0, (1.0 - x) * (1.0 + x)),)


@register
@dataclass(frozen=True)
class Atan2(Function):
    """The angle of the point (x, y), between -pi and pi; the derivative at the origin is 0."""

    arity, domain, edges = 2, (0.3, 2.0), FAR

    def eval(self, xp, y, x):
        return xp.arctan2(y, x)

    def partials(self, z, y, x):
        square = x * x + y * y
        at_origin = F.equal(square, 0)
        inverse = F.where(at_origin, 0, 1.0 / F.where(at_origin, 1, square))
        return lambda: x * inverse, lambda: -y * inverse


@register
@dataclass(frozen=True)
class LogAddExp(Function):
    """log(exp(x) + exp(y)) without overflow."""

    arity, edges = 2, FAR

    def eval(self, xp, x, y):
        return xp.logaddexp(x, y)

    def partials(self, z, x, y):
        return lambda: sigmoid(x - y), lambda: sigmoid(y - x)


@register
@dataclass(frozen=True)
class Sigmoid(Function):
    """1 / (1 + exp(-x)) without overflow."""

    edges = FAR
    keeps_floats = True

    def eval(self, xp, x):
        return special(xp).expit(x)

    def partials(self, y, x):
        return (y * (1.0 - y),)


@register
@dataclass(frozen=True)
class Softplus(Function):
    """log(1 + exp(x)) without overflow."""

    edges = FAR

    def eval(self, xp, x):
        return xp.logaddexp(0, x)

    def partials(self, y, x):
        return (sigmoid(x),)


@register
@dataclass(frozen=True)
class Relu(Function):
    """max(x, 0). The derivative at 0 is 0."""

    domain, edges = (0.3, 2.0), (-1e3, 0.0, 1e3)

    def eval(self, xp, x):
        return xp.maximum(x, 0)

    def partials(self, y, x):
        return (F.cast(F.greater(x, 0), dtype_of(x)),)


exp, expm1, log, log1p, log2, log10 = Exp(), Expm1(), Log(), Log1p(), Log2(), Log10()
sqrt, cbrt = Sqrt(), Cbrt()
sin, cos, tan, asin, acos, atan, atan2 = Sin(), Cos(), Tan(), Asin(), Acos(), Atan(), Atan2()
sinh, cosh, tanh, asinh, acosh, atanh = Sinh(), Cosh(), Tanh(), Asinh(), Acosh(), Atanh()
logaddexp, sigmoid, softplus, relu = LogAddExp(), Sigmoid(), Softplus(), Relu()
