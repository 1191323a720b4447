"""The code that runs is the code that is loaded; code without source runs as well as it can."""

from __future__ import annotations

import importlib
import linecache
import subprocess
import sys
import textwrap
import threading
import types
import warnings
from pathlib import Path
from typing import Any

import pytest

import adjoint as ad
from adjoint import ops
from adjoint.frontend.source import find_source

FIRST = """
def branched(x):
    if x > 0:
        return x * 2
    return x

def straight(x):
    return x * 2

def outer(x):
    return straight(x) + 1

pair = [lambda x: x * 2, lambda x: x * 3]
"""
SECOND = FIRST.replace("x * 2", "x * 5").replace("x * 3", "x * 7")

TEXT = """
def branched(x):
    if x > 0:
        return x * x
    return -x

def calls(x):
    return branched(x) + 1

def straight(x):
    return ops.sin(x) * k * owner.k
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module whose file has been edited since it was loaded."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "edited_module.py"
    path.write_text(FIRST)
    importlib.invalidate_caches()
    found = importlib.import_module("edited_module")
    path.write_text(SECOND)
    linecache.clearcache()
    yield found
    del sys.modules["edited_module"]


def test_an_edited_file_does_not_change_what_runs(module: Any) -> None:
    for f, x, want, slope in (
        (module.branched, 3.0, 6.0, 2.0),
        (module.branched, -3.0, -3.0, 1.0),
        (module.straight, 3.0, 6.0, 2.0),
        (module.outer, 3.0, 7.0, 2.0),
        (module.pair[0], 3.0, 6.0, 2.0),
        (module.pair[1], 3.0, 9.0, 3.0),
    ):
        compiled = ad.jit(f)
        with pytest.warns(UserWarning, match="the file has changed since"):
            assert compiled(x) == want
        with pytest.warns(UserWarning, match="the file has changed since"):
            assert ad.jit(ad.grad(f))(x) == slope
        assert compiled(x) == want


def test_a_file_that_is_loaded_again_is_read_again(module: Any) -> None:
    importlib.reload(module)
    linecache.clearcache()
    assert [ad.jit(f)(3.0) for f in (module.branched, module.straight, *module.pair)] == [15.0, 15.0, 15.0, 21.0]


@pytest.mark.parametrize(
    "name",
    [
        "json.decoder",
        "ast",
        "argparse",
        "dataclasses",
        "typing",
        "statistics",
        "fractions",
        "enum",
        "doctest",
        "adjoint.nn.cell",
    ],
)
def test_what_is_loaded_is_recognised(name: str) -> None:
    """No function is taken for another: closures, methods, private names, `super`, decorators, asserts."""
    owner = importlib.import_module(name)
    found = list(functions(vars(owner), name))
    assert len(found) > 5
    for f in found:
        find_source(f)


def functions(space: Any, module: str) -> Any:
    for value in list(space.values()):
        inner = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
        if isinstance(inner, types.FunctionType) and inner.__module__ == module:
            if not inner.__code__.co_filename.startswith("<"):
                yield inner
        elif isinstance(value, type) and value.__module__ == module and value.__dict__ is not space:
            yield from functions(vars(value), module)


# ---------------------------------------------------------------- no source


class Owner:
    k = 2.0


def space() -> dict[str, Any]:
    found: dict[str, Any] = {"ops": ops, "k": 3.0, "owner": Owner()}
    exec(TEXT, found)
    return found


WAYS: dict[str, tuple[Any, Any]] = {
    "jit": (ad.jit, lambda f: f),
    "jit of grad": (lambda f: ad.jit(ad.grad(f)), ad.grad),
    "grad of jit": (lambda f: ad.grad(ad.jit(f)), ad.grad),
    "jit twice": (lambda f: ad.jit(ad.jit(f)), lambda f: f),
    "second derivative": (lambda f: ad.jit(ad.grad(ad.grad(f))), lambda f: ad.grad(ad.grad(f))),
    "called": (lambda f: ad.jit(lambda x: f(x) * 2), lambda f: lambda x: f(x) * 2),
}


@pytest.mark.parametrize("name", ["branched", "calls"])
@pytest.mark.parametrize("way", WAYS)
def test_without_source_control_flow_runs_op_by_op(name: str, way: str) -> None:
    f = space()[name]
    make, plain = WAYS[way]
    compiled = make(f)
    with pytest.warns(UserWarning, match="runs op by op, without a graph.*put it|runs op by op") as caught:
        assert compiled(2.0) == plain(f)(2.0)
    said = [w for w in caught if "op by op" in str(w.message)]
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (-3.0, 2.5):
            assert compiled(x) == plain(f)(x)


def test_without_source_other_functions_are_compiled() -> None:
    found = space()
    compiled = ad.jit(found["straight"])
    for _ in range(3):
        assert float(compiled(1.0)) == pytest.approx(float(found["straight"](1.0)))
    found["k"] = 5.0
    assert float(compiled(1.0)) == pytest.approx(float(found["straight"](1.0)))
    found["owner"].k = 7.0
    assert float(compiled(1.0)) == pytest.approx(float(found["straight"](1.0)))
    assert len(compiled.compilations) == 3


@pytest.mark.parametrize("given", ["-c", "-"])
def test_programs_without_a_file(given: str) -> None:
    program = textwrap.dedent("""
        import adjoint as ad
        def f(x):
            while x < 10:
                x = x * 2
            return x
        print(float(ad.jit(f)(1.0)), float(ad.grad(ad.jit(f))(1.0)))
    """)
    command, text = ([sys.executable, "-c", program], None) if given == "-c" else ([sys.executable, "-"], program)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert done.stdout == "16.0 16.0\n"
    assert sys.version_info >= (3, 13) or "Write it to a file" in done.stderr


# ---------------------------------------------------------------- recursion


def recursive(x: Any, n: int) -> Any:
    return x if n == 0 else recursive(x * 1.001, n - 1)


class Recursive:
    def descend(self, x: Any, n: int) -> Any:
        if n == 0:
            return x
        return self.descend(x * 1.001, n - 1)


def endless(x: Any) -> Any:
    return endless(x) + 1


@pytest.mark.parametrize("f", [recursive, Recursive().descend])
@pytest.mark.parametrize("transform", [lambda f: f, ad.grad])
def test_deep_recursion(f: Any, transform: Any) -> None:
    assert float(ad.jit(transform(f))(1.0, 300)) == pytest.approx(1.001**300)


def test_deep_recursion_on_another_thread() -> None:
    found: list[float] = []
    thread = threading.Thread(target=lambda: found.append(float(ad.jit(recursive)(1.0, 300))))
    thread.start()
    thread.join()
    assert found == [pytest.approx(1.001**300)]


def test_endless_recursion_says_so() -> None:
    limit = sys.getrecursionlimit()
    with pytest.raises(RecursionError, match="endless calls itself, or others, too deeply to be traced"):
        ad.jit(endless)(1.0)
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize("outer", [False, True], ids=["itself", "called"])
def test_without_source_what_is_printed_is_printed_once(outer: bool, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict = {}
    exec("def shows(x):\n    print('x is', x)\n    return x * 2", names)
    f = (lambda x: names["shows"](x) + 1) if outer else names["shows"]
    compiled = ad.jit(f)
    with pytest.warns(UserWarning, match=r"runs op by op, without a graph(.|\n)*calls print"):
        assert compiled(2.0) == f(2.0)
    compiled(3.0)
    assert capsys.readouterr().out == "x is 2.0\nx is 2.0\nx is 3.0\n"
