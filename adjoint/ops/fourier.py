"""Cards of discrete Fourier transforms: complex, and between real signals and half spectra.

`norm` is NumPy's: which direction divides by the number of points ("backward": the inverse, "forward": the other one,
"ortho": each by its square root). The adjoint of a transform turns the other way with the same factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, DtypeError, ShapeError
from adjoint.core.spec import Shape, Spec, complex64, complex128, dtype_of, elements, is_half, normalize_axis, shape_of
from adjoint.ops.broadcast import batch_front, cast_like
from adjoint.ops.card import card, register
from adjoint.ops.families import Linear

SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def complex_dtype(dtype: np.dtype) -> np.dtype:
    """
    >>> complex_dtype(np.dtype("float32")), complex_dtype(np.dtype("int64"))
    (dtype('complex64'), dtype('complex128'))
    """
    if is_half(dtype):
        return complex64
    return np.result_type(dtype, complex64) if dtype.kind in "fc" else complex128


def _check(op: Any, axes: Sequence[int], x: Any) -> None:
    """Refuse axes that do not exist or have no points, and norms that NumPy does not know."""
    name = type(op).__name__
    if op.norm not in SWAPPED:
        raise ArgumentError(f"{name}: norm must be 'backward', 'ortho' or 'forward', not {op.norm!r}")
    for a in axes:
        if shape_of(x)[normalize_axis(name, a, len(shape_of(x)))] == 0:
            raise ShapeError(f"{name}: axis {a} of {shape_of(x)} has no points to transform")


class Spectral(Linear):
    """Fourier transforms of all kinds."""

    expensive, total = True, True

    def flops(self, y, *xs):
        n = elements(xs[0])
        return int(5 * n * log2(max(n, 2)))


@register
@dataclass(frozen=True)
class Fft(Spectral):
    """The discrete Fourier transform along `axes`, or its inverse."""

    axes: Shape
    inverse: bool = False
    norm: str = "backward"

    complex = True

    def infer(self, x):
        _check(self, self.axes, x)
        return Spec(x.shape, complex_dtype(x.dtype))

    def eval(self, xp, x):
        _check(self, self.axes, x)
        transform = xp.fft.ifftn if self.inverse else xp.fft.fftn
        return transform(xp.asarray(x, dtype=complex_dtype(dtype_of(x))), axes=self.axes, norm=self.norm)

    def vjp(self, g, y, x):
        return (cast_like(card(Fft, self.axes, not self.inverse, SWAPPED[self.norm])(g), x),)

    def vmap(self, dims, x):
        return card(Fft, tuple(a + 1 for a in self.axes), self.inverse, self.norm)(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        for inverse in (False, True):
            for norm in SWAPPED:
                yield cls((0,), inverse, norm), (draw(5),)
            yield cls((0, 2), inverse), (draw(2, 3, 4),)
            yield cls((1,), inverse), (draw(0, 3),)
            yield cls((), inverse), (draw(2),)
            yield cls((0,), inverse), (draw(1),)

    @classmethod
    def errors(cls):
        yield cls((1,)), (Spec((3,)),), "Fft: axis 1 is outside the input's 1 axes"
        yield cls((0,)), (Spec((0, 3)),), "Fft: axis 0 of (0, 3) has no points to transform"
        yield cls((0,), False, "none"), (Spec((3,)),), "norm must be 'backward', 'ortho' or 'forward', not 'none'"


def _double(x, axis, n, factor):
    """x times `factor`, but for the frequencies 0 and n / 2, which stand for themselves and not for a pair."""
    weights = np.full(n // 2 + 1, factor)
    weights[0] = 1.0
    if n % 2 == 0:
        weights[-1] = 1.0
    weights = weights.reshape((-1,) + (1,) * (len(shape_of(x)) - axis - 1))
    return x * weights.astype(np.zeros((), x.dtype).real.dtype)


@register
@dataclass(frozen=True)
class Rfft(Spectral):
    """The frequencies 0 to n / 2 of a real signal along `axis`; the others are their conjugates."""

    axis: int
    norm: str = "backward"

    def infer(self, x):
        self._check(x)
        shape = list(x.shape)
        shape[self.axis] = shape[self.axis] // 2 + 1
        return Spec(tuple(shape), complex_dtype(x.dtype))

    def _check(self, x):
        _check(self, (self.axis,), x)
        if x.dtype.kind == "c":
            raise DtypeError("Rfft: the signal must be real, not complex; use fft, or pass its real part")

    def eval(self, xp, x):
        self._check(x)
        return xp.fft.rfft(x, axis=self.axis, norm=self.norm)

    def vjp(self, g, y, x):
        n = shape_of(x)[self.axis]
        back = card(Irfft, n, self.axis, SWAPPED[self.norm])
        return (cast_like(back(_double(g, self.axis, n, 0.5)), x),)

    def vmap(self, dims, x):
        return card(Rfft, self.axis + 1, self.norm)(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        for norm in SWAPPED:
            yield cls(0, norm), (draw(5),)
        yield cls(1), (draw(2, 4, 3),)
        yield cls(0), (draw(1),)
        yield cls(1), (draw(0, 2),)

    @classmethod
    def errors(cls):
        yield cls(0), (Spec((3,), complex128),), "Rfft: the signal must be real, not complex"
        yield cls(1), (Spec((3, 0)),), "Rfft: axis 1 of (3, 0) has no points to transform"


@register
@dataclass(frozen=True)
class Irfft(Spectral):
    """The real signal of `size` points along `axis` whose frequencies 0 to size / 2 are given."""

    size: int
    axis: int
    norm: str = "backward"

    complex = True

    def infer(self, x):
        self._check(x)
        shape = list(x.shape)
        shape[self.axis] = self.size
        return Spec(tuple(shape), x.dtype if is_half(x.dtype) else np.zeros((), complex_dtype(x.dtype)).real.dtype)

    def _check(self, x):
        _check(self, (self.axis,), x)
        if self.size < 1:
            raise ShapeError(f"Irfft: a signal of {self.size} points; give a size of 1 or more")
        if (have := shape_of(x)[self.axis]) != self.size // 2 + 1:
            raise ShapeError(
                f"Irfft: {self.size} points need {self.size // 2 + 1} frequencies along axis {self.axis}, not {have}"
            )

    def eval(self, xp, x):
        self._check(x)
        return xp.fft.irfft(x, n=self.size, axis=self.axis, norm=self.norm)

    def vjp(self, g, y, x):
        spectrum = card(Rfft, self.axis, SWAPPED[self.norm])(g)
        return (cast_like(_double(spectrum, self.axis, self.size, 2.0), x),)

    def vmap(self, dims, x):
        return card(Irfft, self.size, self.axis + 1, self.norm)(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        for norm in SWAPPED:
            yield cls(5, 0, norm), (draw(3),)
        yield cls(4, 1), (draw(2, 3, 2),)
        yield cls(1, 0), (draw(1),)
        yield cls(2, 1), (draw(0, 2),)

    @classmethod
    def errors(cls):
        yield cls(4, 0), (Spec((2,), complex128),), "Irfft: 4 points need 3 frequencies along axis 0, not 2"
        yield cls(0, 0), (Spec((1,), complex128),), "a signal of 0 points"
