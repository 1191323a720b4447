"""Arithmetic, powers, logarithms, trigonometry, comparison and logic, element by element."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import dtype_of, promote, spec_of
from adjoint.ops import arithmetic as _a
from adjoint.ops import bitwise as _b
from adjoint.ops import compare as _c
from adjoint.ops import language as F
from adjoint.ops import special as _s
from adjoint.ops import transcendental as _t
from adjoint.ops import trigonometric as _g
from adjoint.ops.card import Op, card
from adjoint.ops.stacking import array


def _listed(x: Any) -> Any:
    """A list stands for an array: Python's own `+` would lengthen it."""
    return array(x) if isinstance(x, (list, tuple)) else x


def _named(op: Op, name: str, example: str) -> Any:
    """A public function for a card: its documentation is the card's, with an example."""

    def unary(input: Any) -> Any:
        return op(_listed(input))

    def binary(input: Any, other: Any) -> Any:
        return op(_listed(input), _listed(other))

    function: Any = binary if getattr(op, "arity", 1) == 2 else unary
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{type(op).__doc__}\n\n    >>> from adjoint import ops, Tensor\n    >>> {example}\n    "
    return function


add = _named(_a.add, "add", "print(ops.add(Tensor([1.0, 2.0]), 3))\n    [4. 5.]")
sub = _named(_a.sub, "sub", "print(ops.sub(Tensor([1.0, 2.0]), 3))\n    [-2. -1.]")
mul = _named(_a.mul, "mul", "print(ops.mul(Tensor([1.0, 2.0]), 3))\n    [3. 6.]")
div = _named(_a.div, "div", "print(ops.div(Tensor([1.0, 2.0]), 2))\n    [0.5 1. ]")
pow = _named(_a.pow_, "pow", "print(ops.pow(Tensor([1.0, 2.0]), 3))\n    [1. 8.]")
floor_divide = _named(_a.floor_div, "floor_divide", "print(ops.floor_divide(Tensor([7.0, -7.0]), 2))\n    [ 3. -4.]")
mod = _named(_a.mod, "mod", "print(ops.mod(Tensor([7.0, -7.0]), 4))\n    [3. 1.]")
neg = _named(_a.neg, "neg", "print(ops.neg(Tensor([1.0, -2.0])))\n    [-1.  2.]")
abs = _named(_a.abs_, "abs", "print(ops.abs(Tensor([1.0, -2.0])))\n    [1. 2.]")
sign = _named(_a.sign, "sign", "print(ops.sign(Tensor([3.0, -2.0, 0.0])))\n    [ 1. -1.  0.]")
real = _named(_a.real, "real", "print(ops.real(Tensor([1 + 2j])))\n    [1.]")
imag = _named(_a.imag, "imag", "print(ops.imag(Tensor([1 + 2j])))\n    [2.]")
conj = _named(_a.conj_, "conj", "print(ops.conj(Tensor([1 + 2j])))\n    [1.-2.j]")
bitwise_and = _named(_b.BitwiseAnd(), "bitwise_and", "print(ops.bitwise_and(Tensor([6]), 3))\n    [2]")
bitwise_or = _named(_b.BitwiseOr(), "bitwise_or", "print(ops.bitwise_or(Tensor([6]), 3))\n    [7]")
bitwise_xor = _named(_b.BitwiseXor(), "bitwise_xor", "print(ops.bitwise_xor(Tensor([6]), 3))\n    [5]")
bitwise_not = _named(_b.BitwiseNot(), "bitwise_not", "print(ops.bitwise_not(Tensor([6])))\n    [-7]")
bitwise_left_shift = _named(
    _b.LeftShift(), "bitwise_left_shift", "print(ops.bitwise_left_shift(Tensor([3]), 2))\n    [12]"
)
bitwise_right_shift = _named(
    _b.RightShift(), "bitwise_right_shift", "print(ops.bitwise_right_shift(Tensor([12]), 2))\n    [3]"
)

