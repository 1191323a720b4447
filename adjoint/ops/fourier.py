"""Discrete Fourier transforms with NumPy's names and arguments. Those of real signals: see `real_fourier`.

`n` or `s` crops an axis or pads it with zeros first.

`norm` is NumPy's: which direction divides by the number of points ("backward": the inverse, "forward": the other one,
"ortho": each by its square root). The adjoint of a transform turns the other way with the same factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np

from adjoint.core.dispatch import located
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.spec import Shape, Spec, complex64, complex128, dtype_of, elements, is_half, normalize_axis, shape_of
from adjoint.ops.broadcast import batch_front, cast_like, ndim
from adjoint.ops.card import card, register
from adjoint.ops.families import Linear
from adjoint.ops.functional.repeating import roll
from adjoint.ops.padding import Pad
from adjoint.ops.publish import public
from adjoint.ops.slicing import slice_axis
from adjoint.ops.stacking import array

Sizes = Sequence[int] | None
Axes = Sequence[int] | None
SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def complex_dtype(dtype: np.dtype) -> np.dtype:
    """
    >>> complex_dtype(np.dtype("float32")), complex_dtype(np.dtype("int64"))
    (dtype('complex64'), dtype('complex128'))
    """
    if is_half(dtype):
        return complex64
    return np.result_type(dtype, complex64) if dtype.kind in "fc" else complex128


def check_axes(op: Any, axes: Sequence[int], x: Any) -> None:
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
        check_axes(self, self.axes, x)
        return Spec(x.shape, complex_dtype(x.dtype))

    def eval(self, xp, x):
        check_axes(self, self.axes, x)
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


# ---------------------------------------------------------------- arguments


def resized(what: str, x: Any, axis: int, n: int) -> Any:
    """The axis cropped, or padded with zeros behind, to n points."""
    have = shape_of(x)[axis]
    if n < 1:
        raise located(ShapeError(f"{what}: {n} points along axis {axis}; 1 or more are needed"))
    if n <= have:
        return x if n == have else slice_axis(x, axis, 0, n)
    return card(Pad, tuple((0, n - have if a == axis else 0) for a in range(ndim(x))))(x)


def _axis(what: str, x: Any, axis: int) -> int:
    return normalize_axis(what, axis, ndim(x))


def planned(what: str, x: Any, s: Sizes, axes: Axes) -> tuple[list[int | None], tuple[int, ...]]:
    """The wanted size of each transformed axis (None: as it is), and the axes."""
    if axes is None:
        axes = range(ndim(x)) if s is None else range(-len(s), 0)
    places = tuple(_axis(what, x, a) for a in axes)
    if s is None:
        return [None] * len(places), places
    if len(s) != len(places):
        raise located(ArgumentError(f"{what}: {len(s)} sizes for {len(places)} axes"))
    return [shape_of(x)[a] if n == -1 else n for n, a in zip(s, places, strict=True)], places


def _many(what: str, input: Any, s: Sizes, axes: Axes, inverse: bool, norm: str | None) -> Any:
    x = array(input)
    sizes, places = planned(what, x, s, axes)
    for axis, n in zip(places, sizes, strict=True):
        x = x if n is None else resized(what, x, axis, n)
    return card(Fft, places, inverse, norm or "backward")(x)


# ---------------------------------------------------------------- the functions


@public()
def fft(input: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The discrete Fourier transform along an axis.

    >>> from adjoint import ops
    >>> print(ops.fft([1.0, 0.0, 0.0, 0.0]).real)
    [1. 1. 1. 1.]
    """
    return _many("fft", input, None if n is None else (n,), (axis,), False, norm)


@public()
def ifft(input: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `fft`.

    >>> from adjoint import ops
    >>> print(ops.ifft([4.0, 0.0, 0.0, 0.0]).real)
    [1. 1. 1. 1.]
    """
    return _many("ifft", input, None if n is None else (n,), (axis,), True, norm)


@public()
def fft2(input: Any, s: Sizes = None, axes: Axes = (-2, -1), norm: str | None = None) -> Any:
    """The discrete Fourier transform along two axes.

    >>> from adjoint import ops
    >>> print(ops.fft2([[1.0, 0.0], [0.0, 0.0]]).real)
    [[1. 1.]
     [1. 1.]]
    """
    return _many("fft2", input, s, axes, False, norm)


@public()
def ifft2(input: Any, s: Sizes = None, axes: Axes = (-2, -1), norm: str | None = None) -> Any:
    """The inverse of `fft2`.

    >>> from adjoint import ops
    >>> print(ops.ifft2([[4.0, 0.0], [0.0, 0.0]]).real)
    [[1. 1.]
     [1. 1.]]
    """
    return _many("ifft2", input, s, axes, True, norm)


@public()
def fftn(input: Any, s: Sizes = None, axes: Axes = None, norm: str | None = None) -> Any:
    """The discrete Fourier transform along several axes, by default all.

    >>> from adjoint import ops
    >>> print(ops.fftn([[1.0, 1.0], [1.0, 1.0]]).real)
    [[4. 0.]
     [0. 0.]]
    """
    return _many("fftn", input, s, axes, False, norm)


@public()
def ifftn(input: Any, s: Sizes = None, axes: Axes = None, norm: str | None = None) -> Any:
    """The inverse of `fftn`.

    >>> from adjoint import ops
    >>> print(ops.ifftn([[4.0, 0.0], [0.0, 0.0]]).real)
    [[1. 1.]
     [1. 1.]]
    """
    return _many("ifftn", input, s, axes, True, norm)


# ---------------------------------------------------------------- the order of the frequencies


@public()
def fftshift(input: Any, axes: int | Axes = None) -> Any:
    """The frequencies in ascending order, 0 in the middle.

    >>> from adjoint import ops
    >>> print(ops.fftshift(ops.fftfreq(5, 0.2)))
    [-2. -1.  0.  1.  2.]
    """
    return _shifted("fftshift", input, axes, 1)


@public()
def ifftshift(input: Any, axes: int | Axes = None) -> Any:
    """The inverse of `fftshift`.

    >>> from adjoint import ops
    >>> print(ops.ifftshift([-2.0, -1.0, 0.0, 1.0, 2.0]))
    [ 0.  1.  2. -2. -1.]
    """
    return _shifted("ifftshift", input, axes, -1)


def _shifted(what: str, input: Any, axes: int | Axes, way: int) -> Any:
    x = array(input)
    places = range(ndim(x)) if axes is None else (axes,) if isinstance(axes, int) else axes
    places = tuple(_axis(what, x, a) for a in places)
    return roll(x, tuple(way * (shape_of(x)[a] // 2) for a in places), places)


@public()
def fftfreq(n: int, d: float = 1.0) -> np.ndarray:
    """The frequencies of `fft` for n points a distance d apart.

    >>> from adjoint import ops
    >>> print(ops.fftfreq(4))
    [ 0.    0.25 -0.5  -0.25]
    """
    return np.fft.fftfreq(n, d)


@public()
def rfftfreq(n: int, d: float = 1.0) -> np.ndarray:
    """The frequencies of `rfft` for n points a distance d apart.

    >>> from adjoint import ops
    >>> print(ops.rfftfreq(4))
    [0.   0.25 0.5 ]
    """
    return np.fft.rfftfreq(n, d)
