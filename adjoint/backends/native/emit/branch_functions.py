"""Branches that run side by side: a function for each, called for by the threads as the chunks of one parallel loop."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from adjoint.backends.native.emit.function_state import FunctionState
from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.emit.llvm_ir import Code
from adjoint.backends.native.kernel_registry import KernelRule
from adjoint.backends.native.plan.independent_branches import SideBySide
from adjoint.backends.native.plan.units import has_code
from adjoint.core.spec import Spec, int64
from adjoint.graph.node import Graph, Node

#: Chunk k of the loop is branch k: the address of its function and of its buffers.
DISPATCH = [
    "  %at = mul i64 %chunk, 2",
    "  %function.at = getelementptr ptr, ptr %ctx, i64 %at",
    "  %function = load ptr, ptr %function.at",
    "  %buffers.at = getelementptr ptr, ptr %function.at, i64 1",
    "  %buffers = load ptr, ptr %buffers.at",
    "  call void %function(ptr %buffers)",
]


def fits(node: Node) -> bool:
    """Whether everything inside can be compiled."""
    return all(has_code(n) for graph in node.op.branches for n in graph.nodes)


def write_side_by_side(emitter: GraphEmitter, node: Node, op: SideBySide) -> list[str]:
    """All branches, on as many threads as there are; one after the other in code that is checked, timed or without Python."""
    shared, code = emitter.shared, emitter.code
    places = {k: shared.arena.take(_size(s), node, f"result {k}") for k, s in enumerate(node.spec) if s.shape}
    targets = {k: shared.address(place) for k, place in places.items()}
    for k, place in places.items():
        emitter.keep(node, k, place)
    inline = shared.module.checked or shared.standalone or shared.module.clock is not None
    results: list[str] = []
    calls = []
    for graph, inputs in op.each(node.inputs):
        own = {k: targets[len(results) + k] for k, n in enumerate(graph.outputs) if n.shape}
        values = [emitter.value(i) for i in inputs]
        if inline:
            found = emitter.inner(graph, values, own).run()
            for k, target in own.items():
                if found[k] != target:
                    code.copy(target, found[k], _size(graph.outputs[k].spec))
            results += [own.get(k, value) for k, value in enumerate(found)]
        else:
            call = _BranchCall(emitter, graph, values, own)
            calls.append(call)
            results += call.results
    if calls:
        _run_all(emitter, calls)
        results = [r for call in calls for r in call.loaded()]
    return results


class _BranchCall:
    """The function of one branch, and the buffers that it is given: inputs, results, its arena, whether an index was out of range."""

    def __init__(self, emitter: GraphEmitter, graph: Graph, values: Sequence[str], targets: dict[int, str]) -> None:
        self.emitter, self.graph, self.code = emitter, graph, emitter.code
        n, m = len(graph.params), len(graph.outputs)
        self.name, arena, self.checks, self.may_fail = _branch_function(emitter.shared, graph)
        self.buffers = emitter.shared.slots.alloca(f"[{n + m + 2} x ptr]")
        self.results = [targets.get(k) or self._slot() for k in range(m)]
        self.targets = targets
        self.status = self._slot()
        self.code.store("0", self.status, int64)
        for k, (value, param) in enumerate(zip(values, graph.params, strict=True)):
            if not param.shape:
                slot = self._slot()
                self.code.store(value, slot, param.spec.dtype)
                value = slot
            self._put(k, value)
        for k, result in enumerate(self.results):
            self._put(n + k, result)
        self._put(n + m, emitter.scratch(max(arena, 1)))
        self._put(n + m + 1, self.status)

    def _slot(self) -> str:
        return self.emitter.shared.slots.alloca("[2 x i64]")

    def _put(self, k: int, address: str) -> None:
        at = self.code.put(f"getelementptr ptr, ptr {self.buffers}, i64 {k}")
        self.code.do(f"store ptr {address}, ptr {at}")

    def loaded(self) -> list[str]:
        """The results: addresses of arrays, registers of scalars."""
        outputs = enumerate(self.graph.outputs)
        return [self.results[k] if n.shape else self.code.load(self.results[k], n.spec.dtype) for k, n in outputs]


def _run_all(emitter: GraphEmitter, calls: Sequence[_BranchCall]) -> None:
    code, shared = emitter.code, emitter.shared
    context = shared.slots.alloca(f"[{2 * len(calls)} x ptr]")
    for k, call in enumerate(calls):
        for place, pointer in ((2 * k, f"@{call.name}"), (2 * k + 1, call.buffers)):
            at = code.put(f"getelementptr ptr, ptr {context}, i64 {place}")
            code.do(f"store ptr {pointer}, ptr {at}")
    shared.call(shared.module.function("side_by_side", "ptr %ctx, i64 %chunk", DISPATCH), context, len(calls))
    for call in calls:
        if call.checks or call.may_fail:
            shared.checks |= call.checks
            together = code.put(f"or i64 {code.load('%status', int64)}, {code.load(call.status, int64)}")
            code.store(together, "%status", int64)
            if call.may_fail:
                shared.polls.leave_if_failed()


def _branch_function(outer: FunctionState, graph: Graph) -> tuple[str, int, bool, bool]:
    """The function of a branch: its name, the bytes of its arena, whether it notes what goes wrong and ends early then."""
    state = FunctionState(outer.module, outer.bits)
    state.polls.committed = True  # it ends soon, and Python cannot be asked by a worker
    code, n = state.code, len(graph.params)
    inputs = []
    for k, p in enumerate(graph.params):
        pointer = _buffer(code, k)
        inputs.append(pointer if p.shape else code.load(pointer, p.spec.dtype))
    targets = {k: f"%target{k}" for k, o in enumerate(graph.outputs) if o.shape}
    found = GraphEmitter(state, graph, inputs, targets).run()
    for k, (node, value) in enumerate(zip(graph.outputs, found, strict=True)):
        if not node.shape:
            code.store(value, _buffer(code, n + k), node.spec.dtype)
        elif value != targets[k]:
            code.copy(targets[k], value, _size(node.spec))
    assert not state.slots.heap, "a branch has no loop of unknown length"
    if state.polls.may_fail:
        code.jump("interrupted")
        code.begin("interrupted")
    state.lay_out_arena()
    outer.parallel |= state.parallel
    m = len(graph.outputs)
    named = {**{name: n + k for k, name in targets.items()}, "%arena": n + m, "%status": n + m + 1}
    head = [
        *(f"  {name}.at = getelementptr ptr, ptr %buffers, i64 {k}" for name, k in named.items()),
        *(f"  {name} = load ptr, ptr {name}.at" for name in named),
        *state.slots.lines,
        *state.even_begins(),
    ]
    name = outer.module.function("branch", "ptr %buffers", [*head, *code.lines])
    return name, state.arena.size, state.checks, state.polls.may_fail


def _buffer(code: Code, k: int) -> str:
    return code.put(f"load ptr, ptr {code.put(f'getelementptr ptr, ptr %buffers, i64 {k}')}")


def _size(spec: Spec) -> int:
    return prod(spec.shape) * spec.dtype.itemsize


KERNELS: dict[type, KernelRule] = {SideBySide: KernelRule(write_side_by_side, fits)}
