"""A graph as machine code, with the interpreter for what has no code."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from threading import Thread
from typing import Any

import numpy as np

from adjoint.backends import own
from adjoint.backends.fitting import check_that_it_fits
from adjoint.backends.interpreter import Steps
from adjoint.backends.memory_report import MemoryReport, combined, interpreted
from adjoint.backends.native.emit import branch_functions, control_flow, scipy_calls, vecmath
from adjoint.backends.native.emit.function_state import FunctionState
from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.emit.llvm_ir import Code, Module
from adjoint.backends.native.emit.pieces import in_pieces
from adjoint.backends.native.emit.planned_graph import planned
from adjoint.backends.native.emit.polling import FAILED_STATUS
from adjoint.backends.native.kernel_registry import register
from adjoint.backends.native.kernels import table
from adjoint.backends.native.memory_plan import memory_of
from adjoint.backends.native.plan.given_back import spare_time
from adjoint.backends.native.plan.independent_branches import side_by_side
from adjoint.backends.native.plan.left_out import left_out_lines
from adjoint.backends.native.plan.stages import Stages, can_compile
from adjoint.backends.native.rewrite.canonical import canonical
from adjoint.backends.native.rewrite.complex_pairs import PLAIN, Borders, in_pairs
from adjoint.backends.native.runtime import (
    bounds_checks,
    checked_build,
    interrupt,
    kernel_call,
    llvm_compile,
    thread_pool,
)
from adjoint.backends.native.runtime.module_split import split, uncut
from adjoint.backends.native.unit_names import units_shown
from adjoint.core.errors import IndexingError
from adjoint.core.spec import Spec, int64
from adjoint.graph.node import Const, Graph, Node

llvm_compile.host()  # LLVM is loaded with this module
register({**control_flow.KERNELS, **branch_functions.KERNELS, **table.KERNELS}, table.LATE)


def compile(graph: Graph) -> Program:
    """A function from arrays to the arrays of the results."""
    return Program(graph)


class Program:
    """A graph as stages: compiled kernels, and steps of the interpreter between them."""

    def __init__(self, graph: Graph) -> None:
        start = time.perf_counter()
        common()
        better, self.borders = prepared(graph)
        self.graph = side_by_side(better)
        self.stages = Stages(self.graph)
        self.left_out = self.stages.left_out
        self.steps: list[tuple[Callable[..., Any], list[Node], list[Node]]] = []
        alone = is_alone(self.stages)
        for native, part, inputs, outputs in self.stages.parts:
            run = kernel(part, self.borders if alone else PLAIN) if native else Steps(part)
            self.steps.append((run, inputs, outputs))
        self.only_kernel = self.steps[0][0] if alone else None
        self._overwriting: dict[tuple[int, ...], Callable[[list[Any]], list[Any]]] = {}
        self.seconds = time.perf_counter() - start

    def explain(self) -> str:
        """How it runs: what became machine code, and what did not."""
        compiled = sum(not isinstance(run, Steps) for run, _, _ in self.steps)
        lines = [f"native: {compiled} compiled kernels, {self.seconds * 1e3:.2f} ms"]
        lines += [
            f"  {line}"
            for native, part, _, _ in self.stages.parts
            if native
            for line in units_shown(part, vector_bits())
        ]
        if self.left_out:
            lines += left_out_lines(self.left_out)
        return "\n".join(lines)

    def __call__(self, *arrays: Any) -> list[Any]:
        if self.only_kernel is not None:
            return self.only_kernel(*arrays)
        params = self.graph.params
        given = self.borders.given(arrays, params)
        values: dict[Node, Any] = dict(zip(params, given, strict=True))
        for run, inputs, outputs in self.steps:
            values.update(zip(outputs, run(*[values[n] for n in inputs]), strict=True))
        found = [np.array(n.op.value) if isinstance(n.op, Const) else values[n] for n in self.graph.outputs]
        return self.borders.taken([own(y, given) for y in found])

    def giving_up(self, inputs: list[Any], donated: tuple[int, ...]) -> list[Any]:
        """The results; those that can be are written over donated inputs."""
        if self.only_kernel is None:
            return self(*inputs)
        if donated not in self._overwriting:
            self._overwriting[donated] = overwriting(self.graph, donated, self.borders)
        return self._overwriting[donated](inputs)


def prepared(graph: Graph) -> tuple[Graph, Borders]:
    """The graph in the forms for which there is code, in real numbers, and what of its arguments and results is complex."""
    real, borders = in_pairs(graph, lambda inner: all(map(can_compile, canonical(inner).nodes)))
    return canonical(real), borders


def is_alone(stages: Stages) -> bool:
    """Whether one kernel is all of a graph."""
    ends = ([*stages.graph.params], [*stages.graph.outputs])
    return len(stages.parts) == 1 and not stages.left_out and stages.parts[0][2:] == ends


def vector_bits() -> int:
    """The width of the host's vectors."""
    features = llvm_compile.host()[1]
    return 512 if "+avx512f" in features else 256 if "+avx2" in features else 128


