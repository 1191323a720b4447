"""Each refusal, by its text and its position."""

from __future__ import annotations

import linecache
import textwrap
from itertools import count
from typing import Any

import pytest

from adjoint.frontend import UnsupportedSyntaxError, convert

NUMBER = count().__next__

REFUSED = {
    "yield": ("def f(x):\n    yield x\n", 2, 5, "`yield` makes this function a generator.*collect the values in a list"),
    "yield from": ("def f(x):\n    y = (yield from x)\n", 2, 10, "`yield` makes this function a generator"),
    "async": ("async def f(x):\n    return x\n", 1, 1, "`async` function cannot become a graph"),
    "global": ("def f(x):\n    global n\n    y = n\n    n = x\n", 4, 5, "`n` is a global variable.*Return the value instead"),
    "global, augmented": ("def f(x):\n    global n\n    n += x\n", 3, 5, "`n` is a global variable"),
    "global in a function inside": (
        "def f(x):\n    def g():\n        global n\n        n = x\n    g()\n", 4, 9, "`n` is a global variable",
    ),
    "global by import": ("def f(x):\n    global math\n    import math\n", 3, 5, "`math` is a global variable"),
    "del in an if": ("def f(x):\n    y = x\n    if x > 0:\n        del y\n    return x\n", 4, 13, "`del y` in a branch or loop.*assign None"),
    "del in a loop": ("def f(x):\n    for i in x:\n        del i\n", 3, 13, "`del i` in a branch or loop"),
}  # fmt: skip


def defined(source: str) -> Any:
    filename = f"refused{NUMBER()}.py"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    space: dict[str, Any] = {"n": 1}
    exec(compile(source, filename, "exec"), space)
    return space["f"]


@pytest.mark.parametrize("case", REFUSED)
def test_refused_at_its_place(case: str) -> None:
    source, line, column, message = REFUSED[case]
    with pytest.raises(UnsupportedSyntaxError, match=message) as caught:
        convert(defined(source))
    assert (caught.value.lineno, caught.value.offset) == (line, column)
    assert caught.value.text == source.splitlines(keepends=True)[line - 1]
    assert caught.value.filename.startswith("refused")
    assert isinstance(caught.value, SyntaxError)


def test_nonlocal_of_an_outer_function() -> None:
    total = 0

    def f(x: int) -> int:
        nonlocal total
        total += x
        return total

    with pytest.raises(UnsupportedSyntaxError, match="`total` is a nonlocal variable.*pass `total` in as an argument"):
        convert(f)


ALLOWED = {
    "nonlocal of the function itself": """
        def f(x):
            n = 0
            def add(k):
                nonlocal n
                if k > 1:
                    n += k
            for i in range(4):
                add(i)
            return n + x
    """,
    "a generator inside": """
        def f(x):
            def g():
                for i in range(x):
                    yield i
            return list(g()), sum(k for k in g())
    """,
    "global that is read": """
        def f(x):
            global n
            if x:
                return n + x
    """,
    "del outside of branches": """
        def f(x):
            y = x + 1
            z = [y]
            del y, z[0]
            if x:
                z.append(1)
            return z
    """,
    "del of an item in a loop": """
        def f(x):
            d = {1: 2, 3: 4}
            for k in list(d):
                if k > x:
                    del d[k]
            return d
    """,
}


@pytest.mark.parametrize("case", ALLOWED)
def test_allowed(case: str) -> None:
    f = defined(textwrap.dedent(ALLOWED[case]).lstrip())
    assert convert(f)(2) == f(2)


def test_a_called_function_is_refused_at_its_own_place() -> None:
    helper = defined("def f(x):\n    global n\n    n = x\n")
    with pytest.raises(UnsupportedSyntaxError) as caught:
        convert(lambda x: helper(x))(1)
    assert caught.value.lineno == 3
