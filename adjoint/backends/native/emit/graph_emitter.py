"""A graph as straight code: registers for scalars, places in the arena for arrays, a call for each nest and kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.native.emit.function_state import FunctionState
from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.emit.llvm_ir import literal
from adjoint.backends.native.emit.loop_nest import NestFunction, NestReduction, combine, neutral
from adjoint.backends.native.emit.over_inputs import place_stores, update_within_results
from adjoint.backends.native.emit.polling import LARGE
from adjoint.backends.native.emit.vector_access import fill
from adjoint.backends.native.kernel_registry import kernel_of, plain, reads
from adjoint.backends.native.node_facts import same_memory
from adjoint.backends.native.plan.arena_places import Place
from adjoint.backends.native.plan.coalesce_axes import loads_of
from adjoint.backends.native.plan.epilogue_fusion import FusedMatMul, with_epilogues
from adjoint.backends.native.plan.loop_expressions import (
    Apply,
    Expr,
    ExpressionWriter,
    Immediate,
    Load,
    Scalar,
    contiguous,
)
from adjoint.backends.native.plan.matmul_operands import right_factors
from adjoint.backends.native.plan.row_fusion import row_fused
from adjoint.backends.native.plan.unit_order import ordered_for_memory
from adjoint.backends.native.plan.units import Kernel, Nest, Plan, Unit, nodes_of
from adjoint.backends.native.plan.work_estimate import node_work
from adjoint.core.spec import int64
from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Const, Graph, Node, Pick


class GraphEmitter:
    """Writes the code of one graph into a function. Graphs inside control flow have emitters of their own, in the same function."""

    def __init__(
        self,
        shared: FunctionState,
        graph: Graph,
        inputs: Sequence[str],
        targets: Mapping[int, str],
        owned: frozenset[Node] = frozenset(),
    ) -> None:
        self.shared, self.graph, self.code = shared, graph, shared.code
        self.plan = Plan(graph)
        places = [same_memory(graph.outputs[k]) for k in targets]
        self.groups = ordered_for_memory(
            row_fused(with_epilogues(self.plan, self.unit_reads)), self.unit_reads, places, owned
        )
        self.units = [unit for group, _ in self.groups for unit in group]
        self.values: dict[Node, str] = dict(zip(graph.params, inputs, strict=True))
        self.results: dict[Node, list[str]] = {}  # of calls with several
        self.lengths: dict[tuple[Node, int], str] = {}  # iterations of loops, known at run time
        self.owned = owned  # inputs that may be overwritten
        self.places: dict[Node, list[Place]] = {}
        self.picks = {(n.inputs[0], n.op.index): n for n in graph.nodes if isinstance(n.op, Pick)}
        self.targets: dict[Node, str] = {}
        for k, pointer in targets.items():
            self.targets.setdefault(same_memory(graph.outputs[k]), pointer)
        self.last = self._last_uses()
        self._made: list[Node] = []  # what has had memory since the last unit: nobody may read it
        self.factors = right_factors(graph)
        self._copies: dict[Node, dict[Any, Place]] = {}
        self._temporary: list[Place] = []  # places that are free after the unit being written
        self.now = 0  # the last unit of the group being written
        self.outermost = False  # whether it is the graph of the function itself

    # ------------------------------------------------------------ values

    def value(self, node: Node) -> str:
        """The register of a scalar, the address of an array."""
        if node in self.values:
            return self.values[node]
        if isinstance(node.op, Const):
            if not node.shape:
                found = literal(node.op.value, node.spec.dtype)
            else:
                found = self.shared.module.constant(np.asarray(node.op.value, node.spec.dtype))
        elif isinstance(node.op, Pick):
            found = self.results[node.inputs[0]][node.op.index]
        elif same_memory(node) is not node:
            found = self.value(node.inputs[0])
        else:
            raise AssertionError(f"{node.op} has not been computed")
        self.values[node] = found
        return found

    def memory_for(self, node: Node) -> str:
        """Memory for an array: a result's own, or one in the arena."""
        size = prod(node.shape) * node.spec.dtype.itemsize
        if node in self.targets:
            if self.targets[node] in self.shared.results:
                self.shared.arena.begin_result(self.targets[node], size)
            return self.targets[node]
        where = self.shared.arena.take(size, node)
        self.hold(node, [where])
        return self.shared.address(where)

    def hold(self, node: Node, places: list[Place]) -> None:
        """The memory of an array, until nothing reads it any more."""
        self.places.setdefault(node, []).extend(places)
        self._made.append(node)

    def keep(self, call: Node, index: int, where: Place) -> None:
        """Memory that holds one of several results."""
        pick = self.picks.get((call, index))
        if pick is None:
            self._temporary.append(where)
        else:
            self.hold(pick, [where])

    def scratch(self, size: int) -> str:
        """Memory until the end of the unit."""
        where = self.shared.arena.take(size, use="scratch")
        self._temporary.append(where)
        return self.shared.address(where)

    def kept(self, node: Node, key: Any, size: int) -> tuple[str, bool]:
        """Memory for something made of an array, for as long as that is used; and whether it has been made already."""
        if place := self.shared.packed.get(self.value(node), {}).get(key):
            return place, True
        copies = self._copies.setdefault(same_memory(node), {})
        there = key in copies
        if not there:
            copies[key] = self.shared.arena.take(size, same_memory(node), "packed")
            self._made.append(same_memory(node))
        return self.shared.address(copies[key]), there

    def dies_here(self, node: Node) -> bool:
        """Whether an array may be overwritten by the unit being written: it is ours, and nothing reads it later."""
        memory = same_memory(node)
        mine = memory in self.places or memory in self.owned
        return mine and memory not in self.targets and self.last.get(memory, -1) <= self.now

    # ------------------------------------------------------------ order and lifetimes

    def unit_reads(self, unit: Unit) -> dict[Node, None]:
        """The nodes that a unit reads from memory or registers."""
        if isinstance(unit, Nest):
            return unit.nodes()[0]
        if isinstance(unit, Kernel):
            own = unit.reads() if isinstance(unit, FusedMatMul) else []
            return dict.fromkeys([*reads(unit.node), *own])
        return nodes_of([self._scalar_expression(unit.node)])[0]

    def _last_uses(self) -> dict[Node, int]:
        last: dict[Node, int] = {}
        for k, unit in enumerate(self.units):
            last.update((same_memory(node), k) for node in self.unit_reads(unit))
        for node in self.graph.outputs:
            last[same_memory(node)] = len(self.units)
        return last

    def run(self) -> list[str]:
        """Write everything; gives the values of the results, arrays at their targets if they have one."""
        if self.outermost:
            update_within_results(self)
        self.now, clock = -1, self.shared.module.clock if self.outermost else None
        if clock is not None:
            clock.begin(self.code)
        for group, lead in self.groups:
            self.now += len(group)
            if self.shared.module.checked:
                self.code.do(f"; {_described(group)}")
            self.shared.arena.mark(group)
            if self.outermost:
                self.shared.pause()
            self._before(group)
            self._write(group, lead)
            self._free_unused(group)
            if clock is not None:
                clock.after(self.code, group)
        found = [self._result(node) for node in self.graph.outputs]
        self._free(w for group in (*self.places.values(), *(c.values() for c in self._copies.values())) for w in group)
        return found

    def _write(self, group: Sequence[Unit], lead: int) -> None:
        """The code of one unit, or of nests that share their loop over rows."""
        unit = group[0]
        if isinstance(unit, Nest):
            self._nest(group, lead)  # type: ignore[arg-type]
        elif isinstance(unit, FusedMatMul):
            self._fused(unit)
        elif isinstance(unit, Kernel):
            self._kernel(unit.node)
        else:
            self.values[unit.node] = self._evaluated(self._scalar_expression(unit.node), {})

    def _free_unused(self, group: Sequence[Unit]) -> None:
        """Give back the memory that is not read after the units that have just been written."""
        read = (same_memory(n) for unit in group for n in self.unit_reads(unit))
        over = [n for n in dict.fromkeys([*read, *self._made]) if self.last.get(n, -1) <= self.now]
        held = [w for n in over for w in (*self.places.pop(n, ()), *self._copies.pop(n, {}).values())]
        self._free([*self._temporary, *held])
        self._temporary, self._made = [], []

    def _free(self, places: Iterable[Place]) -> None:
        for where in places:
            self.shared.arena.give(where)

    def _result(self, node: Node) -> str:
        value = self.value(node)
        target = self.targets.get(same_memory(node)) if node.shape else None
        if target in (None, value):
            return value
        self.code.copy(target, value, prod(node.shape) * node.spec.dtype.itemsize)
        self.values[node] = target
        return target

    def _before(self, group: Sequence[Unit]) -> None:
        """Ask whether to go on before much work; once donated memory is overwritten there is no stopping."""
        nodes = [n for unit in group for n in _computed(unit)]
        if sum(map(node_work, nodes)) > LARGE:
            self.shared.polls.poll()
        if self.shared.polls.donated and any(self._overwrites(n) for n in nodes):
            self.shared.polls.committed = True

    def _overwrites(self, node: Node) -> bool:
        over = isinstance(node.op, InPlace) and same_memory(node.inputs[0]) in self.shared.polls.donated
        return over or self.targets.get(same_memory(node)) in self.shared.polls.given

    def may_overwrite(self, node: Node, param: Node) -> bool:
        """Whether a nest may store a node over an input: nothing else reads it then or later, and the nest element by element."""
        if node not in self._storing:
            return False
        k, group = self._storing[node]
        unit = group[0]
        if self.last.get(param, -1) > k:
            return False
        if isinstance(unit, FusedMatMul):
            return unit.may_overwrite(param, reads(unit.node))
        loads = [e for e in loads_of(unit.roots.values()) if same_memory(e.leaf) is param]
        whole = tuple(contiguous(unit.space))
        return len(group) == 1 and all(e.offset == 0 and e.strides == whole for e in loads)

    @cached_property
    def _storing(self) -> dict[Node, tuple[int, Any]]:
        """For each node that a nest or an epilogue stores, its group and the number of that one's last unit."""
        found: dict[Node, tuple[int, Any]] = {}
        k = -1
        for group, _ in self.groups:
            k += len(group)
            for unit in group:
                if isinstance(unit, (Nest, FusedMatMul)):
                    found.update(dict.fromkeys(unit.roots, (k, group)))
        return found

    def updates_in_place(self, node: Node, param: Node) -> bool:
        """Whether a node is a chain of updates of an input."""
        while isinstance(node.op, InPlace):
            node = node.inputs[0]
        return node is param

    def inner(
        self, graph: Graph, inputs: Sequence[str], targets: Mapping[int, str], owned: frozenset[Node] = frozenset()
    ) -> GraphEmitter:
        """The emitter of a graph inside this one."""
        return GraphEmitter(self.shared, graph, inputs, targets, owned)

    def checked_index(self, i: str, dtype: np.dtype, size: int) -> str:
        """An index as an offset: negative ones count from the end; one out of range is noted, and 0 is used in its place."""
        code, lanes = self.code, Lanes(self.code, 1)
        i = lanes.cast(i, dtype, int64)
        wrapped = lanes.select(lanes.compare("lt", i, "0", int64), code.put(f"add i64 {i}, {size}"), i, int64)
        fine = code.put(f"icmp ult i64 {wrapped}, {size}")
        self.shared.checks = True
        old = code.load("%status", int64)
        code.store(lanes.select(fine, old, "1", int64), "%status", int64)
        return lanes.select(fine, wrapped, "0", int64)

    def _fused(self, unit: FusedMatMul) -> None:
        rule = kernel_of(unit.node)
        assert rule is not None and rule.write_fused is not None, f"{unit.node.op} has no epilogues"
        rule.write_fused(self, unit)

    def _kernel(self, node: Node) -> None:
        rule = kernel_of(node)
        assert rule is not None, f"{node.op} has no kernel"
        made = rule.write(self, node, plain(node.op))
        if isinstance(node.spec, tuple):
            self.results[node] = made
        else:
            self.values[node] = made

    # ------------------------------------------------------------ scalars

    def _scalar_expression(self, node: Node) -> Expr:
        writer = ExpressionWriter((), lambda n: n is not node and self.plan.in_memory(n))
        return writer.expression(node, ())

    def _evaluated(self, e: Expr, done: dict[Expr, str]) -> str:
        """The register of an expression. What it holds several times is computed once."""
        found = done.get(e)
        if found is None:
            found = done[e] = self._computed_now(e, done)
        return found

    def _computed_now(self, e: Expr, done: dict[Expr, str]) -> str:
        lanes = Lanes(self.code, 1)
        if isinstance(e, Immediate):
            return lanes.number(e.value, e.dtype)
        if isinstance(e, Load):
            address = self.code.element(self.value(e.leaf), e.offset, e.leaf.spec.dtype)
            return self.code.load(address, e.leaf.spec.dtype)
        if isinstance(e, Apply):
            return lanes.apply(e.node, [self._evaluated(a, done) for a in e.args])
        assert isinstance(e, Scalar), "a scalar has no pieces"
        return self.value(e.leaf)

    # ------------------------------------------------------------ nests

    def _nest(self, nests: Sequence[Nest], lead: int) -> None:
        code = self.code
        if not prod(nests[0].space):
            self._empty(nests[0])
            return
        function = NestFunction(self.shared.module, nests, self.shared.bits, lead)
        place_stores(self, nests, function.stores)
        sums: dict[NestReduction, str] = {}
        for fold in function.folds:
            if fold.partial:
                sums[fold] = self.scratch(function.chunks * fold.size * fold.dtype.itemsize)
            else:
                self.values[fold.node] = self.memory_for(fold.node)
                if any(fold.gone[:-1]) or not fold.gone[-1]:
                    fill(code, self.values[fold.node], fold.size, neutral(fold.kind, fold.dtype), fold.dtype)
        context = self.shared.slots.alloca(f"[{len(function.slots)} x i64]")
        for k, slot in enumerate(function.slots):
            address = code.put(f"getelementptr i64, ptr {context}, i64 {k}")
            if isinstance(slot, Node) and not slot.shape:
                code.store(self.value(slot), address, slot.spec.dtype)
            else:
                pointer = (
                    sums[slot] if slot in sums else self.value(slot.node if isinstance(slot, NestReduction) else slot)
                )
                code.do(f"store ptr {pointer}, ptr {address}")
        self.shared.call(function.name, context, function.chunks)
        for fold, pointer in sums.items():
            self._together(fold, pointer, function.chunks)

    def _together(self, fold: NestReduction, parts: str, chunks: int) -> None:
        """The partial sums of all chunks, in order."""
        code, lanes = self.code, Lanes(self.code, 1)
        if fold.node.shape:
            self.values[fold.node] = target = self.memory_for(fold.node)
            with code.loop(0, fold.size) as at:
                first = code.load(code.element(parts, at.i, fold.dtype), fold.dtype)
                total = self._over_chunks(fold, parts, at.i, chunks, first)
                code.store(
                    lanes.cast(total, fold.dtype, fold.node.spec.dtype),
                    code.element(target, at.i, fold.node.spec.dtype),
                    fold.node.spec.dtype,
                )
        else:
            total = self._over_chunks(fold, parts, 0, chunks, code.load(parts, fold.dtype))
            self.values[fold.node] = lanes.cast(total, fold.dtype, fold.node.spec.dtype)

    def _over_chunks(self, fold: NestReduction, parts: str, at: Any, chunks: int, first: str) -> str:
        code, lanes = self.code, Lanes(self.code, 1)
        if chunks == 1:
            return first
        with code.loop(1, chunks, 1, [(lanes.type(fold.dtype), first)]) as iteration:
            place = code.element(parts, code.add(code.mul(iteration.i, fold.size), at), fold.dtype)
            iteration.next = [combine(lanes, fold.kind, fold.dtype, iteration.values[0], code.load(place, fold.dtype))]
        return iteration.results[0]

    def _empty(self, nest: Nest) -> None:
        """A nest over nothing: its reductions are what they start with."""
        for root in nest.roots:
            if not root.shape:
                kind = root.op.reduction
                self.values[root] = literal(neutral(kind, root.spec.dtype), root.spec.dtype)
                continue
            self.values[root] = self.memory_for(root)
            if root.op.reduction:
                kind = root.op.reduction
                fill(self.code, self.values[root], prod(root.shape), neutral(kind, root.spec.dtype), root.spec.dtype)


def _described(group: Sequence[Unit]) -> str:
    """What some units compute, on one line."""
    nodes = [n for unit in group for n in _computed(unit)]
    return ", ".join(f"{n.op} {n.spec}" for n in nodes).replace("\n", " ")[:200]


def _computed(unit: Unit) -> list[Node]:
    """The nodes whose results a unit stores."""
    if isinstance(unit, Nest):
        return list(unit.roots)
    return [unit.node, *unit.roots] if isinstance(unit, FusedMatMul) else [unit.node]
