"""The command line: answers, exit codes that scripts can use, and a sentence for everything that is wrong."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.cli import doctor, terminal
from adjoint.cli.functions import found_arguments
from adjoint.cli.main import main

ROOT = Path(__file__).parents[2]

MODEL = """
import adjoint as ad
from adjoint import ops


def f(x1, x2):
    return ops.log(x1) + x1 * x2 - ops.sin(x2)


def slopes(x1, x2):
    return 1 / x1 + x2, x1 - ops.cos(x2)


def power(x, n=3):
    y = x
    for _ in range(n - 1):
        y = y * x
    return y


def norm(x, *, scale=1.0):
    return ops.sqrt(ops.sum(x * x)) * scale


@ad.custom_vjp
def wrong(x):
    return x * x


wrong.defvjp(lambda x, out, g: (3.0 * x * g,))


def fails(x):
    return [1, 2][7]


def leaves(x):
    raise SystemExit(5)


def needs(x):
    import a_package_that_nobody_has


class Layer(ad.nn.Cell):
    def construct(self, x):
        return ops.sum(x * 2.0)


layer = Layer()
number = 3
"""


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command in a folder with model.py; gives the code, the output and the errors."""
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "inner.py").write_text("def g(x):\n    return x * x\n")
    (tmp_path / "broken.py").write_text("x = 1 +\n")
    (tmp_path / "raises.py").write_text("raise RuntimeError('not today')\n")
    (tmp_path / "imports.py").write_text("import a_package_that_nobody_has\n")
    (tmp_path / "random.py").write_text("def g(x):\n    return x * 3.0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)

    def run(*words: str) -> tuple[int, str, str]:
        code = main(words)
        out = capsys.readouterr()
        return code, out.out, out.err

    yield run
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


Ask = Callable[..., tuple[int, str, str]]


def test_explain(ask: Ask, tmp_path: Path) -> None:
    code, out, err = ask("explain", "model.py:f", "--at", "2,5")
    assert (code, err) == (0, "")
    assert "ln 2 = 0.6931" in out
    assert "= 5.5" in out
    assert "1.716" in out
    assert ask("explain", "package.inner:g", "--at", "-3")[0] == 0
    assert "tangent" in ask("explain", "model:f", "--at", "2,5", "--mode", "forward")[1].lower()
    assert ask("explain", "model:f", "--at", "2,5", "--format", "latex")[1].count(r"\begin") == 1
    code, out, _ = ask("explain", "model:f", "--at", "2,5", "--html", "trace.html")
    assert (code, out) == (0, "written to trace.html\n")
    page = (tmp_path / "trace.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "</table>" in page
    assert ask("explain", "random.py:g", "--at", "2")[0] == 0  # beside Python's own module of that name
    assert import_module("random").random() < 1
    assert ask("explain", "model:layer", "--at", "[1,2]")[0] == 0


def test_check(ask: Ask) -> None:
    code, out, _ = ask("check", "model:f", "--at", "2,5")
    assert code == 0
    assert "derivatives agree with differences" in out
    assert ask("check", "model:norm", "--at", "[3,4],scale=2", "--order", "1")[0] == 0
    code, out, err = ask("check", "model:wrong", "--at", "2")
    assert (code, err) == (1, "")
    assert out.startswith("wrong:")
    assert "6" in out


def test_compare(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = ask("compare", "model:f", "--at", "2,5", "--manual", "model:slopes", "--plot", "ways.svg")
    assert code == 0
    for part in ("manual", "central difference", "symbolic", "reverse mode", "5.5, 1.716337"):
        assert part in out
    assert "<svg" in (tmp_path / "ways.svg").read_text()
    code, _, err = ask("compare", "model:f", "--at", "2,5", "--plot", "ways.nothing")
    assert (code, "nothing" in err) == (2, True)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = ask("compare", "model:f", "--at", "2,5", "--plot", "ways.svg")
    assert (code, "matplotlib" in err) == (4, True)


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        ("explain model:f --at 2", 2, "does not fit f(x1, x2): missing a required argument: 'x2'"),
        ("explain model:f --at 2,5,6", 2, "does not fit f(x1, x2): too many positional arguments"),
        ("explain model:f --at 2,x3=5", 2, "missing a required argument"),
        ("explain model:f --at 2,abc", 2, "'abc' is no number"),
        ("explain model:f --at 2,__import__('os')", 2, "is no number"),
        ("explain model:f --at 2,,", 2, "cannot be read"),
        ("explain model:f --at 2,9**9**9", 2, "too large a number"),
        ("explain model:f --at 1/0,2", 2, "'1 / 0' is no number"),
        ("explain model:norm --at [1,[2,3]]", 2, "is no array"),
        ("explain model:ff --at 2", 2, "there is no 'ff' in model"),
        ("explain model:powr --at 2", 2, "did you mean power?"),
        ("explain model:number --at 2", 2, "is no function but int"),
        ("explain model --at 2", 2, "write MODULE:FUNCTION"),
        ("explain modell:f --at 2", 2, "there is no module 'modell'"),
        ("explain package.nothing:f --at 2", 2, "there is no module 'package.nothing'"),
        ("explain nothing.py:f --at 2", 2, "there is no file nothing.py"),
        ("explain package/:f --at 2", 2, "is no file"),
        ("explain broken.py:f --at 2", 3, "broken.py cannot be imported: SyntaxError"),
        ("explain raises.py:f --at 2", 3, "RuntimeError: not today (raises.py:1"),
        ("explain imports:f --at 2", 3, "needs the package 'a_package_that_nobody_has'"),
        ("explain model:fails --at 2", 3, "fails failed: IndexError: list index out of range (model.py:"),
        ("check model:leaves --at 2", 3, "sys.exit(5)"),
        ("check model:needs --at 2", 4, "a_package_that_nobody_has"),
        ("explain model:f --at 2,5 --html nowhere/page.html", 2, "there is no folder"),
        ("explain model:f --at 2,5 --html page.html --format latex", 2, "give one of them"),
        ("explain model:f --at 2,5 --rows 0", 2, "--rows must be above zero"),
        ("explain model:f --at 2,5 --mode sideways", 2, "invalid choice"),
        ("explain model:f", 2, "--at"),
        ("check model:f --at 2,5 --order 0", 2, "--order must be above zero"),
        ("check model:f --at 2,5 --order two", 2, "invalid int value"),
        ("compare model:f --at 2,5 --manual model:slope", 2, "did you mean slopes?"),
        ("compare model:f --at 2,5 --plot nowhere/a.png", 2, "there is no folder"),
        ("compare model:fails --at 2", 3, "list index out of range"),
        ("frobnicate", 2, "invalid choice"),
        ("bench --seconds 0", 2, "--seconds must be above 0"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_a_sentence(ask: Ask, words: str, code: int, part: str) -> None:
    found, out, err = ask(*words.split())
    assert (found, out) == (code, "")
    assert part in err
    assert err.startswith("adjoint: ")
    assert "Traceback" not in err


def test_values_that_are_not_finite(ask: Ask) -> None:
    for at, shown in (("-inf,5", "x1 = -∞"), ("-nan,5", "x1 = NaN"), ("0,0", "ln 0 = -∞"), ("-pi,1", "x1 = -3.142")):
        code, out, err = ask("explain", "model:f", "--at", at)
        assert (code, err) == (0, "")
        assert shown in out


def test_the_traceback_on_demand(ask: Ask) -> None:
    code, _, err = ask("explain", "model:fails", "--at", "2", "--traceback")
    assert code == 3
    assert "Traceback" in err
    assert "return [1, 2][7]" in err


def test_help(ask: Ask) -> None:
    assert ask()[0] == 2
    code, out, _ = ask("--help")
    assert code == 0
    for part in ("examples:", "exit codes:", "explain", "check", "doctor", "demo", "bench"):
        assert part in out
    for name in ("demo", "explain", "check", "compare", "bench", "doctor"):
        code, out, _ = ask(name, "--help")
        assert (code, "example:" in out) == (0, True)
    assert ask("--version") == (0, f"adjoint {ad.__version__}\n", "")


def test_demo_and_bench(ask: Ask) -> None:
    code, out, _ = ask("demo")
    assert code == 0
    assert out.count("5.500000000000  1.716337814537") == 3
    code, out, _ = ask("bench", "--seconds", "0.001", "--json")
    assert code == 0
    found = json.loads(out)["seconds_per_call"]
    assert len(found) == 3
    assert all(t > 0 for times in found.values() for t in times.values())


def test_doctor(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = ask("doctor", "--json")
    found = json.loads(out)
    assert (code, found["problems"]) == (0, [])
    assert found["packages"]["numpy"] == np.__version__
    assert found["gradients"] == dict.fromkeys(["dynamic", "static, native", "static, interpreter"], "right")
    assert found["backends"]["native"]["threads"] >= 1
    code, out, _ = ask("doctor")
    assert code == 0
    for part in ("Packages", "threads", "cache", "CPU", "All is well."):
        assert part in out
    monkeypatch.setattr(doctor, "PACKAGES", {**doctor.PACKAGES, "a_package_that_nobody_has": "", "another": "plot"})
    code, out, _ = ask("doctor")
    assert code == 1
    assert "pip install a_package_that_nobody_has" in out
    assert 'pip install "adjoint[plot]"' in out


def test_values() -> None:
    def f(x: Any, n: int, m=2, *rest: Any, flag: bool = False, **more: Any) -> None: ...

    args, kwargs = found_arguments(f, "[[1,2],[3,4]],3,4,5,6,flag=True,z=2*pi")
    assert args[0].dtype == np.float64
    assert args[0].shape == (2, 2)
    assert [type(a) for a in args[1:]] == [int, int, float, float]
    assert kwargs == {"flag": True, "z": 2 * np.pi}
    assert found_arguments(lambda x: x, "1/3")[0] == [1 / 3]
    assert found_arguments(lambda x: x, "-e")[0] == [-np.e]
    assert found_arguments(lambda x: x, "1+2j")[0] == [1 + 2j]
    assert found_arguments(lambda: 0, "") == ([], {})


def test_colours_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert terminal.styled("x", "red", Terminal()) == "\x1b[31mx\x1b[0m"
    assert terminal.styled("x", "red", io.StringIO()) == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal.styled("x", "red", Terminal()) == "x"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert terminal.styled("x", "red", Terminal()) == "x"


def test_as_a_process(tmp_path: Path) -> None:
    """`python -m adjoint`, into a pipe that is closed early, on a terminal that knows ASCII alone."""
    (tmp_path / "model.py").write_text(MODEL)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    command = f"{sys.executable} -m adjoint explain model:power --at 2,40 2>errors | head -1; echo ${{PIPESTATUS[0]}}"
    out = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert out.stdout.splitlines() == ["power(x) at x = 2", "0"]
    assert (tmp_path / "errors").read_text() == ""


def test_the_entry_point() -> None:
    (script,) = re.findall(r'^adjoint = "([\w.]+):(\w+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert getattr(import_module(script[0]), script[1]) is main


PAGE = (ROOT / "docs" / "cli.md").read_text()
CONSOLE = re.findall(r"```console\n\$ adjoint (.*?)\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(("words", "expected"), CONSOLE, ids=[words for words, _ in CONSOLE])
def test_the_page_shows_what_is_printed(ask: Ask, tmp_path: Path, words: str, expected: str) -> None:
    """On model.py as the page has it."""
    (model,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "model.py").write_text(model)
    code, out, err = ask(*shlex.split(words))
    assert out + err + (f"exit code {code}\n" if code else "") == expected


def test_the_page_has_such_blocks() -> None:
    assert len(CONSOLE) >= 4
