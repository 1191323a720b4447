"""Functions that NumPy has no name for, in NumPy alone: their source is written at the head of a program that needs them.

Each computes what the `eval` of a card computes; a test compares the two on the card's own samples.
"""

from __future__ import annotations

import numpy as np


def masked_mul(x, y):
    """x * y, where a factor of zero gives zero even beside infinity or NaN."""
    return np.where((x == 0) | (y == 0), 0, x * y)[()]


def symmetric(x):
    """The symmetric (Hermitian) part of matrices."""
    return (x + np.conj(np.swapaxes(x, -1, -2))) / 2


def solve_triangular(a, b, lower, adjoint, unit):
    """The solution of a x = b for triangular a, or of its adjoint; `unit` takes ones for the diagonal."""
    full = np.tril(a, -unit) if lower else np.triu(a, unit)
    full = full + np.eye(a.shape[-1], dtype=full.dtype) if unit else full
    return np.linalg.solve(np.conj(np.swapaxes(full, -1, -2)) if adjoint else full, b)


def bce_with_logits(x, label, weight, positive):
    """Binary cross-entropy from logits, element by element."""
    return weight * ((1 - label) * np.logaddexp(0, x) + positive * label * np.logaddexp(0, -x))


def digamma_step(x, h):
    """digamma(x + h) - digamma(x) of positive x and x + h: ten steps of the recurrence, then the asymptotic series."""
    z, w, terms, sums = x + 10.0, x + h + 10.0, 0.0, 1.0
    steps = sum(h / (x + (h + k)) / (x + k) for k in range(10))
    bernoulli = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
    for k, b in enumerate(bernoulli, 1):
        terms, sums = terms + b / (2 * k) / z ** (2 * k) * sums, sums + (z / w) ** (2 * k)
    found = steps + np.log1p(h / z) + h / w * (0.5 / z + (z + w) / w * terms)
    return np.where((x > 0) & (x + h > 0), found, np.nan).astype(np.result_type(x * 0.5, h))[()]


# ---------------------------------------------------------------- elements put in place


def put_item(x, index, shape):
    """Zeros with x at an index."""
    y = np.zeros(shape, np.asarray(x).dtype)
    y[index] = x
    return y


def set_item(x, index, value):
    """A copy of x with other values at an index."""
    y = np.array(x)
    y[index] = value
    return y


def scatter_add(x, value, *index):
    """A copy of x with values added at an index; places named twice get both."""
    y = np.array(x)
    np.add.at(y, index, value)
    return y


def argsort_descending(x, axis):
    """The order from the largest to the smallest; equal elements stay in order."""
    order = np.argsort(np.flip(x, axis), axis=axis, stable=True)
    return x.shape[axis] - 1 - np.flip(order, axis)


def cumulative_argmax(x, axis):
    """Where the largest element so far stands."""
    peaks = np.maximum.accumulate(x, axis=axis)
    here = np.arange(x.shape[axis]).reshape([-1 if k == axis % x.ndim else 1 for k in range(x.ndim)])
    return np.maximum.accumulate(np.where((x == peaks) | (x != x), here, 0), axis=axis)


# ---------------------------------------------------------------- determinants


def cofactor(x, *directions):
    """det(x) x^-T, the gradient of det, or its derivative along directions; for singular matrices too."""
    if not x.size or len(directions) >= x.shape[-1]:
        return np.zeros(x.shape, np.result_type(x, *directions))
    points = regular_points(x)
    total = sum(cofactor_of_regular(p, directions) for p in points) / len(points)
    return total if any(np.iscomplexobj(v) for v in (x, *directions)) else total.real


def regular_points(x):
    """Well-conditioned matrices over which det, a polynomial, averages to its value at x."""
    limit = np.finfo(x.dtype).eps ** -0.25
    if not np.any(np.linalg.cond(x, 1) >= limit):
        return [x]
    u, s, vh = np.linalg.svd(x)
    scale = np.where(s[..., :1] > 0, s[..., :1], 1)
    small = s * limit <= scale
    shift = (u * np.where(small, scale, 0)[..., None, :]) @ vh
    roots = int(np.max(np.sum(small, axis=-1))) + 1
    turns = [np.exp(2j * np.pi * k / roots).astype(np.result_type(x.dtype, np.complex64)) for k in range(roots)]
    return [x + turn * shift for turn in turns]


