"""Functions of scipy.special for compiled code to call, in double precision.

Most are exported as C functions of numbers, with their signatures. Of the others there is the loop of the ufunc,
`loop(arguments, count, steps, data)`, which NumPy calls too. Neither needs a lock of Python's: NumPy lets other threads run meanwhile.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, NamedTuple

import numpy as np

from adjoint.backends.native.runtime.object_layout import capsule_pointer, problem

RETURNS, WRITES, LOOP = "returns", "writes", "loop"
MOST_INPUTS = 3


class SciPyFunction(NamedTuple):
    """A function: whether it returns its result, writes two of them, or is a loop; its number of inputs and results, and where it is."""

    form: str
    inputs: int
    outputs: int
    code: int
    data: int = 0


class UFuncFields(ctypes.Structure):
    """The begin of NumPy's PyUFuncObject, which is part of its public interface."""

    _fields_ = [
        ("references", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
    ]


@functools.cache
def scipy_function(name: str) -> SciPyFunction | None:
    """The function of this name; None if there is none, or it cannot be trusted."""
    return _exported(name) or _loop(name)


def _exported(name: str) -> SciPyFunction | None:
    """What `cython_special` exports: functions for several kinds of numbers have names with a prefix."""
    from scipy.special import cython_special

    known = {f"double ({'double, ' * n}int __pyx_skip_dispatch)": (RETURNS, n, 1) for n in range(1, MOST_INPUTS + 1)}
    known["void (double, double *, double *)"] = (WRITES, 1, 2)
    for exported in (name, *(f"__pyx_fuse_{k}{name}" for k in range(4))):
        capsule = cython_special.__pyx_capi__.get(exported)
        signature = _capsule_name(capsule) if capsule is not None else b""
        if form := known.get(signature.decode()):
            return SciPyFunction(*form, capsule_pointer(capsule, signature))
    return None


def _capsule_name(capsule: Any) -> bytes:
    prototype = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)
    return prototype(("PyCapsule_GetName", ctypes.pythonapi))(capsule)


def _loop(name: str) -> SciPyFunction | None:
    """The loop of a ufunc, if it is where it should be and computes what the ufunc does."""
    from scipy.special import _ufuncs

    function = getattr(_ufuncs, name, None)
    if problem() or not isinstance(function, np.ufunc):
        return None
    signature = f"{'d' * function.nin}->{'d' * function.nout}"
    fields = UFuncFields.from_address(id(function))
    if signature not in function.types or not _reads_right(fields, function):
        return None
    k = function.types.index(signature)
    found = SciPyFunction(LOOP, function.nin, function.nout, fields.functions[k] or 0, fields.data[k] or 0)
    return found if found.code and found.data and _computes_right(found, function) else None


def _reads_right(fields: Any, function: np.ufunc) -> bool:
    """Whether what we read is what Python says."""
    said = (function.nin, function.nout, function.nargs, function.ntypes, function.__name__.encode())
    return said == (fields.nin, fields.nout, fields.nargs, fields.ntypes, fields.name)


def _computes_right(loop: SciPyFunction, function: np.ufunc) -> bool:
    """Whether a call of the loop gives what a call of the function gives, at two places."""
    n = loop.inputs + loop.outputs
    arrays = [np.array([2.0, 3.0]) for _ in range(n)]
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(loop.code)
    pointers = (ctypes.c_void_p * n)(*(a.ctypes.data for a in arrays))
    steps = (ctypes.c_ssize_t * n)(*(a.itemsize for a in arrays))
    call(pointers, ctypes.byref(ctypes.c_ssize_t(2)), steps, loop.data)
    wanted = function(*arrays[: loop.inputs])
    results = wanted if isinstance(wanted, tuple) else (wanted,)
    return all(a.tobytes() == b.tobytes() for a, b in zip(arrays[loop.inputs :], results, strict=True))
