"""Convolution and correlation of scipy.signal, for Tensors: directly where that is cheap, else by Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import is_inexact, normalize_axis
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.numpylike import movement as _m
from adjoint.ops.numpylike.common import promoted, tensor

_DIRECT = 2048  # elements of the smaller input up to which the sum is taken directly


def _checked(what: str, mode: str, a: Any, b: Any, axes: Sequence[int]) -> bool:
    """Whether the inputs change places: in the mode "valid" one of them must hold the other."""
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(f"{what}: mode must be 'full', 'same' or 'valid', not {mode!r}{called_at()}")
    if mode != "valid":
        return False
    larger = [a.shape[k] >= b.shape[k] for k in axes]
    smaller = [a.shape[k] <= b.shape[k] for k in axes]
    if not all(larger) and not all(smaller):
        raise ShapeError(f"{what}: in the mode 'valid' one of {a.shape} and {b.shape} must hold the other{called_at()}")
    return not all(larger)


def _cut(full: Any, a: Any, b: Any, axes: Sequence[int], mode: str) -> Any:
    """The part of the full result that the mode names."""
    if mode == "full":
        return full
    index: list[slice] = [slice(None)] * full.ndim
    for k in axes:
        n, m = a.shape[k], b.shape[k]
        first, count = ((m - 1) // 2, n) if mode == "same" else (min(n, m) - 1, abs(n - m) + 1)
        index[k] = slice(first, first + count)
    return full[tuple(index)]


def by_fourier(a: Any, b: Any, axes: Sequence[int]) -> Any:
    """The full convolution along axes; all others broadcast."""
    from scipy.fft import next_fast_len

    sizes = [a.shape[k] + b.shape[k] - 1 for k in axes]
    fast = [next_fast_len(n) for n in sizes]
    if promoted([a, b]).kind == "c":
        full = _f.ifftn(_f.fftn(a, fast, axes) * _f.fftn(b, fast, axes), None, axes)
    else:
        full = _f.irfftn(_f.rfftn(a, fast, axes) * _f.rfftn(b, fast, axes), fast, axes)
    index: list[slice] = [slice(None)] * full.ndim
    for k, n in zip(axes, sizes, strict=True):
        index[k] = slice(0, n)
    return full[tuple(index)]


def _directly(a: Any, b: Any) -> Any:
    """The full convolution of real arrays with one to three axes."""
    rank = a.ndim
    a, b = (b, a) if math.prod(b.shape) > math.prod(a.shape) else (a, b)
    widths = [(n - 1, n - 1) for n in b.shape]
    conv = (_f.conv1d, _f.conv2d, _f.conv3d)[rank - 1]
    padded = _f.pad_widths(a, widths)
    image, kernel = (_f.reshape(x, (1, 1, *x.shape)) for x in (padded, _f.flip(b, tuple(range(rank)))))
    return _f.reshape(
        conv(image, kernel, pad_mode="valid"), tuple(n + m - 1 for n, m in zip(a.shape, b.shape, strict=True))
    )


def _inexact(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Both inputs as floating-point numbers of one dtype, and the dtype of the result."""
    dtype = promoted([a, b])
    wide = dtype if is_inexact(dtype) else np.dtype(np.float64)
    return F.cast(a, wide) if a.dtype != wide else a, F.cast(b, wide) if b.dtype != wide else b, dtype


def _whole(y: Any, dtype: np.dtype) -> Any:
    """Products of integers are integers again."""
    return y if y.dtype == dtype else F.cast(_f.round(y), dtype)


def convolve(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", *, axes: Any = None, dot_axes: Any = None
) -> Any:
    """As scipy.signal.convolve, in any number of axes.

    `axes` and `dot_axes` are HIPS autograd's: pairs of lists of axes to convolve, and to sum over as `tensordot` does. The result has the
    other axes of the first input, those of the second, then the convolved ones.
    """
    a, b = tensor(in1), tensor(in2)
    if method not in ("auto", "direct", "fft"):
        raise ArgumentError(f"convolve: method must be 'auto', 'direct' or 'fft', not {method!r}{called_at()}")
    if axes is not None or dot_axes is not None:
        return _along_pairs(a, b, axes, dot_axes or ((), ()), mode)
    if a.ndim == b.ndim == 0:
        return a * b
    if a.ndim != b.ndim:
        raise ShapeError(f"convolve: {a.shape} and {b.shape} must have as many axes{called_at()}")
    every = tuple(range(a.ndim))
    if _checked("convolve", mode, a, b, every):
        a, b = b, a
    if not a.size or not b.size:
        return tensor(np.zeros(0, promoted([a, b])))
    x, y, dtype = _inexact(a, b)
    small = min(x.size, y.size) <= _DIRECT and x.ndim <= 3 and x.dtype.kind == "f"
    full = _directly(x, y) if small and method != "fft" else by_fourier(x, y, every)
    return _cut(_whole(full, dtype), a, b, every, mode)


