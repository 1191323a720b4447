"""A graph as Python statements: expressions in NumPy, `if`, `for` and `while`, with the user's names."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.core.spec import Spec, is_half
from adjoint.explanations.array_text import array_text, dtype_text, number_tree
from adjoint.explanations.named_program import NamedPlace
from adjoint.explanations.source_text import SourceText
from adjoint.explanations.spelling import filled, parsed, spelled
from adjoint.graph.control import Cond, Loop
from adjoint.graph.inplace import InPlace
from adjoint.graph.nested import Control
from adjoint.graph.node import Const, Graph, Node, Param, Pick, Structural
from adjoint.graph.walk import uses
from adjoint.ops.movement import Movement

#: Characters of an expression beyond which its parts get names.
WIDTH = 76
WIDEST = 92
ATOMS = (ast.Name, ast.Constant)


class Statements:
    """The statements of one graph."""

    def __init__(self, writer: SourceText, graph: Graph, params: Sequence[ast.expr], inner: bool = False) -> None:
        self.writer, self.graph, self.inner = writer, graph, inner
        writer.plain = not needs_numpy(graph) if writer.plain is None else writer.plain  # the outermost graph decides
        self.lines: list[str] = []
        self.found: dict[Node, ast.expr] = dict(zip(graph.params, params, strict=True))
        self.uses = uses(graph)
        self.owners = _owners(graph)
        self._place: tuple[str, int] | None = None
        for node in graph.nodes:
            if node not in self.found:
                self._node(node)

    def results(self) -> list[ast.expr]:
        """The results as expressions; plain Python numbers have their dtype."""
        return [self._result(n) for n in self.graph.outputs]

    def _result(self, node: Node) -> ast.expr:
        if isinstance(node.op, Const):
            value = node.op.value
            return self.writer.constant(np.asarray(value, node.dtype)[()] if not np.ndim(value) else value, False)
        return self.found[node]

    # ------------------------------------------------------------ single nodes

    def _node(self, node: Node) -> None:
        op = node.op.op if isinstance(node.op, InPlace) else node.op
        if isinstance(op, Const):
            return  # written where it is used
        if isinstance(op, Cond):
            return self._cond(node, op)
        if isinstance(op, Loop):
            return self._loop(node, op)
        if isinstance(op, Pick):
            if node not in self.found:
                self._keep(node, ast.Subscript(self.found[node.inputs[0]], ast.Constant(op.index)))
            return None
        pattern = spelled(op, [i.spec for i in node.inputs], node.spec)
        tree = filled(pattern, self._inputs(node, op))
        while len(ast.unparse(tree)) > WIDEST and self._shortened(node):
            tree = filled(pattern, self._inputs(node, op))
        if isinstance(node.spec, tuple):
            return self._several(node, tree)
        self._keep(node, self._rounded(node, op, tree))
        return None

    def _shortened(self, node: Node) -> bool:
        """Give the longest expression among a node's inputs a name; False if there is none."""
        lengths = {
            i: len(ast.unparse(t)) for i in node.inputs if not isinstance(t := self.found.get(i), (*ATOMS, type(None)))
        }
        longest = max(lengths, key=lengths.__getitem__, default=None)
        if longest is None or lengths[longest] < 12:
            return False
        self.found[longest] = self._assigned(longest, self.found[longest], "")
        return True

    def _inputs(self, node: Node, op: Any) -> list[ast.expr]:
        wide = _in_half(node, op)
        return [
            self._widened(i, self._operand(i, node, op)) if wide else self._operand(i, node, op) for i in node.inputs
        ]

    def _operand(self, i: Node, node: Node, op: Any) -> ast.expr:
        if not isinstance(i.op, Const):
            return self.found[i]
        strong = [n.spec.dtype for n in node.inputs if not isinstance(n.op, Const) and not n.spec.weak]
        return self.writer.constant(i.op.value, bool(op.elementwise) and i.spec.dtype in strong)

    def _widened(self, i: Node, tree: ast.expr) -> ast.expr:
        return _as_dtype(tree, i.spec, np.dtype(np.float32)) if is_half(i.spec.dtype) else tree

    def _rounded(self, node: Node, op: Any, tree: ast.expr) -> ast.expr:
        return _as_dtype(tree, node.spec, node.spec.dtype) if _in_half(node, op) and is_half(node.spec.dtype) else tree

    def _keep(self, node: Node, tree: ast.expr) -> None:
        """Let a node stand for an expression: inside the one that uses it, or with a name."""
        variable = self.owners.get(node, "")
        short = len(ast.unparse(tree)) <= WIDTH
        user = self._only_user(node)
        if (isinstance(tree, ATOMS) and not variable) or (
            short and not variable and user is not None and self._fits_into(node, user)
        ):
            self.found[node] = tree
        elif short and user is None and self.uses[node] == 1 and (self.inner or len(self.graph.outputs) == 1):
            self.found[node] = tree  # a result
        else:
            self.found[node] = self._assigned(node, tree, variable)

    def _only_user(self, node: Node) -> Node | None:
        """The one node that uses another, if it is the only use."""
        if self.uses[node] != 1:
            return None
        if not hasattr(self, "_users"):
            self._users = {i: n for n in self.graph.nodes for i in n.inputs}
        return self._users.get(node)

    def _fits_into(self, node: Node, user: Node) -> bool:
        """Whether an expression may stand in the one that uses it: what a branch or loop uses has a name, but for conditions."""
        return user.inputs[0] is node if isinstance(user.op, Cond) else not isinstance(user.op, Loop)

    def _assigned(self, node: Node, tree: ast.expr, variable: str) -> ast.Name:
        name = self.writer.names.fresh(variable) if variable else self.writer.names.numbered("t")
        self._say(node)
        self.lines.append(f"{name} = {ast.unparse(tree)}")
        return ast.Name(name)

    def _say(self, node: Node) -> None:
        """A comment with the user's line, where it is another than before."""
        place = node.place
        if place is not None and place[1] and tuple(place) != self._place:
            self._place = (place[0], place[1])
            self.lines.append(self.writer.told(self._place))

    def _several(self, node: Node, tree: ast.expr) -> None:
        """The results of a call with several, each with a name."""
        picks = {n.op.index: n for n in self.graph.nodes if isinstance(n.op, Pick) and n.inputs[0] is node}
        self._say(node)
        if len(picks) == 1 and len(node.spec) > 2:
            self.found[node] = tree
            return
        names = []
        for k in range(len(node.spec)):
            if k in picks:
                names.append(self._named(picks[k]))
                self.found[picks[k]] = ast.Name(names[-1])
            else:
                names.append("_")
        self.found[node] = ast.Name("_")
        self.lines.append(f"{', '.join(names)}{',' if len(names) == 1 else ''} = {ast.unparse(tree)}")

    def _named(self, node: Node, stem: str = "t") -> str:
        variable = self.owners.get(node, "")
        return self.writer.names.fresh(variable) if variable else self.writer.names.numbered(stem)

    def _atom(self, i: Node) -> ast.expr:
        """An input of a branch or loop as a name or a number."""
        tree = self.writer.constant(i.op.value, False) if isinstance(i.op, Const) else self.found[i]
        if isinstance(tree, ATOMS) or (isinstance(tree, ast.Call) and isinstance(i.op, Const)):
            return tree
        self.found[i] = name = self._assigned(i, tree, "")
        return name

    # ------------------------------------------------------------ branches

    def _cond(self, node: Node, op: Cond) -> None:
        chosen, *inputs = node.inputs
        params = [self._atom(i) for i in inputs]
        picks = self._picks(node)
        names = {k: self._result_name(op, k, p) for k, p in picks.items()}
        condition = self.writer.constant(chosen.op.value, False) if isinstance(chosen.op, Const) else self.found[chosen]
        self._say(node)
        sides = [Statements(self.writer, side, params, inner=True) for side in (op.true, op.false)]
        for head, side in zip((f"if {ast.unparse(condition)}:", "else:"), sides, strict=True):
            results = side.results()
            bound = assignment([names[k] for k in names], [results[k] for k in names])
            side.say_results(bool(bound), [side.graph.outputs[k] for k in names])
            body = [*side.lines, *bound]
            self.lines += [head, *indented(body or ["pass"])]
        self._bind(node, picks, names)

    def _result_name(self, op: Cond, k: int, pick: Node) -> str:
        nodes = [pick, op.true.outputs[k], op.false.outputs[k]]
        variable = next((v for n in nodes if (v := variable_of(n))), "")
        return self.writer.names.fresh(variable) if variable else self.writer.names.numbered("t")

    def say_results(self, bound: bool, nodes: Sequence[Node]) -> None:
        """A comment with the line of what is bound last."""
        computed = [n for n in nodes if not isinstance(n.op, (Const, Param))]
        if bound and computed:
            self._say(computed[-1])

    def _picks(self, node: Node) -> dict[int, Node]:
        return {n.op.index: n for n in self.graph.nodes if isinstance(n.op, Pick) and n.inputs[0] is node}

    def _bind(self, node: Node, picks: dict[int, Node], names: dict[int, str]) -> None:
        self.found[node] = ast.Name("_")
        for k, pick in picks.items():
            self.found[pick] = ast.Name(names[k])

    # ------------------------------------------------------------ loops

    def _loop(self, node: Node, op: Loop) -> None:
        carry, stacked, constants = op.parts(node.inputs)
        picks = self._picks(node)
        fixed = [self._atom(i) for i in constants]
        rows = [self._atom(i) for i in stacked]
        state = [self._state(op, k, picks) for k in range(op.carried)]
        starts = [self._start(i, op.body, k) for k, i in enumerate(carry)]
        kept = {k: self._named(p, "rows") for k, p in picks.items() if k >= op.carried}
        self._say(node)
        self.lines += assignment(state, starts)
        self.lines += [f"{name} = []" for name in kept.values()]
        slices = [self.writer.names.fresh(variable_of(p) or "row") for p in op.body.params[op.carried :][: op.stacked]]
        carried = [ast.Name(s) for s in state]
        body = Statements(self.writer, op.body, [*carried, *map(ast.Name, slices), *fixed], inner=True)
        results = body.results()
        body.say_results(True, op.body.outputs[: op.carried])
        step = [*body.lines, *(f"{name}.append({ast.unparse(results[k])})" for k, name in kept.items())]
        step += self._bound_at_once(state, results[: op.carried])
        if op.guarded:
            step = self._guarded(op, slices[0], kept, step)
        self.lines += self._head(op, [*carried, *fixed], rows, slices, stacked)
        self.lines += indented(step or ["pass"])
        for k, name in kept.items():
            self.lines.append(f"{name} = {self._stacked(name, op.body.specs[k], op.backwards)}")
        self.found[node] = ast.Name("_")
        for k, pick in picks.items():
            self.found[pick] = ast.Name(state[k] if k < op.carried else kept[k])

    def _bound_at_once(self, names: list[str], values: Sequence[ast.expr]) -> list[str]:
        """A new carry; its parts are computed on lines of their own if they are long."""
        lines = assignment(names, values)
        if not lines or len(lines[0]) <= WIDEST or len(names) == 1:
            return lines
        found, new = [], []
        for value in values:
            if not isinstance(value, ATOMS):
                found.append(f"{(name := self.writer.names.numbered('t'))} = {ast.unparse(value)}")
                value = ast.Name(name)
            new.append(value)
        return [*found, *assignment(names, new)]

    def _state(self, op: Loop, k: int, picks: dict[int, Node]) -> str:
        """The name of a part of the carry: the user's variable, where one is known."""
        nodes = [op.body.params[k], op.body.outputs[k], *([picks[k]] if k in picks else [])]
        variable = next((v for n in nodes if (v := variable_of(n))), "")
        return self.writer.names.fresh(variable) if variable else self.writer.names.numbered("s")

    def _start(self, i: Node, body: Graph, k: int) -> ast.expr:
        """What a carry begins with, in the dtype that it keeps."""
        spec = body.specs[k]
        if isinstance(i.op, Const):
            value = i.op.value if isinstance(i.op.value, np.ndarray) else np.asarray(i.op.value, spec.dtype)[()]
            plain = spec.dtype == np.float64 and not np.ndim(value) and self.writer.plain
            return number_tree(float(value), True) if plain else self.writer.constant(value, False)
        same = i.spec.dtype == spec.dtype
        return self.found[i] if same else _as_dtype(self.found[i], i.spec, spec.dtype)

    def _head(
        self, op: Loop, given: list[ast.expr], rows: list[ast.expr], slices: list[str], stacked: Sequence[Node]
    ) -> list[str]:
        """The `for` or `while` of a loop, and what comes before its body."""
        if op.test is not None:
            test = Statements(self.writer, op.test, given, inner=True)
            (holds,) = test.results()
            if not test.lines:
                return [f"while {ast.unparse(holds)}:"]
            return ["while True:", *indented([*test.lines, f"if not {ast.unparse(holds)}:", "    break"])]
        if not rows:
            return [f"for _ in range({op.length}):"]
        n = stacked[0].shape[0]
        cut = "" if op.length is None or op.length == n else f"[:{op.length}]"
        turn = "[::-1]" if op.backwards else ""
        texts = [f"{ast.unparse(r)}{cut}{turn}" for r in rows]
        over = texts[0] if len(rows) == 1 else f"zip({', '.join(texts)})"
        return [f"for {', '.join(slices)} in {over}:"]

    def _guarded(self, op: Loop, goes: str, kept: dict[int, str], step: list[str]) -> list[str]:
        """Iterations that do not take place put out zeros."""
        empty = [
            f"{name}.append({array_text(np.zeros(op.body.specs[k].shape, op.body.specs[k].dtype))})"
            for k, name in kept.items()
        ]
        return [f"if not {goes}:", *indented([*empty, "continue"]), *step]

    def _stacked(self, name: str, spec: Spec, backwards: bool) -> str:
        rows = f"{name}[::-1]" if backwards else name
        shape = ", ".join([f"len({name})", *map(str, spec.shape)])
        said = "" if spec.dtype == np.float64 else f", {dtype_text(spec.dtype)}"
        return f"np.array({rows}{said}).reshape({shape})"


