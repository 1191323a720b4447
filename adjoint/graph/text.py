"""A graph as text, one step a line, and back.

Everything that a graph computes with is in its text: graphs inside control flow follow as blocks of their own, numbers are
written exactly, effects are listed at the end of their block. What is read is data, never code.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import re
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from adjoint.core.errors import AdjointError
from adjoint.core.parsing import parsed
from adjoint.core.short_text import first_elements
from adjoint.core.spec import Spec, bfloat16
from adjoint.graph.effects import Field, Template, Text
from adjoint.graph.nested import Control
from adjoint.graph.node import Const, Graph, Node, Param, Pick, inferred
from adjoint.ops.card import REGISTRY, Op

#: Arrays with more elements are written as `all` of one number, or as the hexadecimal digits of their bytes.
LISTED = 64
#: In a brief text, of arrays with more elements the first ones are written.
LISTED_BRIEFLY = 8
WIDE = 240  # characters of an op in a brief text


class GraphTextError(AdjointError, ValueError):
    """A text that is not a graph; the message names the line."""


# ---------------------------------------------------------------- graph -> text


def show(graph: Graph, brief: bool = False) -> str:
    """The graph as text. Graphs inside control flow follow below, each under its name.

    With `brief`, which is how a graph prints, only the first elements of long constants are written: such a text does not read
    back.

    >>> import numpy as np
    >>> from adjoint import ops
    >>> from adjoint.core.spec import Spec
    >>> from adjoint.graph.trace import trace
    >>> print(trace(lambda x: [ops.sin(x) * 2.0], [Spec((3,))])[0])
    graph (%0: float64[3]) -> %3
      %1: float64[3] = Sin() %0
      %2: float64[] = const 2.0 weak
      %3: float64[3] = Mul() %1 %2
    """
    names: dict[Graph, str] = {}
    blocks = [_block("graph", graph, names, brief)]
    while len(blocks) <= len(names):
        inner = list(names)[len(blocks) - 1]
        blocks.append(_block(names[inner], inner, names, brief))
    return "\n".join(blocks)


def _block(head: str, graph: Graph, names: dict[Graph, str], brief: bool) -> str:
    number = {node: f"%{i}" for i, node in enumerate(graph.nodes)}
    params = ", ".join(f"{number[p]}: {p.spec}{' weak' if p.spec.weak else ''}" for p in graph.params)
    lines = [f"{head} ({params}) -> {' '.join(number[o] for o in graph.outputs)}"]
    for node in graph.nodes:
        if not isinstance(node.op, Param):
            spec = ", ".join(map(str, node.spec)) if isinstance(node.spec, tuple) else str(node.spec)
            inputs = "".join(" " + number[i] for i in node.inputs)
            lines.append(f"  {number[node]}: {spec} = {_step(node, names, brief)}{inputs}")
    if graph.effects:
        lines.append("  effects " + " ".join(number[n] for n in graph.effects))
    return "\n".join(lines)


def _step(node: Node, names: dict[Graph, str], brief: bool) -> str:
    op = node.op
    if isinstance(op, Pick):
        return f"pick {op.index}"
    if isinstance(op, Const):
        return f"const {_number(op.value, brief)}{' weak' if node.spec.weak else ''}"
    text = _op(op, names)
    return text if not brief or len(text) <= WIDE else f"{text[: WIDE - 40]} … {text[-30:]}"


def _op(op: Any, names: dict[Graph, str]) -> str:
    if not dataclasses.is_dataclass(op):
        return repr(op)
    # Control flow has many fields that are seldom used; those of other ops are all shown.
    fields = [f for f in dataclasses.fields(op) if f.repr]
    shown = [f for f in fields if not isinstance(op, Control) or getattr(op, f.name) != f.default]
    values = ", ".join(f"{f.name}={_field(getattr(op, f.name), names)}" for f in shown)
    return f"{type(op).__name__}({values})"


def _number(value: Any, brief: bool) -> str:
    """A constant's value, exactly, or of many elements the first ones."""
    if isinstance(value, (np.ndarray, np.generic)):
        if value.size > (LISTED_BRIEFLY if brief else LISTED):
            data, first = value.tobytes(), value.flat[0]
            same = first == first and data == first.tobytes() * value.size  # a NaN may have more to it than its name
            if same:
                return f"all {_field(first, {})}"
            return f"[{first_elements(value)}]" if brief else f"hex {data.hex()}"
        value = value.tolist()
    return _field(value, {})


