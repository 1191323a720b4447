"""Functions of mindspore.numpy that adjoint.numpy does not have, or has with other arguments."""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from adjoint import numpy as anp
from adjoint import ops
from adjoint.core.tensor import Tensor

np: Any = _numpy  # its stubs know fewer arguments than it takes


def _array(x: Any) -> Any:
    return x.asnumpy() if isinstance(x, Tensor) else np.asarray(x)


def _tensor(x: Any) -> Tensor:
    """A Tensor of 32 bits."""
    array = np.asarray(x)
    small = {"float64": np.float32, "int64": np.int32}.get(array.dtype.name)
    return Tensor(array if small is None else array.astype(small))


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Any:
    """Numbers from `start` (or 0) to before `stop`."""
    begin, end = (0, start) if stop is None else (start, stop)
    found = np.arange(begin, end, 1 if step is None else step)
    return _tensor(found) if dtype is None else Tensor(found.astype(np.dtype(dtype)))


def array_str(a: Any) -> str:
    """The text of an array."""
    return np.array_str(_array(a))


def asfarray(a: Any, dtype: Any = np.float32) -> Any:
    """An array of floats."""
    kind = np.dtype(dtype) if dtype is not None and np.dtype(dtype).kind == "f" else np.dtype(np.float32)
    return ops.cast(a if isinstance(a, Tensor) else Tensor(np.asarray(a)), kind)


def bartlett(M: int) -> Any:
    """A triangular window."""
    return _tensor(np.bartlett(M))


def blackman(M: int) -> Any:
    """Blackman's window."""
    return _tensor(np.blackman(M))


def hamming(M: int) -> Any:
    """Hamming's window."""
    return _tensor(np.hamming(M))


def hanning(M: int) -> Any:
    """Hann's window."""
    return _tensor(np.hanning(M))


def bincount(x: Any, weights: Any = None, minlength: int = 0, length: int | None = None) -> Any:
    """How often each number occurs."""
    found = np.bincount(_array(x), _weights(weights), minlength if length is None else length)
    return Tensor(found[:length].astype(np.float32))


