"""A graph as it is drawn: boxes, what they are connected to, and the groups that they stand in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.graph.control import Cond, Loop
from adjoint.graph.nested import Control
from adjoint.graph.node import Const, Graph, Node, Param, Pick
from adjoint.pictures import node_labels
from adjoint.pictures.drawn_stages import DrawnProgram, GraphPair
from adjoint.pictures.measured_values import Measured
from adjoint.pictures.scopes import CallScope, origin_of

STEP, CONTROL = "step", "control"


@dataclass
class Vertex:
    """One box. `inputs` are the numbers of others; `key` is the step of the forward graph that it belongs to."""

    kind: str  # "step", "control"; "input", "parameter", "constant", "seed"; "value" of the forward graph; "result"
    label: str
    name: str
    group: int
    inputs: list[int] = field(default_factory=list)
    key: int = -1
    node: Node | None = None
    arguments: list[str] = field(default_factory=list)  # the inputs as a formula names them
    measured: Measured | None = None
    hint: str = ""  # more about it than its label says, where it is no step
    tag: str = ""  # what it has in common with boxes of the other graph: a step, an input or a result

    @property
    def note(self) -> str:
        """The second line of the box: its name, and its value or shape."""
        spec = self.node.spec if self.node is not None else None
        name = self.name if self.kind in (STEP, CONTROL) else ""
        if spec is None or isinstance(spec, tuple):
            return name
        if not spec.shape and self.measured is not None and self.measured.runs == 1:
            return f"{name} = {value_of(self.measured)}".lstrip()
        shape = "×".join(map(str, spec.shape))
        return " · ".join(part for part in (name, shape) if part)


def value_of(measured: Measured) -> str:
    """The value of a number."""
    if measured.nans:
        return "NaN"
    return f"{measured.lowest:.4g}" if measured.finite else "∞"


@dataclass
class Group:
    """Boxes that belong together: a call of a Cell or function, control flow, or a piece of a long graph."""

    parent: int
    kind: str  # "root", "cell", "function", "op", "control", "branch", "piece"
    label: str
    detail: str = ""
    vertex: int = -1  # the box of the control flow that it is the inside of
    pair: str = ""  # what it has in common with a group of the other graph


@dataclass
class Scene:
    """All boxes and groups of one graph; the first group is the whole."""

    vertices: list[Vertex]
    groups: list[Group]


#: Names of the steps of the forward graph, by their keys.
Names = dict[int, str]


def names_of(graph: Graph) -> Names:
    """`v1`, `v2`, ... for each step of the forward graph as it was written."""
    found: Names = {}
    _name(graph, found)
    return found


def _name(graph: Graph, found: Names) -> None:
    for node in graph.calls:
        found.setdefault(origin_of(node).key, f"v{len(found) + 1}")
        if isinstance(node.op, Control):
            for inner in node.op.graphs().values():
                _name(inner, found)


def forward_scene(program: DrawnProgram, stage: GraphPair, names: Names, measured: dict[Node, Measured]) -> Scene:
    """The forward graph of a stage."""
    return _SceneBuilder(names, measured, base_of(program), weights_of(program)).whole(
        stage.forward, program.inputs, program.results
    )


def derivative_scene(program: DrawnProgram, stage: GraphPair, names: Names, measured: dict[Node, Measured]) -> Scene:
    """The derivative graph of a stage; what it takes from the forward graph are values there."""
    assert stage.derivative is not None
    inputs = list(program.inputs) + [f"∂/∂{program.results[i]}" for i in program.active]
    results = [f"∂/∂{program.inputs[i]}" for i in program.wanted]
    seeds = stage.derivative.params[len(program.inputs) :] if stage.seeded else ()
    builder = _SceneBuilder(names, measured, base_of(program), weights_of(program), True, set(seeds))
    return builder.whole(stage.derivative, inputs, results)


def weights_of(program: DrawnProgram) -> set[str]:
    """The inputs that are Parameters."""
    params = program.stages[0].forward.params
    return {name for p, name in zip(params, program.inputs, strict=True) if p.op.name}


def base_of(program: DrawnProgram) -> tuple[CallScope, ...]:
    """The calls that are around all steps: the program itself."""
    scopes = [origin_of(n).scope for n in program.stages[0].forward.calls]
    base = scopes[0] if scopes else ()
    for scope in scopes:
        base = base[: _common(base, scope)]
    return base


def _common(a: Sequence[Any], b: Sequence[Any]) -> int:
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


class _SceneBuilder:
    """Makes the scene of one graph."""

    def __init__(
        self,
        names: Names,
        measured: dict[Node, Measured],
        base: tuple[CallScope, ...],
        weights: set[str],
        derivative: bool = False,
        seeds: set[Node] | None = None,
    ) -> None:
        self.names, self.measured, self.base = names, measured, base
        self.derivative, self.seeds = derivative, seeds or set()
        self.vertices: list[Vertex] = []
        self.groups = [Group(-1, "root", "")]
        self.known: dict[tuple[int, Any], int] = {}
        self.used: dict[str, int] = {}
        self.steps = 0
        self.weights = weights  # the inputs that are Parameters

    def whole(self, graph: Graph, inputs: list[str], results: list[str]) -> Scene:
        """The scene of a whole graph."""
        self.graph(graph, 0, self.base, inputs, results, outermost=True)
        return Scene(self.vertices, self.groups)

    def graph(
        self,
        graph: Graph,
        parent: int,
        base: tuple[CallScope, ...],
        inputs: list[str],
        results: list[str],
        outermost: bool = False,
    ) -> None:
        """All boxes of a graph, inside a group."""
        found: dict[Node, int] = {}
        before = len(self.vertices)
        called = dict(zip(graph.params, inputs, strict=False))
        for node in graph.nodes:
            if isinstance(node.op, Pick):
                if node.inputs[0] in found:
                    found[node] = found[node.inputs[0]]
            elif not isinstance(node.op, (Param, Const)) and not self._from_forward(node, outermost):
                group = self._scoped(parent, origin_of(node).scope, base)
                found[node] = self._step(node, group, found, lambda n: self._called(n, called, found))
        pending = [(self.vertices[i], n) for i, n in _steps(self.vertices, before, graph, found)]
        self._sources(graph, pending, found, called, parent, outermost)
        for output, name in zip(graph.outputs, results, strict=False):
            source = found.get(output)
            if source is None:
                source = self._source(output, called, parent, outermost)
            inside = self.derivative and outermost and name[3:] in self.weights
            group = self.vertices[source].group if inside else parent
            label = f"∂/∂{short(name)}" if inside and group else name
            tag = (f"x{name[3:]}" if self.derivative else f"r{name}") if outermost else ""
            self.vertices.append(Vertex("result", label, name, group, [source], node=output, tag=tag))
            self.vertices[-1].measured = self.measured.get(output)

    def _from_forward(self, node: Node, outermost: bool) -> bool:
        return self.derivative and outermost and not origin_of(node).backward and node not in self.seeds

    def _scoped(self, parent: int, scope: tuple[CallScope, ...], base: tuple[CallScope, ...]) -> int:
        """The group of a step, made where it is new."""
        group = parent
        for one in scope[_common(scope, base) :]:
            if (group, one) not in self.known:
                self.known[group, one] = len(self.groups)
                pair = f"{self.groups[group].pair}/{one.number}"
                self.groups.append(Group(group, one.kind, one.name, one.detail, pair=pair))
            group = self.known[group, one]
        return group

    def _named(self, node: Node) -> str:
        """`v3` as the forward graph has it; in a derivative graph `g3`."""
        if self.derivative:
            self.steps += 1
            return f"g{self.steps}"
        name = self.names.get(origin_of(node).key, "v")
        self.used[name] = self.used.get(name, 0) + 1
        return name + "′" * (self.used[name] - 1)

    def _called(self, node: Node, called: dict[Node, str], found: dict[Node, int]) -> str:
        """How a formula calls an input."""
        if isinstance(node.op, Const):
            return node_labels.number(node.op.value) or "constant"
        if isinstance(node.op, Pick) and isinstance(node.inputs[0].spec, tuple):
            return f"{self._called(node.inputs[0], called, found)}[{node.op.index}]"
        if node in found:
            return self.vertices[found[node]].name
        return called.get(node) or self.names.get(origin_of(node).key, "v")

    def _step(self, node: Node, group: int, found: dict[Node, int], called: Callable[[Node], str]) -> int:
        """The box of a step, and the inside of control flow."""
        arguments = [called(n) for n in node.inputs]
        constants = [node_labels.number(n.op.value) if isinstance(n.op, Const) else None for n in node.inputs]
        inner = node.op.graphs() if isinstance(node.op, Control) else {}
        label = _control_label(node) if inner else node_labels.label(node.op, constants)
        at = len(self.vertices)
        self.vertices.append(
            Vertex(
                CONTROL if inner else STEP, label, self._named(node), group, key=origin_of(node).key, node=node,
                arguments=arguments, measured=self.measured.get(node), tag=f"k{origin_of(node).key}",
            )
        )  # fmt: skip
        if inner:
            self._inside(node, at, inner, arguments)
        return at

    def _inside(self, node: Node, at: int, inner: dict[str, Graph], arguments: list[str]) -> None:
        vertex, scope = self.vertices[at], origin_of(node).scope
        own = len(self.groups)
        self.groups.append(Group(vertex.group, CONTROL, vertex.label, vertex.name, at, f"k{vertex.key}"))
        for part, graph in inner.items():
            group = own
            if len(inner) > 1:
                group = len(self.groups)
                self.groups.append(
                    Group(own, "branch", {"true": "then", "false": "else", "test": "while"}.get(part, part))
                )
            inputs, results = inner_names(node.op, part, graph, arguments)
            self.graph(graph, group, scope, inputs, results)

    def _sources(
        self,
        graph: Graph,
        pending: list[tuple[Vertex, Node]],
        found: dict[Node, int],
        called: dict[Node, str],
        parent: int,
        outermost: bool,
    ) -> None:
        """What steps take and no step makes: inputs and constants, each in the smallest group around those that need it."""
        users: dict[Node, list[int]] = {}
        for vertex, node in pending:
            for n in node.inputs:
                if n not in found:
                    users.setdefault(n, []).append(vertex.group)
        at: dict[Node, int] = {}
        for vertex, node in pending:
            own_values: dict[Node, int] = {}  # of the forward graph: one box for each step that needs it
            for n in node.inputs:
                if n in found:
                    vertex.inputs.append(found[n])
                elif _inline(n):
                    continue
                elif self._from_forward(n, outermost) and not isinstance(n.op, Const):
                    if n not in own_values:
                        own_values[n] = self._source(n, called, vertex.group, outermost)
                    vertex.inputs.append(own_values[n])
                else:
                    if n not in at:
                        own = isinstance(n.op, Param) and called.get(n) not in self.weights
                        at[n] = self._source(n, called, parent if own else self._around(users[n]), outermost)
                    vertex.inputs.append(at[n])
        if outermost and not self.derivative:
            for p in graph.params:
                if p not in users and p not in graph.outputs:
                    self._source(p, called, parent, outermost)
        for p in graph.params:  # a result may be an input
            if p in at:
                found.setdefault(p, at[p])

    def _around(self, groups: list[int]) -> int:
        """The smallest group around others."""
        paths = [self._path(g) for g in dict.fromkeys(groups)]
        shared = paths[0]
        for path in paths:
            shared = shared[: _common(shared, path)]
        return shared[-1]

    def _path(self, group: int) -> list[int]:
        path = [group]
        while self.groups[path[-1]].parent >= 0:
            path.append(self.groups[path[-1]].parent)
        return path[::-1]

    def _source(self, node: Node, called: dict[Node, str], group: int, outermost: bool) -> int:
        """The box of an input, a constant, or a value of the forward graph."""
        hint = ""
        if isinstance(node.op, Const):
            kind, label = "constant", node_labels.number(node.op.value) or _uniform(node.op.value)
        elif node in self.seeds:
            kind, label = "seed", called[node]
            hint = (
                "where the backward pass begins: the derivative of what is asked for by this result, 1 for a gradient"
            )
        elif self._from_forward(node, outermost):
            kind, label, hint = "value", self._called(node, called, {}), "a value of the forward graph"
        else:
            kind, label = "input", called.get(node, "input")
            kind = "parameter" if label in self.weights and outermost else kind
        name = label
        if kind in ("parameter", "value") and group and name in self.weights:
            label = short(name)
        tag = f"x{name}" if isinstance(node.op, Param) and outermost else f"k{origin_of(node).key}"
        tag = f"r{name[3:]}" if kind == "seed" else "" if kind == "constant" else tag
        self.vertices.append(Vertex(kind, label, name, group, node=node, key=origin_of(node).key, hint=hint, tag=tag))
        self.vertices[-1].measured = self.measured.get(node)
        return len(self.vertices) - 1


def _steps(vertices: list[Vertex], before: int, graph: Graph, found: dict[Node, int]) -> Iterator[tuple[int, Node]]:
    """The boxes of the graph's own steps, with their nodes; those of graphs inside have their inputs already."""
    for node in graph.nodes:
        at = found.get(node, -1)
        if at >= before and vertices[at].node is node:
            yield at, node