def cofactor_of_regular(x, directions):
    """The coefficient of e1...ek in det(z) z^-T for z = x + e1 t1 + ... + ek tk; bits name products of e's."""
    inverse, det = {0: np.linalg.inv(x)}, {0: np.linalg.det(x)}
    whole = (1 << len(directions)) - 1
    for s in range(1, whole + 1):
        bits = [i for i in range(len(directions)) if s >> i & 1]
        inverse[s] = -inverse[0] @ sum(directions[i] @ inverse[s ^ 1 << i] for i in bits)
        rest, last = s ^ 1 << bits[-1], directions[bits[-1]]
        parts = [r for r in range(rest + 1) if r | rest == rest]
        det[s] = sum(det[r] * np.einsum("...ij,...ji->...", last, inverse[rest ^ r]) for r in parts)
    parts = [r for r in range(whole + 1) if r | whole == whole]
    return np.swapaxes(sum(det[r][..., None, None] * inverse[whole ^ r] for r in parts), -1, -2)


# ---------------------------------------------------------------- windows: convolution and pooling


def windows(x, window, stride, padding, dilation, fill=0):
    """The windows over the last axes of x: (..., *places, *window)."""
    rank = len(window)
    x = np.pad(x, ((0, 0),) * (x.ndim - rank) + tuple(padding), constant_values=fill)
    span = tuple(d * (k - 1) + 1 for k, d in zip(window, dilation))
    view = np.lib.stride_tricks.sliding_window_view(x, span, axis=tuple(range(-rank, 0)))
    steps: tuple = (..., *(slice(None, None, s) for s in (*stride, *dilation)))
    return view[steps]


def lay_back(parts, space, window, stride, padding, dilation):
    """Windows (..., *places, *window) added up in an array (..., *space)."""
    rank = len(window)
    lead, places = parts.shape[: -2 * rank], parts.shape[-2 * rank : -rank]
    whole = np.zeros((*lead, *(n + lo + hi for n, (lo, hi) in zip(space, padding))), parts.dtype)
    for offset in np.ndindex(*window):
        axes = zip(offset, dilation, stride, places)
        at: tuple = (..., *(slice(k * d, k * d + s * (n - 1) + 1, s) for k, d, s, n in axes))
        element = (..., *offset)
        whole[at] += parts[element]
    inner: tuple = (..., *(slice(lo, lo + n) for n, (lo, hi) in zip(space, padding)))
    return whole[inner]


