"""Whether code runs as a graph, and whether it must be one as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from adjoint.core import context

#: Whether a function must be a graph as a whole: no arrays are made of Tensors in it.
whole: ContextVar[bool] = ContextVar("whole", default=False)


def in_graph() -> bool:
    """Whether a function is run as a graph, or in place of one."""
    return context.tracer.get() is not None or (context.lenient.get() and not context.static_mode.get())


class MissingKeyError(KeyError, ValueError):
    """A key that a dict in a graph has not: a ValueError too, as MindSpore's graphs raise."""


@contextmanager
def missing_keys() -> Iterator[None]:
    """Raise what a graph raises for a missing key.

    >>> with missing_keys():
    ...     {}["a"]
    Traceback (most recent call last):
    adjoint.mindspore.common.graph_context.MissingKeyError: 'a'
    """
    try:
        yield
    except KeyError as error:
        raise MissingKeyError(*error.args) from error
