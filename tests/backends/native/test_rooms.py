"""The rooms of the native backend: imports go one way, nothing hides, and the map names every file."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[3] / "adjoint" / "backends" / "native"
#: The rooms of the native backend; each imports only from itself and from those before it.
ROOMS = (
    "dtypes", "runtime", "node_facts", "kernel_registry", "rewrite", "plan", "emit", "kernels", "memory_plan", "unit_names",
    "compiler", "standalone", "unit_times",
)  # fmt: skip


def native_imports(tree: ast.AST) -> list[str]:
    """The rooms that a file imports when it runs: what only the type checker reads is left out."""
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("adjoint.backends.native"):
            rest = node.module.split(".")[3:]  # type: ignore[union-attr]
            found += rest[:1] or [a.name for a in node.names]
        found += native_imports(node)
    return found


@pytest.mark.parametrize("path", sorted(NATIVE.rglob("*.py")), ids=lambda p: str(p.relative_to(NATIVE)))
def test_the_rooms_of_the_native_backend(path: Path) -> None:
    """Imports go one way, none hides in a function, no function is long, and what a kernel is given has its type."""
    text = path.read_text()
    tree = ast.parse(text)
    room = path.relative_to(NATIVE).parts[0].removesuffix(".py")
    if room != "__init__":
        assert [r for r in native_imports(tree) if ROOMS.index(r) > ROOMS.index(room)] == []
    late = {
        "llvmlite.binding",
        "numpy._core._multiarray_umath",
        "scipy.special",
        "scipy",
    }  # heavy, and private to a version
    for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
        assert (function.end_lineno or 0) - function.lineno < 60, function.name
        for node in ast.walk(function):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert set(names) <= late, f"{function.name} imports {names}"
    assert "emitter: Any" not in text


def test_the_map_of_the_native_backend_names_every_file() -> None:
    page = (NATIVE / "__init__.py").read_text()
    files = [p for p in NATIVE.rglob("*.py") if p.name != "__init__.py" and p.parent.name != "vecmath"]
    assert [p.stem for p in files if not re.search(rf"\b{p.stem}\b", page)] == []
    assert all('"""' in (p / "__init__.py").read_text() for p in NATIVE.iterdir() if (p / "__init__.py").exists())
