"""Find the source and the syntax tree of a function: in files, notebooks and the REPL, lambdas among others on a line."""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from adjoint.core.parsing import lines_of, parsed
from adjoint.frontend.errors import SourceError

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

#: What every text without a file is called; from Python 3.13 on `python -c` has lines, which are those of one such text only.
_SHARED = ("<string>", "<stdin>")
OURS = "_ad_ours"  # a constant of the code that conversion makes of a function inside another
_PREAMBLE = {"RESUME", "COPY_FREE_VARS", "MAKE_CELL", "RETURN_GENERATOR", "NOP"}


@dataclass(frozen=True)
class FunctionSource:
    """A function's definition, the file it stands in, and the class around it (for names like `__x`)."""

    node: Definition
    filename: str
    owner: str | None


@dataclass(frozen=True)
class _Found:
    node: Definition
    owner: str | None


@dataclass
class _FileText:
    """The lines of a file, parsed and later compiled, and the definitions in them by first line."""

    lines: tuple[str, ...]
    module: ast.Module | CodeType
    definitions: dict[int, list[_Found]]


_texts: dict[str, _FileText] = {}


def find_source(fn: FunctionType) -> FunctionSource:
    """The definition of a function; SourceError where there is none to be had.

    >>> import ast
    >>> from adjoint.core.tree import is_leaf
    >>> ast.unparse(find_source(is_leaf).node.args)
    'node: Any'
    """
    code, text = fn.__code__, _text_of(fn)
    found = [d for d in text.definitions.get(code.co_firstlineno, []) if _fits(d.node, code)]
    if code.co_filename in _SHARED and not (found := [d for d in found if _same_instructions(d, code)]):
        raise _not_available(fn)
    if len(found) > 1:
        found = _at_place(found, code) or found
    if len(found) > 1:
        found = [d for d in found if _same_instructions(d, code)]
        if not found:
            raise SourceError(
                f"several functions begin at {code.co_filename}:{code.co_firstlineno}, and which of them `{fn.__qualname__}` is cannot be "
                f"told. What is loaded runs. Put each on a line of its own."
            )
    if not found or not (_is_rewritten(code) or _is_loaded(code, text)):
        raise SourceError(
            f"the source of `{fn.__qualname__}` is not at {code.co_filename}:{code.co_firstlineno}: the file has changed since it "
            f"was loaded, or something has rewritten the function. What is loaded runs. Load the file again."
        )
    return FunctionSource(found[0].node, code.co_filename, found[0].owner)


def _text_of(fn: FunctionType) -> _FileText:
    filename = fn.__code__.co_filename
    lines = tuple(lines_of(filename, fn.__globals__))
    if not lines:
        raise _not_available(fn)
    known = _texts.get(filename)
    if known is None or known.lines != lines:
        try:
            tree = parsed("".join(lines), filename)
        except SyntaxError as error:
            raise SourceError(f"the source of `{fn.__qualname__}` in {filename} cannot be parsed: {error}") from error
        table: dict[int, list[_Found]] = {}
        for found in _walk(tree, None):
            table.setdefault(_first_line(found.node), []).append(found)
        known = _texts[filename] = _FileText(lines, tree, table)
    return known


def _not_available(fn: FunctionType) -> SourceError:
    return SourceError(
        f"the source of `{fn.__qualname__}` is not available ({fn.__code__.co_filename}): its control flow cannot be read. Write "
        f"it to a file and import it, or register its text in `linecache.cache` before the call, as notebooks do."
    )


