"""Where a compiled function leaves float32 for float64 though nobody asked for it: a NumPy number or array among float32 values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adjoint.core.context import DerivativePlace
from adjoint.core.errors import PromotionWarning, shown_place, warn_at
from adjoint.core.spec import Spec, elements, float32, float64
from adjoint.graph.nested import Control
from adjoint.graph.node import Const, Graph, Node, Param, Pick

ARGUMENT, WEIGHT, OUTSIDE, CAST = "argument", "weight", "outside", "cast"
Sources = Mapping[Node, frozenset[str]]


@dataclass(frozen=True, eq=False)
class Promotion:
    """A step that makes float64 of float32 values: what was float32, and the value that did it."""

    node: Node
    narrow: Node
    wide: Node  # an input of the graph or a constant

    def told(self, name: str) -> str:
        """The warning: what happened, where, and what to do. `name` says what an input of the graph is to the user."""
        assert self.node.place is not None
        kind = type(self.node.op).__name__
        by, mend = _shown(self.wide, name)
        return (
            f"{kind} makes float64 of {self.narrow.spec}: {by}. What follows is computed in float64, which is slower and takes "
            f"twice the memory\n    at {shown_place(self.node.place)}\n    {mend}"
        )


def _shown(wide: Node, name: str) -> tuple[str, str]:
    """The value that made the result float64, and how to keep it from doing so."""
    spec = wide.spec
    if name:
        return (
            f"{name} is {spec}",
            f"Pass it as float32, as in `{name.strip('`')}.astype(np.float32)`, or give the network float64 Parameters.",
        )
    if spec.shape == ():
        value = f"{wide.op.value!r} " if isinstance(wide.op, Const) else ""
        return (
            f"the other operand {value}is a NumPy number ({spec.dtype})",
            "A Python number takes the dtype of the array: write `float(value)`, or `np.float32(value)`.",
        )
    return (
        f"the other operand comes from an array outside the function, {spec}",
        "Make it float32: `array.astype(np.float32)`, or `ad.Tensor(array, ad.float32)`.",
    )


def promotion(graph: Graph, known: Sources) -> Promotion | None:
    """The first step of a program in which float32 values become float64 by a NumPy value; None in most programs.

    `known` says of the graph's inputs whether they are arguments, weights or values from outside. What the user casts is
    meant, and so is an argument in float64 beside one in float32; a float64 argument of a network in float32 is not.
    """
    if not any(_is_narrow(p) for p in graph.params):
        return None
    return next(_promotions(graph, dict(known), {}), None)


def _promotions(graph: Graph, sources: dict[Node, frozenset[str]], leaf: dict[Node, Node]) -> Iterator[Promotion]:
    for node in graph.nodes:
        op = node.op
        if isinstance(op, Param):
            sources.setdefault(node, frozenset())
            leaf.setdefault(node, node)
        elif isinstance(op, Const):
            sources[node], leaf[node] = frozenset() if node.spec.weak else frozenset({OUTSIDE}), node
        else:
            sources[node] = frozenset().union(*(sources[i] for i in node.inputs))
            if getattr(op, "dtype", float32) == float64 and any(_is(i.spec, float32) for i in node.inputs):
                sources[node] |= {CAST}  # an op that is told its dtype
            if isinstance(op, Control):
                yield from _inside(node, sources, leaf)
            found = _found(node, sources)
            if found is not None:
                yield Promotion(node, found[0], leaf[found[1]])
            wide = [i for i in node.inputs if _widens(i.spec)]
            leaf[node] = leaf[wide[0] if wide else node.inputs[0]] if node.inputs else node


def _inside(node: Node, sources: dict[Node, frozenset[str]], leaf: dict[Node, Node]) -> Iterator[Promotion]:
    """Those in the graphs of branches and loops, whose inputs are those of the node."""
    for inner in node.op.graphs().values():
        inputs = node.inputs[len(node.inputs) - len(inner.params) :]
        if len(inputs) == len(inner.params):
            given = dict(zip(inner.params, inputs, strict=True))
            yield from _promotions(
                inner, {p: sources[i] for p, i in given.items()}, {p: leaf[i] for p, i in given.items()}
            )


def _found(node: Node, sources: Sources) -> tuple[Node, Node] | None:
    """The float32 and the wider input of a step that computes in float64 because of the latter."""
    place, op = node.place, node.op
    if place is None or isinstance(place, DerivativePlace) or isinstance(node.spec, tuple) or isinstance(op, Pick):
        return None
    if node.spec.dtype != float64 or not (op.elementwise or op.dense):
        return None  # what is written into a float64 array, or put beside one, has been given its place there
    narrow = [i for i in node.inputs if _is_narrow(i)]
    wide = [i for i in node.inputs if _widens(i.spec) and CAST not in sources[i]]
    for small in narrow:
        for large in wide:
            if OUTSIDE in sources[large] and elements(small.spec) >= elements(large.spec):
                return small, large
            if sources[small] == {WEIGHT} and small.ndim > 1 and sources[large] and large.dtype.kind == "f":
                return small, large
    return None


def _is(spec: Any, dtype: Any) -> bool:
    """Whether a value is one array of a dtype."""
    return isinstance(spec, Spec) and spec.dtype == dtype


def _is_narrow(node: Node) -> bool:
    """Whether a value is an array of float32."""
    return _is(node.spec, float32) and elements(node.spec) > 1


def _widens(spec: Any) -> bool:
    """Whether an operand makes float64 of float32: float64 and integers of 32 and 64 bits, but for Python's own numbers."""
    if not isinstance(spec, Spec) or spec.weak:
        return False
    return spec.dtype == float64 or (spec.dtype.kind in "iu" and spec.dtype.itemsize >= 4)


def warn(graph: Graph, arguments: Mapping[Node, str], weights: Sequence[Node], outside: Sequence[Node]) -> bool:
    """Warn of the first promotion in a graph, at its line; whether there was one. The inputs that are arguments have names."""
    kinds = ((ARGUMENT, arguments), (WEIGHT, weights), (OUTSIDE, outside))
    found = promotion(graph, {p: frozenset({kind}) for kind, params in kinds for p in params})
    if found is None:
        return False
    place = found.node.place
    assert place is not None
    warn_at(place, found.told(arguments.get(found.wide, "")), PromotionWarning)
    return True
