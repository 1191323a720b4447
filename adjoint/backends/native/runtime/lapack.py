"""LAPACK and BLAS, as SciPy has them: the addresses of their functions, by which modules that call them are linked."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import import_module

PREFIX = "adj_lapack_"
_MODULES = ("scipy.linalg.cython_lapack", "scipy.linalg.cython_blas")


def symbol(name: str) -> str:
    """The name under which a module declares a function."""
    return PREFIX + name


@cache
def address(name: str) -> int:
    """Where a function of LAPACK or BLAS is; its arguments are addresses, as in Fortran."""
    tables = [import_module(module).__pyx_capi__ for module in _MODULES]  # heavy, and few programs need it
    capsule = next(table[name] for table in tables if name in table)
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return int(api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule)))
