"""Functions whose signature in the array API standard is not NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from adjoint import numpy as np
from adjoint.core import exchange
from adjoint.ops import functional as _f
from adjoint.ops.numpylike.common import cast
from adjoint.ops.numpylike.selection import (
    unique_all as unique_all,
)
from adjoint.ops.numpylike.selection import (
    unique_counts as unique_counts,
)
from adjoint.ops.numpylike.selection import (
    unique_inverse as unique_inverse,
)
from adjoint.ops.numpylike.selection import (
    unique_values as unique_values,
)


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
    """The object as a Tensor; one that is a Tensor stays itself, unless a copy is asked for."""
    return np.asarray(obj, dtype, device=device, copy=copy)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """As adjoint.from_dlpack."""
    return exchange.from_dlpack(x, device=device, copy=copy)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """The elements in another dtype."""
    y = np.astype(x, dtype, copy=copy)
    return y if device is None else y.to(device)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Each element, but not below `min` nor above `max`."""
    return np.clip(x, min, max)


def round(x: Any, /) -> Any:
    """The nearest integer, of two the even one."""
    return np.round(x)


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """The slices at these positions along an axis."""
    return np.take(x, indices, axis)


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Any:
    """Each element or slice several times."""
    return np.repeat(x, repeats, axis)


def tile(x: Any, repetitions: tuple[int, ...], /) -> Any:
    """The array several times along each axis."""
    return np.tile(x, repetitions)


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """Where elements would have to stand in a sorted array."""
    return np.searchsorted(x1, x2, side, sorter)


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """How many elements are not zero."""
    return np.count_nonzero(x, axis, keepdims=keepdims)


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:  # noqa: ARG001
    """The elements in order along an axis; equal ones keep theirs, `stable` or not."""
    return _f.sort(np.asarray(x), axis, descending)[0]


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:  # noqa: ARG001
    """The positions that sort the elements; equal ones keep their order, `stable` or not."""
    return _f.argsort(np.asarray(x), axis, descending)


def _summed(x: Any, dtype: Any) -> Any:
    """The array in the dtype of its sum: integers are added up in 64 bits at least."""
    if dtype is not None:
        return cast(x, dtype)
    return x if x.dtype.kind not in "biu" else cast(x, _numpy.uint64 if x.dtype.kind == "u" else _numpy.int64)


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum."""
    return np.sum(_summed(x, dtype), axis, keepdims=keepdims)


def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The product."""
    return np.prod(_summed(x, dtype), axis, keepdims=keepdims)


def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """The running sum along an axis."""
    return np.cumulative_sum(_summed(x, dtype), axis=axis, include_initial=include_initial)


def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """The running product along an axis."""
    return np.cumulative_prod(_summed(x, dtype), axis=axis, include_initial=include_initial)


def max(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest element."""
    return np.max(x, axis, keepdims=keepdims)


def min(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The smallest element."""
    return np.min(x, axis, keepdims=keepdims)


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean."""
    return np.mean(x, axis, keepdims=keepdims)


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The standard deviation."""
    return np.std(x, axis, ddof=correction, keepdims=keepdims)


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The variance."""
    return np.var(x, axis, ddof=correction, keepdims=keepdims)


def all(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether all elements are true."""
    return np.all(x, axis, keepdims=keepdims)


def any(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether an element is true."""
    return np.any(x, axis, keepdims=keepdims)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbours, n times."""
    around = {k: v for k, v in (("prepend", prepend), ("append", append)) if v is not None}
    return np.diff(x, n, axis, **around)
