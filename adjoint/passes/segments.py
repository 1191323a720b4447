"""A forward graph with parts that are computed again in its backward pass: each becomes one call (`Recomputed`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from adjoint.graph.loop_checkpoints import has_plan
from adjoint.graph.node import Builder, Const, Graph, Node, Param, stands_for
from adjoint.graph.recompute import Recomputed
from adjoint.passes.checkpoint_choice import PlannedPart
from adjoint.passes.forward_items import Forward, maker, source


@dataclass
class _Build:
    """A graph being built, node by node of another one."""

    builder: Builder
    found: dict[Node, Node]
    effects: list[Node] = field(default_factory=list)

    def node(self, n: Node) -> Node:
        """The node's like in this graph; constants, views and single results are made where they are used."""
        known = self.found.get(n)
        if known is None:
            known = self.found[n] = self.builder.keep(n, n.op, tuple([self.node(i) for i in n.inputs]))
        return known

    def call(self, op: Recomputed, inputs: Sequence[Node], results: Sequence[Node]) -> None:
        """Some nodes as the results of a call."""
        made = self.builder.build(op, [self.node(n) for n in inputs])
        self.found.update((n, self.builder.pick(made, i)) for i, n in enumerate(results))
        if op.effect:
            self.effects.append(made)


class Segments:
    """Makes the graph of a plan."""

    def __init__(self, forward: Forward) -> None:
        self.graph, self.steps = forward.graph, forward.steps
        self.effects = set(self.graph.effects)
        self.readers: dict[Node, list[int]] = {}  # of each value, the steps that read it; a result is read at the end
        self.values: dict[Node, list[Node]] = {}  # of each step, what others read
        for k, node in enumerate(self.steps):
            self._note(node.inputs, k)
        self._note(self.graph.outputs, len(self.steps))

    def _note(self, nodes: Sequence[Node], reader: int) -> None:
        for n in map(source, nodes):
            if not isinstance(n.op, (Param, Const)):
                if n not in self.readers:
                    self.values.setdefault(maker(n), []).append(n)
                self.readers.setdefault(n, []).append(reader)

    def graph_of(self, parts: Sequence[PlannedPart]) -> Graph:
        """The graph in which some parts are computed again."""
        build = _Build(Builder(), {p: p for p in self.graph.params})
        self._build(build, parts)
        outputs = tuple([build.node(n) for n in self.graph.outputs])
        return Graph(self.graph.params, outputs, self.graph.name, tuple(build.effects))

    def _build(self, build: _Build, parts: Sequence[PlannedPart]) -> None:
        for part in [p for whole in parts for p in self._around_loops(whole)]:
            if part.again:
                self._wrap(build, part)
            elif part.inside:
                self._build(build, part.inside)
            for k in () if part.again or part.inside else part.items:
                made = build.node(self.steps[k])
                if self.steps[k] in self.effects:
                    build.effects.append(made)

    def _around_loops(self, part: PlannedPart) -> list[PlannedPart]:
        """A part as those around its loops that hold few states: these have their own plan, and are not computed again as a whole."""
        if not part.again or not any(has_plan(self.steps[k].op) for k in part.items):
            return [part]
        if part.inside:
            return [p for inner in part.inside for p in self._around_loops(replace(inner, again=True))]
        runs = groupby(part.items, lambda k: has_plan(self.steps[k].op))
        return [PlannedPart(tuple(items), again=not loops) for loops, items in runs]

    def _wrap(self, build: _Build, part: PlannedPart) -> None:
        """A part as one call."""
        members = set(part.items)
        inside = _Build(Builder(), {})
        given = self._given(part)
        for n in given:
            inside.found[n] = inside.builder.param(n.spec)
            stands_for(inside.found[n], n)
        self._build(inside, part.inside or [PlannedPart(part.items)])
        first = {}  # who reads a result first, outside: its cotangent comes last
        for k in part.items:
            for n in self.values.get(self.steps[k], ()):
                outside = [r for r in self.readers[n] if r not in members]
                if outside:
                    first[n] = min(outside)
        results = sorted(first, key=lambda n: first[n])
        outputs = tuple([inside.node(n) for n in results])
        graph = Graph(tuple(inside.builder.params), outputs, "segment", tuple(inside.effects))
        build.call(Recomputed(graph, tuple(range(len(results)))), given, results)

    def _given(self, part: PlannedPart) -> list[Node]:
        """What the steps of a part read of others."""
        mine = {self.steps[k] for k in part.items}
        found: dict[Node, None] = {}
        for k in part.items:
            for n in map(source, self.steps[k].inputs):
                if maker(n) not in mine and not isinstance(n.op, Const):
                    found[n] = None
        return list(found)
