"""A graph as text, one step a line, and back."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from adjoint.core.spec import Spec
from adjoint.graph.node import Builder, Const, Graph, Node, Param, Pick
from adjoint.ops.card import REGISTRY

NUMBERS = {"inf": np.inf, "nan": np.nan, "nanj": complex(0, np.nan), "infj": complex(0, np.inf)}


def show(graph: Graph) -> str:
    """The graph as text. Graphs inside control flow follow below, each under its name.

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
    names: dict[int, str] = {}
    blocks: list[str] = []
    pending = [graph]
    while pending:
        current = pending.pop(0)
        blocks.append(_block(current, names, pending))
    return "\n".join(blocks)


def _block(graph: Graph, names: dict[int, str], pending: list[Graph]) -> str:
    number = {node: f"%{i}" for i, node in enumerate(graph.nodes)}
    params = ", ".join(f"{number[p]}: {p.spec}" for p in graph.params)
    head = names.get(id(graph), "graph")
    lines = [f"{head} ({params}) -> {' '.join(number[o] for o in graph.outputs)}"]
    for node in graph.nodes:
        if isinstance(node.op, Param):
            continue
        spec = ", ".join(map(str, node.spec)) if isinstance(node.spec, tuple) else str(node.spec)
        what = _op(node, names, pending)
        lines.append(f"  {number[node]}: {spec} = {what}{''.join(' ' + number[i] for i in node.inputs)}")
    return "\n".join(lines)


def _op(node: Node, names: dict[int, str], pending: list[Graph]) -> str:
    if isinstance(node.op, Pick):
        return f"pick {node.op.index}"
    if isinstance(node.op, Const):
        value = node.op.value
        return f"const {np.asarray(value).tolist()!r}{' weak' if node.spec.weak else ''}"
    inside = [f"{k}={_name(v, names, pending)}" for k, v in vars(node.op).items() if isinstance(v, Graph)]
    return f"{node.op!r}" + (f"[{', '.join(inside)}]" if inside else "")


def _name(graph: Graph, names: dict[int, str], pending: list[Graph]) -> str:
    if id(graph) not in names:
        names[id(graph)] = f"@{len(names)}"
        pending.append(graph)
    return names[id(graph)]


LINE = re.compile(r"\s*(%\d+): (.*?) = (const .*|pick \d+|\w+\(.*\))((?: %\d+)*)$")
SPEC = re.compile(r"(\w+)\[([-\d, ]*)\]")


def read(text: str) -> Graph:
    """The graph that `show` printed. Graphs with control flow hold functions of their own and are not read back yet.

    >>> from adjoint import ops
    >>> from adjoint.core.spec import Spec
    >>> from adjoint.graph.trace import trace
    >>> graph = trace(lambda x: [ops.exp(x).sum()], [Spec((3,))])[0]
    >>> str(read(str(graph))) == str(graph)
    True
    """
    head, *lines = text.strip().splitlines()
    builder = Builder()
    found: dict[str, Node] = {}
    inputs, outputs = re.fullmatch(r"graph \((.*)\) -> (.*)", head).groups()  # type: ignore[union-attr]
    for name, dtype, shape in re.findall(r"(%\d+): (\w+)\[([-\d, ]*)\]", inputs):
        found[name] = builder.param(_spec(dtype, shape))
    for line in lines:
        match = LINE.match(line)
        if match is None:
            raise ValueError(f"not a line of a graph: {line!r}")
        name, spec, what, args = match.groups()
        found[name] = _node(builder, spec, what, [found[a] for a in args.split()])
    return Graph(tuple(builder.params), tuple(found[o] for o in outputs.split()))


def _spec(dtype: str, shape: str) -> Spec:
    return Spec(tuple(int(n) for n in shape.split(",") if n.strip()), np.dtype(dtype))


def _node(builder: Builder, spec: str, what: str, inputs: list[Node]) -> Node:
    if what.startswith("pick "):
        return builder.pick(inputs[0], int(what[5:]))
    if what.startswith("const "):
        dtype, _ = SPEC.match(spec).groups()  # type: ignore[union-attr]
        text, weak = (what[6:-5], True) if what.endswith(" weak") else (what[6:], False)
        value = _literal(text, {})
        return builder.const(value if weak else np.array(value, dtype))
    return builder.build(_literal(what, {**REGISTRY, "dtype": np.dtype}), inputs)


def _literal(text: str, names: dict[str, Any]) -> Any:
    """An op or number as Python prints it: names of ops and numbers alone, no other code."""
    import ast

    tree = ast.parse(text, mode="eval")
    allowed = (ast.Expression, ast.Call, ast.Name, ast.Load, ast.Constant, ast.Tuple, ast.List, ast.keyword, ast.UnaryOp, ast.USub,
               ast.BinOp, ast.Add, ast.Sub)  # fmt: skip
    for node in ast.walk(tree):
        if not isinstance(node, allowed) or (isinstance(node, ast.Name) and node.id not in {**names, **NUMBERS}):
            raise ValueError(f"not a part of a graph: {text!r}")
    return eval(compile(tree, "<graph>", "eval"), {"__builtins__": {}}, {**NUMBERS, **names})
