"""Fourier transforms with NumPy's names and arguments.

`n` or `s` crops an axis or pads it with zeros first; `norm` is "backward" (the inverse divides by the number of
points), "ortho" or "forward".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.core.dispatch import located
from adjoint.core.errors import ArgumentError, ShapeError
from adjoint.core.spec import normalize_axis, shape_of
from adjoint.ops.broadcast import conj, ndim
from adjoint.ops.card import card
from adjoint.ops.fourier import SWAPPED, Fft, Irfft, Rfft
from adjoint.ops.functional.repeating import roll
from adjoint.ops.slicing import Pad, slice_axis
from adjoint.ops.stacking import array

Sizes = Sequence[int] | None
Axes = Sequence[int] | None


# ---------------------------------------------------------------- arguments


def _resized(what: str, x: Any, axis: int, n: int) -> Any:
    """The axis cropped, or padded with zeros behind, to n points."""
    have = shape_of(x)[axis]
    if n < 1:
        raise located(ShapeError(f"{what}: {n} points along axis {axis}; 1 or more are needed"))
    if n <= have:
        return x if n == have else slice_axis(x, axis, 0, n)
    return card(Pad, tuple((0, n - have if a == axis else 0) for a in range(ndim(x))))(x)


def _axis(what: str, x: Any, axis: int) -> int:
    return normalize_axis(what, axis, ndim(x))


def _plan(what: str, x: Any, s: Sizes, axes: Axes) -> tuple[list[int | None], tuple[int, ...]]:
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
    sizes, places = _plan(what, x, s, axes)
    for axis, n in zip(places, sizes, strict=True):
        x = x if n is None else _resized(what, x, axis, n)
    return card(Fft, places, inverse, norm or "backward")(x)


# ---------------------------------------------------------------- complex signals


def fft(input: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The discrete Fourier transform along an axis.

    >>> from adjoint.ops.functional import fourier as fft
    >>> print(fft.fft([1.0, 0.0, 0.0, 0.0]).real)
    [1. 1. 1. 1.]
    """
    return _many("fft", input, None if n is None else (n,), (axis,), False, norm)


