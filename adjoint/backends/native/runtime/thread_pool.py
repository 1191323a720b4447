"""A parallel loop for compiled code: one pool of threads a process, itself compiled from the IR below.

`adj_parallel_for(fn, ctx, n)` calls `fn(ctx, i)` for every chunk i in 0..n-1 and returns when all have returned. The
caller takes part. Chunks are claimed one at a time, and the join counts finished chunks, not workers: a worker that
the system has put aside holds no one up. Idle workers spin for some microseconds, then sleep on a futex.
A region inside a region, or at the same time as one of another thread, runs in its caller alone.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
from collections.abc import Callable

from adjoint.backends.native.runtime.llvm_compile import compile_ir
from adjoint.core.errors import ArgumentError

SYMBOL = "adj_parallel_for"
DECLARE = f"declare void @{SYMBOL}(ptr, ptr, i64) nounwind"
SPINS = 4000  # pauses before a thread goes to sleep: 40 to 200 µs, depending on the CPU

# The number of the futex system call on Linux, and an instruction that waits a little.
FUTEX = {"x86_64": 202, "aarch64": 98}
PAUSE = {"x86_64": "@llvm.x86.sse2.pause()", "aarch64": "@llvm.aarch64.isb(i32 15)"}

INLINE = """
define {linkage} void @{name}(ptr %fn, ptr %ctx, i64 %n) nounwind {{
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %chunk, label %out
chunk:
  %i = phi i64 [ 0, %entry ], [ %next, %chunk ]
  call void %fn(ptr %ctx, i64 %i)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %chunk, label %out
out:
  ret void
}}
"""

# Each group of words that different threads write has a cache line of its own.
POOL = """
@word = internal global i64 0, align 64        ; generation << 32 | chunks not yet claimed
@fn = internal global ptr null                 ; the region: written before @word, read after a claim
@ctx = internal global ptr null
@count = internal global i64 0
@generation = internal global i32 0, align 64  ; goes up with every region; idle workers sleep on it
@sleepers = internal global i32 0
@done = internal global i32 0, align 64        ; finished chunks; the caller sleeps on it
@waiting = internal global i32 0
@busy = internal global i32 0, align 64        ; 1 while a region runs
@started = internal global i32 0               ; workers alive
@wanted = internal global i32 0                ; workers that there should be

declare i64 @syscall(i64, ...) nounwind
declare i32 @pthread_create(ptr, ptr, ptr, ptr) nounwind
declare i32 @pthread_detach(i64) nounwind
declare i32 @pthread_sigmask(i32, ptr, ptr) nounwind
declare i32 @sigfillset(ptr) nounwind
declare void {declare_pause} nounwind

define internal void @sleep_on(ptr %word, i32 %value) nounwind {{
  %r = call i64 (i64, ...) @syscall(i64 {futex}, ptr %word, i32 128, i32 %value, ptr null, ptr null, i32 0)
  ret void
}}

define internal void @wake(ptr %word, i32 %threads) nounwind {{
  %r = call i64 (i64, ...) @syscall(i64 {futex}, ptr %word, i32 129, i32 %threads, ptr null, ptr null, i32 0)
  ret void
}}

; Claim and run chunks until none is left. A claim that succeeds proves that its region is not over, so that @fn, @ctx
; and @count are still that region's.
define internal void @drain() nounwind {{
entry:
  br label %look
look:
  %w = load atomic i64, ptr @word acquire, align 8
  %left = and i64 %w, 4294967295
  %none = icmp eq i64 %left, 0
  br i1 %none, label %out, label %claim
claim:
  %less = sub i64 %w, 1
  %swap = cmpxchg ptr @word, i64 %w, i64 %less acq_rel acquire
  %mine = extractvalue {{ i64, i1 }} %swap, 1
  br i1 %mine, label %run, label %look
run:
  %fn = load ptr, ptr @fn
  %ctx = load ptr, ptr @ctx
  %n = load i64, ptr @count
  %i = sub i64 %n, %left
  call void %fn(ptr %ctx, i64 %i)
  %before = atomicrmw add ptr @done, i32 1 seq_cst
  %now = add i32 %before, 1
  %n32 = trunc i64 %n to i32
  %last = icmp eq i32 %now, %n32
  br i1 %last, label %finish, label %look
finish:
  %waiting = load atomic i32, ptr @waiting seq_cst, align 4
  %asleep = icmp ne i32 %waiting, 0
  br i1 %asleep, label %rouse, label %look
rouse:
  call void @wake(ptr @done, i32 1)
  br label %look
out:
  ret void
}}

