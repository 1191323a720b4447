"""mindspore.mutable: containers and numbers that a compiled function takes as inputs."""

from __future__ import annotations

from typing import Any

from adjoint.core.tensor import Tensor


class MutableInt(int):
    """An int that is an input."""


class MutableFloat(float):
    """A float that is an input."""

    is_plain_float = True


class MutableTuple(tuple):
    """A tuple whose items are inputs."""


class MutableList(list):
    """A list whose items are inputs."""


class MutableDict(dict):
    """A dict whose values are inputs."""


class FixedTuple(tuple):
    """A tuple that a network in GRAPH mode was called with: nothing is differentiated by its items."""


class FixedList(list):
    """A list of this kind."""


class FixedDict(dict):
    """A dict of this kind."""


_FIXED: dict[type, Any] = {tuple: FixedTuple, list: FixedList, dict: FixedDict}


def fixed(x: Any) -> Any:
    """An argument of a network in GRAPH mode: containers that are not `mutable` are part of the program.

    >>> type(fixed((1, [2]))).__name__
    'FixedTuple'
    """
    made = _FIXED.get(type(x))
    if made is None:
        return x
    return made({k: fixed(v) for k, v in x.items()} if type(x) is dict else map(fixed, x))


def is_fixed(x: Any) -> bool:
    """Whether `fixed` made it."""
    return isinstance(x, tuple(_FIXED.values()))


_MADE: dict[type, Any] = {
    int: MutableInt,
    float: MutableFloat,
    tuple: MutableTuple,
    list: MutableList,
    dict: MutableDict,
}


def mutable(input_data: Any, dynamic_len: bool = False) -> Any:
    """The same data, marked as an input of a compiled function that is differentiated.

    >>> mutable((1, 2)), mutable({"a": 1.5})
    ((1, 2), {'a': 1.5})
    """
    _check(input_data, ())
    if not isinstance(dynamic_len, bool):
        raise TypeError(f"mutable: dynamic_len must be a bool, not {dynamic_len!r}")
    if dynamic_len and not isinstance(input_data, (tuple, list)):
        raise TypeError(f"mutable: with dynamic_len the data must be a list or tuple, not {type(input_data).__name__}")
    for kind, made in _MADE.items():
        if isinstance(input_data, kind) and not isinstance(input_data, bool):
            return made(input_data)
    return input_data


def is_mutable(x: Any) -> bool:
    """Whether `mutable` made it."""
    return isinstance(x, tuple(_MADE.values()))


def _check(data: Any, around: tuple[int, ...]) -> None:
    items = data.values() if isinstance(data, dict) else data if isinstance(data, (tuple, list)) else None
    if (items is None and not isinstance(data, (Tensor, int, float))) or id(data) in around:
        raise TypeError(
            f"mutable: the data must be a bool, int, float, Tensor, tuple, list or dict, or nested ones that do not contain "
            f"themselves, not {type(data).__name__}"
        )
    for item in items or ():
        _check(item, (*around, id(data)))