# ---------------------------------------------------------------- parts


def assignment(names: Sequence[str], values: Sequence[ast.expr]) -> list[str]:
    """Names bound to values all at once; what would bind a name to itself is left out."""
    pairs = [(n, v) for n, v in zip(names, values, strict=True) if not (isinstance(v, ast.Name) and v.id == n)]
    if not pairs:
        return []
    return [f"{', '.join(n for n, _ in pairs)} = {', '.join(ast.unparse(v) for _, v in pairs)}"]


def indented(lines: Sequence[str]) -> list[str]:
    """The lines one level further in."""
    return ["    " + line for line in lines]


def _as_dtype(tree: ast.expr, spec: Spec, dtype: np.dtype) -> ast.expr:
    name = parsed(dtype_text(dtype))
    return ast.Call(ast.Attribute(tree, "astype"), [name], []) if spec.shape else ast.Call(name, [tree], [])


def _in_half(node: Node, op: Any) -> bool:
    """Whether a step computes in half precision: as the interpreter does, in float32 and rounded once."""
    if isinstance(op, Movement):
        return False
    return any(is_half(i.spec.dtype) for i in node.inputs if not isinstance(i.spec, tuple))


def variable_of(node: Node) -> str:
    return node.place.variable if isinstance(node.place, NamedPlace) else ""


