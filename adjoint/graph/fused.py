"""Steps that one loop nest can compute, as one op; and back to single steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adjoint.core.absent import ZERO
from adjoint.core.spec import Spec, shape_of
from adjoint.core.verbs import verbs
from adjoint.graph.derivatives import jvp_graph, vjp_graph, vmap_graph
from adjoint.graph.nested import Control, float_positions, spread
from adjoint.graph.node import Builder, Graph, Node, Pick
from adjoint.graph.walk import replay
from adjoint.ops.broadcast import batch_front


@dataclass(frozen=True, repr=False)
class Fused(Control):
    """Elementwise steps, broadcasts and final reductions over one shape: `Fused(inner)(*inputs)` gives a tuple.

    Derivatives and batches are single steps again, to be grouped anew.
    """

    inner: Graph

    def infer(self, *xs):
        return tuple(Spec(s.shape, s.dtype) for s in self.inner.specs)

    def eval(self, xp, *xs):
        return tuple(verbs.steps(self.inner)(*xs))

    def vjp(self, gs, ys, *xs):
        wanted, active = float_positions(xs), float_positions(ys)
        pulled = vjp_graph(self.inner, wanted, active)
        return tuple(spread(replay(pulled, [*xs, *(gs[i] for i in active)]), wanted, len(xs)))

    def jvp(self, ts, ys, *xs):
        active = tuple(i for i, t in enumerate(ts) if t is not ZERO)
        kept = float_positions(ys)
        pushed = jvp_graph(self.inner, active, kept)
        return tuple(spread(replay(pushed, [*xs, *(ts[i] for i in active)]), kept, len(ys)))

    def vmap(self, dims, *xs):
        size = next(shape_of(x)[d] for x, d in zip(xs, dims, strict=True) if d is not None)
        batched = vmap_graph(self.inner, tuple(d is not None for d in dims), size)
        return tuple(replay(batched, [batch_front(x, d) for x, d in zip(xs, dims, strict=True)]))


def inlined(graph: Graph, kind: Any = Fused) -> Graph:
    """The graph with the steps of such ops in their place, in the graphs of control flow too; itself if there are none."""
    done: dict[Graph, Graph] = {}

    def flat(current: Graph) -> Graph:
        if current not in done:
            done[current] = _inlined(current)
        return done[current]

    def _inlined(current: Graph) -> Graph:
        builder = Builder()
        found: dict[Node, Node] = {p: p for p in current.params}
        results: dict[Node, Graph] = {}  # of each such call: its steps in this graph
        for node in current.nodes:
            if node in found:
                continue
            if isinstance(node.op, kind):
                results[node] = _steps(builder, flat(node.op.inner), [found[i] for i in node.inputs])
            elif isinstance(node.op, Pick) and node.inputs[0] in results:
                found[node] = results[node.inputs[0]].outputs[node.op.index]
            else:
                op = node.op.mapped(flat) if isinstance(node.op, Control) else node.op
                found[node] = builder.keep(node, op, tuple([found[i] for i in node.inputs]))
        outputs = tuple([found[n] for n in current.outputs])
        effects = tuple([e for n in current.effects for e in (results[n].effects if n in results else (found[n],))])
        same = outputs == current.outputs and effects == current.effects
        return current if same else Graph(current.params, outputs, current.name, effects)

    return flat(graph)


def _steps(builder: Builder, inner: Graph, inputs: list[Node]) -> Graph:
    """An inner graph built in the outer one."""
    found: dict[Node, Node] = dict(zip(inner.params, inputs, strict=True))
    for node in inner.nodes:
        if node not in found:
            found[node] = builder.keep(node, node.op, tuple([found[i] for i in node.inputs]))
    outputs, effects = (tuple([found[n] for n in nodes]) for nodes in (inner.outputs, inner.effects))
    return Graph(tuple(inputs), outputs, inner.name, effects)
