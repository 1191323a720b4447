"""Functions of numbers, element by element: arithmetic, comparisons, elementary functions, with MindSpore's dtypes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import ops as _ops
from adjoint.core.errors import ArgumentError
from adjoint.core.spec import is_complex, is_inexact
from adjoint.mindspore.ops.promotion import in_float, listed, of_floats, of_numbers, promoted, tensor, to_dtype

#: Elementary functions: of integers they are computed in float32.
ELEMENTARY = (
    "acos", "acosh", "arccos", "arccosh", "arcsinh", "arctan", "arctanh", "asin", "asinh", "atan", "atanh", "ceil",
    "cos", "cosh", "digamma", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "floor", "lgamma", "log", "log10",
    "log1p", "log2", "reciprocal", "rsqrt", "sigmoid", "sin", "sinc", "sinh", "tan", "tanh", "trunc",
)  # fmt: skip
#: Functions of two inputs.
BINARY = (
    "add", "mul", "multiply", "sub", "maximum", "minimum", "less", "lt", "less_equal", "le", "greater", "gt",
    "greater_equal", "ge", "equal", "eq", "not_equal", "ne", "floor_divide", "remainder", "fmod", "logaddexp",
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift",
)  # fmt: skip
#: Functions of one input of any dtype; Python numbers become Tensors.
UNARY = ("abs", "absolute", "neg", "negative", "sign", "square", "conj", "real", "imag", "isfinite", "isinf", "isnan")


def _of_tensor(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(input: Any) -> Any:
        return function(tensor(input))

    call.__name__ = call.__qualname__ = function.__name__
    call.__doc__ = function.__doc__
    return call


def sqrt(x: Any) -> Any:
    """The square root."""
    return _ops.sqrt(in_float(x))


def arcsin(x: Any) -> Any:
    """The inverse sine."""
    return _ops.asin(in_float(x))


def atan2(input: Any, other: Any) -> Any:
    """The angle of the point (other, input)."""
    return _ops.atan2(*promoted(in_float(input), other))


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """The quotient, as it is or rounded: "floor" downwards, "trunc" to zero.

    >>> from adjoint import Tensor
    >>> print(div(Tensor([7.0]), 2), div(Tensor([-7.0]), 2, rounding_mode="trunc"))
    [3.5] [-3.]
    """
    if rounding_mode not in (None, "floor", "trunc"):
        raise ArgumentError(f"div: rounding_mode must be None, 'floor' or 'trunc', not {rounding_mode!r}")
    a, b = promoted(input, other)
    if rounding_mode == "floor":
        return _ops.floor_divide(a, b)
    exact = not any(is_inexact(x.dtype) for x in (a, b) if hasattr(x, "dtype"))
    if not exact:
        quotient = _ops.div(a, b)
        return quotient if rounding_mode is None else _ops.trunc(quotient)
    if rounding_mode is None:
        return _ops.div(in_float(a), in_float(b))
    return truncate_div(a, b)


def true_divide(dividend: Any, divisor: Any) -> Any:
    """The quotient."""
    return div(dividend, divisor)


def truncate_div(x: Any, y: Any) -> Any:
    """The quotient rounded to zero, element by element; integers stay integers."""
    a, b = promoted(x, y)
    if any(is_inexact(v.dtype) for v in (a, b) if hasattr(v, "dtype")):
        return _ops.trunc(_ops.div(a, b))
    size = abs(a) // abs(b)
    return _ops.where(_ops.not_equal(_ops.less(a, 0), _ops.less(b, 0)), -size, size)


def truncate_mod(x: Any, y: Any) -> Any:
    """What division leaves if the quotient is rounded to zero: it has the sign of x."""
    a, b = promoted(x, y)
    return a - truncate_div(a, b) * b


def real_div(x: Any, y: Any) -> Any:
    """The quotient; of integers the whole part."""
    a, b = promoted(x, y)
    if any(is_inexact(v.dtype) for v in (a, b) if hasattr(v, "dtype")):
        return _ops.div(a, b)
    return truncate_div(a, b)


def floor_div(x: Any, y: Any) -> Any:
    """The quotient rounded downwards."""
    return _ops.floor_divide(*promoted(x, y))


def floor_mod(x: Any, y: Any) -> Any:
    """What division leaves if the quotient is rounded downwards: it has the sign of y."""
    return _ops.mod(*promoted(x, y))


def subtract(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """input - alpha * other."""
    return _ops.sub(*promoted(input, other if alpha == 1 else other * alpha))


def pow(input: Any, exponent: Any) -> Any:
    """The power, element by element."""
    return _ops.pow(*promoted(input, exponent))


def float_power(input: Any, exponent: Any) -> Any:
    """The power in float64 or complex128."""
    xs = [tensor(x) for x in (input, exponent)]
    wide = np.complex128 if any(is_complex(x) for x in xs) else np.float64
    return _ops.pow(*(_ops.cast(x, wide) for x in xs))


def round(input: Any, *, decimals: int = 0) -> Any:
    """To the nearest number of so many decimals, halves to even."""
    return _ops.round(tensor(input), decimals)


def lerp(input: Any, end: Any, weight: Any) -> Any:
    """Between input and end, at a weight from 0 to 1."""
    return _ops.lerp(*promoted(input, end, weight))


def addcmul(input: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    """input + value * tensor1 * tensor2."""
    a, b, c, v = promoted(input, tensor1, tensor2, value)
    return a + v * b * c


def addcdiv(input: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    """input + value * tensor1 / tensor2."""
    a, b, c, v = promoted(input, tensor1, tensor2, value)
    return a + v * (b / c)


def addn(x: Any) -> Any:
    """The sum of Tensors.

    >>> from adjoint import Tensor
    >>> print(addn((Tensor([1.0]), Tensor([2.0]), Tensor([4.0]))))
    [7.]
    """
    if not isinstance(x, (list, tuple)):
        return tensor(x)
    terms = promoted(*x)
    total = tensor(terms[0])
    for term in terms[1:]:
        total = total + term
    return total


accumulate_n = addn


def inv(x: Any) -> Any:
    """1 / x, element by element."""
    return real_div(1, x)


def invert(x: Any) -> Any:
    """Every bit the other way round."""
    return _ops.bitwise_not(tensor(x))


def frac(x: Any) -> Any:
    """What is left of a number without its whole part, with its sign."""
    return truncate_mod(x, 1)


def deg2rad(x: Any) -> Any:
    """Degrees as radians."""
    return in_float(x) * (math.pi / 180)


def rad2deg(x: Any) -> Any:
    """Radians as degrees."""
    return in_float(x) * (180 / math.pi)


def hypot(input: Any, other: Any) -> Any:
    """sqrt(x^2 + y^2) without overflow."""
    return _ops.hypot(*promoted(in_float(input), other))


def heaviside(input: Any, values: Any) -> Any:
    """0 below zero, 1 above, `values` at zero."""
    a, b = promoted(input, values)
    one = tensor(a)
    return _ops.where(_ops.equal(one, 0), b, _ops.cast(_ops.greater(one, 0), one.dtype))


def ldexp(x: Any, other: Any) -> Any:
    """x * 2**other."""
    a, b = promoted(x, other)
    return a * _ops.pow(2.0, b)


def logaddexp2(input: Any, other: Any) -> Any:
    """log2(2**x + 2**y) without overflow."""
    a, b = promoted(in_float(input), other)
    return _ops.logaddexp(a * math.log(2), b * math.log(2)) / math.log(2)


def logit(input: Any, eps: float | None = None) -> Any:
    """log(x / (1 - x)), of x held between eps and 1 - eps if it is given."""
    x = in_float(input)
    if eps is not None and eps >= 0:
        x = _ops.clamp(x, eps, 1 - eps)
    return _ops.log(x / (1 - x))


def copysign(x: Any, other: Any) -> Any:
    """The size of x with the sign of other."""
    a = in_float(x)
    return _ops.where(signbit(other), -_ops.abs(a), _ops.abs(a))


def signbit(input: Any) -> Any:
    """Whether the sign is negative; that of -0.0 is."""
    x = tensor(input)
    if x.dtype.kind != "f":
        return _ops.less(x, 0)
    return _ops.less(_ops.where(_ops.equal(x, 0), 1 / _ops.where(_ops.equal(x, 0), x, 1), x), 0)


def sgn(input: Any) -> Any:
    """The sign; of a complex number the direction, with 0 for 0."""
    x = tensor(input)
    if not is_complex(x):
        return _ops.sign(x)
    size = _ops.abs(x)
    zero = _ops.equal(size, 0)
    return _ops.where(zero, 0, x / _ops.where(zero, 1, size))


def positive(input: Any) -> Any:
    """The input."""
    return tensor(input)


def fmax(input: Any, other: Any) -> Any:
    """The larger; of a number and NaN the number."""
    a, b = (tensor(x) for x in promoted(input, other))
    return _ops.where(_ops.isnan(b), a, _ops.where(_ops.isnan(a), b, _ops.maximum(a, b)))


def fmin(input: Any, other: Any) -> Any:
    """The smaller; of a number and NaN the number."""
    a, b = (tensor(x) for x in promoted(input, other))
    return _ops.where(_ops.isnan(b), a, _ops.where(_ops.isnan(a), b, _ops.minimum(a, b)))


def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """Held between two bounds, of which one may be None."""
    if isinstance(input, (list, tuple)):
        return type(input)(clamp(x, min, max) for x in input)
    if min is None and max is None:
        raise ArgumentError("clamp: min and max cannot both be None")
    x = tensor(input)
    return _ops.clamp(x, *(None if bound is None else to_dtype(tensor(bound), x.dtype) for bound in (min, max)))


def clip_by_value(x: Any, clip_value_min: Any = None, clip_value_max: Any = None) -> Any:
    """Held between two bounds, of which one may be None."""
    return clamp(x, clip_value_min, clip_value_max)


def nan_to_num(input: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    """NaN and infinities replaced by numbers: by 0 and the largest and smallest of the dtype, if none are given."""
    x = tensor(input)
    if not is_inexact(x.dtype):
        return x
    limits = np.finfo(x.dtype)
    x = _ops.where(_ops.isnan(x), 0.0 if nan is None else nan, x)
    x = _ops.where(_ops.equal(x, np.inf), float(limits.max) if posinf is None else posinf, x)
    return _ops.where(_ops.equal(x, -np.inf), float(limits.min) if neginf is None else neginf, x)


def xlogy(input: Any, other: Any) -> Any:
    """x * log(y), 0 where x is 0."""
    return _ops.xlogy(*promoted(input, in_float(other)))


def xdivy(x: Any, y: Any) -> Any:
    """x / y, 0 where x is 0."""
    return _without(lambda a, b: a / b, 0, *promoted(x, y))


def div_no_nan(x: Any, y: Any) -> Any:
    """x / y, 0 where y is 0."""
    return _without(lambda a, b: a / b, 1, *promoted(x, y))


def mul_no_nan(x: Any, y: Any) -> Any:
    """x * y, 0 where y is 0 even if x is infinite or NaN."""
    a, b = (tensor(v) for v in promoted(x, y))
    lost = _ops.logical_and(_ops.equal(b, 0), _ops.logical_not(_ops.isfinite(a)))
    zero = _ops.zeros((), a.dtype)
    return _ops.where(lost, zero, _ops.where(lost, zero, a) * b)


def _without(function: Callable[[Any, Any], Any], zero: int, x: Any, y: Any) -> Any:
    """A function of two inputs, 0 where one of them is 0: neither value nor derivative is computed there."""
    x, y = (tensor(v) for v in (x, y))
    bad = _ops.equal((x, y)[zero], 0)
    x, y = _ops.where(bad, 1, x), _ops.where(bad, 1, y)
    found = function(x, y)
    return _ops.where(bad, _ops.zeros((), found.dtype), found)


def squared_difference(x: Any, y: Any) -> Any:
    """(x - y)**2."""
    a, b = promoted(x, y)
    return _ops.square(a - b)


def approximate_equal(x: Any, y: Any, tolerance: float = 1e-5) -> Any:
    """Whether two inputs differ by less than a tolerance."""
    a, b = promoted(x, y)
    return _ops.less(_ops.abs(a - b), tolerance)


def isclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether two inputs are equal but for rounding."""
    a, b = promoted(input, other)
    return _ops.isclose(a, b, rtol, atol, equal_nan)


