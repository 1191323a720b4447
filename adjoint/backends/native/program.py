"""A graph as machine code, with the interpreter for what has no code."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from adjoint.backends.interpreter import Steps
from adjoint.backends.native import call, jit, kernels, threads, vecmath
from adjoint.backends.native.code import Module
from adjoint.backends.native.einsum import as_products
from adjoint.backends.native.frame import Frame, Shared
from adjoint.backends.native.plan import has_code
from adjoint.core.spec import Spec, int64
from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Builder, Const, Graph, Node, Param, Pick
from adjoint.graph.rewrite import rebuild
from adjoint.ops.arithmetic import Add, Div, Mul, Neg, Sub
from adjoint.ops.card import card
from adjoint.ops.contract import Einsum, MatMul
from adjoint.ops.entropy import BCEWithLogits
from adjoint.ops.families import Reduction
from adjoint.ops.movement import GetItem, Reshape, Split
from adjoint.ops.reduce import Mean, Sum
from adjoint.ops.stacking import Unstack
from adjoint.ops.transcendental import Softplus

LONG = 4000  # lines of a module that LLVM's optimiser would take too long for


def canonical(graph: Graph) -> Graph:
    """The graph in the forms that have code: means are sums, reductions drop their axes, only index updates are in place."""
    return rebuild(graph, _canonical)


def _canonical(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    op = node.op
    if isinstance(op, Pick) and isinstance(inputs[0].op, (Unstack, Split)):
        return builder.build(card(GetItem, _part(inputs[0].op, op.index)), inputs[0].inputs)
    if isinstance(op, InPlace) and op.op.__class__.__module__.endswith("arithmetic"):
        return builder.build(op.op, inputs)
    if isinstance(op, (Einsum, MatMul)):
        return as_products(builder, node, inputs)
    if isinstance(op, BCEWithLogits):
        return _cross_entropy(builder, *inputs)
    if isinstance(op, Mean):
        count = prod(inputs[0].shape[a] for a in op.axes)
        if not count or inputs[0].spec.dtype != node.spec.dtype:
            return None
        total = _canonical_sum(builder, card(Sum, op.axes, op.keepdims), inputs[0])
        return builder.build(card(Div), (total, builder.const(float(count))))
    if isinstance(op, Reduction) and op.keepdims and op.axes:
        return _canonical_sum(builder, op, inputs[0])
    return None


def _cross_entropy(builder: Builder, x: Node, label: Node, weight: Node, positive: Node) -> Node:
    """Binary cross-entropy in steps: its two classes apart."""

    def b(op: type, *xs: Node) -> Node:
        return builder.build(card(op), xs)

    other = b(Mul, b(Sub, builder.const(1), label), b(Softplus, x))
    this = b(Mul, b(Mul, positive, label), b(Softplus, b(Neg, x)))
    return b(Mul, weight, b(Add, other, this))


def _part(op: Any, k: int) -> tuple:
    """Which part of its input one result of Unstack or Split is."""
    before = ((None, None, None),) * op.axis
    if isinstance(op, Unstack):
        return (*before, k)
    start = sum(op.sizes[:k])
    return (*before, (start, start + op.sizes[k], None))


def _canonical_sum(builder: Builder, op: Any, x: Node) -> Node:
    flat = builder.build(card(type(op), op.axes, False), (x,))
    return builder.build(card(Reshape, op.reduced(x.shape)), (flat,)) if op.keepdims else flat


def compile(graph: Graph) -> Program:
    """A function from arrays to the arrays of the results."""
    return Program(graph)


class Program:
    """A graph as stages: compiled kernels, and steps of the interpreter between them."""

    def __init__(self, graph: Graph) -> None:
        start = time.perf_counter()
        self.graph = canonical(graph)
        stages = self._stages()
        self.steps: list[tuple[Callable[..., Any], list[Node], list[Node]]] = []
        for native, part, inputs, outputs in stages:
            self.steps.append((kernel(part) if native else Steps(part), inputs, outputs))
        ends = [list(self.graph.params), list(self.graph.outputs)]
        alone = len(self.steps) == 1 and not self.left_out and list(self.steps[0][1:]) == ends
        self.whole = self.steps[0][0] if alone else None
        self.seconds = time.perf_counter() - start

    def explain(self) -> str:
        """How it runs: what became machine code, and what did not."""
        compiled = sum(not isinstance(run, Steps) for run, _, _ in self.steps)
        lines = [f"native: {compiled} compiled kernels, {self.seconds * 1e3:.2f} ms"]
        if self.left_out:
            lines.append(f"in the interpreter: {', '.join(str(n.op) for n in self.left_out)}")
        return "\n".join(lines)

    def __call__(self, *arrays: Any) -> list[Any]:
        if self.whole is not None:
            return self.whole(*arrays)
        values: dict[Node, Any] = dict(zip(self.graph.params, arrays, strict=True))
        for run, inputs, outputs in self.steps:
            values.update(zip(outputs, run(*[values[n] for n in inputs]), strict=True))
        return [n.op.value if isinstance(n.op, Const) else values[n] for n in self.graph.outputs]

    def advance(self, state: list[Any], others: Sequence[Any]) -> list[Any]:
        """The results for inputs that are given up."""
        found = self(*state, *others)
        state.clear()
        return found

    def _numbered(self, interpreted: set[Node]) -> dict[Node, int]:
        """The turn of each node."""
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
        """All calls that make or take arrays of unknown size, if one such array would have to leave its turn."""
        users = [(n, i) for n in stage for i in n.inputs if i in stage and _unknown(i.spec)]
        inside = all(stage[n] == stage[i] for n, i in users) and not any(_unknown(n.spec) for n in self.graph.outputs)
        return set() if inside else {n for pair in users for n in pair} | {n for n in stage if _unknown(n.spec)}

    def _stages(self) -> list[tuple[bool, Graph, list[Node], list[Node]]]:
        """Nodes in turns of compiled (even) and interpreted (odd) ones, each turn a graph of its own."""
        stage = self._numbered(set())
        if unknown := self._across(stage):
            stage = self._numbered(unknown)
        self.left_out = [n for n, k in stage.items() if k % 2 and not isinstance(n.op, Pick)]
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
            part = _cut(inputs, outputs, effects, self.graph.name)
            found.append((k % 2 == 0, part, inputs, outputs))
        return found


def _unknown(spec: Any) -> bool:
    """Whether a value has a size known only at run time."""
    return any(min(s.shape, default=0) < 0 for s in (spec if isinstance(spec, tuple) else (spec,)))


def _cut(inputs: list[Node], outputs: list[Node], effects: tuple[Node, ...], name: str) -> Graph:
    """A part of a graph as a graph: what comes from before is an input."""
    found: dict[Node, Node] = {n: Node(Param(k), (), n.spec) for k, n in enumerate(inputs)}
    builder = Builder()
    for node in _between(inputs, [*outputs, *effects]):
        found[node] = builder.keep(node, node.op, tuple([found[i] for i in node.inputs]))
    return Graph(
        tuple([found[n] for n in inputs]), tuple([found[n] for n in outputs]), name, tuple([found[n] for n in effects])
    )


def _between(inputs: list[Node], outputs: list[Node]) -> list[Node]:
    known = set(inputs)
    done: dict[Node, None] = {}
    stack = [(n, False) for n in reversed(outputs)]
    while stack:
        node, ready = stack.pop()
        if node in done or node in known:
            continue
        if ready:
            done[node] = None
        else:
            stack.append((node, True))
            stack += [(i, False) for i in reversed(node.inputs) if i not in done]
    return list(done)


def can_compile(node: Node) -> bool:
    """Whether a node can be part of a compiled kernel."""
    return not node.op.effect and has_code(node, kernels)


def vector_bits() -> int:
    """The width of the host's vectors."""
    features = jit.host()[1]
    return 512 if "+avx512f" in features else 256 if "+avx2" in features else 128