exp = _named(_t.exp, "exp", "print(ops.exp(Tensor([0.0])))\n    [1.]")
expm1 = _named(_t.expm1, "expm1", "print(ops.expm1(Tensor([0.0])))\n    [0.]")
log = _named(_t.log, "log", "print(ops.log(Tensor([1.0])))\n    [0.]")
log1p = _named(_t.log1p, "log1p", "print(ops.log1p(Tensor([0.0])))\n    [0.]")
log2 = _named(_t.log2, "log2", "print(ops.log2(Tensor([8.0])))\n    [3.]")
log10 = _named(_t.log10, "log10", "print(ops.log10(Tensor([1000.0])).round(4))\n    [3.]")
sqrt = _named(_t.sqrt, "sqrt", "print(ops.sqrt(Tensor([9.0])))\n    [3.]")
cbrt = _named(_t.cbrt, "cbrt", "print(ops.cbrt(Tensor([-8.0])))\n    [-2.]")
sin = _named(_g.sin, "sin", "print(ops.sin(Tensor([0.0])))\n    [0.]")
cos = _named(_g.cos, "cos", "print(ops.cos(Tensor([0.0])))\n    [1.]")
tan = _named(_g.tan, "tan", "print(ops.tan(Tensor([0.0])))\n    [0.]")
asin = _named(_g.asin, "asin", "print(ops.asin(Tensor([0.0])))\n    [0.]")
acos = _named(_g.acos, "acos", "print(ops.acos(Tensor([1.0])))\n    [0.]")
atan = _named(_g.atan, "atan", "print(ops.atan(Tensor([0.0])))\n    [0.]")
atan2 = _named(_g.atan2, "atan2", "print(ops.atan2(Tensor([0.0]), Tensor([1.0])))\n    [0.]")
sinh = _named(_g.sinh, "sinh", "print(ops.sinh(Tensor([0.0])))\n    [0.]")
cosh = _named(_g.cosh, "cosh", "print(ops.cosh(Tensor([0.0])))\n    [1.]")
tanh = _named(_g.tanh, "tanh", "print(ops.tanh(Tensor([0.0])))\n    [0.]")
asinh = _named(_g.asinh, "asinh", "print(ops.asinh(Tensor([0.0])))\n    [0.]")
acosh = _named(_g.acosh, "acosh", "print(ops.acosh(Tensor([1.0])))\n    [0.]")
atanh = _named(_g.atanh, "atanh", "print(ops.atanh(Tensor([0.0])))\n    [0.]")
logaddexp = _named(_t.logaddexp, "logaddexp", "print(ops.logaddexp(Tensor([1000.0]), 0.0))\n    [1000.]")
erf = _named(_s.erf, "erf", "print(ops.erf(Tensor([0.0])))\n    [0.]")
erfc = _named(_s.erfc, "erfc", "print(ops.erfc(Tensor([0.0])))\n    [1.]")
erfinv = _named(_s.erfinv, "erfinv", "print(ops.erfinv(Tensor([0.0])))\n    [0.]")
lgamma = _named(_s.lgamma, "lgamma", "print(ops.lgamma(Tensor([1.0])))\n    [0.]")

