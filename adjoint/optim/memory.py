"""The memory of Parameters: when a step writes over it, and how whoever else holds it is spared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from adjoint.core.arrays import holders
from adjoint.core.parameter import Parameter, plain
from adjoint.core.placement import is_device_array
from adjoint.core.tensor import Tensor

LARGE = 4_000_000  # bytes of Parameters; giving memory up costs about 0.2 ms a call, which smaller ones do not earn


def is_large(params: Iterable[Parameter]) -> bool:
    """Whether a step gains by writing over these Parameters in place of making new arrays."""
    return sum(p._value.nbytes for p in params) >= LARGE


def owned(p: Parameter) -> Any:
    """The value of a Parameter in memory that nothing else holds, so that a step may write over it.

    An array that a Tensor, a view or a NumPy array of the user shares is left to them, and copied.
    """
    if is_device_array(p._value):
        p._value = p._value.copy() if holders(p._value) > 1 else p._value
    elif holders(p._value) > 1 or p._value.base is not None:
        p._value = np.array(p._value, order="C")
    return plain(p)


def unfollowed(x: Any) -> Any:
    """A value without what follows it for backward(): next to inputs that are given up there can be no tape."""
    return x.detach() if isinstance(x, Tensor) and x.tracked else x