def short(name: str) -> str:
    """The last part of the name of a Parameter, which is enough inside its Cell."""
    return name.rsplit(".", 1)[-1]


def _inline(node: Node) -> bool:
    """Whether a constant is written on the box that takes it."""
    return isinstance(node.op, Const) and node_labels.number(node.op.value) is not None


def _control_label(node: Node) -> str:
    """What stands on control flow; of a loop, how often it runs, where that is known."""
    if not isinstance(node.op, Loop) or node.op.test is not None:
        return node_labels.words(node.op)
    times = node.op.iterations(node.op.parts([n.spec for n in node.inputs])[1])
    return f"{node_labels.words(node.op)}, {times} times"


def _uniform(value: Any) -> str:
    array = np.asarray(value)
    same = array.size and bool(np.all(array == array.flat[0]))
    return f"all {node_labels.number(array.flat[0])}" if same else "constant"


def inner_names(op: Any, part: str, graph: Graph, arguments: list[str]) -> tuple[list[str], list[str]]:
    """How the inputs and results of a graph inside control flow are called, after the inputs of the whole."""
    results = [f"result {i}" if len(graph.outputs) > 1 else "result" for i in range(len(graph.outputs))]
    if isinstance(op, Cond):
        return arguments[1:], results
    if not isinstance(op, Loop):
        return arguments, results
    carry, slices, constants = op.parts(arguments)
    state = [f"state {i}" if len(carry) > 1 else "state" for i in range(len(carry))]
    if part == "test":
        return [*state, *constants], ["go on?"]
    kept = [f"kept {i}" for i in range(len(results) - len(carry))]
    return [*state, *(f"{s}[i]" for s in slices), *constants], [*(f"next {s}" for s in state), *kept]