less = _named(_c.less, "less", "print(ops.less(Tensor([1.0, 3.0]), 2))\n    [ True False]")
less_equal = _named(_c.less_equal, "less_equal", "print(ops.less_equal(Tensor([1.0, 2.0]), 2))\n    [ True  True]")
greater = _named(_c.greater, "greater", "print(ops.greater(Tensor([1.0, 3.0]), 2))\n    [False  True]")
greater_equal = _named(
    _c.greater_equal, "greater_equal", "print(ops.greater_equal(Tensor([1.0, 2.0]), 2))\n    [False  True]"
)
equal = _named(_c.equal, "equal", "print(ops.equal(Tensor([1.0, 2.0]), 2))\n    [False  True]")
not_equal = _named(_c.not_equal, "not_equal", "print(ops.not_equal(Tensor([1.0, 2.0]), 2))\n    [ True False]")
isfinite = _named(_c.isfinite, "isfinite", 'print(ops.isfinite(Tensor([1.0, float("inf")])))\n    [ True False]')
isnan = _named(_c.isnan, "isnan", 'print(ops.isnan(Tensor([1.0, float("nan")])))\n    [False  True]')
floor = _named(_c.floor, "floor", "print(ops.floor(Tensor([1.7, -1.2])))\n    [ 1. -2.]")
ceil = _named(_c.ceil, "ceil", "print(ops.ceil(Tensor([1.2, -1.7])))\n    [ 2. -1.]")
trunc = _named(_c.trunc, "trunc", "print(ops.trunc(Tensor([1.7, -1.7])))\n    [ 1. -1.]")
maximum = _named(_c.maximum, "maximum", "print(ops.maximum(Tensor([1.0, 3.0]), 2))\n    [2. 3.]")
minimum = _named(_c.minimum, "minimum", "print(ops.minimum(Tensor([1.0, 3.0]), 2))\n    [1. 2.]")

# Other names that MindSpore, NumPy or PyTorch have for the same thing.
negative, subtract, multiply, divide, true_divide, absolute, power = neg, sub, mul, div, div, abs, pow
arcsin, arccos, arctan, arctan2, arcsinh, arccosh, arctanh = asin, acos, atan, atan2, asinh, acosh, atanh
floor_div, floor_mod, remainder, floormod = floor_divide, mod, mod, mod
lt, le, gt, ge, eq, ne = less, less_equal, greater, greater_equal, equal, not_equal
gammaln = lgamma


def _together(*xs: Any) -> tuple[Any, ...]:
    """Python numbers as arrays of the dtype that all have in common: on the way through a card they would widen it."""
    if not any(isinstance(x, (int, float, builtins.complex)) for x in xs):
        return xs
    dtype = promote(map(spec_of, xs))
    return tuple(np.asarray(x, dtype) if isinstance(x, (int, float, builtins.complex)) else x for x in xs)


def where(condition: Any, input: Any, other: Any) -> Any:
    """`input` where the condition holds, else `other`. The side not chosen gets a zero derivative.

    >>> from adjoint import ops, Tensor
    >>> print(ops.where(Tensor([True, False]), 1.0, Tensor([5.0, 6.0])))
    [1. 6.]
    """
    return _c.where(condition, input, other)


def round(input: Any, decimals: int = 0) -> Any:
    """The nearest number with this many decimals, halves to the even one. Its derivative is zero.

    >>> from adjoint import ops, Tensor
    >>> print(ops.round(Tensor([0.5, 1.5, 2.6])))
    [0. 2. 3.]
    """
    if not decimals:
        return _c.round_(input)
    scale = 10.0 ** builtins.abs(decimals)
    return _c.round_(input * scale) / scale if decimals > 0 else _c.round_(input / scale) * scale


def digamma(input: Any) -> Any:
    """The logarithmic derivative of the gamma function.

    >>> from adjoint import ops, Tensor
    >>> print(ops.digamma(Tensor([1.0])).round(4))
    [-0.5772]
    """
    return card(_s.Polygamma, 0)(input)


def polygamma(n: int, input: Any) -> Any:
    """The n-th derivative of digamma.

    >>> from adjoint import ops, Tensor
    >>> print(ops.polygamma(1, Tensor([1.0])).round(4))
    [1.6449]
    """
    return card(_s.Polygamma, n)(input)


def exp2(input: Any) -> Any:
    """2 ** x.

    >>> from adjoint import ops, Tensor
    >>> print(ops.exp2(Tensor([3.0])))
    [8.]
    """
    return _a.pow_(2.0, input)


def square(input: Any) -> Any:
    """x * x.

    >>> from adjoint import ops, Tensor
    >>> print(ops.square(Tensor([3.0])))
    [9.]
    """
    return _a.mul(input, input)


