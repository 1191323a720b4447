"""The public surface: one page lists it, and every error of ours has one base and is exported."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import adjoint as ad
from adjoint.scipy.imports import MIRRORS

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "adjoint"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}  # this tree, whatever is installed

#: Exceptions that no user meets: they carry control flow inside the front end and the command line.
SIGNALS = {
    "adjoint.api.deferred_transforms._Finished",
    "adjoint.cli.exits.CommandFailure",
    "adjoint.frontend.region.Abandoned",
    "adjoint.frontend.rolled._ConditionActs",
    "adjoint.frontend.state.Again",
    "adjoint.optimize.results.Stopped",
}


def modules() -> list[str]:
    names = (m.name for m in pkgutil.walk_packages(ad.__path__, "adjoint."))
    apart = ("adjoint.testing", "adjoint.mindspore.pytest_plugin")  # tools for tests; to import the plugin is to use it
    return sorted(name for name in names if not name.startswith(apart))


def exceptions() -> list[type[BaseException]]:
    found = []
    for name in [m for m in modules() if not m.startswith("adjoint.mindspore")]:  # the face has MindSpore's errors
        for value in vars(importlib.import_module(name)).values():
            if inspect.isclass(value) and issubclass(value, BaseException) and value.__module__ == name:
                found.append(value)
    return found


def named(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def test_every_error_is_an_adjoint_error_and_is_exported() -> None:
    own = [e for e in exceptions() if not e.__module__.startswith("adjoint.mindspore.")]  # the face has MindSpore's
    errors = [e for e in own if named(e) not in SIGNALS and not issubclass(e, Warning)]
    assert len(errors) > 20
    for error in errors:
        assert issubclass(error, ad.AdjointError), f"{named(error)} is not an AdjointError"
        assert getattr(ad, error.__name__, None) is error, f"{named(error)} is not exported from adjoint"
        assert error.__name__ in dir(ad)
        assert error.__name__ == "AdjointError" or error.__doc__ != ad.AdjointError.__doc__


def test_warnings_can_be_switched_off_by_one_name() -> None:
    for kind in [e for e in exceptions() if issubclass(e, Warning)]:
        assert issubclass(kind, ad.PerformanceWarning), named(kind)
        assert getattr(ad, kind.__name__, None) is kind, f"{named(kind)} is not exported from adjoint"


def test_the_signals_are_not_errors() -> None:
    signals = [e for e in exceptions() if named(e) in SIGNALS]
    assert {named(s) for s in signals} == SIGNALS
    assert not any(issubclass(s, Exception) for s in signals)


#: Builtin errors that are raised as they are, because Python's own code waits for them or would raise them here.
BUILTIN = {
    ("frontend/passed_values.py", "IndexError", 1),  # the end of a sequence
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
        if not place.startswith(("testing/", "mindspore/")):  # the face raises what MindSpore raises
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


# ---------------------------------------------------------------- docs/api.md lists every public name

FOLDERS = (
    "ops", "nn", "nn.initializer", "distributions", "optim", "optimize", "train", "amp", "data", "graph", "testing", "numeric", "sparse", "symbolic", "parallel", "tree",
)  # fmt: skip
#: Stages that `import adjoint` loads, and which are not public.
STAGES = {
    "api", "backends", "cli", "core", "deploy", "diagnosis", "explanations", "frontend", "passes", "pictures", "transforms",
}  # fmt: skip
#: Parts of a public folder that are public as modules.
MODULES = {"adjoint.ops": {"language"}, "adjoint.nn": {"initializer"}}


def sections() -> dict[str, str]:
    """The page's sections by the module that they are about."""
    parts = (ROOT / "docs" / "api.md").read_text().split("\n## `")[1:]
    return {part.split("`", 1)[0]: part.split("`", 1)[1] for part in parts}


SECTIONS = sections()


