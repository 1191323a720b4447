"""Products along an axis in few steps.

A few factors are multiplied one by one. More are multiplied in windows, each step doubling them: a window may overflow though
the running product from the beginning does not. Where one might, each factor is first scaled by a power of two, so that every
window lies near 1, and each product is scaled back: both are exact. The powers are constants to derivatives, and so those are
exact too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.spec import dtype_of, float64, is_half, is_inexact, shape_of
from adjoint.ops import arithmetic as _a
from adjoint.ops import transcendental as _t
from adjoint.ops.along_axis import CumSum
from adjoint.ops.card import card
from adjoint.ops.casting import in_single
from adjoint.ops.compare import greater, isfinite, round
from adjoint.ops.functional.elementwise import clamp
from adjoint.ops.joining import concat
from adjoint.ops.language import bitwise_and, cast, floor, stop_gradient, where
from adjoint.ops.reduce import max, min
from adjoint.ops.slicing import slice_axis

FEW = 8  # factors that are multiplied one by one


@in_single
def running_products(x: Any, axis: int) -> Any:
    """The product of the elements so far, at each place along an axis."""
    n = shape_of(x)[axis]
    if not _may_overflow(x):
        return _windows(x, axis)
    if n <= FEW:
        return concat(_one_by_one(x, axis), axis) if n > 1 else x
    near, exponents = _near_one(x, axis)
    return _scaled(_windows(near, axis), exponents)


def product_of_last(x: Any) -> Any:
    """The product along the last axis, which stays with size 1 and is not empty: by halving it, without a division, so that zeros
    are no special case."""
    axis = len(shape_of(x)) - 1
    if shape_of(x)[axis] <= FEW:
        return _one_by_one(x, axis)[-1]
    while (n := shape_of(x)[axis]) > 1:
        half = n // 2
        folded = slice_axis(x, axis, 0, half) * slice_axis(x, axis, half, 2 * half)
        x = folded if n == 2 * half else concat([folded, slice_axis(x, axis, n - 1, n)], axis)
    return x


def _one_by_one(x: Any, axis: int) -> list[Any]:
    """The products so far of a few factors."""
    found = [slice_axis(x, axis, 0, 1)]
    for k in range(1, shape_of(x)[axis]):
        found.append(found[-1] * slice_axis(x, axis, k, k + 1))
    return found


def _may_overflow(x: Any) -> bool:
    """Whether the order of the factors matters: integers wrap around, whatever it is."""
    return is_inexact(dtype_of(x)) and not is_half(dtype_of(x))


def _windows(x: Any, axis: int) -> Any:
    n, step = shape_of(x)[axis], 1
    while step < n:  # each iteration doubles the number of factors that have come in
        x = concat(
            [slice_axis(x, axis, 0, step), slice_axis(x, axis, step, n) * slice_axis(x, axis, 0, n - step)], axis
        )
        step *= 2
    return x


def _near_one(x: Any, axis: int) -> tuple[Any, Any]:
    """The factors, scaled where windows of them might leave the range, and the exponents of two of the products so far."""
    n = shape_of(x)[axis]
    size = cast(_a.abs_(stop_gradient(x)), float64)
    plain = bitwise_and(greater(size, 0), isfinite(size))  # the others are what they are at any scale
    logs = card(CumSum, axis, False)(where(plain, _t.log2(where(plain, size, 1.0)), 0.0))
    reach = clamp(max(logs, axis, keepdims=True), 0.0) - clamp(min(logs, axis, keepdims=True), None, 0.0)
    exponents = where(greater(reach, _largest_exponent(x) - 8), round(logs), 0.0)
    first = slice_axis(exponents, axis, 0, 1)
    steps = slice_axis(exponents, axis, 1, n) - slice_axis(exponents, axis, 0, n - 1)
    return _scaled(x, -concat([first, steps], axis)), exponents


def _scaled(x: Any, exponents: Any) -> Any:
    """x * 2**exponents in two steps, as a power alone may leave the range; only the last one rounds."""
    most, dtype = 2 * _largest_exponent(x), np.dtype(dtype_of(x).type(0).real.dtype)
    exponents = clamp(exponents, -most, most)
    half = floor(exponents * 0.5)
    return x * cast(_a.pow_(2.0, half), dtype) * cast(_a.pow_(2.0, exponents - half), dtype)


def _largest_exponent(x: Any) -> int:
    return int(-np.finfo(dtype_of(x)).minexp)
