"""Tensors from nothing: zeros, ones, ranges, identity."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.dispatch import Value, beside, new, wrap
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.placement import device_of, in_graph
from adjoint.core.spec import Spec, dtype_of, float32, float64, promote, shape_of, spec_of
from adjoint.core.tensor import Tensor
from adjoint.ops.language import broadcast_to, cast, equal, reshape, where
from adjoint.ops.publish import public


def _size(size: Any) -> tuple[int, ...]:
    one = isinstance(size, (int, np.integer)) or (isinstance(size, Value) and not size.shape)
    return (int(size),) if one else tuple(int(n) for n in size)


def zeros(size: Any, dtype: Any = None) -> Tensor:
    """Zeros; float32 unless told otherwise.

    >>> from adjoint import ops
    >>> print(ops.zeros((2, 2)))
    [[0. 0.]
     [0. 0.]]
    """
    return new(np.zeros(_size(size), dtype or float32))


def ones(size: Any, dtype: Any = None) -> Tensor:
    """Ones; float32 unless told otherwise.

    >>> from adjoint import ops
    >>> print(ops.ones(3))
    [1. 1. 1.]
    """
    return new(np.ones(_size(size), dtype or float32))


def full(size: Any, fill_value: Any, dtype: Any = None) -> Any:
    """One value everywhere; differentiable in it.

    >>> from adjoint import ops
    >>> print(ops.full((2,), 7.0))
    [7. 7.]
    """
    value = Tensor(fill_value, dtype) if not isinstance(fill_value, Value) or dtype is not None else fill_value
    return broadcast_to(value, _size(size))


def zeros_like(input: Any, dtype: Any = None) -> Tensor:
    """Zeros of the same shape and dtype.

    >>> from adjoint import ops, Tensor
    >>> print(ops.zeros_like(Tensor([1, 2])))
    [0 0]
    """
    return wrap(beside(np.zeros(shape_of(input), dtype or dtype_of(input)), input))


def ones_like(input: Any, dtype: Any = None) -> Tensor:
    """Ones of the same shape and dtype.

    >>> from adjoint import ops, Tensor
    >>> print(ops.ones_like(Tensor([1.0, 2.0])))
    [1. 1.]
    """
    return wrap(beside(np.ones(shape_of(input), dtype or dtype_of(input)), input))


def zeros_beside(x: Any, shape: tuple[int, ...], dtype: Any = None) -> Any:
    """Zeros of another shape, in the dtype and on the device of x unless told otherwise."""
    return wrap(beside(np.zeros(shape, dtype or dtype_of(x)), x))


def full_like(input: Any, fill_value: Any, dtype: Any = None) -> Any:
    """One value everywhere, in the shape and dtype of the input.

    >>> from adjoint import ops, Tensor
    >>> print(ops.full_like(Tensor([1.0, 2.0]), 5))
    [5. 5.]
    """
    value = cast(fill_value, dtype or dtype_of(input)) if isinstance(fill_value, Value) else fill_value
    if (device := device_of(input)) != device_of(value) and not in_graph(input):
        kind = dtype or dtype_of(input)
        value = Tensor(value, kind, device=device) if isinstance(value, Value) else _number_beside(value, kind, input)
    return full(shape_of(input), value, dtype or dtype_of(input))


def _number_beside(value: Any, dtype: Any, other: Any) -> Any:
    return wrap(beside(np.asarray(value, dtype), other))


def arange(start: Any = 0, end: Any = None, step: Any = 1, dtype: Any = None) -> Tensor:
    """Numbers from `start` up to, without, `end`. Integers give int64, others float32.

    >>> from adjoint import ops
    >>> print(ops.arange(3), ops.arange(0, 1, 0.5))
    [0 1 2] [0.  0.5]
    """
    start, end = (0, start) if end is None else (start, end)
    if not isinstance(step, Value) and step == 0:
        raise ArgumentError(f"arange: a step of 0 leads nowhere{called_at()}")
    numbers = np.arange(*(v.item() if isinstance(v, Value) else v for v in (start, end, step)))
    return new(numbers.astype(dtype or (np.int64 if numbers.dtype.kind in "iu" else float32)))


def linspace(start: Any, end: Any, steps: int, dtype: Any = None) -> Any:
    """`steps` numbers at equal distances, both ends included; differentiable in the ends.

    >>> from adjoint import ops
    >>> print(ops.linspace(0.0, 1.0, 5))
    [0.   0.25 0.5  0.75 1.  ]
    """
    if steps < 1:
        raise ArgumentError(f"linspace: steps={steps}; it must be at least 1{called_at()}")
    if isinstance(start, (int, float)) and isinstance(end, (int, float)):
        return new(np.linspace(start, end, steps, dtype=dtype or float32))
    part = np.linspace(0.0, 1.0, steps)
    line = start * (1.0 - part) + end * part
    ends = [spec_of(v) for v in (start, end)]
    return cast(line, dtype or promote([*ends, Spec((), float64, weak=True)]))


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, dtype: Any = None) -> Any:
    """`base` to the power of equally spaced numbers.

    >>> from adjoint import ops
    >>> print(ops.logspace(0.0, 2.0, 3))
    [  1.  10. 100.]
    """
    return base ** linspace(start, end, steps, dtype)


def eye(n: int, m: int | None = None, dtype: Any = None) -> Tensor:
    """Ones on the diagonal, zeros elsewhere.

    >>> from adjoint import ops
    >>> print(ops.eye(2))
    [[1. 0.]
     [0. 1.]]
    """
    return new(np.eye(n, m, dtype=dtype or float32))


@public(method=True)
def one_hot(
    indices: Any, depth: int, on_value: Any = 1.0, off_value: Any = 0.0, axis: int = -1, dtype: Any = None
) -> Any:
    """A new axis of size `depth` that holds `on_value` at the index, `off_value` elsewhere.

    >>> from adjoint import ops, Tensor
    >>> print(ops.one_hot(Tensor([0, 2]), 3))
    [[1. 0. 0.]
     [0. 0. 1.]]
    """
    n = len(shape_of(indices))
    if not -n - 1 <= axis <= n:
        raise ArgumentError(f"one_hot: axis {axis} for indices of {n} axes{called_at()}")
    place = axis % (n + 1)
    column = reshape(indices, (*shape_of(indices)[:place], 1, *shape_of(indices)[place:]))
    classes = np.arange(depth).reshape((-1,) + (1,) * (n - place))
    hit = equal(column, classes)
    chosen = where(hit, on_value, off_value)
    plain = isinstance(on_value, (bool, int, float)) and isinstance(off_value, (bool, int, float))
    return cast(chosen, dtype or (float32 if plain else dtype_of(chosen)))


def tril_indices(row: int, col: int, offset: int = 0) -> Tensor:
    """Row and column positions of the lower triangle.

    >>> from adjoint import ops
    >>> print(ops.tril_indices(2, 2))
    [[0 1 1]
     [0 0 1]]
    """
    return new(np.stack(np.tril_indices(row, offset, col)))


def triu_indices(row: int, col: int, offset: int = 0) -> Tensor:
    """Row and column positions of the upper triangle.

    >>> from adjoint import ops
    >>> print(ops.triu_indices(2, 2))
    [[0 0 1]
     [0 1 1]]
    """
    return new(np.stack(np.triu_indices(row, offset, col)))


def ones_like_shape(x: Any, shape: tuple[int, ...]) -> Any:
    """Plain ones of another shape, in the dtype of x.

    >>> from adjoint import ops, Tensor
    >>> ops.ones_like_shape(Tensor([1.0]), (2,))
    array([1., 1.], dtype=float32)
    """
    return np.ones(shape, dtype_of(x))
