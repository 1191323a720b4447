"""Values of expressions at a place of a nest's last axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.emit.vector_access import get
from adjoint.backends.native.plan.loop_expressions import Apply, Choice, Expr, Immediate, Load, Scalar


class ExpressionValues:
    """Values of expressions at a place of the last axis; what does not change along it is computed before."""

    def __init__(self, function: Any, bases: dict[int, str], fixed: dict[int, str]) -> None:
        self.function, self.bases, self.fixed = function, bases, fixed
        self._still: dict[int, bool] = {}

    def is_fixed(self, e: Expr) -> bool:
        e = self.function.chosen(e)
        if isinstance(e, Load):
            return self.function.strides[id(e)][-1] == 0
        if not isinstance(e, Apply):
            return True
        if id(e) not in self._still:
            self._still[id(e)] = all(self.is_fixed(a) for a in e.args)
        return self._still[id(e)]

    def hoist(self, e: Expr) -> None:
        """Compute before the loop what does not change in it."""
        stack, seen = [e], set()
        while stack:
            e = self.function.chosen(stack.pop())
            if id(e) in seen:
                continue
            seen.add(id(e))
            if self.is_fixed(e):
                self._fixed(e)
            elif isinstance(e, Apply):
                stack += e.args

    def _fixed(self, e: Expr) -> str:
        e = self.function.chosen(e)
        code = self.function.code
        if id(e) not in self.fixed:
            if isinstance(e, Immediate):
                text = Lanes(code, 1).number(e.value, e.dtype)
            elif isinstance(e, Scalar):
                text = self.function.values[e.leaf]
            elif isinstance(e, Load):
                text = code.load(self.bases[id(e)], e.leaf.spec.dtype)
            else:
                assert isinstance(e, Apply)
                text = Lanes(code, 1).apply(e.node, [self._fixed(a) for a in e.args])
            self.fixed[id(e)] = text
        return self.fixed[id(e)]

    def at(self, i: str, width: int, mask: str | None) -> Callable[[Expr], str]:
        """A function from an expression to its value at i."""
        code, lanes = self.function.code, Lanes(self.function.code, width)
        known: dict[int, str] = {}

        def value(e: Expr) -> str:
            e = self.function.chosen(e)
            if id(e) not in known:
                if id(e) in self.fixed:
                    known[id(e)] = lanes.spread(self.fixed[id(e)], expression_dtype(e))
                elif isinstance(e, Load):
                    stride = self.function.strides[id(e)][-1]
                    known[id(e)] = get(code, self.bases[id(e)], stride, i, e.leaf.spec.dtype, width, mask)
                else:
                    assert isinstance(e, Apply)
                    known[id(e)] = lanes.apply(e.node, [value(a) for a in e.args])
            return known[id(e)]

        return value


def expression_dtype(e: Expr) -> np.dtype:
    """The dtype of an expression's value."""
    while isinstance(e, Choice):
        e = e.inside
    if isinstance(e, Immediate):
        return e.dtype
    return e.node.spec.dtype if isinstance(e, Apply) else e.leaf.spec.dtype
