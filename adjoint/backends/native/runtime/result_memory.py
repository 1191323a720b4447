"""Memory of large results, held for the next ones when their arrays go.

An allocator gives large blocks back to the operating system, and to get them again costs a page fault for every few kilobytes:
more than to compute what is written there. A function that is called again and again asks for the same blocks every time, so
they are held here, through NumPy's own interface for allocators. What is held is bounded, goes when other sizes are asked for,
and goes at once by `adjoint.release_memory`.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, NamedTuple

from adjoint.backends.native.runtime.available_memory import available_bytes
from adjoint.backends.native.runtime.llvm_compile import Library, compile_ir
from adjoint.backends.native.runtime.object_layout import address_of

LARGE = 1 << 20  # bytes of a result whose memory is held
BLOCKS = 256  # that are held at most
PART = 8  # of the memory that is available at first use, the part that is held at most

# NumPy calls all of it with the GIL held. A block begins with where it was allocated and its capacity, 16 bytes before the data.
# The blocks lie in the order in which they were given back. A request takes the latest that is large enough and not by an eighth
# too large; where there is none, the oldest goes, so that memory of sizes that nobody asks for any more comes to an end.
SOURCE = f"""
%block = type {{ ptr, i64 }}
@adj_blocks = internal global [{BLOCKS} x %block] zeroinitializer
@adj_count = internal global i64 0
@adj_held = internal global i64 0
@adj_limit = internal global i64 0
declare ptr @malloc(i64)
declare void @free(ptr)
declare ptr @memcpy(ptr, ptr, i64)
declare ptr @memmove(ptr, ptr, i64)
declare ptr @memset(ptr, i32, i64)
declare ptr @llvm.ptrmask.p0.i64(ptr, i64)
declare {{ i64, i1 }} @llvm.umul.with.overflow.i64(i64, i64)

define internal ptr @adj_take(i64 %index) {{
  %at = getelementptr [{BLOCKS} x %block], ptr @adj_blocks, i64 0, i64 %index
  %data = load ptr, ptr %at
  %capacity.at = getelementptr %block, ptr %at, i64 0, i32 1
  %capacity = load i64, ptr %capacity.at
  %count = load i64, ptr @adj_count
  %count.less = sub i64 %count, 1
  store i64 %count.less, ptr @adj_count
  %held = load i64, ptr @adj_held
  %held.less = sub i64 %held, %capacity
  store i64 %held.less, ptr @adj_held
  %after = getelementptr %block, ptr %at, i64 1
  %behind = sub i64 %count.less, %index
  %bytes = mul i64 %behind, 16
  %ignored = call ptr @memmove(ptr %at, ptr %after, i64 %bytes)
  ret ptr %data
}}

define internal void @adj_drop_oldest() {{
  %data = call ptr @adj_take(i64 0)
  %raw.at = getelementptr i8, ptr %data, i64 -16
  %raw = load ptr, ptr %raw.at
  call void @free(ptr %raw)
  ret void
}}

define ptr @adj_allocate(ptr %context, i64 %size) {{
entry:
  %count = load i64, ptr @adj_count
  %eighth = lshr i64 %size, 3
  %most = add i64 %size, %eighth
  br label %look
look:
  %left = phi i64 [ %count, %entry ], [ %index, %compare ]
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %compare, label %miss
compare:
  %index = sub i64 %left, 1
  %capacity.at = getelementptr [{BLOCKS} x %block], ptr @adj_blocks, i64 0, i64 %index, i32 1
  %capacity = load i64, ptr %capacity.at
  %enough = icmp uge i64 %capacity, %size
  %close = icmp ule i64 %capacity, %most
  %fits = and i1 %enough, %close
  br i1 %fits, label %hit, label %look
hit:
  %found = call ptr @adj_take(i64 %index)
  ret ptr %found
miss:
  %large = icmp uge i64 %size, {LARGE}
  %some = icmp sgt i64 %count, 0
  %old = and i1 %large, %some
  br i1 %old, label %drop, label %fresh
drop:
  call void @adj_drop_oldest()
  br label %fresh
fresh:
  %padded = add i64 %size, 80
  %overflow = icmp ult i64 %padded, %size
  br i1 %overflow, label %none, label %ask
ask:
  %raw = call ptr @malloc(i64 %padded)
  %failed = icmp eq ptr %raw, null
  br i1 %failed, label %short, label %head
short:
  %held.blocks = load i64, ptr @adj_count
  %holds.some = icmp sgt i64 %held.blocks, 0
  br i1 %holds.some, label %drop, label %none
head:
  %past = getelementptr i8, ptr %raw, i64 79
  %data = call ptr @llvm.ptrmask.p0.i64(ptr %past, i64 -64)
  %raw.at = getelementptr i8, ptr %data, i64 -16
  store ptr %raw, ptr %raw.at
  %size.at = getelementptr i8, ptr %data, i64 -8
  store i64 %size, ptr %size.at
  ret ptr %data
none:
  ret ptr null
}}

