"""Makes a failing program smaller: leaves out statements and parts of expressions as long as it fails in the same way."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from adjoint.core.parsing import parsed

Kind = Callable[[str], "str | None"]


def reduced(source: str, kind: Kind) -> str:
    """The smallest source found that fails as the first one does; `kind` says how a source fails, None if it does not."""
    source, wanted = ast.unparse(parsed(source)) + "\n", kind(source)
    if wanted is None:
        return source
    found: str | None = source
    while found is not None:
        source = found
        found = next((text for text in smaller(source) if kind(text) == wanted), None)
    return source


def smaller(source: str) -> Iterator[str]:
    """The source with one thing left out, the largest things first."""
    changes = list(_changes(parsed(source)))
    texts = {}
    for k in range(len(changes)):
        tree = parsed(source)  # each change is made on a tree of its own
        list(_changes(tree))[k]()
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        if len(text) < len(source):
            texts[text] = len(text)
    yield from sorted(texts, key=texts.__getitem__)


def _changes(tree: ast.AST) -> Iterator[Callable[[], None]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module):
            continue
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield from (_statement(value, k) for k in range(len(value)))
                yield from (
                    _inner(value, k) for k, s in enumerate(value) if isinstance(s, (ast.If, ast.For, ast.While))
                )
            elif isinstance(value, ast.expr) and not isinstance(getattr(value, "ctx", None), ast.Store):
                yield from (_part(node, name, part) for part in _parts(value))
            elif isinstance(value, list) and value and isinstance(value[0], ast.expr) and isinstance(node, ast.Call):
                yield from (_argument(value, k, p) for k, v in enumerate(value) for p in _parts(v))


def _parts(node: ast.expr) -> list[ast.expr]:
    """Expressions that could stand for a larger one that they are part of."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        return [ast.Compare(node.left, node.ops[:1], node.comparators[:1])]
    return node.args if isinstance(node, ast.Call) else []


def _statement(body: list[ast.stmt], k: int) -> Callable[[], None]:
    def change() -> None:
        body[k : k + 1] = [] if len(body) > 1 else [ast.Pass()]

    return change


def _inner(body: list[ast.stmt], k: int) -> Callable[[], None]:
    def change() -> None:
        body[k : k + 1] = body[k].body  # type: ignore[attr-defined]

    return change


def _part(node: ast.AST, name: str, part: ast.expr) -> Callable[[], None]:
    return lambda: setattr(node, name, part)


def _argument(arguments: list[ast.expr], k: int, part: ast.expr) -> Callable[[], None]:
    return lambda: arguments.__setitem__(k, part)
