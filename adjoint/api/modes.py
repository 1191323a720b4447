"""The two ways to run a program: dynamic (op by op) and static (as a graph)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint import backends
from adjoint.core import context, tree
from adjoint.core.errors import ArgumentError, called_at
from adjoint.graph.trace import is_graph_value

GRAPH_MODE, PYNATIVE_MODE = 0, 1


def set_context(*, mode: int | None = None, backend: str | None = None) -> None:
    """Choose how gradients and networks run from here on, in this thread: op by op, or as compiled graphs.

    `backend` says what runs compiled graphs: "native" (machine code, the default) or "interpreter".
    The manner of MindSpore, for a whole program; ours, for one function, is `jit`.

    >>> import adjoint as ad
    >>> ad.set_context(mode=ad.GRAPH_MODE)
    >>> print(ad.grad(lambda x: x ** 2)(3.0))
    6.0
    >>> ad.set_context(mode=ad.PYNATIVE_MODE)
    """
    if mode not in (GRAPH_MODE, PYNATIVE_MODE, None):
        raise ArgumentError(f"set_context: mode must be GRAPH_MODE or PYNATIVE_MODE, not {mode!r}{called_at()}")
    if backend is not None:
        context.backend.set(backends.checked(backend))
    if mode is not None:
        context.static_mode.set(mode == GRAPH_MODE)


def get_context(name: str = "mode") -> Any:
    """The mode or the backend in force.

    >>> import adjoint as ad
    >>> ad.get_context("mode") == ad.PYNATIVE_MODE
    True
    """
    if name == "backend":
        return backends.chosen()
    if name != "mode":
        raise ArgumentError(f"get_context: there is no {name!r}, only 'mode' and 'backend'{called_at()}")
    return GRAPH_MODE if context.static_mode.get() else PYNATIVE_MODE


def by_mode(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it is in dynamic mode, compiled in static mode (unless it is part of a graph already)."""
    compiled: list[Callable[..., Any]] = []

    def chosen(*args: Any, **kwargs: Any) -> Any:
        if not context.static_mode.get() or any(is_graph_value(x) for x in tree.leaves((args, kwargs))):
            return function(*args, **kwargs)
        if not compiled:
            from adjoint.api.jit import jit

            compiled.append(jit(function))
        with context.setting(context.static_mode, False):
            return compiled[0](*args, **kwargs)

    return chosen
