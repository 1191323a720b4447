"""Giving an argument's memory to the function that takes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from adjoint.core.arrays import holders
from adjoint.core.dispatch import BOTTOM, Trace, Value
from adjoint.core.errors import AdjointError, ArgumentError, called_at
from adjoint.core.placement import is_device_array


class DonatedError(AdjointError, RuntimeError):
    """A Tensor whose memory was given to a compiled function was used again."""


class _Gone:
    """What a donated Tensor holds."""

    def __init__(self, message: str) -> None:
        self.__dict__["message"] = message

    def __getattr__(self, name: str) -> Any:
        raise DonatedError(self.__dict__["message"])

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise DonatedError(self.__dict__["message"])


class _Donated(Trace):
    """Any op on a donated Tensor is an error, whatever else it is given."""

    level = float("inf")

    def __init__(self, message: str) -> None:
        self.message = message

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        raise DonatedError(self.message)

    def below(self, x: Any) -> Any:
        raise DonatedError(self.message)


def give_up(values: Sequence[Any], to: str) -> None:
    """Take the arrays out of these Tensors, which cannot be used again."""
    for x in values:
        if not isinstance(x, Value):
            raise ArgumentError(f"{to}: a donated argument must be a Tensor, not {type(x).__name__}{called_at()}")
        if x._trace not in BOTTOM:
            raise ArgumentError(f"{to}: a Tensor that a transform follows cannot be donated{called_at()}")
    message = f"this Tensor was donated to {to}, which may have overwritten it: use the result instead.{called_at()}"
    for x in values:
        x._value, x._trace, x._extra = _Gone(message), _Donated(message), None


def bare(inputs: list[Any]) -> None:
    """Take arrays out of their Tensors, for a backend to overwrite."""
    inputs[:] = [x._value if isinstance(x, Value) and x._trace in BOTTOM else x for x in inputs]


def set_free(arrays: list[Any], places: Iterable[int]) -> None:
    """Copy the arrays at these places that others hold too: Tensors share arrays, and views the memory of their base."""
    for k in places:
        if is_device_array(arrays[k]):
            arrays[k] = arrays[k].copy() if holders(arrays[k]) > 1 else arrays[k]
        elif arrays[k].base is not None or holders(arrays[k]) > 1:
            arrays[k] = np.array(arrays[k], order="C")
