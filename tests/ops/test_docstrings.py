"""The examples in the documentation run, and every public function has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import adjoint
from adjoint import ops

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules() -> Iterator[str]:
    yield "adjoint"
    for module in pkgutil.walk_packages(adjoint.__path__, "adjoint.", onerror=lambda name: None):
        if not module.name.endswith("__main__"):
            yield module.name


def public() -> dict[str, Any]:
    """The functions and classes that a user calls, by the name they are called by."""
    found = {}
    for module in (adjoint, ops):
        for name, value in vars(module).items():
            ours = getattr(value, "__module__", "").startswith("adjoint.")
            if ours and not name.startswith("_") and (inspect.isfunction(value) or inspect.isclass(value)):
                found[f"{module.__name__}.{name}"] = value
    return found


PUBLIC = public()
FUNCTIONS = {name: value for name, value in PUBLIC.items() if inspect.isfunction(value)}


@pytest.mark.parametrize("name", list(modules()))
def test_examples_of_a_module(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert not found.failed


@pytest.mark.parametrize("name", PUBLIC)
def test_examples_of_a_public_name(name: str) -> None:
    """A decorated function is not found by way of its module: each is run by its own name too."""
    value = PUBLIC[name]
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    for test in doctest.DocTestFinder(recurse=False).find(value, name):
        runner.run(test)
    assert not runner.failures


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_has_an_example(name: str) -> None:
    text = inspect.getdoc(FUNCTIONS[name]) or ""
    first = text.split("\n\n")[0]
    assert first.endswith("."), f"{name}: the documentation must begin with a sentence, not {first!r}"
    assert ">>>" in text, f"{name} has no example"
