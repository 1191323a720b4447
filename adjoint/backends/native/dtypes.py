"""The dtypes that compiled code holds, and those in which it computes."""

from __future__ import annotations

import numpy as np

from adjoint.core.spec import is_half

#: What LLVM calls an element in memory, by the names of the dtypes in which code computes.
COMPUTED = {"float32": "float", "float64": "double", "int64": "i64", "int32": "i32", "bool": "i8"}
#: Of all that it holds: half precision is bits, which are converted before anything is computed.
MEMORY_TYPES = {**COMPUTED, "float16": "i16", "bfloat16": "i16"}
_COMPUTED = frozenset(map(np.dtype, COMPUTED))


def is_computed(dtype: np.dtype) -> bool:
    """Whether compiled code computes in this dtype."""
    return dtype in _COMPUTED  # asked very often, and a dtype's name is slow to get


def is_known(dtype: np.dtype) -> bool:
    """Whether compiled code can hold this dtype."""
    return dtype in _COMPUTED or is_half(dtype)
