"""`not` and chained comparisons, and what `and` and `or` make of two values: Python's on plain values, ops on graph values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any

from adjoint.core import context, tree
from adjoint.core.dispatch import Value
from adjoint.core.errors import AmbiguousTruthError, called_at
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.spec import Number, dtype_of, number_of
from adjoint.frontend import numbers, state
from adjoint.frontend.errors import ControlFlowError
from adjoint.frontend.site import Site
from adjoint.graph.bounds import joined
from adjoint.graph.number_types import either_kind, kinds_of, mark_of_kinds
from adjoint.graph.numbers import as_number, check_exact, is_large, is_special, marked, needs
from adjoint.ops.functional import logical_and, logical_not, logical_or, reshape, where

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "is": numbers.is_, "is not": numbers.is_not, "in": numbers.in_, "not in": numbers.not_in,
}  # fmt: skip


def tested(x: Any) -> Any:
    """What an `if` on an object asks: a graph value, if the `__bool__` of its class gives one; otherwise the truth or the object."""
    method = None if isinstance(x, Value) else getattr(type(x), "__bool__", None)
    if type(method) is not FunctionType:
        return x
    answer = method(x)
    return answer if state.is_graph_value(answer) or isinstance(answer, bool) else bool(x)


def truth(x: Any) -> Any:
    """The truth of a graph value, as a graph value without axes; plain values become Python's truth."""
    x = tested(x)
    if not state.is_graph_value(x):
        return bool(x)
    if x.size != 1:
        raise AmbiguousTruthError(
            f"the truth of a Tensor of shape {x.shape} is ambiguous; use .any() or .all(){called_at()}"
        )
    x = resolve(x) if isinstance(x, Parameter) else x
    if x.shape != ():
        x = reshape(x, ())
    return x if x.dtype.kind == "b" else x != 0


def matched(subject: Any, site: Site) -> Any:
    """What a `match` compares with numbers, texts and classes."""
    if any(map(state.is_graph_value, tree.leaves(subject))):
        raise ControlFlowError(
            f"the `match` at {site.place} compares {state.described(subject)} with values, but it is known only when the graph "
            f"runs. Write it as a chain of `if` and `elif`"
        )
    return subject


def not_(x: Any) -> Any:
    """`not x`."""
    x = tested(x)
    return as_number(logical_not(truth(x)), 0, 1) if state.is_graph_value(x) else not x


def compared(sign: str, left: Any, right: Any) -> Any:
    """One comparison."""
    return _OPERATORS[sign](left, right)


def _is_truth(x: Any) -> bool:
    return isinstance(x, bool) or (isinstance(x, state.ARRAYS) and x.dtype.kind == "b")


def both(a: Any, b: Any) -> Any:
    """`a and b`."""
    if _is_truth(a) and _is_truth(b):
        return _truth_of(logical_and, a, b)
    return picked(truth(a), b, a)


def either(a: Any, b: Any) -> Any:
    """`a or b`."""
    if _is_truth(a) and _is_truth(b):
        return _truth_of(logical_or, a, b)
    return picked(truth(a), a, b)


def _truth_of(op: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    weak = number_of(a) is not None and number_of(b) is not None
    return marked(op(truth(a), truth(b)), Number(0, 1) if weak else None)


def picked(condition: Any, a: Any, b: Any) -> Any:
    """`a if condition else b` of values that are both known; of two numbers a number."""
    if any(is_large(x) or is_special(x) for x in (a, b)):
        raise needs("a number that a graph cannot hold exactly is the value of this `and` or `or`")
    marks, kinds = (number_of(a), number_of(b)), either_kind(kinds_of(a), kinds_of(b))
    if len(kinds) > 1:
        check_exact(m for m in marks if m is not None)
    with context.handing_on():
        y = where(condition, a, b)
    return marked(y, None if None in marks else mark_of_kinds(joined(*marks) or Number(), kinds, dtype_of(y)))
