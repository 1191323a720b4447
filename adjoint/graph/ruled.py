"""A graph whose derivative is a rule of the user's; to run, it becomes single steps again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from adjoint.core import context
from adjoint.core.absent import ZERO
from adjoint.core.errors import CutGradientError, called_at
from adjoint.core.spec import shape_of
from adjoint.graph.derivatives import vmap_graph
from adjoint.graph.fused import FusedPart
from adjoint.graph.nested import Control
from adjoint.graph.node import Builder, Graph, Node, Pick
from adjoint.graph.recompute import Recomputed
from adjoint.graph.steps import steps
from adjoint.ops.broadcast import batch_front


@dataclass(frozen=True, eq=False, repr=False)
class Ruled(Control):
    """A function with a rule of its own, traced: `Ruled(inner, call, own)(*inputs)` gives a tuple.

    `call` knows the rule, by the first `own` inputs. The others are values from outside, which the rule does not see: a
    derivative by them is refused. `reader` reads the rule's source when it is applied to graph values.
    """

    inner: Graph
    call: Any
    own: int
    reader: Any = field(default=None, repr=False)

    takes_zero = False

    def infer(self, *xs):
        return self.inner.specs

    def eval(self, xp, *xs):
        return tuple(steps(self.inner)(*xs))

    def vjp(self, gs, ys, *xs):
        gs, ys = (tuple(gs), ys) if len(ys) > 1 else (gs[0], ys[0])
        with context.setting(context.reader, context.reader.get() or self.reader):
            found = self.call.vjp(gs, ys, *xs[: self.own])
        return (*found, *[self._refuse] * (len(xs) - self.own))

    def jvp(self, ts, ys, *xs):
        if any(t is not ZERO for t in ts[self.own :]):
            self._refuse()
        if all(t is ZERO for t in ts):
            return (ZERO,) * len(ys)
        with context.setting(context.reader, context.reader.get() or self.reader):
            found = self.call.jvp(ts[: self.own], ys if len(ys) > 1 else ys[0], *xs[: self.own])
        return found if isinstance(found, tuple) else (found,)

    def vmap(self, dims, *xs):
        size = next(shape_of(x)[d] for x, d in zip(xs, dims, strict=True) if d is not None)
        inner = vmap_graph(self.inner, tuple(d is not None for d in dims), size)
        axes = [None if d is None else 0 for d in dims]
        batched = Ruled(inner, self.call.batched(axes[: self.own]), self.own, self.reader)
        return batched(*(x if d is None else batch_front(x, d) for x, d in zip(xs, dims, strict=True)))

    def _refuse(self) -> Any:
        raise CutGradientError(outside(self.call.name))

    def __repr__(self) -> str:
        return repr(self.call)


def outside(name: str) -> str:
    """Why a function with a rule of its own may not use what is being differentiated around it."""
    return (
        f"{name} has a derivative rule of its own and uses a Tensor or Parameter from outside that is "
        f"being differentiated; the rule cannot see it. Pass it as an argument.{called_at()}"
    )


def uses(graph: Graph, of: Callable[[Any], bool]) -> bool:
    """Whether an op of some kind is in a graph, in the graphs of control flow too."""
    ops = [n.op for n in graph.calls]
    return any(map(of, ops)) or any(uses(g, of) for op in ops if isinstance(op, Control) for g in op.graphs().values())


def without_rules(graph: Graph, parts: bool = True) -> Graph:
    """The graph with the steps of functions that have rules of their own, and of checkpoints, in their place, in the graphs of
    control flow too; those of `parts` that a backend may have kernels for as well."""
    return _inlined(graph, {}, (Ruled, Recomputed, FusedPart) if parts else (Ruled, Recomputed))


def _inlined(graph: Graph, done: dict[Graph, Graph], kinds: tuple[Any, ...]) -> Graph:
    if graph in done:
        return done[graph]
    builder = Builder()
    found: dict[Node, Node] = {p: p for p in graph.params}
    results: dict[Node, Graph] = {}  # of each such call: its steps in this graph
    for node in graph.nodes:
        if node in found:
            continue
        if isinstance(node.op, kinds):
            results[node] = _steps(builder, _inlined(node.op.inner, done, kinds), [found[i] for i in node.inputs])
        elif isinstance(node.op, Pick) and node.inputs[0] in results:
            found[node] = results[node.inputs[0]].outputs[node.op.index]
        else:
            op = node.op.mapped(lambda inner: _inlined(inner, done, kinds)) if isinstance(node.op, Control) else node.op
            found[node] = builder.keep(node, op, tuple([found[i] for i in node.inputs]))
    outputs = tuple([found[n] for n in graph.outputs])
    effects = tuple([e for n in graph.effects for e in (results[n].effects if n in results else (found[n],))])
    same = outputs == graph.outputs and effects == graph.effects
    done[graph] = graph if same else Graph(graph.params, outputs, graph.name, effects)
    return done[graph]


def _steps(builder: Builder, inner: Graph, inputs: list[Node]) -> Graph:
    """An inner graph built in the outer one."""
    found: dict[Node, Node] = dict(zip(inner.params, inputs, strict=True))
    for node in inner.nodes:
        if node not in found:
            found[node] = builder.keep(node, node.op, tuple([found[i] for i in node.inputs]))
    outputs, effects = (tuple([found[n] for n in nodes]) for nodes in (inner.outputs, inner.effects))
    return Graph(tuple(inputs), outputs, inner.name, effects)
