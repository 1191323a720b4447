"""Digital filters of scipy.signal, for Tensors: a convolution forward, and a linear recurrence (`ops.recurrence`) back."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, ShapeError, called_at
from adjoint.core.spec import is_inexact, normalize_axis
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.functional import linalg as _l
from adjoint.ops.numpylike import movement as _m
from adjoint.ops.numpylike.common import array_of, is_known, promoted, refuse, tensor
from adjoint.scipy.convolutions import by_fourier

_TAPS = 64  # coefficients up to which a filter is a sum of delayed copies


def _line(what: str, x: Any) -> Any:
    x = tensor(x)
    if x.ndim > 1 or not x.size:
        raise ShapeError(f"{what}: a line of coefficients is needed, not shape {x.shape}{called_at()}")
    return _f.reshape(x, (x.size,))


def _delayed(x: Any, k: int) -> Any:
    """x moved along its last axis by k places, zeros coming in."""
    n = x.shape[-1]
    k = min(k, n)
    return _f.pad_widths(x[..., : n - k], [(0, 0)] * (x.ndim - 1) + [(k, 0)])


def _forward(b: Any, x: Any) -> Any:
    """b[0] x[n] + b[1] x[n-1] + ... along the last axis."""
    if b.size <= _TAPS:
        total = b[0] * x
        for k in range(1, min(b.size, x.shape[-1])):
            total = total + b[k] * _delayed(x, k)
        return total
    return by_fourier(x, _f.reshape(b, (1,) * (x.ndim - 1) + (b.size,)), (x.ndim - 1,))[..., : x.shape[-1]]


def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """As scipy.signal.lfilter, differentiable by the coefficients, the signal and the initial state."""
    b, a, x = _line("lfilter", b), _line("lfilter", a), tensor(x)
    axis = normalize_axis("lfilter", axis, x.ndim)
    dtype = promoted([b, a, x])
    dtype = dtype if is_inexact(dtype) else np.dtype(np.float64)
    b, a, x = (F.cast(v, dtype) if v.dtype != dtype else v for v in (b, a, x))
    if is_known(a) and not array_of(a)[0]:
        raise ArgumentError(f"lfilter: the first coefficient of a must not be 0{called_at()}")
    b, a = b / a[0], a / a[0]
    x = _f.moveaxis(x, axis, -1)
    n, order = x.shape[-1], max(b.size, a.size) - 1
    driven = _forward(b, x) if n else x
    if zi is not None:
        zi = _f.moveaxis(tensor(zi), axis, -1)
        if zi.shape[-1] != order:
            raise ShapeError(
                f"lfilter: zi has {zi.shape[-1]} values along the axis, the filter's state {order}{called_at()}"
            )
        zi = _f.broadcast_to(zi, (*x.shape[:-1], order))
        driven = driven + _resized(zi, n)
    y = _f.recurrence(driven, a[1:]) if a.size > 1 else driven
    result = _f.moveaxis(y, -1, axis)
    if zi is None:
        return result
    return result, _f.moveaxis(_state(b, a, x, y, zi, order), -1, axis)


def _resized(x: Any, n: int) -> Any:
    """The last axis cropped, or filled with zeros, to n."""
    have = x.shape[-1]
    return x[..., :n] if have >= n else _f.pad_widths(x, [(0, 0)] * (x.ndim - 1) + [(0, n - have)])


def _state(b: Any, a: Any, x: Any, y: Any, zi: Any, order: int) -> Any:
    """What the delays hold after the last sample: each the terms of the samples to come."""
    n, found = x.shape[-1], []
    for i in range(order):
        total = zi[..., n + i] if n + i < order else np.zeros(x.shape[:-1], x.dtype)
        for k in range(i + 1, order + 1):
            j = n + i - k
            if 0 <= j < n:
                total = total + b[k] * x[..., j] if k < b.size else total
                total = total - a[k] * y[..., j] if k < a.size else total
        found.append(total)
    return _f.stack([tensor(v) for v in found], -1) if found else tensor(np.zeros((*x.shape[:-1], 0), x.dtype))


def lfilter_zi(b: Any, a: Any) -> Any:
    """As scipy.signal.lfilter_zi."""
    b, a = _line("lfilter_zi", b), _line("lfilter_zi", a)
    b, a = b / a[0], a / a[0]
    n = max(b.size, a.size)
    b, a = _resized(b, n), _resized(a, n)
    below = np.eye(n - 1, k=1)  # the transpose of a companion matrix
    first = np.zeros((n - 1, n - 1))
    first[:, 0] = 1
    system = np.eye(n - 1) - below + first * _f.reshape(a[1:], (n - 1, 1))
    return _l.solve(system, b[1:] - a[1:] * b[0])


def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """As scipy.signal.sosfilt."""
    sos, x = tensor(sos), tensor(x)
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ShapeError(f"sosfilt: sos must have the shape (sections, 6), not {sos.shape}{called_at()}")
    ends, zi = [], None if zi is None else tensor(zi)
    for k in range(sos.shape[0]):
        if zi is None:
            x = lfilter(sos[k, :3], sos[k, 3:], x, axis)
        else:
            x, end = lfilter(sos[k, :3], sos[k, 3:], x, axis, zi[k])
            ends.append(end)
    return x if zi is None else (x, _f.stack(ends, 0))


def sosfilt_zi(sos: Any) -> Any:
    """As scipy.signal.sosfilt_zi."""
    sos = tensor(sos)
    found, scale = [], 1.0
    for k in range(sos.shape[0]):
        b, a = sos[k, :3], sos[k, 3:]
        found.append(scale * lfilter_zi(b, a))
        scale = scale * _f.sum(b) / _f.sum(a)
    return _f.stack(found, 0)


def _extended(what: str, x: Any, padtype: Any, padlen: Any, taps: int) -> tuple[Any, int]:
    """The signal continued at both ends of its last axis, and by how much."""
    if padtype not in ("odd", "even", "constant", None):
        raise ArgumentError(f"{what}: padtype must be 'odd', 'even', 'constant' or None, not {padtype!r}{called_at()}")
    edge = 0 if padtype is None else taps if padlen is None else int(padlen)
    if x.shape[-1] <= edge:
        raise ArgumentError(f"{what}: the signal must be longer than padlen, which is {edge}{called_at()}")
    if not edge:
        return x, 0
    mode = {"odd": "reflect", "even": "reflect", "constant": "edge"}[padtype]
    longer = _m.pad(x, [(0, 0)] * (x.ndim - 1) + [(edge, edge)], mode)
    if padtype == "odd":
        left, right = 2 * x[..., :1] - longer[..., :edge], 2 * x[..., -1:] - longer[..., -edge:]
        longer = _f.concat([left, x, right], -1)
    return longer, edge


def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: Any = "odd",
    padlen: Any = None,
    method: str = "pad",
    irlen: Any = None,
) -> Any:
    """As scipy.signal.filtfilt with the method 'pad'."""
    b, a, x = _line("filtfilt", b), _line("filtfilt", a), tensor(x)
    if method != "pad":
        raise ArgumentError(f"filtfilt: the method {method!r} is not supported for Tensors, 'pad' is{called_at()}")
    refuse("scipy.signal.filtfilt", irlen=irlen)
    x = _f.moveaxis(x, axis, -1)
    longer, edge = _extended("filtfilt", x, padtype, padlen, 3 * max(b.size, a.size))
    zi = lfilter_zi(b, a)
    y, _ = lfilter(b, a, longer, -1, zi * longer[..., :1])
    y, _ = lfilter(b, a, _f.flip(y, -1), -1, zi * y[..., -1:])
    y = _f.flip(y, -1)
    return _f.moveaxis(y[..., edge : y.shape[-1] - edge], -1, axis)


def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None) -> Any:
    """As scipy.signal.sosfiltfilt, for sections whose coefficients are known or `padlen` given."""
    sos, x = tensor(sos), tensor(x)
    x = _f.moveaxis(x, axis, -1)
    if padlen is None and padtype is not None:
        from adjoint.ops.numpylike.common import array_of_known

        known = array_of_known("sosfiltfilt", F.stop_gradient(sos))
        padlen = 3 * (2 * len(known) + 1 - min((known[:, 2] == 0).sum(), (known[:, 5] == 0).sum()))
    longer, edge = _extended("sosfiltfilt", x, padtype, padlen, 0)
    zi = sosfilt_zi(sos)
    zi = _f.reshape(zi, (zi.shape[0], *(1,) * (x.ndim - 1), 2))
    y, _ = sosfilt(sos, longer, -1, zi * longer[..., :1])
    y, _ = sosfilt(sos, _f.flip(y, -1), -1, zi * y[..., -1:])
    y = _f.flip(y, -1)
    return _f.moveaxis(y[..., edge : y.shape[-1] - edge], -1, axis)


# ---------------------------------------------------------------- smoothing and trends


def savgol_filter(
    x: Any,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: float = 0.0,
) -> Any:
    """As scipy.signal.savgol_filter, for an odd `window_length`."""
    from scipy.signal import savgol_coeffs

    pads = {"mirror": "reflect", "nearest": "edge", "wrap": "wrap", "constant": "constant", "interp": None}
    if mode not in pads:
        raise ArgumentError(f"savgol_filter: mode must be one of {', '.join(pads)}, not {mode!r}{called_at()}")
    if window_length % 2 == 0:
        raise ArgumentError(
            f"savgol_filter: an odd window_length is needed for Tensors, not {window_length}{called_at()}"
        )
    x = tensor(x)
    x = x if x.dtype.kind == "f" else F.cast(x, np.float64)
    x, half, dtype = _f.moveaxis(x, axis, -1), window_length // 2, x.dtype

    def weights(pos: Any) -> np.ndarray:
        return savgol_coeffs(window_length, polyorder, deriv, delta, pos, "dot").astype(dtype)

    if mode == "interp":
        if window_length > x.shape[-1]:
            raise ArgumentError(f"savgol_filter: window_length is longer than the {x.shape[-1]} points{called_at()}")
        first = (
            F.matmul(x[..., :window_length], np.stack([weights(i) for i in range(half)], -1)) if half else x[..., :0]
        )
        last = (
            F.matmul(x[..., -window_length:], np.stack([weights(half + 1 + i) for i in range(half)], -1))
            if half
            else x[..., :0]
        )
        y = _f.concat([first, _windows(x, weights(None)), last], -1)
    else:
        options = {"constant_values": cval} if mode == "constant" else {}
        y = _windows(_m.pad(x, [(0, 0)] * (x.ndim - 1) + [(half, half)], pads[mode] or "", **options), weights(None))
    return _f.moveaxis(y, -1, axis)


def _windows(x: Any, weights: np.ndarray) -> Any:
    """The product of every window of the last axis with weights."""
    return _forward(tensor(weights[::-1].copy()), x)[..., len(weights) - 1 :]


def detrend(data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False) -> Any:  # noqa: ARG001
    """As scipy.signal.detrend; `overwrite_data` changes nothing."""
    x = tensor(data)
    x = x if is_inexact(x.dtype) else F.cast(x, np.float64)
    x = _f.moveaxis(x, axis, -1)
    if type in ("constant", "c"):
        y = x - _f.mean(x, -1, keep_dims=True)
    elif type in ("linear", "l"):
        n = x.shape[-1]
        cuts = sorted({0, n, *np.atleast_1d(bp).astype(int).tolist()})
        parts = []
        for first, last in pairwise(cuts):
            count = last - first
            basis, _ = np.linalg.qr(np.stack([np.arange(1, count + 1) / count, np.ones(count)], 1))
            piece = x[..., first:last]
            parts.append(piece - F.matmul(F.matmul(piece, basis.astype(x.dtype)), basis.T.astype(x.dtype)))
        y = _f.concat(parts, -1)
    else:
        raise ArgumentError(f"detrend: type must be 'linear' or 'constant', not {type!r}{called_at()}")
    return _f.moveaxis(y, -1, axis)


def hilbert(x: Any, N: Any = None, axis: int = -1) -> Any:
    """As scipy.signal.hilbert."""
    spectrum = _f.moveaxis(_f.fft(tensor(x), N, axis), axis, -1)
    n = spectrum.shape[-1]
    gain = np.zeros(n)
    gain[0] = 1
    gain[1 : (n + 1) // 2] = 2
    if n % 2 == 0:
        gain[n // 2] = 1
    return _f.moveaxis(_f.ifft(spectrum * gain.astype(spectrum.real.dtype)), -1, axis)
