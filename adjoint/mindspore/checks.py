"""Refusals of settings, of the kinds that MindSpore gives."""

from __future__ import annotations

from typing import Any


def type_error(what: str, name: str, wanted: str, value: Any) -> TypeError:
    """The error for a setting of a wrong type."""
    return TypeError(
        f"For '{what}', the type of '{name}' must be {wanted}, but got {value!r} of type {type(value).__name__}."
    )


def floats(what: str, **values: Any) -> None:
    """Refuse what is no float."""
    for name, value in values.items():
        if not isinstance(value, float):
            raise type_error(what, name, "float", value)


def bools(what: str, **values: Any) -> None:
    """Refuse what is no bool."""
    for name, value in values.items():
        if not isinstance(value, bool):
            raise type_error(what, name, "bool", value)


def float_above(what: str, **values: Any) -> None:
    """Refuse what is no float above zero."""
    floats(what, **values)
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"For '{what}', the '{name}' must be a float above 0, but got {value}.")


def at_least_zero(what: str, **values: Any) -> None:
    """Refuse what is no float from zero on."""
    floats(what, **values)
    for name, value in values.items():
        if not value >= 0:
            raise ValueError(f"For '{what}', the '{name}' must be at least 0.0, but got {value}.")


def between(what: str, low: float, high: float, ends: bool = False, **values: Any) -> None:
    """Refuse what is no float between two numbers, themselves included if `ends`."""
    floats(what, **values)
    for name, value in values.items():
        if not (low <= value <= high if ends else low < value < high):
            raise ValueError(f"For '{what}', the '{name}' must be in range of {low} to {high}, but got {value}.")
