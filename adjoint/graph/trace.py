"""Op calls become graph nodes: run a Python function once on graph values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.arrays import constant
from adjoint.core.dispatch import EAGER, HALF, Trace, Value, gathered, make
from adjoint.core.errors import AdjointError, EndedTransformError, called_at
from adjoint.core.spec import Spec, spec_of
from adjoint.graph.node import Builder, Graph, Node


class NeedsNumberError(AdjointError, TypeError):
    """Python asked for a number that is known only when the graph runs."""


class Tracer(Trace):
    """Records op calls as nodes of one graph. Values of transforms around it become further inputs."""

    def __init__(self, what: str = "jit") -> None:
        self.what = what
        self.level = context.new_level()
        self.builder = Builder()
        self.captured: list[Any] = []  # values from outside, in the order of their params
        self.effects: list[Node] = []
        self._inside: dict[Any, Node] = {}
        self.ended = False

    def param(self, spec: Spec, name: str = "") -> Any:
        """A graph value that stands for an input."""
        return make(self.builder.param(spec, name), self)

    def node(self, x: Any) -> Node:
        """The node of a value: one of ours, a constant, or an input that stands for a value from outside."""
        if isinstance(x, Value):
            if x._trace is self:
                return x._value
            if x._trace is EAGER or x._trace is HALF:
                return self.builder.const(x._value)
            if x._trace.level > self.level:
                raise EndedTransformError(f"a Tensor of an inner transform was used outside of it{called_at()}")
            known = self._inside.get(identity(x))
            if known is None:
                known = self._inside[identity(x)] = self.builder.param(spec_of(x))
                self.captured.append(make(x._value, x._trace, x._extra))  # x itself may be updated in place
            return known
        return self.builder.const(x if isinstance(x, (bool, int, float, complex)) else constant(np.asarray(x)))

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        if self.ended:
            raise EndedTransformError(
                f"a graph value made inside {self.what} was kept and used after {self.what} had ended: it has no number. "
                f"Return it from the function instead.{called_at()}"
            )
        if (clean := gathered(xs)) is not None:
            return op(*clean)
        node = self.builder.build(op, [self.node(x) for x in xs])
        if op.effect:
            self.effects.append(node)
        if isinstance(node.spec, tuple):
            return tuple(make(self.builder.pick(node, i), self) for i in range(len(node.spec)))
        return make(node, self)

    def below(self, x: Any) -> Any:
        raise NeedsNumberError(
            f"Python needs a number here, but this is {x._value.spec} inside {self.what}, known only when the graph runs. "
            f"Use ops on Tensors, or make the argument static.{called_at()}"
        )


def identity(x: Any) -> Any:
    """What makes two Tensors of a transform one value."""
    return id(x._trace), id(x._value), id(x._extra)


def is_graph_value(x: Any) -> bool:
    """Whether a value is a node of a graph being built, perhaps inside other transforms."""
    while isinstance(x, Value):
        if isinstance(x._trace, Tracer):
            return True
        x = x._value
    return isinstance(x, Node)


def trace(
    fn: Callable[..., Sequence[Any]],
    specs: Sequence[Spec],
    name: str = "graph",
    what: str = "jit",
    branch: bool = False,
) -> tuple[Graph, list[Any]]:
    """The graph of a function of flat inputs that returns a list, and the values from outside that it uses.

    Those values are inputs of the graph behind its own.
    """
    tracer = Tracer(what)
    inputs = [tracer.param(s) for s in specs]
    try:
        with context.setting(context.branch, tracer if branch else context.branch.get()):
            outputs = [tracer.node(y) for y in fn(*inputs)]
    finally:
        tracer.ended = True
    return Graph(tuple(tracer.builder.params), tuple(outputs), name, tuple(tracer.effects)), tracer.captured
