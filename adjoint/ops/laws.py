"""Laws: the same result from fewer or cheaper steps. They are rows beside the cards; passes apply them.

A law is a function of `b`, which builds nodes, the op and its inputs, which are nodes of a graph; it gives the better node, or
None where it does not apply. It may not change a result beyond rounding, nor make a finite value NaN or infinite, and it holds
for derivatives too: a graph may be differentiated after it has been applied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from adjoint.ops.broadcasting import BroadcastTo
from adjoint.ops.card import Op

Law = Callable[..., Any]


class Laws:
    """Laws by op, each with a name."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._by_op: dict[type, list[Law]] = {}

    def of(self, kind: type) -> list[Law]:
        """The laws of an op; those of the cards that it is derived from are not its own."""
        return self._by_op.get(kind, [])

    def add(self, name: str, kind: type[Op], law: Law) -> None:
        """Enter a law."""
        self.names.append(name)
        self._by_op.setdefault(kind, []).append(law)

    def extend(self, rows: Iterable[tuple[str, type[Op], Law]]) -> None:
        """Enter laws, in order."""
        for row in rows:
            self.add(*row)


#: Identities: what is left out, merged or put in a normal form.
ALGEBRA = Laws()
#: Cheaper forms of costly steps.
STRENGTH = Laws()


def constant(x: Any) -> Any:
    """The value of a node that is a constant; None for any other."""
    return x.op.value if x.op.is_constant else None


def number(x: Any) -> float | None:
    """The value of a constant that is the same number everywhere; None for anything else."""
    while isinstance(x.op, BroadcastTo):
        x = x.inputs[0]
    if not x.op.is_constant:
        return None
    array = np.asarray(x.op.value)
    if array.size == 0 or array.dtype.kind not in "fiu" or array.size > 65_536 or not (array == array.flat[0]).all():
        return None
    return float(array.flat[0])


def truth(x: Any) -> bool | None:
    """The truth value that a constant has everywhere; None for anything else."""
    if not x.op.is_constant or x.spec.dtype.kind != "b":
        return None
    array = np.asarray(x.op.value)
    return None if array.size == 0 or array.all() != array.any() else bool(array.flat[0])


def made_by(x: Any, kind: type[Op]) -> Any:
    """The node, if it is the result of such an op; else None. (Ops are final: no instance of a subclass is missed.)"""
    return x if type(x.op) is kind else None
