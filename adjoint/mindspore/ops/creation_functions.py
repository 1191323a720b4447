"""Functions that make Tensors, and that say what a Tensor is."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from adjoint import ops as _ops
from adjoint.core.errors import ArgumentTypeError
from adjoint.core.spec import float32, int32, int64, is_complex, is_inexact
from adjoint.core.tensor import Tensor
from adjoint.mindspore.common import types
from adjoint.mindspore.ops.promotion import listed, sizes, static, tensor, to_dtype


def ones(shape: Any, dtype: Any = None) -> Any:
    """A Tensor of ones."""
    return _ops.ones(sizes(shape), dtype)


def _checked(what: str, size: Any) -> tuple[int, ...]:
    """A shape, of integers."""
    found = sizes(size)
    if not builtins.all(isinstance(n, (int, np.integer)) for n in found):
        raise ArgumentTypeError(f"{what}: the size must be an int or a tuple of ints, not {size!r}")
    return found


def zeros(size: Any, dtype: Any = None) -> Any:
    """A Tensor of zeros."""
    return _ops.zeros(_checked("zeros", size), dtype)


def full(size: Any, fill_value: Any, *, dtype: Any = None) -> Any:
    """A Tensor of one value."""
    if isinstance(fill_value, (list, tuple)):
        raise ArgumentTypeError(f"full: fill_value must be a number, not {fill_value!r}")
    value = tensor(fill_value)
    return to_dtype(_ops.full(sizes(size), value), dtype if dtype is not None else value.dtype)


def fill(type: Any, shape: Any, value: Any) -> Any:
    """A Tensor of one value, of a dtype.

    >>> print(fill("float32", (2,), 3))
    [3. 3.]
    """
    x = tensor(value)
    return _ops.broadcast_to(to_dtype(x, x.dtype if type is None else type), sizes(shape))


def fills(x: Any, value: Any) -> Any:
    """A Tensor of the shape and dtype of another, of one value."""
    return fill(tensor(x).dtype, tensor(x).shape, value)


def ones_like(input: Any, *, dtype: Any = None) -> Any:
    """Ones, of the shape of another Tensor."""
    if isinstance(input, (list, tuple)):
        return type(input)(ones_like(x, dtype=dtype) for x in input)
    return _ops.ones_like(tensor(input), dtype)


def zeros_like(input: Any, *, dtype: Any = None) -> Any:
    """Zeros, of the shape of another Tensor; of each Tensor in a tuple or list."""
    if isinstance(input, (list, tuple)):
        return type(input)(zeros_like(x, dtype=dtype) for x in input)
    return _ops.zeros_like(tensor(input), dtype)


def full_like(input: Any, fill_value: Any, *, dtype: Any = None) -> Any:
    """One value, of the shape of another Tensor."""
    x = tensor(input)
    return _ops.full_like(x, fill_value, dtype if dtype is not None else x.dtype)


def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None) -> Any:
    """Numbers from start up to end, which is left out, in equal steps."""
    ends = [static(v) for v in (start, end, step)]
    if dtype is None:
        kinds = [v.dtype for v in (start, end, step) if isinstance(v, Tensor)]
        floats = builtins.any(isinstance(v, float) for v in ends)
        dtype = next((d for d in kinds if is_inexact(d)), float32 if floats else int64)
    first, last = (0, ends[0]) if ends[1] is None else ends[:2]
    if ends[2] != 0 and (last - first) * ends[2] < 0:
        raise ValueError(f"arange: steps of {ends[2]} do not lead from {first} to {last}")
    return _ops.arange(ends[0], ends[1], ends[2], dtype)


def range(start: Any, end: Any, step: Any, maxlen: int = 1000000) -> Any:
    """Numbers from start up to end, which is left out, in equal steps."""
    return arange(start, end, step)


def linspace(start: Any, end: Any, steps: Any) -> Any:
    """Numbers from start to end at equal distances."""
    ends = [v if isinstance(v, Tensor) and is_inexact(v.dtype) else _ops.cast(tensor(v), float32) for v in (start, end)]
    return _ops.linspace(ends[0], ends[1], int(static(steps)))


def logspace(start: Any, end: Any, steps: int, base: float = 10, *, dtype: Any = float32) -> Any:
    """Powers of a base, with exponents from start to end at equal distances."""
    return to_dtype(_ops.pow(float(base), linspace(start, end, steps)), dtype)


def eye(n: Any, m: Any = None, dtype: Any = None) -> Any:
    """Ones on the diagonal, zeros elsewhere."""
    return _ops.eye(static(n), static(m), dtype)


def one_hot(indices: Any, depth: Any, on_value: Any = 1, off_value: Any = 0, axis: int = -1) -> Any:
    """A new axis of size depth that holds on_value at the index, off_value elsewhere."""
    on, off, places = tensor(on_value), tensor(off_value), tensor(indices)
    if places.dtype.kind not in "iu":
        raise TypeError(f"For 'OneHot', the indices must be integers, but got {places.dtype}.")
    if int(static(depth)) < 0:
        raise ValueError(f"For 'OneHot', the depth must be 0 or above, but got {depth}.")
    return _ops.one_hot(places, int(static(depth)), on, to_dtype(off, on.dtype), axis)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = int64) -> Any:
    """Where the lower triangle of a matrix is."""
    return to_dtype(_ops.tril_indices(row, col, offset), dtype)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = int64) -> Any:
    """Where the upper triangle of a matrix is."""
    return to_dtype(_ops.triu_indices(row, col, offset), dtype)


def scalar_to_tensor(input_x: Any, dtype: Any = float32) -> Any:
    """A number as a Tensor."""
    return to_dtype(tensor(input_x), dtype)


def scalar_to_array(input_x: Any) -> Any:
    """A number as a Tensor."""
    return tensor(input_x)


def tuple_to_array(input_x: Any) -> Any:
    """A tuple of numbers as a Tensor."""
    found = _ops.stack([tensor(v) for v in input_x])
    return to_dtype(found, float32 if found.dtype.kind == "f" else int32)


def scalar_cast(input_x: Any, input_y: Any) -> Any:
    """A number of another kind."""
    kind = np.dtype(input_y).kind
    return {"f": float, "i": int, "u": int, "b": bool}[kind](input_x)


def eps(x: Any) -> Any:
    """The smallest step of the dtype at 1, for each element."""
    return _ops.full_like(x, float(np.finfo(x.dtype).eps))


# ---------------------------------------------------------------- what a Tensor is


def shape(input_x: Any) -> tuple[int, ...]:
    """The size of each axis."""
    return tuple(tensor(input_x).shape)


shape_ = shape


def dyn_shape(input_x: Any) -> Any:
    """The size of each axis, as a Tensor."""
    return Tensor(np.array(input_x.shape, np.int64))


def rank(input_x: Any) -> int:
    """The number of axes."""
    return tensor(input_x).ndim


def size(input_x: Any) -> int:
    """The number of elements."""
    return tensor(input_x).size


numel = size


def dtype(x: Any) -> Any:
    """The dtype of the elements."""
    return types.of(tensor(x).dtype)


typeof = dtype


def is_tensor(obj: Any) -> bool:
    """Whether it is a Tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Any) -> bool:
    """Whether its elements are floats."""
    return is_inexact(input.dtype) and not is_complex(input)


def is_nonzero(input: Any) -> bool:
    """Whether its only element is not zero."""
    return bool(_ops.not_equal(_ops.reshape(input, ()), 0))


def identity(x: Any) -> Any:
    """The input."""
    return x


def cast(input: Any, dtype: Any) -> Any:
    """The elements in another dtype."""
    return _ops.cast(tensor(input), dtype)


def type_as(input: Any, other: Any) -> Any:
    """The elements in the dtype of another Tensor."""
    return _ops.cast(input, other.dtype)


def deepcopy(input_x: Any) -> Any:
    """A Tensor of its own with the same value."""
    return tensor(input_x).copy()


__all__ = listed({**globals(), "is_complex": None})