def _owners(graph: Graph) -> dict[Node, str]:
    """The user's variable of each node that has one: of the nodes that a pass made from it, the last one."""
    last: dict[int, Node] = {}
    for node in graph.nodes:
        if isinstance(node.place, NamedPlace) and not isinstance(node.op, (Const, Param)):
            last[id(node.place)] = node
    return {node: node.place.variable for node in last.values()}  # type: ignore[union-attr]


def every_node(graph: Graph) -> list[Node]:
    """The nodes of a graph and of the graphs inside."""
    inner = [g for n in graph.nodes if isinstance(n.op, Control) for g in n.op.graphs().values()]
    return [*graph.nodes, *(n for g in inner for n in every_node(g))]


def needs_numpy(graph: Graph) -> bool:
    """Whether a graph divides by a single number that is not known, or indexes one: Python's own numbers would raise."""
    return any(_raises_on_numbers(n) for n in every_node(graph) if not isinstance(n.op, (Structural, Control)))


def _raises_on_numbers(node: Node) -> bool:
    single = {f"_{k}" for k, i in enumerate(node.inputs) if not i.shape and not isinstance(i.op, Const)}
    for part in ast.walk(spelled(node.op, [i.spec for i in node.inputs], node.spec)):
        match part:
            case ast.BinOp(_, ast.Div() | ast.Mod() | ast.FloorDiv(), ast.Name(name)) if name in single:
                return True
            case ast.Subscript(ast.Name(name)) | ast.Attribute(ast.Name(name)) if name in single:
                return True
    return False


def shared_memory(graph: Graph) -> set[int]:
    """The results that would be views that cannot be written to."""
    found = set()
    for k, n in enumerate(graph.outputs):
        if not isinstance(n.op, (Structural, Control)):
            text = ast.unparse(spelled(n.op, [i.spec for i in n.inputs], n.spec))
            found |= {k} if text.startswith("np.broadcast_to(") else set()
    return found
