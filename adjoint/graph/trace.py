"""Op calls become graph nodes: run a Python function once on graph values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from adjoint.core import context, views
from adjoint.core.arrays import constant
from adjoint.core.dispatch import EAGER, HALF, Trace, Value, check_operands, gathered, make
from adjoint.core.errors import EndedTransformError, called_at, refused, user_place
from adjoint.core.spec import Number, Spec, dtype_of, float32, number_of, shape_of
from adjoint.graph.layouts import layout_of_node
from adjoint.graph.nested import stopped
from adjoint.graph.node import Builder, Graph, Node
from adjoint.graph.numbers import NeedsNumberError, fitting, operands, plain
from adjoint.graph.rounded import check_rounded, node_of, note_rounded
from adjoint.graph.uncaught import check_uncaught
from adjoint.ops.card import card
from adjoint.ops.casting import Cast
from adjoint.ops.movement import unchanged


class Tracer(Trace):
    """Records op calls as nodes of one graph. Values of transforms around it become further inputs."""

    def __init__(self, what: str = "jit") -> None:
        self.what = what
        self.level = context.new_level()
        self.builder = Builder(context.locating.get() or user_place)
        self.captured: list[Any] = []  # values from outside, in the order of their params
        self.effects: list[Node] = []
        self.streams = sys.stdout, sys.stderr  # where a run will print, if nobody turns them while it is traced
        self._inside: dict[Any, Node] = {}
        self._outside: dict[Node, Any] = {}  # what these inputs stand for
        self._cut: set[Node] = set()  # what was computed under no_grad: none of its inputs has a derivative
        self.ended = False
        self.replays = False  # whether it goes through a graph again, not through a program
        self.inner = False  # whether it is a branch or an iteration of a loop
        self.wrote = self.reshaped = (
            False  # whether it wrote into arrays, and made views that depend on orders in memory
        )
        self.points: set[Any] = set()  # inputs without axes, which may be arrays or numbers
        self.pointed = False  # whether it mattered what they are
        self.layouts: dict[
            Node, Any
        ] = {}  # how NumPy's arrays would lie in memory, for the nodes that have been asked for

    def param(self, spec: Spec, name: str = "", number: Number | None = None) -> Any:
        """A graph value that stands for an input; a Python number's is marked as one."""
        marked = number or (Number() if spec.weak and not self.replays else None)
        return make(self.builder.param(spec, name), self, marked)

    def node(self, x: Any) -> Node:
        """The node of a value: one of ours, a constant, or an input that stands for a value from outside."""
        if isinstance(x, Value):
            if x._trace is self:
                return x._value
            if x._trace is EAGER or x._trace is HALF:
                return self.builder.const(x._value)
            if x._trace.level > self.level:
                shape_of(x)  # elements picked by a mask have no shape, and say so
                raise EndedTransformError(f"a Tensor of an inner transform was used outside of it{called_at()}")
            known = self._inside.get(identity(x))
            if known is None:
                known = self._inside[identity(x)] = self.builder.param(Spec(shape_of(x), dtype_of(x)))
                self.captured.append(x._trace.twin(x))  # x itself may be updated in place
                self._outside[known] = self.captured[-1]
                self.layouts[known] = views.layout(x)
                if (held := node_of(x)) is not None and held.rounded:
                    note_rounded(known)
            return known
        return self.builder.const(x if isinstance(x, (bool, int, float, complex)) else constant(np.asarray(x)))

    def outside(self, node: Node) -> Any:
        """The value of a transform around this one that an input stands for; None for any other node."""
        return self._outside.get(node)

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        if self.ended:
            raise EndedTransformError(
                f"a graph value made inside {self.what} was kept and used after {self.what} had ended: it has no number. "
                f"Return it from the function instead.{called_at()}"
            )
        if (clean := gathered(xs)) is not None:
            return op(*clean)
        if caught := context.caught.get():
            check_uncaught(op, xs, caught)
        check_operands(op, xs)
        given: Sequence[Any] = plain(xs)
        mark = rounded = None
        if not context.replaying.get() and any(isinstance(x, Value) and number_of(x) is not None for x in xs):
            given, mark, rounded = operands(op, given)
        elif any(type(x) is int for x in given):
            given = fitting(op, given)
        inputs = [self.node(x) for x in given]
        carried = any(n.rounded for n in inputs) and not (context.replaying.get() or hasattr(op, "graphs"))
        carried = carried and check_rounded(op, xs, inputs)
        muted = context.muted_below.get() > self.level and op.differentiable
        if muted and (handing_on := op.muted()) is not None:
            op, muted = handing_on, False
        late = op.effect or isinstance(
            op, Cast
        )  # what an effect writes to, and a number cast, must be seen for what it is
        if muted and not late:
            inputs = [self._stopped(n) for n in inputs]
        node = self.builder.build(op, inputs)
        if op.effect:
            self.effects.append(node)
        if isinstance(node.spec, tuple):
            picks = [self.builder.pick(node, i) for i in range(len(node.spec))]
            picks = [self._stopped(n) for n in picks] if muted and late else picks
            self._cut.update(picks if muted else ())
            return tuple([make(n, self) for n in picks])
        if rounded is not None and node.spec.dtype == float32:
            node = self.builder.build(card(Cast, rounded), [node])
        if muted:
            node = self._stopped(node) if late else node
            self._cut.add(node)
        if carried:
            note_rounded(node)
        return make(node, self, mark)

    def _stopped(self, node: Node) -> Node:
        """A node as an op under `no_grad` takes it: without a derivative, whatever transform the graph is given to."""
        return node if node in self._cut else stopped(self.builder, node)

    def layout(self, x: Any) -> Any:
        return layout_of_node(x._value, self.layouts)

    def in_order(self, x: Any, layout: Any) -> Any:
        node = x._value
        copy = Node(unchanged(node.shape), (node,), node.spec)  # one of its own: what is equal lies otherwise
        self.layouts[copy] = layout
        return make(copy, self, x._extra)

    def below(self, x: Any) -> Any:
        raise refused(
            NeedsNumberError(
                f"Python needs a number here, but this is {x._value.spec} inside {self.what}, known only when the graph runs. "
                f"Use ops on Tensors, or make the argument static.{called_at()}"
            )
        )


