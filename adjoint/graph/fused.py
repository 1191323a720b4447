"""A part of a program that a backend may have one kernel for: attention on a GPU. To every other backend it is its single steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from adjoint.core.absent import ZERO
from adjoint.core.spec import shape_of, spec_of
from adjoint.graph.derivatives import jvp_graph, taylor_graph, vjp_graph, vmap_graph
from adjoint.graph.nested import Control, active_series, float_positions, spread, spread_series
from adjoint.graph.node import Graph
from adjoint.graph.steps import steps
from adjoint.graph.trace import trace
from adjoint.graph.walk import replay
from adjoint.ops.broadcast import batch_front

PULL = "pull of "


@dataclass(frozen=True, repr=False)
class FusedPart(Control):
    """`FusedPart(inner, kernel, settings)(*inputs)` gives what the graph gives, a tuple.

    The graph says what is computed; a backend that knows the `kernel` by its name may compute it so. The derivative is a part
    named `PULL + kernel`, from the inputs and the cotangents of the results; whoever has no kernel for it takes its single
    steps, in which the forward pass is the one that is there already. Derivatives of other kinds are single steps at once.
    """

    inner: Graph
    kernel: str = ""
    settings: tuple[Any, ...] = ()

    def infer(self, *xs):
        return self.inner.specs

    def eval(self, xp, *xs):
        return tuple(steps(self.inner)(*xs))

    def vjp(self, gs, ys, *xs):
        wanted, active = float_positions(xs), tuple(i for i in float_positions(ys) if gs[i] is not ZERO)
        graph, given = vjp_graph(self.inner, wanted, active), [*xs, *(gs[i] for i in active)]
        whole = len(wanted) == len(xs) and len(active) == len(ys) and not self.kernel.startswith(PULL)
        found = FusedPart(graph, PULL + self.kernel, self.settings)(*given) if whole else replay(graph, given)
        return tuple(spread(found, wanted, len(xs)))

    def jvp(self, ts, ys, *xs):
        active, kept = tuple(i for i, t in enumerate(ts) if t is not ZERO), float_positions(ys)
        return tuple(
            spread(replay(jvp_graph(self.inner, active, kept), [*xs, *(ts[i] for i in active)]), kept, len(ys))
        )

    def taylor(self, order, series, ys, *xs):
        (active, later), kept = active_series(series, xs), float_positions(ys)
        expanded = replay(taylor_graph(self.inner, active, order, kept), [*xs, *later])
        return spread_series(expanded, order, kept, len(ys))

    def vmap(self, dims, *xs):
        size = next(shape_of(x)[d] for x, d in zip(xs, dims, strict=True) if d is not None)
        batched = vmap_graph(self.inner, tuple(d is not None for d in dims), size)
        given = [x if d is None else batch_front(x, d) for x, d in zip(xs, dims, strict=True)]
        if None in dims:
            return tuple(replay(batched, given))
        return FusedPart(batched, self.kernel, self.settings)(*given)

    def __repr__(self) -> str:
        return self.kernel


def fused(kernel: str, settings: tuple[Any, ...], fn: Callable[..., Any], xs: Sequence[Any]) -> Any:
    """The result of a function as a part of the graph that is being built, with the name of a kernel that computes it.

    The function reads nothing but its arguments, which are arrays.
    """
    inner, _ = trace(lambda *values: [fn(*values)], [spec_of(x) for x in xs], kernel)
    return FusedPart(inner, kernel, settings)(*xs)[0]
