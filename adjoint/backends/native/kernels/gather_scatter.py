"""Indexing with indices known at run time: gather, scatter and scatter-add.

A gather is cut into chunks along any axis; an update along one that no index array runs along, so that no two chunks write to the
same place, and the updates of a place follow one another in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.emit.llvm_ir import Code
from adjoint.backends.native.kernel_registry import plain
from adjoint.backends.native.kernels.in_place import updated_memory
from adjoint.backends.native.kernels.index_walk import IndexArray, Walk, spread, stored_form, walk_of
from adjoint.backends.native.kernels.window_loops import chunked, region
from adjoint.backends.native.node_facts import uniform
from adjoint.backends.native.plan.loop_expressions import contiguous
from adjoint.core.spec import int64
from adjoint.graph.node import Node
from adjoint.ops.index import Gather, ScatterAdd

BLOCK = 32  # elements along the innermost axis that stay together

#: Writes what happens to neighbours: the code, their addresses in the indexed array and in the other one, and how many.
Step = Callable[[Code, str, str, int], None]


def _parts(node: Node) -> tuple[Node, Node | None, list[Node]]:
    """The array, the values put into it if any, and the indices."""
    if isinstance(plain(node.op), Gather):
        base, *indices = node.inputs
        return base, None, indices
    base, v, *indices = node.inputs
    return base, v, indices


def operands(node: Node) -> list[Node]:
    """What is read: of what is broadcast, what it repeats."""
    base = node.inputs[0]
    return [base, *(stored_form(base, x) for x in node.inputs[1:])]


def indices_fit(node: Node) -> bool:
    return all(n > 0 for n in node.inputs[0].shape)


def scatter_fits(node: Node) -> bool:
    return indices_fit(node) and (node.spec.dtype.kind in "fi" or not isinstance(plain(node.op), ScatterAdd))


@dataclass(frozen=True)
class Loops:
    """Writes the loops of a walk; `axis` is the one that is cut into chunks, and (low, high) what one of them takes of it."""

    code: Code
    walk: Walk
    pointers: Sequence[str]  # the indexed array, the other one, the index arrays
    dtypes: tuple[np.dtype, np.dtype]
    step: Step
    width: int
    axis: int
    low: Any
    high: Any

    def write(self) -> str:
        """Everything; gives whether an index was out of range."""
        return self._axis(0, 0, 0, [], "false")

    def _axis(self, k: int, at: Any, beside: Any, counters: list[Any], bad: str) -> str:
        """The loops from axis k on, from these offsets in the two arrays on."""
        code, walk = self.code, self.walk
        for array, pointer in zip(walk.arrays, self.pointers[2:], strict=True):
            if array.last() == k - 1:
                place, bad = self._place(array, pointer, counters, bad)
                at = code.add(at, code.mul(place, array.stride))
        if k == len(walk.sizes):
            self.step(code, self._element(0, at), self._element(1, beside), 1)
            return bad
        low, high = (self.low, self.high) if k == self.axis else (0, walk.sizes[k])
        if k == len(walk.sizes) - 1 and walk.at_once():
            self._row(at, beside, low, high)
            return bad
        watched = any(a.checked and a.last() >= k for a in walk.arrays)
        with code.loop(low, high, 1, [("i1", bad)] if watched else ()) as iteration:
            i = iteration.i
            inner_at = code.add(at, code.mul(i, walk.base[k]))
            inner_beside = code.add(beside, code.mul(i, walk.other[k]))
            found = self._axis(k + 1, inner_at, inner_beside, [*counters, i], iteration.values[0] if watched else bad)
            iteration.next = [found] if watched else []
        return iteration.results[0] if watched else bad

    def _element(self, which: int, offset: Any) -> str:
        return self.code.element(self.pointers[which], offset, self.dtypes[which])

    def _place(self, array: IndexArray, pointer: str, counters: Sequence[Any], bad: str) -> tuple[str, str]:
        """An index as a place along its axis: one that is out of range is noted, and 0 is used instead."""
        code, lanes = self.code, Lanes(self.code, 1)
        offset: Any = 0
        for i, step in zip(counters, array.steps, strict=False):
            offset = code.add(offset, code.mul(i, step))
        index = lanes.cast(code.load(code.element(pointer, offset, array.dtype), array.dtype), array.dtype, int64)
        if not array.checked:
            return index, bad
        from_end = code.put(f"add i64 {index}, {array.size}")
        index = lanes.select(lanes.compare("lt", index, "0", int64), from_end, index, int64)
        wrong = code.put(f"icmp uge i64 {index}, {array.size}")
        return lanes.select(wrong, "0", index, int64), code.put(f"or i1 {bad}, {wrong}")

    def _row(self, at: Any, beside: Any, low: Any, high: Any) -> None:
        """The innermost axis, in vectors and then one by one."""
        code, along, width = self.code, self.walk.other[-1], self.width
        known = isinstance(low, int) and isinstance(high, int)
        full = low + (high - low) // width * width if known else self._full(low, high)

        def steps(begin: Any, end: Any, lanes: int) -> None:
            if isinstance(begin, int) and isinstance(end, int) and begin >= end:
                return
            with code.loop(begin, end, lanes) as iteration:
                to = self._element(0, code.add(at, iteration.i))
                self.step(code, to, self._element(1, code.add(beside, code.mul(iteration.i, along))), lanes)

        steps(low, full, width)
        steps(full, high, 1)

    def _full(self, low: Any, high: Any) -> Any:
        count = self.code.put(f"sub i64 {high}, {low}")
        return self.code.add(low, self.code.put(f"and i64 {count}, {-self.width}"))


def _chunk_axis(walk: Walk, safe: Sequence[int]) -> tuple[int, int, int]:
    """The axis to cut, in how many items, and how many elements each has; no axis if there is too little to do."""
    best = (-1, 1, 0)
    for k in safe:
        unit = BLOCK if k == len(walk.sizes) - 1 else 1
        items = -(-walk.sizes[k] // unit)
        if min(items, 64) > best[1]:
            best = (k, items, unit)
    return best


def _run(
    emitter: GraphEmitter, walk: Walk, base: tuple[str, np.dtype], other: tuple[str, np.dtype], step: Step
) -> None:
    """The loops: in the function being written, or cut into chunks for threads where there is much to do."""
    code, shared = emitter.code, emitter.shared
    if not prod(walk.sizes):
        return
    dtypes = (base[1], other[1])
    first = code.element(base[0], walk.start, base[1])
    width = max(shared.bits // 8 // max(d.itemsize for d in dtypes), 1)
    writes = isinstance(step, _Update)
    safe = [k for k in range(len(walk.sizes)) if walk.base[k]] if writes else range(len(walk.sizes))
    axis, items, unit = _chunk_axis(walk, safe)
    work = prod(walk.sizes) / items / (width if walk.at_once() else 1) * (1 + 2 * len(walk.arrays))
    pointers = [first, other[0], *(a.pointer for a in walk.arrays)]
    if axis < 0 or chunked(items, work)[1] == 1:
        whole = walk.sizes[axis] if axis >= 0 else 0
        bad = Loops(code, walk, pointers, dtypes, step, width, axis, 0, whole).write()
        _note(emitter, bad)
        return
    flag = shared.slots.alloca("[2 x i64]")
    code.store("0", flag, int64)
    with region(emitter, items, work, [*pointers, flag]) as chunk:
        inner, given = chunk.code, chunk.pointers
        low = inner.mul(chunk.low, unit)
        high = inner.mul(chunk.high, unit)
        if walk.sizes[axis] % unit:
            high = Lanes(inner, 1).intrinsic("smin", int64, str(high), str(walk.sizes[axis]))
        bad = Loops(inner, walk, given[:-1], dtypes, step, width, axis, low, high).write()
        if bad != "false":  # stored only where it is so: several threads may do it
            wrong, over = inner.new_label("wrong"), inner.new_label("over")
            inner.branch(bad, wrong, over)
            inner.begin(wrong)
            inner.store("1", given[-1], int64)
            inner.jump(over)
            inner.begin(over)
    if any(a.checked for a in walk.arrays):
        _note(emitter, code.put(f"icmp ne i64 {code.load(flag, int64)}, 0"))


def _note(emitter: GraphEmitter, bad: str) -> None:
    """Note whether an index was out of range."""
    if bad == "false":
        return
    code = emitter.code
    emitter.shared.checks = True
    old = code.load("%status", int64)
    code.store(Lanes(code, 1).select(bad, "1", old, int64), "%status", int64)


# ---------------------------------------------------------------- the ops


def write_gather(emitter: GraphEmitter, node: Node, op: Any) -> str:
    base, _, indices = _parts(node)
    dtype = node.spec.dtype
    places = node.shape[: node.ndim - base.ndim + len(indices)]
    walk = walk_of(emitter, base, contiguous(node.shape), places, indices)
    if not node.shape:
        return emitter.code.load(emitter.code.element(emitter.value(base), walk.start, dtype), dtype)
    target = emitter.memory_for(node)

    def move(code: Code, source: str, to: str, lanes: int) -> None:
        code.store(code.load(source, dtype, lanes), to, dtype, lanes)

    _run(emitter, walk, (emitter.value(base), dtype), (target, dtype), move)
    return target


def write_in_range(emitter: GraphEmitter, node: Node, op: Any) -> str:
    """A copy of the first input; the loops over the indices do nothing but look at them."""
    v, *indices = node.inputs
    for x, size in zip(indices, op.sizes, strict=True):
        value = emitter.value(x)
        if not x.shape:
            emitter.checked_index(value, x.spec.dtype, size)
            continue
        array = IndexArray(value, x.spec.dtype, [1], size, 0, True)
        _run(emitter, Walk([prod(x.shape)], [0], [0], 0, [array]), (value, int64), (value, int64), _nothing)
    if not node.shape:
        return emitter.value(v)
    target = emitter.memory_for(node)
    emitter.code.copy(target, emitter.value(v), prod(node.shape) * node.spec.dtype.itemsize)
    return target


def _nothing(code: Code, at: str, beside: str, lanes: int) -> None:
    """The loops look at the indices."""


@dataclass(frozen=True)
class _Update:
    """Puts values, or adds them, to places of an array."""

    dtype: np.dtype
    values: np.dtype
    adds: bool
    repeats: bool  # whether neighbours get the same value
    number: Any = None  # the value, if it is one number known now

    def __call__(self, code: Code, to: str, source: str, lanes: int) -> None:
        vector = Lanes(code, lanes)
        if self.number is not None:
            value = vector.number(self.number, self.values)
        elif self.repeats:
            value = vector.spread(code.load(source, self.values), self.values)
        else:
            value = code.load(source, self.values, lanes)
        value = vector.cast(value, self.values, self.dtype)
        if self.adds:
            word = "fadd" if self.dtype.kind == "f" else "add"
            old = code.load(to, self.dtype, lanes)
            value = code.put(f"{word} {vector.type(self.dtype)} {old}, {value}")
        code.store(value, to, self.dtype, lanes)


def write_scatter(emitter: GraphEmitter, node: Node, op: Any) -> str:
    base, v, indices = _parts(node)
    assert v is not None
    v, number = stored_form(base, v), uniform(v)
    places = np.broadcast_shapes(*(i.shape for i in indices))
    axes = len(places) + base.ndim - len(indices)
    source = _address(emitter, v) if number is None else ""
    target = updated_memory(emitter, node)
    walk = walk_of(emitter, base, spread(v.shape, axes), places, indices)
    repeats = bool(walk.sizes) and walk.other[-1] == 0
    update = _Update(node.spec.dtype, v.spec.dtype, isinstance(op, ScatterAdd), repeats, number)
    _run(emitter, walk, (target, node.spec.dtype), (source or target, v.spec.dtype), update)
    return target


def _address(emitter: GraphEmitter, v: Node) -> str:
    """Where the values are; a single one is put into memory."""
    if v.shape:
        return emitter.value(v)
    slot = emitter.shared.slots.alloca("[2 x i64]")
    emitter.code.store(emitter.value(v), slot, v.spec.dtype)
    return slot
