"""Each refusal, by its text and its position."""

from __future__ import annotations

import linecache
import textwrap
from itertools import count
from typing import Any

import pytest

import adjoint as ad
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


GLOBAL = 100.0


def _eval_in_a_branch(x: Any) -> Any:
    GLOBAL = 3.0  # noqa: F841 read by eval
    if x > 0:  # noqa: SIM108
        y = eval("x * GLOBAL")
    else:
        y = x
    return y


def _locals_in_a_loop(x: Any) -> Any:
    while abs(x) < 10:
        x = x * 2 + len(locals())
    return x


def _vars_beside_a_branch(x: Any) -> Any:
    return x * len(vars()) if x > 0 else x


def _dir(x: Any) -> Any:
    return x * len(dir())


def _locals_of_an_inner_function(x: Any) -> Any:
    def inner(y: Any) -> Any:
        return y * len(locals()) if y > 0 else y

    return inner(x)


def _locals_in_a_comprehension(x: Any) -> Any:
    return x * len([name for name in locals()])  # noqa: C416


def _eval_of_given_names(x: Any) -> Any:
    return x * eval("k", {}, {"k": 2.0}) if x > 0 else x  # what a text reads is not known


LOOKING = [
    _eval_in_a_branch,
    _eval_of_given_names,
    _locals_in_a_loop,
    _vars_beside_a_branch,
    _dir,
    _locals_of_an_inner_function,
    _locals_in_a_comprehension,
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fn", LOOKING, ids=lambda f: f.__name__)
def test_a_function_that_looks_at_its_variables_stays_as_it_is(fn: Any) -> None:
    """Converted, it would have variables of ours, and its blocks would be functions of their own."""
    jitted = ad.jit(fn)
    assert float(jitted(1.5)) == fn(1.5) and float(jitted(-1.5)) == fn(-1.5)
    assert float(ad.grad(ad.jit(fn))(1.5)) == pytest.approx((fn(1.5001) - fn(1.4999)) / 0.0002)
    assert "looks at the variables of its function" in jitted.notes[0]


def test_builtins_that_are_given_what_to_look_at_are_converted() -> None:
    def f(x: Any) -> Any:
        names = len(dir(3)), len(vars(str))
        return x * names[1] if x > 0 else x

    def shadowed(x: Any) -> Any:
        locals = lambda: 3.0
        return x * locals() if x > 0 else x

    for fn in (f, shadowed):
        jitted = ad.jit(fn)
        assert float(jitted(1.5)) == fn(1.5) and not jitted.notes
