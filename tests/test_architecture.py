"""The layout: imports go one way, files stay small, importing is cheap."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from adjoint.ops import REGISTRY

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "adjoint"

RANK = {
    "core": 0, "ops": 1, "transforms": 2, "graph": 3,
    "frontend": 4, "passes": 4, "backends": 4,
    "api": 5,
    "distributions": 6, "nn": 6, "numpy": 6, "optim": 6, "optimize": 6, "numeric": 6, "symbolic": 6, "testing": 6,
    "scipy": 7, "data": 7, "train": 7, "pictures": 7, "diagnosis": 7, "deploy": 7, "explanations": 7,
    "array_api": 7, "sparse": 6, "parallel": 8, "cli": 9, "mindspore": 9,
}  # fmt: skip


def allowed(importer: str, imported: str) -> bool:
    """Whether one stage may import another."""
    return importer == imported or RANK[importer] > RANK[imported]


def violations(source: str, stage: str) -> list[str]:
    """Imports in a file of `stage` that point the wrong way."""
    found = []
    for node in ast.walk(ast.parse(source)):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{a.name}" for a in node.names] if node.module == "adjoint" else [node.module]
        for name in names:
            parts = name.split(".")
            if parts[0] == "adjoint" and len(parts) > 1 and not (parts[1] in RANK and allowed(stage, parts[1])):
                found.append(f"line {node.lineno}: {name}")
    return found


def imported(source: str, modules: set[str]) -> set[str]:
    """Which of these modules a file imports, at its top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{a.name}" for a in node.names} | {node.module}
    return found & modules


def on_a_cycle(graph: dict[str, set[str]]) -> set[str]:
    """The modules left when those are taken away, again and again, that import none of the others or that none imports."""
    left = set(graph)
    while True:
        kept = {m for m in left if graph[m] & left and any(m in graph[n] for n in left)}
        if kept == left:
            return left
        left = kept


def test_the_cycle_inside_ops_goes_through_the_language() -> None:
    """Rules call one another through `ops/language.py`; without it the direction of imports is the direction of calls."""
    files = {".".join(p.relative_to(ROOT).with_suffix("").parts): p for p in (PACKAGE / "ops").rglob("*.py")}
    files = {name.removesuffix(".__init__"): p for name, p in files.items() if name != "adjoint.ops.__init__"}
    graph = {name: imported(p.read_text(), set(files)) - {name} for name, p in files.items()}
    assert "adjoint.ops.families" in on_a_cycle(graph)
    without = {
        name: names - {"adjoint.ops.language"} for name, names in graph.items() if name != "adjoint.ops.language"
    }
    assert on_a_cycle(without) == set()


def test_core_calls_the_stages_above_it_by_two_protocols() -> None:
    """Each states what core calls and nothing else, and all of it is bound; nothing else is filled in from above."""
    import adjoint.transforms.backward
    from adjoint.core import autograd, language
    from adjoint.ops import tensor_functions

    text = {p.relative_to(PACKAGE).as_posix(): p.read_text() for p in PACKAGE.rglob("*.py")}
    core = "".join(t for name, t in text.items() if name.startswith("core/"))
    assert sorted(name for name, t in text.items() if "SimpleNamespace" in t) == [
        "core/autograd.py",
        "core/language.py",
    ]
    assert sorted(tensor_functions.__all__) == sorted(language.NAMES)
    for names, bound, functions, name in (
        (language.NAMES, language.language, tensor_functions, "language"),
        (autograd.NAMES, autograd.autograd, adjoint.transforms.backward, "autograd"),
    ):
        assert set(re.findall(rf"\b{name}\.(\w+)\(", core)) == set(names) == set(vars(bound))
        assert all(getattr(bound, n) is getattr(functions, n) for n in names)


FILES = sorted(p for p in PACKAGE.rglob("*.py") if p.parent != PACKAGE)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_one_way(path: Path) -> None:
    stage = path.relative_to(PACKAGE).parts[0]
    assert violations(path.read_text(), stage) == []


def test_the_check_itself_finds_a_wrong_import() -> None:
    assert violations("from adjoint.transforms.tape import Tape", "ops") == ["line 1: adjoint.transforms.tape"]
    assert violations("from adjoint import nn", "api") == ["line 1: adjoint.nn"]
    assert not allowed("transforms", "graph")
    assert not allowed("ops", "backends")