define internal ptr @worker(ptr %unused) nounwind {{
entry:
  br label %idle
idle:
  %seen = phi i32 [ 0, %entry ], [ %now, %work ]
  br label %spin
spin:
  %k = phi i32 [ 0, %idle ], [ %k1, %pause ], [ 0, %sleep ]
  %now = load atomic i32, ptr @generation acquire, align 4
  %new = icmp ne i32 %now, %seen
  br i1 %new, label %woken, label %pause
pause:
  call void {pause}
  %k1 = add i32 %k, 1
  %again = icmp slt i32 %k1, {spins}
  br i1 %again, label %spin, label %sleep
sleep:
  %s0 = atomicrmw add ptr @sleepers, i32 1 seq_cst
  call void @sleep_on(ptr @generation, i32 %seen)
  %s1 = atomicrmw sub ptr @sleepers, i32 1 seq_cst
  br label %spin
woken:
  %started = load atomic i32, ptr @started acquire, align 4
  %wanted = load atomic i32, ptr @wanted acquire, align 4
  %spare = icmp sgt i32 %started, %wanted
  br i1 %spare, label %leave, label %work
leave:
  %fewer = sub i32 %started, 1
  %swap = cmpxchg ptr @started, i32 %started, i32 %fewer acq_rel acquire
  %gone = extractvalue {{ i32, i1 }} %swap, 1
  br i1 %gone, label %end, label %woken
end:
  ret ptr null
work:
  call void @drain()
  br label %idle
}}

; Start the workers that are missing. They block all signals, which belong to the threads of Python.
define internal void @grow() noinline cold nounwind {{
entry:
  %thread = alloca i64
  %all = alloca [128 x i8], align 16
  %old = alloca [128 x i8], align 16
  %r0 = call i32 @sigfillset(ptr %all)
  %r1 = call i32 @pthread_sigmask(i32 2, ptr %all, ptr %old)
  br label %check
check:
  %started = load atomic i32, ptr @started acquire, align 4
  %wanted = load atomic i32, ptr @wanted acquire, align 4
  %missing = icmp slt i32 %started, %wanted
  br i1 %missing, label %create, label %out
create:
  %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker, ptr null)
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %created, label %refused
created:
  %id = load i64, ptr %thread
  %r2 = call i32 @pthread_detach(i64 %id)
  %r3 = atomicrmw add ptr @started, i32 1 acq_rel
  br label %check
refused:
  store atomic i32 %started, ptr @wanted release, align 4
  br label %out
out:
  %r4 = call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  ret void
}}

define void @adj_pool_resize(i32 %workers) nounwind {{
  store atomic i32 %workers, ptr @wanted release, align 4
  %g = atomicrmw add ptr @generation, i32 1 seq_cst
  call void @wake(ptr @generation, i32 2147483647)
  ret void
}}

; In the child of a fork there are no workers, and a region of another thread will never end.
define void @adj_pool_forget() nounwind {{
  store i64 0, ptr @word
  store i32 0, ptr @sleepers
  store i32 0, ptr @waiting
  store i32 0, ptr @busy
  store i32 0, ptr @started
  ret void
}}

