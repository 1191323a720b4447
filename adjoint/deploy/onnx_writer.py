"""Writing ONNX: nodes with fresh names, constants, graphs inside graphs, and what a rule of a card is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from adjoint.core.errors import AdjointError, NotExportableError, called_at, shown_place
from adjoint.core.spec import Spec
from adjoint.graph.control import Control, Loop
from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Const, Graph, Node, Param, Pick

#: The dtypes that ONNX models of ours hold.
KNOWN = frozenset("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split())  # noqa: SIM905
FEW = 16  # elements of a constant that is written out though they are all the same

int64 = np.dtype(np.int64)
boolean = np.dtype(np.bool_)

Rule = Callable[["CardCall"], Any]


def library() -> Any:
    """The package onnx, which is loaded when it is first needed."""
    try:
        import onnx
    except ImportError:
        raise AdjointError(
            f"export: an ONNX model is written with the package onnx, which is not installed: pip install 'adjoint[onnx]'"
            f"{called_at()}"
        ) from None
    return onnx


def element_type(dtype: np.dtype) -> int:
    """ONNX's number for a dtype."""
    return int(library().helper.np_dtype_to_tensor_dtype(dtype))


class Writer:
    """The nodes of a model under construction."""

    def __init__(self, rules: dict[type, Rule], refused: dict[str, str], taken: Sequence[str], few: int = FEW) -> None:
        self.rules, self.refused, self.few = rules, refused, few
        self.taken = set(taken)
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}
        self._numbers: dict[str, int] = {}

    def fresh(self, hint: str) -> str:
        """A name that nothing has."""
        while True:
            self._numbers[hint] = number = self._numbers.get(hint, 0) + 1
            if (name := f"{hint}_{number}") not in self.taken:
                return name

    def add(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """A node: the name of its result, or a list of names."""
        names = [self.fresh(kind) for _ in range(outputs)]
        self.nodes.append(library().helper.make_node(kind, list(inputs), names, name=f"{names[0]}_node", **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value: Any, dtype: np.dtype | None = None) -> str:
        """The name of a constant: an initializer of the model."""
        array = np.ascontiguousarray(value, dtype).reshape(np.shape(value))
        name = self.fresh("constant")
        self.constants[name] = array
        return name

    def known(self, value: Any, dtype: np.dtype) -> str:
        """The name of an array that the program knows: one number, expanded, where all elements are the same."""
        array = np.asarray(value, dtype)
        if array.ndim and array.size > self.few and array.reshape(-1)[:1].tobytes() * array.size == array.tobytes():
            return str(self.add("Expand", self.constant(array.reshape(-1)[0]), self.constant(array.shape, int64)))
        return self.constant(array)

    def cast(self, name: str, old: np.dtype, new: np.dtype) -> str:
        """The same in another dtype."""
        return name if old == new else str(self.add("Cast", name, to=element_type(new)))

    def info(self, name: str, spec: Spec) -> Any:
        """ONNX's description of a value; axes of unknown size are open."""
        sizes = [None if n < 0 else n for n in spec.shape]
        return library().helper.make_tensor_value_info(name, element_type(spec.dtype), sizes)

    @contextmanager
    def inside(self) -> Iterator[list[Any]]:
        """The nodes that are added inside belong to a graph of their own."""
        outer, self.nodes = self.nodes, []
        try:
            yield self.nodes
        finally:
            self.nodes = outer

    def graph(self, graph: Graph, inputs: Sequence[str]) -> list[str]:
        """Add the nodes of a graph: the names of its results."""
        found: dict[Node, Any] = dict(zip(graph.params, inputs, strict=True))
        if graph.effects:
            names = ", ".join(dict.fromkeys(name for n in graph.effects for name in effects_of(n)))
            raise NotExportableError(f"export: ONNX has no effects, such as {names}{_where(graph.effects[0])}")
        for node in graph.nodes:
            if node not in found:
                found[node] = self._node(node, found)
        return [found[n] for n in graph.outputs]

    def _node(self, node: Node, found: dict[Node, Any]) -> Any:
        if isinstance(node.op, Const):
            check(node, node.spec)
            return self.known(node.op.value, node.spec.dtype)
        if isinstance(node.op, Pick):
            return found[node.inputs[0]][node.op.index]
        assert not isinstance(node.op, Param), f"{node.op} is no input of this graph"
        for spec in (*(node.spec if isinstance(node.spec, tuple) else (node.spec,)), *(i.spec for i in node.inputs)):
            check(node, spec)
        op = in_place_or_not(node.op)
        rule = self.rules.get(type(op))
        if rule is None:
            name = type(op).__name__
            raise NotExportableError(
                f"export: {name} has no form in ONNX: {self.refused.get(name, OTHER)}{_where(node)}"
            )
        return rule(CardCall(self, node, [found[i] for i in node.inputs]))


def in_place_or_not(op: Any) -> Any:
    """An op without the note, of compiled functions inside, that it may overwrite its first input."""
    return op.op if isinstance(op, InPlace) else op


def effects_of(node: Node) -> list[str]:
    """The effects that a node has, or that branches and loops have inside."""
    op: Any = node.op
    inside = [e for graph in op.graphs().values() for e in graph.effects] if isinstance(op, Control) else []
    return [name for e in inside for name in effects_of(e)] or [type(op).__name__]


OTHER = "it is an op of a program's own"


def check(node: Node, spec: Any) -> None:
    """Refuse dtypes and sizes that models of ours do not hold."""
    for one in spec if isinstance(spec, tuple) else (spec,):
        if one.dtype.name not in KNOWN:
            raise NotExportableError(
                f"export: {type(node.op).__name__} on {one.dtype} has no form in ONNX{_where(node)}"
            )
        if min(one.shape, default=0) < 0 and not isinstance(node.op, Loop):
            raise NotExportableError(
                f"export: {type(node.op).__name__} on an array with as many elements as a loop has iterations is not written "
                f"to ONNX{_where(node)}"
            )


def _where(node: Node) -> str:
    return f" (at {shown_place(node.place)})" if node.place else ""


class CardCall:
    """One step to be written: its op, its inputs by name, and the Specs of inputs and result."""

    def __init__(self, writer: Writer, node: Node, names: list[Any]) -> None:
        self.writer, self.node, self.names = writer, node, names
        self.op: Any = in_place_or_not(node.op)
        self.spec: Any = node.spec
        self.specs: list[Spec] = [i.spec for i in node.inputs]
        self.add, self.constant = writer.add, writer.constant

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the result."""
        return self.spec.dtype  # type: ignore[no-any-return]

    def x(self, k: int = 0, dtype: np.dtype | None = None) -> str:
        """An input, in this dtype; constants are converted now."""
        node, want = self.node.inputs[k], self.specs[k].dtype if dtype is None else dtype
        if isinstance(node.op, Const) and want != node.spec.dtype:
            return self.writer.known(np.asarray(node.op.value).astype(want), want)
        return self.writer.cast(self.names[k], node.spec.dtype, want)

    def all(self, dtype: np.dtype | None = None) -> list[str]:
        """The inputs in one dtype, by default the result's."""
        return [self.x(k, self.dtype if dtype is None else dtype) for k in range(len(self.names))]

    def number(self, value: Any, dtype: np.dtype | None = None) -> str:
        """A constant number, in the result's dtype by default."""
        return self.constant(np.asarray(value, self.dtype if dtype is None else dtype))

    def ints(self, *values: int) -> str:
        """A list of integers: axes, shapes, places."""
        return self.constant(np.array(values, np.int64).reshape(len(values)))

    def where(self, test: str, yes: str, no: str) -> str:
        return str(self.add("Where", test, yes, no))

    def refuse(self, why: str) -> NotExportableError:
        """The error for a call that has no counterpart, though others of its op have."""
        return NotExportableError(f"export: {self.op} has no form in ONNX: {why}{_where(self.node)}")
