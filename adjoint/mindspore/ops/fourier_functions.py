"""Fourier transforms, with MindSpore's names of the axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint import ops as _ops
from adjoint.core.spec import float32
from adjoint.mindspore.ops.promotion import in_float, listed, to_dtype


def _along_one(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(input: Any, n: Any = None, dim: int = -1, norm: str | None = None) -> Any:
        return function(in_float(input), n, dim, norm)

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


def _along_two(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Any:
        return function(in_float(input), s, dim, norm)

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


def _along_all(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
        return function(in_float(input), s, dim, norm)

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


fft, ifft, rfft, irfft, hfft, ihfft = (
    _along_one(getattr(_ops, name)) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
)
fft2, ifft2, rfft2, irfft2 = (_along_two(getattr(_ops, name)) for name in ("fft2", "ifft2", "rfft2", "irfft2"))
fftn, ifftn, rfftn, irfftn = (_along_all(getattr(_ops, name)) for name in ("fftn", "ifftn", "rfftn", "irfftn"))


def fftshift(input: Any, dim: Any = None) -> Any:
    """The frequency 0 in the middle."""
    return _ops.fftshift(input, dim)


def ifftshift(input: Any, dim: Any = None) -> Any:
    """The frequency 0 at the beginning again."""
    return _ops.ifftshift(input, dim)


def fftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Any:
    """The frequencies of a transform."""
    return to_dtype(_ops.fftfreq(n, d), dtype or float32)


def rfftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Any:
    """The frequencies of a transform of real numbers."""
    return to_dtype(_ops.rfftfreq(n, d), dtype or float32)


__all__ = listed(globals())
