"""Ops that are registered for a while, as an example or a test does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import adjoint.ops
from adjoint.core.tensor import Tensor
from adjoint.ops.card import REGISTRY
from adjoint.ops.publish import FUNCTIONS, SPECIAL, UFUNCS


@contextmanager
def forgotten() -> Iterator[None]:
    """Cards, public functions, methods and ufuncs that are registered inside are forgotten afterwards."""
    tables: tuple[dict[Any, Any], ...] = (REGISTRY, FUNCTIONS, UFUNCS, SPECIAL)
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
