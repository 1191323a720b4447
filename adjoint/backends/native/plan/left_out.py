"""What is left to the interpreter, in words: which steps have no machine code, at which lines, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adjoint.backends.native.plan.units import has_code
from adjoint.core.errors import shown_place
from adjoint.graph.nested import Control
from adjoint.graph.node import Const, Graph, Node, Param, Pick

SHOWN = 20  # lines of a program with many such steps


def left_out_lines(nodes: Sequence[Node]) -> list[str]:
    """A line for each step that the interpreter does; of a loop or branch, what in it has no machine code."""
    lines: list[str] = []
    for node in nodes:
        graphs = _graphs(node)
        lines.append(f"  {_named(node)}{_why(node) if not graphs else ''}")
        if not graphs:
            continue
        kind = "every iteration" if hasattr(node.op, "carried") else "what is in it"
        inner = dict.fromkeys(f"{_named(n)}{_why(n)}" for n in _without_code(graphs))
        lines.append(f"    {kind} is interpreted, one NumPy call for each step, because of")
        lines += [f"      {line}" for line in inner] or ["      sizes that are known only when it runs"]
    lines = list(dict.fromkeys(lines)) if len(nodes) > SHOWN else lines
    more = [f"  … and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return ["in the interpreter, between compiled parts, for want of machine code:", *lines[:SHOWN], *more]


def _graphs(node: Node) -> list[Graph]:
    """The graphs of a loop or a branch."""
    return list(node.op.graphs().values()) if isinstance(node.op, Control) else []


def _without_code(graphs: Sequence[Graph]) -> Iterator[Node]:
    for graph in graphs:
        for node in graph.nodes:
            if isinstance(node.op, (Param, Const, Pick)) or (has_code(node) and not node.op.effect):
                continue
            inside = list(_without_code(_graphs(node)))
            yield from inside or [node]


def _named(node: Node) -> str:
    """An op and its line."""
    inner = getattr(node.op, "op", node.op)
    place = "" if node.place is None else f" at {shown_place(node.place)}"
    return f"{type(inner).__name__}{place}"


def _why(node: Node) -> str:
    if node.op.effect:
        return " (it acts, or calls Python)"
    specs = node.spec if isinstance(node.spec, tuple) else (node.spec,)
    unknown = any(
        n < 0 for s in (*specs, *(i.spec for i in node.inputs if not isinstance(i.spec, tuple))) for n in s.shape
    )
    return " (a size is known only when it runs)" if unknown else ""
