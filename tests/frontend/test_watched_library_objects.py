"""What objects of Python's library and of NumPy keep out of sight, and the state of the program, are watched: each change is seen."""

from __future__ import annotations

import collections
import configparser
import ctypes
import functools
import io
import logging
import os
import queue
import random
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest

import adjoint as ad
from adjoint.frontend.hidden import state_of

Case = tuple[Callable[[Any], Any], Callable[[], Any]]
CASES: dict[str, Callable[[], Case]] = {}


class Thing:
    def __init__(self, k: float) -> None:
        self.k = k


class Struct(ctypes.Structure):
    _fields_ = [("k", ctypes.c_double)]


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    CASES[make.__name__] = make
    return make


@case
def event() -> Case:
    e = threading.Event()
    return (lambda x: x * 2 if e.is_set() else x), e.set


@case
def lock() -> Case:
    held = threading.Lock()
    return (lambda x: x * 2 if held.locked() else x), held.acquire


@case
def thread() -> Case:
    go_on = threading.Event()
    t = threading.Thread(target=go_on.wait, daemon=True)
    t.start()

    def end() -> None:
        go_on.set()
        t.join()

    return (lambda x: x * 2 if t.is_alive() else x), end


@case
def level_of_a_logger() -> Case:
    logger = logging.getLogger("adjoint_watched.inner")
    logging.getLogger("adjoint_watched").setLevel(10)
    return (lambda x: x * logger.getEffectiveLevel()), lambda: logging.getLogger("adjoint_watched").setLevel(30)


@case
def logger_that_is_asked() -> Case:
    logger = logging.getLogger("adjoint_asked")
    logger.setLevel(10)
    return (lambda x: x * 2 if logger.isEnabledFor(20) else x), lambda: logger.setLevel(30)


@case
def future() -> Case:
    f: Future[float] = Future()
    return (lambda x: x * f.result() if f.done() else x), lambda: f.set_result(5.0)


@case
def mocked() -> Case:
    m = mock.Mock(return_value=2.0)
    return (lambda x: x * m()), lambda: setattr(m, "return_value", 7.0)


@case
def mocked_method() -> Case:
    m = mock.Mock()
    m.f.return_value = 2.0
    return (lambda x: x * m.f()), lambda: setattr(m.f, "return_value", 7.0)


@case
def length_of_a_queue() -> Case:
    q: queue.Queue[int] = queue.Queue()
    return (lambda x: x + q.qsize()), lambda: q.put(1)


@case
def simple_queue() -> Case:
    q: queue.SimpleQueue[int] = queue.SimpleQueue()
    return (lambda x: x * 2 if q.empty() else x), lambda: q.put(1)


@case
def text() -> Case:
    s = collections.UserString("ab")
    return (lambda x: x * len(s.upper())), lambda: setattr(s, "data", "abcde")


@case
def weak_values() -> Case:
    held = [Thing(2.0)]
    w = weakref.WeakValueDictionary({"a": held[0]})
    return (lambda x: x * 2 if "a" in w else x), held.clear


@case
def weak_keys() -> Case:
    key = Thing(2.0)
    w = weakref.WeakKeyDictionary({key: 2.0})
    return (lambda x: x * w[key]), lambda: w.__setitem__(key, 7.0)


@case
def weak_set() -> Case:
    things = [Thing(1.0), Thing(2.0)]
    w = weakref.WeakSet(things)
    return (lambda x: x * len(w)), things.pop


@case
def array_of_c() -> Case:
    a = (ctypes.c_double * 2)(1.0, 2.0)
    return (lambda x: x * sum(a)), lambda: a.__setitem__(0, 7.0)


@case
def array_of_c_as_an_array() -> Case:
    a = (ctypes.c_double * 2)(1.0, 2.0)
    return (lambda x: x * np.array(a).sum()), lambda: a.__setitem__(0, 7.0)


@case
def struct_of_c() -> Case:
    s = Struct(2.0)
    return (lambda x: x * s.k), lambda: setattr(s, "k", 7.0)


@case
def warm_cache() -> Case:
    held = SimpleNamespace(k=2.0)
    cached = functools.lru_cache(lambda n: held.k * n)
    cached(3)
    held.k = 7.0
    return (lambda x: x * cached(3)), cached.cache_clear


@case
def cached_method() -> Case:
    class Holder:
        k = 2.0

        @functools.lru_cache  # noqa: B019
        def value(self) -> float:
            return self.k

    holder = Holder()
    holder.value()
    Holder.k = 7.0
    return (lambda x: x * holder.value()), Holder.value.cache_clear


