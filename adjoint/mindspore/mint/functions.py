"""Functions of mindspore.mint whose arguments differ from those of mindspore.ops: `dim` and `keepdim`, as in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import ops as engine
from adjoint.core.tensor import Tensor
from adjoint.mindspore import ops


def _cast(x: Any, dtype: Any) -> Any:
    return x if dtype is None else engine.cast(x, np.dtype(dtype))


def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`input + alpha * other`."""
    return ops.add(input, other if alpha == 1 else ops.mul(other, alpha))


def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`input - alpha * other`."""
    return ops.sub(input, other if alpha == 1 else ops.mul(other, alpha))


def addr_(input: Any, vec1: Any, vec2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * outer(vec1, vec2)`, written to the input."""
    input[...] = beta * input + alpha * ops.outer(vec1, vec2)
    return input


# ---------------------------------------------------------------- reductions


def all(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether all elements are true."""
    return ops.all(input, dim, keepdim)


def any(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether any element is true."""
    return ops.any(input, dim, keepdim)


def amax(input: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The largest elements; ties share the gradient."""
    return ops.amax(input, None if dim == () else dim, keepdim)


def amin(input: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The smallest elements; ties share the gradient."""
    return ops.amin(input, None if dim == () else dim, keepdim)


def argmin(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Where the smallest elements are."""
    return ops.argmin(input, dim, keepdim)


def max(input: Any, *args: Any, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
    """The largest element; with `dim` those along it and where they are; with another Tensor the larger of both."""
    return _extreme(input, args, dim, keepdim, other, ops.maximum, ops.max, ops.amax)


def min(input: Any, *args: Any, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
    """The smallest element; with `dim` those along it and where they are; with another Tensor the smaller of both."""
    return _extreme(input, args, dim, keepdim, other, ops.minimum, ops.min, ops.amin)


def _extreme(input: Any, args: Any, dim: Any, keepdim: bool, other: Any, pair: Any, along: Any, whole: Any) -> Any:
    if other is not None or (args and isinstance(args[0], Tensor)):
        return pair(input, args[0] if other is None else other)
    if args:
        dim, keepdim = args[0], args[1] if len(args) > 1 else keepdim
    return whole(input) if dim is None else along(input, dim, keepdim)


def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean."""
    return ops.mean(_cast(input, dtype), dim, keepdim)


def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum; small integers and bools are added up as int64."""
    wide = np.int64 if dtype is None and input.dtype.kind in "biu" else dtype
    return engine.sum(_cast(input, wide), None if dim == () else dim, keepdims=keepdim)


def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The product; small integers and bools are multiplied as int64."""
    wide = np.int64 if dtype is None and input.dtype.kind in "biu" else dtype
    return ops.prod(_cast(input, wide), dim, keepdim)


def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum of what is a number."""
    return ops.nansum(_cast(input, dtype), dim, keepdim)


def count_nonzero(input: Any, dim: Any = None) -> Any:
    """How many elements are not zero."""
    return engine.cast(ops.count_nonzero(input, () if dim is None else dim), np.int64)


def median(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The middle element; with `dim` those along it and where they are."""
    if dim is None:
        return ops.median(ops.reshape(input, (-1,)), 0)[0]
    return ops.median(input, dim, keepdim)


def var(input: Any, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Any:
    """The variance."""
    return ops.var(input, dim, correction, keepdim)


def std(input: Any, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Any:
    """The standard deviation."""
    return ops.std(input, dim, correction, keepdim)


def var_mean(input: Any, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Any:
    """The variance and the mean."""
    return var(input, dim, correction=correction, keepdim=keepdim), mean(input, dim, keepdim)


def std_mean(input: Any, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Any:
    """The standard deviation and the mean."""
    return std(input, dim, correction=correction, keepdim=keepdim), mean(input, dim, keepdim)


def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of vectors or matrices."""
    input = _cast(input, dtype)
    if p == "fro" or dim is None or isinstance(dim, int):
        order = 2 if p in ("fro", None) else p
        axes = None if dim is None else dim
        return _vector_norm(input, order, axes, keepdim)
    if p == "nuc":
        return ops.norm(input, p, dim, keepdim)
    return _vector_norm(input, p, dim, keepdim)


def _vector_norm(x: Any, p: Any, axes: Any, keepdim: bool) -> Any:
    size = engine.abs(x)
    if p == float("inf"):
        return engine.amax(size, axes, keepdim)
    if p == float("-inf"):
        return engine.amin(size, axes, keepdim)
    if p == 0:
        return engine.sum(engine.cast(x != 0, x.dtype), axes, keepdims=keepdim)
    if p == 2:
        return engine.sqrt(engine.sum(x * x, axes, keepdims=keepdim))
    return engine.sum(size**p, axes, keepdims=keepdim) ** (1.0 / p)


def allclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close."""
    return bool(np.allclose(input.asnumpy(), other.asnumpy(), rtol, atol, equal_nan))


# ---------------------------------------------------------------- along an axis


def argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The order that sorts."""
    return sort(input, dim=dim, descending=descending, stable=stable)[1]


def sort(input: Any, *, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """Sorted values, and where they were."""
    values, places = ops.sort(input, dim, descending)
    return values, engine.cast(places, np.int64)


def cat(tensors: Any, dim: int = 0) -> Any:
    """Tensors one behind another."""
    return ops.cat(tensors, dim)


def concat(tensors: Any, dim: int = 0) -> Any:
    """Tensors one behind another."""
    return ops.cat(tensors, dim)


def stack(tensors: Any, dim: int = 0) -> Any:
    """Tensors along a new axis."""
    return ops.stack(tensors, dim)


def chunk(input: Any, chunks: int, dim: int = 0) -> Any:
    """A Tensor in so many parts."""
    return ops.chunk(input, chunks, dim)


def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    """A Tensor in parts of a size, or of several."""
    return ops.split(tensor, split_size_or_sections, dim)


def cummax(input: Any, dim: int) -> Any:
    """The largest so far, and where it is."""
    values, places = ops.cummax(input, dim)
    return values, engine.cast(places, np.int64)


def cummin(input: Any, dim: int) -> Any:
    """The smallest so far, and where it is."""
    values, places = ops.cummin(input, dim)
    return values, engine.cast(places, np.int64)


def cumsum(input: Any, dim: int, dtype: Any = None) -> Any:
    """Running sums."""
    wide = np.int64 if dtype is None and input.dtype.kind in "biu" else dtype
    return engine.cumsum(_cast(input, wide), dim)


def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours."""
    return ops.diff(input, n, dim, prepend, append)


def diag(input: Any, diagonal: int = 0) -> Any:
    """A matrix with this diagonal, or the diagonal of a matrix."""
    return engine.diag(input, diagonal)


def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Several axes as one."""
    if input.ndim == 0:
        return ops.reshape(input, (1,))
    first, last = start_dim % input.ndim, end_dim % input.ndim
    return ops.reshape(input, (*input.shape[:first], -1, *input.shape[last + 1 :]))


def gather(input: Any, dim: int, index: Any) -> Any:
    """Elements along an axis, by an index of the result's shape."""
    return ops.gather_elements(input, dim, index)


def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """Slices added at indices along an axis."""
    return ops.index_add(input, index, source if alpha == 1 else source * alpha, dim)


def index_select(input: Any, dim: int, index: Any) -> Any:
    """Slices at indices along an axis."""
    return ops.index_select(input, dim, index)


def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest along an axis, and where it is."""
    values, places = sort(input, dim=dim)
    found = tuple(index_select(x, dim, Tensor([k - 1])) for x in (values, places))
    return found if keepdim else tuple(ops.squeeze(x, dim) for x in found)


def narrow(input: Any, dim: int, start: int, length: int) -> Any:
    """A part along an axis."""
    return ops.narrow(input, dim, start, length)


def permute(input: Any, dims: Any) -> Any:
    """The axes in another order."""
    return ops.permute(input, tuple(dims))


def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Two axes exchanged."""
    return engine.swapaxes(input, dim0, dim1)


def repeat_interleave(input: Any, repeats: Any, dim: Any = None, *, output_size: Any = None) -> Any:
    """Each element so often, one behind another."""
    return ops.repeat_interleave(input, repeats, dim)


def scatter(input: Any, dim: int, index: Any, src: Any) -> Any:
    """Elements put at indices along an axis."""
    values = src if isinstance(src, Tensor) else engine.full(index.shape, src, input.dtype)
    return ops.scatter(input, dim, index, values)


def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Any:
    """Elements added at indices along an axis."""
    return ops.tensor_scatter_elements(input, index, src, dim, "add")


def select(input: Any, dim: int, index: int) -> Any:
    """The slice at an index along an axis."""
    return input[(slice(None),) * (dim % input.ndim) + (index,)]


def softmax(input: Any, dim: Any, *, dtype: Any = None) -> Any:
    """Exponentials by their sum along an axis."""
    return ops.softmax(_cast(input, dtype), dim)


def squeeze(input: Any, dim: Any = None) -> Any:
    """Without axes of length 1."""
    if dim is None:
        return engine.squeeze(input)
    wanted = [d % input.ndim for d in (dim if isinstance(dim, (tuple, list)) else (dim,))]
    axes = tuple(d for d in wanted if input.shape[d] == 1)
    return engine.squeeze(input, axes) if axes else input


def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest along an axis, and where they are."""
    values, places = ops.topk(input, k, dim, largest, sorted)
    return values, engine.cast(places, np.int64)


def reshape(input: Any, *shape: Any) -> Any:
    """The same elements in another shape."""
    return ops.reshape(input, tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape)


__all__ = [
    name for name, x in list(vars().items()) if not name.startswith("_") and getattr(x, "__module__", "") == __name__
]
