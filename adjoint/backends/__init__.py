"""Graph -> callable. A backend is a module with `compile(graph)`; its result runs, and says with `explain` how."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from adjoint.core import context
from adjoint.core.errors import ArgumentError, called_at

MODULES = {"native": "adjoint.backends.native.compiler", "interpreter": "adjoint.backends.interpreter"}


def load(name: str) -> Any:
    """The backend's module, loaded when it is first used."""
    return import_module(MODULES[name])


def checked(name: str) -> str:
    """The name, if there is such a backend and it can run here."""
    if name not in MODULES:
        raise ArgumentError(f"there is no backend {name!r}; there are {', '.join(MODULES)}{called_at()}")
    if name == "native" and not _has_llvm():
        raise ArgumentError(f"the native backend needs the package llvmlite: pip install llvmlite{called_at()}")
    return name


@cache
def _has_llvm() -> bool:
    return find_spec("llvmlite") is not None


def chosen() -> str:
    """The backend in force."""
    return context.backend.get() or ("native" if _has_llvm() else "interpreter")
