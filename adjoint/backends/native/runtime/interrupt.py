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
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.native.runtime.llvm_compile import Library, compile_ir
from adjoint.backends.native.runtime.object_layout import address_of
from adjoint.graph.control import Control, Loop
from adjoint.graph.node import Graph, Node

SYMBOL = "adj_poll"
DECLARE = f"declare i32 @{SYMBOL}(ptr) cold nounwind"
NO_MEMORY = "adj_no_memory"
EVERY = 50_000_000  # nanoseconds between two questions to Python
OFTEN = 1 << 15  # elements computed between two looks at the clock: some tens of microseconds
LARGE = 1 << 20  # elements of a step before which it is worth while to ask

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
define void @adj_no_memory(i64 %bytes) cold nounwind {{
  %gil = call i32 @PyGILState_Ensure()
  %kind = load ptr, ptr @PyExc_MemoryError
  %r = call ptr (ptr, ptr, ...) @PyErr_Format(ptr %kind, ptr @adj_message, i64 %bytes)
  call void @PyGILState_Release(i32 %gil)
  ret void
}}
@PyExc_MemoryError = external global ptr
@adj_message = external global i8
declare ptr @PyErr_Format(ptr, ptr, ...)
"""
MESSAGE = b"a loop keeps values of each iteration, for its derivative or its results: there are no %zd bytes for them"

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


# ---------------------------------------------------------------- code


class Polls:
    """What a function being written must know of its questions whether to go on."""

    def __init__(self, shared: Any) -> None:
        self.shared = shared
        self.donated: frozenset[Node] = frozenset()  # inputs that the function may overwrite
        self.given: set[str] = set()  # the addresses of those that results are written to
        self.committed = not possible()  # whether it has begun to: then it must not end before its time
        self.depth = 0  # loops around the code being written
        self.may_lack_memory = False
        self._state: str | None = None
        self._budget: str | None = None

    def may_stop(self) -> bool:
        """Whether the function may be left here, its work undone."""
        return not self.committed

    @property
    def asked(self) -> bool:
        """Whether the function may be left early anywhere."""
        return self._state is not None or self.may_lack_memory

    def state(self) -> str:
        """What is remembered between two questions."""
        if self._state is None:
            self._state = name = self.shared.alloca("[2 x i64]")
            seen = f"{name}.seen"
            self.shared.allocas += [f"  store i64 0, ptr {name}", f"  {seen} = getelementptr i64, ptr {name}, i64 1"]
            self.shared.allocas.append(f"  store i64 0, ptr {seen}")
        return self._state

    def budget(self) -> str:
        """How many elements may be computed before the next question, where loops are nested."""
        if self._budget is None:
            self._budget = self.shared.alloca_zero("i64")
        return self._budget


def weight(graph: Graph) -> int:
    """About how many elements a graph reads and computes."""
    return sum(map(step_weight, graph.calls))


def step_weight(node: Node) -> int:
    """About how many elements a step reads and computes."""
    op: Any = node.op
    if isinstance(op, Control) and op.graphs():
        inside = sum(map(weight, op.graphs().values()))
        rounds = op.iterations(op.parts(node.inputs)[1]) if isinstance(op, Loop) else 1
        return inside * max(rounds, 1)
    moved = sum(_elements(n) for n in (node, *node.inputs))
    return moved * max([*node.inputs[0].shape, 1]) if op.dense and node.inputs else moved


def _elements(node: Node) -> int:
    specs = node.spec if isinstance(node.spec, tuple) else (node.spec,)
    return sum(prod(max(n, 1) for n in s.shape) for s in specs)


def poll(frame: Any) -> None:
    """Ask whether to go on."""
    if not frame.shared.polls.may_stop():
        return
    code = frame.code
    go = code.new_label("going")
    _ask(frame, go)
    code.begin(go)


def poll_in_loop(frame: Any, count: str, body: int, step: int = 1) -> None:
    """The same every so many iterations, given the number of them and the weight of one; `count` grows by `step`."""
    if not frame.shared.polls.may_stop():
        return
    code = frame.code
    every = 1 << max(OFTEN // max(body * step, 1), 1).bit_length() - 1
    if every > 1:
        mask = (every - 1) * step
        now, go = code.new_label("poll"), code.new_label("going")
        test = code.put(f"icmp eq i64 {code.put(f'and i64 {count}, {mask}')}, {mask}")
        code.branch(test, now, go)
        code.begin(now)
        _ask(frame, go)
        code.begin(go)
    else:
        poll(frame)


def poll_after_loop(frame: Any, count: str, body: int) -> None:
    """After a loop inside another: both may be too short to ask by themselves, but not together."""
    if not frame.shared.polls.may_stop():
        return
    code = frame.code
    left = code.put(f"load i64, ptr {frame.shared.polls.budget()}")
    done = code.mul(count, max(body, 1))
    rest = code.put(f"sub i64 {left}, {done}")
    rest = code.put(f"sub i64 {rest}, 1")
    code.do(f"store i64 {rest}, ptr {frame.shared.polls.budget()}")
    now, go = code.new_label("poll"), code.new_label("going")
    code.branch(code.put(f"icmp slt i64 {rest}, 0"), now, go)
    code.begin(now)
    code.do(f"store i64 {OFTEN}, ptr {frame.shared.polls.budget()}")
    _ask(frame, go)
    code.begin(go)


def _ask(frame: Any, go: str) -> None:
    code = frame.code
    code.module.declarations[DECLARE] = None
    stop = code.put(f"call i32 @{SYMBOL}(ptr {frame.shared.polls.state()})")
    code.branch(code.put(f"icmp ne i32 {stop}, 0"), "interrupted", go)


def no_memory(frame: Any, size: str) -> None:
    """Leave the function with a MemoryError, since there are not so many bytes."""
    frame.shared.polls.may_lack_memory = True
    frame.code.module.declarations[f"declare void @{NO_MEMORY}(i64) cold nounwind"] = None
    frame.code.do(f"call void @{NO_MEMORY}(i64 {size})")
    frame.code.jump("interrupted")
