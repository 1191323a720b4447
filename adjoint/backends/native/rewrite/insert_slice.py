"""The op InsertSlice: a slice of an array is another array. A loop nest computes it element by element."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

from adjoint.core.spec import Spec
from adjoint.graph.node import Node, Structural

MAX_PIECES = 12  # pieces that a nest may be split into


@dataclass(frozen=True)
class InsertSlice(Structural):
    """x with v from `begin` on; x may be one number, and `shape` is the result's."""

    begin: tuple[int, ...]
    shape: tuple[int, ...]

    opaque: ClassVar[bool] = False

    def infer(self, x: Spec, v: Spec) -> Spec:
        return Spec(self.shape, v.dtype)

    def eval(self, xp: Any, x: Any, v: Any) -> Any:
        v = xp.asarray(v)  # a condition may be Python's own
        y = xp.array(xp.broadcast_to(xp.asarray(x, v.dtype), self.shape))
        y[tuple([slice(b, b + n) for b, n in zip(self.begin, v.shape, strict=True)])] = v
        return y


def is_insertion(node: Node) -> bool:
    """Whether a node is an array inserted into another one."""
    return isinstance(node.op, InsertSlice)


def pieces(node: Node, known: Mapping[Node, int]) -> int:
    """Into how many boxes a nest falls that computes a node, given those of its inputs; beyond MAX_PIECES it is not counted.

    Counts are products along a graph: unbounded they would have more digits than there is time for.
    """
    count = prod([known.get(i, 1) for i in set(node.inputs)])
    if is_insertion(node):
        ends = zip(node.op.begin, node.inputs[1].shape, node.shape, strict=True)
        count *= prod([1 + (b > 0) + (b + n < whole) for b, n, whole in ends])
    return min(count, MAX_PIECES + 1)
