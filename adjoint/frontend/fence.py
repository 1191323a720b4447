"""Refuse, before any work, what cannot become part of a graph: at its file, line and column, with the rewrite that helps."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from types import CodeType

from adjoint.frontend.code_names import names_used
from adjoint.frontend.errors import SourceError, UnsupportedSyntaxError
from adjoint.frontend.names import Function, body_of, bound, children, declared, every, local, own_nodes
from adjoint.frontend.returns import is_converted
from adjoint.frontend.source import FunctionSource

_ASYNC = (ast.Await, ast.AsyncFor, ast.AsyncWith)
#: Builtins that look at the variables of the function they are called in, unless they are given more arguments than this. What a
#: text reads that is evaluated is not known, whatever else is given.
_LOOKS_AT_FRAME = {"locals": 0, "vars": 0, "dir": 0, "eval": 99, "exec": 99}


def check(source: FunctionSource) -> None:
    """Raise UnsupportedSyntaxError at the first thing in a function that cannot be converted."""
    problems = sorted(_problems(source.node, set()), key=lambda p: (p[0].lineno, p[0].col_offset))
    if problems:
        at, message = problems[0]
        raise UnsupportedSyntaxError(message, source.filename, at.lineno, at.col_offset + 1)


def require_own_frame(source: FunctionSource, code: CodeType) -> None:
    """Raise SourceError if a function looks at its variables by a builtin: converted, it has others, in other functions."""
    if not names_used(code) & _LOOKS_AT_FRAME.keys():
        return
    for node in every(body_of(source.node)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name, given = node.func.id, len(node.args) + len(node.keywords)
            if given <= _LOOKS_AT_FRAME.get(name, -1) and name not in local(source.node) | set(code.co_freevars):
                raise SourceError(
                    f"`{code.co_name}` calls `{name}` at {os.path.basename(source.filename)}:{node.lineno}, which looks at the "
                    f"variables of its function: its control flow stays Python's. Name what is needed instead."
                )


def _problems(fn: Function, around: set[str]) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Problems of a function whose enclosing converted functions own the names `around`."""
    body = body_of(fn)
    if isinstance(fn, ast.AsyncFunctionDef):
        yield (
            fn,
            "an `async` function cannot become a graph: write the numerical part as a plain function and call that",
        )
        return
    nodes = own_nodes(body)
    for node in nodes:
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            yield (
                node,
                "`yield` makes this function a generator, which cannot become a graph: collect the values in a list and return it",
            )
        elif isinstance(node, _ASYNC) or (isinstance(node, ast.comprehension) and node.is_async):
            at = node.target if isinstance(node, ast.comprehension) else node
            yield (
                at,
                "`await` and `async` cannot become part of a graph: await the value before, and pass it as an argument",
            )
    outside = declared(body, ast.Global)
    foreign = declared(body, ast.Nonlocal) - around
    for node in nodes if outside or foreign else ():
        for name in sorted(_bound_here(node) & (outside | foreign)):
            kind = "global" if name in outside else "nonlocal"
            yield (
                _located(node, fn),
                f"`{name}` is a {kind} variable: a graph runs without Python, so the assignment would happen once, when the graph is "
                f"built. Return the value instead, or pass `{name}` in as an argument",
            )
    if any(isinstance(n, ast.Delete) for n in nodes):
        yield from _deletions(body, False)
    for node in nodes:
        if isinstance(node, Function.__args__) and not _suspends(node):
            yield from _problems(node, around | local(fn))


def _bound_here(node: ast.AST) -> set[str]:
    """The names that this node itself binds, not its children."""
    if isinstance(node, ast.Name):
        return bound(node)
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return bound(node)
    name = getattr(node, "name", None)
    return {name} if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and name else set()


def _located(node: ast.AST, default: Function) -> ast.expr | ast.stmt:
    return node if isinstance(node, (ast.expr, ast.stmt)) else default  # type: ignore[return-value]


def _suspends(fn: Function) -> bool:
    """Whether a function inside the converted one is a generator or async: it stays Python."""
    nodes = own_nodes(body_of(fn))
    return isinstance(fn, ast.AsyncFunctionDef) or any(
        isinstance(n, (ast.Yield, ast.YieldFrom, *_ASYNC)) for n in nodes
    )


def _deletions(body: Sequence[ast.AST], inside: bool) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """`del x` in a branch or loop: whether x exists afterwards would depend on numbers."""
    for node in body:
        if isinstance(node, (*Function.__args__, ast.ClassDef)):
            continue
        if isinstance(node, ast.Delete) and inside:
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield (
                        target,
                        f"`del {target.id}` in a branch or loop: whether `{target.id}` exists afterwards would depend on run-time "
                        f"values. Leave the `del` out, or assign None",
                    )
        yield from _deletions(children(node), inside or is_converted(node))