def reciprocal(input: Any) -> Any:
    """1 / x.

    >>> from adjoint import ops, Tensor
    >>> print(ops.reciprocal(Tensor([4.0])))
    [0.25]
    """
    return _a.div(1.0, input)


def rsqrt(input: Any) -> Any:
    """1 / sqrt(x).

    >>> from adjoint import ops, Tensor
    >>> print(ops.rsqrt(Tensor([4.0])))
    [0.5]
    """
    return _a.div(1.0, _t.sqrt(input))


def hypot(input: Any, other: Any) -> Any:
    """sqrt(x*x + y*y) without overflow. The derivative at (0, 0) is 0.

    >>> from adjoint import ops, Tensor
    >>> print(ops.hypot(Tensor([3e30]), Tensor([4e30])))
    [5.e+30]
    """
    input, other = _together(input, other)
    size = _a.stop(_c.maximum(_a.abs_(input), _a.abs_(other)))
    size = _c.where(F.bitwise_and(_c.greater(size, 0), _c.isfinite(size)), size, 1)
    a, b = _a.div(input, size), _a.div(other, size)
    return size * safe_sqrt(a * a + b * b)


def safe_sqrt(input: Any) -> Any:
    """Square root with the derivative 0, not infinity, at 0.

    >>> import adjoint as ad
    >>> print(ad.grad(ad.ops.safe_sqrt)(0.0))
    0.0
    """
    zero = _c.equal(input, 0)
    return _c.where(zero, 0, _t.sqrt(_c.where(zero, 1, input)))


def xlogy(input: Any, other: Any) -> Any:
    """x * log(y), and 0 where x is 0. The derivative in x is log(y), and 0 where x is 0 and log(y) has no finite value.

    >>> from adjoint import ops, Tensor
    >>> print(ops.xlogy(Tensor([0.0]), Tensor([0.0])))
    [0.]
    """
    input, other = _together(input, other)
    endless = F.bitwise_or(_c.less_equal(other, 0), _c.equal(other, np.inf))
    hole = F.bitwise_and(_c.equal(input, 0), endless)
    return _c.where(hole, 0, input * _t.log(_c.where(hole, 1, other)))


def sinc(input: Any) -> Any:
    """sin(pi x) / (pi x), and 1 at 0; smooth there to every order.

    >>> from adjoint import ops, Tensor
    >>> print(ops.sinc(Tensor([0.0, 0.5])).round(4))
    [1.     0.6366]
    """
    x = math.pi * input
    small = _c.less(_a.abs_(x), 0.5)
    safe = _c.where(small, 1.0, x)
    near = _c.where(small, x, 0)
    s = near * near
    series: Any = 0.0
    for k in range(8, -1, -1):  # 1 - s/3! + s**2/5! - ..., exact to rounding below 1/2, and so are its derivatives
        series = series * s + (-1) ** k / math.factorial(2 * k + 1)
    return _c.where(small, series, _a.div(_g.sin(safe), safe))


def fmod(input: Any, other: Any) -> Any:
    """The remainder with the sign of `input`, as in C.

    >>> from adjoint import ops, Tensor
    >>> print(ops.fmod(Tensor([7.0, -7.0]), 4))
    [ 3. -3.]
    """
    input, other = _together(input, other)
    size = _a.abs_(other)
    return _c.where(_c.less(input, 0), -_a.mod(-input, size), _a.mod(input, size))


def lerp(input: Any, end: Any, weight: Any) -> Any:
    """input + weight * (end - input).

    >>> from adjoint import ops, Tensor
    >>> print(ops.lerp(Tensor([1.0]), Tensor([3.0]), 0.5))
    [2.]
    """
    return input + weight * (end - input)


def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """The input, but not below `min` nor above `max`. The derivative at a bound is 1.

    >>> from adjoint import ops, Tensor
    >>> print(ops.clamp(Tensor([-1.0, 0.5, 2.0]), 0, 1))
    [0.  0.5 1. ]
    """
    if min is None and max is None:
        raise ArgumentError(f"clamp: give min, max or both{called_at()}")
    if min is not None:
        input = _c.where(_c.less(input, min), min, input)
    return input if max is None else _c.where(_c.greater(input, max), max, input)