define ptr @adj_allocate_zeros(ptr %context, i64 %items, i64 %item) {{
entry:
  %product = call {{ i64, i1 }} @llvm.umul.with.overflow.i64(i64 %items, i64 %item)
  %bytes = extractvalue {{ i64, i1 }} %product, 0
  %overflow = extractvalue {{ i64, i1 }} %product, 1
  br i1 %overflow, label %none, label %ask
ask:
  %data = call ptr @adj_allocate(ptr %context, i64 %bytes)
  %failed = icmp eq ptr %data, null
  br i1 %failed, label %none, label %clear
clear:
  %ignored = call ptr @memset(ptr %data, i32 0, i64 %bytes)
  ret ptr %data
none:
  ret ptr null
}}

define void @adj_give_back(ptr %context, ptr %data, i64 %size) {{
entry:
  %nothing = icmp eq ptr %data, null
  br i1 %nothing, label %done, label %known
known:
  %raw.at = getelementptr i8, ptr %data, i64 -16
  %raw = load ptr, ptr %raw.at
  %capacity.at = getelementptr i8, ptr %data, i64 -8
  %capacity = load i64, ptr %capacity.at
  %limit = load i64, ptr @adj_limit
  %large = icmp uge i64 %capacity, {LARGE}
  %within = icmp ule i64 %capacity, %limit
  %hold = and i1 %large, %within
  br i1 %hold, label %room, label %free
room:
  %count = load i64, ptr @adj_count
  %held = load i64, ptr @adj_held
  %held.next = add i64 %held, %capacity
  %fits = icmp ule i64 %held.next, %limit
  %free.place = icmp slt i64 %count, {BLOCKS}
  %put = and i1 %fits, %free.place
  br i1 %put, label %store, label %drop
drop:
  call void @adj_drop_oldest()
  br label %room
store:
  %at = getelementptr [{BLOCKS} x %block], ptr @adj_blocks, i64 0, i64 %count
  store ptr %data, ptr %at
  %block.capacity = getelementptr %block, ptr %at, i64 0, i32 1
  store i64 %capacity, ptr %block.capacity
  %count.next = add i64 %count, 1
  store i64 %count.next, ptr @adj_count
  store i64 %held.next, ptr @adj_held
  ret void
free:
  call void @free(ptr %raw)
  br label %done
done:
  ret void
}}

define ptr @adj_resize(ptr %context, ptr %data, i64 %size) {{
entry:
  %nothing = icmp eq ptr %data, null
  br i1 %nothing, label %new, label %known
known:
  %capacity.at = getelementptr i8, ptr %data, i64 -8
  %capacity = load i64, ptr %capacity.at
  %enough = icmp uge i64 %capacity, %size
  br i1 %enough, label %same, label %new
same:
  ret ptr %data
new:
  %old = phi i64 [ 0, %entry ], [ %capacity, %known ]
  %fresh = call ptr @adj_allocate(ptr %context, i64 %size)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %none, label %copy
copy:
  %ignored = call ptr @memcpy(ptr %fresh, ptr %data, i64 %old)
  call void @adj_give_back(ptr %context, ptr %data, i64 %old)
  ret ptr %fresh
none:
  ret ptr null
}}

define i64 @adj_release(i64 %limit) {{
entry:
  store i64 %limit, ptr @adj_limit
  %before = load i64, ptr @adj_held
  br label %look
look:
  %count = load i64, ptr @adj_count
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %drop, label %done
drop:
  call void @adj_drop_oldest()
  br label %look
done:
  ret i64 %before
}}

define i64 @adj_bytes_held() {{
  %held = load i64, ptr @adj_held
  ret i64 %held
}}
"""


class Allocator(ctypes.Structure):
    """NumPy's `PyDataMem_Handler`, of version 1."""

    _fields_ = [
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("allocate_zeros", ctypes.c_void_p),
        ("resize", ctypes.c_void_p),
        ("give_back", ctypes.c_void_p),
    ]


class ResultMemory(NamedTuple):
    """The allocator as NumPy takes it, and what it stands on. It lives as long as the process: arrays may."""

    capsule: Any
    allocator: Allocator
    library: Library
    limit: int

    def held(self) -> int:
        """Bytes that wait for results."""
        return ctypes.PYFUNCTYPE(ctypes.c_int64)(self.library["adj_bytes_held"])()

    def release(self) -> int:
        """Give back all that waits; the number of bytes."""
        return ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(self.library["adj_release"])(self.limit)


@functools.cache
def result_memory() -> ResultMemory:
    """The allocator of large results, made at first use."""
    parts = ("adj_allocate", "adj_allocate_zeros", "adj_resize", "adj_give_back")
    libc = ctypes.CDLL(None)
    externals = {name: address_of(getattr(libc, name)) for name in ("malloc", "free", "memcpy", "memmove", "memset")}
    library = compile_ir(SOURCE, [*parts, "adj_release", "adj_bytes_held"], externals)
    allocator = Allocator(b"adjoint", 1, None, *[library[name] for name in parts])
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    capsule = make(("PyCapsule_New", ctypes.pythonapi))(ctypes.addressof(allocator), b"mem_handler", None)
    memory = ResultMemory(capsule, allocator, library, (available_bytes() or 2 << 30) // PART)
    memory.release()  # nothing yet: it sets the limit
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))
    _made.append(memory)
    return memory


_made: list[ResultMemory] = []


def release() -> int:
    """Give back all memory that waits for results; the number of bytes."""
    return sum(memory.release() for memory in _made)
