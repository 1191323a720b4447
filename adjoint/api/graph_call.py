"""A whole graph as one op: what a compiled function is to the transforms around it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from adjoint.api.compiled import executable
from adjoint.core import watching
from adjoint.core.absent import ZERO
from adjoint.core.checkpoint_policy import CheckpointPolicy
from adjoint.core.dispatch import BOTTOM, beside, lift
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.placement import is_device_array
from adjoint.core.rules import kept
from adjoint.core.spec import shape_of
from adjoint.graph.derivatives import jvp_graph, taylor_graph, vjp_graph, vmap_graph
from adjoint.graph.loop_checkpoints import with_plans
from adjoint.graph.nested import Control, active_series, float_positions, silent, spread, spread_series
from adjoint.graph.node import Graph
from adjoint.graph.python_results import all_noted, has_calls, noted, noting, noting_inside
from adjoint.graph.walk import replay
from adjoint.ops.broadcast import batch_front
from adjoint.ops.card import innermost
from adjoint.passes.checkpoint_plan import planned


@dataclass(frozen=True, repr=False)
class GraphCall(Control):
    """The results of a graph. Its derivatives are calls of the derivative graphs."""

    total = True  # it fails only where a step inside does

    graph: Graph
    backend: str = "interpreter"
    policy: CheckpointPolicy | None = None  # what its backward pass keeps of the forward pass

    def _of(self, graph: Graph) -> GraphCall:
        return GraphCall(graph, self.backend, self.policy)

    def __call__(self, *xs):
        if innermost(xs) in (None, *BOTTOM) or not has_calls(self.graph):
            return super().__call__(*xs)
        noted_too = replace(self, graph=noting(noting_inside(self.graph), 0))
        if not all_noted(noted_too.graph):
            return tuple(replay(self.graph, xs))
        return super(GraphCall, noted_too).__call__(*xs)[: len(self.graph.outputs)]

    def infer(self, *xs):
        return self.graph.specs

    def eval(self, xp, *xs):
        if self.backend[:3] != "xla":
            return tuple(executable(self.graph, self.backend)(*xs))
        like = next((x for x in xs if is_device_array(x)), None) if watching.active else None
        if like is not None and watching.watcher() is not None:  # who looks on is shown the steps on the host
            found = executable(self.graph, self.backend)(*(np.asarray(x) if is_device_array(x) else x for x in xs))
            return tuple(beside(y, like) for y in found)
        return tuple(map(lift, executable(self.graph, self.backend)(*xs)))

    def vjp(self, gs, ys, *xs):
        wanted, active = float_positions(xs), tuple(i for i in float_positions(ys) if gs[i] is not ZERO)
        graph = self.graph if self.policy is None else _planned(self.graph, wanted, self.policy)
        quiet = silent(graph)
        given = noted(quiet)
        pulled = self._of(vjp_graph(quiet, wanted, active, tuple(y for y, _ in given)))
        if len(pulled.graph.params) > len(xs) + len(given) + len(active):
            raise ArgumentError(
                "the derivative of a compiled function is asked for, and a derivative rule inside it reads a Parameter or a Tensor "
                f"that is no input of the function with the rule: make it one, or compile the gradient, jit(grad(f)){called_at()}"
            )
        return tuple(spread(pulled(*xs, *(ys[k] for _, k in given), *(gs[i] for i in active)), wanted, len(xs)))

    def jvp(self, ts, ys, *xs):
        active = tuple(i for i, t in enumerate(ts) if t is not ZERO)
        kept, quiet = float_positions(ys), silent(self.graph)
        given = noted(quiet, 0, "jvp")
        pushed = self._of(jvp_graph(quiet, active, kept, tuple(y for y, _ in given)))
        return tuple(spread(pushed(*xs, *(ys[k] for _, k in given), *(ts[i] for i in active)), kept, len(ys)))

    def taylor(self, order, series, ys, *xs):
        (active, later), kept = active_series(series, xs), float_positions(ys)
        expanded = self._of(taylor_graph(self.graph, active, order, kept))
        return spread_series(expanded(*xs, *later), order, kept, len(ys))

    def vmap(self, dims, *xs):
        size = next(shape_of(x)[d] for x, d in zip(xs, dims, strict=True) if d is not None)
        batched = self._of(vmap_graph(self.graph, tuple(d is not None for d in dims), size))
        return batched(*(x if d is None else batch_front(x, d) for x, d in zip(xs, dims, strict=True)))


@kept
def _planned(graph: Graph, wanted: tuple[int, ...], policy: CheckpointPolicy) -> Graph:
    """The graph with parts and states of loops that its backward pass computes again."""
    return planned(with_plans(graph, policy), wanted, policy)
