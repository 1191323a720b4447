"""What the functions of `operator` that get and call something do: attrgetter, itemgetter, methodcaller."""

from __future__ import annotations

import functools
from typing import Any

from adjoint.frontend import reading


def each(found: list[Any]) -> Any:
    """What an `operator.attrgetter` or `itemgetter` gives: one value, or a tuple of several."""
    return found[0] if len(found) == 1 else tuple(found)


def method_called(fn: Any) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """The name of the method that an `operator.methodcaller` calls, and its arguments."""
    made, given = fn.__reduce__()[:2]
    everything: list[Any] = [*getattr(made, "args", ()), *given]
    return everything[0], tuple(everything[1:]), getattr(made, "keywords", {})


def attribute_of(x: Any, path: str) -> Any:
    """What an `operator.attrgetter` finds by a path."""
    return functools.reduce(reading.attr, path.split("."), x)
