"""Loop-invariant motion: what is the same in every iteration of a loop is computed once before it.

Hoisted steps run even if the loop has no iteration, so only steps that cannot fail and have no effect are hoisted. Inner loops
come first: what climbs out of one may climb out of the next.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from adjoint.graph.control import Control, Loop
from adjoint.graph.node import Builder, Const, Graph, Node, Param, Pick
from adjoint.graph.rewrite import rebuild
from adjoint.ops.broadcasting import BroadcastTo
from adjoint.passes.cost import work

#: A cheap step whose result is this much larger than its inputs, and large at all, would only hold memory.
GROWTH, LARGE = 64, 65_536


def hoist(graph: Graph) -> Graph:
    """Move steps that depend on no more than a loop's constants in front of the loop.

    >>> import adjoint as ad
    >>> def f(x, y):
    ...     for _ in range(100):
    ...         x = x + ad.ops.sin(y) * 2.0
    ...     return x
    >>> [type(n.op).__name__ for n in hoist(ad.graph.trace_function(f, [1.0, 2.0])).calls]
    ['Sin', 'Mul', 'Loop']
    """
    done: dict[Graph, Graph] = {}

    def hoisted(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
        if not isinstance(node.op, Loop):
            return None
        loop = node.op.mapped(lambda inner: rebuild(inner, hoisted, done))
        found = _out_of(builder, loop, inputs)
        return builder.keep(node, loop, inputs) if found is None else builder.build(*found)

    return rebuild(graph, hoisted, done)


def _out_of(builder: Builder, loop: Loop, inputs: tuple[Node, ...]) -> tuple[Loop, list[Node]] | None:
    """The loop without its invariant steps, and its inputs with their results; None if there are none."""
    first = loop.carried + loop.stacked
    still = [i for i in range(loop.carried) if loop.body.outputs[i] is loop.body.params[i]]  # carried without a change
    outside: dict[Graph, dict[Node, Node]] = {}
    for graph, lead in ((loop.body, first), (loop.test, loop.carried)):
        if graph is not None:
            pairs = [(graph.params[i], inputs[i]) for i in still]
            pairs += zip(graph.params[lead:], inputs[first:], strict=True)
            outside[graph] = {p: x for p, x in pairs if p.spec == x.spec}
    lifted: dict[Graph, dict[Node, Node]] = {}  # for each graph: the steps that leave it, and their results outside
    for graph, known in outside.items():
        lifted[graph] = {n: _built(builder, n, known) for n in _leaving(graph, set(known))}
    results = list(dict.fromkeys(x for steps in lifted.values() for x in steps.values()))
    if not results:
        return None
    graphs = {graph: _without(graph, steps, results) for graph, steps in lifted.items()}
    test = None if loop.test is None else graphs[loop.test]
    return replace(loop, body=graphs[loop.body], test=test), [*inputs, *results]


def _leaving(graph: Graph, known: set[Node]) -> list[Node]:
    """The steps of a graph whose results are taken from outside: those that depend on known inputs alone and are worth it."""
    free = set(known)  # depend on no more than known inputs and constants
    for node in graph.nodes:
        if isinstance(node.op, Const) or (
            not isinstance(node.op, Param) and _safe(node) and free.issuperset(node.inputs)
        ):
            free.add(node)
    needed = {i for n in graph.nodes if n not in free for i in n.inputs} | {*graph.outputs, *graph.effects}
    leaving = []
    for node in reversed(graph.nodes):
        if node in needed and node in free and not isinstance(node.op, (Param, Const)):
            if _worth(node):
                leaving.append(node)
            else:  # it stays, and its inputs may leave
                needed.update(node.inputs)
    return leaving[::-1]


def _safe(node: Node) -> bool:
    """Whether a step cannot fail and does nothing but compute."""
    op: Any = node.op
    if any(n < 0 for spec in _specs(node) for n in spec.shape):  # a size known at run time only
        return False
    if isinstance(op, Control):
        endless = isinstance(op, Loop) and op.test is not None
        if op.effect or endless or not op.total:
            return False
        return all(_safe(n) for inner in op.graphs().values() for n in inner.calls)
    return isinstance(op, Pick) or not (op.effect or op.may_fail(node.spec, *(i.spec for i in node.inputs)))


def _worth(node: Node) -> bool:
    """Whether keeping a result is better than computing it in each iteration."""
    if isinstance(node.op, Pick):
        return not node.inputs[0].op.view
    if node.op.view or isinstance(node.spec, tuple):
        return False
    size, need = prod(node.shape), sum(map(_stored, node.inputs))
    return not (size > LARGE and size > GROWTH * need and work(node).flops <= size)


def _stored(node: Node) -> int:
    """The number of elements that are held for a value; a broadcast holds none of its own."""
    while isinstance(node.op, BroadcastTo):
        node = node.inputs[0]
    return sum(prod(s.shape) for s in _specs(node))


def _specs(node: Node) -> tuple[Any, ...]:
    return node.spec if isinstance(node.spec, tuple) else (node.spec,)


def _built(builder: Builder, root: Node, known: dict[Node, Node]) -> Node:
    """A step and all that it needs, built outside; `known` holds what has been built."""
    pending = [root]
    while pending:
        node = pending[-1]
        missing = [i for i in node.inputs if i not in known]
        if node in known or not missing:
            pending.pop()
            if node not in known:
                known[node] = builder.keep(node, node.op, tuple([known[i] for i in node.inputs]))
        pending += missing
    return known[root]


def _without(graph: Graph, steps: dict[Node, Node], results: list[Node]) -> Graph:
    """The graph with further inputs for results from outside, used in place of the steps that have left."""
    extra = {x: Node(Param(len(graph.params) + k), (), x.spec) for k, x in enumerate(results)}
    builder = Builder()
    found: dict[Node, Node] = {p: p for p in graph.params} | {n: extra[x] for n, x in steps.items()}
    for node in graph.nodes:
        if node not in found:
            found[node] = builder.keep(node, node.op, tuple([found[i] for i in node.inputs]))
    outputs, effects = (tuple([found[n] for n in nodes]) for nodes in (graph.outputs, graph.effects))
    return Graph((*graph.params, *extra.values()), outputs, graph.name, effects)
