"""The public surface: every error of ours has one base and is at hand, as `except ad.AdjointError` promises."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import adjoint as ad

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "adjoint"

#: Exceptions that no user meets: they carry control flow inside the front end.
SIGNALS = {
    "adjoint.frontend.region.Abandoned",
    "adjoint.frontend.rolled._ConditionActs",
    "adjoint.frontend.state.Again",
}


def modules() -> list[str]:
    names = (m.name for m in pkgutil.walk_packages(ad.__path__, "adjoint."))
    return sorted(name for name in names if not name.startswith("adjoint.testing"))


def exceptions() -> list[type[BaseException]]:
    found = []
    for name in modules():
        for value in vars(importlib.import_module(name)).values():
            if inspect.isclass(value) and issubclass(value, BaseException) and value.__module__ == name:
                found.append(value)
    return found


def named(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def test_every_error_is_an_adjoint_error_and_is_exported() -> None:
    errors = [e for e in exceptions() if named(e) not in SIGNALS]
    assert len(errors) > 20
    for error in errors:
        assert issubclass(error, ad.AdjointError), f"{named(error)} is not an AdjointError"
        assert getattr(ad, error.__name__, None) is error, f"{named(error)} is not exported from adjoint"
        assert error.__name__ in dir(ad)
        assert error.__name__ == "AdjointError" or error.__doc__ != ad.AdjointError.__doc__


def test_the_signals_are_not_errors() -> None:
    signals = [e for e in exceptions() if named(e) in SIGNALS]
    assert {named(s) for s in signals} == SIGNALS
    assert not any(issubclass(s, Exception) for s in signals)


#: Builtin errors that are raised as they are, because Python's own code waits for them or would raise them here.
BUILTIN = {
    ("frontend/rolled.py", "IndexError", 1),  # the end of a sequence
    ("frontend/branches.py", "IndexError", 1),
    ("frontend/items.py", "ValueError", 1),  # range's own
    ("ops/numpylike/protocol.py", "TypeError", 1),  # caught in the same function
}


def raised(path: Path) -> list[str]:
    """Names of the builtin errors that a file raises with words of its own."""
    return [
        node.exc.func.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name)
        and node.exc.func.id in ("Exception", "ValueError", "TypeError", "RuntimeError", "IndexError", "LookupError")
    ]  # fmt: skip


def test_no_stage_raises_builtin_errors_of_its_own() -> None:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE).as_posix()
        if not place.startswith(("testing/", "backends/native/")):
            names = raised(path)
            found |= {(place, name, names.count(name)) for name in names}
    assert found == BUILTIN


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (ad.ShapeError, ValueError), (ad.DtypeError, TypeError), (ad.IndexingError, IndexError),
        (ad.ArgumentError, ValueError), (ad.ArgumentTypeError, TypeError), (ad.LeakError, RuntimeError),
        (ad.CheckpointError, ValueError), (ad.UnsupportedSyntaxError, SyntaxError), (ad.NoRuleError, NotImplementedError),
    ],
)  # fmt: skip
def test_errors_are_python_s_own_as_well(error: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(error, builtin)