def _walk(node: ast.AST, owner: str | None) -> Iterator[_Found]:
    """Every definition, with the class whose body it stands in, however deep in functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            yield _Found(child, owner)
        yield from _walk(child, child.name if isinstance(child, ast.ClassDef) else owner)


def _first_line(node: Definition) -> int:
    """The line where Python says that the definition begins: that of its first decorator."""
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([node.lineno, *(d.lineno for d in decorators)])


def argument_names(args: ast.arguments) -> list[str]:
    """The names of all parameters, in the order of `co_varnames`."""
    named = [*args.posonlyargs, *args.args, *args.kwonlyargs, *(a for a in (args.vararg, args.kwarg) if a)]
    return [a.arg for a in named]


def _fits(node: Definition, code: CodeType) -> bool:
    """Whether name and parameters are those of the code."""
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    starred = bool(code.co_flags & 4) + bool(code.co_flags & 8)
    count = code.co_argcount + code.co_kwonlyargcount + starred
    names = argument_names(node.args)
    mangled = [n if a == n or not a.endswith(n) else a for a, n in zip(code.co_varnames, names)]
    return name == code.co_name and len(names) == count and list(code.co_varnames[:count]) == mangled


def _at_place(found: list[_Found], code: CodeType) -> list[_Found]:
    """Those definitions whose body has the ends of the instructions; if there are none, the innermost around the instructions, as
    Python leaves out what comes after a constant condition. Before Python 3.11 instructions have no columns."""
    spots: list[_Span] = []
    for instruction in dis.get_instructions(code):
        at: Any = getattr(instruction, "positions", None)
        if instruction.opname not in _PREAMBLE and at is not None and at.lineno and at.end_col_offset:
            spots.append(((at.lineno, at.col_offset), (at.end_lineno, at.end_col_offset)))
    if not spots:
        return []
    begin, end = min(s for s, _ in spots), max(e for _, e in spots)
    bodies = [(d, _body_of(d.node)) for d in found]
    around = [(d, body) for d, body in bodies if body[0] <= begin and end <= body[1]]
    exact = [d for d, body in around if body == (begin, end)]
    if exact or not around:
        return exact
    innermost = max(body[0] for _, body in around)
    return [d for d, body in around if body[0] == innermost]


_Span = tuple[tuple[int, int], tuple[int, int]]


def _body_of(node: Definition) -> _Span:
    """Where the body of a definition begins and ends: lines and columns."""
    first, last = (node.body, node.body) if isinstance(node, ast.Lambda) else (node.body[0], node.body[-1])
    return (first.lineno, first.col_offset), (last.end_lineno or 0, last.end_col_offset or 0)


def _is_rewritten(code: CodeType) -> bool:
    """Whether the conversion of the function around it, or pytest for its asserts, has written another code for a function."""
    return OURS in code.co_consts or any(name.startswith("@py") for name in (*code.co_names, *code.co_varnames))


def _is_loaded(code: CodeType, text: _FileText) -> bool:
    """Whether the text, compiled, gives the code."""
    module = text.module
    if isinstance(module, ast.Module):
        flags = code.co_flags & 0x1FF0000
        module = text.module = compile(module, code.co_filename, "exec", flags, dont_inherit=True)
    wanted = _signature(code)
    here = (code.co_name, code.co_firstlineno)
    return any((c.co_name, c.co_firstlineno) == here and _signature(c) == wanted for c in _codes(module))


def _same_instructions(found: _Found, code: CodeType) -> bool:
    """Whether the definition, compiled alone, gives the same instructions."""
    args = ast.arguments(
        posonlyargs=[], args=[ast.arg(n) for n in code.co_freevars], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    inner: Any = found.node if isinstance(found.node, ast.stmt) else ast.Expr(found.node)
    outer: Any = ast.FunctionDef("outer", args, [inner], [])
    outer.type_params = []
    module = ast.fix_missing_locations(ast.Module([outer], []))
    compiled = compile(module, code.co_filename, "exec", code.co_flags & 0x1FF0000, dont_inherit=True)
    wanted = _signature(code)
    return any(_signature(c) == wanted for c in _outermost(compiled, code.co_name))


def _outermost(code: CodeType, name: str) -> Iterator[CodeType]:
    """The functions of this name inside a piece of code, without those inside them."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from [inner] if inner.co_name == name else _outermost(inner, name)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _codes(inner)


def _signature(code: CodeType) -> tuple[Any, ...]:
    consts = tuple(_signature(c) if isinstance(c, CodeType) else _text(c) for c in code.co_consts)
    here = tuple(c for c in consts if "<locals>" not in c)  # without the qualified names that Python 3.10 keeps there
    free = tuple(n for n in code.co_freevars if not n.startswith("__class"))
    return code.co_code, here, code.co_names, code.co_varnames, free


def _text(constant: Any) -> str:
    if isinstance(constant, frozenset):
        return f"frozenset {sorted(map(repr, constant))}"
    return repr(constant)
