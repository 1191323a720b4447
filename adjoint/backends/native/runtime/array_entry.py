"""The compiled entry: a C function that checks and unpacks NumPy arrays by their struct fields.

It is the same code for every kernel. What differs (specs, kernel, arena) is in a table of 64-bit integers:

    kernel, inputs, outputs, flags, arena, bytes of arena, arena in use, portable callable,
    then for each input and output a record: dtype, number of axes, the numbers that may stand for an input or the allocator of an
    output (0: NumPy's own), code of the dtype, length of each axis
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.backends.native.runtime import object_layout
from adjoint.backends.native.runtime.llvm_compile import Library, compile_ir
from adjoint.core.tensor import Tensor

# What both ways in are made of: this one, of arrays alone, and the one of containers in `container_call.py`.
PARTS = """
@adj_ndarray = external global i8
@adj_float = external global i8
@adj_float64 = external global i8
@adj_float32 = external global i8
declare ptr @adj_new_array(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare ptr @adj_set_allocator(ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyList_New(i64)
declare ptr @PyErr_NoMemory()
declare ptr @PyErr_Occurred()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyMem_RawMalloc(i64)
declare void @PyMem_RawFree(ptr)
declare ptr @llvm.ptrmask.p0.i64(ptr, i64)

; Whether an array is as the record says; then its data's address is put in its place.
define internal i1 @adj_array(ptr %arg, ptr %record, ptr %place) {{
entry:
  %ndim.at = getelementptr i64, ptr %record, i64 1
  %ndim = load i64, ptr %ndim.at
  %code.at = getelementptr i64, ptr %record, i64 3
  %code = load i64, ptr %code.at
  %shape = getelementptr i64, ptr %record, i64 4
  %arg.dtype.at = getelementptr i8, ptr %arg, i64 {descr}
  %arg.dtype = load ptr, ptr %arg.dtype.at
  %arg.code.at = getelementptr i8, ptr %arg.dtype, i64 {code}
  %arg.code = load i64, ptr %arg.code.at
  %same.dtype = icmp eq i64 %arg.code, %code
  %arg.ndim.at = getelementptr i8, ptr %arg, i64 {ndim}
  %arg.ndim32 = load i32, ptr %arg.ndim.at
  %arg.ndim = sext i32 %arg.ndim32 to i64
  %same.ndim = icmp eq i64 %arg.ndim, %ndim
  %arg.flags.at = getelementptr i8, ptr %arg, i64 {flags}
  %arg.flags = load i32, ptr %arg.flags.at
  %order = and i32 %arg.flags, 257
  %simple = icmp eq i32 %order, 257
  %same = and i1 %same.dtype, %same.ndim
  %plain = and i1 %same, %simple
  %arg.shape.at = getelementptr i8, ptr %arg, i64 {dimensions}
  %arg.shape = load ptr, ptr %arg.shape.at
  br i1 %plain, label %axis, label %refuse
axis:
  %k = phi i64 [ 0, %entry ], [ %k.next, %compare ]
  %k.more = icmp slt i64 %k, %ndim
  br i1 %k.more, label %compare, label %accept
compare:
  %length.at = getelementptr i64, ptr %shape, i64 %k
  %length = load i64, ptr %length.at
  %arg.length.at = getelementptr i64, ptr %arg.shape, i64 %k
  %arg.length = load i64, ptr %arg.length.at
  %k.next = add i64 %k, 1
  %same.length = icmp eq i64 %length, %arg.length
  br i1 %same.length, label %axis, label %refuse
accept:
  %arg.data.at = getelementptr i8, ptr %arg, i64 {data}
  %arg.data = load ptr, ptr %arg.data.at
  store ptr %arg.data, ptr %place
  ret i1 true
refuse:
  ret i1 false
}}

; Whether a number can stand for the 0-d array of the record; then it is copied to the slot.
define internal i1 @adj_number(ptr %arg, ptr %type, ptr %record, ptr %place, ptr %slot) {{
  %kind.at = getelementptr i64, ptr %record, i64 2
  %kind = load i64, ptr %kind.at
  %value.at = getelementptr i8, ptr %arg, i64 {value}
  %is.float = icmp eq ptr %type, @adj_float
  store ptr %slot, ptr %place
  switch i64 %kind, label %refuse [ i64 1, label %wide  i64 2, label %narrow ]
wide:
  %is.float64 = icmp eq ptr %type, @adj_float64
  %is.wide = or i1 %is.float, %is.float64
  br i1 %is.wide, label %wide.take, label %refuse
wide.take:
  %wide.value = load double, ptr %value.at
  store double %wide.value, ptr %slot
  ret i1 true
narrow:
  br i1 %is.float, label %narrow.round, label %narrow.check
narrow.round:
  %exact.value = load double, ptr %value.at
  %rounded = fptrunc double %exact.value to float
  store float %rounded, ptr %slot
  ret i1 true
narrow.check:
  %is.float32 = icmp eq ptr %type, @adj_float32
  br i1 %is.float32, label %narrow.take, label %refuse
narrow.take:
  %narrow.value = load float, ptr %value.at
  store float %narrow.value, ptr %slot
  ret i1 true
refuse:
  ret i1 false
}}

; A new array as the record says, or null with an exception; its data's address is put in its place.
define internal ptr @adj_new(ptr %record, ptr %place) {{
  %dtype = load ptr, ptr %record
  %ndim.at = getelementptr i64, ptr %record, i64 1
  %ndim = load i64, ptr %ndim.at
  %ndim32 = trunc i64 %ndim to i32
  %allocator.at = getelementptr i64, ptr %record, i64 2
  %allocator = load ptr, ptr %allocator.at
  %shape = getelementptr i64, ptr %record, i64 4
  %plain = icmp eq ptr %allocator, null
  br i1 %plain, label %make, label %change
change:
  ; NumPy allocates by it until it is told otherwise.
  %usual = call ptr @adj_set_allocator(ptr %allocator)
  %not.set = icmp eq ptr %usual, null
  br i1 %not.set, label %failed, label %make
make:
  %before = phi ptr [ null, %0 ], [ %usual, %change ]
  call void @Py_IncRef(ptr %dtype)
  %fresh = call ptr @adj_new_array(ptr @adj_ndarray, ptr %dtype, i32 %ndim32, ptr %shape, ptr null, ptr null, i32 0, ptr null)
  br i1 %plain, label %look, label %change.back
change.back:
  %own = call ptr @adj_set_allocator(ptr %before)
  call void @Py_DecRef(ptr %own)
  call void @Py_DecRef(ptr %before)
  br label %look
look:
  %no.array = icmp eq ptr %fresh, null
  br i1 %no.array, label %failed, label %fill
fill:
  %data.at = getelementptr i8, ptr %fresh, i64 {data}
  %data = load ptr, ptr %data.at
  store ptr %data, ptr %place
  ret ptr %fresh
failed:
  ret ptr null
}}

; Run the kernel; false, with an exception, if there is no memory for its arena or it was interrupted.
define internal i1 @adj_execute(ptr %table, ptr %buffers, i64 %arrays, i1 %release) {{
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
  %raised = call ptr @PyErr_Occurred()
  %ran = icmp eq ptr %raised, null
  %borrowed = icmp ne ptr %own, null
  br i1 %borrowed, label %give.back, label %unmark
give.back:
  call void @PyMem_RawFree(ptr %own)
  ret i1 %ran
unmark:
  store i64 0, ptr %used.at
  ret i1 %ran
exhausted:
  %error = call ptr @PyErr_NoMemory()
  ret i1 false
}}
"""

ENTRY = """
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare ptr @PyObject_VectorcallDict(ptr, ptr, i64, ptr)

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
  %i = phi i64 [ 0, %prepare ], [ %i.next, %accepted ]
  %record = phi ptr [ %records, %prepare ], [ %record.next, %accepted ]
  %i.more = icmp slt i64 %i, %inputs
  br i1 %i.more, label %check, label %allocate
check:
  %arg.at = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.at
  %type.at = getelementptr i8, ptr %arg, i64 {type}
  %type = load ptr, ptr %type.at
  %place = getelementptr ptr, ptr %buffers, i64 %i
  %slot = getelementptr i64, ptr %numbers, i64 %i
  %is.array = icmp eq ptr %type, @adj_ndarray
  br i1 %is.array, label %array, label %number
array:
  %fits = call i1 @adj_array(ptr %arg, ptr %record, ptr %place)
  br i1 %fits, label %accepted, label %portable
number:
  %stands = call i1 @adj_number(ptr %arg, ptr %type, ptr %record, ptr %place, ptr %slot)
  br i1 %stands, label %accepted, label %portable
accepted:
  %record.next = call ptr @adj_after(ptr %record)
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
  br i1 %o.more, label %new, label %run
new:
  %at = add i64 %inputs, %o
  %out.place = getelementptr ptr, ptr %buffers, i64 %at
  %fresh = call ptr @adj_new(ptr %made, ptr %out.place)
  %no.fresh = icmp eq ptr %fresh, null
  br i1 %no.fresh, label %drop, label %fill
fill:
  br i1 %single, label %stored, label %enlist
enlist:
  %ignored = call i32 @PyList_SetItem(ptr %result, i64 %o, ptr %fresh)
  br label %stored
stored:
  %result.next = phi ptr [ %fresh, %fill ], [ %result, %enlist ]
  %made.next = call ptr @adj_after(ptr %made)
  %o.next = add i64 %o, 1
  br label %output

run:
  %release.bit = and i64 %flags, 1
  %release = icmp ne i64 %release.bit, 0
  %ran = call i1 @adj_execute(ptr %table, ptr %buffers, i64 %arrays, i1 %release)
  br i1 %ran, label %done, label %drop
done:
  ret ptr %result

drop:
  %nothing = icmp eq ptr %result, null
  br i1 %nothing, label %failed, label %release.partial
release.partial:
  call void @Py_DecRef(ptr %result)
  br label %failed
failed:
  ret ptr null
}}

