"""`if`, `while` and `for` become calls of the runtime, their blocks functions that share the variables around them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import count
from typing import Any

from adjoint.frontend.expressions import (
    RUNTIME,
    Expressions,
    Scope,
    arguments,
    function_definition,
    runtime_call,
    suspends,
    thunk,
)
from adjoint.frontend.liveness import Liveness
from adjoint.frontend.names import appended, bound, captured, copied, declared, local, own_nodes, read, shared
from adjoint.frontend.returns import Lowered, is_converted, lower
from adjoint.frontend.source import argument_names

ITEM = "_ad_item"
_SUSPENDS = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)


def is_generator(node: ast.FunctionDef | ast.Lambda) -> bool:
    """Whether calling the function runs nothing of it."""
    body: Sequence[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else node.body
    return any(isinstance(n, _SUSPENDS) for n in own_nodes(body))


class _NoDeclarations(ast.NodeTransformer):
    """Drops `global` and `nonlocal` of one scope: each function of ours gets its own."""

    def visit_Global(self, node: ast.AST) -> ast.AST:
        return ast.copy_location(ast.Pass(), node)

    visit_Nonlocal = visit_Global

    def visit_FunctionDef(self, node: ast.AST) -> ast.AST:
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef


class FunctionRewriter(Expressions):
    """Rewrites a function and the functions inside it."""

    def __init__(self, filename: str) -> None:
        super().__init__(filename)
        self.lowered = Lowered([])
        self.live = Liveness()
        self.shared: set[str] = set()
        self.captured: set[str] = set()  # names that functions of the code read
        self.parts: list[ast.stmt] | None = (
            None  # functions to be defined before the statement; None inside expressions' scopes
        )
        self.number = count(1).__next__

    # ------------------------------------------------------------ functions

    def function(self, node: ast.FunctionDef, visible: set[str], in_class: bool) -> ast.FunctionDef:
        """The function with its body rewritten; `visible` are the names of functions around it."""
        outer = self.lowered, self.live, self.shared, self.captured, self.scope, self.caught
        names = argument_names(node.args)
        positional = [*node.args.posonlyargs, *node.args.args]
        globals_, nonlocals = declared(node.body, ast.Global), declared(node.body, ast.Nonlocal)
        plain = [_NoDeclarations().visit(s) for s in node.body]
        self.lowered = lower(plain)
        own = (bound(self.lowered.body) | set(names)) - globals_ - nonlocals
        self.live = Liveness.of(self.lowered.body, self.lowered.stops, nonlocals)
        self.shared = shared(self.lowered.body) & own
        self.captured = captured(self.lowered.body)
        self.scope = Scope(own, globals_, nonlocals, visible | own, positional[0].arg if positional else None, in_class)
        self.scope.owned = outer[4].owned | own
        self.caught = False
        before = len(self.sites)
        body = self._visit_block(self.lowered.body)
        head = self._declarations(own - set(names) if len(self.sites) > before else set(), node)
        self.lowered, self.live, self.shared, self.captured, self.scope, self.caught = outer
        where = 1 if ast.get_docstring(node) is not None else 0
        node.body = [*body[:where], *head, *body[where:]]
        return node

    def _declarations(self, names: set[str], at: ast.AST) -> list[ast.stmt]:
        """Declarations for a function's top. `if False: x = None` makes x a local variable without giving it a value."""
        head: list[ast.stmt] = []
        if self.scope.outer_global:
            head.append(ast.Global(sorted(self.scope.outer_global)))
        if self.scope.outer_nonlocal:
            head.append(ast.Nonlocal(sorted(self.scope.outer_nonlocal)))
        if names:
            targets: list[ast.expr] = [ast.Name(n, ast.Store()) for n in sorted(names)]
            head.append(ast.If(ast.Constant(False), [ast.Assign(targets, ast.Constant(None))], []))
        return [ast.copy_location(s, at) for s in head]

    def visit_FunctionDef(self, node: ast.FunctionDef, in_class: bool = False) -> ast.AST:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.args = self.visit(node.args)
        return node if is_generator(node) else self.function(node, self.scope.visible, in_class)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        if is_generator(node):
            return node
        node.args = self.visit(node.args)
        outer, parts = self.scope, self.parts
        own, self.parts = local(node), None
        positional = [*node.args.posonlyargs, *node.args.args]
        self.scope = Scope(own, visible=outer.visible | own, first_argument=positional[0].arg if positional else None)
        self.scope.owned = outer.owned | own
        node.body = self.visit(node.body)
        self.scope, self.parts = outer, parts
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.bases = [self.visit(b) for b in node.bases]
        owner, self.owner = self.owner, None
        methods = {s: self.visit_FunctionDef(s, in_class=True) for s in node.body if isinstance(s, ast.FunctionDef)}
        node.body = [methods.get(s, s) for s in node.body]  # type: ignore[call-overload, misc]
        self.owner = owner
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Python does not evaluate annotations in functions, and forbids them on variables that functions share."""
        if node.value is None:
            return ast.copy_location(ast.Pass(), node) if isinstance(node.target, ast.Name) else node
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_ListComp(self, node: Any) -> ast.AST:
        outer, self.parts = self.parts, None
        self.generic_visit(node)
        self.parts = outer
        return node

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def walrus(self, parts: list[ast.expr]) -> tuple[set[str], ast.expr]:
        return bound(parts), self._cells(parts)

    def part(self, node: ast.expr) -> ast.expr:
        assert self.parts is not None
        name = f"_ad_part{self.number()}"
        made = self._block_function(name, [ast.copy_location(ast.Return(node), node)], node)
        self.parts.append(made)
        return ast.Name(name, ast.Load())

    # ------------------------------------------------------------ statements

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        if not is_converted(node):
            return self.generic_visit(node)
        k = self.number()
        first, second = self._bound(node.body), self._bound(node.orelse)
        facts = self._facts([*node.body, *node.orelse], self.live.after[node])
        cells = self._cells([*node.body, *node.orelse])
        site = self.site(
            "if", node, **facts, first=frozenset(first), second=frozenset(second),
            abandoned=frozenset(self.lowered.abandoned.get(node, ())),
        )  # fmt: skip
        body = self._block_function(f"_ad_if{k}", node.body, node)
        orelse = self._block_function(f"_ad_else{k}", node.orelse, node) if node.orelse else None
        no: ast.expr = ast.Name(f"_ad_else{k}", ast.Load()) if orelse else ast.Constant(None)
        args = [self.visit(node.test), ast.Name(f"_ad_if{k}", ast.Load()), no, cells, site]
        return [body, *([orelse] if orelse else []), self._statement("if_", args, node.test)]

    def visit_Match(self, node: ast.Match) -> ast.AST:
        site = self.site("match", node)
        asks = (ast.MatchValue, ast.MatchClass, ast.MatchSingleton)
        values = any(isinstance(n, asks) for c in node.cases for n in ast.walk(c.pattern))
        self.generic_visit(node)
        if values:
            node.subject = runtime_call("matched", [node.subject, site], [], node.subject)
        return node

    def visit_Try(self, node: Any) -> ast.AST:
        outer, self.caught = self.caught, self.caught or bool(node.handlers)
        node.body = self._visit_block(node.body)
        self.caught = outer
        if node.handlers:
            guard = ast.withitem(runtime_call("trying", [_caught(node)], [], node))
            node.body = [ast.copy_location(ast.With([guard], node.body), node)]
        node.handlers = [*self._not_caught(node), *(self.generic_visit(h) for h in node.handlers)]
        node.orelse, node.finalbody = self._visit_block(node.orelse), self._visit_block(node.finalbody)
        return node

    def visit_TryStar(self, node: Any) -> ast.AST:
        outer, self.caught = self.caught, True
        self.generic_visit(node)
        self.caught = outer
        guard = ast.withitem(runtime_call("trying", [_caught(node)], [], node))
        node.body = [ast.copy_location(ast.With([guard], node.body), node)]
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        """What a context manager may swallow is as if it stood in a `try`."""
        self.generic_visit(node)
        for item in node.items:
            item.context_expr = runtime_call("managed", [item.context_expr], [], item.context_expr)
        return node

    def _not_caught(self, node: Any) -> list[ast.ExceptHandler]:
        """A handler before the user's: what tracing itself raises is not for them."""
        if not node.handlers:
            return []
        ours = ast.Attribute(ast.Name(RUNTIME, ast.Load()), "OURS", ast.Load())
        handler = ast.ExceptHandler(ours, None, [ast.Raise(None, None)])
        return [ast.copy_location(handler, node.handlers[0])]

    def visit_While(self, node: ast.While) -> ast.AST | list[ast.stmt]:
        k = self.number()
        cells = self._cells([node.test, *node.body])
        facts = self._facts([node.test, *node.body], self.live.head[node])
        binds = bound(node.test)
        site = self.site("while", node, **facts, test_binds=tuple(sorted(binds & self.scope.visible)))
        stop = self._stop(node)
        new: list[ast.stmt] = []
        if binds:
            answer = ast.copy_location(ast.Return(node.test), node.test)
            new.append(self._block_function(f"_ad_test{k}", [answer], node))
            test: ast.expr = ast.Name(f"_ad_test{k}", ast.Load())
        else:
            test = thunk(self.visit(node.test))
        new.append(self._block_function(f"_ad_while{k}", node.body, node))
        args = [test, ast.Name(f"_ad_while{k}", ast.Load()), stop, cells, site]
        return [*new, self._statement("while_", args, node.test)]

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        k = self.number()
        assign: ast.stmt = ast.copy_location(
            ast.Assign([node.target], ast.copy_location(ast.Name(ITEM, ast.Load()), node.iter)), node.target
        )
        block = [assign, *node.body]
        cells = self._cells(block)
        grown = tuple(sorted((appended(node.body) & self.scope.local) - self.captured))
        site = self.site("for", node, **self._facts(block, self.live.head[node]), appended=grown)
        stop = self._stop(node)
        body = self._block_function(f"_ad_for{k}", block, node, ITEM)
        args = [self.visit(node.iter), ast.Name(f"_ad_for{k}", ast.Load()), stop, cells, site]
        return [body, self._statement("for_", args, node.iter)]

    def _stop(self, node: ast.AST) -> ast.expr:
        stop = self.lowered.stops.get(node)
        return ast.Constant(None) if stop is None else thunk(self.visit(stop))

    def _statement(self, name: str, args: list[ast.expr], at: ast.AST) -> ast.stmt:
        return ast.copy_location(ast.Expr(runtime_call(name, args, [], at)), at)

    def _bound(self, nodes: Sequence[ast.AST]) -> set[str]:
        """Variables of the user's function, or of those around it, that the code binds."""
        return (bound(nodes) | self.shared) & (self.scope.local | self.scope.outer_nonlocal)

    def _facts(self, nodes: Sequence[ast.AST], needed: set[str]) -> dict[str, object]:
        """What the runtime must know of the variables: see `Site`."""
        mutated, attributes, stored = set(), set(), set()
        augmented = {id(n.target) for n in own_nodes(nodes) if isinstance(n, ast.AugAssign)}
        for n in own_nodes(nodes):
            if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load) and id(n) not in augmented:
                stored.add(n.id)
            if isinstance(n, (ast.Subscript, ast.Attribute)) and not isinstance(n.ctx, ast.Load):
                base = n.value
                if isinstance(n, ast.Attribute) and isinstance(base, ast.Name):
                    attributes.add((base.id, n.attr))
                while isinstance(base, (ast.Subscript, ast.Attribute)):
                    base = base.value
                if isinstance(n, ast.Subscript) and isinstance(base, ast.Name):
                    mutated.add(base.id)
        return {
            "names": tuple(sorted(self._bound(nodes) & needed)),
            "optional": frozenset(self.lowered.optional),
            "augmented": tuple(sorted(_augmented(nodes) & self.scope.visible)),
            "mutated": tuple(sorted(mutated & self.scope.visible)),
            "updated": tuple(sorted((_augmented(nodes) & self.scope.visible) - stored)),
            "attributes": tuple(sorted(a for a in attributes if a[0] in self.scope.visible)),
        }

    def _cells(self, nodes: Sequence[ast.AST]) -> ast.expr:
        """`lambda: (x, y)`: never called, its closure is the way to the variables that the code uses."""
        used = sorted(
            ((bound(nodes) | read(nodes) | self.shared) & self.scope.visible) - self.scope.outer_global - {ITEM}
        )
        every_name = sorted(self.scope.local - self.scope.outer_global - {ITEM})
        cells, rest = (thunk(ast.Tuple([ast.Name(n, ast.Load()) for n in ns], ast.Load())) for ns in (used, every_name))
        cells.args = arguments("_ad_all")
        cells.args.defaults = [rest]
        return cells

    def _visit_block(self, nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        outer = self.parts
        for node in nodes:
            self.parts = []
            new = self.visit(node)
            out += [*self.parts, *(new if isinstance(new, list) else [new])]
        self.parts = outer
        return out

    def _block_function(self, name: str, nodes: Sequence[ast.stmt], at: ast.AST, *params: str) -> ast.FunctionDef:
        """`def name(): nonlocal ...; <statements>`."""
        binds = bound(nodes)
        head: list[ast.stmt] = []
        if outside := sorted(binds & self.scope.outer_global):
            head.append(ast.Global(outside))
        if inside := sorted(binds - self.scope.outer_global):
            head.append(ast.Nonlocal(inside))
        body = self._visit_block(nodes)
        made = function_definition(name, arguments(*params), [*head, *body])
        return ast.copy_location(made, at)


def _augmented(nodes: Sequence[ast.AST]) -> set[str]:
    """The names with `x += v` and its kin."""
    found = (n.target for n in own_nodes(nodes) if isinstance(n, ast.AugAssign))
    return {target.id for target in found if isinstance(target, ast.Name)}


def _caught(node: Any) -> ast.Lambda:
    """What gives the kinds of errors that a `try` may catch; None stands for all."""
    kept = [h for h in node.handlers if not _raises_again(h)]
    kinds = [ast.Constant(None) if h.type is None or suspends(h.type) else copied(h.type) for h in kept]
    return thunk(ast.copy_location(ast.Tuple(list(kinds), ast.Load()), node))


def _raises_again(handler: ast.ExceptHandler) -> bool:
    """Whether a handler is sure to end by raising what it caught."""
    last, leaves = handler.body[-1], (ast.Return, ast.Break, ast.Continue)
    ends = isinstance(last, ast.Raise) and last.exc is None
    return ends and not any(isinstance(n, leaves) for stmt in handler.body for n in ast.walk(stmt))