def identity(x: Any) -> Any:
    """What makes two Tensors of a transform one value."""
    if x._trace.deferred:
        return id(x._trace), id(x._extra), 0
    return id(x._trace), id(x._value), 0 if type(x._extra) is Number else id(x._extra)


def is_graph_value(x: Any) -> bool:
    """Whether a value is a node of a graph being built, perhaps inside other transforms."""
    while isinstance(x, Value):
        if isinstance(x._trace, Tracer):
            return True
        if x._trace.deferred:
            return False
        x = x._value
    return isinstance(x, Node)


def trace(
    fn: Callable[..., Sequence[Any]],
    specs: Sequence[Spec],
    name: str = "graph",
    what: str = "jit",
    branch: bool = False,
    replayed: bool = False,
) -> tuple[Graph, list[Any]]:
    """The graph of a function of flat inputs that returns a list, and the values from outside that it uses.

    Those values are inputs of the graph behind its own. What replays a graph is no Python program: its numbers are numbers of
    the graph, and its ops mean what they say.
    """
    return traced(fn, specs, name, what, branch, replayed=replayed)[:2]


def traced(
    fn: Callable[..., Sequence[Any]],
    specs: Sequence[Spec],
    name: str = "graph",
    what: str = "jit",
    branch: bool = False,
    numbers: Sequence[Number | None] = (),
    replayed: bool = False,
    layouts: Sequence[Any] = (),
) -> tuple[Graph, list[Any], list[Number | None]]:
    """As `trace` with what the results are to Python: the mark of a number, or None. So are the inputs that `numbers` names;
    `layouts` say how they lie in memory."""
    tracer = Tracer(what)
    tracer.inner, tracer.replays = True, replayed
    inputs = [tracer.param(s, "", m) for s, m in zip_longest(specs, numbers)]
    tracer.layouts.update(zip(tracer.builder.params, layouts, strict=False))
    try:
        with (
            context.setting(context.branch, tracer if branch else context.branch.get()),
            context.setting(context.tracer, tracer if replayed else context.tracer.get()),
        ):
            results = fn(*inputs)
            outputs = [tracer.node(y) for y in results]
    finally:
        tracer.ended = True
    graph = Graph(tuple(tracer.builder.params), tuple(outputs), name, tuple(tracer.effects))
    return graph, tracer.captured, [number_of(y) for y in results]