define internal ptr @adj_after(ptr %record) {{
  %ndim.at = getelementptr i64, ptr %record, i64 1
  %ndim = load i64, ptr %ndim.at
  %length = add i64 %ndim, 4
  %next = getelementptr i64, ptr %record, i64 %length
  ret ptr %next
}}
"""


class PyMethodDef(ctypes.Structure):
    """CPython's description of a C function."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


METH_FASTCALL = 0x80


@functools.cache
def entry() -> Library:
    """The compiled entry, made at first use."""
    return compiled(PARTS + ENTRY, "adj_enter")


def compiled(text: str, symbol: str) -> Library:
    """The machine code of an entry, with the offsets of this interpreter filled in."""
    filled = text.format(
        type=object_layout.TYPE,
        value=object_layout.VALUE,
        length=object_layout.LENGTH,
        tuple_items=object_layout.TUPLE_ITEMS,
        list_items=object_layout.LIST_ITEMS,
        data=object_layout.DATA,
        ndim=object_layout.NDIM,
        dimensions=object_layout.DIMENSIONS,
        descr=object_layout.DESCR,
        flags=object_layout.FLAGS,
        code=object_layout.CODE,
        **{f"tensor_{name}": offset for name, offset in object_layout.tensor_slots().items()},
    )
    externals = {name: object_layout.address_of(getattr(ctypes.pythonapi, name)) for name in object_layout.PYTHON}
    kinds = {"ndarray": np.ndarray, "float": float, "float64": np.float64, "float32": np.float32}
    kinds |= {"tensor": Tensor, "tuple": tuple, "list": list, "dict": dict}
    externals |= {f"adj_{name}": id(kind) for name, kind in kinds.items()}
    api = object_layout.numpy_api()
    externals |= {
        "adj_new_array": api[object_layout.NEW_FROM_DESCR],
        "adj_set_allocator": api[object_layout.SET_HANDLER],
    }
    externals["adj_none"] = id(None)
    externals["adj_not_implemented"] = id(NotImplemented)
    externals["memcmp"] = object_layout.address_of(ctypes.CDLL(None).memcmp)
    return compile_ir(filled, [symbol], externals)


def builtin(name: str, library: Library, symbol: str, tables: tuple[np.ndarray, ...], keep: Any) -> Callable[..., Any]:
    """A builtin function that runs the symbol's code, which finds the tables in the function's `self`."""
    method = PyMethodDef(name.encode(), library[symbol], METH_FASTCALL, None)
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    create = prototype(("PyCFunction_NewEx", ctypes.pythonapi))
    return create(ctypes.addressof(method), (*tables, keep, library, method), None)