def _field(value: Any, names: dict[Graph, str]) -> str:
    """The value of a field, or a number, in a form that reads back."""
    if isinstance(value, Graph):
        return names.setdefault(value, f"@{len(names)}")
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, complex):
        return f"complex({value.real!r}, {value.imag!r})"
    if isinstance(value, np.dtype):
        return f"dtype('{value}')"
    if isinstance(value, slice):
        return f"slice({_field(value.start, names)}, {_field(value.stop, names)}, {_field(value.step, names)})"
    if isinstance(value, list):
        return f"[{', '.join(_field(v, names) for v in value)}]"
    if type(value) is tuple:
        return f"({', '.join(_field(v, names) for v in value)}{',' if len(value) == 1 else ''})"
    if isinstance(value, Op):
        return _op(value, names)
    return "..." if value is Ellipsis else _message(value, names)


INPUT = type("Input", (), {})()  # where a message takes an input of its op
NUMBER = type("Number", (), {})()  # the same, of one that is a number to Python


def _message(value: Any, names: dict[Graph, str]) -> str:
    """What effects hold beside numbers: messages, print's options, kinds of exceptions."""
    if isinstance(value, Template):
        leaves = [INPUT if i in value.places else leaf for i, leaf in enumerate(value.leaves)]
        leaves = [NUMBER if i in value.numbers else leaf for i, leaf in enumerate(leaves)]
        return f"template({_field(value.rebuild(leaves), names)})"
    if isinstance(value, Text):
        return f"text({', '.join(_field(p, names) for p in value.parts)})"
    if isinstance(value, Field):
        return f"field({_field(value.value, names)}, {value.conversion!r}, {value.spec!r})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_field(k, names)}: {_field(v, names)}" for k, v in value.items()) + "}"
    name = getattr(value, "__name__", "")
    if isinstance(value, type) and vars(builtins).get(name) is value:
        return name
    return "input" if value is INPUT else "number" if value is NUMBER else repr(value)


# ---------------------------------------------------------------- text -> graph

HEAD = re.compile(r"(graph|@\d+) \((.*)\) -> (.*)")
PARAM = re.compile(r"(%\d+): (\w+)\[([-\d, ]*)\]( weak)?")
LINE = re.compile(r"  (%\d+): (.*?) = (const .*|pick \d+|\w+\(.*\))((?: %\d+)*)")
SPEC = re.compile(r"(\w+)\[([-\d, ]*)\]")
INNER = re.compile(r"=@(\d+)(?=[,)])")


def read(text: str) -> Graph:
    """The graph that `show` printed: the same text, the same results.

    >>> from adjoint import ops
    >>> from adjoint.core.spec import Spec
    >>> from adjoint.graph.trace import trace
    >>> graph = trace(lambda x: [ops.exp(x).sum()], [Spec((3,))])[0]
    >>> show(read(show(graph))) == show(graph)
    True
    >>> read("graph (%0: float64[3]) -> %1")
    Traceback (most recent call last):
    adjoint.graph.text.GraphTextError: line 1: %1 is not defined: 'graph (%0: float64[3]) -> %1'
    """
    return _Reader(text).graph("graph")