@pytest.mark.parametrize(
    "path", [*FILES, *sorted((ROOT / "tests").rglob("*.py"))], ids=lambda p: str(p.relative_to(ROOT))
)
def test_files_stay_under_the_limit(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


def test_import_is_light() -> None:
    """`import adjoint` loads NumPy and nothing else that is heavy; SciPy waits for its first use."""
    heavy = ("scipy", "llvmlite", "jax", "torch", "sympy", "matplotlib", "ml_dtypes", "safetensors", "tqdm")
    code = f"import sys, adjoint, adjoint.train; print(*[m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert out.stdout.strip() == ""


def test_the_versions_of_python_are_those_that_are_tested() -> None:
    """What the README names, what pyproject.toml names and what `make versions` runs are one list."""
    project, readme = (ROOT / "pyproject.toml").read_text(), (ROOT / "README.md").read_text()
    out = subprocess.run(
        [sys.executable, str(ROOT / ".ci" / "versions.py"), "--list"], capture_output=True, text=True, check=True
    )
    named = [line.split()[0] for line in out.stdout.splitlines()]
    assert f"Python {named[0]} to {named[-1]}" in readme and f'requires-python = ">={named[0]}"' in project
    assert named == [f"3.{minor}" for minor in range(10, 10 + len(named))]
    here = f"3.{sys.version_info.minor}"
    assert any(line.startswith(here) and not line.endswith("-") for line in out.stdout.splitlines())


def test_the_extras_are_not_needed_until_they_are_used() -> None:
    """As after a plain `pip install .`: all is imported and a run with a progress bar trains."""
    code = """if True:
        import sys
        for extra in ("tqdm", "safetensors", "ml_dtypes", "matplotlib"):
            sys.modules[extra] = None
        import numpy as np
        from adjoint import nn, ops, optim
        from adjoint.data import ArrayDataset
        from adjoint.train import Model, ProgressBar
        net = nn.Dense(2, 2)
        model = Model(net, ops.cross_entropy, optim.SGD(net.trainable_params(), 0.1))
        model.fit(1, ArrayDataset(np.ones((4, 2), "float32"), np.zeros(4, "int32")).batch(2), callbacks=[ProgressBar(True)])
    """
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert out.returncode == 0 and 'pip install "adjoint[train]"' in out.stderr, out.stderr


def test_the_part_that_every_version_runs_exists() -> None:
    text = (ROOT / ".ci" / "versions.py").read_text()
    paths = re.findall(r'"(?:--ignore=)?(tests/[\w/.]+)",', text)
    assert len(paths) > 5 and all((ROOT / path).exists() for path in paths)


def test_where_unused_parameters_are_allowed_there_are_some() -> None:
    allowed = re.findall(r'"(adjoint/[^"]+)" = \["ARG001"\]', (ROOT / "pyproject.toml").read_text())
    assert len(allowed) > 5
    for pattern in allowed:
        path = str(ROOT / pattern.removesuffix("/**"))
        command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "ARG001", path]
        assert subprocess.run(command, capture_output=True).returncode == 1, f"{pattern} needs no exemption any more"


def test_the_type_check_covers_the_whole_package() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    settings = project.split("[tool.mypy]", 1)[1]
    assert 'files = ["adjoint", "tests/typing"]' in settings and "check_untyped_defs = true" in settings
    assert "tool.mypy.overrides" not in settings and not re.search(r"^exclude", settings, re.MULTILINE)
    assert not [
        p for p in PACKAGE.rglob("*.py") if re.search(r"^# *(type: *ignore|mypy:)", p.read_text(), re.MULTILINE)
    ]


