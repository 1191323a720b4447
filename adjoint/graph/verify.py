"""What a well-formed graph is."""

from __future__ import annotations

from adjoint.core.spec import Spec
from adjoint.graph.nested import Control
from adjoint.graph.node import Const, Graph, Node, Param, Pick, inferred


def problem(graph: Graph, like: Graph | None = None, checked: set[Node | Graph] | None = None) -> str | None:
    """What is wrong with a graph (compared with the one it was made from), or None. What was found good is `checked`."""
    if like is not None and not graph.outputs:
        return "no output"
    checked = set() if checked is None else checked
    seen = set(graph.params)
    for node in graph.nodes if graph not in checked else ():
        for i in node.inputs:
            if i not in seen:
                return f"{node.op} stands before its input {i.op}"
        seen.add(node)
        if isinstance(node.op, Param):
            if node not in graph.params:
                return f"{node.op} is not among the inputs"
        elif node not in checked:
            if wrong := _wrong(node, checked):
                return wrong
            checked.add(node)
    checked.add(graph)
    return None if like is None else _difference(graph, like)


def _wrong(node: Node, checked: set[Node | Graph]) -> str | None:
    """What is wrong with one node."""
    if isinstance(node.op, Pick):
        return None if isinstance(node.inputs[0].spec, tuple) else f"{node.op} of a call with one result"
    if isinstance(node.op, Const):
        return None
    if isinstance(node.op, Control):
        for name, inner in node.op.graphs().items():
            if wrong := problem(inner, None, checked):
                return f"in `{name}` of {node.op}: {wrong}"
    found = inferred(node.op, tuple([i.spec for i in node.inputs]))
    return None if _plain(found) == _plain(node.spec) else f"{node.op} is said to be {node.spec}, but infers {found}"


def _difference(graph: Graph, like: Graph) -> str | None:
    if [_plain(p.spec) for p in graph.params] != [_plain(p.spec) for p in like.params]:
        return "the inputs differ"
    for k, (a, b) in enumerate(zip(graph.outputs, like.outputs, strict=True)):
        if _plain(a.spec) != _plain(b.spec):
            return f"output {k} was {b.spec} and is {a.spec}"
    return None


def _plain(spec: object) -> object:
    if isinstance(spec, tuple):
        return tuple(_plain(s) for s in spec)
    assert isinstance(spec, Spec)
    return spec.shape, spec.dtype