def ifft(input: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `fft`.

    >>> from adjoint.ops.functional import fourier as fft
    >>> print(fft.ifft([4.0, 0.0, 0.0, 0.0]).real)
    [1. 1. 1. 1.]
    """
    return _many("ifft", input, None if n is None else (n,), (axis,), True, norm)


def fft2(input: Any, s: Sizes = None, axes: Axes = (-2, -1), norm: str | None = None) -> Any:
    """The discrete Fourier transform along two axes.

    >>> from adjoint.ops.functional import fourier as fft
    >>> print(fft.fft2([[1.0, 0.0], [0.0, 0.0]]).real)
    [[1. 1.]
     [1. 1.]]
    """
    return _many("fft2", input, s, axes, False, norm)


def ifft2(input: Any, s: Sizes = None, axes: Axes = (-2, -1), norm: str | None = None) -> Any:
    """The inverse of `fft2`.

    >>> from adjoint.ops.functional import fourier as fft
    >>> print(fft.ifft2([[4.0, 0.0], [0.0, 0.0]]).real)
    [[1. 1.]
     [1. 1.]]
    """
    return _many("ifft2", input, s, axes, True, norm)


def fftn(input: Any, s: Sizes = None, axes: Axes = None, norm: str | None = None) -> Any:
    """The discrete Fourier transform along several axes, by default all.

    >>> from adjoint.ops.functional import fourier as fft
    >>> print(fft.fftn([[1.0, 1.0], [1.0, 1.0]]).real)
    [[4. 0.]
     [0. 0.]]
    """
    return _many("fftn", input, s, axes, False, norm)


def ifftn(input: Any, s: Sizes = None, axes: Axes = None, norm: str | None = None) -> Any:
    """The inverse of `fftn`.

    >>> from adjoint.ops.functional import fourier as fft
    >>> print(fft.ifftn([[4.0, 0.0], [0.0, 0.0]]).real)
    [[1. 1.]
     [1. 1.]]
    """
    return _many("ifftn", input, s, axes, True, norm)


# ---------------------------------------------------------------- real signals


def rfftn(input: Any, s: Sizes = None, axes: Axes = None, norm: str | None = None) -> Any:
    """The discrete Fourier transform of a real signal along several axes; the last one keeps its first half only.

    >>> from adjoint.ops.functional import fourier as fft
    >>> fft.rfftn([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]).shape
    (2, 3)
    """
    return _many_real("rfftn", input, s, axes, norm)


def _many_real(what: str, input: Any, s: Sizes, axes: Axes, norm: str | None) -> Any:
    x = array(input)
    sizes, places = _plan(what, x, s, axes)
    if not places:
        raise located(ArgumentError(f"{what}: one axis or more is needed"))
    for axis, n in zip(places, sizes, strict=True):
        x = x if n is None else _resized(what, x, axis, n)
    half = card(Rfft, places[-1], norm or "backward")(x)
    return card(Fft, places[:-1], False, norm or "backward")(half) if len(places) > 1 else half


def irfftn(input: Any, s: Sizes = None, axes: Axes = None, norm: str | None = None) -> Any:
    """The inverse of `rfftn`. The last axis gets an even number of points unless `s` says otherwise.

    >>> from adjoint.ops.functional import fourier as fft
    >>> print(fft.irfftn([[8.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    [[1. 1. 1. 1.]
     [1. 1. 1. 1.]]
    """
    return _many_inverse_real("irfftn", input, s, axes, norm)


def _many_inverse_real(what: str, input: Any, s: Sizes, axes: Axes, norm: str | None) -> Any:
    x = array(input)
    sizes, places = _plan(what, x, s, axes)
    if not places:
        raise located(ArgumentError(f"{what}: one axis or more is needed"))
    last = places[-1]
    n = 2 * (shape_of(x)[last] - 1) if sizes[-1] is None else sizes[-1]
    if n < 1:
        raise located(ShapeError(f"{what}: {n} points along axis {last}; give the number of points, 1 or more"))
    for axis, size in zip(places[:-1], sizes[:-1], strict=True):
        x = x if size is None else _resized(what, x, axis, size)
    if len(places) > 1:
        x = card(Fft, places[:-1], True, norm or "backward")(x)
    return card(Irfft, n, last, norm or "backward")(_resized(what, x, last, n // 2 + 1))


def rfft(input: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The frequencies of a real signal, from 0 to the half; the others are their conjugates.

    >>> from adjoint.ops.functional import fourier as fft
    >>> print(fft.rfft([1.0, 1.0, 1.0, 1.0]).real)
    [4. 0. 0.]
    """
    return _many_real("rfft", input, None if n is None else (n,), (axis,), norm)


def irfft(input: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `rfft`; `n` is the number of points of the signal, by default an even one.

    >>> from adjoint.ops.functional import fourier as fft
    >>> print(fft.irfft([4.0, 0.0, 0.0]))
    [1. 1. 1. 1.]
    """
    return _many_inverse_real("irfft", input, None if n is None else (n,), (axis,), norm)


def rfft2(input: Any, s: Sizes = None, axes: Axes = (-2, -1), norm: str | None = None) -> Any:
    """`rfftn` along two axes.

    >>> from adjoint.ops.functional import fourier as fft
    >>> print(fft.rfft2([[1.0, 1.0], [1.0, 1.0]]).real)
    [[4. 0.]
     [0. 0.]]
    """
    return _many_real("rfft2", input, s, axes, norm)


def irfft2(input: Any, s: Sizes = None, axes: Axes = (-2, -1), norm: str | None = None) -> Any:
    """The inverse of `rfft2`.

    >>> from adjoint.ops.functional import fourier as fft
    >>> print(fft.irfft2([[4.0, 0.0], [0.0, 0.0]]))
    [[1. 1.]
     [1. 1.]]
    """
    return _many_inverse_real("irfft2", input, s, axes, norm)


def hfft(input: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The real spectrum of a signal that is the conjugate of its own reverse; the first half of the signal is given.

    >>> from adjoint.ops.functional import fourier as fft
    >>> print(fft.hfft([1.0, 0.0, 0.0]))
    [1. 1. 1. 1.]
    """
    return _many_inverse_real(
        "hfft", conj(array(input)), None if n is None else (n,), (axis,), _other_way("hfft", norm)
    )


def ihfft(input: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `hfft`.

    >>> from adjoint.ops.functional import fourier as fft
    >>> print(fft.ihfft([1.0, 1.0, 1.0, 1.0]).real)
    [1. 0. 0.]
    """
    return conj(_many_real("ihfft", input, None if n is None else (n,), (axis,), _other_way("ihfft", norm)))


def _other_way(what: str, norm: str | None) -> str:
    if (norm or "backward") not in SWAPPED:
        raise located(ArgumentError(f"{what}: norm must be 'backward', 'ortho' or 'forward', not {norm!r}"))
    return SWAPPED[norm or "backward"]


# ---------------------------------------------------------------- the order of the frequencies


def fftshift(input: Any, axes: int | Axes = None) -> Any:
    """The frequencies in ascending order, 0 in the middle.

    >>> from adjoint.ops.functional import fourier as fft
    >>> print(fft.fftshift(fft.fftfreq(5, 0.2)))
    [-2. -1.  0.  1.  2.]
    """
    return _shifted("fftshift", input, axes, 1)


def ifftshift(input: Any, axes: int | Axes = None) -> Any:
    """The inverse of `fftshift`.

    >>> from adjoint.ops.functional import fourier as fft
    >>> print(fft.ifftshift([-2.0, -1.0, 0.0, 1.0, 2.0]))
    [ 0.  1.  2. -2. -1.]
    """
    return _shifted("ifftshift", input, axes, -1)


def _shifted(what: str, input: Any, axes: int | Axes, way: int) -> Any:
    x = array(input)
    places = range(ndim(x)) if axes is None else (axes,) if isinstance(axes, int) else axes
    places = tuple(_axis(what, x, a) for a in places)
    return roll(x, tuple(way * (shape_of(x)[a] // 2) for a in places), places)


def fftfreq(n: int, d: float = 1.0) -> np.ndarray:
    """The frequencies of `fft` for n points a distance d apart.

    >>> from adjoint.ops.functional import fourier as fft
    >>> print(fft.fftfreq(4))
    [ 0.    0.25 -0.5  -0.25]
    """
    return np.fft.fftfreq(n, d)


def rfftfreq(n: int, d: float = 1.0) -> np.ndarray:
    """The frequencies of `rfft` for n points a distance d apart.

    >>> from adjoint.ops.functional import fourier as fft
    >>> print(fft.rfftfreq(4))
    [0.   0.25 0.5 ]
    """
    return np.fft.rfftfreq(n, d)
