"""What goes on around the making of a graph and of its code: few collections of garbage, and a line on the terminal if it takes long."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from adjoint.core.compile_line import shown
from adjoint.core.fewer_collections import fewer_collections

F = TypeVar("F", bound=Callable[..., Any])


def takes_time(fn: F) -> F:
    """A function that compiles its first argument, a compiled function or a graph."""

    @wraps(fn)
    def compiling(first: Any, *rest: Any) -> Any:
        with fewer_collections(), shown(getattr(first, "name", None) or repr(first)):
            return fn(first, *rest)

    return compiling  # type: ignore[return-value]
