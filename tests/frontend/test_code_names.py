"""Names in code, and which modules code reaches by them."""

from __future__ import annotations

import sys
import types

import pytest

from adjoint.frontend.code_names import globals_read, modules_imported, names_and_texts, names_used
from adjoint.frontend.heap import Heap


def around(x):
    import json as text

    def inside(y):
        from os.path import join

        return text.dumps(y), join, getattr(y, "shade"), missing  # noqa: B009, F821

    return inside(x).colour


def test_names_of_inner_functions_count():
    code = around.__code__
    assert {"colour", "dumps", "missing", "json", "os.path"} <= names_used(code)
    assert "shade" in names_and_texts(code) - names_used(code)
    assert globals_read(code) == {"getattr", "missing"}
    assert modules_imported(code) == {"json", "os.path"}
    assert names_used(code) is names_used(code)


@pytest.fixture
def module(monkeypatch):
    """A module of the user's with a state, whose name is also that of an attribute."""
    made = types.ModuleType("palette")
    made.used = [0]
    monkeypatch.setitem(sys.modules, "palette", made)
    return made


def by_attribute(x):
    return x.palette, "palette", x.used


def by_import(x):
    import palette

    return palette.used, x


def by_text(x):
    import importlib

    return importlib.import_module("palette").used, x


def test_a_module_is_reached_by_what_imports_it_only(module):
    assert module.used not in Heap([("f", by_attribute)])
    assert module.used in Heap([("f", by_import)])
    assert module.used in Heap([("f", by_text)])