@case
def cache_info() -> Case:
    cached = functools.lru_cache(lambda n: n)
    return (lambda x: x + cached.cache_info().currsize), lambda: cached(3)


@case
def partial() -> Case:
    p = functools.partial(lambda a, x: x * a, 2.0)
    return (lambda x: p(x)), lambda: p.__setstate__((p.func, (7.0,), {}, None))  # type: ignore[attr-defined]


@case
def subclasses() -> Case:
    class Base:
        pass

    held: list[type] = []
    return (lambda x: x + len(Base.__subclasses__())), lambda: held.append(type("Late", (Base,), {}))


@case
def cell_of_a_function() -> Case:
    k = 2.0

    def read() -> float:
        return k

    def write() -> None:
        nonlocal k
        k = 7.0

    return (lambda x: x * read.__closure__[0].cell_contents), write  # type: ignore[index]


@case
def text_file() -> Case:
    s = io.StringIO("ab")
    return (lambda x: x * len(s.getvalue())), lambda: s.write("abcde")


@case
def settings() -> Case:
    c = configparser.ConfigParser()
    c.read_dict({"a": {"k": "2"}})
    return (lambda x: x * c.getfloat("a", "k")), lambda: c.set("a", "k", "7")


@pytest.mark.parametrize("name", CASES)
def test_a_change_of_an_object_is_seen(name: str) -> None:
    function, change = CASES[name]()
    compiled, before = ad.jit(function), float(function(2.0))
    assert [float(compiled(2.0)) for _ in range(3)] == [before] * 3
    change()
    after = float(function(2.0))
    assert after != before and [float(compiled(2.0)) for _ in range(2)] == [after] * 2


def test_the_state_of_the_program_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "k"
    path.write_text("2.0")

    def function(x: Any) -> Any:
        x = x * 2 if np.geterr()["over"] == "warn" else x
        x = x * 3 if os.path.exists(tmp_path / "late") else x
        return x * float(path.read_text()) + 1000 * np.get_printoptions()["precision"] + len(os.getcwd())

    compiled = ad.jit(function)
    seen = set()

    def check() -> None:
        expected = float(function(2.0))
        assert [float(compiled(2.0)) for _ in range(3)] == [expected] * 3
        seen.add(expected)

    check()
    path.write_text("7.0")
    check()
    (tmp_path / "late").touch()
    check()
    monkeypatch.chdir("/")
    check()
    with np.errstate(over="ignore"), np.printoptions(precision=3):
        check()
    assert len(seen) == 5


#: What draws numbers from a state outside, and how it begins anew.
DRAWS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], None]]] = {
    "random": (lambda r: random.random(), lambda r: random.seed(3)),
    "Random": (lambda r: r.random(), lambda r: r.seed(3)),
    "NumPy": (lambda r: np.random.rand(), lambda r: np.random.seed(3)),
    "RandomState": (lambda r: r.rand(), lambda r: r.seed(3)),
    "Generator": (lambda r: r.random(), lambda r: setattr(r.bit_generator, "state", np.random.PCG64(3).state)),
}
MADE: dict[str, Callable[[], Any]] = {
    "Random": random.Random, "RandomState": np.random.RandomState, "Generator": np.random.default_rng,
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_of_python_and_numpy_are_drawn_anew_in_each_call(name: str) -> None:
    draw, begin = DRAWS[name]
    source = MADE.get(name, lambda: None)()
    compiled = ad.jit(lambda x: x * draw(source))
    begin(source)
    expected = [2.0 * draw(source) for _ in range(3)]
    begin(source)
    assert np.allclose([compiled(2.0) for _ in range(3)], expected) and len(set(expected)) == 3


def test_what_is_drawn_from_a_source_made_inside_is_compiled_once() -> None:
    compiled = ad.jit(lambda x: x * random.Random(1).random() * np.random.default_rng(1).random())
    assert len({float(compiled(2.0)) for _ in range(3)}) == len(compiled.compilations) == 1


def test_what_is_in_a_table() -> None:
    """By what pandas' tables have: columns, an index, and each column by its place."""
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    members = {"columns": ["a", "b"], "index": [0, 1], "iloc": values, "__module__": "pandas.core.frame"}
    before = state_of(type("DataFrame", (), members)())
    values[0, 1] = 7.0
    after = state_of(type("DataFrame", (), members)())
    assert before is not None and after is not None and before.keys() == after.keys()
    assert [k for k in before if not np.array_equal(before[k], after[k])] == ["column 1"]