#: Names that two or more classes have, each with the reason. Whoever makes one of them unique takes it off.
DOUBLE_CLASSES = {
    # a layer of `nn` and the op, or the first value, that is the same thing
    "Identity", "Pad", "Sigmoid", "Softplus", "Tanh",
    # PyTorch's names of layers, which a family of ops and a part of a compiled program have too
    "Linear", "Module",
    # a distribution and the first value that is drawn from it
    "Normal", "Uniform",
    # ours, and what stands for one of scipy.stats
    "Distribution",
}  # fmt: skip
#: Names that two or more modules have.
DOUBLE_MODULES = {
    # one family of ops at each level: the cards, the functions, the layers, NumPy's names
    "activation", "conv", "creation", "fft", "joining", "linalg", "loss", "margin", "movement",
    "padding", "pool", "products", "random", "reduction", "selection", "trigonometric", "ufuncs",
    # one thing as the front end sees it, and as the graph or the core does
    "effects", "errors", "language", "numbers",
    # the core's trees and their public face
    "tree",
}  # fmt: skip


def doubles(names: list[str]) -> set[str]:
    return {name for name in names if names.count(name) > 1}


def test_names_are_unique() -> None:
    """A class or a module that is found by its name is the one that was meant; MindSpore's names are what they are."""
    files = [p for p in PACKAGE.rglob("*.py") if p.relative_to(PACKAGE).parts[0] != "mindspore"]
    classes = [n.name for p in files for n in ast.walk(ast.parse(p.read_text())) if isinstance(n, ast.ClassDef)]
    found = doubles(classes)
    assert found - DOUBLE_CLASSES == set(), "give one of the classes another name"
    assert DOUBLE_CLASSES - found == set(), "unique by now: take them off the list"
    found = doubles([p.stem for p in files if p.stem != "__init__"])
    assert found - DOUBLE_MODULES == set(), "give one of the modules another name"
    assert DOUBLE_MODULES - found == set(), "unique by now: take them off the list"


# ---------------------------------------------------------------- what is true of an op stands on its card

#: How many cards each part of the package names, outside `ops`. These numbers may only shrink: a part that names more than a
#: dozen is missing a fact on the card. `rewrite` and `kernels` are what needs a page for single ops.
NAMED = {
    "graph": 5, "passes": 10, "transforms": 1,
    "backends": 1, "native/kernels": 40, "native/plan": 4, "native/rewrite": 14,
}  # fmt: skip


def part(path: Path) -> str:
    """The stage of a file; of the native backend, its folder."""
    parts = path.relative_to(PACKAGE).parts
    if parts[:2] == ("backends", "xla"):
        return "xla"
    if path.stem in ("complex_functions", "complex_pairs", "complex_rules", "fourier_steps", "real_numbers"):
        return "native/complex"
    return "/".join(parts[1:3] if parts[0] == "backends" and len(parts) > 3 else parts[:1])


def cards_named(source: str) -> set[str]:
    """The cards that a file imports, or reaches by way of a module that it imports."""
    tree, found, modules = ast.parse(source), set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("adjoint.ops"):
            found |= {a.name for a in node.names}
            modules |= {a.asname or a.name for a in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            found.add(node.attr)
    return {name for name in found if name in REGISTRY}


def test_stages_ask_cards_for_facts_and_name_few_of_them() -> None:
    named: dict[str, set[str]] = {}
    for path in FILES:
        # A lowering, XLA's and that of complex numbers to real ones, is a page for single ops.
        if part(path) not in ("ops", "testing", "xla", "native/complex"):
            named.setdefault(part(path), set()).update(cards_named(path.read_text()))
    more = {k: sorted(v) for k, v in named.items() if len(v) > NAMED.get(k, 0)}
    assert not more, "put what these files must know of an op on its card, as a fact"
    assert {k: len(named[k]) for k in NAMED} == NAMED, "fewer by now: lower the number"


def test_the_count_finds_cards_by_all_their_ways() -> None:
    source = (
        "from adjoint.ops.trigonometric import Sin, sin\nfrom adjoint.ops import compare as c\nc.Less, c.less, x.Cos"
    )
    assert cards_named(source) == {"Sin", "Less"}


def test_nothing_is_looked_up_by_the_module_of_a_card() -> None:
    """A card that moves to another file must not change what becomes of it."""
    modules = {f"adjoint.ops.{p.stem}" for p in (PACKAGE / "ops").glob("*.py")}
    for path in (p for p in FILES if RANK[p.relative_to(PACKAGE).parts[0]] > 1):
        strings = {n.value for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Constant)}
        assert not modules & {s for s in strings if isinstance(s, str)}, path
        assert "type(op).__module__" not in path.read_text() and "node.op).__module__" not in path.read_text(), path
