"""Bounds of the Python integers of a graph, loops and branches included: what proves that they fit into 64 bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.core.spec import Number, dtype_of, int64, number_of
from adjoint.graph.control import Cond, Loop
from adjoint.graph.node import Const, Graph, Node, Param, Pick
from adjoint.graph.numbers import MANY, NeedsNumberError, either_kind, is_python, result
from adjoint.ops.casting import Cast

Mark = Number | None
#: So many times the growth of an iteration is measured again: sums of sums of counters need one more each.
_TRIES = 5
#: Loops of so many iterations are worked out one by one.
_FEW = 100


class UnboundedError(NeedsNumberError):
    """No bounds were found for the integers of a loop."""


def bounds(graph: Graph, marks: Sequence[Mark]) -> list[Mark]:
    """What the results of a graph are to Python, given what its inputs are; raises where an integer may not fit."""
    found: dict[Node, Any] = dict(zip(graph.params, marks, strict=True))
    for node in graph.nodes:
        if node not in found:
            found[node] = _of_node(node, [found[i] for i in node.inputs])
    return [found[y] for y in graph.outputs]


def _of_node(node: Node, marks: list[Any]) -> Any:
    op = node.op
    if isinstance(op, Const):
        return number_of(op.value)
    if isinstance(op, Pick):
        return marks[0][op.index] if isinstance(marks[0], list) else None
    if isinstance(op, Cond):
        return [joined(a, b) for a, b in zip(bounds(op.true, marks[1:]), bounds(op.false, marks[1:]), strict=True)]
    if isinstance(op, Loop):
        return _loop(op, marks)
    if isinstance(op, Param) or any(type(m) is not Number for m in marks):
        return None
    if isinstance(op, Cast):
        return marks[0] if op.dtype == int64 and dtype_of(node.inputs[0]).kind in "bi" else Number()
    return result(op, marks, "".join(dtype_of(i).kind for i in node.inputs)) if is_python(op) else None


def _loop(loop: Loop, marks: list[Mark]) -> list[Mark]:
    carry, stacked, constants = loop.parts(marks)
    rest = [None] * len(stacked) + constants
    iterations = loop.length if loop.length is not None else MANY
    after = over_iterations(lambda c: bounds(loop.body, [*c, *rest])[: len(c)], carry, iterations)
    return [*after, *[None] * (len(loop.body.outputs) - len(carry))]


def joined(a: Mark, b: Mark) -> Mark:
    """Bounds of one value or the other."""
    if a is None or b is None:
        return None
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return Number(kinds=either_kind(a.kinds, b.kinds))
    return Number(min(a.low, b.low), max(a.high, b.high), either_kind(a.kinds, b.kinds))


def over_iterations(step: Callable[[list[Mark]], list[Mark]], start: list[Mark], iterations: int) -> list[Mark]:
    """Bounds of a loop's state in all of its iterations: they stay within, or grow by at most so much in each."""
    try:
        return _over_iterations(step, start, iterations)
    except UnboundedError:
        raise
    except NeedsNumberError as error:
        raise UnboundedError(str(error)) from None


def _over_iterations(step: Callable[[list[Mark]], list[Mark]], start: list[Mark], iterations: int) -> list[Mark]:
    state = list(start)
    if iterations <= _FEW:
        for _ in range(iterations):
            state = [joined(a, b) for a, b in zip(state, step(state), strict=True)]
        return state
    for _ in range(3):
        try:
            wider = [joined(a, b) for a, b in zip(state, step(state), strict=True)]
        except NeedsNumberError:
            if state == start:
                raise
            break
        if wider == state:
            return state
        state = wider
    growth = [(0, 0)] * len(start)
    try:
        for _ in range(_TRIES):
            before = [_grown(a, g, iterations) for a, g in zip(start, growth, strict=True)]
            if all(_holds(step, start, growth, i) for i in {0, 1, iterations // 2, iterations}):
                return before
            near = [_excess(a, b) for a, b in zip(start, step(start), strict=True)]
            far = [_excess(a, b) for a, b in zip(before, step(before), strict=True)]
            growth = [(max(g[0], a[0], b[0]), max(g[1], a[1], b[1])) for g, a, b in zip(growth, near, far, strict=True)]
    except NeedsNumberError:
        pass
    raise UnboundedError("the integers of this loop may need more than 64 bits")


def _holds(step: Any, start: list[Mark], growth: list[tuple[int, int]], i: int) -> bool:
    """Whether an iteration takes the bounds of iteration i into those of the next."""
    after = step([_grown(a, g, i) for a, g in zip(start, growth, strict=True)])
    allowed = [_grown(a, g, i + 1) for a, g in zip(start, growth, strict=True)]
    return all(_excess(a, b) == (0, 0) for a, b in zip(allowed, after, strict=True))


def _grown(a: Mark, growth: tuple[int, int], iterations: int) -> Mark:
    if a is None or a.low is None or a.high is None:
        return a
    return Number(a.low - growth[0] * iterations, a.high + growth[1] * iterations, a.kinds)


def _excess(a: Mark, b: Mark) -> tuple[int, int]:
    """By how much the second bounds go beyond the first."""
    if a is None or b is None or a.low is None or a.high is None or b.low is None or b.high is None:
        return 0, 0
    return max(0, a.low - b.low), max(0, b.high - a.high)
