"""Calls, ternaries, `and`, `or`, `not`, chained comparisons, `assert` and `raise` become calls of the runtime."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

from adjoint.frontend.names import copied, every
from adjoint.frontend.site import Site

RUNTIME, SITES = "_ad_runtime", "_ad_sites"
#: The names that conversion makes; a user's own may begin like them (`_adam_rate`).
_MADE = re.compile(r"_ad_(runtime|sites|result|done|item|all|(break|continue|part|if|else|test|while|for)\d+)")

#: Builtins that look at the frame they are called from.
_FRAME_BUILTINS = {"locals", "globals", "vars", "dir", "eval", "exec", "breakpoint"}
_OPERATORS = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
#: Methods of Python's containers that store their arguments.
_MUTATORS = {"append", "appendleft", "extend", "insert", "add", "update", "setdefault"}
#: Comparisons of objects rather than numbers.
_ASKS = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
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
    """`_ad_runtime.name(*args, **keywords)`, at the place of the user's code."""
    function = ast.Attribute(ast.Name(RUNTIME, ast.Load()), name, ast.Load())
    return ast.copy_location(ast.Call(function, args, keywords), at)


def suspends(node: ast.AST) -> bool:
    """Whether an expression cannot move into a function: it has a `yield` or `await`."""
    return any(isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await)) for n in every(node))


def _is_nothing(node: ast.AST) -> bool:
    """Whether an expression is `None` or `...`, which no number is."""
    return isinstance(node, ast.Constant) and (node.value is None or node.value is ...)


def _is_path(node: ast.AST) -> bool:
    """Whether an expression only follows names, attributes and simple indices, so that it may be evaluated again."""
    if isinstance(node, ast.Attribute):
        return _is_path(node.value)
    if isinstance(node, ast.Subscript):
        return _is_path(node.value) and isinstance(node.slice, (ast.Name, ast.Constant))
    return isinstance(node, ast.Name)


def _text_of(node: ast.AST) -> str:
    """A path of names and attributes as text; empty for anything else."""
    if isinstance(node, ast.Attribute):
        inside = _text_of(node.value)
        return f"{inside}.{node.attr}" if inside else ""
    if isinstance(node, ast.Subscript):
        inside = _text_of(node.value)
        return f"{inside}[{ast.unparse(node.slice)}]" if inside and isinstance(node.slice, ast.Constant) else ""
    return node.id if isinstance(node, ast.Name) else ""


@dataclass
class Scope:
    """The user's function whose body is being rewritten."""

    local: set[str]
    outer_global: set[str] = field(default_factory=set)
    outer_nonlocal: set[str] = field(default_factory=set)
    visible: set[str] = field(default_factory=set)
    first_argument: str | None = None
    in_class: bool = False
    owned: set[str] = field(default_factory=set)  # names of this function and of those of the conversion around it


