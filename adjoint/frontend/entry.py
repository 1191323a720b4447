"""The way in: convert whatever can be called."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from adjoint.frontend.calls import call, traceable
from adjoint.frontend.convert import convert_function


def convert(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` with its control flow ready for graph values: a function, a method, or an object that can be called.

    On plain values it does what `fn` does. Raises SourceError if the source of a function cannot be found, and
    UnsupportedSyntaxError, with the position, if it cannot become part of a graph.

    >>> from adjoint.core.tree import is_leaf
    >>> convert(is_leaf)([1]), convert(is_leaf)(1)
    (False, True)
    """
    if isinstance(fn, FunctionType):
        return convert_function(fn)
    if isinstance(fn, MethodType) and isinstance(fn.__func__, FunctionType):
        return MethodType(convert_function(fn.__func__), fn.__self__)
    own = getattr(type(fn), "construct", None) or getattr(type(fn), "__call__", None)  # noqa: B004
    if isinstance(own, FunctionType) and not isinstance(fn, (type, functools.partial)):
        traceable(own)  # refuse now what would be refused at the first call
    return functools.partial(call, fn)
