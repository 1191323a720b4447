"""Refusals of settings, of the kinds that MindSpore gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.core.dispatch import Value


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


def check_set_inputs(expected: Sequence[Any], inputs: Sequence[Any]) -> None:
    """Refuse inputs of a compiled Cell that are not what `set_inputs` said; unknown sizes are negative."""
    if len(expected) != len(inputs):
        raise TypeError(f"For 'Cell', 'set_inputs' was given {len(expected)} inputs, but the call has {len(inputs)}.")
    for i, (wanted, x) in enumerate(zip(expected, inputs, strict=True), 1):
        if not isinstance(wanted, Value):
            continue
        if not isinstance(x, Value) or x.dtype != wanted.dtype:
            raise TypeError(f"For 'set_inputs', input {i} must be a Tensor of {wanted.dtype}, but got {x!r:.80}.")
        if len(x.shape) != len(wanted.shape) or any(
            a not in (b, -1) for a, b in zip(wanted.shape, x.shape, strict=True)
        ):
            raise ValueError(f"For 'set_inputs', input {i} must have the shape {wanted.shape}, but got {x.shape}.")
