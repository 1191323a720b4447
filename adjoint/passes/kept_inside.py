"""Loops inside a loop are run once: what a backward pass reads of them is kept in the forward pass, where that holds no more.

The backward pass of a loop keeps the state of each iteration, and runs the loops inside again from there, keeping their states in
turn. Where what those keep is no larger than the state that it makes superfluous, they keep it in the forward pass.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from adjoint.core.spec import elements, int64
from adjoint.graph.control import Loop
from adjoint.graph.node import Builder, Graph, Node, Param, Pick, ordered
from adjoint.graph.rewrite import changed
from adjoint.graph.walk import uses
from adjoint.passes.dead import dead
from adjoint.passes.fission import is_counter
from adjoint.passes.merge import merge


def kept_inside(graph: Graph) -> Graph:
    """Run loops inside loops once, not again in the backward pass.

    >>> import adjoint as ad
    >>> from adjoint.passes import optimise
    >>> def f(x):
    ...     for i in range(40):
    ...         for k in range(20):
    ...             x[k] = ad.ops.sin(x[k] * x[k + 1])
    ...     return x.sum()
    >>> graph = ad.graph.trace_function(ad.grad(f), [np.ones(200)])
    >>> [str(optimise(graph, off=off)[0]).count("Loop(") for off in (["kept"], [])]
    [5, 4]
    """
    done: dict[Graph, Graph] = {}
    better = _once(graph, done)
    return graph if better is graph else dead(merge(better))


def _once(graph: Graph, done: dict[Graph, Graph]) -> Graph:
    """The graph, and those inside, with such loops moved."""
    if graph in done:
        return done[graph]
    builder = Builder()
    found: dict[Node, Node] = {p: p for p in graph.params}
    for node in graph.nodes:
        if node not in found:
            op = node.op.mapped(lambda inner: _once(inner, done)) if isinstance(node.op, Loop) else node.op
            found[node] = builder.keep(node, op, tuple([found[i] for i in node.inputs]))
    better = changed(graph, found)
    while (moved := _moved(better)) is not None:
        better = moved
    done[graph] = better
    return better


def _moved(graph: Graph) -> Graph | None:
    """The graph with the loops inside of one backward loop moved to the loop it follows; None if there is none to move."""
    for back in graph.nodes:
        if isinstance(back.op, Loop) and not back.op.guarded and back.op.test is None:
            for forward in {n.inputs[0]: None for n in back.inputs if _is_stack(n)}:
                if (pair := _Pair(graph, forward, back)).gains():
                    return pair.replaced()
    return None


def _is_stack(node: Node) -> bool:
    """Whether it is a stacked result of a loop."""
    if not isinstance(node.op, Pick) or not isinstance(node.inputs[0].op, Loop):
        return False
    loop = node.inputs[0].op
    return node.op.index >= loop.carried and not (loop.guarded or loop.snapshots or loop.segment)


class _Pair:
    """A loop, and one that goes through what it has stacked."""

    def __init__(self, graph: Graph, forward: Node, back: Node) -> None:
        self.graph, self.forward, self.back = graph, forward, back
        self.builder = _knowing(forward.op.body)
        self.there = self._known()  # nodes of the body of the one, by those of the other that are the same
        self.inside = [n for n in back.op.body.nodes if isinstance(n.op, Loop) and self._moves(n)]
        picks = [n for n in back.op.body.nodes if isinstance(n.op, Pick) and n.inputs[0] in self.inside]
        self.counted = {n: Builder().const(x) for n in picks if (x := _counted(n)) is not None}
        self.kept = [n for n in picks if n not in self.counted]  # what the backward pass reads of them

    def _known(self) -> dict[Node, Node]:
        """The inputs of the backward body that the forward body has."""
        one, other = self.forward.op, self.back.op
        outer = dict(zip(self.forward.inputs[one.carried :], one.body.params[one.carried :], strict=True))
        known: dict[Node, Node] = {}
        for k, (x, param) in enumerate(zip(self.back.inputs, other.body.params, strict=True)):
            sliced = k < other.carried + other.stacked
            if k < other.carried:
                continue
            if sliced and isinstance(x.op, Pick) and x.inputs[0] is self.forward and x.op.index >= one.carried:
                known[param] = one.body.outputs[x.op.index]
            elif x in outer and sliced == (outer[x] in one.body.params[: one.carried + one.stacked]):
                known[param] = outer[x]
        return {p: n for p, n in known.items() if p.spec == n.spec}

    def _moves(self, loop: Node) -> bool:
        """Whether all that a loop depends on is there in the forward body; it is put there."""
        for node in ordered([loop], self.there):
            if isinstance(node.op, Param) or node.op.effect:
                return False
            inputs = tuple([self.there[i] for i in node.inputs])
            op = self._as_there(node.op, inputs) if isinstance(node.op, Loop) else node.op
            self.there[node] = self.builder.keep(node, op, inputs)
        return True

    def _as_there(self, loop: Loop, inputs: tuple[Node, ...]) -> Loop:
        """The loop in the nodes of one of the forward body on the same inputs: so `merge` sees that it does the same."""
        for node in self.forward.op.body.nodes:
            known = node.op
            if isinstance(known, Loop) and node.inputs == inputs and _goes_alike(known, loop):
                builder = _knowing(known.body)
                found = dict(zip(loop.body.params, known.body.params, strict=True))
                for n in loop.body.nodes:
                    if n not in found:
                        found[n] = builder.keep(n, n.op, tuple([found[i] for i in n.inputs]))
                return loop.with_body(replace(changed(loop.body, found), params=known.body.params))
        return loop

    def gains(self) -> bool:
        """Whether what is stacked instead is no more than what need not be stacked then."""
        if not self.inside or any(n < 0 for p in self.kept for n in p.spec.shape):
            return False
        body, stacks = self.back.op.body, self.back.inputs
        needed = set(ordered(body.outputs, [*self.kept, *self.counted]))
        counts = uses(self.graph)
        freed = [
            p for x, p in zip(stacks, body.params, strict=True)
            if p not in needed and isinstance(x.op, Pick) and x.inputs[0] is self.forward and counts[x] == 1
        ]  # fmt: skip
        return sum(elements(n.spec) for n in self.kept) <= sum(elements(p.spec) for p in freed)

    def replaced(self) -> Graph:
        """The graph with both loops as they are then."""
        one, other = self.forward.op, self.back.op
        extra = [self.builder.pick(self.there[n.inputs[0]], n.op.index) for n in self.kept]
        first = one.with_body(replace(one.body, outputs=(*one.body.outputs, *extra)))
        at = other.carried + other.stacked
        params = [Builder().param(n.spec) for n in self.kept]
        body = _with_inputs(other.body, self.counted, dict(zip(self.kept, params, strict=True)), at)
        builder = Builder()
        found: dict[Node, Node] = {p: p for p in self.graph.params}
        for node in self.graph.nodes:
            if node in found:
                continue
            inputs = tuple([found[i] for i in node.inputs])
            if node is self.forward:
                found[node] = builder.keep(node, first, inputs)
            elif node is self.back:
                count = len(one.body.outputs)
                stacks = [builder.pick(found[self.forward], count + k) for k in range(len(extra))]
                second = other.with_body(body, stacked=other.stacked + len(extra))
                found[node] = builder.keep(node, second, (*inputs[:at], *stacks, *inputs[at:]))
            else:
                found[node] = builder.keep(node, node.op, inputs)
        return changed(self.graph, found)


def _goes_alike(a: Loop, b: Loop) -> bool:
    """Whether two loops take their inputs in the same way."""
    if a.test is not None or b.test is not None or a.backwards != b.backwards or a.guarded != b.guarded:
        return False
    specs = [[p.spec for p in loop.body.params] for loop in (a, b)]
    return (a.carried, a.stacked, a.length, specs[0]) == (b.carried, b.stacked, b.length, specs[1])


def _knowing(graph: Graph) -> Builder:
    """A builder that finds the nodes of a graph."""
    builder = Builder()
    for node in graph.nodes:
        builder.keep(node, node.op, node.inputs)
    return builder


def _counted(pick: Node) -> np.ndarray | None:
    """What a counter was in each iteration, if that is what the loop has stacked."""
    node, k = pick.inputs[0], pick.op.index
    loop: Loop = node.op
    if k < loop.carried or loop.backwards or loop.test is not None or pick.dtype != int64:
        return None
    ends = zip(node.inputs, loop.body.params[: loop.carried], loop.body.outputs, strict=False)
    counters = [p for begin, p, end in ends if is_counter(begin, p, end)]
    return np.arange(pick.shape[0]) if loop.body.outputs[k] in counters else None


def _with_inputs(body: Graph, known: dict[Node, Node], instead: dict[Node, Node], at: int) -> Graph:
    """The body with what is known, and inputs after the first `at`, in place of some nodes."""
    builder = Builder()
    found: dict[Node, Node] = {**{p: p for p in body.params}, **known, **instead}
    for node in ordered(body.outputs, found):
        found[node] = builder.keep(node, node.op, tuple([found[i] for i in node.inputs]))
    params = (*body.params[:at], *instead.values(), *body.params[at:])
    return Graph(params, tuple([found[n] for n in body.outputs]), body.name, body.effects)
