"""A function whose control flow asks the runtime: on plain values the same function, on graph values a graph."""

from __future__ import annotations

import ast
import dis
import sys
import weakref
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType
from typing import Any

from adjoint.frontend.expressions import RUNTIME, SITES, arguments, function_definition
from adjoint.frontend.fence import check, require_own_frame
from adjoint.frontend.names import copied, local
from adjoint.frontend.site import Site
from adjoint.frontend.source import OURS, FunctionSource, find_source
from adjoint.frontend.statements import FunctionRewriter

#: Holds the functions that converted code calls; filled in by the package.
runtime_cell = CellType()

_ROOT = "_ad_converted"
_FUTURE_FLAGS = 0x1FF0000  # `from __future__ import annotations` and its kin, in co_flags
_KEPT = "_ad_converted"  # where a function keeps what became of it: so that both are let go together
_compiled: dict[int, tuple[weakref.ref[CodeType], _Compiled]] = {}  # by code, as long as that lives


@dataclass(frozen=True)
class _Compiled:
    code: CodeType
    sites: tuple[Site, ...]


def is_converted(fn: FunctionType) -> bool:
    """Whether a function came out of `convert_function`, or out of a function that did."""
    return RUNTIME in fn.__code__.co_consts


def convert_function(fn: FunctionType) -> FunctionType:
    """The converted function. It shares the original's variables, defaults and lines; converting twice gives the same object.

    Raises SourceError where there is no source, UnsupportedSyntaxError where the source cannot become a graph.
    """
    if is_converted(fn):
        return fn
    parts = (fn.__code__, fn.__defaults__, fn.__kwdefaults__, fn.__closure__)
    kept = fn.__dict__.get(_KEPT)
    if kept is None or any(a is not b for a, b in zip(kept[0], parts, strict=True)):
        kept = fn.__dict__[_KEPT] = (parts, _build(fn))
    return kept[1]


def _build(fn: FunctionType) -> FunctionType:
    code = fn.__code__
    held = _compiled.get(id(code))
    if held is None or held[0]() is not code:
        number = id(code)
        dropped = weakref.ref(code, lambda _, table=_compiled: table.pop(number, None))  # type: ignore[misc]
        held = _compiled[number] = (dropped, _compile(fn))
    compiled = held[1]
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
    cells |= {RUNTIME: runtime_cell, SITES: CellType(compiled.sites)}
    closure = tuple(cells[name] for name in compiled.code.co_freevars)
    made = FunctionType(compiled.code, fn.__globals__, fn.__name__, fn.__defaults__, closure)
    made.__kwdefaults__ = fn.__kwdefaults__
    made.__annotations__ = fn.__annotations__
    made.__qualname__, made.__module__, made.__doc__ = fn.__qualname__, fn.__module__, fn.__doc__
    made.__dict__.update({k: v for k, v in fn.__dict__.items() if k not in ("__wrapped__", _KEPT)})
    return made


def _compile(fn: FunctionType) -> _Compiled:
    source = find_source(fn)
    require_own_frame(source, fn.__code__)
    check(source)
    tree, sites = transformed(source, fn.__code__)
    flags = fn.__code__.co_flags & _FUTURE_FLAGS
    module = compile(tree, source.filename, "exec", flags, dont_inherit=True)
    found = next(c for c in _codes(module) if c.co_name == _ROOT)
    return _Compiled(_renamed(found, fn.__code__.co_name, fn.__qualname__), sites)


def transformed(source: FunctionSource, code: CodeType) -> tuple[ast.Module, tuple[Site, ...]]:
    """A module that defines the converted function inside a function of its free variables."""
    node = _definition(copied(source.node))
    rewriter = FunctionRewriter(source.filename)
    rewriter.outer, rewriter.owner = frozenset(code.co_freevars) - {"__class__"}, source.owner
    rewriter.function(node, set(code.co_freevars) | local(node), "__class__" in code.co_freevars)
    node.name, node.decorator_list, node.returns = _ROOT, [], None
    node.args.defaults = []
    node.args.kw_defaults = [None] * len(node.args.kwonlyargs)
    for a in ast.walk(node.args):
        if isinstance(a, ast.arg):
            a.annotation = None
    inner: ast.stmt = node
    if (
        source.owner
    ):  # names like `__x` take the class's name, less its underscores: so this one hides no name of the user's
        owner: Any = ast.ClassDef(f"_______{source.owner}", [], [], [node], [])
        owner.type_params = []
        inner = ast.copy_location(owner, node)
    free = [n for n in code.co_freevars if n != "__class__"]
    around = function_definition("_ad_around", arguments(*free, RUNTIME, SITES), [inner])
    if not source.owner and "__class__" in code.co_freevars:
        around.args.args.append(ast.arg("__class__"))
    ast.copy_location(around, node)
    return ast.fix_missing_locations(ast.Module([around], [])), tuple(rewriter.sites)


def _definition(node: Any) -> ast.FunctionDef:
    """A lambda as a function with one `return`."""
    if isinstance(node, ast.FunctionDef):
        return node
    answer = ast.copy_location(ast.Return(node.body), node.body)
    return ast.copy_location(function_definition("<lambda>", node.args, [answer]), node)


def _codes(code: CodeType) -> Any:
    """Code objects in the order of their depth."""
    level = [c for c in code.co_consts if isinstance(c, CodeType)]
    yield from level
    for inner in level:
        yield from _codes(inner)


def _assigns_outside(code: CodeType) -> bool:
    """Whether a function that needs nothing of the runtime assigns to variables of functions around it."""
    stores = {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_DEREF"}
    return RUNTIME not in code.co_freevars and not stores.isdisjoint(code.co_freevars)


def _renamed(code: CodeType, name: str, qualname: str) -> CodeType:
    """Functions of ours under the name of the user's function around them, so that tracebacks show that.

    A constant marks them as converted, also those that need nothing of the runtime; or as ours, to be read again and refused,
    if they assign to variables around them.
    """
    consts = []
    for c in code.co_consts:
        if isinstance(c, CodeType):
            ours = c.co_name.startswith("_ad_")
            c = _renamed(c, name if ours else c.co_name, qualname if ours else f"{qualname}.<locals>.{c.co_name}")
        consts.append(c)
    changes: dict[str, Any] = {"co_name": name, "co_consts": (*consts, OURS if _assigns_outside(code) else RUNTIME)}
    if sys.version_info >= (3, 11):
        changes["co_qualname"] = qualname
    return code.replace(**changes)