def isreal(input: Any) -> Any:
    """Whether the imaginary part is 0."""
    x = tensor(input)
    return _ops.equal(_ops.imag(x), 0) if is_complex(x) else _ops.equal(_ops.zeros_like(x), 0)


def isneginf(input: Any) -> Any:
    """Whether it is -inf."""
    return _ops.equal(tensor(input), -np.inf)


def isposinf(input: Any) -> Any:
    """Whether it is inf."""
    return _ops.equal(tensor(input), np.inf)


def _logical(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(input: Any, other: Any) -> Any:
        return function(tensor(input), tensor(other))

    call.__name__ = call.__qualname__ = function.__name__
    call.__doc__ = function.__doc__
    return call


globals().update({name: of_floats(getattr(_ops, name)) for name in ELEMENTARY})
globals().update({name: of_numbers(getattr(_ops, name)) for name in BINARY})
globals().update({name: _of_tensor(getattr(_ops, name)) for name in UNARY})
globals().update({f"logical_{n}": _logical(getattr(_ops, f"logical_{n}")) for n in ("and", "or", "xor")})
globals().update({"logical_not": _of_tensor(_ops.logical_not)})
arctan2, divide, clip, floormod, floordiv = atan2, div, clamp, floor_mod, floor_div
bitwise_not = invert

__all__ = listed(globals())
