"""An op that may write its result over its first input, which nothing needs afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np

from adjoint.core.dispatch import evaluate, failure
from adjoint.graph.nested import Control
from adjoint.graph.node import Graph, Node
from adjoint.ops.card import Op


@dataclass(frozen=True)
class InPlace(Control):
    """The same op; a backend that holds the first input alone may overwrite it."""

    op: Op

    def infer(self, *xs):
        return self.op.infer(*xs)

    def eval(self, xp, *xs):
        return self.op.eval(xp, *xs)

    def overwrite(self, *xs: Any) -> Any:
        """The result, written over the first input."""
        if not isinstance(xs[0], np.ndarray):
            return evaluate(self.op, xs)
        try:
            self.op.update(*xs)
        except Exception as error:
            raise failure(self.op, xs, error) from error
        return xs[0]

    def vjp(self, g, y, *xs):
        return self.op.vjp(g, y, *xs)

    def jvp(self, ts, y, *xs):
        return self.op.jvp(ts, y, *xs)

    def vmap(self, dims, *xs):
        return self.op.vmap(dims, *xs)

    def __repr__(self) -> str:
        return f"InPlace({self.op!r})"


def updates_last(graph: Graph) -> list[Node]:
    """The nodes in an order in which an update comes after the other uses of what it overwrites, where that is possible."""
    nodes = graph.nodes
    if graph.effects or not any(isinstance(n.op, InPlace) for n in nodes):
        return list(nodes)  # effects keep the program's order
    place = {n: k for k, n in enumerate(nodes)}
    missing = {n: len(set(n.inputs)) for n in nodes}
    users: dict[Node, list[Node]] = {n: [] for n in nodes}
    for n in nodes:
        for i in dict.fromkeys(n.inputs):
            users[i].append(n)
    pending = {n: len(users[n]) for n in nodes}
    ready = [(0, k) for k, n in enumerate(nodes) if not n.inputs]
    order: list[Node] = []
    while ready:
        waits, k = heappop(ready)
        node = nodes[k]
        if not waits and isinstance(node.op, InPlace) and pending[node.inputs[0]] > 1:
            heappush(ready, (1, k))  # others still read what it would overwrite
            continue
        order.append(node)
        for i in dict.fromkeys(node.inputs):
            pending[i] -= 1
        for user in users[node]:
            missing[user] -= 1
            if not missing[user]:
                heappush(ready, (0, place[user]))
    return order
