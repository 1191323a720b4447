"""Cards of exp, log, the roots, and the smooth activations."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from adjoint.core.arrays import special
from adjoint.core.spec import dtype_of
from adjoint.ops import language as F
from adjoint.ops.card import register
from adjoint.ops.families import Elementwise

FAR = (-1e3, 1e3)


class ElementaryFunction(Elementwise):
    """Elementary functions: a polynomial or more for each element."""

    work, expensive = 15, True


@register(function="exp", method=True, ufunc=np.exp, example="exp(Tensor([0.0])) -> [1.]")
@dataclass(frozen=True)
class Exp(ElementaryFunction):
    """e ** x."""

    complex, singular, edges = True, True, (-1e3, 0.0)

    def eval(self, xp, x):
        return xp.exp(x)

    def emit(self, b, x):
        return b.call("exp", x)

    def partials(self, y, x):
        return (y,)


@register(function="expm1", method=True, ufunc=(np.expm1, "expm1"), example="expm1(Tensor([0.0])) -> [0.]")
@dataclass(frozen=True)
class Expm1(ElementaryFunction):
    """e ** x - 1, exact near 0."""

    complex, singular, edges = True, True, (-1e3, 1e-12)

    def eval(self, xp, x):
        return xp.expm1(x)

    def emit(self, b, x):
        return b.call("expm1", x)

    def partials(self, y, x):
        return (y + 1.0,)


@register(function="log", method=True, ufunc=np.log, example="log(Tensor([1.0])) -> [0.]")
@dataclass(frozen=True)
class Log(ElementaryFunction):
    """Natural logarithm."""

    complex, singular, domain, edges = True, True, (0.3, 3.0), (0.0, 1e-30, 1e30)

    def eval(self, xp, x):
        return xp.log(x)

    def emit(self, b, x):
        return b.call("log", x)

    def partials(self, y, x):
        return (lambda: F.div(1.0, x),)


@register(function="log1p", method=True, ufunc=(np.log1p, "log1p"), example="log1p(Tensor([0.0])) -> [0.]")
@dataclass(frozen=True)
class Log1p(ElementaryFunction):
    """log(1 + x), exact near 0."""

    complex, singular, domain, edges = True, True, (-0.5, 2.0), (-1.0, 1e-12, 1e30)

    def eval(self, xp, x):
        return xp.log1p(x)

    def emit(self, b, x):
        return b.call("log1p", x)

    def partials(self, y, x):
        return (lambda: F.div(1.0, 1.0 + x),)


@register(function="log2", method=True, ufunc=np.log2, example="log2(Tensor([8.0])) -> [3.]")
@dataclass(frozen=True)
class Log2(ElementaryFunction):
    """Logarithm to base 2, exact for powers of 2."""

    singular, domain, edges = True, (0.3, 3.0), (0.0, 1e-30, 1e30)

    def eval(self, xp, x):
        return xp.log2(x)

    def emit(self, b, x):
        return b.call("log2", x)

    def partials(self, y, x):
        return (lambda: F.div(1.0 / math.log(2.0), x),)


@register(function="log10", method=True, ufunc=np.log10, example="log10(Tensor([1000.0])).round(4) -> [3.]")
@dataclass(frozen=True)
class Log10(ElementaryFunction):
    """Logarithm to base 10, exact for powers of 10."""

    singular, domain, edges = True, (0.3, 3.0), (0.0, 1e-30, 1e30)

    def eval(self, xp, x):
        return xp.log10(x)

    def emit(self, b, x):
        return b.call("log10", x)

    def partials(self, y, x):
        return (lambda: F.div(1.0 / math.log(10.0), x),)


@register(function="sqrt", method=True, ufunc=np.sqrt, example="sqrt(Tensor([9.0])) -> [3.]")
@dataclass(frozen=True)
class Sqrt(ElementaryFunction):
    """Square root."""

    complex, singular, domain, edges = True, True, (0.3, 3.0), (0.0, 1e-30, 1e30)

    def eval(self, xp, x):
        return xp.sqrt(x)

    def emit(self, b, x):
        return b.sqrt(x)

    def partials(self, y, x):
        return (lambda: 0.5 / y,)


@register(function="cbrt", ufunc=(np.cbrt, "cbrt"), example="cbrt(Tensor([-8.0])) -> [-2.]")
@dataclass(frozen=True)
class Cbrt(ElementaryFunction):
    """Cube root, real for negative numbers too."""

    singular, domain, edges = True, (0.3, 3.0), (-8.0, 0.0, 1e30)

    def eval(self, xp, x):
        return xp.cbrt(x)

    def emit(self, b, x):
        return b.call("cbrt", x)

    def partials(self, y, x):
        return (lambda: (1.0 / 3.0) / (y * y),)


@register(function="logaddexp", method=True, ufunc=np.logaddexp, example="logaddexp(Tensor([1000.0]), 0.0) -> [1000.]")
@dataclass(frozen=True)
class LogAddExp(ElementaryFunction):
    """log(exp(x) + exp(y)) without overflow."""

    arity, edges = 2, FAR

    def eval(self, xp, x, y):
        return xp.logaddexp(x, y)

    def emit(self, b, x, y):
        return b.call("logaddexp", x, y)

    def partials(self, z, x, y):
        return lambda: sigmoid(x - y), lambda: sigmoid(y - x)


@register(function="sigmoid", method=True, ufunc="expit", example="sigmoid(Tensor([0.0, -1000.0])) -> [0.5 0. ]")
@dataclass(frozen=True)
class Sigmoid(ElementaryFunction):
    """1 / (1 + exp(-x)) without overflow."""

    edges = FAR
    keeps_floats = True

    def eval(self, xp, x):
        return special(xp).expit(x)

    def emit(self, b, x):
        return b.call("sigmoid", x)

    def partials(self, y, x):
        return (y * (1.0 - y),)


@register
@dataclass(frozen=True)
class Softplus(ElementaryFunction):
    """log(1 + exp(x)) without overflow."""

    edges = FAR

    def eval(self, xp, x):
        return xp.logaddexp(0, x)

    def emit(self, b, x):
        return b.call("softplus", x)

    def partials(self, y, x):
        return (sigmoid(x),)


@register(function="relu", example="relu(Tensor([-1.0, 2.0])) -> [0. 2.]")
@dataclass(frozen=True)
class Relu(ElementaryFunction):
    """max(x, 0). The derivative at 0 is 0."""

    domain, edges = (0.3, 2.0), (-1e3, 0.0, 1e3)

    def eval(self, xp, x):
        return xp.maximum(x, 0)

    def emit(self, b, x):
        return b.maximum(x, 0)

    def partials(self, y, x):
        return (F.cast(F.greater(y, 0), dtype_of(x)),)  # as x > 0; what follows it mostly keeps y anyway


exp, expm1, log, log1p, log2, log10 = Exp(), Expm1(), Log(), Log1p(), Log2(), Log10()
sqrt, cbrt = Sqrt(), Cbrt()
logaddexp, sigmoid, softplus, relu = LogAddExp(), Sigmoid(), Softplus(), Relu()