def kernel(graph: Graph, borders: Borders) -> Callable[..., list[Any]]:
    """One compiled function."""
    return compiled(graph, (), borders=borders)[0]


def overwriting(graph: Graph, donated: Sequence[int], borders: Borders = PLAIN) -> Callable[[list[Any]], list[Any]]:
    """A function that writes what results it can over the inputs at these places, and then returns those."""
    run, same = compiled(graph, donated, borders=borders)
    specs = borders.specs([p.spec for p in graph.params], borders.inputs)

    def call_giving_up(inputs: list[Any]) -> list[Any]:
        arrays = list(inputs)
        for k in donated:
            fits = kernel_call.fits(arrays[k], specs[k]) and arrays[k].flags.writeable
            if graph.params[k].shape and not fits:
                arrays[k] = np.array(arrays[k], order="C")
        fresh = iter(run(*arrays))
        return [arrays[same[k]] if k in same else next(fresh) for k in range(len(graph.outputs))]

    return call_giving_up


def memory(graph: Graph, donated: Sequence[int] = ()) -> MemoryReport:
    """What a call will take of memory. Code is written to know it, and neither compiled nor run."""
    graph = side_by_side(prepared(graph)[0])
    stages = Stages(graph)
    alone = is_alone(stages)
    parts, overwritten = [], 0
    for native, part, _, _ in stages.parts:
        if not native:
            parts.append(interpreted(part))
            continue
        written = write_kernel(part, donated if alone else ())
        parts.append(memory_of(written.shared, written.own_results()))
        overwritten = sum(_bytes(part.outputs[k].spec) for k in written.same)
    return combined("native", graph, parts, overwritten)


@dataclass(frozen=True)
class Written:
    """The code of a kernel: inputs, results in memory of their own and where those are, and results that are written over inputs."""

    graph: Graph
    module: Module
    shared: FunctionState
    inputs: list[Spec]
    outputs: list[Spec]
    targets: dict[str, int]
    same: dict[int, int]

    def own_results(self) -> list[Node]:
        """The results in memory of their own."""
        return [n for k, n in enumerate(self.graph.outputs) if k not in self.same]


