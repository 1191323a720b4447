"""Which variables are still needed after a branch or a loop."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from adjoint.frontend.names import bound, captured, definitely_bound, read


@dataclass
class Liveness:
    """For each `if`, `while` and `for`: the names read later (`after`); for loops also at the start of an iteration (`head`).

    Expects source without `break` and `continue`. What functions of the source capture counts as read at any time.
    """

    after: dict[ast.AST, set[str]] = field(default_factory=dict)
    head: dict[ast.AST, set[str]] = field(default_factory=dict)
    _always: set[str] = field(default_factory=set)  # read by handlers that any statement may jump to

    @staticmethod
    def of(body: Sequence[ast.stmt], stops: dict[ast.AST, ast.expr], outer: set[str]) -> Liveness:
        """Analyse a function's body; `stops` are the conditions that end a loop early, `outer` its nonlocal variables."""
        found = Liveness(_always=captured(body) | outer)
        found._stops = stops
        found._block(body, set())
        return found

    _stops: dict[ast.AST, ast.expr] = field(default_factory=dict)

    def _block(self, body: Sequence[ast.stmt], after: set[str]) -> set[str]:
        for statement in reversed(body):
            after = self._statement(statement, after | self._always)
        return after

    def _statement(self, node: ast.stmt, after: set[str]) -> set[str]:
        """The names needed before a statement, given those needed after it."""
        if isinstance(node, ast.If):
            self.after[node] = after
            return read(node.test) | self._block(node.body, after) | self._block(node.orelse, after)
        if isinstance(node, ast.While):
            return self._loop(node, after, read(node.test), definitely_bound(node.test))
        if isinstance(node, ast.For):
            return read(node.iter) | self._loop(node, after, set(), set(), read(node.target), bound(node.target))
        if isinstance(node, (ast.Try, getattr(ast, "TryStar", ast.Try))):
            return self._try(node, after)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            inside = self._protected(node.body, after, after) - {n for i in node.items for n in definitely_bound(i)}
            return inside | read(node.items)
        if isinstance(node, ast.Match):
            cases = [self._block(c.body, after) | read(c.pattern) | read(c.guard) for c in node.cases]
            return read(node.subject).union(after, *cases)
        if isinstance(node, (ast.Return, ast.Raise)):
            return read(node) | self._always
        return (after - definitely_bound(node)) | read(node)

    def _loop(
        self,
        node: ast.While | ast.For,
        after: set[str],
        test: set[str],
        test_binds: set[str],
        target: set[str] | None = None,
        target_binds: set[str] | None = None,
    ) -> set[str]:
        after = self._block(node.orelse, after) | read(self._stops.get(node))
        self.after[node] = after
        head = test | (after - test_binds)
        while True:
            inside = self._block(node.body, head)
            grown = head | (((inside - (target_binds or set())) | (target or set())) - test_binds)
            if grown == head:
                self.head[node] = head
                return head
            head = grown

    def _try(self, node: Any, after: set[str]) -> set[str]:
        after = self._block(node.finalbody, after)
        handlers = after.union(*(self._block(h.body, after) | read(h.type) for h in node.handlers))
        return self._protected([*node.body], self._protected(node.orelse, after, after), handlers)

    def _protected(self, body: Sequence[ast.stmt], after: set[str], escape: set[str]) -> set[str]:
        """A block that may be left at any statement, to where `escape` is needed."""
        kept, self._always = self._always, self._always | escape
        try:
            return self._block(body, after) | escape
        finally:
            self._always = kept