def conv(x, w, stride, padding, dilation, groups):
    """The products of each window of x (N, C, *space) with filters w (O, C / groups, *window)."""
    found = windows(x, w.shape[2:], stride, padding, dilation)
    places, size = found.shape[2 : w.ndim], int(np.prod(w.shape[2:]))
    found = found.reshape(x.shape[0], groups, w.shape[1], int(np.prod(places)), size)
    filters = w.reshape(groups, w.shape[0] // groups, w.shape[1], size)
    y = np.einsum("ngcpk,gock->ngop", found, filters, optimize=True)
    return y.reshape(x.shape[0], w.shape[0], *places)


def conv_filter(x, g, stride, padding, dilation, groups, window):
    """The gradient of `conv` by its filters, from that of its result."""
    found = windows(x, window, stride, padding, dilation)
    (n, filters, *places), channels = g.shape, x.shape[1] // groups
    size, count = int(np.prod(window)), int(np.prod(places))
    found = found.reshape(n, groups, channels, count, size)
    g = g.reshape(n, groups, filters // groups, count)
    return np.einsum("ngcpk,ngop->gock", found, g, optimize=True).reshape(filters, channels, *window)


def conv_input(g, w, stride, padding, dilation, groups, space):
    """The gradient of `conv` by its input of sizes `space`, from that of its result."""
    (n, filters, *places), (_, channels, *window) = g.shape, w.shape
    g = g.reshape(n, groups, filters // groups, int(np.prod(places)))
    matrix = w.reshape(groups, filters // groups, channels, int(np.prod(window)))
    parts = np.einsum("ngop,gock->ngcpk", g, matrix, optimize=True)
    parts = parts.reshape(n, groups * channels, *places, *window)
    return lay_back(parts, space, tuple(window), stride, padding, dilation)


def unfold(x, window, stride, padding, dilation):
    """The windows written out, their elements along an axis before those in space."""
    found, rank = windows(x, window, stride, padding, dilation), len(window)
    return np.moveaxis(found.reshape(*found.shape[:-rank], int(np.prod(window))), -1, -rank - 1)


def fold(g, window, stride, padding, dilation, space):
    """Windows put back into an array; where they overlap they add up."""
    parts = np.moveaxis(g, -len(window) - 1, -1)
    return lay_back(parts.reshape(*parts.shape[:-1], *window), space, window, stride, padding, dilation)


def sum_pool(x, window, stride, padding, dilation):
    """The sum of each window."""
    return windows(x, window, stride, padding, dilation).sum(axis=tuple(range(-len(window), 0)))


def sum_pool_pull(g, window, stride, padding, dilation, space):
    """Each element added to every place of its window: the gradient of `sum_pool`."""
    parts = np.broadcast_to(np.expand_dims(g, tuple(range(-len(window), 0))), (*g.shape, *window))
    return lay_back(parts, space, window, stride, padding, dilation)


def lowest(dtype):
    """A value that is never larger than another."""
    return False if dtype.kind == "b" else np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def max_pool(x, window, stride, padding, dilation):
    """The largest element of each window."""
    found = windows(x, window, stride, padding, dilation, lowest(x.dtype))
    return found.max(axis=tuple(range(-len(window), 0)))


def max_pool_peaks(x, window, stride, padding, dilation):
    """Which elements of the windows are the largest, and how many of them there are in each."""
    found = windows(x, window, stride, padding, dilation, lowest(x.dtype))
    axes = tuple(range(-len(window), 0))
    peaks = ~(found < found.max(axis=axes, keepdims=True))
    return peaks, peaks.sum(axis=axes)


def max_pool_pull(g, x, window, stride, padding, dilation):
    """g shared among the largest elements of each window of x: the gradient of `max_pool`."""
    peaks, count = max_pool_peaks(x, window, stride, padding, dilation)
    share = np.expand_dims(g / count.astype(g.dtype), tuple(range(-len(window), 0)))
    return lay_back(np.where(peaks, share, 0), x.shape[-len(window) :], window, stride, padding, dilation)


def max_pool_push(t, x, window, stride, padding, dilation):
    """The average of t at the largest elements of each window of x: the tangent of `max_pool`."""
    peaks, count = max_pool_peaks(x, window, stride, padding, dilation)
    there = np.where(peaks, windows(t, window, stride, padding, dilation), 0)
    return there.sum(axis=tuple(range(-len(window), 0))) / count.astype(t.dtype)


def max_pool_index(x, window, stride, padding, dilation):
    """Where the first largest element of each window stands, counted through the axes in space."""
    space = x.shape[-len(window) :]
    values = windows(x, window, stride, padding, dilation, lowest(x.dtype))
    numbers = windows(np.arange(int(np.prod(space))).reshape(space), window, stride, padding, dilation, -1)
    first = (..., *[0] * len(window))
    best, found = values[first], np.broadcast_to(numbers[first], values[first].shape)
    for offset in np.ndindex(*window):
        element = (..., *offset)
        value, place = values[element], numbers[element]
        better = (value > best) | ((value != value) & (best == best)) | (found < 0)
        best, found = np.where(better, value, best), np.where(better, place, found)
    return found
