"""`np.array([x, y])` inside transforms: of Tensors that are traced NumPy would make an array of objects, which few functions take."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Lock
from types import FrameType
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value
from adjoint.core.errors import LIBRARIES

_NUMBERS = frozenset({int, float, bool, complex, np.float64, np.float32, np.int64, np.bool_})
_HOLDERS = (list, tuple, Value, np.ndarray)
_TAKEN = ("array", "asarray")
_UNDERSTOOD = {"dtype", "copy", "order", "ndmin"}


def _kinds(data: Any) -> Iterator[bool | None]:
    """Of each value in nested sequences whether it is traced; None for what is no number."""
    if isinstance(data, Value):
        yield data.tracked
    elif isinstance(data, np.ndarray):
        yield from _kinds(data.ravel().tolist()) if data.dtype.hasobject else [False]
    elif isinstance(data, (list, tuple)):
        kinds = set(map(type, data))
        if kinds <= _NUMBERS:
            yield False
        else:
            for x in data:
                yield from _kinds(x)
    else:
        yield False if isinstance(data, (int, float, complex, np.number, np.bool_)) else None


def _holds_traced(data: Any, args: tuple, options: dict[str, Any]) -> bool:
    """Whether a call makes an array of Tensors that are being traced, and of nothing but those and numbers."""
    kinds = set(_kinds(data))
    if True not in kinds or None in kinds or not options.keys() <= _UNDERSTOOD or len(args) > 1:
        return False
    dtype = args[0] if args else options.get("dtype")
    return dtype is None or np.dtype(dtype).kind in "fc"


def _by_user(frame: FrameType) -> bool:
    """Whether a call comes from a user's code: what is compiled is called by what reads it."""
    caller = str(frame.f_globals.get("__name__", ""))
    return caller.split(".")[0] not in LIBRARIES or caller.startswith("adjoint.frontend.")


def _taking(name: str) -> Any:
    """NumPy's function, which makes a Tensor for a user's code that hands it traced ones."""
    original = getattr(np, name)

    @functools.wraps(original)
    def function(*args: Any, **options: Any) -> Any:
        made_of_traced = args and isinstance(args[0], _HOLDERS) and _holds_traced(args[0], args[1:], options)
        if made_of_traced and _by_user(sys._getframe(1)):
            return getattr(import_module("adjoint.ops.numpylike.creation"), name)(*args, **options)
        return original(*args, **options)

    return function


_originals = {name: getattr(np, name) for name in _TAKEN}
_ours = {name: _taking(name) for name in _TAKEN}
_lock = Lock()
_inside = 0


def begin() -> None:
    """A transform is active: NumPy's functions that make arrays make Tensors of what it traces."""
    global _inside
    with _lock:
        _inside += 1
        if _inside == 1:
            vars(np).update(_ours)


def end() -> None:
    """The transform has ended: they are NumPy's own again, if no other one is active."""
    global _inside
    with _lock:
        _inside -= 1
        if not _inside:
            vars(np).update(_originals)


@contextmanager
def of_tensors() -> Iterator[None]:
    """Both for the length of a `with` block."""
    begin()
    try:
        yield
    finally:
        end()
