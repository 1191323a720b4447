"""The functions of numpy.fft, with their signatures."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.dispatch import new
from adjoint.ops import functional as _f
from adjoint.ops.numpylike.common import stored, tensor


def _line(name: str) -> Any:
    """A transform along one axis."""
    transform = getattr(_f, name)

    def function(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
        return stored(out, transform(tensor(a), n, axis, norm))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As numpy.fft.{name}."
    return function


def _plane(name: str) -> Any:
    """A transform along two axes."""
    transform = getattr(_f, name)

    def function(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
        return stored(out, transform(tensor(a), s, axes, norm))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As numpy.fft.{name}."
    return function


def _space(name: str) -> Any:
    """A transform along any number of axes."""
    transform = getattr(_f, name)

    def function(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
        return stored(out, transform(tensor(a), s, axes, norm))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As numpy.fft.{name}."
    return function


fft, ifft, rfft, irfft, hfft, ihfft = map(_line, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fft2, ifft2, rfft2, irfft2 = map(_plane, ("fft2", "ifft2", "rfft2", "irfft2"))
fftn, ifftn, rfftn, irfftn = map(_space, ("fftn", "ifftn", "rfftn", "irfftn"))


def fftshift(x: Any, axes: Any = None) -> Any:
    """As numpy.fft.fftshift."""
    return _f.fftshift(tensor(x), axes)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """As numpy.fft.ifftshift."""
    return _f.ifftshift(tensor(x), axes)


def fftfreq(n: int, d: Any = 1.0, device: Any = None) -> Any:
    """As numpy.fft.fftfreq, differentiable in the spacing."""
    return new(np.fft.fftfreq(n), device) / d


def rfftfreq(n: int, d: Any = 1.0, device: Any = None) -> Any:
    """As numpy.fft.rfftfreq, differentiable in the spacing."""
    return new(np.fft.rfftfreq(n), device) / d
