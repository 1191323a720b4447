"""Graphs of which not all results are wanted: a batch goes through both branches, and through iterations that are over for some.

An index that such a branch would not have used must not be an error. So the graph gets one more input, which says whether its
results are wanted. Where they are not, indices are 0 and loops with a test are not run; where they are, an index outside its axis is
the error that it always is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.core.rules import derived
from adjoint.core.spec import Spec, bool_
from adjoint.graph.derivatives import vmap_graph
from adjoint.graph.nested import Control
from adjoint.graph.node import Builder, Const, Graph, Node, Param
from adjoint.graph.walk import replay
from adjoint.ops.language import where

if TYPE_CHECKING:
    from adjoint.graph.control import Cond, Loop


@derived
def if_wanted(graph: Graph) -> Graph:
    """The graph with one more input: whether its results are wanted. Itself if that makes no difference."""
    if not _may_matter(graph):
        return graph
    wanted = Node(Param(len(graph.params), "wanted"), (), Spec((), bool_))
    builder = Builder()
    found: dict[Node, Node] = {p: p for p in graph.params}
    for node in graph.nodes:
        if node not in found:
            found[node] = _guarded(builder, node, [found[i] for i in node.inputs], wanted)
    outputs, effects = (tuple(found[n] for n in nodes) for nodes in (graph.outputs, graph.effects))
    return replace(graph, params=(*graph.params, wanted), outputs=outputs, effects=effects)


def batch_if_wanted(graph: Graph, batched: Sequence[bool], size: int, xs: Sequence[Any], wanted: Any) -> list[Any]:
    """The results of a graph for a batch; they are wanted where `wanted`, one truth value for each example, holds."""
    guarded = if_wanted(graph)
    if guarded is graph:
        return replay(vmap_graph(graph, tuple(batched), size), xs)
    return replay(vmap_graph(guarded, (*batched, True), size), [*xs, wanted])


def _may_matter(graph: Graph) -> bool:
    return any(_first_index(n.op) is not None or _has_guards(n.op) for n in graph.nodes)


def _has_guards(op: Any) -> bool:
    return getattr(op, "test", None) is not None or any(map(_may_matter, _branches(op)))


def _branches(op: Any) -> list[Graph]:
    """The graphs of a branch or a loop."""
    return list(op.graphs().values()) if hasattr(op, "true") or hasattr(op, "body") else []


def _first_index(op: Any) -> int | None:
    """The place of the first index among the inputs of an op; None if it has none."""
    op = op.op if isinstance(op, Control) and hasattr(op, "op") else op  # one that works in place
    return op.first_index if op.indexing else None


def _guarded(builder: Builder, node: Node, inputs: list[Node], wanted: Node) -> Node:
    op, first = node.op, _first_index(node.op)
    if first is not None:
        indices = [n if isinstance(n.op, Const) else _or_zero(builder, n, wanted) for n in inputs[first:]]
        inputs = [*inputs[:first], *indices]
    elif _has_guards(op):
        return builder.build(_loop(op) if hasattr(op, "body") else _cond(op), [*inputs, wanted])
    return builder.keep(node, op, tuple(inputs))


def _or_zero(builder: Builder, index: Node, wanted: Node) -> Node:
    return builder.build(where, [wanted, index, builder.const(np.zeros((), index.dtype))])


def _with_input(graph: Graph) -> Graph:
    """The guarded graph, with an input for it in any case."""
    guarded = if_wanted(graph)
    if guarded is not graph:
        return guarded
    return replace(graph, params=(*graph.params, Node(Param(len(graph.params), "wanted"), (), Spec((), bool_))))


def _cond(op: Cond) -> Cond:
    return replace(op, true=_with_input(op.true), false=_with_input(op.false))


def _loop(op: Loop) -> Loop:
    body, test = _with_input(op.body), op.test
    if test is not None:
        test = _with_input(test)
        no = Builder().const(np.False_)
        test = replace(test, outputs=(Builder().build(where, [test.params[-1], test.outputs[0], no]),))
    return replace(op, body=body, test=test)
