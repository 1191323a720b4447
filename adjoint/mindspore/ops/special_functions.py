"""Special functions and windows, and integers' own: divisors, bits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import ops as _ops
from adjoint.core.spec import dtype_of, float32
from adjoint.mindspore.ops.promotion import in_float, listed, promoted, static, tensor


def _bessel(function: Callable[..., Any], order: int, *scaled: bool) -> Callable[[Any], Any]:
    def call(x: Any) -> Any:
        return function(order, in_float(x), *scaled)

    return call


bessel_j0, bessel_j1 = (_bessel(_ops.bessel_j, order) for order in (0, 1))
bessel_y0, bessel_y1 = (_bessel(_ops.bessel_y, order) for order in (0, 1))
bessel_i0, bessel_i1 = (_bessel(_ops.bessel_i, order) for order in (0, 1))
bessel_i0e, bessel_i1e = (_bessel(_ops.bessel_i, order, True) for order in (0, 1))
bessel_k0, bessel_k1 = (_bessel(_ops.bessel_k, order) for order in (0, 1))
bessel_k0e, bessel_k1e = (_bessel(_ops.bessel_k, order, True) for order in (0, 1))
i0 = bessel_i0


def igamma(input: Any, other: Any) -> Any:
    """The regularised lower incomplete gamma function."""
    return _ops.gammainc(*promoted(in_float(input), in_float(other)))


def igammac(input: Any, other: Any) -> Any:
    """The regularised upper incomplete gamma function."""
    return _ops.gammaincc(*promoted(in_float(input), in_float(other)))


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularised incomplete beta function; as in MindSpore, its derivative is that by x."""
    a, b, x = promoted(in_float(a), in_float(b), in_float(x))
    return _ops.betainc(_ops.stop_gradient(a), _ops.stop_gradient(b), x)


def zeta(input: Any, other: Any) -> Any:
    """Hurwitz's zeta function; as in MindSpore, its derivative is that by the second input."""
    x, q = promoted(input, other)
    return _ops.zeta(_ops.stop_gradient(in_float(x)), in_float(q))


def polygamma(n: Any, input: Any) -> Any:
    """The n-th derivative of digamma."""
    orders = static(n)
    if isinstance(orders, tuple):
        return _ops.stack([_ops.polygamma(int(k), in_float(input)) for k in orders])
    return _ops.polygamma(int(orders), in_float(input))


def mvlgamma(input: Any, p: int) -> Any:
    """The logarithm of the multivariate gamma function."""
    x = in_float(input)
    total = p * (p - 1) / 4 * math.log(math.pi)
    for j in range(p):
        total = total + _ops.lgamma(x - j / 2)
    return total


# ---------------------------------------------------------------- integers and neighbours


def _of_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function without a derivative, of values that are known."""

    def call(input: Any, other: Any) -> Any:
        a, b = (x.asnumpy() if hasattr(x, "asnumpy") else x for x in promoted(input, other))
        return tensor(np.asarray(function(a, b)))

    return call


gcd, lcm, nextafter = _of_values(np.gcd), _of_values(np.lcm), _of_values(np.nextafter)


def population_count(input_x: Any) -> Any:
    """How many bits of each element are set."""
    x = tensor(input_x)
    bits = x.asnumpy().view(f"uint{8 * dtype_of(x).itemsize}")
    return tensor(np.unpackbits(bits[..., None].view(np.uint8), axis=-1).sum(-1).astype(np.uint8))


def cartesian_prod(*inputs: Any) -> Any:
    """All tuples of an element of each vector, as rows."""
    if len(inputs) == 1:
        return tensor(inputs[0])
    grid = _ops.meshgrid(*inputs, indexing="ij")
    return _ops.stack([_ops.reshape(g, (-1,)) for g in grid], -1)


def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """All choices of r elements of a vector, as rows."""
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.array(list(choose(range(input.shape[0]), r)), np.int64).reshape(-1, r)
    return _ops.take(input, rows, 0)


def view_as_real(input: Any) -> Any:
    """Complex numbers as pairs of real ones."""
    return _ops.stack([_ops.real(input), _ops.imag(input)], -1)


# ---------------------------------------------------------------- windows


def _window(length: Any, periodic: bool, dtype: Any, shape: Callable[[int], np.ndarray]) -> Any:
    n = int(np.asarray(static(length)).item())
    whole = shape(n + 1)[:-1] if periodic and n > 1 else shape(n)
    return tensor(whole.astype(np.float64 if dtype is None else np.dtype(dtype)))


def bartlett_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Any:
    """A triangle."""
    return _window(window_length, periodic, dtype or float32, np.bartlett)


def blackman_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Any:
    """The sum of a constant and two cosines after Blackman."""
    return _window(window_length, periodic, dtype or float32, np.blackman)


def hamming_window(
    window_length: Any, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Any = None
) -> Any:
    """A constant less a cosine after Hamming."""

    def shape(n: int) -> np.ndarray:
        return alpha - beta * np.cos(2 * np.pi * np.arange(n) / max(n - 1, 1))

    return _window(window_length, periodic, dtype or float32, shape)


def hann_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Any:
    """A constant less a cosine after von Hann."""
    return _window(window_length, periodic, dtype, np.hanning)


def kaiser_window(window_length: Any, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None) -> Any:
    """Kaiser's window of Bessel functions."""
    return _window(window_length, periodic, dtype, lambda n: np.kaiser(n, float(beta)))


def intopk(x1: Any, x2: Any, k: int) -> Any:
    """Whether the element at an index of each row is among its k largest."""
    own = _ops.gather_elements(x1, 1, _ops.expand_dims(_ops.cast(x2, np.int64), 1))
    return _ops.less(_ops.sum(_ops.cast(_ops.greater(x1, own), np.int64), 1), k)


def check_valid(bboxes: Any, img_metas: Any) -> Any:
    """Whether boxes lie in an image of this height, width and ratio."""
    height, width, ratio = (_ops.getitem(img_metas, i) for i in range(3))
    x0, y0, x1, y1 = (_ops.getitem(bboxes, (..., i)) for i in range(4))
    inside = [_ops.greater_equal(x0, 0), _ops.greater_equal(y0, 0)]
    inside += [_ops.less_equal(x1, width * ratio - 1), _ops.less_equal(y1, height * ratio - 1)]
    found = inside[0]
    for test in inside[1:]:
        found = _ops.logical_and(found, test)
    return found


__all__ = listed(globals())
