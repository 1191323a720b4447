"""Ops that are registered for a while, as an example or a test does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import adjoint.ops
from adjoint.core.tensor import Tensor
from adjoint.ops.card import REGISTRY
from adjoint.ops.publish import FUNCTIONS, UFUNCS


@contextmanager
def forgotten() -> Iterator[None]:
    """Cards, public functions, methods and ufuncs that are registered inside are forgotten afterwards.

    >>> from adjoint.ops.publish import public
    >>> with forgotten():
    ...     @public(method=True)
    ...     def half(x):
    ...         return 0.5 * x
    ...     print(adjoint.ops.half(3.0), Tensor(3.0).half())
    1.5 1.5
    >>> hasattr(adjoint.ops, "half") or hasattr(Tensor, "half")
    False
    """
    tables: tuple[dict[Any, Any], ...] = (REGISTRY, FUNCTIONS, UFUNCS)
    before = [set(table) for table in tables]
    attributes = [(owner, set(vars(owner))) for owner in (adjoint.ops, Tensor)]
    try:
        yield
    finally:
        for table, known in zip(tables, before, strict=True):
            for key in set(table) - known:
                table.pop(key)
        for owner, names in attributes:
            for name in set(vars(owner)) - names:
                delattr(owner, name)
