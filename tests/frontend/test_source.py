"""The source of every kind of function is found, and a missing one is reported."""

from __future__ import annotations

import ast
import functools
import linecache
import subprocess
import sys
from typing import Any

import pytest

from adjoint.frontend import SourceError, convert
from adjoint.frontend.source import find_source

PAIR = [lambda x: x + 1 if x else 5, lambda x: x - 1 if x else 6]
# Python leaves out what comes after a constant condition, and what is imported by name compiles in a way of its own.
FOLDED = {"square": lambda x: x**2, "size": lambda x: functools.reduce(max, [x, -x]) if True else functools.partial(x)}
MORE = [lambda x: x, lambda x: 1 and x + 1, lambda x: (lambda x: x * 5)(x) if 1 else x, lambda x: 0 or x * 3, lambda x: x if not 1 else -x]  # fmt: skip
TWINS, NESTED = (lambda v: lambda v: v * 2), (lambda v: lambda w: v - w)


def apply(f: Any, g: Any, x: Any) -> Any:
    return f(g(x))


def text(fn: Any) -> str:
    node = find_source(fn).node
    return ast.unparse(node.body if isinstance(node, ast.Lambda) else node.body[-1])


def test_lambdas_on_one_line_with_constant_conditions() -> None:
    assert text(FOLDED["square"]) == "x ** 2"
    assert text(FOLDED["size"]) == "functools.reduce(max, [x, -x]) if True else functools.partial(x)"
    assert [text(f) for f in MORE] == [
        "x", "1 and x + 1", "(lambda x: x * 5)(x) if 1 else x", "0 or x * 3", "x if not 1 else -x"
    ]  # fmt: skip
    assert [convert(f)(4) for f in MORE] == [f(4) for f in MORE]


def test_several_lambdas_on_one_line() -> None:
    assert [text(f) for f in PAIR] == ["x + 1 if x else 5", "x - 1 if x else 6"]
    assert [convert(f)(1) for f in PAIR] == [2, 0]


def test_lambdas_inside_a_call() -> None:
    seen: list[Any] = []
    (lambda f, g: seen.extend([f, g]))(lambda x: x * 3, lambda x: x * 4)
    assert [text(f) for f in seen] == ["x * 3", "x * 4"]


def test_lambdas_inside_lambdas() -> None:
    assert text(TWINS) == "lambda v: v * 2"
    assert text(TWINS(1)) == "v * 2"
    assert text(NESTED) == "lambda w: v - w"
    assert convert(NESTED(5))(2) == 3


def test_lambdas_that_differ_in_a_constant_only() -> None:
    fs = [lambda x: x + 1.0, lambda x: x + 2.0]
    assert [convert(f)(0) for f in fs] == [1.0, 2.0]


def test_lambda_over_several_lines() -> None:
    f = lambda x: (
        x
        if x > 0
        else -x
    )  # fmt: skip
    assert convert(f)(-3) == 3


def decorated(fn: Any) -> Any:
    @functools.wraps(fn)
    def wrapper(*args: Any) -> Any:
        return fn(*args) if args else "none"

    return wrapper


@decorated
@decorated
def with_decorators(x: Any) -> Any:
    """Returns its argument doubled."""
    return x * 2


def test_decorators_stay() -> None:
    assert convert(with_decorators)(4) == 8
    assert convert(with_decorators)() == "none"
    assert text(with_decorators.__wrapped__.__wrapped__) == "return x * 2"
    assert convert(with_decorators.__wrapped__.__wrapped__)(4) == 8


class Base:
    def scale(self) -> int:
        return 10


class Child(Base):
    __hidden = 4

    def scale(self) -> int:
        if self.__hidden:
            return super().scale() + self.__hidden
        return 0

    @classmethod
    def make(cls, n: int) -> Any:
        return [Child() if cls is Child else cls() for _ in range(n)]

    @staticmethod
    def plain(n: int) -> int:
        return n if n > 0 else -n

    @property
    def double(self) -> int:
        return self.scale() * 2

    def __call__(self, n: int) -> int:
        total = 0
        while n:
            total += self.scale()
            n -= 1
        return total


def test_methods() -> None:
    child = Child()
    assert convert(child.scale)() == 14
    assert convert(Child.scale)(child) == 14
    assert len(convert(Child.make)(3)) == 3
    assert convert(Child.plain)(-2) == 2
    assert convert(child)(3) == 42
    assert convert(lambda c: c.double)(child) == 28


def test_functions_registered_in_linecache_as_notebooks_do() -> None:
    source = "def f(x):\n    if x:\n        return 1\n    return 2\n"
    linecache.cache["<cell 1>"] = (len(source), None, source.splitlines(keepends=True), "<cell 1>")
    space: dict[str, Any] = {}
    exec(compile(source, "<cell 1>", "exec"), space)
    assert [convert(space["f"])(x) for x in (0, 1)] == [2, 1]


def test_a_function_without_source_says_what_to_do() -> None:
    space: dict[str, Any] = {}
    exec(compile("def f(x):\n    return x\n", "<nowhere>", "exec"), space)
    with pytest.raises(SourceError, match=r"source of `f` is not available \(<nowhere>\).*Write it to a file"):
        convert(space["f"])
    assert convert(lambda g: g(3))(space["f"]) == 3  # called from converted code, it stays Python


TWO_TEXTS = """
import adjoint as ad
def f(x):
    return x + 1.0 if x > 0 else x
space = {}
exec("\\n\\ndef f(x):\\n    return x * 3.0", space)
g = space["f"]
assert g.__code__.co_firstlineno == f.__code__.co_firstlineno
print(ad.jit(g, backend="interpreter")(2.0), ad.grad(ad.jit(g, backend="interpreter"))(2.0))
"""


def test_texts_that_share_a_name_are_told_apart() -> None:
    """From Python 3.13 on the lines of `python -c` are known, by the name that every text given to `exec` has too."""
    run = subprocess.run([sys.executable, "-c", TWO_TEXTS], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "6.0 3.0\n"


def test_a_file_that_has_changed_is_noticed() -> None:
    space: dict[str, Any] = {}
    exec(compile("def f(x):\n    return x\n", "<changed>", "exec"), space)
    linecache.cache["<changed>"] = (9, None, ["\n", "def g(): 1\n"], "<changed>")
    with pytest.raises(SourceError, match="has changed since it was loaded"):
        convert(space["f"])


def test_converting_twice_gives_the_same_object() -> None:
    assert convert(apply) is convert(apply)
    assert convert(convert(apply)) is convert(apply)
