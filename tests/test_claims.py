"""What the texts name is there: commands, files, settings, functions, and so many of them."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import adjoint as ad
from adjoint import nn, ops
from corpus import PROGRAMS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {page.name: page.read_text() for page in PAGES}
SPOKEN = {name: re.sub(r"```.*?```", "", text, flags=re.DOTALL) for name, text in TEXTS.items()}
ROOTS = {
    "ad": ad,
    "adjoint": ad,
    "ops": ops,
    "nn": nn,
    "optim": ad.optim,
    "train": ad.train,
    "amp": ad.amp,
    "graph": ad.graph,
}

each_page = pytest.mark.parametrize("page", TEXTS)


@each_page
def test_commands_are_targets(page: str) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert (
        set(re.findall(r"\bmake ((?:bench|demo|test|check|fuzz|versions|counts|clean)[\w-]*)", TEXTS[page])) <= targets
    )


@each_page
def test_files_are_there(page: str) -> None:
    known = {p.name for p in ROOT.rglob("*.py") if ".venv" not in p.parts}
    shown = {"model.py", "train.py", "my_ops.py", "script.py"}  # of readers
    named = {Path(name).name for name in re.findall(r"`([\w/]+\.py)`", SPOKEN[page])}
    assert named - shown <= known


@each_page
def test_settings_are_read(page: str) -> None:
    code = "".join(p.read_text() for p in (ROOT / "adjoint").rglob("*.py"))
    for name in re.findall(r"\bADJOINT_[A-Z_]+", TEXTS[page]):
        assert name in code


def found(name: str) -> Any:
    first, *rest = name.split(".")
    value = ROOTS[first]
    for part in rest:
        try:
            value = getattr(value, part)
        except AttributeError:
            value = importlib.import_module(f"{value.__name__}.{part}")
    return value


@pytest.mark.parametrize("page", [page for page in TEXTS if page != "coming_from.md"])  # which names those of others
def test_names_are_there(page: str) -> None:
    roots = "|".join(ROOTS)
    face = "adjoint.mindspore." if page == "mindspore.md" else ""
    for name in re.findall(rf"`((?:{roots})(?:\.\w+)+)", SPOKEN[page]):
        assert found(name if name.startswith("adjoint") else face + name) is not None, name


def test_names_of_the_changelog_are_there() -> None:
    line = re.search(r"^- (`grad`, `value_and_grad`.*?)\.\n- ", TEXTS["CHANGELOG.md"], re.MULTILINE | re.DOTALL)
    assert line is not None
    names = re.findall(r"`(\w+)`", line[1])
    assert len(names) > 20 and all(hasattr(ad, name) for name in names)


def test_numbers_are_right() -> None:
    changes = TEXTS["CHANGELOG.md"]
    functions = [v for n, v in vars(ops).items() if not n.startswith("_") and callable(v) and not inspect.isclass(v)]
    layers = [v for v in vars(nn).values() if inspect.isclass(v) and issubclass(v, nn.Cell)]
    assert int(re.search(r"over (\d+) functions", changes)[1]) <= len(functions)
    assert abs(int(re.search(r"some (\d+) layers", changes)[1]) - len(layers)) <= 5
    assert int(re.search(r"corpus of over (\d+) programs", changes)[1]) <= len(PROGRAMS)
