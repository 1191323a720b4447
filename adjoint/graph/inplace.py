"""An op that may write its result over its first input, which nothing needs afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.core.dispatch import evaluate
from adjoint.graph.control import Control
from adjoint.ops.arithmetic import Add, Mul, Sub
from adjoint.ops.card import Op
from adjoint.ops.index import ScatterAdd, ScatterSet
from adjoint.ops.movement import SetItem


def _set(op: Any, x: Any, v: Any, *indices: Any) -> None:
    x[indices] = v


def _add_at(op: Any, x: Any, v: Any, *indices: Any) -> None:
    if all(np.ndim(i) == 0 for i in indices):
        x[indices] += v
    else:
        np.add.at(x, indices, v)


def _set_part(op: Any, x: Any, v: Any) -> None:
    x[op.key] = v


#: For each op that can work in place, the function that does.
UPDATES: dict[type[Op], Callable[..., Any]] = {
    ScatterSet: _set,
    ScatterAdd: _add_at,
    SetItem: _set_part,
    Add: lambda op, x, y: np.add(x, y, out=x),
    Sub: lambda op, x, y: np.subtract(x, y, out=x),
    Mul: lambda op, x, y: np.multiply(x, y, out=x),
}


@dataclass(frozen=True)
class InPlace(Control):
    """The same op; a backend that holds the first input alone may overwrite it."""

    op: Op

    def infer(self, *xs):
        return self.op.infer(*xs)

    def eval(self, xp, *xs):
        return self.op.eval(xp, *xs)

    def update(self, *xs: Any) -> Any:
        """The result, written over the first input."""
        if not isinstance(xs[0], np.ndarray):
            return evaluate(self.op, xs)
        UPDATES[type(self.op)](self.op, *xs)
        return xs[0]

    def vjp(self, g, y, *xs):
        return self.op.vjp(g, y, *xs)

    def jvp(self, ts, y, *xs):
        return self.op.jvp(ts, y, *xs)

    def vmap(self, dims, *xs):
        return self.op.vmap(dims, *xs)

    def __repr__(self) -> str:
        return f"InPlace({self.op!r})"