define void @adj_parallel_for(ptr %fn, ptr %ctx, i64 %n) nounwind {{
entry:
  %wanted = load atomic i32, ptr @wanted acquire, align 4
  %many = icmp sgt i64 %n, 1
  %helped = icmp sgt i32 %wanted, 0
  %shared = and i1 %many, %helped
  br i1 %shared, label %enter, label %alone
enter:
  %swap = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue {{ i32, i1 }} %swap, 1
  br i1 %mine, label %staff, label %alone
alone:
  call void @inline(ptr %fn, ptr %ctx, i64 %n)
  ret void
staff:
  %started = load atomic i32, ptr @started acquire, align 4
  %missing = icmp slt i32 %started, %wanted
  br i1 %missing, label %hire, label %publish
hire:
  call void @grow()
  br label %publish
publish:
  store ptr %fn, ptr @fn
  store ptr %ctx, ptr @ctx
  store i64 %n, ptr @count
  store atomic i32 0, ptr @done monotonic, align 4
  %g = load atomic i32, ptr @generation monotonic, align 4
  %g1 = add i32 %g, 1
  %g64 = zext i32 %g1 to i64
  %high = shl i64 %g64, 32
  %word = or i64 %high, %n
  store atomic i64 %word, ptr @word release, align 8
  %r = atomicrmw add ptr @generation, i32 1 seq_cst
  %sleepers = load atomic i32, ptr @sleepers seq_cst, align 4
  %asleep = icmp sgt i32 %sleepers, 0
  br i1 %asleep, label %rouse, label %work
rouse:
  %n32 = trunc i64 %n to i32
  %others = sub i32 %n32, 1
  call void @wake(ptr @generation, i32 %others)
  br label %work
work:
  call void @drain()
  %all = trunc i64 %n to i32
  br label %join
join:
  %k = phi i32 [ 0, %work ], [ %k1, %pause ]
  %done = load atomic i32, ptr @done acquire, align 4
  %over = icmp eq i32 %done, %all
  br i1 %over, label %out, label %pause
pause:
  call void {pause}
  %k1 = add i32 %k, 1
  %again = icmp slt i32 %k1, {spins}
  br i1 %again, label %join, label %sleep
sleep:
  store atomic i32 1, ptr @waiting seq_cst, align 4
  %value = load atomic i32, ptr @done seq_cst, align 4
  %late = icmp eq i32 %value, %all
  br i1 %late, label %awake, label %rest
rest:
  call void @sleep_on(ptr @done, i32 %value)
  br label %sleep
awake:
  store atomic i32 0, ptr @waiting release, align 4
  br label %out
out:
  store atomic i32 0, ptr @busy release, align 4
  ret void
}}
"""


def pool_ir(machine: str | None) -> str:
    """The pool for a Linux machine ("x86_64", "aarch64"), or with None a loop in the caller alone."""
    if machine is None:
        return INLINE.format(linkage="", name=SYMBOL)
    pause = PAUSE[machine]
    declare_pause = pause.replace("i32 15", "i32")
    inline = INLINE.format(linkage="internal", name="inline")
    return inline + POOL.format(futex=FUTEX[machine], pause=pause, declare_pause=declare_pause, spins=SPINS)


def this_machine() -> str | None:
    """The machine to make a pool for, None where there is no futex."""
    machine = platform.machine()
    return machine if sys.platform == "linux" and machine in FUTEX else None


class ThreadPool:
    """The threads of this process."""

    def __init__(self, machine: str | None, threads: int) -> None:
        self.threads = 1
        self._set_workers: Callable[[int], None] | None = None  # None where there is no futex
        controls = [] if machine is None else ["adj_pool_resize", "adj_pool_forget"]
        self.library = compile_ir(pool_ir(machine), [SYMBOL, *controls])
        if machine is not None:
            self._set_workers = ctypes.CFUNCTYPE(None, ctypes.c_int32)(self.library["adj_pool_resize"])
            self._forget = ctypes.CFUNCTYPE(None)(self.library["adj_pool_forget"])
            os.register_at_fork(after_in_child=self.after_fork)  # and so the code, which workers run, stays for ever
            self.resize(threads)

    def resize(self, threads: int) -> None:
        """Use `threads` threads from the next region on, the caller among them. Where there is no futex it stays one."""
        if self._set_workers is not None:
            self._set_workers(threads - 1)
            self.threads = threads

    def after_fork(self) -> None:
        """In a child there are no workers; the next region starts new ones."""
        self._forget()


_pool: ThreadPool | None = None
_making = threading.Lock()


def pool() -> ThreadPool:
    """The pool of this process, made at first use."""
    global _pool
    with _making:
        if _pool is None:
            _pool = ThreadPool(this_machine(), default_threads())
        return _pool


def externals() -> dict[str, int]:
    """The address of `adj_parallel_for`, for the modules that declare it (`DECLARE`)."""
    return {SYMBOL: pool().library[SYMBOL]}


def default_threads() -> int:
    """ADJOINT_NUM_THREADS, else the CPUs that this process may use."""
    wanted = os.environ.get("ADJOINT_NUM_THREADS")
    if wanted:
        return checked(wanted, "ADJOINT_NUM_THREADS")
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def checked(threads: object, name: str) -> int:
    """`threads` as a positive number."""
    try:
        count = int(threads)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        count = 0
    if not 1 <= count <= 1024:
        raise ArgumentError(f"{name} must be a number of threads from 1 to 1024, got {threads!r}")
    return count


def set_num_threads(n: int) -> None:
    """Run compiled code on `n` threads from now on; with 1 everything runs in its caller."""
    pool().resize(checked(n, "n"))


def get_num_threads() -> int:
    """How many threads compiled code runs on, the caller among them."""
    return pool().threads
