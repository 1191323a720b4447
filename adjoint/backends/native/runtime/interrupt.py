"""Ctrl-C in compiled code: loops, and graphs between two large steps, ask now and then whether to go on.

A loop counts its iterations anyway: every so many of them, some microseconds' worth, it calls `adj_poll`, which looks at the
clock and asks Python every 50 ms. In the main thread Python runs its signal handlers then; one that raises ends the kernel,
and the exception leaves the call. No Python code runs for signals in other threads, so there the arrival of a SIGINT is noted
by a handler that goes on to Python's own; it ends their kernels with KeyboardInterrupt where Python would raise that too.
A kernel that has begun to write over donated memory is not ended.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time

import numpy as np

from adjoint.backends.native.runtime.llvm_compile import Library, compile_ir
from adjoint.backends.native.runtime.object_layout import address_of

SYMBOL = "adj_poll"
DECLARE = f"declare i32 @{SYMBOL}(ptr) cold nounwind"
NO_MEMORY = "adj_no_memory"
EVERY = 50_000_000  # nanoseconds between two questions to Python

POLL = """
@adj_interrupts = external global i64
@adj_before = external global ptr
@adj_asked = external global i8
declare i32 @clock_gettime(i32, ptr)
declare i32 @pause()
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare i32 @adj_is_finalizing()
declare ptr @PyLong_FromVoidPtr(ptr)
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)
declare void @Py_DecRef(ptr)

define void @adj_on_signal(i32 %number, ptr %info, ptr %context) nounwind {{
  %r = atomicrmw add ptr @adj_interrupts, i64 1 seq_cst
  %before = load ptr, ptr @adj_before
  call void %before(i32 %number, ptr %info, ptr %context)
  ret void
}}

; Whether to end the kernel, with an exception set. The state: when Python was asked last, and signals seen until then.
define i32 @adj_poll(ptr %state) cold nounwind {{
entry:
  %time = alloca [2 x i64]
  %r0 = call i32 @clock_gettime(i32 {clock}, ptr %time)
  %seconds = load i64, ptr %time
  %nanos.at = getelementptr i64, ptr %time, i64 1
  %nanos = load i64, ptr %nanos.at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %nanos
  %last = load i64, ptr %state
  %since = sub i64 %now, %last
  %new = icmp eq i64 %last, 0
  br i1 %new, label %begin, label %look
begin:
  store i64 %now, ptr %state
  ret i32 0
look:
  %long = icmp sgt i64 %since, {every}
  br i1 %long, label %ask, label %go.on
ask:
  %over = call i32 @adj_is_finalizing()
  %ended = icmp ne i32 %over, 0
  br i1 %ended, label %wait, label %enter
wait:
  ; The interpreter is gone, and with it what this thread works for.
  %r1 = call i32 @pause()
  br label %wait
enter:
  %gil = call i32 @PyGILState_Ensure()
  %raised = call i32 @PyErr_CheckSignals()
  %stop = icmp ne i32 %raised, 0
  br i1 %stop, label %leave, label %others
others:
  %address = call ptr @PyLong_FromVoidPtr(ptr %state)
  %none = icmp eq ptr %address, null
  br i1 %none, label %leave, label %call
call:
  %answer = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr @adj_asked, ptr %address, ptr null)
  call void @Py_DecRef(ptr %address)
  %failed = icmp eq ptr %answer, null
  br i1 %failed, label %leave, label %fine
fine:
  call void @Py_DecRef(ptr %answer)
  br label %leave
leave:
  %end = phi i32 [ 1, %enter ], [ 1, %others ], [ 1, %call ], [ 0, %fine ]
  call void @PyGILState_Release(i32 %gil)
  %r2 = call i32 @clock_gettime(i32 {clock}, ptr %time)
  %seconds.now = load i64, ptr %time
  %nanos.now = load i64, ptr %nanos.at
  %whole.now = mul i64 %seconds.now, 1000000000
  %then = add i64 %whole.now, %nanos.now
  store i64 %then, ptr %state
  ret i32 %end
go.on:
  ret i32 0
}}

