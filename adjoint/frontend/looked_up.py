"""Numbers looked up in arrays and lists that do not change: `float(force[t])` and `steps[t]` with the counter of a loop.

What is computed from constants and the integers of a graph alone has no derivative, so that Python's number of it can be a number of
the graph: the loop around it need not be run by Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value
from adjoint.core.spec import Number, dtype_of, float64, int64, shape_of
from adjoint.core.tensor import Tensor
from adjoint.frontend.reads import recorder
from adjoint.graph.nested import Control
from adjoint.graph.node import Const, Node, Param, Pick
from adjoint.graph.numbers import is_number, kind_of, renumbered
from adjoint.graph.trace import Tracer
from adjoint.ops.functional import cast

_TABLES = (list, tuple)
_SAME = (float, int, np.float64)  # what all elements of a list must be that is read as an array


def float_of(x: Any) -> Any:
    """`float(x)` of a value that is looked up; None for any other."""
    if _kind(x) not in ("f", "i", "u", "b"):
        return None
    return renumbered(cast(x, float64), Number())


def int_of(x: Any) -> Any:
    """`int(x)` of an integer that is looked up, if its bounds are known; None for any other."""
    if _kind(x) not in ("i", "u", "b"):
        return None
    bounds = _bounds(x._value, dtype_of(x))
    return None if bounds is None else renumbered(cast(x, int64), Number(*bounds))


def item_of(x: Any) -> Any:
    """`x.item()`, likewise."""
    return float_of(x) if _kind(x) == "f" else int_of(x)


def element(table: Any, index: Any) -> Any:
    """`table[index]` of a list or tuple of numbers of one type and a whole number of the graph; None for any other."""
    if type(table) not in _TABLES or not table or not is_number(index) or kind_of(index) is not int:
        return None
    kind = type(table[0])
    if kind not in _SAME or any(type(x) is not kind for x in table):
        return None
    if kind is int and not all(-(2**63) <= x < 2**63 for x in table):
        return None
    found = Tensor(np.array(table))[index]
    if kind is np.float64:
        return found
    return renumbered(found, Number() if kind is float else Number(min(table), max(table)))


def _kind(x: Any) -> str:
    """The kind of the dtype of a value without axes that is looked up; nothing for any other."""
    if not isinstance(x, Value) or not isinstance(x._trace, Tracer) or is_number(x) or shape_of(x) != ():
        return ""
    return dtype_of(x).kind if _is_looked_up(x) else ""


def _is_looked_up(x: Any) -> bool:
    """Whether a value comes from constants, arrays from outside and integers, by ops whose results say nothing of a derivative."""
    for tracer, node in _behind(x):
        op = node.op
        if isinstance(op, Param):
            outside = tracer.outside(node)
            if outside is None and not (_is_from_outside(node) or _is_counter(tracer, node)):
                return False
            if outside is not None and not isinstance(outside._trace, Tracer):
                return False  # a transform in between may differentiate it
        elif not isinstance(op, Const) and (isinstance(op, (Control, Pick)) or op.effect or op.opaque):
            return False
    return True


def _behind(x: Any) -> Iterator[tuple[Tracer, Node]]:
    """The nodes that a value is made of, and those outside of a loop that they are made of there."""
    left, seen = [(x._trace, x._value)], set()
    while left:
        tracer, node = left.pop()
        if node in seen:
            continue
        seen.add(node)
        yield tracer, node
        left += [(tracer, i) for i in node.inputs]
        outside = tracer.outside(node)
        if outside is not None and isinstance(outside._trace, Tracer):
            left.append((outside._trace, outside._value))


def _is_from_outside(node: Node) -> bool:
    """Whether an input of the whole graph is an array found around the function."""
    reads = recorder.get()
    return reads is not None and any(inside._value is node for _, inside in reads.sources.values())


def _is_counter(tracer: Tracer, node: Node) -> bool:
    """Whether an input is a whole number of a loop's state."""
    return tracer.inner and node.shape == () and node.spec.dtype == int64


def _bounds(node: Any, dtype: np.dtype) -> tuple[int, int] | None:
    """The least and the largest element that an integer may be."""
    if dtype.kind == "b":
        return 0, 1
    if dtype.itemsize < int64.itemsize:
        info = np.iinfo(dtype)
        return int(info.min), int(info.max)
    while not isinstance(node.op, (Const, Param)) and (node.op.indexing == "get" or node.op.view):
        node = node.inputs[0]  # among the elements of which these are
    if not isinstance(node.op, Const) or node.spec.dtype != dtype or not np.size(node.op.value) or dtype.kind != "i":
        return None
    return int(np.min(node.op.value)), int(np.max(node.op.value))
