"""Values that a tape keeps for the backward pass, packed and unpacked by functions of the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core.dispatch import lift, wrap
from adjoint.transforms.records import Record
from adjoint.transforms.rule_needs import needs_of

_ARRAYS = (np.ndarray, np.generic)


class PackedInputs(list):
    """The inputs of a call as the user packed them, and how to unpack them."""

    __slots__ = ("packed", "result", "unpack")

    def __init__(self, xs: list[Any], packed: list[bool], result: bool, unpack: Callable[[Any], Any]) -> None:
        super().__init__(xs)
        self.packed, self.result, self.unpack = packed, result, unpack


def pack(record: Record, hooks: tuple[Callable[[Any], Any], Callable[[Any], Any]]) -> None:
    """Let the user pack the values that the rule of a call reads."""
    needs = needs_of(record) or (True, (True,) * len(record.xs))
    pack_hook, unpack_hook = hooks
    chosen = [n and isinstance(x, _ARRAYS) for x, n in zip(record.xs, needs[1], strict=True)]
    whole = needs[0] and isinstance(record.y, _ARRAYS)
    xs = [pack_hook(wrap(x)) if yes else x for x, yes in zip(record.xs, chosen, strict=True)]
    record.xs = PackedInputs(xs, chosen, whole, unpack_hook)
    record.y = pack_hook(wrap(record.y)) if whole else record.y


def unpacked(record: Record) -> tuple[Any, list[Any]]:
    """The result and the inputs of a call, as the user gives them back."""
    held = record.xs
    xs = [lift(held.unpack(x)) if yes else x for x, yes in zip(held, held.packed, strict=True)]
    return (lift(held.unpack(record.y)) if held.result else record.y), xs
