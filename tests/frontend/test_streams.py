"""Where a compiled function prints: to the streams as they are when it runs, in the program's order; otherwise it is refused."""

from __future__ import annotations

import contextlib
import functools
import io
import sys

import pytest

import adjoint as ad
from adjoint.frontend import ControlFlowError

OUTSIDE = io.StringIO()


class Lines:
    def __init__(self):
        self.texts = []

    def write(self, text):
        self.texts.append(text)


def into_text(x):
    file = io.StringIO()
    print(x, file=file)
    return x * len(file.getvalue())


def redirected(x):
    file = io.StringIO()
    with contextlib.redirect_stdout(file):
        print("hello")
    return x * len(file.getvalue())


def redirected_outside(x):
    with contextlib.redirect_stderr(OUTSIDE):
        print(x, file=sys.stderr)
    return x


def replaced(x):
    before = sys.stdout
    sys.stdout = io.StringIO()
    try:
        print("hidden", x)
    finally:
        sys.stdout = before
    return x


def into_object(x):
    lines = Lines()
    print("q", x, file=lines)
    return x * len(lines.texts)


def read_after(x):
    print(x, file=OUTSIDE)
    return x * len(OUTSIDE.getvalue())


def in_branch(x):
    file = io.StringIO()
    if x > 0:
        print("positive", file=file)
    return x * len(file.getvalue())


@pytest.mark.parametrize(
    "f",
    [into_text, redirected, redirected_outside, replaced, into_object, read_after, in_branch],
    ids=lambda f: f.__name__,
)
def test_what_is_printed_too_late_is_refused(f):
    before = sys.stdout
    with pytest.raises(ControlFlowError, match=r"(sys\.std\w+ has been redirected|made|that the graph prints into)"):
        ad.jit(f)(2.0)
    assert sys.stdout is before


def test_texts_into_files_of_the_function_are_there_at_once():
    def f(x):
        file = io.StringIO()
        print("seven", 7, file=file)
        return x * len(file.getvalue())

    assert ad.jit(f)(2.0) == f(2.0) == 16.0


def in_order(x):
    print("a")
    sys.stdout.write("b\n")
    print("c", x, end="|")
    sys.stdout.writelines(["d", "e\n"])
    if x > 1:
        sys.stdout.write("f\n")
    show = print
    show("g", x, sep="-")
    functools.partial(print, "h")(x)
    return x * sys.stdout.write("")


def test_written_in_order_and_in_each_run(capsys):
    compiled = ad.jit(in_order)
    for x in (0.0, 2.0, 2.0):
        assert in_order(x) == 0
        wanted = capsys.readouterr().out
        assert compiled(x) == 0
        assert capsys.readouterr().out == wanted


def test_streams_as_they_are_in_the_run():
    @ad.jit
    def f(x):
        print("out", x)
        print("err", x, file=sys.stderr)
        return x

    for _ in range(2):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            f(2.0)
        assert (out.getvalue(), err.getvalue()) == ("out 2.0\n", "err 2.0\n")
