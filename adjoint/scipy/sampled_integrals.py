"""Integrals of sampled functions of scipy.integrate, for Tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import is_inexact, normalize_axis
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.numpylike.calculus import trapezoid as trapezoid
from adjoint.ops.numpylike.common import refuse, tensor


def _along(what: str, y: Any, x: Any, axis: int) -> tuple[Any, Any, int]:
    """The samples along the last axis, and the widths between them, if positions are given."""
    y = tensor(y)
    y = y if is_inexact(y.dtype) else F.cast(y, np.float64)
    axis = normalize_axis(what, axis, y.ndim)
    y = _f.moveaxis(y, axis, -1)
    if x is None:
        return y, None, axis
    x = tensor(x)
    x = x if x.ndim == 1 else _f.moveaxis(x, axis, -1)
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError(f"{what}: {x.shape[-1]} positions for {y.shape[-1]} samples{called_at()}")
    return y, x[..., 1:] - x[..., :-1], axis


def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """As scipy.integrate.cumulative_trapezoid."""
    if initial is not None and initial != 0:
        raise ArgumentError(f"cumulative_trapezoid: initial must be None or 0, not {initial!r}{called_at()}")
    y, widths, axis = _along("cumulative_trapezoid", y, x, axis)
    steps = (dx if widths is None else widths) * (y[..., 1:] + y[..., :-1]) / 2.0
    total = _f.cumsum(steps, steps.ndim - 1)
    if initial is not None:
        total = _f.pad_widths(total, [(0, 0)] * (total.ndim - 1) + [(1, 0)])
    return _f.moveaxis(total, -1, axis)


def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """As scipy.integrate.simpson."""
    y, widths, axis = _along("simpson", y, x, axis)
    n = y.shape[-1]
    if widths is None:
        widths = dx * np.ones(max(n - 1, 0))
    widths = tensor(widths)
    if n == 1:
        return 0.0 * y[..., 0]
    if n == 2:
        return 0.5 * widths[..., 0] * (y[..., 0] + y[..., 1])
    odd = n if n % 2 else n - 1
    total = _parabolas(y[..., :odd], widths[..., : odd - 1])
    if n % 2:
        return total
    # The last interval of an even number of samples: the parabola through the last three (Cartwright).
    h0, h1 = widths[..., -2], widths[..., -1]
    last = (2 * h1 * h1 + 3 * h0 * h1) / (6 * (h0 + h1)) * y[..., -1]
    middle = (h1 * h1 + 3 * h0 * h1) / (6 * h0) * y[..., -2]
    return total + last + middle - h1 * h1 * h1 / (6 * h0 * (h0 + h1)) * y[..., -3]


def _parabolas(y: Any, h: Any) -> Any:
    """The integral of parabolas through each three samples."""
    h0, h1 = h[..., 0::2], h[..., 1::2]
    both, ratio = h0 + h1, h0 / h1
    first, middle, last = y[..., 0:-2:2], y[..., 1:-1:2], y[..., 2::2]
    return _f.sum(both / 6 * (first * (2 - 1 / ratio) + middle * (both * both / (h0 * h1)) + last * (2 - ratio)), -1)


def romb(y: Any, dx: Any = 1.0, axis: int = -1, show: bool = False) -> Any:
    """As scipy.integrate.romb."""
    from scipy.integrate import romb as weights_of

    refuse("scipy.integrate.romb", show=show or None)
    y, _, _ = _along("romb", y, None, axis)
    return dx * F.matmul(y, np.asarray(weights_of(np.eye(y.shape[-1])), y.dtype))
