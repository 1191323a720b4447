"""The examples run, smaller than a user runs them, and reach what they promise."""

from __future__ import annotations

import importlib.util
import sys
from inspect import signature
from pathlib import Path

import pytest

import adjoint as ad
from adjoint.core import context

FOLDER = Path(__file__).parent.parent / "examples"


@pytest.fixture
def run(monkeypatch):
    """Run the `main` of an example with these arguments, on the backend that a user has; gives its exit status."""
    token = context.backend.set(None)

    def run(name, *arguments):
        spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        return module.main([str(a) for a in arguments]) if signature(module.main).parameters else module.main()

    yield run
    ad.set_context(mode=ad.PYNATIVE_MODE)
    context.backend.reset(token)


def test_lenet(run, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "lenet.png"
    arguments = ("--epochs", 6, "--compare", 2, "--goal", 0.95, "--picture", picture)
    assert run("lenet", *arguments) == 0
    out = capsys.readouterr().out
    assert "test accuracy" in out and "Steps a second" in out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_lenet_without_matplotlib(run, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run("lenet", "--epochs", 1, "--samples", 64, "--compare", 0, "--goal", 0) == 0
    assert "pip install matplotlib" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("logistic_regression", []),
        ("lenet_functional", ["--epochs", 3, "--goal", 0.85]),
        ("fit_ode", []),
        ("pinn", ["--steps", 300]),
        ("gpt_adds", ["--steps", 500, "--goal", 0.8]),
        ("lstm_text", ["--steps", 150, "--goal", 0.9]),
    ],
)
def test_example(run, name, arguments, capsys):
    assert run(name, *arguments) == 0
    assert capsys.readouterr().out


def test_the_walkthrough(run):
    assert run("walkthrough") == 0
