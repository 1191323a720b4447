"""A Tensor as text, whether its values are known or not."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.dispatch import has_ended
from adjoint.core.errors import AdjointError


def with_values(array: np.ndarray) -> str:
    """A Tensor that holds this array."""
    style: Any = {"float_kind": lambda v: f"{v: .8e}"}
    body = np.array2string(array, separator=", ", formatter=style if array.dtype.kind == "f" else None)
    body = str(array) if array.ndim == 0 else body
    gap = "\n" if array.ndim > 1 else " "
    return f"Tensor(shape={list(array.shape)}, dtype={dtype_name(array.dtype)}, value={gap}{body})"


def without_values(x: Any, error: AdjointError) -> str:
    """A Tensor whose values cannot be shown."""
    over = ", of a transform that has ended" if has_ended(x) else ""
    try:
        return f"Tensor(shape={list(x.shape)}, dtype={dtype_name(x.dtype)}, value=?{over})"
    except AdjointError:  # it has not even a shape
        return f"Tensor(<{str(error).splitlines()[0].split(': ')[0]}>)"


def dtype_name(dtype: np.dtype) -> str:
    """A dtype as texts of Tensors name it."""
    name = dtype.name
    return {"bfloat16": "BFloat16", "uint8": "UInt8"}.get(name) or name[0].upper() + name[1:]
