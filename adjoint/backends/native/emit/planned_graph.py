"""The emitter of a graph as it is, or of one that computes some things again where that lowers the peak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adjoint.backends.native.emit.function_state import FunctionState
from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.plan.arena import WORTH
from adjoint.backends.native.plan.computed_again import peak_of, recomputing
from adjoint.graph.node import Graph, Node


def planned(
    shared: FunctionState,
    graph: Graph,
    inputs: Sequence[str],
    targets: Mapping[int, str],
    owned: frozenset[Node] = frozenset(),
) -> GraphEmitter:
    """The emitter of a function's own graph; its `graph` has the results in the same places."""
    emitter = GraphEmitter(shared, graph, inputs, targets, owned)
    emitter.outermost = True
    other = recomputing(graph, [group for group, _ in emitter.groups], emitter.unit_reads, set(emitter.targets))
    if other is None:
        return emitter
    again = GraphEmitter(shared, other, inputs, targets, owned)
    again.outermost = True
    return again if _peak(emitter) - _peak(again) > WORTH else emitter


def _peak(emitter: GraphEmitter) -> int:
    return peak_of([group for group, _ in emitter.groups], emitter.unit_reads, set(emitter.targets))
