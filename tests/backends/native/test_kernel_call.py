"""From Python into kernels: both ways in, the same results and the same refusals."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from adjoint.backends.native.runtime import kernel_call, llvm_compile, object_layout
from adjoint.backends.native.runtime.kernel_call import make_callable
from adjoint.core.errors import DtypeError, ShapeError
from adjoint.core.spec import Spec

PATHS = ["builtin", "ctypes"]
f4, f8, i8 = (np.dtype(name) for name in ("float32", "float64", "int64"))


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> str:
    if request.param == "builtin" and object_layout.problem():
        pytest.skip(object_layout.problem())
    return request.param


def copy_kernel(sizes: list[int]) -> str:
    """A kernel that copies its n inputs, of so many bytes, to its n outputs."""
    lines = ["declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)", "define void @kernel(ptr %b) {"]
    for i, size in enumerate(sizes):
        for name, place in ((f"i{i}", i), (f"o{i}", len(sizes) + i)):
            lines += [f"%{name}.at = getelementptr ptr, ptr %b, i64 {place}", f"%{name} = load ptr, ptr %{name}.at"]
        lines.append(f"call void @llvm.memcpy.p0.p0.i64(ptr %o{i}, ptr %i{i}, i64 {size}, i1 false)")
    return "\n".join([*lines, "ret void", "}"])


def copier(specs: list[Spec], path: str, **options: Any) -> Any:
    """A function that returns copies of its arguments."""
    sizes = [int(np.prod(s.shape)) * s.dtype.itemsize for s in specs]
    library = llvm_compile.compile_ir(copy_kernel(sizes), ["kernel"])
    return make_callable(library, "kernel", specs, specs, path=path, **options)


def same(result: Any, expected: Any, spec: Spec) -> None:
    assert type(result) is np.ndarray
    assert result.dtype == spec.dtype and result.shape == spec.shape
    assert result.flags.c_contiguous and result.flags.owndata and result.flags.writeable
    np.testing.assert_array_equal(result, expected)


SPECS = [
    Spec((), f8), Spec((3,), f4), Spec((2, 3), i8), Spec((2, 1, 4), np.dtype(np.complex128)), Spec((0, 5), f8),
    Spec((4,), np.dtype(np.bool_)), Spec((2, 2, 2, 2, 2), np.dtype(np.int8)), Spec((3,), np.dtype(np.float16)),
]  # fmt: skip


def draw(spec: Spec) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 100, spec.shape).astype(spec.dtype)


@pytest.mark.parametrize("release_gil", [False, True])
def test_arrays_go_through(path: str, release_gil: bool) -> None:
    arrays = [draw(s) for s in SPECS]
    function = copier(SPECS, path, release_gil=release_gil)
    for _ in range(3):
        results = function(*arrays)
        assert type(results) is list and len(results) == len(SPECS)
        for result, array, spec in zip(results, arrays, SPECS):
            same(result, array, spec)
            assert not np.shares_memory(result, array)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_single(path: str, spec: Spec) -> None:
    same(copier([spec], path, single=True)(draw(spec)), draw(spec), spec)


def test_single_needs_one_output() -> None:
    with pytest.raises(ValueError, match="single=True needs one output, got 2"):
        copier(SPECS[:2], "auto", single=True)


def test_no_arrays(path: str) -> None:
    assert copier([], path)() == []


def misaligned(array: np.ndarray) -> np.ndarray:
    block = np.empty(array.nbytes + 1, np.uint8)
    view = block[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert not view.flags.aligned
    return view


class Sub(np.ndarray):
    """A subclass: its arrays are taken for their values."""


ODD = {
    "transposed": lambda a: a.T.copy().T,
    "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "reversed": lambda a: a[:, ::-1].copy()[:, ::-1],
    "misaligned": misaligned,
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "subclass": lambda a: a.view(Sub),
    "list": lambda a: a.tolist(),
    "read-only": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
    "broadcast": lambda a: np.broadcast_to(a[:1], a.shape),
}


@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
def test_odd_arrays_are_converted(path: str, make: Any) -> None:
    spec = Spec((3, 4), f8)
    odd = make(np.arange(12.0).reshape(3, 4))
    same(copier([spec], path, single=True)(odd), odd, spec)


def test_equivalent_dtypes(path: str) -> None:
    """On some systems two C types have one size: the dtypes are equal, but not the same object."""
    for code in "lqLQ":
        spec = Spec((2,), np.dtype(f"int{8 * np.dtype(code).itemsize}"))
        if np.dtype(code) == spec.dtype:
            same(copier([spec], path, single=True)(np.array([1, 2], code)), [1, 2], spec)


def test_a_dtype_out_of_a_pickle(path: str) -> None:
    """It is equal to NumPy's own, but another object: on both sides it must do, and on the fast way."""
    own, other = np.arange(3.0), pickle.loads(pickle.dumps(np.arange(3.0)))
    for made in (own, other):
        function = copier([Spec((3,), made.dtype)], path, single=True)
        for given in (own, other):
            same(function(given), given, Spec((3,), f8))


