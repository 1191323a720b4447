"""What a loop keeps of each iteration for the backward pass, and what it computes again."""

from __future__ import annotations

from collections import Counter

from adjoint.core.spec import elements
from adjoint.graph.nested import Control
from adjoint.graph.node import Const, Graph, Node, Param, Pick


def worth_keeping(body: Graph, carried: int) -> tuple[Node, ...]:
    """Results that are expensive to compute again, or small ones of large inputs. What the backward pass does not need is
    dropped later. Parts of an input that together are no smaller than it are not kept: it is there itself."""
    kept = [n for n in body.nodes if _is_kept(n)]
    parts: Counter[Node] = Counter()
    for n in kept:
        if n.op.view:
            parts[n.inputs[0]] += elements(n.spec)
    there = set(body.params[carried:]) | {p for p in body.params[:carried] if parts[p] >= elements(p.spec)}
    return tuple(n for n in kept if not (n.op.view and n.inputs[0] in there))


def _is_kept(node: Node) -> bool:
    op = node.op
    if isinstance(op, Pick):
        return isinstance(node.inputs[0].op, Control) and all(n >= 0 for n in node.spec.shape)
    if isinstance(op, (Param, Const, Control)) or isinstance(node.spec, tuple):
        return False
    # Which of them are kept must not depend on sizes: a graph for any batch size is one graph.
    return op.expensive or op.saved