def exported(name: str) -> set[str]:
    """The public names of a module: its own functions, classes and values, not what it imports from elsewhere."""
    module = importlib.import_module(name)
    names = {n for n in dir(module) if not n.startswith("_")}
    if name == "adjoint":
        return names - STAGES
    if name in ("adjoint.nn.initializer", "adjoint.graph"):
        homes = (name, "adjoint.api.graphs")
        return {n for n in names if getattr(getattr(module, n), "__module__", "") in homes} - {"fans"}
    values = {n for n in names if not inspect.ismodule(getattr(module, n))}
    return values | MODULES.get(name, set())


@pytest.mark.parametrize("name", ["adjoint", *(f"adjoint.{folder}" for folder in FOLDERS)])
def test_the_page_lists_every_public_name_and_nothing_else(name: str) -> None:
    listed = set(re.findall(r"`([A-Za-z_]\w*)`", SECTIONS[name]))
    names = exported(name)
    if importlib.util.find_spec("ml_dtypes") is None:
        listed.discard("bfloat16"), names.discard("bfloat16")
    assert names - listed == set(), "not on the page"
    assert listed - names == set(), "on the page, but not there"
    assert all(hasattr(importlib.import_module(name), n) for n in listed)


def test_the_mirror_of_numpy_is_a_mirror() -> None:
    assert set(SECTIONS) == {
        "adjoint",
        "adjoint.numpy",
        "adjoint.scipy",
        "adjoint.array_api",
        *(f"adjoint.{folder}" for folder in FOLDERS),
    }
    mirror = importlib.import_module("adjoint.numpy")
    own = {"ufuncs"}
    assert [n for n in dir(mirror) if not n.startswith("_") and n not in own and not hasattr(numpy, n)] == []


SCIPY = [name.removeprefix("scipy.") for name in MIRRORS]


@pytest.mark.parametrize("name", SCIPY)
def test_the_mirror_of_scipy_is_a_mirror(name: str) -> None:
    mirror, theirs = importlib.import_module(f"adjoint.scipy.{name}"), importlib.import_module(f"scipy.{name}")
    own = {"METHODS", "annotations"}
    names = {n for n, value in vars(mirror).items() if not n.startswith("_") and not inspect.ismodule(value)} - own
    assert sorted(n for n in names if not hasattr(theirs, n)) == []
    assert f"`adjoint.scipy.{name}`" in SECTIONS["adjoint.scipy"]


def doubles(name: str) -> dict[str, set[str]]:
    """What a module has under several names: the name that the thing itself has, and the others."""
    module = importlib.import_module(name)
    found: dict[int, set[str]] = {}
    for n in exported(name):
        value = getattr(module, n)
        if inspect.isfunction(value) or inspect.isclass(value):
            found.setdefault(id(value), set()).add(n)
    groups = (names for names in found.values() if len(names) > 1)
    return {(ours := getattr(module, min(names)).__name__): names - {ours} for names in groups}


@pytest.mark.parametrize("name", ["adjoint", *(f"adjoint.{folder}" for folder in FOLDERS)])
def test_the_page_says_which_of_two_names_is_ours(name: str) -> None:
    module = importlib.import_module(name)
    also = {
        ours: set(re.findall(r"\w+", others))
        for ours, others in re.findall(r"`(\w+)` \(also ((?:`\w+`(?:, )?)+)\)", SECTIONS[name])
    }
    for ours, others in doubles(name).items():
        assert also.get(ours) == others, f"{ours} has the other names {sorted(others)}"
    for (
        ours,
        others,
    ) in also.items():  # what is on the page but not the same object is a class derived from ours that says so
        for other in others - doubles(name).get(ours, set()):
            alias = getattr(module, other)
            assert issubclass(alias, getattr(module, ours)) and f"`{ours}`" in (alias.__doc__ or "")


# ---------------------------------------------------------------- what `pip install adjoint` ships


def shipped() -> set[str]:
    """The files of the wheel: modules of the packages that pyproject.toml finds, and the data that it names."""
    project = (ROOT / "pyproject.toml").read_text()
    assert 'include = ["adjoint*"]' in project and "exclude" not in project and not (ROOT / "MANIFEST.in").exists()
    data = ast.literal_eval(re.search(r"package-data\]\nadjoint = (\[.*\])", project)[1])  # type: ignore[index]
    found = set(PACKAGE.rglob("*.py")) | {p for pattern in data for p in PACKAGE.glob(pattern)}
    return {p.relative_to(ROOT).as_posix() for p in found}


