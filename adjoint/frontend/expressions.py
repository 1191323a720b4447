"""Calls, ternaries, `and`, `or`, `not`, chained comparisons and `assert` become calls of the runtime."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from adjoint.frontend.site import Site

RUNTIME, SITES = "_ad", "_ad_sites"

#: Builtins that look at the frame they are called from.
_FRAME_BUILTINS = {"locals", "globals", "vars", "dir", "eval", "exec", "breakpoint"}
_OPERATORS = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_NO_ARGUMENTS: dict = {"posonlyargs": [], "kwonlyargs": [], "kw_defaults": [], "defaults": []}


def thunk(value: ast.expr) -> ast.Lambda:
    """`lambda: value`."""
    return ast.copy_location(ast.Lambda(ast.arguments(args=[], **_NO_ARGUMENTS), value), value)


def arguments(*names: str) -> ast.arguments:
    """The parameters of a function of ours."""
    return ast.arguments(args=[ast.arg(n) for n in names], **_NO_ARGUMENTS)


def function_definition(name: str, args: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    """`def name(args): body`, for every version of Python."""
    made: Any = ast.FunctionDef(name, args, body, [])
    made.type_params = []  # since Python 3.12
    return made


def runtime_call(name: str, args: list[ast.expr], keywords: list[ast.keyword], at: ast.AST) -> ast.Call:
    """`_ad.name(*args, **keywords)`, at the place of the user's code."""
    function = ast.Attribute(ast.Name(RUNTIME, ast.Load()), name, ast.Load())
    return ast.fix_missing_locations(ast.copy_location(ast.Call(function, args, keywords), at))


def binds_or_suspends(node: ast.AST) -> bool:
    """Whether an expression cannot move into a lambda: it has a walrus, `yield` or `await`."""
    return any(isinstance(n, (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)) for n in ast.walk(node))


@dataclass
class Scope:
    """The user's function whose body is being rewritten."""

    local: set[str]
    outer_global: set[str] = field(default_factory=set)
    outer_nonlocal: set[str] = field(default_factory=set)
    visible: set[str] = field(default_factory=set)
    first_argument: str | None = None
    in_class: bool = False


class Expressions(ast.NodeTransformer):
    """Rewrites expressions; `control.Control` adds the statements."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.sites: list[Site] = []
        self.scope = Scope(set())

    def site(self, kind: str, at: ast.AST, **facts: object) -> ast.expr:
        """A new Site, and the expression by which the source refers to it."""
        column = getattr(at, "col_offset", 0) + 1
        self.sites.append(Site(self.filename, getattr(at, "lineno", 0), column, kind, **facts))  # type: ignore[arg-type]
        return ast.Subscript(ast.Name(SITES, ast.Load()), ast.Constant(len(self.sites) - 1), ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id not in self.scope.visible:
            if node.func.id in _FRAME_BUILTINS:
                return self.generic_visit(node)
            if node.func.id == "super":
                return self._super(node)
        self.generic_visit(node)
        return runtime_call("call", [node.func, *node.args], node.keywords, node)

    def _super(self, node: ast.Call) -> ast.AST:
        """`super()` finds class and object in its frame: name them, for it may move into a function of ours."""
        if node.args or self.scope.first_argument is None or not self.scope.in_class:
            return self.generic_visit(node)
        args = [ast.Name("__class__", ast.Load()), ast.Name(self.scope.first_argument, ast.Load())]
        return ast.fix_missing_locations(ast.copy_location(ast.Call(node.func, list(args), []), node))

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        lazy = not (binds_or_suspends(node.body) or binds_or_suspends(node.orelse))
        at = node.test
        self.generic_visit(node)
        if not lazy:
            return node
        return runtime_call(
            "choose", [node.test, thunk(node.body), thunk(node.orelse), self.site("ternary", at)], [], node
        )

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        lazy = not any(map(binds_or_suspends, node.values[1:]))
        self.generic_visit(node)
        if not lazy:
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return runtime_call(name, [node.values[0], *map(thunk, node.values[1:])], [], node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return runtime_call("not_", [node.operand], [], node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        lazy = len(node.ops) > 1 and not any(map(binds_or_suspends, node.comparators))
        self.generic_visit(node)
        if not lazy:
            return node
        signs: Any = ast.Constant(tuple(_OPERATORS[type(op)] for op in node.ops))  # type: ignore[arg-type]
        return runtime_call("compare", [signs, node.left, *map(thunk, node.comparators)], [], node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """`array[i]`, where i may be a graph value and the array one of NumPy's."""
        sliced = any(isinstance(n, (ast.Slice, ast.Starred)) for n in (node.slice, *getattr(node.slice, "elts", ())))
        fixed = isinstance(node.slice, (ast.Constant, ast.UnaryOp))
        self.generic_visit(node)
        if sliced or fixed or not isinstance(node.ctx, ast.Load):
            return node
        return runtime_call("item", [node.value, node.slice], [], node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        self.generic_visit(node)
        node.test = runtime_call("holds", [node.test], [], node.test)
        return node
