"""The compiled entry: a C function that checks and unpacks NumPy arrays by their struct fields, and its self-test.

It is the same code for every kernel. What differs (specs, kernel, arena) is in a table of 64-bit integers:

    kernel, inputs, outputs, flags, arena, bytes of arena, arena in use, portable callable,
    then for each input and output: dtype, number of axes, numbers allowed, code of the dtype, length of each axis
"""

from __future__ import annotations

import ctypes
import functools
import struct
import sys
import sysconfig
from typing import Any

import numpy as np

from adjoint.backends.native.jit import Library, compile_ir

# Offsets in PyObject, PyArrayObject and the float objects, checked by `problem`. A tuple's items follow its head.
TYPE, VALUE = 8, 16
DATA, NDIM, DIMENSIONS, DESCR, FLAGS = 16, 24, 32, 56, 64
CODE = 24  # in a dtype: kind, character, byte order, an unused byte, and the type's number in the last four
NUMPY_ABI = 0x02000000
FIRST_OF_OTHERS = 256  # the numbers of dtypes that are not NumPy's own, such as bfloat16, begin here
ARRAY_TYPE, NEW_FROM_DESCR = 2, 94  # places in NumPy's table of C functions; they never change within one ABI

PYTHON = (
    "Py_IncRef", "Py_DecRef", "PyList_New", "PyList_SetItem", "PyErr_NoMemory", "PyObject_VectorcallDict",
    "PyEval_SaveThread", "PyEval_RestoreThread", "PyMem_RawMalloc", "PyMem_RawFree",
)  # fmt: skip

