"""Checks of the attributes of primitives: the kinds of errors that MindSpore raises for them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

Check = Callable[[Any], None]


def checked(kind: Any, *checks: Check) -> Any:
    """A class of primitives whose attributes are checked when one is made."""
    original = kind.__init__

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        for check in checks:
            check(self)

    kind.__init__ = __init__
    return kind


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def sizes(*names: str, least: int = 1) -> Check:
    """Attributes that are integers, or tuples of them, of at least `least`."""

    def check(self: Any) -> None:
        for name in names:
            value = getattr(self, name)
            numbers = value if isinstance(value, (tuple, list)) else (value,)
            if not all(map(_whole, numbers)):
                raise TypeError(
                    f"For '{self.name}', the '{name}' must be an int or a tuple of ints, but got {value!r}."
                )
            if any(n < least for n in numbers):
                raise ValueError(f"For '{self.name}', the '{name}' must be at least {least}, but got {value!r}.")

    return check


def one_of(name: str, *options: str) -> Check:
    """An attribute that is one of some words, in whatever case."""

    def check(self: Any) -> None:
        value = getattr(self, name)
        if not isinstance(value, str):
            raise TypeError(f"For '{self.name}', the '{name}' must be str, but got {type(value).__name__}.")
        if value.lower() not in options:
            raise ValueError(f"For '{self.name}', the '{name}' must be in {list(options)}, but got '{value}'.")

    return check


def whole(name: str) -> Check:
    """An attribute that is an integer or a tuple of integers."""

    def check(self: Any) -> None:
        value = getattr(self, name)
        if not all(map(_whole, value if isinstance(value, (tuple, list)) else (value,))):
            raise TypeError(
                f"For '{self.name}', the type of '{name}' should be one of '[int, tuple of int]', but got {type(value)}."
            )

    return check


REDUCTION = one_of("reduction", "mean", "sum", "none")
