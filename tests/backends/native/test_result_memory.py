"""Memory of large results: held for the next ones, never shared by two, bounded, given back."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint.backends.native.runtime import object_layout
from adjoint.backends.native.runtime.result_memory import BLOCKS, LARGE, result_memory

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(object_layout.problem() is not None, reason="results come through ctypes here")


def set_limit(limit: int) -> None:
    ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(result_memory().library["adj_release"])(limit)


@pytest.fixture(autouse=True)
def nothing_held() -> Iterator[None]:
    gc.collect()
    result_memory().release()
    yield
    result_memory().release()


def array_of(y: ad.Tensor) -> np.ndarray:
    """The array itself, not a copy or a view."""
    return y._value


def plus_one(x: np.ndarray) -> np.ndarray:
    return array_of(ad.jit(lambda x: x + 1)(x))


def test_the_next_result_lies_where_the_last_one_lay() -> None:
    f, x = ad.jit(lambda x: x + 1), np.arange(LARGE / 8)
    y = f(x)
    place, own = array_of(y).ctypes.data, result_memory().held()
    del y
    assert result_memory().held() == own + LARGE
    y = f(-x)
    assert array_of(y).ctypes.data == place and result_memory().held() == own
    np.testing.assert_array_equal(y.asnumpy(), 1 - x)


def test_small_results_are_not_held() -> None:
    y = plus_one(np.ones(LARGE // 8 - 1))
    del y
    assert result_memory().held() == 0


def test_results_that_are_alive_never_share_memory() -> None:
    rng = np.random.default_rng(0)
    functions = [ad.jit(lambda x, k=k: (x + k, x - k)) for k in range(3)]
    alive: list[tuple[np.ndarray, float]] = []
    for _ in range(150):
        k, size = int(rng.integers(3)), int(LARGE // 8 * rng.choice([0.9, 1.0, 1.05, 1.12, 2.0, 3.7]))
        value = float(rng.integers(1000))
        plus, minus = functions[k](np.full(size, value))
        alive += [(array_of(plus), value + k), (array_of(minus), value - k)]
        while len(alive) > 9:
            del alive[int(rng.integers(len(alive)))]
        assert all((array == number).all() for array, number in alive)


def test_what_is_held_is_bounded_in_bytes_and_blocks() -> None:
    try:
        set_limit(5 * LARGE)
        results = [plus_one(np.ones(LARGE // 8)) for _ in range(8)]
        del results
        assert result_memory().held() == 5 * LARGE
        large = plus_one(np.ones(LARGE))  # of 8 megabytes: more than may be held
        del large
        assert result_memory().held() == 4 * LARGE  # one went when it was asked for
    finally:
        result_memory().release()
    results = [plus_one(np.ones(LARGE // 8)) for _ in range(BLOCKS + 5)]
    del results
    assert result_memory().held() == BLOCKS * LARGE


def test_sizes_that_nobody_asks_for_any_more_come_to_an_end() -> None:
    old = [plus_one(np.ones(LARGE // 8)) for _ in range(4)]
    del old
    for k in range(4):
        plus_one(np.ones((2 + k) * LARGE // 8))
    assert result_memory().held() == (2 + 3 + 4 + 5) * LARGE  # of the latest sizes


def test_release_says_how_much_it_gave_back() -> None:
    plus_one(np.ones(LARGE // 4))
    assert ad.release_memory() == 2 * LARGE
    assert ad.release_memory() == 0


def test_what_does_not_fit_otherwise_has_it_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from adjoint.backends import fitting
    from adjoint.backends.native.runtime import available_memory

    plus_one(np.ones(LARGE // 8))
    free = iter([fitting.CHECKED_BYTES, 3 * fitting.CHECKED_BYTES])
    monkeypatch.setattr(available_memory, "available_bytes", lambda: next(free))
    fitting.check_that_it_fits(2 * fitting.CHECKED_BYTES, lambda: pytest.fail("it fits"))  # type: ignore[arg-type, return-value]
    assert result_memory().held() == 0


def test_arrays_own_their_memory_and_can_be_resized() -> None:
    y = plus_one(np.arange(LARGE / 8))
    assert y.flags.owndata and y.base is None
    for size in (LARGE, 10, 3 * LARGE):
        y.resize(size, refcheck=False)
        assert y.shape == (size,) and (y[:10] == np.arange(10) + 1).all()


def test_numpy_can_do_all_its_allocations_by_it() -> None:
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(
        object_layout.numpy_api()[object_layout.SET_HANDLER]
    )
    usual = set_handler(result_memory().capsule)
    try:
        for size in (0, 1, 1000, LARGE // 8, LARGE):
            x = np.full(size, 7.0)
            del x
            assert not np.zeros(size).any()  # of memory that was written to before
            assert np.concatenate([np.arange(size), np.arange(size)]).sum() == size * (size - 1)
    finally:
        set_handler(usual)


def test_results_go_in_another_thread() -> None:
    box = [plus_one(np.ones(LARGE // 8))]
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    assert result_memory().held() == LARGE


@pytest.mark.parametrize("alive", ["module", "cycle", "thread"])
def test_results_outlive_everything_else(alive: str) -> None:
    """Arrays that go while the interpreter shuts down find their allocator."""
    code = f"""
import threading, numpy as np, adjoint as ad
y = ad.jit(lambda x: x + 1)(np.ones({LARGE}))._value
if {alive!r} == "cycle":
    box = [y]; box.append(box); del y
if {alive!r} == "thread":
    threading.Thread(target=lambda: __import__("time").sleep(0.1) or y.sum(), daemon=True).start()
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
