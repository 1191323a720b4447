"""Values in messages, as short as they can be: an array by its dtype, shape and first elements, a function by its name and line."""

from __future__ import annotations

import os
import reprlib
from types import CodeType
from typing import Any

import numpy as np

FIRST = 4  # elements of an array


def short_array(x: np.ndarray | np.generic, first: int = FIRST) -> str:
    """An array in a few words.

    >>> short_array(np.arange(3.0)), short_array(np.ones((1000, 1000), np.float32)), short_array(np.zeros((0, 2)))
    ('float64[3] [0, 1, 2]', 'float32[1000, 1000] [1, 1, 1, 1, …]', 'float64[0, 2] []')
    """
    if x.shape == ():
        return f"{x.dtype} {_number(x.item())}"
    return f"{x.dtype}{list(x.shape)} [{first_elements(x, first)}]"


def first_elements(x: np.ndarray | np.generic, first: int = FIRST) -> str:
    """The first elements of an array, with dots for the others."""
    items = [_number(v) for v in x.flat[: first + 1].tolist()]
    return ", ".join([*items[:first], *["…"] * (len(items) > first)])


def _number(x: Any) -> str:
    return f"{x:.6g}" if isinstance(x, (float, complex)) else reprlib.repr(x)


def short(x: Any) -> str:
    """A value of any kind.

    >>> short(0.5), short("a" * 99), short({"lr": 0.1, "n": 3})
    ('0.5', "'aaaaaaaaaaaa...aaaaaaaaaaaaa'", "{'lr': 0.1, 'n': 3}")
    >>> short([np.ones(3), 2.0])
    'a list of 2: float64[3] [1, 1, 1], 2.0'
    """
    if hasattr(type(x), "_value"):  # the class is asked: an object may answer for any name, or raise
        value = x._value
        return f"{type(x).__name__} {short_array(value)}" if isinstance(value, (np.ndarray, np.generic)) else _kind(x)
    if isinstance(x, (np.ndarray, np.generic)):
        return short_array(x)
    code = getattr(x, "__code__", None) if callable(x) else None
    if type(code) is CodeType:  # an object may answer for any name
        return (
            f"{getattr(x, '__qualname__', 'a function')} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"
        )
    if type(x) in (list, tuple) and any(hasattr(type(y), "dtype") for y in x):
        return f"a {type(x).__name__} of {len(x)}: " + ", ".join(short(y) for y in x[:2]) + ", …" * (len(x) > 2)
    if getattr(type(x), "__repr__", None) is object.__repr__:
        return f"a {type(x).__name__}"
    return reprlib.repr(x)


def _kind(x: Any) -> str:
    """A Tensor whose values are not at hand."""
    return f"another {type(x).__name__}"


def difference(old: np.ndarray, new: np.ndarray) -> str:
    """What differs between two arrays: the first element that does where they are alike in shape and dtype.

    >>> difference(np.zeros(9), np.arange(9.0)), difference(np.zeros(2), np.zeros(3))
    ('element [1] from 0 to 1', 'from float64[2] [0, 0] to float64[3] [0, 0, 0]')
    """
    alike = old.shape == new.shape and old.dtype == new.dtype and old.shape != ()
    places = np.argwhere(~((old == new) | ((old != old) & (new != new)))) if alike else np.empty((0, 0))
    if not alike or not len(places):
        return f"from {short_array(old)} to {short_array(new)}"
    at = tuple(places[0].tolist())
    return f"element {list(at)} from {_number(old[at].item())} to {_number(new[at].item())}"
