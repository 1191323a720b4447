"""The examples run, smaller than a user runs them, and reach what they promise."""

from __future__ import annotations

import gzip
import importlib.util
import sys
from inspect import signature
from pathlib import Path

import pytest

import adjoint as ad

FOLDER = Path(__file__).parent.parent / "examples"


@pytest.fixture
def run(monkeypatch):
    """Run the `main` of an example with these arguments; gives its exit status."""
    monkeypatch.syspath_prepend(FOLDER)  # as for a script that lies there

    def run(name, *arguments):
        spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        return module.main([str(a) for a in arguments]) if signature(module.main).parameters else module.main()

    yield run
    ad.set_context(mode=ad.PYNATIVE_MODE)


def test_lenet(run, tmp_path, capsys):
    picture = tmp_path / "lenet.png"
    arguments = ("--epochs", 3, "--compare", 1, "--goal", 0.8, "--picture", picture)
    assert run("lenet", *arguments) == 0
    out = capsys.readouterr().out
    assert "test accuracy" in out and "Steps a second" in out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib(run, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run("logistic_regression") == 0
    assert "pip install matplotlib" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name, arguments, said",
    [
        ("logistic_regression", [], "Test accuracy"),
        ("fit_ode", [], "growth"),
        ("gaussian_process", ["--points", 40], "within the band"),
        ("kalman", ["--steps", 60, "--grid", 5], "filter as learnt"),
        ("levenberg_marquardt", ["--points", 10, "--cameras", 3], "error of a point"),
        ("hamiltonian", ["--chains", 40, "--samples", 60, "--count", 10], "gradients a second"),
        ("deblur", ["--size", 48, "--steps", 40], "Error of a pixel"),
        ("pinn", ["--steps", 300], "largest error of u"),
        ("lstm_text", ["--steps", 60, "--width", 48, "--sample", 40, "--goal", 4.0], "bits a character"),
        ("style", ["--steps", 20, "--height", 72, "--filters", 6], "evaluations"),
        ("gpt_adds", ["--steps", 400, "--batch", 96, "--goal", 0.05], "sums never seen are right"),
    ],
)
def test_examples_with_a_picture(run, name, arguments, said, tmp_path, capsys):
    picture = tmp_path / "picture.png"
    assert run(name, *arguments, "--picture", picture) == 0
    assert said in capsys.readouterr().out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_lenet_functional(run, capsys):
    assert run("lenet_functional", "--epochs", 2, "--goal", 0.8) == 0
    assert "the same" in capsys.readouterr().out


def test_the_walkthrough(run):
    assert run("walkthrough") == 0


def test_every_example_is_run_and_listed():
    page, tests = (FOLDER / "README.md").read_text(), Path(__file__).read_text()
    for path in FOLDER.glob("*.py"):
        if path.stem != "figures":
            assert f"[{path.name}]({path.name})" in page
            assert f'"{path.stem}"' in tests


def test_the_book_is_whole_small_and_says_where_it_comes_from():
    packed = (FOLDER / "alice.txt.gz").read_bytes()
    text = gzip.decompress(packed).decode("ascii")
    start = "CHAPTER I\n\nDown the Rabbit-Hole\n\nAlice was beginning to get very tired of sitting by her sister"
    assert text.startswith(start) and text.endswith("and the happy summer days.\n")
    assert text.count("CHAPTER ") == 12 and "  " not in text
    assert len(packed) < 100_000 and "public domain" in (FOLDER / "alice.txt").read_text()