def mean(a: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """The mean."""
    return anp.mean(a, axis, dtype, keepdims=keepdims)


def var(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """The variance."""
    return anp.var(x, axis, ddof=ddof, keepdims=keepdims)


def std(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """The standard deviation."""
    return anp.std(x, axis, ddof=ddof, keepdims=keepdims)


def amax(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
    """The largest elements."""
    more = {} if initial is None else {"initial": initial}
    return anp.max(a, axis, keepdims=keepdims, **more, **({} if where is True else {"where": where}))


def amin(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
    """The smallest elements."""
    more = {} if initial is None else {"initial": initial}
    return anp.min(a, axis, keepdims=keepdims, **more, **({} if where is True else {"where": where}))


def unique(x: Any, return_inverse: bool = False) -> Any:
    """The different elements as they come, and where each element is among them."""
    flat = _array(x).ravel()
    values, first, inverse = np.unique(flat, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    found = Tensor(values[order])
    return (
        (
            found,
            Tensor(place[inverse].astype(np.int64 if flat.dtype == np.int64 else np.int32)).reshape(
                np.shape(_array(x))
            ),
        )
        if return_inverse
        else found
    )


def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """How many elements are not zero."""
    return _tensor(np.count_nonzero(_array(x), axis, keepdims=keepdims))


def diag_indices(n: int, ndim: int = 2) -> Any:
    """The indices of a diagonal."""
    return tuple(map(_tensor, np.diag_indices(n, ndim)))


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of the bins of a histogram."""
    return _tensor(np.histogram_bin_edges(_array(a), _bins(bins), range, _weights(weights)).astype(np.float32))


def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False) -> Any:
    """How many values are in each bin, and the edges."""
    counts, edges = np.histogram(_array(a), _bins(bins), range, density=density, weights=_weights(weights))
    return _tensor(counts.astype(np.float32)), _tensor(edges.astype(np.float32))


def histogramdd(sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False) -> Any:
    """How many points are in each cell, and the edges along each axis."""
    points = [_array(s) for s in sample] if isinstance(sample, (list, tuple)) else _array(sample)
    counts, edges = np.histogramdd(points, _bins(bins), range, density, _weights(weights))
    return _tensor(counts.astype(np.float32)), [_tensor(e.astype(np.float32)) for e in edges]


def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False) -> Any:
    """How many points are in each cell, and the edges along both axes."""
    counts, first, second = np.histogram2d(_array(x), _array(y), _bins(bins), range, density, _weights(weights))
    return tuple(_tensor(a.astype(np.float32)) for a in (counts, first, second))


def _bins(bins: Any) -> Any:
    return _array(bins) if isinstance(bins, Tensor) else bins


def _weights(weights: Any) -> Any:
    return None if weights is None else _array(weights)


def in1d(ar1: Any, ar2: Any, invert: bool = False) -> Any:
    """Which elements of the first array are in the second, in one axis."""
    return Tensor(np.isin(_array(ar1).ravel(), _array(ar2), invert=invert))


def isin(element: Any, test_elements: Any, invert: bool = False) -> Any:
    """Which elements of the first array are in the second."""
    return Tensor(np.isin(_array(element), _array(test_elements), invert=invert))


def indices(dimensions: Any, dtype: Any = np.int32, sparse: bool = False) -> Any:
    """The indices of a grid, a Tensor for each axis."""
    found = np.indices(dimensions, np.dtype(dtype), sparse=sparse)
    return (tuple if sparse else list)(map(Tensor, found))


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The elements that both arrays have, sorted."""
    found = np.intersect1d(_array(ar1), _array(ar2), assume_unique, return_indices)
    return tuple(map(_tensor, found)) if return_indices else _tensor(found)


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The elements of the first array that the second has not."""
    return _tensor(np.setdiff1d(_array(ar1), _array(ar2), assume_unique))


def ix_(*args: Any) -> Any:
    """Arrays that index a grid."""
    return tuple(map(_tensor, np.ix_(*map(_array, args))))


def matrix_power(a: Any, n: int) -> Any:
    """A matrix times itself."""
    return anp.linalg.matrix_power(a, n)


def multi_dot(arrays: Any) -> Any:
    """The product of several matrices, in the order that costs least."""
    return anp.linalg.multi_dot(arrays) if hasattr(anp.linalg, "multi_dot") else _product(list(arrays))


def _product(arrays: list[Any]) -> Any:
    found = arrays[0]
    for one in arrays[1:]:
        found = anp.dot(found, one)
    return found


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of a vector or matrix."""
    return anp.linalg.norm(x, ord, axis, keepdims)


def rand(*shape: Any, dtype: Any = np.float32) -> Any:
    """Uniform samples between 0 and 1."""
    return ops.cast(ops.rand(*_sizes(shape)), np.dtype(dtype))


def randn(*shape: Any, dtype: Any = np.float32) -> Any:
    """Samples of the standard normal distribution."""
    return ops.cast(ops.randn(*_sizes(shape)), np.dtype(dtype))


def _sizes(shape: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape


def randint(minval: int, maxval: int | None = None, shape: Any = None, dtype: Any = np.int32) -> Any:
    """Random integers from `minval` (or 0) to before `maxval`."""
    low, high = (0, minval) if maxval is None else (minval, maxval)
    sizes = () if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    return ops.cast(ops.randint(low, high, sizes), np.dtype(dtype))


def ravel_multi_index(x: Any, dims: Any, mode: str = "clip", order: str = "C") -> Any:
    """Indices of several axes as one."""
    found = np.ravel_multi_index(tuple(_array(one) for one in x), tuple(dims), mode, order)
    return Tensor(np.asarray(found, np.float32))


def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """An index as indices of several axes."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    clipped = np.clip(_array(indices), -int(np.prod(sizes)), int(np.prod(sizes)) - 1)
    return tuple(_tensor(i) for i in np.unravel_index(clipped % int(np.prod(sizes)), sizes, order))


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """A Tensor in parts."""
    return tuple(anp.split(x, indices_or_sections, axis))


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """A Tensor in parts, which may differ in length."""
    return tuple(anp.array_split(x, indices_or_sections, axis))


def hsplit(x: Any, indices_or_sections: Any) -> Any:
    """A Tensor in parts along its second axis."""
    return tuple(anp.split(x, indices_or_sections, 1 if x.ndim > 1 else 0))


def vsplit(x: Any, indices_or_sections: Any) -> Any:
    """A Tensor in parts along its first axis."""
    return tuple(anp.split(x, indices_or_sections, 0))


def dsplit(x: Any, indices_or_sections: Any) -> Any:
    """A Tensor in parts along its third axis."""
    return tuple(anp.split(x, indices_or_sections, 2))


def meshgrid(*xi: Any, sparse: bool = False, indexing: str = "xy") -> Any:
    """Coordinates of a grid, a Tensor for each axis."""
    return list(anp.meshgrid(*xi, sparse=sparse, indexing=indexing))


def sometrue(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether any element is true."""
    return ops.any(a if isinstance(a, Tensor) else Tensor(np.asarray(a)), axis, keepdims)


def trapz(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """The integral by trapezia."""
    return anp.trapezoid(y, x, dx, axis) if hasattr(anp, "trapezoid") else _trapezia(y, x, dx, axis)


def _trapezia(y: Any, x: Any, dx: float, axis: int) -> Any:
    values = anp.moveaxis(anp.asarray(y), axis, -1)
    width = dx if x is None else anp.diff(anp.asarray(x))
    return anp.sum((values[..., 1:] + values[..., :-1]) / 2.0 * width, -1)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> Any:
    """The indices of a lower triangle."""
    return tuple(map(_tensor, np.tril_indices(n, k, m)))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> Any:
    """The indices of an upper triangle."""
    return tuple(map(_tensor, np.triu_indices(n, k, m)))


def tril_indices_from(arr: Any, k: int = 0) -> Any:
    """The indices of the lower triangle of a matrix."""
    return tril_indices(arr.shape[0], k, arr.shape[1])


def triu_indices_from(arr: Any, k: int = 0) -> Any:
    """The indices of the upper triangle of a matrix."""
    return triu_indices(arr.shape[0], k, arr.shape[1])


class _Grid:
    """`mgrid[0:3, 0:2]`: coordinates of a grid, as Tensors."""

    def __init__(self, made: Any) -> None:
        self._made = made

    def __getitem__(self, key: Any) -> Any:
        found = self._made[key]
        return list(map(_tensor, found)) if isinstance(found, (tuple, list)) else _tensor(found)


max, min = amax, amin
mgrid, ogrid = _Grid(np.mgrid), _Grid(np.ogrid)

__all__ = [
    name for name, x in list(vars().items()) if not name.startswith("_") and getattr(x, "__module__", "") == __name__
]
__all__ += ["max", "mgrid", "min", "ogrid"]