def test_a_dtype_of_another_package(path: str) -> None:
    bfloat16 = np.dtype(ml_dtypes.bfloat16)
    spec = Spec((2,), bfloat16)
    same(copier([spec], path, single=True)(np.array([1, 2], bfloat16)), np.array([1, 2], bfloat16), spec)
    with pytest.raises(DtypeError):
        copier([spec], path)(np.zeros(2, np.float16))


def test_codes_of_dtypes() -> None:
    """Different dtypes have different codes, and those that say more elsewhere have none."""
    numeric = [np.dtype(code) for code in "?bBhHiIlLefdgFDG"]
    assert len({object_layout.dtype_code(d) for d in numeric}) == len(numeric)
    assert object_layout.dtype_code(f8) != object_layout.dtype_code(np.dtype(">f8"))
    assert {
        object_layout.dtype_code(np.dtype(code)) for code in ("O", "S3", "U2", "V8", "M8[s]", "m8[ms]", "i4,f8")
    } == {0}


@pytest.mark.parametrize(
    "spec, numbers",
    [
        (Spec((), f8), [1.5, np.float64(2.5), 3, True, float("inf"), np.array(0.5)]),
        (Spec((), f4), [1.5, 0.1, np.float32(2.5), 3, 1e-40, np.array(0.5, f4)]),
        (Spec((), i8), [7, True, np.int64(5)]),
        (Spec((), np.dtype(np.complex64)), [1.5, 2j, 1, np.complex64(1j)]),
    ],
    ids=lambda v: str(v) if isinstance(v, Spec) else "",
)
def test_numbers(path: str, spec: Spec, numbers: list[Any]) -> None:
    function = copier([spec], path, single=True)
    for x in numbers:
        same(function(x), np.asarray(x).astype(spec.dtype), spec)


