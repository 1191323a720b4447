"""Discrete cosine and sine transforms of scipy.fft, types 1 to 4, by Fourier transforms of twice the length."""
# ruff: noqa: ARG001  (arguments of SciPy that are about memory, speed and checks)

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import is_inexact, normalize_axis
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.fourier import resized
from adjoint.ops.numpylike.common import tensor

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


# ---------------------------------------------------------------- transforms along the last axis, without any factor


def _cosine(kind: int, x: Any) -> Any:
    """The cosine transform of real numbers."""
    n = x.shape[-1]
    if kind == 1:
        if n < 2:
            raise ShapeError(f"dct: type 1 needs 2 points or more{called_at()}")
        return F.real(_f.rfft(_f.concat([x, _f.flip(x[..., 1:-1], -1)], -1)))[..., :n]
    k, dtype = np.arange(n), np.result_type(x.dtype, np.complex64)
    if kind == 2:
        spectrum = _f.fft(_f.concat([x, _f.flip(x, -1)], -1))[..., :n]
        return F.real(np.exp(-0.5j * np.pi * k / n).astype(dtype) * spectrum)
    if kind == 3:
        weights = np.where(k > 0, 2, 1) * np.exp(0.5j * np.pi * k / n)
        return F.real(_f.ifft(weights.astype(dtype) * x, 2 * n, norm="forward")[..., :n])
    turned = _f.fft(np.exp(-0.5j * np.pi * k / n).astype(dtype) * x, 2 * n)[..., :n]
    return F.real((2 * np.exp(-0.25j * np.pi * (2 * k + 1) / n)).astype(dtype) * turned)


def _sine(kind: int, x: Any) -> Any:
    """The sine transform of real numbers."""
    n = x.shape[-1]
    if kind == 1:
        zero = np.zeros((*x.shape[:-1], 1), x.dtype)
        return -_f.imag(_f.rfft(_f.concat([zero, x, zero, -_f.flip(x, -1)], -1)))[..., 1 : n + 1]
    signs = ((-1.0) ** np.arange(n)).astype(x.dtype)
    if kind == 2:
        return _f.flip(_cosine(2, signs * x), -1)
    return signs * _cosine(kind, _f.flip(x, -1))


# ---------------------------------------------------------------- arguments


def _transform(
    name: str, sine: bool, inverse: bool, x: Any, kind: Any, n: Any, axis: int, norm: Any, orthogonalize: Any
) -> Any:
    x = tensor(x)
    x = x if is_inexact(x.dtype) else F.cast(x, np.float64)
    axis = normalize_axis(name, axis, x.ndim)
    norm = norm or "backward"
    if kind not in _INVERSE:
        raise ArgumentError(f"{name}: type must be 1, 2, 3 or 4, not {kind!r}{called_at()}")
    if norm not in ("backward", "ortho", "forward"):
        raise ArgumentError(f"{name}: norm must be 'backward', 'ortho' or 'forward', not {norm!r}{called_at()}")
    if x.dtype.kind == "c":
        parts = (
            _transform(name, sine, inverse, part, kind, n, axis, norm, orthogonalize)
            for part in (F.real(x), _f.imag(x))
        )
        return _f.complex(*parts)
    x = x if n is None else resized(name, x, axis, int(n))
    if not x.shape[axis]:
        raise ShapeError(f"{name}: axis {axis} of {x.shape} has no points{called_at()}")
    x = _f.moveaxis(x, axis, -1)
    orthogonal = norm == "ortho" if orthogonalize is None else bool(orthogonalize)
    kind = _INVERSE[kind] if inverse else kind
    size = x.shape[-1]
    before, after = _ends(sine, kind, size, orthogonal, x.dtype)
    y = (_sine if sine else _cosine)(kind, x if before is None else x * before)
    y = y if after is None else y * after
    points = 2 * (size + (1 if sine else -1)) if kind == 1 else 2 * size
    if norm == "ortho":
        y = y * (1 / math.sqrt(points))
    elif (norm == "backward") == inverse:
        y = y * (1 / points)
    return _f.moveaxis(y, -1, axis)


def _ends(sine: bool, kind: int, n: int, orthogonal: bool, dtype: np.dtype) -> tuple[Any, Any]:
    """Factors of the points before and after the transform that make its matrix orthogonal."""
    if not orthogonal or kind == 4 or (sine and kind == 1):
        return None, None
    ends = np.ones(n, dtype)
    ends[[0, -1] if kind == 1 else [-1 if sine else 0]] = math.sqrt(2)
    return (ends if kind in (1, 3) else None), (1 / ends if kind in (1, 2) else None)


def _line(name: str, sine: bool, inverse: bool) -> Callable[..., Any]:
    """A transform along one axis."""

    def function(
        x: Any,
        type: int = 2,
        n: Any = None,
        axis: int = -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        orthogonalize: Any = None,
    ) -> Any:
        return _transform(name, sine, inverse, x, type, n, axis, norm, orthogonalize)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As scipy.fft.{name}."
    return function


def _space(name: str, sine: bool, inverse: bool) -> Callable[..., Any]:
    """A transform along several axes, one after the other."""

    def function(
        x: Any,
        type: int = 2,
        s: Any = None,
        axes: Any = None,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        orthogonalize: Any = None,
    ) -> Any:
        x = tensor(x)
        s = (s,) if isinstance(s, int) else s
        axes = (axes,) if isinstance(axes, int) else axes
        every = range(x.ndim) if s is None else range(-len(s), 0)
        places = tuple(every if axes is None else axes)
        sizes = (None,) * len(places) if s is None else tuple(s)
        if len(sizes) != len(places):
            raise ArgumentError(f"{name}: {len(sizes)} sizes for {len(places)} axes{called_at()}")
        for axis, n in zip(places, sizes, strict=True):
            x = _transform(name, sine, inverse, x, type, n, axis, norm, orthogonalize)
        return x

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As scipy.fft.{name}."
    return function


dct, idct, dst, idst = (_line(n, "s" in n, n[0] == "i") for n in ("dct", "idct", "dst", "idst"))
dctn, idctn, dstn, idstn = (_space(n, "s" in n, n[0] == "i") for n in ("dctn", "idctn", "dstn", "idstn"))