clip = clamp


def angle(input: Any) -> Any:
    """The argument of a complex number; 0 or pi for a real one.

    >>> from adjoint import ops, Tensor
    >>> print(ops.angle(Tensor([-1.0, 1.0])).round(2))
    [3.14 0.  ]
    """
    return _g.atan2(_a.imag(input), _a.real(input))


def complex(real: Any, imag: Any) -> Any:
    """real + i * imag.

    >>> from adjoint import ops, Tensor
    >>> print(ops.complex(Tensor([1.0]), Tensor([2.0])))
    [1.+2.j]
    """
    return real + 1j * imag


def polar(abs: Any, angle: Any) -> Any:
    """The complex number of this size and argument.

    >>> from adjoint import ops, Tensor
    >>> print(ops.polar(Tensor([2.0]), Tensor([0.0])))
    [2.+0.j]
    """
    abs, angle = _together(abs, angle)
    return complex(abs * _g.cos(angle), abs * _g.sin(angle))


def isinf(input: Any) -> Any:
    """Positive or negative infinity.

    >>> from adjoint import ops, Tensor
    >>> print(ops.isinf(Tensor([1.0, float("-inf")])))
    [False  True]
    """
    return _c.equal(_a.abs_(input), np.inf)


def isclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether two values agree within `atol + rtol * |other|`.

    >>> from adjoint import ops, Tensor
    >>> print(ops.isclose(Tensor([1.0]), 1.0000001))
    [ True]
    """
    other = _a.mul(other, 1.0)  # the difference of unsigned numbers would wrap around
    with np.errstate(invalid="ignore"):  # inf - inf
        near = _c.less_equal(_a.abs_(_a.sub(input, other)), atol + rtol * _a.abs_(other))
    near = logical_and(near, _c.isfinite(other)) | _c.equal(input, other)
    return near | (_c.isnan(input) & _c.isnan(other)) if equal_nan else near


def logical_not(input: Any) -> Any:
    """True where the input is zero or false.

    >>> from adjoint import ops, Tensor
    >>> print(ops.logical_not(Tensor([0.0, 2.0])))
    [ True False]
    """
    return F.logical_not(input)


def _truth(x: Any) -> Any:
    return x if dtype_of(x).kind == "b" else _c.not_equal(x, 0)


def logical_and(input: Any, other: Any) -> Any:
    """Both are true.

    >>> from adjoint import ops, Tensor
    >>> print(ops.logical_and(Tensor([True, False]), True))
    [ True False]
    """
    return F.bitwise_and(_truth(input), _truth(other))


def logical_or(input: Any, other: Any) -> Any:
    """At least one is true.

    >>> from adjoint import ops, Tensor
    >>> print(ops.logical_or(Tensor([True, False]), False))
    [ True False]
    """
    return F.bitwise_or(_truth(input), _truth(other))


def logical_xor(input: Any, other: Any) -> Any:
    """Exactly one is true.

    >>> from adjoint import ops, Tensor
    >>> print(ops.logical_xor(Tensor([True, False]), True))
    [False  True]
    """
    return F.bitwise_xor(_truth(input), _truth(other))


def cast(input: Any, dtype: Any) -> Any:
    """The values in another dtype. A cast to integers ends the gradient.

    >>> import adjoint as ad
    >>> print(ad.ops.cast(ad.Tensor([1.7]), ad.int32))
    [1]
    """
    return F.cast(input, dtype)


astype = cast


def stop_gradient(value: Any) -> Any:
    """The value itself, whose derivative is taken to be zero. Works on containers.

    >>> import adjoint as ad
    >>> print(ad.grad(lambda x: x * ad.ops.stop_gradient(x))(3.0))
    3.0
    """
    from adjoint.core import tree

    return tree.map(lambda x: x if isinstance(x, str) or callable(x) else _a.stop(x), value)
