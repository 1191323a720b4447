"""The pool: every chunk once, whatever else happens in the process."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from adjoint.backends.native.runtime import llvm_compile, thread_pool

linux = pytest.mark.skipif(thread_pool.this_machine() is None, reason="no futex here")

CHUNK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)

# ctx: an array of int64, and the number of repetitions in front of it.
KERNELS = (
    thread_pool.DECLARE
    + """
declare i32 @usleep(i32)
define internal void @count(ptr %ctx, i64 %i) nounwind {
  %p = getelementptr i64, ptr %ctx, i64 %i
  %v = load i64, ptr %p
  %w = add i64 %v, 1
  store i64 %w, ptr %p
  ret void
}
define internal void @nap(ptr %ctx, i64 %i) nounwind {
  %r = call i32 @usleep(i32 3000)
  call void @count(ptr %ctx, i64 %i)
  ret void
}
define internal void @row(ptr %ctx, i64 %i) nounwind {
  %o = mul i64 %i, 8
  %p = getelementptr i64, ptr %ctx, i64 %o
  call void @adj_parallel_for(ptr @count, ptr %p, i64 8)
  ret void
}
define void @repeat(ptr %body, ptr %ctx, i64 %n, i64 %times) nounwind {
entry:
  br label %l
l:
  %k = phi i64 [ 0, %entry ], [ %k1, %l ]
  call void @adj_parallel_for(ptr %body, ptr %ctx, i64 %n)
  %k1 = add i64 %k, 1
  %m = icmp slt i64 %k1, %times
  br i1 %m, label %l, label %o
o:
  ret void
}
define void @counting(ptr %ctx, i64 %n, i64 %times) nounwind {
  call void @repeat(ptr @count, ptr %ctx, i64 %n, i64 %times)
  ret void
}
define void @napping(ptr %ctx, i64 %n, i64 %times) nounwind {
  call void @repeat(ptr @nap, ptr %ctx, i64 %n, i64 %times)
  ret void
}
define void @nested(ptr %ctx, i64 %n, i64 %times) nounwind {
  call void @repeat(ptr @row, ptr %ctx, i64 %n, i64 %times)
  ret void
}
"""
)


class Runner:
    """Calls the kernels on fresh counters, over a given pool."""

    def __init__(self, pool: thread_pool.ThreadPool) -> None:
        externals = {thread_pool.SYMBOL: pool.library[thread_pool.SYMBOL]}
        self.library = llvm_compile.compile_ir(KERNELS, ["counting", "napping", "nested"], externals, keep=pool)

    def __call__(self, kernel: str, n: int, times: int = 1, size: int | None = None) -> np.ndarray:
        counts = np.zeros(max(1, size or n), np.int64)
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(self.library[kernel])
        function(counts.ctypes.data, n, times)
        return counts[: size or n]


@pytest.fixture(scope="module")
def run() -> Runner:
    return Runner(thread_pool.pool())


@pytest.fixture(params=[1, 2, 4])
def count(request: pytest.FixtureRequest) -> Iterator[int]:
    before = thread_pool.get_num_threads()
    thread_pool.set_num_threads(request.param)
    yield request.param
    thread_pool.set_num_threads(before)


@pytest.fixture
def two() -> Iterator[None]:
    before = thread_pool.get_num_threads()
    thread_pool.set_num_threads(2)
    yield
    thread_pool.set_num_threads(before)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 64, 1000])
def test_every_chunk_runs_once(run: Runner, count: int, n: int) -> None:
    assert (run("counting", n, times=300) == 300).all()


def test_nested_regions(run: Runner, count: int) -> None:
    assert (run("nested", 5, times=200, size=40) == 200).all()


def test_sleepers_wake_up(run: Runner, count: int) -> None:
    """Regions far enough apart for the workers to sleep, chunks long enough for the caller to."""
    for _ in range(4):
        assert (run("napping", 5) == 1).all()
        time.sleep(0.002)


@linux
def test_two_threads_share_the_work(run: Runner, two: None) -> None:
    """Chunks that only sleep overlap even on one CPU; which thread ran them shows in a Python callback."""
    names = set()

    def chunk(ctx: int, i: int) -> None:
        names.add(threading.get_native_id())
        time.sleep(0.005)

    parallel_for(chunk, 8)
    assert len(names) == 2


def parallel_for(chunk: object, n: int) -> None:
    callback = CHUNK(chunk)
    prototype = ctypes.CFUNCTYPE(None, CHUNK, ctypes.c_void_p, ctypes.c_int64)
    prototype(thread_pool.externals()[thread_pool.SYMBOL])(callback, None, n)


@linux
def test_growing_and_shrinking(run: Runner, two: None) -> None:
    """After each change exactly the wanted threads are there."""
    for n in (3, 1, 4, 2, 2, 5, 1):
        thread_pool.set_num_threads(n)
        assert thread_pool.get_num_threads() == n
        assert (run("counting", 50, times=20) == 20).all()
        assert wait_for(lambda n=n: len(worker_states()) == n - 1), (n, worker_states())


def worker_states() -> list[str]:
    """The state of each worker as the kernel knows it: R, S, ..."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # the thread has just ended
            lines = (task / "status").read_text().splitlines()
            status = dict(line.split(":\t") for line in lines if ":\t" in line)
            blocked = int(status["SigBlk"], 16)
            # The mark of a worker: signals are left to the threads of Python.
            if all(blocked >> (signal - 1) & 1 for signal in (1, 2, 10, 14, 15)):
                found.append(status["State"][0])
    return found


