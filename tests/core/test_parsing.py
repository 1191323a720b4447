"""Threads that compile at once: Python's parser is used by one of them at a time."""

from __future__ import annotations

import gc
import sys
import threading
from pathlib import Path

import pytest

import adjoint as ad
from adjoint.core import parsing
from adjoint.core.parsing import parsed
from adjoint.frontend import source

PACKAGE = Path(ad.__file__).parent


class Slow:
    """Another thread has its turn while it is collected."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        sum(range(2000))


@pytest.fixture
def restless():
    """Threads change and garbage is collected all the time."""
    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(50, 2, 2)
    sys.setswitchinterval(1e-6)
    yield
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


def in_threads(work, threads=6):
    failed = []

    def run():
        try:
            work()
        except BaseException as error:
            failed.append(error)

    running = [threading.Thread(target=run) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert failed == []


def test_trees_are_built_one_after_the_other(restless):
    text = Path(parsing.__file__).read_text() * 20
    statements = len(parsed(text).body)

    def work():
        for _ in range(6):
            for _ in range(6):
                Slow()
            assert len(parsed(text).body) == statements

    in_threads(work)


def test_functions_are_compiled_in_threads(restless):
    def loop(x):
        for k in range(12):
            if x * k > 9:
                break
            x = x + 1.0
        return x

    expected = loop(0.5), loop(2.0)

    def work():
        for _ in range(3):
            Slow()
            source._texts.clear()
            compiled = ad.jit(lambda x: loop(x))
            assert (compiled(0.5), compiled(2.0)) == expected

    in_threads(work, 4)


def test_nothing_else_calls_the_parser():
    using = [p.name for p in PACKAGE.rglob("*.py") if "ast.parse(" in p.read_text()]
    assert using == ["parsing.py"]
