"""The line on a terminal while something is compiled for long, and the note that names a loop that was unrolled."""

from __future__ import annotations

import gc
import io
import sys
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.core import compile_line
from adjoint.core.fewer_collections import SELDOM, fewer_collections

table = np.sin(np.arange(200.0))


def unrolled(x: Any) -> Any:
    for t in range(150):
        x = x * 0.9 + table[t : t + 1].sum()
    return x


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal_of(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal in place of stderr: set in the test itself, since pytest sets stderr between fixtures and test."""
    found = Terminal()
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setenv("COLUMNS", "200")
    return found


def test_it_says_what_is_done_and_why_it_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    monkeypatch.setattr(compile_line, "AFTER", 0.0)
    monkeypatch.setattr(compile_line, "EVERY", 0.001)
    ad.jit(unrolled)(1.0)
    shown = terminal.getvalue()
    assert "compiling jit(unrolled), 0 s; " in shown
    assert "optimising" in shown or "making code of" in shown
    assert "was unrolled, 150 times" in shown
    assert shown.endswith("\r\x1b[K")  # nothing of it is left


def test_a_short_one_and_one_without_a_terminal_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    ad.jit(lambda x: x * 2)(1.0)
    assert terminal.getvalue() == ""
    monkeypatch.setattr(compile_line, "AFTER", 0.0)
    for stream in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stderr", stream)
        assert ad.jit(lambda x: x * 3)(1.0) == 3.0
        assert stream is None or stream.getvalue() == ""


def test_an_error_takes_the_line_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    monkeypatch.setattr(compile_line, "AFTER", 0.0)
    with pytest.raises(ZeroDivisionError), compile_line.shown("this"):
        1 / 0
    compile_line.stage("nothing")
    compile_line.note("nothing")
    assert "nothing" not in terminal.getvalue()


def test_a_note_names_the_line_and_the_reason() -> None:
    f = ad.jit(ad.grad(unrolled))
    f(1.0)
    (note,) = f.notes
    assert "the `for` at test_compile_line.py:21:5 was unrolled, 150 times: " in note
    assert note in f.explain(1.0)


def test_short_loops_and_those_of_the_graph_have_none() -> None:
    def f(x: Any) -> Any:
        for t in range(50):
            x = x + table[t : t + 1].sum()
        for t in range(150):
            x = x + table[t]
        return x

    compiled = ad.jit(f)
    compiled(1.0)
    assert compiled.notes == []


def test_collections_are_seldom_inside_and_as_before_outside() -> None:
    before = gc.get_threshold()
    with fewer_collections():
        with fewer_collections():
            assert gc.get_threshold() == SELDOM
        assert gc.get_threshold() == SELDOM
    assert gc.get_threshold() == before
    with fewer_collections():
        gc.set_threshold(5)  # somebody else's wish
    assert gc.get_threshold()[0] == 5
    gc.set_threshold(0)
    with fewer_collections():
        assert gc.get_threshold()[0] == 0
    gc.set_threshold(*before)
