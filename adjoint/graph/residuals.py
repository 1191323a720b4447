"""What a loop keeps of each iteration for the backward pass, and what it computes again."""

from __future__ import annotations

from adjoint.graph.nested import Control
from adjoint.graph.node import Const, Graph, Node, Param, Pick


def worth_keeping(body: Graph) -> tuple[Node, ...]:
    """Results that are expensive to compute again, or small ones of large inputs. What the backward pass does not need is
    dropped later."""
    return tuple(n for n in body.nodes if _is_kept(n))


def _is_kept(node: Node) -> bool:
    op = node.op
    if isinstance(op, Pick):
        return isinstance(node.inputs[0].op, Control) and all(n >= 0 for n in node.spec.shape)
    if isinstance(op, (Param, Const, Control)) or isinstance(node.spec, tuple):
        return False
    # Which of them are kept must not depend on sizes: a graph for any batch size is one graph.
    return op.expensive or op.saved