ENTRY = """
@adj_ndarray = external global i8
@adj_float = external global i8
@adj_float64 = external global i8
@adj_float32 = external global i8
declare ptr @adj_new_array(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyList_New(i64)
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare ptr @PyErr_NoMemory()
declare ptr @PyObject_VectorcallDict(ptr, ptr, i64, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyMem_RawMalloc(i64)
declare void @PyMem_RawFree(ptr)

define ptr @adj_enter(ptr %self, ptr %args, i64 %given) {{
entry:
  %first = getelementptr i8, ptr %self, i64 {tuple_items}
  %holder = load ptr, ptr %first
  %table.at = getelementptr i8, ptr %holder, i64 {data}
  %table = load ptr, ptr %table.at
  %inputs.at = getelementptr i64, ptr %table, i64 1
  %inputs = load i64, ptr %inputs.at
  %outputs.at = getelementptr i64, ptr %table, i64 2
  %outputs = load i64, ptr %outputs.at
  %flags.at = getelementptr i64, ptr %table, i64 3
  %flags = load i64, ptr %flags.at
  %records = getelementptr i64, ptr %table, i64 8
  %expected = icmp eq i64 %given, %inputs
  br i1 %expected, label %prepare, label %portable

portable:
  %portable.at = getelementptr i64, ptr %table, i64 7
  %callable = load ptr, ptr %portable.at
  %converted = call ptr @PyObject_VectorcallDict(ptr %callable, ptr %args, i64 %given, ptr null)
  ret ptr %converted

prepare:
  %arrays = add i64 %inputs, %outputs
  %places = add i64 %arrays, 1
  %buffers = alloca ptr, i64 %places
  %numbers = alloca i64, i64 %inputs
  br label %input

input:
  %i = phi i64 [ 0, %prepare ], [ %i.next, %accept ]
  %record = phi ptr [ %records, %prepare ], [ %record.next, %accept ]
  %i.more = icmp slt i64 %i, %inputs
  br i1 %i.more, label %check, label %allocate
check:
  %arg.at = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.at
  %type.at = getelementptr i8, ptr %arg, i64 {type}
  %type = load ptr, ptr %type.at
  %ndim.at = getelementptr i64, ptr %record, i64 1
  %ndim = load i64, ptr %ndim.at
  %shape = getelementptr i64, ptr %record, i64 4
  %is.array = icmp eq ptr %type, @adj_ndarray
  br i1 %is.array, label %array, label %number

array:
  %arg.dtype.at = getelementptr i8, ptr %arg, i64 {descr}
  %arg.dtype = load ptr, ptr %arg.dtype.at
  %arg.code.at = getelementptr i8, ptr %arg.dtype, i64 {code}
  %arg.code = load i64, ptr %arg.code.at
  %code.at = getelementptr i64, ptr %record, i64 3
  %code = load i64, ptr %code.at
  %same.dtype = icmp eq i64 %arg.code, %code
  %arg.ndim.at = getelementptr i8, ptr %arg, i64 {ndim}
  %arg.ndim32 = load i32, ptr %arg.ndim.at
  %arg.ndim = sext i32 %arg.ndim32 to i64
  %same.ndim = icmp eq i64 %arg.ndim, %ndim
  %arg.flags.at = getelementptr i8, ptr %arg, i64 {flags}
  %arg.flags = load i32, ptr %arg.flags.at
  %layout = and i32 %arg.flags, 257
  %simple = icmp eq i32 %layout, 257
  %same = and i1 %same.dtype, %same.ndim
  %plain = and i1 %same, %simple
  br i1 %plain, label %measure, label %portable
measure:
  %arg.shape.at = getelementptr i8, ptr %arg, i64 {dimensions}
  %arg.shape = load ptr, ptr %arg.shape.at
  %arg.data.at = getelementptr i8, ptr %arg, i64 {data}
  %arg.data = load ptr, ptr %arg.data.at
  br label %axis
axis:
  %k = phi i64 [ 0, %measure ], [ %k.next, %compare ]
  %k.more = icmp slt i64 %k, %ndim
  br i1 %k.more, label %compare, label %accept
compare:
  %length.at = getelementptr i64, ptr %shape, i64 %k
  %length = load i64, ptr %length.at
  %arg.length.at = getelementptr i64, ptr %arg.shape, i64 %k
  %arg.length = load i64, ptr %arg.length.at
  %k.next = add i64 %k, 1
  %same.length = icmp eq i64 %length, %arg.length
  br i1 %same.length, label %axis, label %portable

number:
  %kind.at = getelementptr i64, ptr %record, i64 2
  %kind = load i64, ptr %kind.at
  %value.at = getelementptr i8, ptr %arg, i64 {value}
  %slot = getelementptr i64, ptr %numbers, i64 %i
  %is.float = icmp eq ptr %type, @adj_float
  switch i64 %kind, label %portable [ i64 1, label %wide  i64 2, label %narrow ]
wide:
  %is.float64 = icmp eq ptr %type, @adj_float64
  %is.wide = or i1 %is.float, %is.float64
  br i1 %is.wide, label %wide.take, label %portable
wide.take:
  %wide.value = load double, ptr %value.at
  store double %wide.value, ptr %slot
  br label %accept
narrow:
  br i1 %is.float, label %narrow.round, label %narrow.check
narrow.round:
  %exact.value = load double, ptr %value.at
  %rounded = fptrunc double %exact.value to float
  store float %rounded, ptr %slot
  br label %accept
narrow.check:
  %is.float32 = icmp eq ptr %type, @adj_float32
  br i1 %is.float32, label %narrow.take, label %portable
narrow.take:
  %narrow.value = load float, ptr %value.at
  store float %narrow.value, ptr %slot
  br label %accept

accept:
  %pointer = phi ptr [ %arg.data, %axis ], [ %slot, %wide.take ], [ %slot, %narrow.round ], [ %slot, %narrow.take ]
  %buffer.at = getelementptr ptr, ptr %buffers, i64 %i
  store ptr %pointer, ptr %buffer.at
  %record.next = getelementptr i64, ptr %shape, i64 %ndim
  %i.next = add i64 %i, 1
  br label %input

allocate:
  %single.bit = and i64 %flags, 2
  %single = icmp ne i64 %single.bit, 0
  br i1 %single, label %output, label %make.list
make.list:
  %list = call ptr @PyList_New(i64 %outputs)
  %no.list = icmp eq ptr %list, null
  br i1 %no.list, label %failed, label %output
output:
  %result = phi ptr [ null, %allocate ], [ %list, %make.list ], [ %result.next, %stored ]
  %o = phi i64 [ 0, %allocate ], [ 0, %make.list ], [ %o.next, %stored ]
  %made = phi ptr [ %record, %allocate ], [ %record, %make.list ], [ %made.next, %stored ]
  %o.more = icmp slt i64 %o, %outputs
  br i1 %o.more, label %new, label %reserve
new:
  %new.dtype = load ptr, ptr %made
  %new.ndim.at = getelementptr i64, ptr %made, i64 1
  %new.ndim = load i64, ptr %new.ndim.at
  %new.ndim32 = trunc i64 %new.ndim to i32
  %new.shape = getelementptr i64, ptr %made, i64 4
  call void @Py_IncRef(ptr %new.dtype)
  %fresh = call ptr @adj_new_array(ptr @adj_ndarray, ptr %new.dtype, i32 %new.ndim32, ptr %new.shape, ptr null, ptr null, i32 0, ptr null)
  %no.fresh = icmp eq ptr %fresh, null
  br i1 %no.fresh, label %drop, label %fill
fill:
  %fresh.data.at = getelementptr i8, ptr %fresh, i64 {data}
  %fresh.data = load ptr, ptr %fresh.data.at
  %place = add i64 %inputs, %o
  %place.at = getelementptr ptr, ptr %buffers, i64 %place
  store ptr %fresh.data, ptr %place.at
  br i1 %single, label %stored, label %enlist
enlist:
  %ignored = call i32 @PyList_SetItem(ptr %result, i64 %o, ptr %fresh)
  br label %stored
stored:
  %result.next = phi ptr [ %fresh, %fill ], [ %result, %enlist ]
  %made.next = getelementptr i64, ptr %new.shape, i64 %new.ndim
  %o.next = add i64 %o, 1
  br label %output

reserve:
  %arena.at = getelementptr i64, ptr %table, i64 4
  %arena = load ptr, ptr %arena.at
  %bytes.at = getelementptr i64, ptr %table, i64 5
  %bytes = load i64, ptr %bytes.at
  %used.at = getelementptr i64, ptr %table, i64 6
  %used = load i64, ptr %used.at
  %free = icmp eq i64 %used, 0
  br i1 %free, label %run, label %borrow
borrow:
  ; Another thread is in this kernel: the GIL guards the mark, not the kernel.
  %padded = add i64 %bytes, 64
  %block = call ptr @PyMem_RawMalloc(i64 %padded)
  %no.block = icmp eq ptr %block, null
  br i1 %no.block, label %exhausted, label %align
align:
  %past = getelementptr i8, ptr %block, i64 63
  %spare = call ptr @llvm.ptrmask.p0.i64(ptr %past, i64 -64)
  br label %run
run:
  %own = phi ptr [ null, %reserve ], [ %block, %align ]
  %scratch = phi ptr [ %arena, %reserve ], [ %spare, %align ]
  store i64 1, ptr %used.at
  %scratch.at = getelementptr ptr, ptr %buffers, i64 %arrays
  store ptr %scratch, ptr %scratch.at
  %kernel = load ptr, ptr %table
  %release.bit = and i64 %flags, 1
  %release = icmp ne i64 %release.bit, 0
  br i1 %release, label %run.freely, label %run.shortly
run.shortly:
  call void %kernel(ptr %buffers)
  br label %clean
run.freely:
  %thread = call ptr @PyEval_SaveThread()
  call void %kernel(ptr %buffers)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %clean
clean:
  %borrowed = icmp ne ptr %own, null
  br i1 %borrowed, label %give.back, label %unmark
give.back:
  call void @PyMem_RawFree(ptr %own)
  ret ptr %result
unmark:
  store i64 0, ptr %used.at
  ret ptr %result

exhausted:
  %error = call ptr @PyErr_NoMemory()
  br label %drop
drop:
  %nothing = icmp eq ptr %result, null
  br i1 %nothing, label %failed, label %release.partial
release.partial:
  call void @Py_DecRef(ptr %result)
  br label %failed
failed:
  ret ptr null
}}
declare ptr @llvm.ptrmask.p0.i64(ptr, i64)
"""


