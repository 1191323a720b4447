"""The dtypes that compiled code holds."""

from __future__ import annotations

import numpy as np

#: What LLVM calls an element in memory.
MEMORY_TYPES = {"float32": "float", "float64": "double", "int64": "i64", "int32": "i32", "bool": "i8"}
_KNOWN = frozenset(map(np.dtype, MEMORY_TYPES))


def is_known(dtype: np.dtype) -> bool:
    """Whether compiled code can hold this dtype."""
    return dtype in _KNOWN  # asked very often, and a dtype's name is slow to get
