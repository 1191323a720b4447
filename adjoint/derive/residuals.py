"""What a loop keeps of each round for the way back, and what it computes again."""

from __future__ import annotations

from adjoint.graph.control import Control
from adjoint.graph.node import Const, Graph, Node, Param, Pick
from adjoint.ops.arithmetic import Div, Pow
from adjoint.ops.families import Reduction
from adjoint.ops.index import Gather
from adjoint.ops.slicing import GetItem

#: Modules of ops that cost more than reading a kept result.
DEAR = ("transcendental", "special", "contract", "linalg", "decompose", "determinant", "fourier", "conv", "pool")


def worth_keeping(body: Graph) -> tuple[Node, ...]:
    """Results that are dear to compute again, or small ones of large inputs. What the way back does not need is dropped later."""
    return tuple(n for n in body.nodes if _is_kept(n))


def _is_kept(node: Node) -> bool:
    op = node.op
    if isinstance(op, Pick):
        return isinstance(node.inputs[0].op, Control) and all(n >= 0 for n in node.spec.shape)
    if isinstance(op, (Param, Const, Control)) or isinstance(node.spec, tuple):
        return False
    # Which of them are kept must not depend on sizes: a graph for any batch size is one graph.
    small = isinstance(op, (Reduction, Gather, GetItem))
    return small or isinstance(op, (Div, Pow)) or type(op).__module__.rpartition(".")[2] in DEAR