def _along_pairs(a: Any, b: Any, axes: Any, dot_axes: Any, mode: str) -> Any:
    """Convolution along pairs of axes and sums along others, by a product in the Fourier domain."""
    from scipy.fft import next_fast_len

    dots = [[normalize_axis("convolve", k, x.ndim) for k in ks] for x, ks in ((a, dot_axes[0]), (b, dot_axes[1]))]
    if axes is None:
        axes = [[k for k in range(x.ndim) if k not in d] for x, d in ((a, dots[0]), (b, dots[1]))]
    convs = [[normalize_axis("convolve", k, x.ndim) for k in ks] for x, ks in ((a, axes[0]), (b, axes[1]))]
    if len(convs[0]) != len(convs[1]) or len(dots[0]) != len(dots[1]):
        raise ShapeError(f"convolve: axes={axes} and dot_axes={dot_axes} must pair axes of both inputs{called_at()}")
    rests = [
        [k for k in range(x.ndim) if k not in c and k not in d]
        for x, c, d in ((a, convs[0], dots[0]), (b, convs[1], dots[1]))
    ]
    a, b, _ = _inexact(
        F.permute(a, tuple(rests[0] + dots[0] + convs[0])), F.permute(b, tuple(rests[1] + dots[1] + convs[1]))
    )
    i, j, d, c = len(rests[0]), len(rests[1]), len(dots[0]), len(convs[0])
    letters = "abcdefghijklmnopqrstuvwxyz"
    own, other, summed, along = letters[:i], letters[i : i + j], letters[i + j : i + j + d], letters[-c:] if c else ""
    subscripts = f"{own}{summed}{along},{other}{summed}{along}->{own}{other}{along}"
    if not c:
        return _f.einsum(subscripts, a, b)
    shapes = tuple(zip(a.shape[-c:], b.shape[-c:], strict=True))
    sizes = [n + m - 1 for n, m in shapes]
    fast, places = [next_fast_len(n) for n in sizes], tuple(range(-c, 0))
    mixed = a.dtype.kind == "c"
    forth, back = (_f.fftn, _f.ifftn) if mixed else (_f.rfftn, _f.irfftn)
    product = _f.einsum(subscripts, forth(a, fast, places), forth(b, fast, places))
    inner = (Ellipsis, *(slice(0, n) for n in sizes))
    full = back(product, fast, places)[inner]
    lead = full.ndim - c
    virtual = [np.broadcast_to(0.0, (1,) * lead + tuple(s)) for s in zip(*shapes, strict=True)]
    _checked("convolve", mode, virtual[0], virtual[1], range(lead, full.ndim))
    return _cut(full, virtual[0], virtual[1], range(lead, full.ndim), mode)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """As scipy.signal.correlate."""
    return convolve(in1, _turned(tensor(in2)), mode, method)


def _turned(x: Any) -> Any:
    x = _f.flip(x, tuple(range(x.ndim))) if x.ndim else x
    return F.conj(x) if x.dtype.kind == "c" else x


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """As scipy.signal.fftconvolve."""
    a, b = tensor(in1), tensor(in2)
    if a.ndim == b.ndim == 0:
        return a * b
    if a.ndim != b.ndim:
        raise ShapeError(f"fftconvolve: {a.shape} and {b.shape} must have as many axes{called_at()}")
    named = range(a.ndim) if axes is None else [axes] if isinstance(axes, int) else axes
    places = sorted(normalize_axis("fftconvolve", int(k), a.ndim) for k in named)
    # An axis of size 1 broadcasts against the other's.
    places = [k for k in places if a.shape[k] != 1 and b.shape[k] != 1] if axes is not None else places
    if _checked("fftconvolve", mode, a, b, places):
        a, b = b, a
    if not a.size or not b.size:
        return tensor(np.zeros(0))
    x, y, _ = _inexact(a, b)
    return _cut(by_fourier(x, y, places), a, b, places, mode) if places else x * y


def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """As scipy.signal.oaconvolve."""
    return fftconvolve(in1, in2, mode, axes)


_BOUNDARIES = {"fill": "constant", "pad": "constant", "wrap": "wrap", "circular": "wrap", "symm": "symmetric",
               "symmetric": "symmetric"}  # fmt: skip


def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """As scipy.signal.convolve2d."""
    a, b = tensor(in1), tensor(in2)
    if a.ndim != 2 or b.ndim != 2:
        raise ShapeError(f"convolve2d: two matrices are needed, not shapes {a.shape} and {b.shape}{called_at()}")
    if boundary not in _BOUNDARIES:
        raise ArgumentError(f"convolve2d: boundary must be 'fill', 'wrap' or 'symm', not {boundary!r}{called_at()}")
    if _checked("convolve2d", mode, a, b, (0, 1)):
        a, b = b, a
    kind = _BOUNDARIES[boundary]
    zero = isinstance(fillvalue, (int, float)) and fillvalue == 0
    if mode == "valid" or (kind == "constant" and zero):
        return convolve(a, b, mode)
    widths = [(n - 1, n - 1) for n in b.shape]
    padded = _m.pad(a, widths, kind) if kind != "constant" else _m.pad(a - fillvalue, widths) + fillvalue
    return _cut(convolve(padded, b, "valid"), a, b, (0, 1), mode)


def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """As scipy.signal.correlate2d."""
    a, b = tensor(in1), tensor(in2)
    if mode == "valid" and b.ndim == 2 and b.shape[0] > a.shape[0]:
        return _turned(convolve2d(b, _turned(a), mode, boundary, fillvalue))
    turned = _turned(b)
    if mode == "same":  # SciPy's centre of an even kernel lies on the other side
        full = convolve2d(a, turned, "full", boundary, fillvalue)
        first = [n // 2 for n in b.shape]
        return full[tuple(slice(f, f + n) for f, n in zip(first, a.shape, strict=True))]
    return convolve2d(a, turned, mode, boundary, fillvalue)
