"""A graph in stages: compiled parts, and parts in the interpreter between them for what has no code."""

from __future__ import annotations

from typing import Any

from adjoint.backends.native.dtypes import is_known
from adjoint.backends.native.plan.units import has_code
from adjoint.graph.node import Builder, Const, Graph, Node, Param, Pick, ordered


class Stages:
    """The stages of a graph in order, as `(compiled, part, inputs, outputs)`, and what is left to the interpreter."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.left_out: list[Node] = []
        self.parts = self._stages()

    def _numbered(self, interpreted: set[Node]) -> dict[Node, int]:
        """The stage of each node."""
        stage: dict[Node, int] = {}
        for node in self.graph.nodes:
            if isinstance(node.op, (Param, Const)):
                continue
            least = max([stage[i] for i in node.inputs if i in stage], default=0)
            if not isinstance(node.op, Pick):
                odd = node in interpreted or not can_compile(node)
                least += least % 2 != int(odd)
            stage[node] = least
        return stage

    def _across(self, stage: dict[Node, int]) -> set[Node]:
        """All calls that make or take arrays of unknown size, if one such array would have to leave its stage."""
        users = [(n, i) for n in stage for i in n.inputs if i in stage and _unknown(i.spec)]
        inside = all(stage[n] == stage[i] for n, i in users) and not any(_unknown(n.spec) for n in self.graph.outputs)
        return set() if inside else {n for pair in users for n in pair} | {n for n in stage if _unknown(n.spec)}

    def _stages(self) -> list[tuple[bool, Graph, list[Node], list[Node]]]:
        """Nodes in stages, compiled (even) and interpreted (odd) ones by turns, each stage a graph of its own."""
        stage = self._numbered(set())
        if unknown := self._across(stage):
            stage = self._numbered(unknown)
        self.left_out = [n for n, k in stage.items() if k % 2 and not isinstance(n.op, Pick)]
        if not any(stage.values()) and all(map(_has_memory, (*self.graph.params, *self.graph.outputs))):
            # The only stage. It hands on arguments and constants too, and what it does not read can be donated.
            ends = list(self.graph.params), list(self.graph.outputs)
            return [(True, cut(*ends, self.graph.effects, self.graph.name), *ends)]
        found = []
        for k in range(max(stage.values(), default=-1) + 1):
            mine = [n for n in self.graph.nodes if stage.get(n) == k]
            if not mine:
                continue
            inside = set(mine)
            read = {i for n in mine for i in n.inputs if i not in inside and not isinstance(i.op, Const)}
            inputs = [n for n in (*self.graph.params, *stage) if n in read]
            later = {i for n in self.graph.nodes if stage.get(n, -1) > k for i in n.inputs} | set(self.graph.outputs)
            wanted = [n for n in mine if n in later and not isinstance(n.spec, tuple)]
            outputs = list(dict.fromkeys([n for n in self.graph.outputs if n in inside] + wanted))
            effects = tuple(n for n in self.graph.effects if n in inside)
            if not outputs and not effects:
                continue
            part = cut(inputs, outputs, effects, self.graph.name)
            found.append((k % 2 == 0, part, inputs, outputs))
        return found


def _has_memory(node: Node) -> bool:
    """Whether compiled code can be given an argument, or can give a result, whatever it is."""
    return is_known(node.spec.dtype) and not _unknown(node.spec)


def _unknown(spec: Any) -> bool:
    """Whether a value has a size known only at run time."""
    return any(min(s.shape, default=0) < 0 for s in (spec if isinstance(spec, tuple) else (spec,)))


def cut(inputs: list[Node], outputs: list[Node], effects: tuple[Node, ...], name: str) -> Graph:
    """A part of a graph as a graph: what comes from before is an input."""
    found: dict[Node, Node] = {n: Node(Param(k), (), n.spec, n.place) for k, n in enumerate(inputs)}
    builder = Builder()
    for node in ordered([*outputs, *effects], inputs):
        found[node] = builder.keep(node, node.op, tuple([found[i] for i in node.inputs]))
    return Graph(
        tuple([found[n] for n in inputs]), tuple([found[n] for n in outputs]), name, tuple([found[n] for n in effects])
    )


def can_compile(node: Node) -> bool:
    """Whether a node can be part of a compiled kernel."""
    return not node.op.effect and has_code(node)
