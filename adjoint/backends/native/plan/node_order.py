"""An order of nodes in which those that go over the rows of large arrays follow one another, so that they can share a loop over rows.

What is small and large nodes wait for comes as early as it can; what is small and no large node needs comes last. So the number of
labels, by which the gradient of a cross-entropy is scaled, does not stand between the passes over the scores, nor does the loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from adjoint.backends.native.node_facts import is_reduction
from adjoint.graph.control import Control
from adjoint.graph.node import Node

LARGE = 1 << 16  # elements


def rows_together(nodes: Sequence[Node]) -> list[Node]:
    """The nodes in such an order, where rows of large arrays are reduced; as they are otherwise. Large ones keep their order."""
    if not any(_reduces_rows(n) for n in nodes):
        return list(nodes)
    large = {n for n in nodes if _is_large(n)}
    wanted = set(large)  # and what they wait for
    for n in reversed(nodes):
        if n in wanted:
            wanted.update(n.inputs)
    users: dict[Node, list[Node]] = {n: [] for n in nodes}
    missing = {}
    for n in nodes:
        inputs = set(n.inputs)
        missing[n] = len(inputs)
        for i in inputs:
            users[i].append(n)
    order: list[Node] = []

    def put(n: Node) -> None:
        """A node, and behind it the small ones that waited for it and are waited for."""
        stack = [n]
        while stack:
            n = stack.pop()
            order.append(n)
            ready = []
            for user in users[n]:
                missing[user] -= 1
                if not missing[user] and user in wanted and user not in large:
                    ready.append(user)
            stack += reversed(ready)

    for n in nodes:
        if not n.inputs and n in wanted and n not in large:
            put(n)
    for n in nodes:
        if n in large:
            put(n)
    return order + [n for n in nodes if n not in wanted]


def _reduces_rows(node: Node) -> bool:
    return is_reduction(node) and bool(node.shape) and _size(node.inputs[0]) >= LARGE


def _is_large(node: Node) -> bool:
    """Whether a node makes or reads many elements, or holds a program of its own."""
    return isinstance(node.op, Control) or any(_size(n) >= LARGE for n in (node, *node.inputs))


def _size(node: Node) -> int:
    return 1 if isinstance(node.spec, tuple) else prod(node.shape)
