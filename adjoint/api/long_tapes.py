"""Gradients of programs of many thousand steps: the collector of garbage would go through their records again and again."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from adjoint.core.fewer_collections import WHILE_RECORDING, fewer_collections
from adjoint.transforms.records import now

LONG = 2_000  # recorded calls
Run = TypeVar("Run", bound=Callable[..., Any])


def seldom_collecting(run: Run) -> Run:
    """What records a program, with fewer collections of garbage where the last time it was a long one."""
    is_long = False

    @functools.wraps(run)
    def watched(*args: Any) -> Any:
        nonlocal is_long
        began = now()
        if is_long:
            with fewer_collections(WHILE_RECORDING):
                found = run(*args)
        else:
            found = run(*args)
        is_long = now() - began > LONG
        return found

    return watched  # type: ignore[return-value]
