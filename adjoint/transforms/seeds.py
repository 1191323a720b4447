"""Cotangents with which a sweep begins."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core import placement
from adjoint.core.dispatch import beside, lift
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.parameter import Parameter, plain
from adjoint.core.spec import dtype_of, shape_of
from adjoint.core.tensor import Tensor


def unit(y: Any) -> Any:
    """The cotangent of the sum of y, one level below."""
    return beside(np.ones(shape_of(y), dtype_of(y)), y)


def checked(what: str, g: Any, y: Any) -> Any:
    """A user's gradient of `y`, one level below and of its shape and dtype."""
    if isinstance(g, Parameter):
        g = plain(g)
    given = Tensor(g, dtype_of(y))
    if given.shape != shape_of(y):
        raise ArgumentError(f"{what} has shape {given.shape}, its value {shape_of(y)}{called_at()}")
    placement.check_same(what, given, y)
    return lift(given)