def wait_for(condition, seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


def test_several_python_threads_at_once(run: Runner, count: int) -> None:
    """Both sizes of chunks, from more callers than there are workers; the GIL is free in a ctypes call."""
    bad = []

    def work(kernel: str, n: int, times: int) -> None:
        for _ in range(5):
            if not (run(kernel, n, times=times) == times).all():
                bad.append(kernel)

    callers = [threading.Thread(target=work, args=a) for a in [("counting", 64, 200), ("napping", 3, 1)] * 3]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert bad == []


@linux
@pytest.mark.filterwarnings("ignore:.*fork")  # of Python, and of JAX where another test has loaded it
def test_a_child_of_fork_has_its_own_workers(run: Runner, two: None) -> None:
    run("counting", 64)

    def child() -> None:
        good = (run("counting", 64, times=100) == 100).all()
        names = set()
        parallel_for(lambda ctx, i: (names.add(threading.get_native_id()), time.sleep(0.005)), 8)
        os._exit(0 if good and len(names) == 2 else 1)

    for _ in range(3):
        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join(20)
        assert process.exitcode == 0
    assert (run("counting", 64, times=100) == 100).all()


@linux
@pytest.mark.filterwarnings("ignore:.*fork")  # of Python, and of JAX where another test has loaded it
def test_fork_in_the_middle_of_a_region(run: Runner, two: None) -> None:
    """Another thread's region does not exist in the child, which must not wait for it."""
    other = threading.Thread(target=run, args=("napping", 40))
    other.start()
    time.sleep(0.005)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if (run("counting", 64, times=50) == 50).all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    other.join()
    assert (run("counting", 64, times=50) == 50).all()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exception_in_a_callback_leaves_the_pool_whole(run: Runner, two: None) -> None:
    seen = []

    def chunk(ctx: int, i: int) -> None:
        seen.append(i)
        raise ValueError("a chunk failed")

    parallel_for(chunk, 6)
    assert sorted(seen) == list(range(6))
    assert (run("counting", 64, times=50) == 50).all()


@linux
def test_idle_workers_sleep(run: Runner, two: None) -> None:
    run("counting", 64, times=100)
    assert wait_for(lambda: worker_states() == ["S"])


def test_without_futex_everything_runs_in_the_caller() -> None:
    pool = thread_pool.ThreadPool(None, threads=8)
    assert pool.threads == 1
    pool.resize(4)
    assert pool.threads == 1
    run = Runner(pool)
    for n in (0, 1, 7):
        assert (run("counting", n, times=20) == 20).all()
    assert (run("nested", 5, times=20, size=40) == 20).all()


@pytest.mark.parametrize("machine", thread_pool.FUTEX)
def test_the_pool_compiles_for_every_machine(machine: str) -> None:
    llvm = llvm_compile.binding()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(f"{machine}-unknown-linux-gnu")
    except RuntimeError:
        pytest.skip(f"this LLVM has no {machine}")
    with llvm.create_context() as context, llvm.parse_assembly(thread_pool.pool_ir(machine), context) as module:
        module.triple = target.triple
        module.verify()
        assert "adj_parallel_for" in target.create_target_machine(opt=3).emit_assembly(module)


SHUTDOWN = """
import ctypes, threading, time
from adjoint.backends.native.runtime import llvm_compile, thread_pool
thread_pool.set_num_threads(3)
library = llvm_compile.compile_ir(thread_pool.DECLARE + '''
declare i32 @usleep(i32)
define internal void @nap(ptr %c, i64 %i) {
  %r = call i32 @usleep(i32 20000)
  ret void
}
define void @f(i64 %n) {
  call void @adj_parallel_for(ptr @nap, ptr null, i64 %n)
  ret void
}''', ["f"], thread_pool.externals())
f = ctypes.CFUNCTYPE(None, ctypes.c_int64)(library["f"])
f(4)
threading.Thread(target=f, args=(1000,), daemon=True).start()  # still running at the end
time.sleep(0.05)
print("done")
"""


def test_the_interpreter_shuts_down() -> None:
    done = subprocess.run([sys.executable, "-c", SHUTDOWN], capture_output=True, text=True, timeout=15)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "done", "")


def test_the_number_of_threads_by_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADJOINT_NUM_THREADS", raising=False)
    assert thread_pool.default_threads() >= 1
    monkeypatch.setenv("ADJOINT_NUM_THREADS", "3")
    assert thread_pool.default_threads() == 3
    monkeypatch.setenv("ADJOINT_NUM_THREADS", "many")
    with pytest.raises(ValueError, match="ADJOINT_NUM_THREADS must be a number of threads .* got 'many'"):
        thread_pool.default_threads()


@pytest.mark.parametrize("n", [0, -1, 10**9, None])
def test_a_wrong_number_of_threads(n: object) -> None:
    with pytest.raises(ValueError, match="n must be a number of threads"):
        thread_pool.set_num_threads(n)  # type: ignore[arg-type]
