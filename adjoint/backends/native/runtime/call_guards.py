"""What must be so around a call for compiled code to serve it, as the compiled code asks: four words for each guard.

context variable:   0, variable, nothing, its value
item of a dict:     1, dict, key, the very object
word in memory:     2, address, nothing, the word (a closure's variable, the code of a function, where an array's data is)
memory:             3, address, address of a copy, number of bytes
test:               4, a function, nothing, True
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from contextvars import ContextVar
from types import CellType, FunctionType
from typing import Any

import numpy as np

from adjoint.backends.native.runtime import object_layout

VARIABLE, KEY, WORD, MEMORY, TEST = range(5)
Guard = tuple[
    Any, ...
]  # (variable, value), (dict, key[, value]), (cell, value), (function, part, value), (array,), (test,)


def words(guards: Sequence[Guard], keep: list[Any]) -> list[int]:
    """The table for the guards; what it points to is added to `keep`."""
    found: list[int] = []
    for guard in guards:
        keep.append(guard)
        subject = guard[0]
        if isinstance(subject, ContextVar):
            found += [VARIABLE, id(subject), 0, id(guard[1])]
        elif type(subject) is dict:
            found += [KEY, id(subject), id(guard[1]), id(guard[2]) if len(guard) == 3 else 0]  # or it must not be there
        elif type(subject) is CellType:
            found += [WORD, id(subject) + _cell_offset(), 0, id(guard[1]) if len(guard) == 2 else 0]
        elif type(subject) is FunctionType and len(guard) == 3:
            found += [WORD, id(subject) + _function_offset(guard[1]), 0, 0 if guard[2] is None else id(guard[2])]
        elif type(subject) is np.ndarray:
            found += _array(subject, keep)
        else:
            found += [TEST, id(subject), 0, id(True)]
    return found


def _array(x: np.ndarray, keep: list[Any]) -> list[int]:
    """An array that has the contents that it has now."""
    found: list[int] = []
    for offset in (object_layout.DATA, object_layout.DIMENSIONS, object_layout.DESCR):
        found += [WORD, id(x) + offset, 0, ctypes.c_uint64.from_address(id(x) + offset).value]
    dimensions = ctypes.c_uint64.from_address(id(x) + object_layout.DIMENSIONS).value
    for address, copy in ((dimensions, np.array(x.shape, np.int64)), (x.ctypes.data, np.array(x))):
        keep.append(copy)
        if copy.nbytes:
            found += [MEMORY, address, copy.ctypes.data, copy.nbytes]
    return found


@functools.cache
def _cell_offset() -> int:
    return _offset(CellType(mark := object()), mark)


@functools.cache
def _function_offset(part: str) -> int:
    def sample() -> None: ...

    mark: Any = (
        sample.__code__.replace(co_name="mark") if part == "__code__" else {} if part == "__kwdefaults__" else (1, 2)
    )
    setattr(sample, part, mark)
    return _offset(sample, mark)


def _offset(holder: Any, held: Any) -> int:
    """Where in an object the reference to another one is."""
    size = type(holder).__basicsize__
    return next(k for k in range(16, size, 8) if ctypes.c_uint64.from_address(id(holder) + k).value == id(held))
