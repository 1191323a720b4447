"""NumPy's functions that count and order: histograms, membership, positions. Counts are integers; weights have derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.core.dispatch import wrap
from adjoint.core.errors import ArgumentError, ArgumentTypeError, ShapeError, called_at
from adjoint.core.spec import normalize_axis
from adjoint.ops import functional as _f
from adjoint.ops import language as F
from adjoint.ops.along_axis import ArgPartition
from adjoint.ops.bessel import bessel_i
from adjoint.ops.card import card
from adjoint.ops.numpylike.calculus import diff
from adjoint.ops.numpylike.common import (
    array_of,
    array_of_known,
    cast,
    not_complex,
    one_axis,
    refuse,
    tensor,
    tensors,
)
from adjoint.ops.numpylike.creation import linspace
from adjoint.ops.numpylike.selection import searchsorted

# ---------------------------------------------------------------- histograms


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """As numpy.histogram: counts have no derivative, weights and the edges do."""
    x = not_complex("histogram", _flat(a))
    if isinstance(bins, str):
        if weights is not None:
            raise ArgumentTypeError(f"histogram: bins={bins!r} cannot be chosen for weighted data{called_at()}")
        bins = np.histogram_bin_edges(array_of_known("histogram", x), bins, range)
    shares = None if weights is None else _weights("histogram", tensor(weights), tensor(a).shape)
    edges = _edges("histogram", x, bins, range)
    counts = _counted([x], [edges], shares, np.dtype(np.int64))
    if density:
        widths = diff(edges)
        counts = cast(counts, np.float64) if counts.dtype.kind in "biu" else counts
        return counts / widths / _f.sum(counts), edges
    return counts, edges


def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """As numpy.histogram2d, differentiable in the weights."""
    x, y = _flat(x), _flat(y)
    if x.shape != y.shape:
        raise ShapeError(f"histogram2d: x and y must have the same length, not {x.shape} and {y.shape}{called_at()}")
    whole = isinstance(bins, (int, np.integer))
    if not whole and len(bins) not in (1, 2):  # the edges of both
        bins = [bins, bins]
    counts, (along_x, along_y) = histogramdd([x, y], bins, range, density, weights)
    return counts, along_x, along_y


def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """As numpy.histogramdd, differentiable in the weights."""
    if isinstance(sample, (list, tuple)):
        columns = [_flat(x) for x in sample]
    else:
        rows = tensor(sample)
        rows = _f.reshape(rows, (-1, 1)) if rows.ndim == 1 else rows
        columns = list(_f.unstack(rows, 1))
    columns = [not_complex("histogramdd", x) for x in columns]
    rank = len(columns)
    each = [bins] * rank if isinstance(bins, (int, np.integer)) else list(bins)
    if len(each) != rank:
        raise ArgumentError(f"histogramdd: {len(each)} kinds of bins for {rank} axes{called_at()}")
    ranges = [None] * rank if range is None else list(range)
    edges = [_edges("histogramdd", x, b, r) for x, b, r in zip(columns, each, ranges, strict=True)]
    shares = None if weights is None else _weights("histogramdd", tensor(weights), columns[0].shape)
    counts = cast(_counted(columns, edges, shares, np.dtype(np.int64)), np.float64)
    if density:
        for axis, edge in enumerate(edges):
            counts = counts / _f.reshape(diff(edge), (-1,) + (1,) * (rank - axis - 1))
        counts = counts / _f.sum(cast(_counted(columns, edges, shares, np.dtype(np.int64)), np.float64))
    return counts, tuple(edges)


def _flat(a: Any) -> Any:
    x = tensor(a)
    return _f.reshape(x, (x.size,))


def _weights(what: str, weights: Any, shape: tuple[int, ...]) -> Any:
    if weights.shape != shape:
        raise ShapeError(f"{what}: weights of shape {weights.shape} for data of shape {shape}{called_at()}")
    return _f.reshape(weights, (weights.size,))


def _edges(what: str, x: Any, bins: Any, limits: Any) -> Any:
    """The edges of the bins: given, or between the limits, which are by default the least and the largest element."""
    if not isinstance(bins, (int, np.integer)):
        edges = tensor(bins)
        if edges.ndim != 1:
            raise ArgumentError(f"{what}: bins must be an integer or a sequence of edges{called_at()}")
        if not edges.tracked and (np.diff(array_of(edges)) < 0).any():
            raise ArgumentError(f"{what}: bins must increase monotonically{called_at()}")
        return edges
    if bins < 1:
        raise ArgumentError(f"{what}: bins must be positive, not {bins}{called_at()}")
    first, last = (0.0, 1.0) if not x.size else (_f.amin(x), _f.amax(x)) if limits is None else limits
    if limits is not None and not first <= last:
        raise ArgumentError(f"{what}: max must be larger than min in range, not {limits!r}{called_at()}")
    dtype = x.dtype if x.dtype.kind == "f" else np.dtype(np.float64)
    first, last = cast(tensor(first), dtype), cast(tensor(last), dtype)
    apart = F.where(F.equal(first, last), 0.5, cast(tensor(0.0), dtype))  # one value alone stands in the middle
    return cast(linspace(first - apart, last + apart, int(bins) + 1), dtype)


def _counted(columns: Sequence[Any], edges: Sequence[Any], weights: Any, dtype: np.dtype) -> Any:
    """How many rows, or how much weight, each cell holds; a value on the last edge belongs to the last bin."""
    sizes = [edge.shape[0] - 1 for edge in edges]
    cell: Any = 0
    inside: Any = True
    for x, edge, size in zip(columns, edges, sizes, strict=True):
        line, value = F.stop_gradient(edge), F.stop_gradient(x)
        place = searchsorted(line, value, "right") - 1
        place = F.where(F.equal(value, line[size]), size - 1, place)
        here = F.bitwise_and(F.greater_equal(place, 0), F.less(place, size))
        inside = here if inside is True else F.bitwise_and(inside, here)
        cell = cell * size + place
    total = int(np.prod(sizes))
    cell = F.where(inside, cell, total)  # what lies outside goes to a cell that is cut off
    rows = np.ones(columns[0].shape, dtype) if weights is None else weights
    counts = _f.segment_sum(rows, cell, total + 1)
    return _f.reshape(wrap(counts)[:total], tuple(sizes))


# ---------------------------------------------------------------- membership and positions


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:  # `assume_unique` and `kind` choose an algorithm of NumPy's
    """As numpy.isin."""
    x, line = F.stop_gradient(tensor(element)), F.stop_gradient(_flat(test_elements))
    if not line.size:
        return wrap(np.full(x.shape, bool(invert)))
    ordered = _f.sort(line, 0)[0]
    at = searchsorted(ordered, x)
    found = F.equal(_f.take(ordered, F.where(F.less(at, line.size), at, line.size - 1), 0), x)
    return F.logical_not(found) if invert else found


def argpartition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> Any:
    """As numpy.argpartition."""
    refuse("argpartition", order=order)
    x, axis = one_axis("argpartition", tensor(a), axis)
    return card(ArgPartition, axis, tuple(int(k) for k in np.ravel(array_of(kth))))(F.stop_gradient(x))


def lexsort(keys: Any, axis: int = -1) -> Any:
    """As numpy.lexsort: the last key decides first."""
    rows = tensors(keys)
    if not rows:
        raise ArgumentTypeError(f"lexsort: need a sequence of keys with at least one{called_at()}")
    rows = [F.stop_gradient(row) for row in rows]
    axis = normalize_axis("lexsort", axis, rows[0].ndim)
    order = _f.argsort(rows[0], axis)
    for row in rows[1:]:
        order = _f.take_along_axis(order, _f.argsort(_f.take_along_axis(row, order, axis), axis), axis)
    return order


def i0(x: Any) -> Any:
    """As numpy.i0: the modified Bessel function of order 0."""
    value = tensor(x)
    if value.dtype.kind == "c":
        raise ArgumentTypeError(f"i0 is not provided for complex numbers: take scipy.special.iv{called_at()}")
    return bessel_i(0, value if value.dtype.kind == "f" else cast(value, np.float64))
