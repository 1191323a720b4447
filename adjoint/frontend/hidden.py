"""What objects of Python's library and of NumPy keep out of sight, and functions that tell of the state of the program.

What is asked of them (`event.is_set()`, `queue.qsize()`, `os.getcwd()`) is part of a graph only as long as they would say the same.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import io
import logging
import os
import pathlib
import queue
import random
import threading
import weakref
from collections import ChainMap, UserDict, UserList
from typing import Any

import numpy as np

from adjoint.core import tree
from adjoint.core.foreign import library_of

#: What `functools.lru_cache` makes of a function.
CACHED: Any = type(functools.lru_cache(len))
_LOCKS = (type(threading.Lock()), type(threading.RLock()), threading.Condition)
_C_TYPES = (ctypes.Array, ctypes.Structure, ctypes.Union, ctypes._SimpleCData)
#: Modules whose objects hold their state in attributes that users do not read.
_MODULES = {
    "threading", "queue", "logging", "weakref", "_weakrefset", "configparser", "unittest.mock", "concurrent.futures._base",
}  # fmt: skip
#: What of them matters, where they refer to much else.
_PARTS = {logging.Logger: ("level", "disabled", "propagate", "parent", "manager"), logging.Manager: ("_disable",)}
#: Functions that tell of the state of the program and change nothing; methods of paths that do.
_ASKED = {
    id(f): f
    for f in (
        os.getcwd, os.listdir, os.stat, os.path.exists, os.path.isfile, os.path.isdir, os.path.getsize, os.path.getmtime,
        np.geterr, np.get_printoptions, np.getbufsize, gc.isenabled, gc.get_threshold, threading.active_count,
    )
}  # fmt: skip
_OF_PATHS = {"exists", "is_file", "is_dir", "stat", "read_text", "read_bytes", "cwd"}


def state_of(x: Any) -> dict[str, Any] | None:
    """What an object holds that is not seen in its attributes, by name; None for most objects.

    >>> import threading
    >>> event = threading.Event()
    >>> event.set()
    >>> state_of(event)
    {'_flag': True}
    """
    kind = type(x)
    if library_of(kind) in ("builtins", "adjoint") or kind.__module__ == "numpy":
        return None
    if isinstance(x, _LOCKS[:2]):
        return {"state": repr(x).split(" at ")[0]}
    if isinstance(x, threading.Thread):
        return {"state": (x.is_alive(), x.name, x.daemon)}
    if isinstance(x, queue.SimpleQueue):
        return {"length": x.qsize()}
    if isinstance(x, (io.StringIO, io.BytesIO)):
        return {"contents": "closed" if x.closed else (x.getvalue(), x.tell())}
    if isinstance(x, _C_TYPES):
        return {"contents": bytes(x)}
    if (state := _of_draws(x)) is not None:
        return {"state": state}
    if (table := _of_tables(x)) is not None:
        return table
    return _attributes(x) if _in_attributes(kind) else None


def _of_tables(x: Any) -> dict[str, Any] | None:
    """What is in a DataFrame, Series or Index of pandas; None for all else."""
    kinds = {c.__name__ for c in type(x).__mro__ if library_of(c) == "pandas"}
    if "DataFrame" in kinds and hasattr(x, "columns"):
        columns = {f"column {k}": np.array(x.iloc[:, k]) for k in range(len(x.columns))}
        return {"columns": np.array(x.columns), "index": np.array(x.index), **columns}
    if not kinds & {"DataFrame", "Series", "Index"}:
        return None
    return {"name": getattr(x, "name", None), "index": np.array(getattr(x, "index", ())), "values": np.array(x)}


def _of_draws(x: Any) -> Any:
    """The state of what draws random numbers; None for all else."""
    if isinstance(x, np.random.Generator):
        return x.bit_generator.state
    if isinstance(x, np.random.RandomState):
        return x.get_state(legacy=False)
    if isinstance(x, random.Random) and not isinstance(x, random.SystemRandom):
        return repr(x.getstate())
    return None


def _in_attributes(kind: type) -> bool:
    """Whether objects of a class hold their state in attributes that users do not read."""
    if issubclass(kind, (type, dict, list, tuple, UserDict, UserList, ChainMap, weakref.ref)):
        return False
    names = {(str(c.__module__), c.__name__) for c in kind.__mro__}
    of_library = any(module in _MODULES or module.startswith("asyncio.") for module, _ in names)
    return of_library or ("collections", "UserString") in names


def _attributes(x: Any) -> dict[str, Any]:
    held = dict(getattr(x, "__dict__", ()))
    for name in tree.slots(type(x)):
        if name not in ("__dict__", "__weakref__") and (y := getattr(x, name, held)) is not held:
            held[name] = y
    for kind, parts in _PARTS.items():
        if isinstance(x, kind):
            held = {name: held[name] for name in parts if name in held}
    return {name: y for name, y in held.items() if not isinstance(y, _LOCKS) and getattr(y, "__self__", None) is None}


def is_asked(fn: Any) -> bool:
    """Whether a function tells of the state of the program, changes nothing, and may be asked again."""
    if _ASKED.get(id(fn)) is fn:
        return True
    owner = getattr(fn, "__self__", None)
    name = getattr(fn, "__name__", None)
    if isinstance(owner, pathlib.PurePath) or owner is pathlib.Path:
        return name in _OF_PATHS
    if isinstance(owner, CACHED):
        return name == "cache_info"
    return name == "__subclasses__" and isinstance(owner, type)
