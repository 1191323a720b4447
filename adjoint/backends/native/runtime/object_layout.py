"""What the compiled entries know of CPython's and NumPy's objects, and the test of it against real ones."""

from __future__ import annotations

import ctypes
import functools
import struct
import sys
import sysconfig
from typing import Any

import numpy as np

from adjoint.core import dispatch
from adjoint.core.tensor import Tensor

# Offsets in PyObject, PyArrayObject, the float objects and lists, checked by `problem`. A tuple's items follow its head.
TYPE, VALUE, LENGTH, LIST_ITEMS = 8, 16, 16, 24
TUPLE_ITEMS = tuple.__basicsize__
DATA, NDIM, DIMENSIONS, DESCR, FLAGS = 16, 24, 32, 56, 64
CODE = 24  # in a dtype: kind, character, byte order, an unused byte, and the type's number in the last four
NUMPY_ABI = 0x02000000
FIRST_OF_OTHERS = 256  # the numbers of dtypes that are not NumPy's own, such as bfloat16, begin here
ARRAY_TYPE, NEW_FROM_DESCR, SET_HANDLER = (
    2,
    94,
    304,
)  # places in NumPy's table of C functions; they never change within one ABI

PYTHON = (
    "Py_IncRef", "Py_DecRef", "PyList_New", "PyList_SetItem", "PyTuple_New", "PyDict_New", "PyDict_Size", "PyDict_Next",
    "PyDict_SetItem", "PyErr_NoMemory", "PyObject_VectorcallDict", "PyContextVar_Get", "PyType_GenericAlloc",
    "PyDict_GetItemWithError", "PyErr_Occurred", "PyEval_SaveThread", "PyEval_RestoreThread", "PyMem_RawMalloc", "PyMem_RawFree",
)  # fmt: skip


def address_of(function: Any) -> int:
    """The address of a C function that ctypes has found."""
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


def numpy_api() -> Any:
    """NumPy's table of C functions."""
    from numpy._core._multiarray_umath import _ARRAY_API

    return (ctypes.c_void_p * (SET_HANDLER + 1)).from_address(capsule_pointer(_ARRAY_API, None))


def capsule_pointer(capsule: Any, name: bytes | None) -> int:
    """The address that a PyCapsule of this name holds."""
    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    return prototype(("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, name)


@functools.cache
def problem() -> str | None:
    """Why the entries cannot be trusted here, None when it can: every assumption is held against real objects."""
    if sys.implementation.name != "cpython":
        return f"the interpreter is {sys.implementation.name}"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "the interpreter has no GIL"
    if sys.byteorder != "little" or struct.calcsize("P") != 8:
        return "the machine is not a little-endian one of 64 bits"
    if object.__basicsize__ != VALUE or float.__basicsize__ != VALUE + 8 or np.ndarray.__basicsize__ < FLAGS + 4:
        return "objects have another size here"
    if not all(hasattr(ctypes.pythonapi, name) for name in PYTHON):
        return "the interpreter lacks a C function"
    api = numpy_api()
    if ctypes.CFUNCTYPE(ctypes.c_uint)(api[0])() != NUMPY_ABI or api[ARRAY_TYPE] != id(np.ndarray):
        return "NumPy has another binary interface"
    samples = [np.zeros((2, 3), np.float32)[:, ::2], np.array(1.5), np.zeros((4, 1, 5, 2), np.int8), np.zeros(0, ">i4")]
    if not all(reads_right(a) for a in samples):
        return "arrays are laid out in another way"
    if not all(read(x, VALUE, c_type) == 1.5 for x, c_type in NUMBERS):
        return "float objects are laid out in another way"
    if not all(holds_right(x) for x in ([], [1.5], ["a", "b", "c"], (), (1.5,), ("a", "b", "c"))):
        return "lists and tuples are laid out in another way"
    if len(tensor_slots()) != 3 or Tensor.__dictoffset__ or Tensor.__itemsize__:
        return "Tensors are laid out in another way"
    return None


NUMBERS = ((1.5, ctypes.c_double), (np.float64(1.5), ctypes.c_double), (np.float32(1.5), ctypes.c_float))


def dtype_code(dtype: np.dtype) -> int:
    """Eight bytes of a dtype that are equal for equal dtypes, even where one came out of a pickle and is another object.

    Dtypes that say more elsewhere, of strings, records and times, get 0, which no dtype has.
    """
    if dtype.kind in "OSUVmM" and dtype.num < FIRST_OF_OTHERS:
        return 0
    return read(dtype, CODE, ctypes.c_int64)


def reads_right(array: np.ndarray) -> bool:
    """Whether the fields of an array lie where the entries look for them."""
    ndim = read(array, NDIM, ctypes.c_int)
    if read(array, TYPE, ctypes.c_void_p) != id(np.ndarray) or ndim != array.ndim:
        return False
    shape, dtype = read(array, DIMENSIONS, ctypes.c_void_p), array.dtype
    return (
        read(array, DATA, ctypes.c_void_p) == array.__array_interface__["data"][0]
        and read(array, DESCR, ctypes.c_void_p) == id(array.dtype)
        and read(array, FLAGS, ctypes.c_int) == array.flags.num
        and read(dtype, CODE, ctypes.c_char * 3) == (dtype.kind + dtype.char + dtype.byteorder).encode()
        and read(dtype, CODE + 4, ctypes.c_int) == dtype.num
        and (not ndim or tuple((ctypes.c_int64 * ndim).from_address(shape)) == array.shape)
    )


def holds_right(xs: list | tuple) -> bool:
    """Whether the items of a list or tuple lie where the entries look for them."""
    items = read(xs, LIST_ITEMS, ctypes.c_void_p) if type(xs) is list else id(xs) + TUPLE_ITEMS
    return read(xs, LENGTH, ctypes.c_int64) == len(xs) and (
        not xs or tuple((ctypes.c_void_p * len(xs)).from_address(items)) == tuple(map(id, xs))
    )


@functools.cache
def tensor_slots() -> dict[str, int]:
    """Where a Tensor holds its value, its trace and what the trace adds: looked up in one."""
    parts: dict[str, Any] = {"value": object(), "trace": dispatch.Trace(), "extra": object()}
    x = dispatch.make(**parts)
    words = {read(x, k, ctypes.c_void_p): k for k in range(object.__basicsize__, Tensor.__basicsize__, 8)}
    return {name: words[id(part)] for name, part in parts.items() if id(part) in words}


def read(x: Any, offset: int, c_type: Any) -> Any:
    """A field of an object in memory."""
    return c_type.from_address(id(x) + offset).value
