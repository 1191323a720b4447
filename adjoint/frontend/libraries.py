"""Which modules and classes are the user's, and what objects of NumPy and SciPy hold."""

from __future__ import annotations

import sys
from types import MethodType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from adjoint.core import tree
from adjoint.core.foreign import library_of
from adjoint.frontend.files import is_users
from adjoint.frontend.hidden import state_of

_HEAP_TYPE = 1 << 9


def is_users_class(kind: type) -> bool:
    """Whether a class is the user's; one without a module was made by `exec`."""
    return is_users_module(kind.__module__) or (kind.__module__ == "builtins" and bool(kind.__flags__ & _HEAP_TYPE))


def is_of_package(cls: type) -> bool:
    """Whether a class is one of adjoint's."""
    return library_of(cls) == "adjoint"


def is_of_arrays(module: ModuleType) -> bool:
    """Whether a module is one of the array libraries' or ours, whose functions our own code takes not to change."""
    return module.__name__.split(".")[0] in ("adjoint", "numpy", "scipy", "jax")


def is_users_module(name: Any) -> bool:
    """Whether a module is the user's: one without a file is what was typed in."""
    module = sys.modules.get(name) if isinstance(name, str) else None
    if module is None or name in sys.builtin_module_names:
        return module is None
    filename = getattr(module, "__file__", None)
    return not name.startswith("_frozen") if filename is None else is_users(filename)


# ---------------------------------------------------------------- objects of NumPy and SciPy

_LIBRARIES = ("numpy", "scipy")
#: Modules of ours whose objects hold numbers and Tensors: distributions, sparse matrices, splines.
_HOLDING = ("adjoint.distributions.", "adjoint.sparse.", "adjoint.scipy.", "adjoint.train.scaling")
#: What a user derives from it is read by the user's own methods, which are seen as they run.
_DERIVED = {"scipy.sparse.linalg._interface.LinearOperator"}
_DISTRIBUTION = "scipy.stats._distn_infrastructure.rv_generic"
#: What the libraries note for themselves, at times while they read.
_NOTES = {"_has_sorted_indices", "_has_canonical_format", "_random_state", "_rng", "__doc__"}
_ALL, _ARRAYS, _HIDDEN = "all", "arrays", "hidden"
_held_how: WeakKeyDictionary[type, str] = WeakKeyDictionary()


def held_by_library(x: Any) -> dict[str, Any] | None:
    """What an object of NumPy, SciPy or ours (a sparse matrix, a spline, a frozen distribution) or an array of objects holds, by name.

    None for all others, and for what has no attributes.

    >>> list(held_by_library(np.poly1d([1.0, 2.0])))
    ['coeffs', '_variable']
    """
    kind = type(x)
    if issubclass(kind, np.ndarray):
        return {"shape": x.shape, "items": list(x.flat)} if x.dtype == object else None
    how = _held_how.get(kind)
    if how is None:
        how = _held_how[kind] = _how(kind) or (_HIDDEN if state_of(x) is not None else "")
    if how == _HIDDEN:
        return state_of(x)
    if not how:
        return None
    held = dict(getattr(x, "__dict__", ()))
    if isinstance(x, dict):
        held["items"] = dict(dict.items(x))
    for name in tree.slots(kind):
        if name not in ("__dict__", "__weakref__") and (y := getattr(x, name, held)) is not held:
            held[name] = y
    if how == _ARRAYS:
        return {k: y for k, y in held.items() if isinstance(y, np.ndarray)}
    return {k: y for k, y in held.items() if k not in _NOTES and not (type(y) is MethodType and y.__self__ is x)}


def _holds_numbers(module: str) -> bool:
    return module.split(".")[0] in _LIBRARIES or module.startswith(_HOLDING)


def _how(kind: type) -> str:
    """Whether objects of a class are known by all that they hold, by the arrays in it, or by themselves."""
    if issubclass(
        kind, (type, np.random.Generator, np.random.RandomState, np.random.BitGenerator, np.generic, np.dtype)
    ):
        return ""
    bases = [c for c in kind.__mro__ if _holds_numbers(str(c.__module__)) and "__init__" in vars(c)]
    names = {f"{c.__module__}.{c.__qualname__}" for c in bases}
    if not bases or issubclass(kind, (list, tuple)) or (names & _DERIVED and is_users_class(kind)):
        return ""
    return _ARRAYS if _DISTRIBUTION in names else _ALL