@pytest.mark.parametrize(
    "spec, wrong, error, text",
    [
        (Spec((3,), f4), np.zeros(3), DtypeError, r"argument 0 must be float32\[3\], got float64\[3\]"),
        (Spec((3,), f8), np.zeros(3, f4), DtypeError, "got float32"),
        (Spec((3,), i8), np.zeros(3), DtypeError, "got float64"),
        (Spec((3,), f8), np.zeros(4), ShapeError, r"must be float64\[3\], got float64\[4\]"),
        (Spec((3,), f8), np.zeros((3, 1)), ShapeError, r"got float64\[3, 1\]"),
        (Spec((3,), f8), 1.0, ShapeError, r"got float64\[\]"),
        (Spec((), f8), np.zeros(1), ShapeError, r"got float64\[1\]"),
        (Spec((), f4), np.float64(1.0), DtypeError, "got float64"),
        (Spec((), f8), np.float32(1.0), DtypeError, "got float32"),
        (Spec((), i8), 1.0, DtypeError, "got float64"),
        (Spec((), f8), 1j, DtypeError, "got complex128"),
        (Spec((), f8), "text", DtypeError, "got <U4"),
        (Spec((), f8), None, DtypeError, "got object"),
    ],
)
def test_what_is_refused(path: str, spec: Spec, wrong: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        copier([spec], path)(wrong)


def test_the_wrong_argument_is_named(path: str) -> None:
    function = copier([Spec((2,)), Spec((2,)), Spec((2,))], path)
    with pytest.raises(ShapeError, match="argument 2"):
        function(np.zeros(2), np.zeros(2), np.zeros(3))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_number_of_arguments(path: str, count: int) -> None:
    with pytest.raises(TypeError, match=f"takes 2 arrays, got {count}"):
        copier([Spec((2,))] * 2, path)(*[np.zeros(2)] * count)
    with pytest.raises(TypeError, match="keyword"):
        copier([Spec((2,))], path)(x=np.zeros(2))


def test_results_too_large_for_memory(path: str) -> None:
    huge = Spec((2**58,), f8)
    library = llvm_compile.compile_ir("define void @kernel(ptr %b) {\n ret void\n}", ["kernel"])
    for outputs, single in (([Spec((2,)), huge], False), ([huge], True)):
        function = make_callable(library, "kernel", [], outputs, single=single, path=path)
        with pytest.raises((MemoryError, ValueError)):
            function()


# inputs: a number, microseconds; output: the number, and the address of the arena modulo 64
THROUGH_ARENA = """
declare i32 @usleep(i32)
define void @kernel(ptr %b) {
  %x = load ptr, ptr %b
  %t.at = getelementptr ptr, ptr %b, i64 1
  %t = load ptr, ptr %t.at
  %y.at = getelementptr ptr, ptr %b, i64 2
  %y = load ptr, ptr %y.at
  %m.at = getelementptr ptr, ptr %b, i64 3
  %m = load ptr, ptr %m.at
  %s.at = getelementptr ptr, ptr %b, i64 4
  %s = load ptr, ptr %s.at
  %v = load i64, ptr %x
  %last = getelementptr i64, ptr %s, i64 999
  store i64 %v, ptr %last
  %us64 = load i64, ptr %t
  %us = trunc i64 %us64 to i32
  %r = call i32 @usleep(i32 %us)
  %w = load volatile i64, ptr %last
  store i64 %w, ptr %y
  %address = ptrtoint ptr %s to i64
  %rest = and i64 %address, 63
  store i64 %rest, ptr %m
  ret void
}
"""


def through_arena(path: str, release_gil: bool = True) -> Any:
    library = llvm_compile.compile_ir(THROUGH_ARENA, ["kernel"])
    number = Spec((), i8)
    return make_callable(
        library, "kernel", [number] * 2, [number] * 2, arena_bytes=8000, release_gil=release_gil, path=path
    )


def test_each_call_has_an_arena_of_its_own(path: str) -> None:
    function = through_arena(path)
    wrong = []

    def work(x: int) -> None:
        for _ in range(10):
            value, rest = function(np.array(x), np.array(500))
            if value != x or rest != 0:
                wrong.append(x)

    callers = [threading.Thread(target=work, args=(x,)) for x in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert wrong == []


def test_other_threads_run_meanwhile(path: str) -> None:
    function = through_arena(path, release_gil=True)
    steps, stop = [0], threading.Event()

    def work() -> None:
        while not stop.is_set():
            steps[0] += 1
            time.sleep(0.001)

    other = threading.Thread(target=work)
    other.start()
    try:
        before = steps[0]
        function(np.array(1), np.array(200_000))
        assert steps[0] > before + 5
    finally:
        stop.set()
        other.join()


def test_nothing_leaks(path: str) -> None:
    spec = Spec((3,), f4)
    function = copier([spec, spec], path)
    x = np.zeros(3, f4)
    counts = lambda: (sys.getrefcount(spec.dtype), sys.getrefcount(x), sys.getrefcount(np.ndarray))
    results = function(x, x)
    gc.collect()  # what other tests have left
    before = counts()
    for _ in range(1000):
        assert len(function(x, x)) == 2
    for _ in range(100):
        function(x, x[::-1])
        with pytest.raises(ShapeError):
            function(x, np.zeros(4, f4))
    gc.collect()
    assert counts() == before
    assert sys.getrefcount(results[0]) <= 3


def test_the_code_lives_as_long_as_the_function(path: str) -> None:
    class Marker:
        pass

    marker = Marker()
    library = llvm_compile.compile_ir(copy_kernel([8]), ["kernel"], keep=marker)
    alive = weakref.ref(marker)
    function = make_callable(library, "kernel", [Spec(())], [Spec(())], path=path)
    del library, marker
    gc.collect()
    assert alive() is not None
    assert function(2.0) == [2.0]
    del function
    gc.collect()
    assert alive() is None


def test_the_builtin_hands_over_what_it_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast way really is taken: the portable one sees only odd arguments."""
    if object_layout.problem():
        pytest.skip(object_layout.problem())
    seen = []
    monkeypatch.setattr(kernel_call, "portable_callable", lambda *_: lambda *args: seen.append(args))
    function = copier([Spec((2,)), Spec(())], "builtin")
    function(np.zeros(2), np.array(1.0))
    function(pickle.loads(pickle.dumps(np.zeros(2))), np.array(1.0))
    function(np.zeros(2), 1.0)
    function(np.zeros(2), np.float64(1.0))
    assert seen == []
    for odd in ((np.zeros(3), 1.0), (np.zeros(4)[::2], 1.0), (np.zeros(2), 1), (np.zeros(2),), ([1.0, 2.0], 1.0)):
        function(*odd)
    assert len(seen) == 5


def test_a_strange_world_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each assumption that does not hold turns the builtin off."""
    check = object_layout.problem.__wrapped__
    for name, value, text in [
        ("DESCR", 48, "laid out in another way"),
        ("CODE", 16, "laid out in another way"),
        ("NUMPY_ABI", 0x03000000, "another binary interface"),
        ("VALUE", 24, "another size"),
        ("LENGTH", 8, "lists and tuples are laid out in another way"),
        ("tensor_slots", dict, "Tensors are laid out in another way"),
    ]:
        with monkeypatch.context() as patch:
            patch.setattr(object_layout, name, value)
            assert text in check()
    monkeypatch.setattr(sys, "byteorder", "big")
    assert "little-endian" in check()


def test_auto_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_call, "problem", lambda: "for a test")
    monkeypatch.setattr(kernel_call, "builtin_callable", lambda *_: pytest.fail("the builtin was taken"))
    assert copier([Spec(())], "auto")(1.5) == [1.5]


SHUTDOWN = """
import threading, time, numpy as np
from adjoint.backends.native.runtime import llvm_compile
from adjoint.backends.native.runtime.kernel_call import make_callable
from adjoint.core.spec import Spec
library = llvm_compile.compile_ir('''
declare i32 @usleep(i32)
define void @kernel(ptr %b) {
  %r = call i32 @usleep(i32 60000)
  ret void
}''', ["kernel"])
function = make_callable(library, "kernel", [], [Spec((2,))], release_gil=True, path="PATH")
threading.Thread(target=lambda: [function() for _ in range(100)], daemon=True).start()
time.sleep(0.03)
class Late:
    def __del__(self, sleep=time.sleep):
        sleep(0.2)  # in the middle of the tear-down the kernel ends and its thread asks for the GIL
late = Late()
print("done")
"""


def test_the_interpreter_shuts_down_under_a_kernel(path: str) -> None:
    code = SHUTDOWN.replace("PATH", path)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=15)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "done", "")
