"""The kinds of nothing: a derivative that is zero, and one that was never written."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from adjoint.core.dispatch import beside
from adjoint.core.spec import dtype_of, shape_of


class Absent(enum.Enum):
    """A derivative that needs no array."""

    ZERO = "the derivative is zero"

    def __repr__(self) -> str:
        return self.name


ZERO = Absent.ZERO


def add(a: Any, b: Any) -> Any:
    """Sum of two derivatives, either of which may be `ZERO`.

    >>> add(ZERO, 3.0)
    3.0
    """
    if a is ZERO:
        return b
    return a if b is ZERO else a + b


def instantiate(derivative: Any, like: Any) -> Any:
    """A derivative as an array: zeros like the value that it belongs to, where it is `ZERO`.

    >>> instantiate(ZERO, np.ones(2)), instantiate(3.0, 1.0)
    (array([0., 0.]), 3.0)
    """
    return beside(np.zeros(shape_of(like), dtype_of(like)), like) if derivative is ZERO else derivative
