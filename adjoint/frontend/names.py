"""Which names a piece of code binds and reads."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
Nodes = ast.AST | Iterable[ast.AST] | None


_NOT_NODES = {
    "arg", "asname", "attr", "cls", "conversion", "ctx", "id", "is_async", "kind", "kwd_attrs", "level", "module", "n", "name",
    "op", "ops", "rest", "s", "simple", "type_comment",
}  # fmt: skip
_fields: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Constant: (), ast.Global: (), ast.Nonlocal: (), ast.MatchClass: ("cls", "patterns", "kwd_patterns"),
}  # fmt: skip


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node, without operators and contexts; faster than `ast.iter_child_nodes`."""
    kind = type(node)
    fields = _fields.get(kind)
    if fields is None:
        fields = _fields[kind] = tuple(f for f in kind._fields if f not in _NOT_NODES)
    found: list[ast.AST] = []
    for name in fields:
        value = getattr(node, name, None)
        if type(value) is list:
            found += [x for x in value if isinstance(x, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def copied(node: Any) -> Any:
    """A syntax tree that shares no node with the original."""
    if type(node) is list:
        return [copied(x) for x in node]
    if not isinstance(node, ast.AST):
        return node
    parts = (*node._fields, *node._attributes)
    return type(node)(**{name: copied(getattr(node, name)) for name in parts if hasattr(node, name)})


def _each(nodes: Nodes) -> Iterable[ast.AST]:
    if isinstance(nodes, ast.AST):
        return (nodes,)
    return () if nodes is None else nodes


def outer_parts(node: ast.AST) -> list[ast.AST]:
    """What of a function or class definition is evaluated in the scope around it."""
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]
    assert isinstance(node, Function)
    args = node.args
    parts: list[ast.AST] = [*args.defaults, *(d for d in args.kw_defaults if d is not None)]
    if not isinstance(node, ast.Lambda):
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, *(a for a in (args.vararg, args.kwarg) if a)]
        parts += [*node.decorator_list, *(a.annotation for a in every if a.annotation)]
        parts += [node.returns] if node.returns else []
    return parts


def bound(nodes: Nodes) -> set[str]:
    """The names that the code binds (or deletes) in its own scope."""
    found: set[str] = set()
    for node in _each(nodes):
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                found.add(node.id)
        elif isinstance(node, ast.stmt):
            found |= _remembered(node, _bound_in)
        else:
            found |= _bound_in(node)
    return found


def _remembered(node: ast.stmt, find: Callable[[ast.AST], set[str]]) -> frozenset[str]:
    """The names that are found in a statement. It remembers them: what becomes of it later does not count."""
    known: frozenset[str] | None = node.__dict__.get(find.__name__)
    if known is None:
        known = node.__dict__[find.__name__] = frozenset(find(node))
    return known


def _bound_in(node: ast.AST) -> set[str]:
    found: set[str] = set()
    if isinstance(node, Comprehension):
        found |= {n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr)}
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        found |= {node.name} | bound(outer_parts(node))
    elif isinstance(node, ast.Lambda):
        found |= bound(outer_parts(node))
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        found |= {(a.asname or a.name).split(".")[0] for a in node.names}
    else:
        if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            found.add(node.name)
        if isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
        found |= bound(children(node))
    return found


def read(nodes: Nodes) -> set[str]:
    """The names of its own or outer scopes that the code may read, also inside functions that it defines."""
    found: set[str] = set()
    for node in _each(nodes):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                found.add(node.id)
        elif isinstance(node, ast.stmt):
            found |= _remembered(node, _read_in)
        else:
            found |= _read_in(node)
    return found


def _read_in(node: ast.AST) -> set[str]:
    found: set[str] = set()
    if isinstance(node, Comprehension):
        own = {n for g in node.generators for n in bound(g.target)}
        found |= read(node.generators[0].iter) | (read(children(node)) - own)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        found |= read(outer_parts(node)) | free(node)
    elif isinstance(node, ast.ClassDef):
        found |= read(outer_parts(node)) | read(node.body)
    else:
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        found |= read(children(node))
    return found


def parameters(args: ast.arguments) -> set[str]:
    """The names of a function's parameters."""
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, *(a for a in (args.vararg, args.kwarg) if a)]
    return {a.arg for a in every}


def body_of(node: Function) -> list[ast.AST]:
    """The statements of a function, or the expression of a lambda."""
    return [node.body] if isinstance(node, ast.Lambda) else list(node.body)


def declared(nodes: Nodes, kind: type[ast.Global] | type[ast.Nonlocal]) -> set[str]:
    """The names that `global` or `nonlocal` statements of this very scope name."""
    return {name for n in own_nodes(nodes) if isinstance(n, kind) for name in n.names}


def own_nodes(nodes: Nodes) -> list[ast.AST]:
    """Every node of this scope: definitions inside it, but not their bodies."""
    found = list(_each(nodes))
    for node in found:  # grows
        found += outer_parts(node) if isinstance(node, _DEFINITIONS) else children(node)
    return found


def every(nodes: Nodes) -> list[ast.AST]:
    """Every node, of functions inside too; faster than `ast.walk`."""
    found = list(_each(nodes))
    for node in found:  # grows
        found += children(node)
    return found


def local(node: Function) -> set[str]:
    """The names that belong to a function's own scope."""
    body = body_of(node)
    outer = declared(body, ast.Global) | declared(body, ast.Nonlocal)
    return (bound(body) | parameters(node.args)) - outer


def free(node: Function) -> set[str]:
    """The names that a function takes from outside, read or written."""
    body = body_of(node)
    return (read(body) | declared(body, ast.Nonlocal)) - local(node)


def inner_functions(nodes: Nodes) -> list[Function]:
    """The functions that the code defines, at any depth."""
    return [n for n in every(nodes) if isinstance(n, Function)]


def captured(nodes: Nodes) -> set[str]:
    """Names that functions and generator expressions of the code may read at any later time."""
    lazy: set[str] = set()
    for n in every(nodes):
        if isinstance(n, Function):
            lazy |= free(n)
        elif isinstance(n, ast.GeneratorExp):
            lazy |= read(n)
        elif isinstance(n, ast.ClassDef):
            lazy |= read(n.body)
    return lazy


def shared(nodes: Nodes) -> set[str]:
    """Names that functions defined in the code write to by `nonlocal`."""
    return {name for fn in inner_functions(nodes) for name in declared(body_of(fn), ast.Nonlocal)}


def appended(nodes: Nodes) -> set[str]:
    """Names that the code uses for nothing but statements `name.append(x)`."""
    uses = Counter(n.id for n in every(nodes) if isinstance(n, ast.Name))
    appends = Counter(name for n in every(nodes) if isinstance(n, ast.Expr) and (name := _append(n.value)))
    return {name for name, count in appends.items() if uses[name] == count}


def _append(node: ast.expr) -> str | None:
    match node:
        case ast.Call(ast.Attribute(ast.Name(name), "append"), [_], []):
            return name
    return None


def definitely_bound(node: ast.AST) -> set[str]:
    """The names that evaluating the code surely binds."""
    if isinstance(node, ast.NamedExpr):
        return {node.target.id} | definitely_bound(node.value)
    if isinstance(node, ast.BoolOp):
        return definitely_bound(node.values[0])
    if isinstance(node, ast.IfExp):
        return definitely_bound(node.test)
    if isinstance(node, ast.Compare):
        return definitely_bound(node.left) | definitely_bound(node.comparators[0])
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (*Comprehension.__args__, ast.Lambda)):
        return set()
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return bound(node)
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Load) else {node.id}
    return {name for child in children(node) for name in definitely_bound(child)}
