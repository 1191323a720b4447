"""scipy.fft for Tensors. `overwrite_x`, `workers` and `plan` are about memory and speed, and change nothing here."""
# ruff: noqa: ARG001  (arguments of SciPy that are about memory, speed and checks)

from __future__ import annotations

from typing import Any

from adjoint.ops import functional as _f
from adjoint.ops.numpylike.common import tensor


def _line(name: str) -> Any:
    """A transform along one axis."""
    transform = getattr(_f, name)

    def function(
        x: Any,
        n: Any = None,
        axis: int = -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        plan: Any = None,
    ) -> Any:
        return transform(tensor(x), n, axis, norm)

    return _named(function, name)


def _plane(name: str) -> Any:
    """A transform along two axes, the last two unless others are named."""
    transform = getattr(_f, name)

    def function(
        x: Any,
        s: Any = None,
        axes: Any = (-2, -1),
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        plan: Any = None,
    ) -> Any:
        return transform(tensor(x), _sizes(s), axes, norm)

    return _named(function, name)


def _space(name: str) -> Any:
    """A transform along any number of axes."""
    transform = getattr(_f, name)

    def function(
        x: Any,
        s: Any = None,
        axes: Any = None,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        plan: Any = None,
    ) -> Any:
        return transform(tensor(x), _sizes(s), (axes,) if isinstance(axes, int) else axes, norm)

    return _named(function, name)


def _sizes(s: Any) -> Any:
    return (s,) if isinstance(s, int) else s


def _named(function: Any, name: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As scipy.fft.{name}."
    return function


fft, ifft, rfft, irfft, hfft, ihfft = map(_line, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fft2, ifft2, rfft2, irfft2 = map(_plane, ("fft2", "ifft2", "rfft2", "irfft2"))
fftn, ifftn, rfftn, irfftn = map(_space, ("fftn", "ifftn", "rfftn", "irfftn"))