; Set the exception that a kernel ends with where it gets no memory.
define void @adj_no_memory(i64 %bytes, ptr %loop) cold nounwind {{
  %gil = call i32 @PyGILState_Ensure()
  %kind = load ptr, ptr @PyExc_MemoryError
  %r = call ptr (ptr, ptr, ...) @PyErr_Format(ptr %kind, ptr @adj_message, i64 %bytes, ptr %loop)
  call void @PyGILState_Release(i32 %gil)
  ret void
}}
@PyExc_MemoryError = external global ptr
@adj_message = external global i8
declare ptr @PyErr_Format(ptr, ptr, ...)
"""
MESSAGE = b"a loop keeps values of each iteration, for its derivative or its results: there are no %zd bytes for them%s"

_message = ctypes.create_string_buffer(MESSAGE)
_noted = np.zeros(2, np.int64)  # signals, and the address of the handler before ours


_making = threading.Lock()
_library: Library | None = None


def library() -> Library:
    """The compiled functions, made at first use, once: they stay for ever, a signal may come at any time."""
    global _library
    with _making:
        if _library is None:
            _library = _compiled()
        return _library


def _compiled() -> Library:
    api = ctypes.pythonapi
    names = ("PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyLong_FromVoidPtr")
    found = {name: address_of(getattr(api, name)) for name in (*names, "PyObject_CallFunctionObjArgs", "Py_DecRef")}
    over = getattr(api, "Py_IsFinalizing" if sys.version_info >= (3, 13) else "_Py_IsFinalizing")
    found |= {"adj_is_finalizing": address_of(over), "adj_asked": id(asked)}
    found |= {"adj_interrupts": _noted.ctypes.data, "adj_before": _noted.ctypes.data + 8}
    found |= {"PyErr_Format": address_of(api.PyErr_Format), "adj_message": ctypes.addressof(_message)}
    found["PyExc_MemoryError"] = ctypes.addressof(ctypes.c_void_p.in_dll(api, "PyExc_MemoryError"))
    text = POLL.format(clock=getattr(time, "CLOCK_MONOTONIC", 1), every=EVERY)
    return compile_ir(text, [SYMBOL, NO_MEMORY, "adj_on_signal"], found)


def externals() -> dict[str, int]:
    """The addresses of `adj_poll` and `adj_no_memory`, for the modules that declare them."""
    return {name: library()[name] for name in (SYMBOL, NO_MEMORY)}


def possible() -> bool:
    """Whether there is a clock to look at and an interpreter to ask."""
    return hasattr(time, "CLOCK_MONOTONIC") and sys.implementation.name == "cpython"


# ---------------------------------------------------------------- other threads than the main one


def asked(state: int) -> None:
    """What another thread's kernel asks: raises if it is to end. `state` is the address of what it remembers."""
    main = threading.main_thread()
    if threading.get_ident() == main.ident:
        return
    seen = ctypes.c_int64.from_address(state + 8)
    if not _note_signals():
        seen.value = int(_noted[0]) + 1
    elif not seen.value:
        seen.value = int(_noted[0]) + 1  # 0 stands for not known
    elif seen.value != int(_noted[0]) + 1:
        seen.value = int(_noted[0]) + 1
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            raise KeyboardInterrupt
    if not main.is_alive():
        raise KeyboardInterrupt("the main thread has ended")


def _note_signals() -> bool:
    """Put our handler of SIGINT before the one that is there, if it is not; it leads on to that one."""
    size = 256  # more than a struct sigaction has; the handler comes first in it
    action = (ctypes.c_uint64 * (size // 8))()
    sigaction = ctypes.CDLL(None).sigaction
    mine = library()["adj_on_signal"]
    if sigaction(int(signal.SIGINT), None, action) != 0 or action[0] in (0, 1):  # by default, ignored
        return False
    if action[0] == mine:
        return True
    _noted[1] = action[0]
    action[0] = mine
    return sigaction(int(signal.SIGINT), action, None) == 0
