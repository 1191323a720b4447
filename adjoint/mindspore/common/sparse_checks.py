"""What sparse matrices ask of their parts, with the errors that MindSpore raises."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from adjoint.core.tensor import Tensor

_INDICES = (np.dtype("int16"), np.dtype("int32"), np.dtype("int64"))


def check_copied(what: str, given: Any, kind: type, others: tuple[Any, ...]) -> None:
    """Another one is copied: nothing else may be given."""
    if not isinstance(given, kind):
        raise TypeError(f"Expect input `{what}` to be a {kind.__name__}, but got {type(given)}")
    if any(x is not None for x in others):
        raise TypeError(f"If input `{what}` is provided, the other inputs should all be `None`")


def _check_kinds(shape: Any, **tensors: Any) -> None:
    for name, x in tensors.items():
        if not isinstance(x, Tensor):
            raise TypeError(f"For SparseTensors, '{name}' must be Tensor, but got {type(x)}.")
    if not isinstance(shape, tuple):
        raise TypeError(f"For SparseTensors, 'shape' must be tuple, but got {type(shape)}.")


def _check_sizes(kind: str, shape: tuple[Any, ...], count: int) -> None:
    for size in shape:
        if not isinstance(size, int):
            raise TypeError(f"For {kind}, the element type of 'shape' must be int, but got {type(size)}")
        if size <= 0:
            raise ValueError(f"For {kind}, the element of 'shape' must be positive, but got {size} in {shape}.")
    if prod(shape) < count:
        raise ValueError(f"For {kind}, shape is too small: ({prod(shape)}) to hold all values({count}).")


def check_coo(indices: Any, values: Any, shape: Any) -> None:
    """The parts of a COOTensor fit together."""
    _check_kinds(shape, indices=indices, values=values)
    if len(shape) != 2:
        raise ValueError(f"For COOTensor, the length of 'shape' must be 2, but got {shape}.")
    if indices.shape != (0,) or values.shape != (0,):
        _check_sizes("COOTensor", shape, values.shape[0] if values.shape else 1)
        if len(indices.shape) != 2 or len(values.shape) != 1:
            raise ValueError("For COOTensor, 'indices' must be a 2-dimensional tensor, 'values' a 1-dimensional one.")
        if indices.shape[0] != values.shape[0] or indices.shape[1] != 2:
            raise ValueError(
                f"For COOTensor, 'indices' must be of shape ({values.shape[0]}, 2), but got {indices.shape}."
            )
    if indices.dtype not in _INDICES:
        raise TypeError(f"For COOTensor, 'indices' must be int16, int32 or int64, but got {indices.dtype}.")


def check_csr(indptr: Any, indices: Any, values: Any, shape: Any) -> None:
    """The parts of a CSRTensor fit together."""
    _check_kinds(shape, indptr=indptr, indices=indices, values=values)
    if len(shape) < 1:
        raise ValueError(f"For CSRTensor, the length of 'shape' must be 1 or more, but got {shape}.")
    if len(indptr.shape) != 1 or len(indices.shape) != 1:
        raise ValueError("For CSRTensor, 'indptr' and 'indices' must be 1-dimensional tensors.")
    _check_sizes("CSRTensor", shape, values.shape[0] if values.shape else 1)
    if indptr.shape[0] != shape[0] + 1:
        raise ValueError(f"For CSRTensor, indptr must have length (1 + shape[0]), but got: {indptr.shape[0]}")
    if indices.shape[0] != values.shape[0]:
        raise ValueError("For CSRTensor, 'indices' and 'values' must have the same length.")
    if len(values.shape) + 1 != len(shape) or values.shape[1:] != shape[2:]:
        raise ValueError(f"For CSRTensor, values of shape {values.shape} do not fit the shape {shape}.")
    for name, x in (("indptr", indptr), ("indices", indices)):
        if x.dtype not in _INDICES:
            raise TypeError(f"For CSRTensor, {name} must have int16 or int32 or int64 data type, but got {x.dtype}.")