class PyMethodDef(ctypes.Structure):
    """CPython's description of a C function."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


@functools.cache
def entry() -> Library:
    """The compiled entry, made at first use."""
    text = ENTRY.format(
        tuple_items=tuple.__basicsize__,
        type=TYPE,
        value=VALUE,
        data=DATA,
        ndim=NDIM,
        dimensions=DIMENSIONS,
        descr=DESCR,
        flags=FLAGS,
        code=CODE,
    )
    api = numpy_api()
    externals = {name: address_of(getattr(ctypes.pythonapi, name)) for name in PYTHON}
    externals |= {
        "adj_new_array": api[NEW_FROM_DESCR],
        "adj_ndarray": id(np.ndarray),
        "adj_float": id(float),
        "adj_float64": id(np.float64),
        "adj_float32": id(np.float32),
    }
    return compile_ir(text, ["adj_enter"], externals)


def address_of(function: Any) -> int:
    """The address of a C function that ctypes has found."""
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


def numpy_api() -> Any:
    """NumPy's table of C functions."""
    from numpy._core._multiarray_umath import _ARRAY_API

    return (ctypes.c_void_p * (NEW_FROM_DESCR + 1)).from_address(capsule_pointer(_ARRAY_API, None))


def capsule_pointer(capsule: Any, name: bytes | None) -> int:
    """The address that a PyCapsule of this name holds."""
    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    return prototype(("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, name)


@functools.cache
def problem() -> str | None:
    """Why the entry cannot be trusted here, None when it can: every assumption is held against real objects."""
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
    """Whether the fields of an array lie where the entry looks for them."""
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


def read(x: Any, offset: int, c_type: Any) -> Any:
    """A field of an object in memory."""
    return c_type.from_address(id(x) + offset).value
