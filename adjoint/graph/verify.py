"""What a well-formed graph is."""

from __future__ import annotations

from adjoint.core.spec import Spec
from adjoint.graph.node import Const, Graph, Param, Pick


def problem(graph: Graph, like: Graph | None = None) -> str | None:
    """What is wrong with a graph (compared with the one it was made from), or None."""
    if not graph.outputs:
        return "no output"
    seen = set()
    for node in graph.nodes:
        for i in node.inputs:
            if i not in seen:
                return f"{node.op} stands before its input {i.op}"
        seen.add(node)
        if isinstance(node.op, Param):
            if node not in graph.params:
                return f"{node.op} is not among the inputs"
        elif isinstance(node.op, Pick):
            if not isinstance(node.inputs[0].spec, tuple):
                return f"{node.op} of a call with one result"
        elif not isinstance(node.op, Const):
            found = node.op.infer(*(i.spec for i in node.inputs))
            if _plain(found) != _plain(node.spec):
                return f"{node.op} is said to be {node.spec}, but infers {found}"
    if like is None:
        return None
    if [_plain(p.spec) for p in graph.params] != [_plain(p.spec) for p in like.params]:
        return "the inputs differ"
    pairs = zip(graph.outputs, like.outputs, strict=True)
    for k, (a, b) in enumerate(pairs):
        if _plain(a.spec) != _plain(b.spec):
            return f"output {k} was {b.spec} and is {a.spec}"
    return None


def _plain(spec: object) -> object:
    if isinstance(spec, tuple):
        return tuple(_plain(s) for s in spec)
    assert isinstance(spec, Spec)
    return spec.shape, spec.dtype
