"""The arrays at the bottom of what transforms compute with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value
from adjoint.core.placement import is_device_array


def bottom(x: Any) -> Any:
    """The array that a value of any transform stands for; None if it is a value of a graph that is being built."""
    while isinstance(x, Value):
        x = x._value
    if is_device_array(x):
        return np.asarray(x)
    return x if isinstance(x, (np.ndarray, np.generic, bool, int, float, complex)) else None


def arrays_in(xs: Any) -> Iterator[np.ndarray]:
    """The arrays of numbers among values, also among several results of one call."""
    for x in xs if isinstance(xs, (tuple, list)) else (xs,):
        if isinstance(x, (tuple, list)):
            yield from arrays_in(x)
        elif (found := bottom(x)) is not None:
            yield np.asarray(found)
