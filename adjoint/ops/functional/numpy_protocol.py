"""What `np.sin(x)` and `np.sum(x, 0)` mean for a Tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.verbs import verbs
from adjoint.ops.functional import elementwise

UFUNCS = {
    getattr(np, name): getattr(elementwise, name)
    for name in (
        "add subtract multiply divide true_divide floor_divide power mod remainder fmod negative absolute sign "
        "exp expm1 exp2 log log1p log2 log10 sqrt cbrt square reciprocal sin cos tan arcsin arccos arctan arctan2 "
        "sinh cosh tanh arcsinh arccosh arctanh hypot logaddexp maximum minimum less less_equal greater greater_equal "
        "equal not_equal isfinite isnan isinf floor ceil trunc logical_and logical_or logical_xor logical_not "
        "bitwise_and bitwise_or bitwise_xor"
    ).split()
}
UFUNCS[np.conjugate] = elementwise.conj


def numpy_ufunc(ufunc: Any, method: str, inputs: tuple, options: dict) -> Any:
    return UFUNCS[ufunc](*inputs)


verbs.numpy_ufunc = numpy_ufunc
