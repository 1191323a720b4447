"""Fourier transforms on parts: one step for each axis, whose length has small factors alone.

Other lengths are Bluestein's: a convolution of a longer, convenient length. A transform of real numbers of an even length is one of
complex numbers of half the length. Inverse transforms are forward ones with the parts exchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod, sqrt
from typing import Any, ClassVar

import numpy as np

from adjoint.backends.native.rewrite.complex_functions import Complex, as_complex, mul, real_dtype
from adjoint.backends.native.rewrite.real_numbers import RealNumber
from adjoint.core.spec import Spec
from adjoint.graph.node import Builder, Node, Structural
from adjoint.ops.card import card
from adjoint.ops.fourier import Fft
from adjoint.ops.joining import Concat
from adjoint.ops.movement import Reshape
from adjoint.ops.real_fourier import Irfft, Rfft
from adjoint.ops.slicing import Flip, PutItem, part_along
from adjoint.ops.stacking import Stack

LARGEST_FACTOR = 13  # of a length that is transformed directly
Rule = Callable[[Builder, Node, Sequence[Any]], Any]


@dataclass(frozen=True)
class FourierStep(Structural):
    """The discrete Fourier transform along an axis, not scaled: takes and gives the real and the imaginary part."""

    axis: int

    opaque: ClassVar[bool] = False
    expensive: ClassVar[bool] = True

    def infer(self, re: Spec, im: Spec) -> tuple[Spec, Spec]:
        return Spec(re.shape, re.dtype), Spec(re.shape, re.dtype)

    def eval(self, xp: Any, re: Any, im: Any) -> tuple[Any, Any]:
        z = xp.fft.fft(re + 1j * im, axis=self.axis)
        return z.real.astype(re.dtype), z.imag.astype(re.dtype)


def factors(n: int) -> list[int]:
    """The prime factors of a number, ascending."""
    found, p = [], 2
    while p * p <= n:
        while n % p == 0:
            found.append(p)
            n //= p
        p += 1
    return found + [n] * (n > 1)


def unit_roots(places: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine of -2 pi k / n, rounded once: by eighths of the circle, in extended precision."""
    k = np.asarray(places) % n
    eighth, rest = np.divmod(8 * k, n)
    near = eighth % 2 == 0
    angle = np.where(near, rest, n - rest).astype(np.longdouble) * (np.arctan(np.longdouble(1)) / n)
    small, large = np.sin(angle), np.cos(angle)
    quarter = (eighth + 1) // 2 % 4  # the axis of the circle that is nearest
    towards = np.where(near, small, -small)
    cosine = np.choose(quarter, [large, -towards, -large, towards])
    sine = np.choose(quarter, [towards, large, -towards, -large])
    return cosine.astype(float), -sine.astype(float)


# ---------------------------------------------------------------- transforms along one axis


def transformed(z: Complex, axis: int, inverse: bool = False) -> Complex:
    """The transform of a complex array along an axis, not scaled."""
    n = z.re.shape[axis]
    if n == 1:
        return z
    if inverse:
        z = transformed(Complex(z.im, z.re), axis)
        return Complex(z.im, z.re)
    if factors(n)[-1] > LARGEST_FACTOR:
        return _by_convolution(z, axis)
    builder = z.re.builder
    call = builder.build(FourierStep(axis), [z.re.node, z.im.node])
    return Complex(*(RealNumber(builder, builder.pick(call, k)) for k in (0, 1)))


def _by_convolution(z: Complex, axis: int) -> Complex:
    """Bluestein's transform: kl = (k**2 + l**2 - (k - l)**2) / 2."""
    n = z.re.shape[axis]
    chirp, spectrum = _chirp(n)
    m = len(spectrum)
    wave = _constant(z.re, chirp, axis)
    shape = tuple(m if a == axis else size for a, size in enumerate(z.re.shape))
    place = (*((None, None, None),) * axis, (0, n, None))
    longer = _each(mul(z, wave), lambda x: x.apply(card(PutItem, place, shape)))
    product = mul(transformed(longer, axis), _constant(z.re, spectrum, axis))
    back = transformed(product, axis, inverse=True)
    return mul(_each(back, lambda x: _slice(x, axis, 0, n)), wave)