def write_kernel(graph: Graph, donated: Sequence[int], shared: FunctionState | None = None) -> Written:
    """A graph as the text of a kernel."""
    shared = shared or FunctionState(Module(checked=checked_build.wanted()), vector_bits())
    module, code = shared.module, shared.code
    inputs = []
    for k, p in enumerate(graph.params):
        pointer = _buffer(code, k)
        inputs.append(pointer if p.shape else code.load(pointer, p.spec.dtype))
    n = len(graph.params)
    free = {k: f"%target{k}" for k, o in enumerate(graph.outputs) if o.shape}
    emitter = planned(shared, graph, inputs, free, frozenset(graph.params[k] for k in donated if graph.params[k].shape))
    graph = emitter.graph
    same = _written_over(emitter, graph, donated, inputs)
    shared.polls.donated, shared.polls.given = emitter.owned, {inputs[j] for j in same.values()}
    shared.results = frozenset(name for k, name in free.items() if k not in same)
    found = emitter.run()
    own = [k for k in range(len(graph.outputs)) if k not in same]
    for place, k in enumerate(own):
        node, value = graph.outputs[k], found[k]
        target = _buffer(code, n + place, f"%target{k}" if node.shape else None)
        if not node.shape:
            code.store(value, target, node.spec.dtype)
        elif value != target:
            code.copy(target, value, prod(node.shape) * node.spec.dtype.itemsize)
    for k, j in same.items():
        if found[k] != inputs[j]:
            code.copy(inputs[j], found[k], prod(graph.outputs[k].shape) * graph.outputs[k].spec.dtype.itemsize)
    for slot in shared.slots.heap:
        module.declare("void @free(ptr)")
        code.do(f"call void @free(ptr {code.put(f'load ptr, ptr {slot}')})")
    shared.lay_out_arena(spare_time(graph))
    outputs = [Spec(graph.outputs[k].spec.shape, graph.outputs[k].spec.dtype) for k in own]
    if shared.may_go_wrong and not shared.standalone:
        outputs.append(Spec((), int64))
    specs = [Spec(p.spec.shape, p.spec.dtype) for p in graph.params]
    targets = {f"%target{k}": n + place for place, k in enumerate(own) if k in free}
    return Written(graph, module, shared, specs, outputs, targets, same)


def compiled(
    graph: Graph, donated: Sequence[int], state: FunctionState | None = None, borders: Borders = PLAIN
) -> tuple[Callable[..., list[Any]], dict[int, int]]:
    """The compiled function, and which results are not among its own but written over which inputs."""
    written = write_kernel(graph, donated, state)
    _check_that_it_fits(graph, written)
    module, shared, specs, outputs = written.module, written.shared, written.inputs, written.outputs
    checker = None
    if module.checked:
        checker = bounds_checks.Checker([*map(_bytes, [*specs, *outputs]), shared.arena.size], module.sizes)
    texts = module_text(module, shared, len(specs) + len(outputs), written.targets, checker)
    library = llvm_compile.compile_ir(
        texts, ["kernel"], _externals(module, shared), keep=module.keep, threads=thread_pool.default_threads()
    )
    common().join()
    own = [k for k in range(len(graph.outputs)) if k not in written.same]
    specs = borders.specs(specs, borders.inputs)
    outputs = borders.specs(outputs, [place for place, k in enumerate(own) if k in borders.outputs])
    run = kernel_call.make_callable(library, "kernel", specs, outputs, arena_bytes=shared.arena.size, release_gil=True)
    if checker is not None:
        run = checked_build.watched(run, checker.sites)
    if shared.may_go_wrong:
        run = _unwatched(run) if written.same else Watched(run, graph, borders)
    return run, written.same


def _check_that_it_fits(graph: Graph, written: Written) -> None:
    """Refuse what needs more memory than there is, before it is compiled."""
    arena = written.shared.arena

    def report() -> MemoryReport:
        part = memory_of(written.shared, written.own_results())
        return combined("native", graph, [part], sum(_bytes(graph.outputs[k].spec) for k in written.same))

    check_that_it_fits(arena.size - arena.given_back + sum(map(_bytes, written.outputs)), report)


@functools.cache
def common() -> Thread:
    """A thread that compiles what all programs need, the pool and the way in, while the first of them is written."""

    def work() -> None:
        thread_pool.pool()
        if not kernel_call.problem():
            kernel_call.entry()

    thread = Thread(target=work)
    thread.start()
    return thread


def _written_over(emitter: GraphEmitter, graph: Graph, donated: Sequence[int], inputs: Sequence[str]) -> dict[int, int]:
    """Which results may be written over which donated inputs: of the same kind, and not read any more when it is written."""
    same: dict[int, int] = {}
    for k, node in enumerate(graph.outputs):
        for j in donated:
            param = graph.params[j]
            taken = j in same.values() or node in graph.outputs[:k] or not node.shape
            if taken or (node.shape, node.spec.dtype) != (param.shape, param.spec.dtype):
                continue
            if emitter.updates_in_place(node, param) and node is not param:
                emitter.targets.pop(node, None)
                same[k] = j
            elif emitter.may_overwrite(node, param):
                emitter.targets[node] = inputs[j]
                same[k] = j
            if k in same:
                break
    return same


