"""Early `return`, `break` and `continue` become assignments to flags, and the code they skip is guarded.

Only jumps that cross a converted `if` or loop are rewritten. Where one branch always jumps, the code after the `if` moves into
the other branch, and no flag is tested.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from adjoint.frontend.names import children, definitely_bound, every

RESULT, DONE = "_ad_result", "_ad_done"
_STATIC_CALLS = {"isinstance", "issubclass", "hasattr", "callable"}
_LOOPS = (ast.While, ast.For)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def is_static(test: ast.expr) -> bool:
    """Whether a condition is a Python truth value whatever its operands are: `x is None`, `isinstance(...)`."""
    if isinstance(test, ast.Constant):
        return True
    if isinstance(test, ast.Compare):
        truths = [
            x for x in (test.left, *test.comparators) if isinstance(x, ast.Constant) and isinstance(x.value, bool)
        ]
        return all(isinstance(op, (ast.Is, ast.IsNot)) for op in test.ops) and not truths
    if isinstance(test, ast.Call):
        return isinstance(test.func, ast.Name) and test.func.id in _STATIC_CALLS
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not) and is_static(test.operand)
    return isinstance(test, ast.BoolOp) and all(map(is_static, test.values))


def is_converted(node: ast.AST) -> bool:
    """Whether a statement becomes a call of the runtime."""
    return isinstance(node, _LOOPS) or (isinstance(node, ast.If) and not is_static(node.test))


def _statements(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a block, without those of functions and classes inside it."""
    for node in body:
        yield node
        if not isinstance(node, _SCOPES):
            yield from _statements(children(node))


def _has_jump(body: Sequence[ast.AST], returns: bool = True, in_loop: bool = False) -> bool:
    """Whether a block can be left by `return`, or by a `break` or `continue` of a loop around it."""
    for node in body:
        if (isinstance(node, ast.Return) and returns) or (isinstance(node, (ast.Break, ast.Continue)) and not in_loop):
            return True
        if isinstance(node, _LOOPS):
            if _has_jump(node.body, returns, True) or _has_jump(node.orelse, returns, in_loop):
                return True
        elif not isinstance(node, _SCOPES) and _has_jump(children(node), returns, in_loop):
            return True
    return False


def _abandons(body: Sequence[ast.stmt]) -> bool:
    """Whether a block always ends the function."""
    return _leaves(body, (ast.Return, ast.Raise)) and not _has_jump(body, returns=False)


def _has_break(body: Sequence[ast.AST]) -> bool:
    """Whether a loop's own body can be left by `break`."""
    for node in body:
        if isinstance(node, ast.Break):
            return True
        inner = node.orelse if isinstance(node, _LOOPS) else children(node)
        if not isinstance(node, _SCOPES) and _has_break(inner):
            return True
    return False


def _leaves(body: Sequence[ast.stmt], how: tuple[type[ast.AST], ...]) -> bool:
    """Whether a block is always left by one of these statements."""
    for node in body:
        if isinstance(node, how):
            return True
        if isinstance(node, ast.If) and node.orelse and _leaves(node.body, how) and _leaves(node.orelse, how):
            return True
        if (
            isinstance(node, ast.While)
            and isinstance(node.test, ast.Constant)
            and node.test.value
            and not _has_break(node.body)
        ):
            return True
    return False


_JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue)


@dataclass
class _Loop:
    stop: str
    skip: str


@dataclass
class Lowered:
    """A body without jumps across converted statements.

    `stops` are the conditions that end a loop early. `abandoned` names the sides of an `if` after which the function's
    remaining code is skipped, so that variables need no value there.
    """

    body: list[ast.stmt]
    #: Bound by the `else` of a loop: in the loop they need no value before a `break`.
    optional: set[str] = field(default_factory=set)
    stops: dict[ast.AST, ast.expr] = field(default_factory=dict)
    abandoned: dict[ast.AST, set[str]] = field(default_factory=dict)


def lower(body: Sequence[ast.stmt]) -> Lowered:
    """Rewrite the jumps of a function's body."""
    return _Lowering().function(list(body))


def _name(name: str, at: ast.AST, store: bool = False) -> ast.Name:
    return ast.copy_location(ast.Name(name, ast.Store() if store else ast.Load()), at)


