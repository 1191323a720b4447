"""Fusion: elementwise steps, broadcasts and final reductions over one shape become one op that a single loop nest can compute.

Every step gets a stage, which no step on a way from one group out and into another can share: an edge that a loop nest cannot
follow inside (out of a matrix product, out of a reduction, from one shape to another) leads to a later stage. Steps of one
stage and one shape that share an edge or an input are a group. So no cycle can arise, and the work is linear in the graph.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import prod
from typing import Any

from adjoint.core.spec import Shape
from adjoint.graph.control import Control
from adjoint.graph.fused import Fused
from adjoint.graph.fused import inlined as inlined
from adjoint.graph.node import Builder, Const, Graph, Node, Param
from adjoint.ops.movement import BroadcastTo


def space(node: Node) -> Shape | None:
    """The shape that a loop nest for this step runs over; None if the step is none of its kind."""
    op = node.op
    if op.reduction:
        shape = node.inputs[0].shape
    elif (op.elementwise or type(op) is BroadcastTo) and not (op.opaque or op.effect):
        shape = node.shape
    else:
        return None
    return None if any(n < 0 for n in shape) else shape


def stages(graph: Graph, spaces: dict[Node, Shape | None]) -> dict[Node, int]:
    """The stage of each step: as early as its inputs allow, then as late as its users' common group, if they have one."""
    early: dict[Node, int] = {}
    for node in graph.nodes:
        here = spaces[node]
        early[node] = max((early[i] + _barrier(i, spaces[i], here) for i in node.inputs), default=0)
    users: dict[Node, set[tuple[int, Shape | None]]] = {n: set() for n in graph.nodes}
    for node in (*graph.outputs, *graph.effects):
        users[node].add((-1, None))  # outside every group
    for node in reversed(graph.nodes):
        shape = spaces[node]
        if shape is not None and not node.op.reduction and len(users[node]) == 1:
            stage, wanted = next(iter(users[node]))
            if wanted == shape:
                early[node] = stage
        for i in node.inputs:
            users[i].add((early[node], shape))
    return early


def _barrier(source: Node, before: Shape | None, here: Shape | None) -> int:
    """Whether a loop nest over one shape cannot take a value from inside itself."""
    if here is None or isinstance(source.op, (Param, Const)):
        return 0
    return int(before != here or bool(source.op.reduction))


class _Sets:
    """Disjoint sets of nodes."""

    def __init__(self) -> None:
        self.parent: dict[Node, Node] = {}

    def root(self, x: Node) -> Node:
        path = [x]
        while (up := self.parent.get(path[-1])) is not None:
            path.append(up)
        for n in path[:-1]:
            self.parent[n] = path[-1]
        return path[-1]

    def join(self, x: Node, y: Node) -> None:
        if (a := self.root(x)) is not (b := self.root(y)):
            self.parent[a] = b


def groups(graph: Graph) -> list[list[Node]]:
    """Groups of at least two steps, each group in order."""
    spaces = {n: space(n) for n in graph.nodes}
    stage = stages(graph, spaces)
    sets, first = _Sets(), dict[Hashable, Node]()
    members = [n for n, shape in spaces.items() if shape is not None]
    for node in members:
        key = stage[node], spaces[node]
        for i in (node, *node.inputs):
            if prod(i.shape) == 1 != prod(node.shape) or isinstance(i.op, Const):
                continue  # one number is no reason to run side by side
            sets.join(node, first.setdefault((i, key), node))
    found: dict[Node, list[Node]] = {}
    for node in members:
        found.setdefault(sets.root(node), []).append(node)
    return [group for group in found.values() if len(group) > 1]


def fusion(graph: Graph) -> Graph:
    """Put `Fused` ops in the place of groups of steps, in the graphs of control flow too. `inlined` undoes it.

    >>> import adjoint as ad
    >>> graph = ad.graph.trace_function(lambda x: (ad.ops.sin(x) * x).sum(), [ad.ops.ones(3)])
    >>> print(fusion(graph))
    graph (%0: float32[3]) -> %2
      %1: float32[] = Fused(inner=@0) %0
      %2: float32[] = pick 0 %1
    @0 (%0: float32[3]) -> %3
      %1: float32[3] = Sin() %0
      %2: float32[3] = Mul() %1 %0
      %3: float32[] = Sum(axes=(0,), keepdims=False) %2
    """
    return _fused(graph, {})


def _fused(graph: Graph, done: dict[Graph, Graph]) -> Graph:
    if graph in done:
        return done[graph]
    member: dict[Node, int] = {}
    found_groups = groups(graph)
    for k, group in enumerate(found_groups):
        member.update(dict.fromkeys(group, k))
    shown = _used_outside(graph, member)
    builder = Builder()
    found: dict[Node, Node] = {p: p for p in graph.params}
    pending = [*graph.outputs[::-1], *graph.effects[::-1]]
    while pending:  # a group is built when the inputs of all its steps are there
        node = pending[-1]
        group = found_groups[member[node]] if node in member else [node]
        missing = [] if node in found else _missing(group, member, found)
        if missing:
            pending += missing
            continue
        pending.pop()
        if node in member and node not in found:
            found.update(_call(builder, group, shown, found))
        elif node not in found:
            op: Any = node.op
            if isinstance(op, Control) and not isinstance(op, Fused):
                op = op.mapped(lambda inner: _fused(inner, done))
            found[node] = builder.keep(node, op, tuple([found[i] for i in node.inputs]))
    outputs, effects = (tuple([found[n] for n in nodes]) for nodes in (graph.outputs, graph.effects))
    same = outputs == graph.outputs and effects == graph.effects
    done[graph] = graph if same else Graph(graph.params, outputs, graph.name, effects)
    return done[graph]


def _missing(group: list[Node], member: dict[Node, int], found: dict[Node, Node]) -> list[Node]:
    """What a group takes from outside and is not there yet."""
    inside = member.get(group[0])
    return [i for n in group for i in n.inputs if i not in found and (inside is None or member.get(i) != inside)]


def _used_outside(graph: Graph, member: dict[Node, int]) -> set[Node]:
    """The results of groups that other steps need, or the graph."""
    shown = {*graph.outputs, *graph.effects}
    for node in graph.nodes:
        shown.update(i for i in node.inputs if member.get(i, -1) != member.get(node, -2))
    return shown


def _call(builder: Builder, group: list[Node], shown: set[Node], found: dict[Node, Node]) -> dict[Node, Node]:
    """A group as one call, and the nodes that stand for its results. Single numbers known now go inside."""
    inner = Builder()
    inside: dict[Node, Node] = {}
    sources: list[Node] = []
    for node in group:
        for i in node.inputs:
            if i in inside:
                continue
            if isinstance(i.op, Const) and i.shape == ():
                inside[i] = inner.const(i.op.value)
            else:
                inside[i] = inner.param(i.spec)
                sources.append(i)
        inside[node] = inner.keep(node, node.op, tuple([inside[i] for i in node.inputs]))
    results = [n for n in group if n in shown]
    body = Graph(tuple(inner.params), tuple([inside[n] for n in results]), "fused")
    call = builder.build(Fused(body), [found[i] for i in sources])
    return {n: builder.pick(call, k) for k, n in enumerate(results)}
