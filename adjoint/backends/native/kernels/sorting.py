"""Sorting, the largest or smallest few, partitions, and the place of the largest so far, along any axis.

An item of the parallel loop is a line. What does not depend on the order of equal elements is the same for every way to sort:
all keep that order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.emit.llvm_ir import Code
from adjoint.backends.native.kernel_registry import KernelRule
from adjoint.backends.native.kernels.radix_sort import LOW, SHORT, by_upper_half, insertion, ordered_key, selection
from adjoint.backends.native.kernels.window_loops import CHUNKS, chunked, region, unravel
from adjoint.core.spec import int64
from adjoint.graph.node import Node
from adjoint.ops.along_axis import MOST_PLACES, ArgPartition, ArgSort, ArgTopK, CumArgMax

BUFFERS = 3  # of a chunk: two to sort a line in, one for the places that have been chosen
VECTOR = 8  # keys that are made at once
KEPT = 32  # elements that are kept in order while a line goes by
LONGEST = 1 << 31  # elements of a line: a place takes half a word
SPARE = 1 << 20  # elements of the lines that may be sorted at the same time …
LINES = 8  # … or so many of longer ones


@dataclass(frozen=True)
class Line:
    """The elements along an axis, and where what is made of them goes."""

    code: Code
    dtype: np.dtype
    length: int
    source: str
    step: int
    target: str
    buffers: list[str]
    descending: bool = False

    @cached_property
    def wide(self) -> bool:
        """Whether a key takes more than 32 bits."""
        return self.dtype.itemsize == 8

    def element(self, i: Any) -> str:
        return self.code.load(self.code.element(self.source, self.code.mul(i, self.step), self.dtype), self.dtype)

    def key(self, i: Any) -> str:
        return ordered_key(self.code, self.element(i), self.dtype, self.descending)

    def put(self, i: Any, place: str) -> None:
        """Write one element of the result."""
        at = self.code.element(self.target, self.code.mul(i, self.step), int64)
        self.code.store(place, at, int64)

    def write_keys(self) -> str:
        """The keys of the line in memory; gives their address."""
        keys, code = self.buffers[0], self.code
        whole = self.length - self.length % VECTOR if self.step == 1 else 0
        if whole:
            with code.loop(0, whole, VECTOR) as each:
                some = code.load(code.element(self.source, each.i, self.dtype), self.dtype, VECTOR)
                some = ordered_key(code, some, self.dtype, self.descending, VECTOR)
                code.store(some, code.element(keys, each.i, int64), int64, VECTOR)
        if whole < self.length:
            with code.loop(whole, self.length) as each:
                code.store(self.key(each.i), code.element(keys, each.i, int64), int64)
        return keys

    def put_smallest(self, kept: int) -> None:
        """The places of the first few in order, which is kept while the line goes by."""
        code, keys, places = self.code, self.write_keys(), self.buffers[1]
        name = insertion(code.module)
        code.do(f"call void @{name}(ptr {keys}, ptr {places}, i64 {self.length}, i64 {kept})")
        with code.loop(0, kept) as each:
            self.put(each.i, code.load(code.element(places, each.i, int64), int64))

    def put_sorted(self, count: int, wanted: int, chosen: str | None = None) -> None:
        """The places of the first `wanted` of `count` elements in order: of the whole line, or of those at the places chosen."""
        code, words, name = self.code, self.buffers[0], by_upper_half(self.code.module)

        def sort(word: Callable[[str], str]) -> None:
            with code.loop(0, count) as each:
                code.store(word(each.i), code.element(words, each.i, int64), int64)
            code.do(f"call void @{name}(ptr {words}, ptr {self.buffers[1]}, i64 {count})")

        def by_lower(i: str) -> str:
            place = code.load(code.element(chosen, i, int64), int64) if chosen else i
            return code.put(f"or i64 {code.put(f'shl i64 {self.key(place)}, 32')}, {place}")

        def by_upper(i: str) -> str:
            place = self._place(code.load(code.element(words, i, int64), int64))
            return code.put(f"or i64 {code.put(f'and i64 {self.key(place)}, {~LOW}')}, {place}")

        sort(by_lower)
        if self.wide:
            sort(by_upper)
        with code.loop(0, wanted) as each:
            self.put(each.i, self._place(code.load(code.element(words, each.i, int64), int64)))

    def _place(self, word: str) -> str:
        return self.code.put(f"and i64 {word}, {LOW}")

    def nth(self, kth: int) -> str:
        """The key that sorting would put there."""
        code, keys, found = self.code, self.write_keys(), self.buffers[1]
        name = selection(code.module, 8 if self.wide else 4)
        code.do(f"call void @{name}(ptr {keys}, i64 {self.length}, i64 {kth}, ptr {found})")
        return code.load(found, int64)

    def put_chosen(self, k: int) -> None:
        """The places of the first k in order: they are chosen by the k-th, and sorted."""
        code, chosen, bound = self.code, self.buffers[2], self.nth(k - 1)
        below = self._below(bound)
        with code.loop(0, self.length, 1, [("i64", "0"), ("i64", code.put(f"sub i64 {k}, {below}"))]) as each:
            count, left = each.values
            key = self.key(each.i)
            level = code.put(f"icmp eq i64 {key}, {bound}")
            room = code.put(f"and i1 {level}, {code.put(f'icmp sgt i64 {left}, 0')}")
            taken = code.put(f"or i1 {room}, {code.put(f'icmp ult i64 {key}, {bound}')}")
            code.store(each.i, code.element(chosen, count, int64), int64)
            each.next = [self._more(count, taken), code.put(f"sub i64 {left}, {self._number(room)}")]
        self.put_sorted(k, k, chosen)

    def _below(self, bound: str) -> str:
        code = self.code
        with code.loop(0, self.length, 1, [("i64", "0")]) as each:
            less = code.put(f"icmp ult i64 {self.key(each.i)}, {bound}")
            each.next = [self._more(each.values[0], less)]
        return each.results[0]

    def _number(self, test: str) -> str:
        return self.code.put(f"zext i1 {test} to i64")

    def _more(self, count: str, test: str) -> str:
        return self.code.add(count, self._number(test))

    def put_parted(self, kth: list[int]) -> None:
        """The places in the order of their parts: those below a bound, at it, between it and the next one, and so on."""
        code, counts = self.code, self.buffers[2]
        bounds = [self.nth(k) for k in kth]
        parts = 2 * len(bounds) + 1
        code.zero(counts, 8 * parts)

        def counter(i: str) -> str:
            key, part = self.key(i), "0"
            for bound in bounds:
                for test in ("uge", "ugt"):
                    part = self._more(part, code.put(f"icmp {test} i64 {key}, {bound}"))
            return code.element(counts, part, int64)

        with code.loop(0, self.length) as each:
            at = counter(each.i)
            code.store(code.add(code.load(at, int64), 1), at, int64)
        with code.loop(0, parts, 1, [("i64", "0")]) as each:
            at = code.element(counts, each.i, int64)
            each.next = [code.add(each.values[0], code.load(at, int64))]
            code.store(each.values[0], at, int64)
        with code.loop(0, self.length) as each:
            at = counter(each.i)
            place = code.load(at, int64)
            self.put(place, each.i)
            code.store(code.add(place, 1), at, int64)

    def put_running(self) -> None:
        """The place of the last largest element so far; a NaN counts as the largest, and stays it."""
        code, lanes = self.code, Lanes(self.code, 1)
        first = self.element(0)
        with code.loop(0, self.length, 1, [(lanes.type(self.dtype), first), ("i64", "0")]) as each:
            best, place = each.values
            value = self.element(each.i)
            better = lanes.compare("ge", value, best, self.dtype)
            if self.dtype.kind == "f":
                better = code.put(f"or i1 {better}, {lanes.compare('ne', value, value, self.dtype)}")
            best = lanes.select(better, value, best, self.dtype)
            place = lanes.select(better, each.i, place, int64)
            self.put(each.i, place)
            each.next = [best, place]


Put = Callable[[Line], None]


def _writer(
    put: Callable[[Any, int], Put], descending: Callable[[Any], bool]
) -> Callable[[GraphEmitter, Node, Any], str]:
    """A writer for the places that `put(op, length of a line)` writes for each line."""

    def write(emitter: GraphEmitter, node: Node, op: Any) -> str:
        target = emitter.memory_for(node)
        if not prod(node.shape):
            return target
        [x] = node.inputs
        axis, dtype = op.axis % x.ndim, x.spec.dtype
        length, inner = x.shape[axis], prod(x.shape[axis + 1 :])
        lines, kept = prod(x.shape) // length, node.shape[axis]
        work, room = length * (8 + length.bit_length()), _room(length)
        most = max(LINES, min(CHUNKS, SPARE // length))
        spare = emitter.scratch(chunked(lines, work, most)[1] * room * BUFFERS)
        with region(emitter, lines, work, (emitter.value(x), target, spare), most) as chunk:
            code = chunk.code
            source, result, spare = chunk.pointers
            begin = code.mul("%chunk", room * BUFFERS // 8)
            buffers = [code.element(spare, code.add(begin, k * room // 8), int64) for k in range(BUFFERS)]
            with code.loop(chunk.low, chunk.high) as line:
                row, column = unravel(code, line.i, (lines // inner, inner))
                first = code.element(source, code.add(code.mul(row, length * inner), column), dtype)
                to = code.element(result, code.add(code.mul(row, kept * inner), column), int64)
                put(op, length)(Line(code, dtype, length, first, inner, to, buffers, descending(op)))
        return target

    return write


def _room(length: int) -> int:
    """The bytes of a buffer for one line."""
    return -(-max(length, 2 * MOST_PLACES + 1) * 8 // 64) * 64


def _sorted(op: ArgSort, length: int) -> Put:
    return lambda line: line.put_smallest(length) if length <= SHORT else line.put_sorted(length, length)


def _first(op: ArgTopK, length: int) -> Put:
    if op.k <= (SHORT if length <= SHORT else KEPT):
        return lambda line: line.put_smallest(op.k)
    if 4 * op.k > length:
        return lambda line: line.put_sorted(length, op.k)
    return lambda line: line.put_chosen(op.k)


def _parted(op: ArgPartition, length: int) -> Put:
    if op.sorts(length):
        return _sorted(ArgSort(op.axis), length)
    return lambda line: line.put_parted(op.places(length))


def _running(op: CumArgMax, length: int) -> Put:
    return Line.put_running


def _fits(node: Node) -> bool:
    return prod(node.inputs[0].shape) > 0 and max(node.inputs[0].shape) < LONGEST


_PUT: dict[type, Any] = {
    ArgSort: _writer(_sorted, lambda op: op.descending),
    ArgTopK: _writer(_first, lambda op: op.largest),
    ArgPartition: _writer(_parted, lambda op: False),
    CumArgMax: _writer(_running, lambda op: False),
}
KERNELS = {card: KernelRule(write, _fits) for card, write in _PUT.items()}