def _assign(name: str, value: ast.expr | None, at: ast.AST) -> ast.stmt:
    value = ast.Constant(None) if value is None else value
    return ast.copy_location(ast.Assign([_name(name, at, True)], value), at)


def _flag(name: str, value: bool, at: ast.AST) -> ast.stmt:
    return _assign(name, ast.Constant(value), at)


def _none_of(flags: Sequence[str], at: ast.AST) -> ast.expr:
    names = [_name(f, at) for f in flags]
    either = names[0] if len(names) == 1 else ast.BoolOp(ast.Or(), list(names))
    return ast.copy_location(ast.UnaryOp(ast.Not(), ast.copy_location(either, at)), at)


def _any_of(flags: Sequence[str], at: ast.AST) -> ast.expr:
    names = [_name(f, at) for f in flags]
    either = names[0] if len(names) == 1 else ast.BoolOp(ast.Or(), list(names))
    return ast.copy_location(either, at)


class _Lowering:
    def __init__(self) -> None:
        self.number = count(1).__next__
        self.result = Lowered([])

    def function(self, body: list[ast.stmt]) -> Lowered:
        early = any(isinstance(n, ast.Return) for s in _statements(body) if is_converted(s) for n in _statements([s]))
        if early and not _leaves(body, (ast.Return, ast.Raise)):
            body = [*body, ast.copy_location(ast.Return(ast.copy_location(ast.Constant(None), body[-1])), body[-1])]
        new, _ = self.block(body, None, False)
        if early:
            last = ast.copy_location(ast.Return(_name(RESULT, body[-1])), body[-1])
            new = [_flag(DONE, False, body[0]), *new, *([] if isinstance(new[-1], ast.Return) else [last])]
        self.result.body = _without_unread(new, list(self.result.stops.values()))
        return self.result

    def block(self, body: Sequence[ast.stmt], loop: _Loop | None, inside: bool) -> tuple[list[ast.stmt], set[str]]:
        """The rewritten statements, and the flags that they may set."""
        out: list[ast.stmt] = []
        flags: set[str] = set()
        for k, node in enumerate(body):
            rest = list(body[k + 1 :])
            if isinstance(node, ast.If) and (inside or is_converted(node)) and _has_jump([node]):
                node, rest = self._absorb(node, rest)
            new, set_here = self.statement(node, loop, inside)
            out += new
            flags |= set_here
            if isinstance(node, _JUMPS) or not rest:
                break
            if set_here:
                out += self._guarded(rest, sorted(set_here), loop, flags)
                break
        return out, flags

    def _absorb(self, node: ast.If, rest: list[ast.stmt]) -> tuple[ast.If, list[ast.stmt]]:
        """Move what follows an `if` into the branch that does not jump."""
        if _leaves(node.body, _JUMPS):
            fresh = ast.copy_location(ast.If(node.test, node.body, [*node.orelse, *rest]), node)
        elif node.orelse and _leaves(node.orelse, _JUMPS):
            fresh = ast.copy_location(ast.If(node.test, [*node.body, *rest], node.orelse), node)
        else:
            return node, rest
        return fresh, []

    def _guarded(self, rest: list[ast.stmt], by: list[str], loop: _Loop | None, flags: set[str]) -> list[ast.stmt]:
        inner, more = self.block(rest, loop, True)
        flags |= more
        guard = ast.copy_location(ast.If(_none_of(by, rest[0]), inner, []), rest[0])
        if by == [DONE]:
            self.result.abandoned[guard] = {"orelse"}
        return [guard]

    def statement(self, node: ast.stmt, loop: _Loop | None, inside: bool) -> tuple[list[ast.stmt], set[str]]:
        if isinstance(node, ast.Return) and inside:
            return [_assign(RESULT, node.value, node), _flag(DONE, True, node)], {DONE}
        if isinstance(node, ast.Break) and loop:
            return [_flag(loop.stop, True, node)], {loop.stop}
        if isinstance(node, ast.Continue) and loop:
            return [_flag(loop.skip, True, node)], {loop.skip}
        if isinstance(node, ast.If):
            return self._if(node, loop, inside)
        if isinstance(node, _LOOPS):
            return self._loop(node, loop, inside)
        if isinstance(node, _SCOPES):
            return [node], set()
        return self._compound(node, loop, inside)

    def _if(self, node: ast.If, loop: _Loop | None, inside: bool) -> tuple[list[ast.stmt], set[str]]:
        within = inside or is_converted(node)
        body, first = self.block(node.body, loop, within)
        orelse, second = self.block(node.orelse, loop, within)
        fresh = ast.copy_location(ast.If(node.test, body, orelse), node)
        left = {side for side in ("body", "orelse") if _abandons(getattr(node, side))}
        if left:
            self.result.abandoned[fresh] = left
        return [fresh], first | second

    def _loop(self, node: ast.While | ast.For, outer: _Loop | None, inside: bool) -> tuple[list[ast.stmt], set[str]]:
        k = self.number()
        loop = _Loop(f"_ad_break{k}", f"_ad_continue{k}")
        body, flags = self.block(node.body, loop, True)
        if loop.skip in flags:
            body = [_flag(loop.skip, False, node.body[0]), *body]
        if isinstance(node, ast.While):
            fresh: ast.While | ast.For = ast.copy_location(ast.While(node.test, body, []), node)
        else:
            fresh = ast.copy_location(ast.For(node.target, node.iter, body, [], node.type_comment), node)
        ends = sorted(flags & {loop.stop, DONE})
        if ends:
            self.result.stops[fresh] = _any_of(ends, node)
        out: list[ast.stmt] = [_flag(loop.stop, False, node)] if loop.stop in flags else []
        out.append(fresh)
        passed_on = flags & {DONE}
        if node.orelse and ends:
            self.result.optional |= {name for s in node.orelse for name in definitely_bound(s)}
            out += self._guarded(node.orelse, ends, outer, passed_on)
        elif node.orelse:
            more, also = self.block(node.orelse, outer, inside)
            out += more
            passed_on |= also
        return out, passed_on

    def _compound(self, node: ast.stmt, loop: _Loop | None, inside: bool) -> tuple[list[ast.stmt], set[str]]:
        """`with`, `try`, `match`, and simple statements: rewrite the blocks they hold."""
        flags: set[str] = set()
        changed: dict[str, object] = {}
        for name, value in ast.iter_fields(node):
            if name == "orelse" and flags and value:
                changed[name] = self._guarded(value, sorted(flags), loop, flags)
            elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                changed[name], found = self.block(value, loop, inside)
                flags |= found
            elif isinstance(value, list) and value and isinstance(value[0], (ast.ExceptHandler, ast.match_case)):
                changed[name] = [self._part(part, loop, inside, flags) for part in value]
        if not changed:
            return [node], flags
        fields: dict[str, Any] = {name: changed.get(name, value) for name, value in ast.iter_fields(node)}
        return [ast.copy_location(type(node)(**fields), node)], flags

    def _part(self, part: ast.AST, loop: _Loop | None, inside: bool, flags: set[str]) -> ast.AST:
        fields = dict(ast.iter_fields(part))
        fields["body"], found = self.block(fields["body"], loop, inside)
        flags |= found
        return ast.copy_location(type(part)(**fields), part)


def _without_unread(body: list[ast.stmt], stops: Sequence[ast.expr]) -> list[ast.stmt]:
    """The body without assignments to flags that nothing tests."""
    nodes = every(body)
    names = (n for n in (*nodes, *every(stops)) if isinstance(n, ast.Name))
    tested = {n.id for n in names if isinstance(n.ctx, ast.Load)}
    for node in nodes:
        for block in ("body", "orelse", "finalbody"):
            value = getattr(node, block, None)
            if isinstance(value, list) and value:
                kept = [s for s in value if not _unread(s, tested)]
                filler = [ast.copy_location(ast.Pass(), value[0])] if block == "body" else []
                setattr(node, block, kept or filler)
    return [s for s in body if not _unread(s, tested)]


def _unread(node: ast.stmt, tested: set[str]) -> bool:
    if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)):
        return False
    name = node.targets[0].id
    return name.startswith("_ad_") and name != RESULT and name not in tested
