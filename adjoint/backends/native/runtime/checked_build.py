"""Bounds-checked kernels: every load and store is compared with the buffer that its address was made from.

ADJOINT_CHECKED=1, or `with checked_build.build():`, turns it on. The text of a module is rewritten before it is compiled (`bounds_checks.py`).
An access outside its buffer goes nowhere (it reads and writes a place of its own), is noted, and the call raises BoundsError,
which says what node and which instruction. Results and the arena are full of NaN before a kernel begins.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from adjoint.backends.native.runtime.llvm_compile import Library, compile_ir
from adjoint.core.errors import AdjointError

CHECK, LANES, SHADOW = "adj_check", "adj_check_lanes", "adj_bounds"
DECLARE = [
    f"declare ptr @{CHECK}(ptr, ptr, ptr, i64, i64)",
    f"declare ptr @{LANES}(ptr, ptr, ptr, i64, i64, i64)",
    f"declare ptr @{SHADOW}(ptr, ptr)",
    "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
]

# Notes of the first access outside its buffer: its number + 1, the distance from the buffer's begin, its size, the buffer's.
RUNTIME = """
@noted = external global [4 x i64]
@nowhere = internal global [4096 x i8] zeroinitializer, align 64

define ptr @adj_check(ptr %p, ptr %low, ptr %high, i64 %size, i64 %site) nounwind {
entry:
  %from = ptrtoint ptr %p to i64
  %begin = ptrtoint ptr %low to i64
  %end = ptrtoint ptr %high to i64
  %to = add i64 %from, %size
  %after = icmp uge i64 %from, %begin
  %before = icmp ule i64 %to, %end
  %forth = icmp uge i64 %to, %from
  %some = icmp ne i64 %begin, 0
  %a = and i1 %after, %before
  %b = and i1 %forth, %some
  %inside = and i1 %a, %b
  %none = icmp eq i64 %size, 0
  %fine = or i1 %inside, %none
  br i1 %fine, label %yes, label %no
yes:
  ret ptr %p
no:
  %number = add i64 %site, 1
  %swap = cmpxchg ptr @noted, i64 0, i64 %number seq_cst seq_cst
  %first = extractvalue { i64, i1 } %swap, 1
  br i1 %first, label %note, label %away
note:
  %distance = sub i64 %from, %begin
  %room = sub i64 %end, %begin
  %distance.at = getelementptr i64, ptr @noted, i64 1
  store i64 %distance, ptr %distance.at
  %size.at = getelementptr i64, ptr @noted, i64 2
  store i64 %size, ptr %size.at
  %room.at = getelementptr i64, ptr @noted, i64 3
  store i64 %room, ptr %room.at
  br label %away
away:
  ret ptr @nowhere
}

; The same for some lanes of a vector, from the first to the last that a mask has.
define ptr @adj_check_lanes(ptr %p, ptr %low, ptr %high, i64 %mask, i64 %each, i64 %site) nounwind {
entry:
  %none = icmp eq i64 %mask, 0
  br i1 %none, label %same, label %look
look:
  %first = call i64 @llvm.cttz.i64(i64 %mask, i1 true)
  %above = call i64 @llvm.ctlz.i64(i64 %mask, i1 true)
  %last = sub i64 64, %above
  %lanes = sub i64 %last, %first
  %size = mul i64 %lanes, %each
  %skipped = mul i64 %first, %each
  %begin = getelementptr i8, ptr %p, i64 %skipped
  %safe = call ptr @adj_check(ptr %begin, ptr %low, ptr %high, i64 %size, i64 %site)
  %fine = icmp eq ptr %safe, %begin
  br i1 %fine, label %same, label %away
same:
  ret ptr %p
away:
  ret ptr @nowhere
}
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.ctlz.i64(i64, i1)

; Where the bounds of a pointer are that lies on the stack at %p, in a place that begins at %low.
define ptr @adj_bounds(ptr %p, ptr %low) nounwind {
  %from = ptrtoint ptr %p to i64
  %begin = ptrtoint ptr %low to i64
  %distance = sub i64 %from, %begin
  %twice = shl i64 %distance, 1
  %back = sub i64 -32, %twice
  %at = getelementptr i8, ptr %low, i64 %back
  ret ptr %at
}
"""


class BoundsError(AdjointError, RuntimeError):
    """Compiled code reached outside of a buffer: a bug in adjoint, never in the program that runs."""


_wanted: ContextVar[bool | None] = ContextVar("checked build", default=None)


def wanted() -> bool:
    """Whether kernels compiled now are checked."""
    chosen = _wanted.get()
    return os.environ.get("ADJOINT_CHECKED", "") not in ("", "0") if chosen is None else chosen


@contextmanager
def build(on: bool = True) -> Iterator[None]:
    """Kernels compiled inside are checked."""
    token = _wanted.set(on)
    try:
        yield
    finally:
        _wanted.reset(token)


# ---------------------------------------------------------------- running


@functools.cache
def noted() -> np.ndarray:
    """What the first access outside is noted in."""
    return np.zeros(4, np.int64)


@functools.cache
def runtime() -> Library:
    return compile_ir(RUNTIME, [CHECK, LANES, SHADOW], {"noted": noted().ctypes.data}, keep=noted())


def externals() -> dict[str, int]:
    return {name: runtime()[name] for name in (CHECK, LANES, SHADOW)}


def watched(run: Callable[..., Any], sites: Sequence[str]) -> Callable[..., Any]:
    """The kernel, which raises if something was noted while it ran."""
    found = noted()

    def checked(*arrays: Any) -> Any:
        found[:] = 0
        results = run(*arrays)
        if found[0]:
            number, distance, size, room = found.tolist()
            raise BoundsError(f"{size} bytes at {distance} of a buffer of {room}: {sites[number - 1]}")
        return results

    return checked
