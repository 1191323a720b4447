"""Node and Graph: a program as a value. Nodes are frozen and interned, so that equal ones are one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from adjoint.core.context import place as gone_through
from adjoint.core.dispatch import located
from adjoint.core.errors import AdjointError
from adjoint.core.spec import Shape, Spec, spec_of
from adjoint.ops.facts import Facts


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One step: `op` applied to `inputs`. A call with several results has a tuple of Specs, and a `Pick` for each."""

    op: Any
    inputs: tuple[Node, ...]
    spec: Any
    place: tuple[str, int] | None = field(default=None, repr=False)  # file and line of the user's that made it
    rounded: bool = field(default=False, repr=False)  # an array on one way, on the other a Python number in its dtype

    @property
    def shape(self) -> Shape:
        return self.spec.shape

    @property
    def dtype(self) -> np.dtype:
        return self.spec.dtype

    @property
    def ndim(self) -> int:
        return len(self.spec.shape)


def stands_for(param: Node, node: Node) -> None:
    """Note that an input of a graph stands for a node of another: it has that one's line."""
    object.__setattr__(param, "place", node.place)


class Structural(Facts):
    """What stands where a node has its op and is no card: none of the facts that cards are asked for holds."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Param(Structural):
    """An input of a graph."""

    index: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Pick(Structural):
    """One of several results of a call."""

    index: int


@dataclass(frozen=True, slots=True, eq=False)
class Const(Structural):
    """A number or array known when the graph is built. Small ones are equal by value."""

    is_constant: ClassVar[bool] = True

    value: Any

    @property
    def key(self) -> Any:
        value = self.value
        if not isinstance(value, (np.ndarray, np.generic)):
            return type(value), repr(value)
        if value.size > 64:
            return id(value)
        return value.dtype.str, value.shape, value.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        value = self.value
        return f"Const({value.tolist() if isinstance(value, (np.ndarray, np.generic)) and value.size < 9 else '...'})"


#: While this is set, equal constants stay apart: a number that happens to equal a size must not become one with it.
constants_apart: ContextVar[bool] = ContextVar("constants_apart", default=False)


class Builder:
    """Makes the nodes of one graph: infers their Specs, and returns the node it made before where it is the same."""

    def __init__(self, locate: Callable[[], tuple[str, int] | None] | None = None) -> None:
        self._known: dict[Any, Node] = {}
        self._locate = locate  # where the user's program is; None where no program of the user's makes the nodes
        self.params: list[Node] = []

    def param(self, spec: Spec, name: str = "") -> Node:
        """A new input."""
        node = Node(Param(len(self.params), name), (), spec)
        self.params.append(node)
        return node

    def const(self, value: Any) -> Node:
        """A known number or array."""
        if constants_apart.get():
            return Node(Const(value), (), spec_of(value))
        return self._interned(Const(value), (), lambda: spec_of(value), None)

    def build(self, op: Any, inputs: Sequence[Node]) -> Node:
        """The application of an op."""
        return self._interned(op, tuple(inputs), lambda: inferred(op, tuple([n.spec for n in inputs])), None)

    def pick(self, call: Node, index: int) -> Node:
        """One result of a call with several."""
        return self._interned(Pick(index), (call,), lambda: call.spec[index], call.place)

    def keep(self, node: Node, op: Any, inputs: tuple[Node, ...]) -> Node:
        """A node of another graph with these inputs (and this form of its op): itself if nothing changed."""
        if op is node.op and inputs == node.inputs:
            return node if op.effect else self._known.setdefault((op, tuple(map(id, inputs))), node)
        if isinstance(op, Pick):
            return self.pick(inputs[0], op.index)
        return self._interned(op, inputs, lambda: inferred(op, tuple([n.spec for n in inputs])), node.place)

    def _interned(self, op: Any, inputs: tuple[Node, ...], infer: Any, place: tuple[str, int] | None) -> Node:
        if op.effect:  # what it does is done each time
            return Node(op, inputs, infer(), place or self._place())
        key = (op, tuple(map(id, inputs)))
        node = self._known.get(key)
        if node is None:
            node = self._known[key] = Node(op, inputs, infer(), place or self._place())
        return node

    def _place(self) -> tuple[str, int] | None:
        """Where a node comes from: the step of another graph that is gone through, or the user's program."""
        return gone_through.get() or (self._locate() if self._locate is not None else None)


def inferred(op: Any, specs: tuple[Spec, ...]) -> Any:
    """The Spec of an op's result; worked out once for equal calls."""
    try:
        return (
            op.infer(*specs) if op.opaque or hasattr(op, "graphs") else _inferred(op, specs)
        )  # no table holds a graph
    except AdjointError as error:
        raise located(error) from None


@lru_cache(maxsize=16384)
def _inferred(op: Any, specs: tuple[Spec, ...]) -> Any:
    return op.infer(*specs)


@dataclass(frozen=True, eq=False)
class Graph:
    """A program: inputs, results, and the nodes between them. `effects` (prints, checks) run though no result needs them."""

    params: tuple[Node, ...]
    outputs: tuple[Node, ...]
    name: str = "graph"
    effects: tuple[Node, ...] = ()

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every node that results and effects need, and all inputs, each after the nodes it needs itself."""
        return tuple(ordered([*self.params, *self.effects, *self.outputs]))

    @property
    def calls(self) -> list[Node]:
        """The nodes that compute something."""
        return [n for n in self.nodes if not isinstance(n.op, (Param, Const, Pick))]

    @property
    def specs(self) -> tuple[Spec, ...]:
        """The Specs of the results."""
        return tuple(n.spec for n in self.outputs)

    def topological_order(self) -> tuple[Node, ...]:
        """Every node, each after the nodes it needs."""
        return self.nodes

    def __str__(self) -> str:
        from adjoint.graph.text import show

        return show(self, brief=True)

    __repr__ = __str__

    def _repr_svg_(self) -> str:
        """A picture, for notebooks; the package knows what draws it."""
        return sys.modules["adjoint"].draw(self, derivative=False, passes=False).svg()


def ordered(roots: Iterable[Node], given: Iterable[Node] = ()) -> list[Node]:
    """The roots and all they need beyond what is given, each node after its inputs. No recursion: programs may be deep."""
    known = set(given)
    done: dict[Node, None] = {}
    stack = [(n, False) for n in reversed(list(roots))]
    while stack:
        node, ready = stack.pop()
        if node in done or node in known:
            continue
        if ready:
            done[node] = None
        else:
            stack.append((node, True))
            stack += [(n, False) for n in reversed(node.inputs) if n not in done]
    return list(done)