class _Reader:
    """Reads the blocks of a text, each when it is first needed."""

    def __init__(self, text: str) -> None:
        self.lines = text.rstrip().split("\n")
        self.blocks: dict[str, range] = {}
        self.known: dict[str, Graph] = {}
        self.open: set[str] = set()
        self.made: dict[str, Op] = {}
        self.at = 0
        self.ops = {**REGISTRY, **{c.__name__: c for c in _subclasses(Control)}}
        starts = [i for i, line in enumerate(self.lines) if not line.startswith(" ")]
        for start, end in zip(starts, [*starts[1:], len(self.lines)], strict=True):
            self.at = start
            name = self._match(HEAD, "not the head of a graph").group(1)
            if name in self.blocks:
                self._fail(f"a second graph {name}")
            self.blocks[name] = range(start, end)
        if not starts or starts[0] or "graph" not in self.blocks:
            self.at = 0
            self._fail("a text begins with `graph (inputs) -> results`")

    def _fail(self, why: str) -> NoReturn:
        raise GraphTextError(f"line {self.at + 1}: {why}: {self.lines[self.at][:200]!r}") from None

    def _match(self, pattern: re.Pattern[str], why: str) -> re.Match[str]:
        return pattern.fullmatch(self.lines[self.at]) or self._fail(why)

    def graph(self, name: str) -> Graph:
        """The graph of a block."""
        if name in self.known:
            return self.known[name]
        if name not in self.blocks:
            self._fail(f"there is no graph {name}")
        if name in self.open:
            self._fail(f"the graph {name} holds itself")
        self.open.add(name)
        back, rows = self.at, self.blocks[name]
        self.at = rows[0]
        _, inputs, outputs = self._match(HEAD, "not the head of a graph").groups()
        found: dict[str, Node] = {}
        for k, one in enumerate(re.split(r", (?=%)", inputs) if inputs else []):
            match = PARAM.fullmatch(one) or self._fail(f"not an input: {one}")
            found[match[1]] = Node(Param(k), (), Spec(self._shape(match[3]), self._dtype(match[2]), bool(match[4])))
        params = tuple(found.values())
        effects: tuple[Node, ...] = ()
        for self.at in rows[1:]:
            if self.lines[self.at].startswith("  effects "):
                effects = self._nodes(found, self.lines[self.at][10:])
                continue
            key, spec, what, args = self._match(LINE, "not a step of a graph").groups()
            if key in found:
                self._fail(f"{key} is defined twice")
            found[key] = self._node(spec, what, self._nodes(found, args))
        self.at = rows[0]
        self.known[name] = Graph(params, self._nodes(found, outputs), effects=effects)
        self.at = back
        self.open.discard(name)
        return self.known[name]

    def _nodes(self, found: dict[str, Node], names: str) -> tuple[Node, ...]:
        for name in names.split():
            if name not in found:
                self._fail(f"{name} is not defined")
        return tuple([found[name] for name in names.split()])

    def _shape(self, text: str) -> tuple[int, ...]:
        return tuple(int(n) for n in text.split(",") if n.strip())

    def _dtype(self, name: str) -> np.dtype:
        try:
            return bfloat16() if name == "bfloat16" else np.dtype(name)
        except TypeError:
            self._fail(f"no dtype is called {name}")

    def _node(self, spec: str, what: str, inputs: tuple[Node, ...]) -> Node:
        if what.startswith("const "):
            return self._const(spec, what[6:])
        if what.startswith("pick "):
            index = int(what[5:])
            if len(inputs) != 1 or not isinstance(inputs[0].spec, tuple) or index >= len(inputs[0].spec):
                self._fail("a pick of a result that is not there")
            return Node(Pick(index), inputs, inputs[0].spec[index])
        op = self.made.get(what)
        if op is None:
            op = self.made[what] = self._parsed(INNER.sub(r"=_inner\1", what), self._op)
        try:
            made = inferred(op, tuple([i.spec for i in inputs]))
        except Exception as error:
            self._fail(f"{type(error).__name__}: {error}")
        if (said := ", ".join(map(str, made)) if isinstance(made, tuple) else str(made)) != spec:
            self._fail(f"{spec} is written, {said} comes out")
        return Node(op, inputs, made)

    def _const(self, spec: str, text: str) -> Node:
        match = SPEC.fullmatch(spec) or self._fail(f"not a shape and dtype: {spec}")
        dtype, shape = self._dtype(match[1]), self._shape(match[2])
        try:
            if text.endswith(" weak"):
                value = self._parsed(text[:-5], self._value)
                if type(value) not in (bool, int, float, complex):
                    self._fail("only one Python number can be weak")
                return Node(Const(value), (), Spec((), dtype, weak=True))
            if text.startswith("hex "):
                array = np.frombuffer(bytearray.fromhex(text[4:]), dtype).reshape(shape)
            elif text.startswith("all "):
                array = np.full(shape, self._parsed(text[4:], self._value), dtype)
            else:
                array = np.array(self._parsed(text, self._value), dtype).reshape(shape)
        except (ValueError, TypeError, OverflowError) as error:
            if isinstance(error, GraphTextError):
                raise
            self._fail(str(error))
        return Node(Const(array), (), Spec(shape, dtype))

    # ------------------------------------------------------------ values

    def _parsed(self, text: str, reader: Callable[[ast.expr], Any]) -> Any:
        try:
            return reader(parsed(text, mode="eval").body)
        except (SyntaxError, RecursionError, MemoryError):
            self._fail("not a part of a graph")

    def _op(self, tree: ast.expr) -> Op:
        """`Name(field=value, ...)`."""
        if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
            self._fail("not an op")
        kind = self.ops.get(tree.func.id)
        if kind is None:
            self._fail(f"no op is called {tree.func.id}")
        if tree.args or any(k.arg is None for k in tree.keywords):
            self._fail("fields are written as name=value")
        try:
            return kind(**{str(k.arg): self._value(k.value) for k in tree.keywords})
        except TypeError as error:
            self._fail(str(error))

    def _value(self, tree: ast.expr) -> Any:
        """A number, name or container."""
        match tree:
            case ast.Constant(value):
                return value
            case ast.Name(name):
                return self._name(name)
            case ast.UnaryOp(ast.USub(), operand):
                value = self._value(operand)
                return -value if isinstance(value, (int, float, complex)) else self._fail("a minus before no number")
            case ast.Tuple(items):
                return tuple([self._value(i) for i in items])
            case ast.List(items):
                return [self._value(i) for i in items]
            case ast.Dict(keys, values) if None not in keys:
                return {self._value(k): self._value(v) for k, v in zip(keys, values, strict=True)}  # type: ignore[arg-type]
            case ast.Call(ast.Name(name), args, []) if args and name in MAKERS:
                return MAKERS[name](*[self._value(a) for a in args])
            case ast.Call(ast.Name("dtype"), [ast.Constant(str(name))], []):
                return self._dtype(name)
            case ast.Call():
                return self._op(tree)
        self._fail(f"neither a number nor the name of one: {ast.unparse(tree)}")

    def _name(self, name: str) -> Any:
        if name in ("nan", "inf"):
            return float(name)
        if name in ("input", "number"):
            return INPUT if name == "input" else NUMBER
        if name.startswith("_inner"):
            return self.graph("@" + name[6:])
        kind = vars(builtins).get(name)
        if isinstance(kind, type) and issubclass(kind, BaseException):
            return kind
        self._fail(f"the name {name} means nothing here")


#: What is written as a call with values alone.
MAKERS: dict[str, Callable[..., Any]] = {
    "complex": complex,
    "slice": slice,
    "field": Field,
    "text": lambda *parts: Text(parts),
    "template": lambda value: Template.of(value, lambda x: x is INPUT or x is NUMBER, lambda x: x is NUMBER)[0],
}


def _subclasses(kind: Any) -> list[type[Op]]:
    return [*kind.__subclasses__(), *(c for child in kind.__subclasses__() for c in _subclasses(child))]