def test_the_wheel_holds_the_library_and_nothing_else() -> None:
    files = shipped()
    assert {"adjoint/__init__.py", "adjoint/py.typed", "adjoint/backends/native/__init__.py"} <= files
    assert {f for f in files if not f.endswith(".py")} == {
        "adjoint/py.typed", "adjoint/data/digits.npz", "adjoint/data/digits.txt",
        "adjoint/mindspore/names.json", "adjoint/mindspore/modules.txt",
        *(f"adjoint/pictures/assets/{name}" for name in ("page.html", "page.css", "page.js", "view.js", "layout.js")),
    }  # fmt: skip
    assert not [f for f in files if re.search(r"corpus|alice|\btest_|conftest", f)]


def test_every_file_of_the_package_is_shipped() -> None:
    """What git holds under adjoint/ is in the wheel: data that only a checkout has would be missed by users first."""
    listed = subprocess.run(["git", "ls-files", "adjoint"], capture_output=True, text=True, cwd=ROOT)
    if listed.returncode == 0:
        assert {f for f in listed.stdout.split() if (ROOT / f).exists()} <= shipped()


def test_every_folder_of_the_package_is_a_package() -> None:
    """A folder without __init__.py would be found by some tools and missed by others."""
    folders = {p.parent for p in PACKAGE.rglob("*.py")}
    assert [f for f in folders if not (f / "__init__.py").exists()] == []


def test_the_package_needs_nothing_that_it_does_not_ship() -> None:
    """No module of ours imports the corpus, the tests, the benchmarks or the examples."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {n.split(".")[0] for n in names} & {"corpus", "tests", "benchmarks", "examples"}, path


def test_the_typed_program_of_a_user_runs() -> None:
    """`make check` reads its types, as a user's type checker would."""
    run = subprocess.run(
        [sys.executable, "tests/typing/user.py"], capture_output=True, text=True, cwd=ROOT, env=ENVIRONMENT
    )
    assert run.returncode == 0 and "grad_position 3" in run.stdout, run.stderr


# ---------------------------------------------------------------- nothing is dead


def defined(tree: ast.Module) -> list[str]:
    """The functions, classes and constants of a module."""
    found = [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and not n.decorator_list]
    targets = [t for n in tree.body if isinstance(n, ast.Assign) for t in n.targets]
    targets += [n.target for n in tree.body if isinstance(n, ast.AnnAssign) and n.value is not None]
    return [n.name for n in found] + [t.id for t in targets if isinstance(t, ast.Name)]


def read(tree: ast.Module) -> set[str]:
    """The names that a module reads itself: variables, attributes, and words in short texts such as annotations."""
    nodes = list(ast.walk(tree))
    names = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    names |= {n.attr for n in nodes if isinstance(n, ast.Attribute)}
    texts = [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str) and len(n.value) < 80]
    return names | {word for text in texts for word in re.findall(r"\w+", text)}


def test_nothing_is_dead() -> None:
    """Every function, class and constant is used in the package, or is public, or is a tool for tests."""
    public = {name for folder in ("", *FOLDERS, "numpy", "numpy.linalg", "numpy.fft",
                            *(f"scipy.{name}" for name in SCIPY))
              for name in dir(importlib.import_module(f"adjoint.{folder}".rstrip(".")))}  # fmt: skip
    texts = {path: path.read_text() for path in PACKAGE.rglob("*.py")}
    words = {path: set(re.findall(r"\w+", text)) for path, text in texts.items()}
    dead = []
    for path, text in texts.items():
        if path.relative_to(PACKAGE).parts[0] in ("testing", "mindspore"):  # MindSpore's names are used by its programs
            continue
        tree = ast.parse(text)
        module = path.parent.name if path.stem == "__init__" else path.stem
        unused = set(defined(tree)) - public - read(tree)
        dead += [
            f"{path.relative_to(ROOT)}: {name}"
            for name in unused
            if not name.startswith("__")
            and not any(module in words[other] and name in words[other] for other in words if other != path)
        ]
    assert dead == []