class Watched:
    """A kernel whose last result notes an index out of range, or a matrix that it cannot do: the interpreter says which, or does it."""

    def __init__(self, run: Callable[..., list[Any]], graph: Graph, borders: Borders) -> None:
        self._run, self._reference, self._graph, self._borders = run, Steps(graph), graph, borders
        self.noting = run if borders == PLAIN else None  # for callers that look at the note themselves

    def __call__(self, *arrays: Any) -> list[Any]:
        *found, status = self._run(*arrays)
        if not status:
            return found
        return self._borders.taken(self._reference(*self._borders.given(arrays, self._graph.params)))


def _unwatched(run: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """A kernel whose inputs are overwritten: the interpreter cannot say more about what went wrong."""

    def checked(*arrays: Any) -> list[Any]:
        *found, status = run(*arrays)
        if status & FAILED_STATUS:
            raise np.linalg.LinAlgError("a matrix is singular or not definite; run without `donate` to see which")
        if status:
            raise IndexingError("an index is out of range; run without `donate` to see which")
        return found

    return checked


def _buffer(code: Any, k: int, known: str | None = None) -> str:
    """The address of a buffer; those of results have names from the beginning."""
    return known or code.put(f"load ptr, ptr {code.put(f'getelementptr ptr, ptr %buffers, i64 {k}')}")


def _bytes(spec: Spec) -> int:
    return prod(spec.shape) * spec.dtype.itemsize


def module_text(
    module: Module,
    shared: FunctionState,
    arena: int,
    targets: dict[str, int],
    checker: bounds_checks.Checker | None = None,
) -> list[str]:
    """The module, in parts."""
    head = [
        *(f"  {name}.at = getelementptr ptr, ptr %buffers, i64 {k}" for name, k in targets.items()),
        *(f"  {name} = load ptr, ptr {name}.at" for name in targets),
        f"  %arena.at = getelementptr ptr, ptr %buffers, i64 {arena}",
        "  %arena = load ptr, ptr %arena.at",
        *shared.status_begins(arena - 1),
        *shared.slots.lines,
    ]
    head += shared.even_begins()
    if checker is not None:
        head += checker.rubbish({**targets, "%arena": arena})
    main = "\n".join(
        [*_kernel_head(shared), *head, *shared.code.lines, *_way_out(shared), *_left_early(module, shared), "}"]
    )
    more, definitions = vecmath.parts(module.maths)
    linked, calls = scipy_calls.parts(module.scipy)
    declarations = [*module.declarations, *more, *linked]
    if checker is None:
        functions = in_pieces([*module.functions, main], lambda: module.fresh("piece"))
    else:
        functions = checker.rewritten(module.functions, main)
        declarations += checked_build.DECLARE
    return (uncut if shared.standalone else split)(declarations, [*definitions, *calls, *functions])


def _kernel_head(shared: FunctionState) -> list[str]:
    kind = "internal i64" if shared.standalone else "void"
    return [f"define {kind} @kernel(ptr %buffers) nounwind {{", "entry:"]


def _way_out(shared: FunctionState, value: str = "%ended") -> list[str]:
    """The end of a kernel; one without Python returns what went wrong."""
    return [f"  {value} = load i64, ptr %status", f"  ret i64 {value}"] if shared.standalone else ["  ret void"]


def _left_early(module: Module, shared: FunctionState) -> list[str]:
    """The way out of a kernel that is interrupted."""
    if not shared.polls.may_leave_early:
        return []
    code = Code(module)
    code.begin("interrupted")
    for slot in shared.slots.heap:
        held = f"%held{slot[1:]}"
        code.do(f"{held} = load ptr, ptr {slot}")
        code.do(f"call void @free(ptr {held})")
    return [*code.lines, *_way_out(shared, "%ended.early")]


def _externals(module: Module, shared: FunctionState) -> dict[str, int]:
    pool = thread_pool.externals() if shared.parallel else {}
    found = module.externals | scipy_calls.externals(module.scipy) | pool
    found |= interrupt.externals() if shared.polls.may_leave_early else {}
    found |= {} if module.clock is None else module.clock.externals()
    return found | checked_build.externals() if module.checked else found
