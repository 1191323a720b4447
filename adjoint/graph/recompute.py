"""A part of a program whose steps are computed again where its derivative needs them, instead of being kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from adjoint.core.absent import ZERO
from adjoint.core.spec import shape_of
from adjoint.graph.derivatives import jvp_graph, taylor_graph, vjp_graph, vmap_graph
from adjoint.graph.nested import Passing, active_series, float_positions, spread, spread_series
from adjoint.graph.node import Graph
from adjoint.graph.numbers import marked
from adjoint.graph.python_results import has_calls
from adjoint.graph.steps import steps
from adjoint.graph.trace import traced
from adjoint.graph.walk import replay
from adjoint.ops.broadcast import batch_front
from adjoint.ops.ordering import after


@dataclass(frozen=True, eq=False, repr=False)
class Recomputed(Passing):
    """`Recomputed(inner)(*inputs)` gives what the graph gives, a tuple; to run, it becomes single steps again.

    The backward pass has steps of its own, from inputs that are taken after the cotangent: nothing but these is kept, and the results
    at the places in `kept`.
    """

    inner: Graph
    kept: tuple[int, ...] = ()

    def __call__(self, *xs):
        if has_calls(self.inner):  # what Python gave is kept: another call may give something else
            return tuple(replay(self.inner, xs))
        return super().__call__(*xs)

    def infer(self, *xs):
        return self.inner.specs

    def eval(self, xp, *xs):
        return tuple(steps(self.inner)(*xs))

    def vjp(self, gs, ys, *xs):
        wanted, active = float_positions(xs), tuple(i for i in float_positions(ys) if gs[i] is not ZERO)
        pull = Recomputed(vjp_graph(self.inner, wanted, active, tuple(self.inner.outputs[i] for i in self.kept)))
        late = [after(x, gs[active[0]]) if shape_of(x) else x for x in (*xs, *(ys[i] for i in self.kept))]
        return tuple(spread(pull(*late, *(gs[i] for i in active)), wanted, len(xs)))

    def jvp(self, ts, ys, *xs):
        active, kept = tuple(i for i, t in enumerate(ts) if t is not ZERO), float_positions(ys)
        push = Recomputed(jvp_graph(self.inner, active, kept))
        return tuple(spread(push(*xs, *(ts[i] for i in active)), kept, len(ys)))

    def taylor(self, order, series, ys, *xs):
        (active, later), kept = active_series(series, xs), float_positions(ys)
        expanded = Recomputed(taylor_graph(self.inner, active, order, kept))
        return spread_series(expanded(*xs, *later), order, kept, len(ys))

    def vmap(self, dims, *xs):
        size = next(shape_of(x)[d] for x, d in zip(xs, dims, strict=True) if d is not None)
        batched = Recomputed(vmap_graph(self.inner, tuple(d is not None for d in dims), size), self.kept)
        return batched(*(x if d is None else batch_front(x, d) for x, d in zip(xs, dims, strict=True)))


def recomputed(inner: Graph, inputs: Sequence[Any]) -> Sequence[Any]:
    """The results of a graph that is computed again for its derivative."""
    return Recomputed(inner)(*inputs)


def as_part(
    fn: Callable[[], Sequence[Any]], applied: Callable[[Graph, Sequence[Any]], Sequence[Any]], name: str
) -> list[Any]:
    """The results of a function that is traced as a graph of its own, and then `applied` to what it uses."""
    inner, outside, marks = traced(fn, (), name, branch=True)
    return [marked(y, mark) for y, mark in zip(applied(inner, outside), marks, strict=True)]
