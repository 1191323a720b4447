"""`and`, `or`, `not`, chained comparisons and `assert`: Python's on plain values, ops on graph values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from adjoint.core.errors import DtypeError, called_at
from adjoint.core.parameter import Parameter, resolve
from adjoint.frontend import state
from adjoint.ops.functional import logical_and, logical_not, logical_or, reshape, where

Thunk = Callable[[], Any]

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "is": operator.is_, "is not": operator.is_not,
    "in": lambda a, b: a in b, "not in": lambda a, b: a not in b,
}  # fmt: skip


def truth(x: Any) -> Any:
    """The truth of a graph value, as a graph value without axes; plain values become Python's truth."""
    if not state.is_graph_value(x):
        return bool(x)
    if x.size != 1:
        raise DtypeError(f"the truth of a Tensor of shape {x.shape} is ambiguous; use .any() or .all(){called_at()}")
    x = resolve(x) if isinstance(x, Parameter) else x
    if x.shape != ():
        x = reshape(x, ())
    return x if x.dtype.kind == "b" else x != 0


def not_(x: Any) -> Any:
    """`not x`."""
    return logical_not(truth(x)) if state.is_graph_value(x) else not x


def and_(value: Any, *rest: Thunk) -> Any:
    """`value and ...`."""
    for following in rest:
        if state.is_graph_value(value):
            value = _both(value, following())
        elif value:
            value = following()
        else:
            return value
    return value


def or_(value: Any, *rest: Thunk) -> Any:
    """`value or ...`."""
    for following in rest:
        if state.is_graph_value(value):
            value = _either(value, following())
        elif value:
            return value
        else:
            value = following()
    return value


def compare(signs: tuple[str, ...], left: Any, *rest: Thunk) -> Any:
    """`left < a < b`: each value is computed once, and only as long as the outcome is open."""
    value: Any = True
    for sign, following in zip(signs, rest, strict=True):
        right = following()
        here = _OPERATORS[sign](left, right)
        if state.is_graph_value(value):
            value = _both(value, here)
        else:
            value = here
            if not state.is_graph_value(value) and not value:
                return value
        left = right
    return value


def holds(test: Any) -> Any:
    """The condition of an `assert`; one that is known only when the graph runs is taken to hold."""
    return True if state.is_graph_value(test) else test


def _is_truth(x: Any) -> bool:
    return isinstance(x, bool) or (isinstance(x, state.ARRAYS) and x.dtype.kind == "b")


def _both(a: Any, b: Any) -> Any:
    if _is_truth(a) and _is_truth(b):
        return logical_and(truth(a), truth(b))
    return where(truth(a), b, a)


def _either(a: Any, b: Any) -> Any:
    if _is_truth(a) and _is_truth(b):
        return logical_or(truth(a), truth(b))
    return where(truth(a), a, b)
