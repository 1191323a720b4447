"""Fourier transforms between real signals and half spectra, with NumPy's names and arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.dispatch import located
from adjoint.core.errors import ArgumentError, DtypeError, ShapeError
from adjoint.core.spec import Spec, complex128, is_half, shape_of
from adjoint.ops.broadcast import batch_front, cast_like, conj
from adjoint.ops.card import card, register
from adjoint.ops.fourier import SWAPPED, Axes, Fft, Sizes, Spectral, check_axes, complex_dtype, planned, resized
from adjoint.ops.publish import public
from adjoint.ops.stacking import array


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
        check_axes(self, (self.axis,), x)
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
        check_axes(self, (self.axis,), x)
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


# ---------------------------------------------------------------- the functions


@public()
def rfftn(input: Any, s: Sizes = None, axes: Axes = None, norm: str | None = None) -> Any:
    """The discrete Fourier transform of a real signal along several axes; the last one keeps its first half only.

    >>> from adjoint import ops
    >>> ops.rfftn([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]).shape
    (2, 3)
    """
    return _many_real("rfftn", input, s, axes, norm)


def _planned(what: str, input: Any, s: Sizes, axes: Axes) -> tuple[Any, list[int | None], tuple[int, ...]]:
    """The input as an array, the number of points along each axis where it is given, and the axes: one or more."""
    x = array(input)
    sizes, places = planned(what, x, s, axes)
    if not places:
        raise located(ArgumentError(f"{what}: one axis or more is needed"))
    return x, sizes, places


def _many_real(what: str, input: Any, s: Sizes, axes: Axes, norm: str | None) -> Any:
    x, sizes, places = _planned(what, input, s, axes)
    for axis, n in zip(places, sizes, strict=True):
        x = x if n is None else resized(what, x, axis, n)
    half = card(Rfft, places[-1], norm or "backward")(x)
    return card(Fft, places[:-1], False, norm or "backward")(half) if len(places) > 1 else half


@public()
def irfftn(input: Any, s: Sizes = None, axes: Axes = None, norm: str | None = None) -> Any:
    """The inverse of `rfftn`. The last axis gets an even number of points unless `s` says otherwise.

    >>> from adjoint import ops
    >>> print(ops.irfftn([[8.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    [[1. 1. 1. 1.]
     [1. 1. 1. 1.]]
    """
    return _many_inverse_real("irfftn", input, s, axes, norm)


def _many_inverse_real(what: str, input: Any, s: Sizes, axes: Axes, norm: str | None) -> Any:
    x, sizes, places = _planned(what, input, s, axes)
    last = places[-1]
    n = 2 * (shape_of(x)[last] - 1) if sizes[-1] is None else sizes[-1]
    if n < 1:
        raise located(ShapeError(f"{what}: {n} points along axis {last}; give the number of points, 1 or more"))
    for axis, size in zip(places[:-1], sizes[:-1], strict=True):
        x = x if size is None else resized(what, x, axis, size)
    if len(places) > 1:
        x = card(Fft, places[:-1], True, norm or "backward")(x)
    return card(Irfft, n, last, norm or "backward")(resized(what, x, last, n // 2 + 1))


@public()
def rfft(input: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The frequencies of a real signal, from 0 to the half; the others are their conjugates.

    >>> from adjoint import ops
    >>> print(ops.rfft([1.0, 1.0, 1.0, 1.0]).real)
    [4. 0. 0.]
    """
    return _many_real("rfft", input, None if n is None else (n,), (axis,), norm)


@public()
def irfft(input: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `rfft`; `n` is the number of points of the signal, by default an even one.

    >>> from adjoint import ops
    >>> print(ops.irfft([4.0, 0.0, 0.0]))
    [1. 1. 1. 1.]
    """
    return _many_inverse_real("irfft", input, None if n is None else (n,), (axis,), norm)


@public()
def rfft2(input: Any, s: Sizes = None, axes: Axes = (-2, -1), norm: str | None = None) -> Any:
    """`rfftn` along two axes.

    >>> from adjoint import ops
    >>> print(ops.rfft2([[1.0, 1.0], [1.0, 1.0]]).real)
    [[4. 0.]
     [0. 0.]]
    """
    return _many_real("rfft2", input, s, axes, norm)


@public()
def irfft2(input: Any, s: Sizes = None, axes: Axes = (-2, -1), norm: str | None = None) -> Any:
    """The inverse of `rfft2`.

    >>> from adjoint import ops
    >>> print(ops.irfft2([[4.0, 0.0], [0.0, 0.0]]))
    [[1. 1.]
     [1. 1.]]
    """
    return _many_inverse_real("irfft2", input, s, axes, norm)


@public()
def hfft(input: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The real spectrum of a signal that is the conjugate of its own reverse; the first half of the signal is given.

    >>> from adjoint import ops
    >>> print(ops.hfft([1.0, 0.0, 0.0]))
    [1. 1. 1. 1.]
    """
    return _many_inverse_real(
        "hfft", conj(array(input)), None if n is None else (n,), (axis,), _other_way("hfft", norm)
    )


@public()
def ihfft(input: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `hfft`.

    >>> from adjoint import ops
    >>> print(ops.ihfft([1.0, 1.0, 1.0, 1.0]).real)
    [1. 0. 0.]
    """
    return conj(_many_real("ihfft", input, None if n is None else (n,), (axis,), _other_way("ihfft", norm)))


def _other_way(what: str, norm: str | None) -> str:
    if (norm or "backward") not in SWAPPED:
        raise located(ArgumentError(f"{what}: norm must be 'backward', 'ortho' or 'forward', not {norm!r}"))
    return SWAPPED[norm or "backward"]
