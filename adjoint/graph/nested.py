"""Ops that hold graphs, and what the rules of all of them need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from adjoint.core.absent import ZERO, instantiate
from adjoint.core.rules import kept
from adjoint.core.spec import dtype_of, has_derivative, shape_of
from adjoint.graph.node import Builder, Const, Graph, Node, Pick
from adjoint.ops.card import Op
from adjoint.ops.casting import Cast, stop
from adjoint.ops.language import reshape, where


class Control(Op):
    """Ops that hold graphs. They are not in the registry: their samples are whole programs."""

    takes_zero = True

    @classmethod
    def samples(cls, draw: Any) -> Any:
        yield from ()

    def graphs(self) -> dict[str, Graph]:
        """The graphs that it holds, by their fields."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Graph)}

    @property
    def effect(self) -> bool:  # type: ignore[override]
        return any(graph.effects for graph in self.graphs().values())

    def mapped(self, change: Callable[[Graph], Graph]) -> Any:
        """The same op on changed graphs; itself if none changes."""
        old = self.graphs()
        new = {name: change(graph) for name, graph in old.items()}
        return self if new == old else replace(self, **new)  # type: ignore[type-var]

    def __repr__(self) -> str:
        return type(self).__name__


class Passing(Control):
    """Ops that may hand on some of their inputs as they are: branches and loops."""

    def muted(self) -> Op | None:
        return self.mapped(without_derivatives)  # type: ignore[no-any-return]


@kept
def without_derivatives(graph: Graph) -> Graph:
    """The graph of a program under `no_grad`: what it computes has no derivative, what it hands on keeps its own."""
    builder, done = Builder(), dict(zip(graph.params, graph.params, strict=True))
    for node in graph.nodes:
        if isinstance(node.op, (Const, Pick)):
            done[node] = builder.keep(node, node.op, tuple([done[n] for n in node.inputs]))
        elif node not in done:
            inputs, op = [done[n] for n in node.inputs], node.op.muted() or node.op
            cut = op is node.op and op.differentiable
            late = op.effect or isinstance(op, Cast)
            inputs = [stopped(builder, n) for n in inputs] if cut and not late else inputs
            done[node] = builder.keep(node, op, tuple(inputs))
            done[node] = stopped(builder, done[node]) if cut and late else done[node]
    outputs, effects = (tuple([done[n] for n in ns]) for ns in (graph.outputs, graph.effects))
    return replace(graph, outputs=outputs, effects=effects)


def stopped(builder: Builder, node: Node) -> Node:
    """A node as an op under `no_grad` takes it: without a derivative, whatever transform the graph is given to."""
    known = isinstance(node.op, Const) or node.op == stop or isinstance(node.spec, tuple)
    return node if known or not has_derivative(node.spec.dtype) else builder.build(stop, [node])


@kept
def silent(graph: Graph) -> Graph:
    """The graph without its effects, and without those of the graphs inside."""
    if not graph.effects:
        return graph
    builder = Builder()
    found: dict[Node, Node] = {p: p for p in graph.params}
    for node in Graph(graph.params, graph.outputs).nodes:
        if node not in found:
            op = node.op.mapped(silent) if isinstance(node.op, Control) else node.op
            found[node] = builder.keep(node, op, tuple([found[i] for i in node.inputs]))
    return Graph(graph.params, tuple([found[n] for n in graph.outputs]), graph.name)


def float_positions(specs: Sequence[Any]) -> tuple[int, ...]:
    """Which values have derivatives."""
    return tuple(i for i, s in enumerate(specs) if has_derivative(dtype_of(s)))


def spread(values: Sequence[Any], places: Sequence[int], count: int) -> list[Any]:
    """Values at some places, ZERO at the others."""
    result: list[Any] = [ZERO] * count
    for place, value in zip(places, values, strict=True):
        result[place] = value
    return result


def active_series(series: Sequence[Any], xs: Sequence[Any]) -> tuple[tuple[int, ...], list[Any]]:
    """Which inputs vary, and their later coefficients one after another."""
    active = tuple(i for i, s in enumerate(series) if s is not None)
    return active, [instantiate(c, xs[i]) for i in active for c in series[i]]


def spread_series(found: Sequence[Any], order: int, places: Sequence[int], count: int) -> list[Any]:
    """Coefficients 1 to `order` of the results at some places, None at the others."""
    result: list[Any] = [None] * count
    for k, place in enumerate(places):
        result[place] = found[k * order : (k + 1) * order]
    return result


def select(mask: Any, a: Any, b: Any) -> Any:
    """a where the mask holds for the example, else b."""
    shape = shape_of(mask)
    lined_up = reshape(mask, shape + (1,) * (max(len(shape_of(a)), len(shape_of(b))) - len(shape)))
    return where(lined_up, a, b)
