"""Arithmetic, powers, logarithms, trigonometry, comparison and logic, element by element."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import dtype_of, is_half, is_inexact, promote, spec_of
from adjoint.ops import arithmetic as _a
from adjoint.ops import compare as _c
from adjoint.ops import complex_parts as _complex
from adjoint.ops import language as F
from adjoint.ops import transcendental as _t
from adjoint.ops import trigonometric as _g
from adjoint.ops.casting import stop
from adjoint.ops.publish import public


def _together(*xs: Any) -> tuple[Any, ...]:
    """Python numbers as arrays of the dtype that all have in common: on the way through a card they would widen it."""
    if not any(isinstance(x, (int, float, builtins.complex)) for x in xs):
        return xs
    dtype = promote(map(spec_of, xs))
    return tuple(np.asarray(x, dtype) if isinstance(x, (int, float, builtins.complex)) else x for x in xs)


def exp2(input: Any) -> Any:
    """2 ** x.

    >>> from adjoint import ops, Tensor
    >>> print(ops.exp2(Tensor([3.0])))
    [8.]
    """
    return _a.pow_(2.0, input)


@public(method=True)
def square(input: Any) -> Any:
    """x * x.

    >>> from adjoint import ops, Tensor
    >>> print(ops.square(Tensor([3.0])))
    [9.]
    """
    return _a.mul(input, input)


@public(method=True)
def reciprocal(input: Any) -> Any:
    """1 / x.

    >>> from adjoint import ops, Tensor
    >>> print(ops.reciprocal(Tensor([4.0])))
    [0.25]
    """
    return _a.div(1.0, input)


@public(method=True)
def rsqrt(input: Any) -> Any:
    """1 / sqrt(x).

    >>> from adjoint import ops, Tensor
    >>> print(ops.rsqrt(Tensor([4.0])))
    [0.5]
    """
    return _a.div(1.0, _t.sqrt(input))


@public(method=True)
def hypot(input: Any, other: Any) -> Any:
    """sqrt(x*x + y*y) without overflow. The derivative at (0, 0) is 0.

    >>> from adjoint import ops, Tensor
    >>> print(ops.hypot(Tensor([3e30]), Tensor([4e30])))
    [5.e+30]
    """
    input, other = _together(input, other)
    size = stop(_c.maximum(_a.abs_(input), _a.abs_(other)))
    size = _c.where_(F.bitwise_and(_c.greater(size, 0), _c.isfinite(size)), size, 1)
    a, b = _a.div(input, size), _a.div(other, size)
    endless = F.bitwise_or(isinf(input), isinf(other))  # beside a NaN too
    return _c.where_(endless, np.inf, size * safe_sqrt(a * a + b * b))


def safe_sqrt(input: Any) -> Any:
    """Square root with the derivative 0, not infinity, at 0.

    >>> import adjoint as ad
    >>> print(ad.grad(ad.ops.safe_sqrt)(0.0))
    0.0
    """
    zero = _c.equal(input, 0)
    return _c.where_(zero, 0, _t.sqrt(_c.where_(zero, 1, input)))


@public(method=True)
def xlogy(input: Any, other: Any) -> Any:
    """x * log(y), and 0 where x is 0. The derivative in x is log(y), and 0 where x is 0 and log(y) has no finite value.

    >>> from adjoint import ops, Tensor
    >>> print(ops.xlogy(Tensor([0.0]), Tensor([0.0])))
    [0.]
    """
    input, other = _together(input, other)
    endless = F.bitwise_or(_c.less_equal(other, 0), _c.equal(other, np.inf))
    hole = F.bitwise_and(_c.equal(input, 0), endless)
    return _c.where_(hole, 0, input * _t.log(_c.where_(hole, 1, other)))


@public(method=True)
def sinc(input: Any) -> Any:
    """sin(pi x) / (pi x), and 1 at 0; smooth there to every order.

    >>> from adjoint import ops, Tensor
    >>> print(ops.sinc(Tensor([0.0, 0.5])).round(4))
    [1.     0.6366]
    """
    x = math.pi * input
    small = _c.less(_a.abs_(x), 0.5)
    safe = _c.where_(small, 1.0, x)
    near = _c.where_(small, x, 0)
    s = near * near
    series: Any = 0.0
    for k in range(8, -1, -1):  # 1 - s/3! + s**2/5! - ..., exact to rounding below 1/2, and so are its derivatives
        series = series * s + (-1) ** k / math.factorial(2 * k + 1)
    return _c.where_(small, series, _a.div(_g.sin(safe), safe))


@public(method=True)
def fmod(input: Any, other: Any) -> Any:
    """The remainder with the sign of `input`, as in C.

    >>> from adjoint import ops, Tensor
    >>> print(ops.fmod(Tensor([7.0, -7.0]), 4))
    [ 3. -3.]
    """
    input, other = _together(input, other)
    common = promote(map(spec_of, (input, other)))
    if common.kind in "biu":
        return _integer_fmod(input, other)
    wide = np.dtype(np.float32) if is_half(common) else common  # integers have numbers without an opposite
    input, other = (F.cast(x, wide) if dtype_of(x).kind in "biu" else x for x in (input, other))
    size = _a.abs_(other)
    return _c.where_(_c.less(input, 0), -_a.mod(-input, size), _a.mod(input, size))


def _integer_fmod(x: Any, y: Any) -> Any:
    """From the remainder with the sign of y; neither |y| nor -x is taken, which the least integer does not have."""
    rest = _a.mod(x, y)
    if dtype_of(rest).kind == "u":
        return rest
    other_sign = F.bitwise_xor(_c.less(x, 0), _c.less(y, 0))
    return _c.where_(F.bitwise_and(other_sign, _c.not_equal(rest, 0)), rest - y, rest)


@public(method=True)
def lerp(input: Any, end: Any, weight: Any) -> Any:
    """input + weight * (end - input).

    >>> from adjoint import ops, Tensor
    >>> print(ops.lerp(Tensor([1.0]), Tensor([3.0]), 0.5))
    [2.]
    """
    return input + weight * (end - input)


@public(aliases=("clip",), method=("clamp", "clip"))
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """The input, but not below `min` nor above `max`. The derivative at a bound is 1.

    >>> from adjoint import ops, Tensor
    >>> print(ops.clamp(Tensor([-1.0, 0.5, 2.0]), 0, 1))
    [0.  0.5 1. ]
    """
    if min is None and max is None:
        raise ArgumentError(f"clamp: give min, max or both{called_at()}")
    low, high = _fitting(input, min, False), _fitting(input, max, True)
    if low is not None:
        input = _c.where_(_or_nan(_c.less(input, low), low), low, input)
    return input if high is None else _c.where_(_or_nan(_c.greater(input, high), high), high, input)


def _fitting(x: Any, bound: Any, upper: bool) -> Any:
    """A bound that integers can hold: a Python integer beyond them on its own side bounds nothing."""
    dtype = dtype_of(x)
    if type(bound) is not int or dtype.kind not in "iu":
        return bound
    limits = np.iinfo(dtype)
    return builtins.min(bound, limits.max) if upper else builtins.max(bound, limits.min)


def _or_nan(beyond: Any, bound: Any) -> Any:
    """Where a bound holds: a NaN bounds everything, as in NumPy. One that is known to be a number is not asked."""
    if not isinstance(bound, Value) and not np.isnan(bound).any():
        return beyond
    return F.bitwise_or(beyond, _c.isnan(bound)) if is_inexact(dtype_of(bound)) else beyond


clip = clamp


@public(method=True)
def angle(input: Any) -> Any:
    """The argument of a complex number; 0 or pi for a real one.

    >>> from adjoint import ops, Tensor
    >>> print(ops.angle(Tensor([-1.0, 1.0])).round(2))
    [3.14 0.  ]
    """
    return _g.atan2(_complex.imag(input), _complex.real(input))


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


@public(method=True)
def isinf(input: Any) -> Any:
    """Positive or negative infinity.

    >>> from adjoint import ops, Tensor
    >>> print(ops.isinf(Tensor([1.0, float("-inf")])))
    [False  True]
    """
    return _c.equal(_a.abs_(input), np.inf)


@public(method=True)
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


@public(method=True)
def logical_not(input: Any) -> Any:
    """True where the input is zero or false.

    >>> from adjoint import ops, Tensor
    >>> print(ops.logical_not(Tensor([0.0, 2.0])))
    [ True False]
    """
    return F.logical_not(input)


def _truth(x: Any) -> Any:
    return x if dtype_of(x).kind == "b" else _c.not_equal(x, 0)


@public(method=True)
def logical_and(input: Any, other: Any) -> Any:
    """Both are true.

    >>> from adjoint import ops, Tensor
    >>> print(ops.logical_and(Tensor([True, False]), True))
    [ True False]
    """
    return F.bitwise_and(_truth(input), _truth(other))


@public(method=True)
def logical_or(input: Any, other: Any) -> Any:
    """At least one is true.

    >>> from adjoint import ops, Tensor
    >>> print(ops.logical_or(Tensor([True, False]), False))
    [ True False]
    """
    return F.bitwise_or(_truth(input), _truth(other))


@public(method=True)
def logical_xor(input: Any, other: Any) -> Any:
    """Exactly one is true.

    >>> from adjoint import ops, Tensor
    >>> print(ops.logical_xor(Tensor([True, False]), True))
    [False  True]
    """
    return F.bitwise_xor(_truth(input), _truth(other))