def kernel(graph: Graph) -> Callable[..., list[Any]]:
    """One compiled function."""
    module = Module()
    shared = Shared(module, vector_bits())
    code = shared.code
    inputs = []
    for k, p in enumerate(graph.params):
        pointer = _buffer(code, k)
        inputs.append(pointer if p.shape else code.load(pointer, p.spec.dtype))
    n = len(graph.params)
    targets = {k: _buffer(code, n + k) for k in range(len(graph.outputs))}
    frame = Frame(shared, graph, inputs, {k: t for k, t in targets.items() if graph.outputs[k].shape})
    found = frame.run()
    for k, (node, value) in enumerate(zip(graph.outputs, found, strict=True)):
        if not node.shape:
            code.store(value, targets[k], node.spec.dtype)
        elif value != targets[k]:
            code.copy(targets[k], value, prod(node.shape) * node.spec.dtype.itemsize)
    for slot in shared.heap:
        module.declare("void @free(ptr)")
        code.do(f"call void @free(ptr {code.put(f'load ptr, ptr {slot}')})")
    outputs = [Spec(o.spec.shape, o.spec.dtype) for o in graph.outputs]
    if shared.checks:
        outputs.append(Spec((), int64))
        code.store(code.load("%status", int64), _buffer(code, n + len(graph.outputs)), int64)
    text = _text(module, shared, n + len(outputs))
    library = jit.compile_ir(
        text,
        ["kernel"],
        _externals(module, shared),
        level="full" if text.count("\n") < LONG else "quick",
        keep=module.keep,
    )
    specs = [Spec(p.spec.shape, p.spec.dtype) for p in graph.params]
    run = call.make_callable(library, "kernel", specs, outputs, arena_bytes=shared.arena.size, release_gil=True)
    return _watched(run, graph) if shared.checks else run


def _watched(run: Callable[..., list[Any]], graph: Graph) -> Callable[..., list[Any]]:
    """A kernel that notes an index out of range: then the interpreter says which."""
    reference = Steps(graph)

    def checked(*arrays: Any) -> list[Any]:
        *found, status = run(*arrays)
        return found if not status else reference(*arrays)

    return checked


def _buffer(code: Any, k: int) -> str:
    return code.put(f"load ptr, ptr {code.put(f'getelementptr ptr, ptr %buffers, i64 {k}')}")


def _text(module: Module, shared: Shared, arena: int) -> str:
    """The module."""
    head = [
        f"  %arena.at = getelementptr ptr, ptr %buffers, i64 {arena}",
        "  %arena = load ptr, ptr %arena.at",
        "  %status = alloca i64",
        "  store i64 0, ptr %status",
        *shared.allocas,
    ]
    main = "\n".join(
        ["define void @kernel(ptr %buffers) nounwind {", "entry:", *head, *shared.code.lines, "  ret void", "}"]
    )
    more, definitions = vecmath.parts(module.maths)
    declarations = {_symbol(d): d for d in (*module.declarations, *more)}
    return "\n".join([*declarations.values(), *definitions, *module.functions, main]) + "\n"


def _symbol(declaration: str) -> str:
    return declaration.split("@")[1].split("(")[0]


def _externals(module: Module, shared: Shared) -> dict[str, int]:
    return {**module.externals, **(threads.externals() if shared.parallel else {})}