class Expressions(ast.NodeTransformer):
    """Rewrites expressions; `statements.FunctionRewriter` adds the statements."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.sites: list[Site] = []
        self.scope = Scope(set())
        self.caught = False  # whether a `try` of this function may catch what is raised here
        self.outer: frozenset[str] = frozenset()  # variables of functions around the one that is converted
        self.owner: str | None = None  # the class around it, for names like `__x`

    def site(self, kind: str, at: ast.AST, **facts: object) -> ast.expr:
        """A new Site, and the expression by which the source refers to it."""
        column = getattr(at, "col_offset", 0) + 1
        self.sites.append(Site(self.filename, getattr(at, "lineno", 0), column, kind, **facts))  # type: ignore[arg-type]
        return ast.Subscript(ast.Name(SITES, ast.Load()), ast.Constant(len(self.sites) - 1), ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id not in self.scope.visible:
            if node.func.id == "globals":
                return runtime_call("globals_", [], [], node)
            if node.func.id in _FRAME_BUILTINS and not (node.func.id in ("vars", "dir") and node.args):
                return self.generic_visit(node)
            if node.func.id == "super":
                return self._super(node)
            if node.func.id == "print":
                return self._with_texts("print_", node, [])
            if node.func.id == "len" and len(node.args) == 1 and isinstance(node.args[0], (ast.Name, ast.Attribute)):
                what = runtime_call("read_by", [self.visit(copied(node.func))], [], node)
                args = [self.visit(node.func), self.base(node.args[0], what)]
                return runtime_call("call", args, [self.visit(k) for k in node.keywords], node)
        stores = isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATORS
        if stores or (isinstance(node.func, ast.Name) and node.func.id == "setattr"):
            site = self.site("store", node, text=ast.unparse(node))
            if stores and isinstance(node.func, ast.Attribute):  # what the container holds is not read
                node.func.value = self.base(node.func.value)
                node.args, node.keywords = [self.visit(a) for a in node.args], [self.visit(k) for k in node.keywords]
            else:
                self.generic_visit(node)
            return runtime_call("mutate", [site, node.func, *node.args], node.keywords, node)
        self.generic_visit(node)
        return runtime_call("call", [node.func, *node.args], node.keywords, node)

    def _super(self, node: ast.Call) -> ast.AST:
        """`super()` finds class and object in its frame: name them, for it may move into a function of ours."""
        if node.args or self.scope.first_argument is None or not self.scope.in_class:
            return self.generic_visit(node)
        args = [ast.Name("__class__", ast.Load()), ast.Name(self.scope.first_argument, ast.Load())]
        return ast.copy_location(ast.Call(node.func, list(args), []), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self._lazy("choose", "ternary", node.test, [node.body, node.orelse], node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return self._lazy(name, name[:-1], node.values[0], node.values[1:], node)

    def _lazy(self, name: str, kind: str, first: ast.expr, rest: list[ast.expr], node: ast.expr) -> ast.AST:
        """A call that gets what may not be evaluated as functions: lambdas, or functions of ours if there is a walrus in it."""
        bound, cells = self.walrus(rest)
        if any(map(suspends, rest)) or (bound and self.parts is None):
            return self.generic_visit(node)
        site = self.site(
            kind, first if kind == "ternary" else node, names=tuple(sorted(bound)), optional=frozenset(bound)
        )
        parts = [self.part(e) if bound else thunk(self.visit(e)) for e in rest]
        args = [self.visit(first), site, cells, *parts]
        return runtime_call(name, args, [], node)

    parts: list[ast.stmt] | None

    def walrus(self, parts: list[ast.expr]) -> tuple[set[str], ast.expr]:
        """The variables that a walrus in the expressions binds, and the way to all that they use."""
        raise NotImplementedError

    def part(self, node: ast.expr) -> ast.expr:
        """An expression as a function of ours, defined before the statement."""
        raise NotImplementedError

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return runtime_call("not_", [node.operand], [], node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        later = node.comparators[1:]
        lazy = later and not any(isinstance(n, ast.NamedExpr) or suspends(n) for c in later for n in ast.walk(c))
        asks = not later and isinstance(node.ops[0], _ASKS) and not _is_nothing(node.comparators[0])
        self.generic_visit(node)
        if not lazy and not asks:
            return node
        signs: Any = ast.Constant(tuple(_OPERATORS[type(op)] for op in node.ops))  # type: ignore[arg-type]
        first, *rest = node.comparators
        return runtime_call("compare", [signs, node.left, first, *map(thunk, rest)], [], node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """`array[i]`, where i may be a graph value and the array one of NumPy's."""
        sliced = any(isinstance(n, (ast.Slice, ast.Starred)) for n in (node.slice, *getattr(node.slice, "elts", ())))
        fixed = isinstance(node.slice, (ast.Constant, ast.UnaryOp))
        text = _text_of(node.value)
        quiet = text and not sliced  # the one item is read, not the whole container
        node.value = self.base(node.value) if quiet or not isinstance(node.ctx, ast.Load) else self.visit(node.value)
        node.slice = self.visit(node.slice)
        if sliced or not isinstance(node.ctx, ast.Load) or (fixed and not text):
            return node
        path = [ast.Constant(f"{text}[{ast.unparse(node.slice)}]" if fixed else f"{text}[...]")] if text else []
        return runtime_call("item", [node.value, node.slice, *path], [], node)

    def visit_Name(self, node: ast.Name, deep: bool | ast.expr = True) -> ast.AST:
        """A variable from outside is read: the graph holds as long as it stays what it is."""
        if not isinstance(node.ctx, ast.Load) or node.id in self.scope.owned or _MADE.fullmatch(node.id):
            return node
        how = [] if deep is True else [deep if isinstance(deep, ast.expr) else ast.Constant(deep)]
        if node.id in self.outer:
            return runtime_call("free", [thunk(node), *how], [], node)
        return runtime_call("variable", [thunk(node), ast.Constant(node.id), *how], [], node)

    def visit_Attribute(self, node: ast.Attribute, deep: bool | ast.expr = True) -> ast.AST:
        """An attribute is read, perhaps of an object from outside."""
        text = _text_of(node)
        self.generic_visit(node)
        private = node.attr.startswith("__") and not node.attr.endswith("__")
        if not isinstance(node.ctx, ast.Load) or (private and self.owner is None):
            return node
        name = f"_{self.owner.lstrip('_')}{node.attr}" if private and self.owner else node.attr
        how = [] if deep is True else [deep if isinstance(deep, ast.expr) else ast.Constant(deep)]
        read = "attribute" if self.caught else "attr"
        return runtime_call(read, [node.value, ast.Constant(name), ast.Constant(text), *how], [], node)

    def base(self, node: ast.expr, deep: bool | ast.expr = False) -> Any:
        """A container of which an item is read or written, or to which something is added: its contents are not read."""
        if isinstance(node, ast.Name):
            return self.visit_Name(node, deep)
        return self.visit_Attribute(node, deep) if isinstance(node, ast.Attribute) else self.visit(node)

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        return node  # a pattern names what it compares with

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        node.patterns = [self.visit(p) for p in node.patterns]
        node.kwd_patterns = [self.visit(p) for p in node.kwd_patterns]
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:
        node.patterns = [self.visit(p) for p in node.patterns]
        return node

    def visit_Assign(self, node: Any) -> list[ast.stmt]:
        """The assignment, and for each attribute or item that it stores to a note of that."""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        notes: list[ast.stmt] = []
        for target in (n for n in every(targets)):
            if isinstance(target, (ast.Attribute, ast.Subscript)) and isinstance(target.ctx, ast.Store):
                if not _is_path(target.value):
                    continue
                args = [self.site("store", target, text=ast.unparse(target)), copied(target.value)]
                if isinstance(target, ast.Attribute):
                    args.append(ast.Constant(target.attr))
                note = ast.Expr(runtime_call("stored", args, [], target))
                notes.append(ast.copy_location(note, target))
        read = None
        if isinstance(node, ast.AugAssign) and _is_path(node.target):  # what is there is read first
            read = copied(node.target)
            read.ctx = ast.Load()
            read = self.visit(read)
        self.generic_visit(node)
        if read is not None and not (isinstance(node.target, ast.Name) and node.target.id not in self.scope.local):
            node.value = runtime_call("updated", [read, node.value], [], node.value)
        return [node, *notes]

    visit_AugAssign = visit_Assign

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        """An import, and a note of what it read."""
        return [node, self._imported(node, node.module or "", node.level, [a.name for a in node.names])]

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        """An object is printed, which reads it."""
        self.generic_visit(node)
        node.value = runtime_call("printed", [node.value], [], node.value)
        return node

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        return [node, *(self._imported(node, a.name, 0, []) for a in node.names)]

    def _imported(self, at: ast.stmt, module: str, level: int, names: list[str]) -> ast.stmt:
        args: list[ast.expr] = [ast.Constant(module), ast.Constant(level), *map(ast.Constant, names)]
        return ast.copy_location(ast.Expr(runtime_call("imported", args, [], at)), at)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        site = self.site("assert", node, text=ast.unparse(node.test))
        message = ast.Constant(None) if node.msg is None else thunk(self._text(copied(node.msg)))
        self.generic_visit(node)
        node.test = runtime_call("holds", [node.test, message, site], [], node.test)
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """What a `raise` raises."""
        if node.exc is None:
            return self.generic_visit(node)
        site = self.site("raise", node)
        made = node.exc if isinstance(node.exc, ast.Call) else ast.copy_location(ast.Call(node.exc, [], []), node.exc)
        node.exc = self._with_texts("raised", made, [site])
        node.cause = node.cause and self.visit(node.cause)
        return node

    def _with_texts(self, name: str, node: ast.Call, first: list[ast.expr]) -> ast.Call:
        """A call of the runtime that gets f-strings in parts."""
        keywords = [ast.keyword(k.arg, self._text(k.value)) for k in node.keywords]
        return runtime_call(name, [*first, self.visit(node.func), *map(self._text, node.args)], keywords, node)

    def _text(self, node: ast.expr) -> ast.expr:
        if not isinstance(node, ast.JoinedStr):
            return self.visit(node)
        parts: list[ast.expr] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                how = "" if part.conversion < 0 else chr(part.conversion)
                spec = ast.Constant("") if part.format_spec is None else self.visit(part.format_spec)
                part = ast.Tuple([self.visit(part.value), ast.Constant(how), spec], ast.Load())
            parts.append(part)
        return runtime_call("text", parts, [], node)
