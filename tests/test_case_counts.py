"""The table of test cases is held, and a run that has fewer says what is gone."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from adjoint.backends import chosen
from adjoint.ops.card import REGISTRY
from corpus import PROGRAMS

FOLDER = Path(__file__).parent
SPEC = importlib.util.spec_from_file_location("case_counts", FOLDER / "case_counts.py")
counts = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(counts)
TABLE = json.loads(counts.TABLE.read_text())


def cases(**numbers):
    return [SimpleNamespace(nodeid=f"tests/{name}.py::test[{k}]") for name, n in numbers.items() for k in range(n)]


def test_fewer_cases_are_noticed_by_file_and_by_function():
    table = dict(counts.families(cases(a=30, b=2)))
    assert table == {"tests/a.py": 30, "tests/a.py::test": 30, "tests/b.py": 2}
    files = {"tests/a.py", "tests/b.py"}
    assert counts.missing(counts.families(cases(a=31, b=2), table), table, files) == []
    gone = counts.missing(counts.families(cases(a=1), table), table, files)
    assert sorted(text.split(" cases")[0] for text in gone) == ["tests/a.py: 1", "tests/a.py::test: 1", "tests/b.py: 0"]


def test_only_whole_files_are_held():
    root, names = Path("/p"), ["tests/a.py", "tests/b/c.py::test"]
    assert counts.whole_files(root, ["tests"], names) == {"tests/a.py", "tests/b/c.py"}
    assert counts.whole_files(root, ["tests/b", "tests/a.py::test"], names) == {"tests/b/c.py"}


@pytest.mark.parametrize(
    "name, least",
    [
        (
            "tests/corpus/test_corpus.py::test_static_value_gradient_and_tangent",
            sum(p.static for p in PROGRAMS.values()),
        ),
        (
            "tests/corpus/test_corpus.py::test_machine_code_against_finite_differences",
            sum(p.static for p in PROGRAMS.values()),
        ),
        ("tests/corpus/test_corpus.py::test_reverse_against_finite_differences", len(PROGRAMS)),
        ("tests/ops/test_rules.py", len(REGISTRY)),
    ],
    ids=["corpus, static", "corpus, differences", "corpus, dynamic", "registry"],
)
def test_the_table_holds_the_large_families(name, least):
    assert TABLE[name] >= 0.9 * least  # some were added since


def test_tests_run_on_what_users_get():
    assert chosen() == "native"
