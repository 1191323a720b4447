"""One graph for every batch size: what changes with the size is written as a formula of it.

The function is traced at three sizes. Where the three graphs differ, each difference must be a formula that fits all three:
a size `k * n + r`, a number `c / n`, an array filled with one number or counting upwards. Then any size is filled in
without tracing again. What fits no formula cannot be symbolic, and is named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from adjoint.core.errors import AdjointError
from adjoint.core.spec import Spec
from adjoint.graph.node import Const, Graph, Node, Param, Pick
from adjoint.ops.card import Op

Formula = Callable[[int], Any]


class NotSymbolicError(AdjointError):
    """A graph that depends on the batch size in a way no formula says."""


@dataclass(frozen=True, eq=False)
class GraphTemplate:
    """A graph for any size."""

    steps: tuple[tuple[Formula, tuple[int, ...], Formula, Any], ...]  # op, places of the inputs, spec, the user's line
    params: tuple[int, ...]
    outputs: tuple[int, ...]
    effects: tuple[int, ...]
    name: str

    def at(self, size: int) -> Graph:
        """The graph for one size."""
        nodes: list[Node] = []
        for op, inputs, spec, line in self.steps:
            nodes.append(Node(op(size), tuple([nodes[i] for i in inputs]), spec(size), line))
        params, outputs, effects = (
            tuple([nodes[i] for i in part]) for part in (self.params, self.outputs, self.effects)
        )
        return Graph(params, outputs, self.name, effects)


#: The sizes at which a function is traced: odd and even ones, which no other axis is likely to have and no law treats in its own way.
PROBES = (37, 46, 83)


def fitted(graphs: Sequence[Graph], sizes: Sequence[int]) -> GraphTemplate:
    """The template that gives these graphs at these sizes."""
    first = graphs[0]
    if len({len(g.nodes) for g in graphs}) > 1:
        raise NotSymbolicError(
            "the program itself changes with the batch size (a branch on it, or a loop that is unrolled)"
        )
    place = [{n: k for k, n in enumerate(g.nodes)} for g in graphs]
    steps = []
    for nodes in zip(*(g.nodes for g in graphs), strict=True):
        inputs = [tuple([at[i] for i in n.inputs]) for at, n in zip(place, nodes, strict=True)]
        if any(i != inputs[0] for i in inputs):
            raise NotSymbolicError("the program itself changes with the batch size")
        op, spec = _formula([n.op for n in nodes], sizes), _formula([n.spec for n in nodes], sizes)
        steps.append((op, inputs[0], spec, nodes[0].place))
    ends = [tuple([place[0][n] for n in part]) for part in (first.params, first.outputs, first.effects)]
    return GraphTemplate(tuple(steps), ends[0], ends[1], ends[2], first.name)


def _formula(values: Sequence[Any], sizes: Sequence[int]) -> Formula:
    """How a value follows from the size."""
    first = values[0]
    if any(type(v) is not type(first) for v in values):
        raise NotSymbolicError(f"{_short(first)} becomes {_short(values[-1])} with another batch size")
    if isinstance(first, Graph):
        return fitted(values, sizes).at
    if isinstance(first, Const):
        value = _formula([v.value for v in values], sizes)
        return lambda n: Const(value(n))
    if isinstance(first, np.ndarray):
        return _array(values, sizes)
    if isinstance(first, tuple):
        return _tuple(values, sizes)
    if isinstance(first, (Op, Spec)) and is_dataclass(first):
        return _record(values, sizes)
    if all(v == first for v in values) or isinstance(first, (Param, Pick)):
        return lambda n: first
    if isinstance(first, (int, float, np.integer, np.floating)) and not isinstance(first, bool):
        return _number(values, sizes)
    raise NotSymbolicError(f"{_short(first)} becomes {_short(values[-1])} with another batch size")


def _record(values: Sequence[Any], sizes: Sequence[int]) -> Formula:
    """An op or a Spec: field by field."""
    first = values[0]
    if all(v == first for v in values):
        return lambda n: first
    names = [f.name for f in fields(first)]
    parts = {name: _formula([getattr(v, name) for v in values], sizes) for name in names}
    return lambda n: replace(first, **{name: part(n) for name, part in parts.items()})


def _tuple(values: Sequence[Any], sizes: Sequence[int]) -> Formula:
    if len({len(v) for v in values}) > 1:
        raise NotSymbolicError(f"{_short(values[0])} becomes {_short(values[-1])} with another batch size")
    parts = [_formula(vs, sizes) for vs in zip(*values, strict=True)]
    return lambda n: tuple([part(n) for part in parts])


def _number(values: Sequence[Any], sizes: Sequence[int]) -> Formula:
    """k * n + r, or c / n."""
    kind = type(values[0])
    if len(set(sizes)) > 1:
        k = (values[1] - values[0]) / (sizes[1] - sizes[0])
        r = values[0] - k * sizes[0]
        if all(np.isclose(k * n + r, v, rtol=1e-12, atol=0) for n, v in zip(sizes, values, strict=True)):
            return lambda n: kind(round(k * n + r) if isinstance(values[0], (int, np.integer)) else k * n + r)
        c = values[0] * sizes[0]
        near = round(c * 4096) / 4096  # 1 / n in float32 is not quite 1 / n
        c = near if abs(c - near) < 1e-6 * abs(c) else c
        if all(np.isclose(c, v * n, rtol=1e-6, atol=0) for n, v in zip(sizes, values, strict=True)):
            return lambda n: kind(c / n)
    raise NotSymbolicError(f"the number {values[0]!r} becomes {values[-1]!r} with another batch size")


def _array(values: Sequence[Any], sizes: Sequence[int]) -> Formula:
    """An array that stays the same, is filled with one number, or grows evenly along its axes."""
    first = values[0]
    if all(v.shape == first.shape and v.tobytes() == first.tobytes() for v in values):
        return lambda n: first
    if not all(v.size for v in values):
        raise NotSymbolicError(f"an array of shape {first.shape} depends on the batch size")
    shape, dtype, ndim = _tuple([v.shape for v in values], sizes), first.dtype, first.ndim
    begin = _formula([v.flat[0].item() for v in values], sizes)
    steps = [_formula([_step(v, axis) for v in values], sizes) for axis in range(ndim)]

    def made(n: int) -> np.ndarray:
        total = np.full(shape(n), begin(n))
        for axis, step in enumerate(steps):
            if by := step(n):
                total = total + by * np.arange(shape(n)[axis]).reshape(-1, *(1,) * (ndim - axis - 1))
        return total.astype(dtype)

    eps = np.finfo(dtype).eps if dtype.kind == "f" else 0
    if all(np.allclose(made(n), v, rtol=eps, atol=0) for n, v in zip(sizes, values, strict=True)):
        return made
    raise NotSymbolicError(f"an array of shape {first.shape} depends on the batch size")


def _step(v: np.ndarray, axis: int) -> Any:
    """How much an array grows along an axis."""
    ends = (0,) * axis, (0,) * (v.ndim - axis - 1)
    return v.item((*ends[0], 1, *ends[1])) - v.item((*ends[0], 0, *ends[1])) if v.shape[axis] > 1 else 0


def _short(x: Any) -> str:
    """A value as a message shows it: an array by its shape."""
    if isinstance(x, np.ndarray) and x.size > 4:
        return f"an array of shape {x.shape}"
    text = " ".join(repr(x).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
