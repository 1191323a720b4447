"""A part put into an array, as an op that a nest computes point by point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

from adjoint.core.spec import Spec
from adjoint.graph.node import Node, Structural

MOST = 12  # pieces that a nest may be split into


@dataclass(frozen=True)
class Place(Structural):
    """x with v in its place from `begin` on; x may be one number, and `shape` is the result's."""

    begin: tuple[int, ...]
    shape: tuple[int, ...]

    opaque: ClassVar[bool] = False

    def infer(self, x: Spec, v: Spec) -> Spec:
        return Spec(self.shape, v.dtype)

    def eval(self, xp: Any, x: Any, v: Any) -> Any:
        y = xp.array(xp.broadcast_to(xp.asarray(x, v.dtype), self.shape))
        y[tuple([slice(b, b + n) for b, n in zip(self.begin, v.shape, strict=True)])] = v
        return y


def pieces(node: Node, known: Mapping[Node, int]) -> int:
    """Into how many boxes a nest falls that computes a node, given those of its inputs; beyond MOST it is not counted.

    Counts are products along a graph: unbounded they would have more digits than there is time for.
    """
    count = prod([known.get(i, 1) for i in set(node.inputs)])
    if isinstance(node.op, Place):
        ends = zip(node.op.begin, node.inputs[1].shape, node.shape, strict=True)
        count *= prod([1 + (b > 0) + (b + n < whole) for b, n, whole in ends])
    return min(count, MOST + 1)