@lru_cache(maxsize=64)
def _chirp(n: int) -> tuple[np.ndarray, np.ndarray]:
    """exp(-i pi k**2 / n), and the transform of its conjugate, wrapped around, over the length."""
    from scipy import fft as scipy_fft  # takes long to import

    k = np.arange(n, dtype=object)
    cosine, sine = unit_roots((k * k % (2 * n)).astype(np.int64), 2 * n)
    m = scipy_fft.next_fast_len(-(-(2 * n - 1) // 8), real=True) * 8
    wrapped = np.zeros(m, np.clongdouble)
    wrapped[:n] = cosine - 1j * sine
    wrapped[m - n + 1 :] = wrapped[1:n][::-1]
    return cosine + 1j * sine, (scipy_fft.fft(wrapped) / m).astype(complex)


def _constant(like: RealNumber, values: np.ndarray, axis: int) -> Complex:
    """Known numbers along an axis."""
    shape = tuple(len(values) if a == axis else 1 for a in range(len(like.shape)))
    return Complex(*(_known(like, part.reshape(shape)) for part in (values.real, values.imag)))


def _known(like: RealNumber, values: np.ndarray) -> RealNumber:
    return RealNumber(like.builder, like.builder.const(np.ascontiguousarray(values, like.dtype)))


def _each(z: Complex, change: Callable[[RealNumber], RealNumber]) -> Complex:
    return Complex(change(z.re), change(z.im))


def _slice(x: RealNumber, axis: int, start: int, stop: int, step: int = 1) -> RealNumber:
    return x.apply(part_along(axis, (start, stop, step)))


# ---------------------------------------------------------------- transforms of real numbers


def _halves_of(x: RealNumber, axis: int) -> Complex:
    """The spectrum of real numbers, up to half the length."""
    n = x.shape[axis]
    if n % 2:
        full = transformed(Complex(x, x.number(0.0).shaped(x.shape)), axis)
        return _each(full, lambda part: _slice(part, axis, 0, n // 2 + 1))
    z = transformed(Complex(_slice(x, axis, 0, n, 2), _slice(x, axis, 1, n, 2)), axis)
    join = card(Concat, axis)
    a, b = (part.apply(join, _slice(part, axis, 0, 1)) for part in (z.re, z.im))
    c, d = (part.apply(card(Flip, (axis,))) for part in (a, b))
    even = Complex((a + c) * 0.5, (b - d) * 0.5)
    odd = Complex((b + d) * 0.5, (c - a) * 0.5)
    cosine, sine = unit_roots(np.arange(n // 2 + 1), n)
    turned = mul(odd, _constant(x, cosine + 1j * sine, axis))
    return Complex(even.re + turned.re, even.im + turned.im)


def _from_half(z: Complex, n: int, axis: int) -> RealNumber:
    """The real numbers whose spectrum up to half the length this is, not scaled; they have no use for the imaginary parts at its ends."""
    count = z.re.shape[axis]
    k = np.arange(count)
    inner = (k > 0) & ((n % 2 == 1) | (k < count - 1))
    shape = tuple(count if a == axis else 1 for a in range(len(z.re.shape)))
    mask = RealNumber(z.re.builder, z.re.builder.const(inner.reshape(shape)))
    z = Complex(z.re, mask.where(z.im, 0.0).shaped(z.re.shape))
    flip = card(Flip, (axis,))
    if n == 1:
        return z.re
    if n % 2:
        join = card(Concat, axis)
        behind = _each(z, lambda x: _slice(x, axis, 1, count).apply(flip))
        full = Complex(z.re.apply(join, behind.re), z.im.apply(join, -behind.im))
        return transformed(full, axis, inverse=True).re
    first = _each(z, lambda x: _slice(x, axis, 0, count - 1))
    second = _each(z, lambda x: _slice(x, axis, 1, count).apply(flip))
    even = Complex(first.re + second.re, first.im - second.im)
    odd = Complex(first.re - second.re, first.im + second.im)
    cosine, sine = unit_roots(np.arange(n // 2), n)
    turned = mul(odd, _constant(z.re, cosine - 1j * sine, axis))
    found = transformed(Complex(even.re - turned.im, even.im + turned.re), axis, inverse=True)
    pairs = found.re.apply(card(Stack, axis + 1), found.im)
    return pairs.apply(card(Reshape, (*z.re.shape[:axis], n, *z.re.shape[axis + 1 :])))


# ---------------------------------------------------------------- the rules of the cards


def _scale(norm: str, inverse: bool, points: int) -> float:
    """What NumPy multiplies the sums by."""
    if norm == "ortho":
        return 1.0 / sqrt(points)
    return 1.0 / points if (norm == "backward") == inverse else 1.0


def _scaled(x: RealNumber, factor: float) -> RealNumber:
    return x if factor == 1.0 else x * factor


def _fft(builder: Builder, node: Node, inputs: Sequence[Any]) -> Complex:
    op, dtype = node.op, real_dtype(node.spec.dtype)
    z = _filled(builder, inputs[0], dtype)
    if 0 in node.shape:
        return z
    for axis in reversed(op.axes):
        z = transformed(z, axis % len(node.shape), op.inverse)
    factor = _scale(op.norm, op.inverse, prod(node.shape[a] for a in op.axes))
    return _each(z, lambda x: _scaled(x, factor))


def _filled(builder: Builder, x: Any, dtype: np.dtype) -> Complex:
    """A complex number both of whose parts have the shape."""
    z = as_complex(builder, x, dtype)
    return Complex(z.re, z.im.shaped(z.re.shape))


def _rfft(builder: Builder, node: Node, inputs: Sequence[Any]) -> Complex:
    op, dtype = node.op, real_dtype(node.spec.dtype)
    x, axis = RealNumber(builder, inputs[0]).cast(dtype), op.axis % len(node.shape)
    if 0 in node.shape:
        return Complex(*(RealNumber(builder, builder.const(np.zeros(node.shape, dtype))) for _ in range(2)))
    factor = _scale(op.norm, False, x.shape[axis])
    return _each(_halves_of(x, axis), lambda part: _scaled(part, factor))


def _irfft(builder: Builder, node: Node, inputs: Sequence[Any]) -> Node | None:
    op, dtype = node.op, node.spec.dtype
    if dtype not in (np.float32, np.float64):
        return None
    if 0 in node.shape:
        return builder.const(np.zeros(node.shape, dtype))
    z = _filled(builder, inputs[0], dtype)
    x = _from_half(z, op.size, op.axis % len(node.shape))
    return _scaled(x, _scale(op.norm, True, op.size)).node


FOURIER: dict[type, Rule] = {Fft: _fft, Rfft: _rfft, Irfft: _irfft}
