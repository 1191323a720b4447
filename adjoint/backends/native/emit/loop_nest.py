"""Loop nests: one function for a set of expressions over a space, in vectors along the last axis, in chunks for threads.

Chunks depend on sizes alone, and each has its own partial sums, which are added up in order: results do not depend on the
number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.native.emit.expression_code import ExpressionValues, expression_dtype
from adjoint.backends.native.emit.lanes import Lanes, extremum
from adjoint.backends.native.emit.llvm_ir import Code, Module, in_register
from adjoint.backends.native.emit.vector_access import fill, get, mask_of, put
from adjoint.backends.native.plan.coalesce_axes import coalesced, loads_of
from adjoint.backends.native.plan.loop_expressions import Choice, Expr
from adjoint.backends.native.plan.units import Nest, cuts, nodes_of
from adjoint.core.spec import float32, float64
from adjoint.graph.node import Node

BLOCK = 16384  # elements of a chunk along a single axis
WORK = 30_000  # elements (an expensive op counts as ten) that are worth a thread
RUN = 1024  # elements of the last axis that are added up in single precision


@dataclass(frozen=True, eq=False)
class NestReduction:
    """A reduction in a nest: which axes go, and how its result lies in memory."""

    node: Node
    kind: str
    gone: tuple[bool, ...]
    strides: tuple[int, ...]  # of the result, by the nest's axes; 0 where an axis goes
    dtype: np.dtype  # of its sums
    partial: bool  # each chunk has sums of its own

    @property
    def size(self) -> int:
        return prod(self.node.shape)


def neutral(kind: str, dtype: np.dtype) -> Any:
    """What a reduction starts with."""
    if kind in ("max", "min"):
        if dtype.kind == "b":
            return kind == "min"
        if dtype.kind == "f":
            return -np.inf if kind == "max" else np.inf
        return np.iinfo(dtype).min if kind == "max" else np.iinfo(dtype).max
    return kind == "all" if dtype.kind == "b" else 0


def combine(lanes: Lanes, kind: str, dtype: np.dtype, x: str, y: str) -> str:
    """Two parts of a reduction together."""
    if kind in ("max", "min"):
        return extremum(lanes, "gt" if kind == "max" else "lt", dtype, x, y)
    word = {"any": "or", "all": "and"}.get(kind, "fadd" if dtype.kind == "f" else "add")
    return lanes.code.put(f"{word} {lanes.type(dtype)} {x}, {y}")


class NestFunction:
    """Writes nests as one function `void nest(ptr ctx, i64 chunk)` and says how to call it.

    Several nests are fused by rows: they share their first `lead` axes, and each row of them is finished before the next begins, so
    that what one nest leaves for another is still near.
    """

    def __init__(self, module: Module, nests: Sequence[Nest], bits: int, lead: int = 0) -> None:
        self.module = module
        self.code = Code(module)
        self.values: dict[Any, str] = {}
        self.sweeps = [Sweep(self, nest, lead) for nest in nests]
        self.fused = lead > 0
        self.chunks, self.per = self._split(nests)
        for sweep in self.sweeps:
            sweep.decide(bits)
        self.stores = [root for sweep in self.sweeps for root in sweep.stores]
        self.folds = [fold for sweep in self.sweeps for fold in sweep.folds]
        made = {*self.stores, *(f.node for f in self.folds)}
        leaves = dict.fromkeys(n for sweep in self.sweeps for n in sweep.leaves if n not in made)
        #: What the function is given: leaves, results stored, results folded.
        self.slots: list[Any] = [*leaves, *self.stores, *self.folds]
        self._write()

    @property
    def rows(self) -> int:
        return self.sweeps[0].space[0]

    def _split(self, nests: Sequence[Nest]) -> tuple[int, int]:
        """How many chunks there are, and how much of the first axis each takes."""
        work = 0
        for nest, sweep in zip(nests, self.sweeps, strict=True):
            expensive = sum(n.op.expensive for n in nodes_of(nest.roots.values())[1])
            work += prod(sweep.space) * (1 + 10 * expensive)
        wanted, n, single = min(work // WORK, 64), self.rows, len(self.sweeps[0].space) == 1
        if wanted < 2:
            return (1, n) if not single or n <= BLOCK else (-(-n // BLOCK), BLOCK)
        per = -(-n // wanted)
        if single:
            per = min(-(-per // 64) * 64, BLOCK)
        return -(-n // per), per

    def _write(self) -> None:
        code = self.code
        for k, slot in enumerate(self.slots):
            address = code.put(f"getelementptr i64, ptr %ctx, i64 {k}")
            scalar = isinstance(slot, Node) and not slot.shape
            self.values[slot] = code.load(address, slot.spec.dtype) if scalar else code.put(f"load ptr, ptr {address}")
        for fold in self.folds:
            if fold.partial:
                begin = code.element(self.values[fold], code.mul("%chunk", fold.size), fold.dtype)
                self.values[fold] = begin
                fill(code, begin, fold.size, neutral(fold.kind, fold.dtype), fold.dtype)
            self.values.setdefault(fold.node, self.values[fold])
        low, high = self._range()
        if self.fused:
            with code.loop(low, high) as row:
                for sweep in self.sweeps:
                    sweep.write((row.i,), 0, sweep.space[1])
        else:
            self.sweeps[0].write((), low, high)
        self.name = self.module.function("nest", "ptr noalias %ctx, i64 %chunk", code.lines)

    def _range(self) -> tuple[Any, Any]:
        """The part of the first axis that a chunk takes."""
        n = self.rows
        if self.chunks == 1:
            return 0, n
        low = self.code.mul("%chunk", self.per)
        high = self.code.add(low, self.per)
        if n % self.per:
            less = self.code.put(f"icmp slt i64 {high}, {n}")
            high = self.code.put(f"select i1 {less}, i64 {high}, i64 {n}")
        return low, high


class Sweep:
    """One nest inside a function."""

    def __init__(self, function: NestFunction, nest: Nest, lead: int) -> None:
        self.function, self.code, self.values = function, function.code, function.values
        self.roots = nest.roots
        self.leaves = list(nodes_of(nest.roots.values())[0])
        self.points = list(nodes_of(nest.roots.values())[1])
        self.loads = loads_of(nest.roots.values())
        self.space, steps, gone = coalesced(nest, self.loads, lead)
        self.strides = dict(zip(map(id, self.loads), steps[: len(self.loads)], strict=True))
        self.stores: dict[Node, tuple[int, ...]] = {}
        self._gone: list[tuple[Node, tuple[int, ...], tuple[bool, ...]]] = []
        roots = len(self.loads) + len(nest.roots)
        places = {axis: step.index(1) for axis, step in zip(cuts(nest.roots.values()), steps[roots:], strict=True)}
        #: Where expressions change along an axis of the space, and which axis that was in the nest.
        self.cuts = {places[axis]: sorted(at) for axis, at in cuts(nest.roots.values()).items()}
        self._axes = places
        self._within: dict[int, int] = {}  # an index of the piece being written, by axis
        for root, stride, flags in zip(nest.roots, steps[len(self.loads) : roots], gone, strict=True):
            if root.op.reduction:
                self._gone.append((root, stride, flags))
            else:
                self.stores[root] = stride

    def decide(self, bits: int) -> None:
        """How reductions are summed up and how wide vectors are, once the chunks are known."""
        self.folds = [self._fold(*f) for f in self._gone]
        sizes = [n.spec.dtype.itemsize for n in (*self.points, *self.leaves, *self.roots)]
        width = max(bits // 8 // max([s for s in sizes if s > 1], default=8), 2)
        last = self.function.per if len(self.space) == 1 else self.space[-1]
        while width > 1 and width >= 2 * last:
            width //= 2
        self.width = width
        #: Whether single precision would lose digits in sums along the last axis.
        self.long = last > RUN and any(
            f.kind == "sum" and f.gone[-1] and f.node.spec.dtype == float32 for f in self.folds
        )

    def _fold(self, root: Node, strides: tuple[int, ...], gone: tuple[bool, ...]) -> NestReduction:
        kind, dtype = root.op.reduction, root.spec.dtype
        whole = all(gone)
        if whole and kind == "sum" and dtype.kind == "f":
            dtype = float64
        return NestReduction(root, kind, gone, strides, dtype, whole or (self.function.chunks > 1 and gone[0]))

    def write(self, indices: tuple[str, ...], low: Any, high: Any) -> None:
        """The loops over the axes that are left."""
        if len(indices) == len(self.space) - 1:
            self._inner(indices, low, high)
            return
        for begin, end, _ in self._pieces(len(indices), low, high):
            with self.code.loop(begin, end) as iteration:
                following = min(len(indices) + 1, len(self.space) - 1)
                self.write((*indices, iteration.i), 0, self.space[following])

    def _pieces(self, axis: int, low: Any, high: Any) -> Iterator[tuple[Any, Any, int]]:
        """The range of an axis in pieces inside which no expression changes, each with the most it may hold."""
        n = self.space[axis]
        marks = [0, *(c for c in self.cuts.get(axis, ()) if 0 < c < n), n]
        for first, last in pairwise(marks):
            self._within[axis] = first
            if isinstance(low, int) and isinstance(high, int):
                yield first, last, last - first
            elif len(marks) == 2:
                yield low, high, n
            else:
                begin = self._extreme("smax", low, first)
                yield begin, self._extreme("smax", self._extreme("smin", high, last), begin), last - first

    def _extreme(self, name: str, a: Any, b: Any) -> str:
        self.function.module.declare(f"i64 @llvm.{name}.i64(i64, i64)")
        return self.code.put(f"call i64 @llvm.{name}.i64(i64 {a}, i64 {b})")

    def chosen(self, e: Expr) -> Expr:
        """The form that an expression has in the piece being written."""
        while isinstance(e, Choice):
            e = e.inside if e.low <= self._within[self._axes[e.axis]] < e.high else e.outside
        return e

    def _base(self, pointer: str, offset: int, strides: Sequence[int], indices: Sequence[str], dtype: np.dtype) -> str:
        """Where the last axis begins, given the indices of the others."""
        total: Any = offset
        for index, stride in zip(indices, strides, strict=False):
            total = self.code.add(total, self.code.mul(index, stride))
        return self.code.element(pointer, total, dtype)

    def _inner(self, indices: tuple[str, ...], low: Any, high: Any) -> None:
        """The last axis, piece by piece."""
        bases = {
            id(e): self._base(self.values[e.leaf], e.offset, self.strides[id(e)], indices, e.leaf.spec.dtype)
            for e in self.loads
        }
        targets: dict[Node | NestReduction, str] = {
            root: self._base(self.values[root], 0, strides, indices, root.spec.dtype)
            for root, strides in self.stores.items()
        }
        targets |= {f: self._base(self.values[f], 0, f.strides, indices, f.dtype) for f in self.folds}
        along = [f for f in self.folds if f.gone[-1]]
        totals: list[str] = []
        for begin, end, most in self._pieces(len(self.space) - 1, low, high):
            sums = self._piece(ExpressionValues(self, bases, {}), targets, along, begin, end, most)
            totals = self._sum(along, totals, sums) if totals else sums
        for fold, total in zip(along, totals, strict=True):
            self._finish(fold, targets[fold], total)

    def _piece(
        self, point: ExpressionValues, targets: Any, along: Sequence[NestReduction], low: Any, high: Any, most: int
    ) -> list[str]:
        """A piece of the last axis: full vectors, then the rest under a mask; gives its sums."""
        code, width = self.code, self.width
        for root in self.roots.values():
            point.hoist(root)
        start = self._nothing(along, [self._lane_dtype(f) for f in along])
        sums = [first for _, first in start]

        known = isinstance(low, int) and isinstance(high, int)
        if known:
            full: Any = low + (high - low) // width * width
            some, rest = full > low, full < high
        elif most < width:
            full, some, rest = low, False, True
        else:
            count = code.put(f"sub i64 {high}, {low}")
            full = code.add(low, code.put(f"and i64 {count}, {-width}"))
            some, rest = True, width > 1
        if self.long and rest:  # first, so that what is left is not added to a long sum
            sums = self._rest(point, targets, along, full, high, start, sums, known)
        if self.long:
            sums = [self._widened(f, s) for f, s in zip(along, sums, strict=True)]
        if self.long and some:
            wide = [self._total_dtype(f) for f in along]
            with code.loop(
                low, full, RUN, [(in_register(d, width), s) for d, s in zip(wide, sums, strict=True)]
            ) as run:
                end = code.put(f"add nsw i64 {run.i}, {RUN}")
                end = code.put(f"select i1 {code.put(f'icmp slt i64 {end}, {full}')}, i64 {end}, i64 {full}")
                with code.loop(run.i, end, width, start) as iteration:
                    iteration.next = self._body(point, targets, along, iteration.i, width, iteration.values, None)
                run.next = [
                    combine(Lanes(code, width), f.kind, d, old, self._widened(f, new))
                    for f, d, old, new in zip(along, wide, run.values, iteration.results, strict=True)
                ]
            sums = run.results
        elif some:
            with code.loop(low, full, width, start) as iteration:
                iteration.next = self._body(point, targets, along, iteration.i, width, iteration.values, None)
            sums = iteration.results
        if rest and not self.long:
            sums = self._rest(point, targets, along, full, high, start, sums, known)
        return sums

    def _sum(self, along: Sequence[NestReduction], old: Sequence[str], new: Sequence[str]) -> list[str]:
        """The sums of two pieces together."""
        lanes = Lanes(self.code, self.width)
        folds = zip(along, old, new, strict=True)
        return [combine(lanes, f.kind, self._total_dtype(f), a, b) for f, a, b in folds]

    def _nothing(self, along: Sequence[NestReduction], dtypes: Sequence[np.dtype]) -> list[tuple[str, str]]:
        """Type and first value of the lanes of each reduction."""
        lanes = Lanes(self.code, self.width)
        return [(lanes.type(d), lanes.number(neutral(f.kind, d), d)) for f, d in zip(along, dtypes, strict=True)]

    def _lane_dtype(self, fold: NestReduction) -> np.dtype:
        return fold.node.spec.dtype if fold.dtype.kind == "f" else fold.dtype

    def _total_dtype(self, fold: NestReduction) -> np.dtype:
        """The dtype in which the sums of runs are added up."""
        return float64 if self.long and fold.kind == "sum" and fold.dtype.kind == "f" else self._lane_dtype(fold)

    def _widened(self, fold: NestReduction, lanes: str) -> str:
        return Lanes(self.code, self.width).cast(lanes, self._lane_dtype(fold), self._total_dtype(fold))

    def _rest(
        self, point: Any, targets: Any, along: Any, full: Any, high: Any, start: Any, sums: list[str], known: bool
    ) -> list[str]:
        """What is left when the vectors are full."""
        code, width = self.code, self.width
        left = code.put(f"sub i64 {high}, {full}") if not known else high - full
        before, after = code.label, code.new_label("whole")
        if not known:
            tail = code.new_label("rest")
            code.branch(code.put(f"icmp sgt i64 {left}, 0"), tail, after)
            code.begin(tail)
        mask = mask_of(code, width, left)
        new = self._body(point, targets, along, str(full), width, sums, mask)
        if not known:
            end = code.label
            code.jump(after)
            code.begin(after)
            new = [
                code.put(f"phi {kind} [ {old}, %{before} ], [ {value}, %{end} ]")
                for (kind, _), old, value in zip(start, sums, new, strict=True)
            ]
        return new

    def _body(
        self,
        point: Any,
        targets: Any,
        along: Sequence[NestReduction],
        i: str,
        width: int,
        sums: Sequence[str],
        mask: str | None,
    ) -> list[str]:
        """One vector of every root; gives the new sums along the axis."""
        code, lanes = self.code, Lanes(self.code, width)
        at = point.at(i, width, mask)
        values = [
            at(expression) for expression in self.roots.values()
        ]  # before the first store, which may be over an input
        new = list(sums)
        for value, (root, expression) in zip(values, self.roots.items(), strict=True):
            dtype = expression_dtype(expression)
            if root in self.stores:
                value = lanes.cast(value, dtype, root.spec.dtype)
                put(code, value, targets[root], self.stores[root][-1], i, root.spec.dtype, width, mask)
                continue
            fold = next(f for f in self.folds if f.node is root)
            lane = self._lane_dtype(fold)
            value = lanes.cast(value, dtype, lane)
            if fold in along:
                k = along.index(fold)
                total = combine(lanes, fold.kind, lane, new[k], value)
                new[k] = total if mask is None else lanes.select(mask, total, new[k], lane)
            else:
                old = get(code, targets[fold], fold.strides[-1], i, fold.dtype, width, mask)
                total = combine(lanes, fold.kind, fold.dtype, old, lanes.cast(value, lane, fold.dtype))
                put(code, total, targets[fold], fold.strides[-1], i, fold.dtype, width, mask)
        return new

    def _finish(self, fold: NestReduction, target: str, total: str) -> None:
        """The lanes of a sum together, and into memory."""
        code, lane, width = self.code, self._total_dtype(fold), self.width
        while width > 1:
            half = width // 2
            parts = Lanes(code, width).halves(total, lane)
            if half == 1:
                parts = [code.put(f"extractelement <1 x {in_register(lane)}> {p}, i32 0") for p in parts]
            total = combine(Lanes(code, half), fold.kind, lane, *parts)
            width = half
        one = Lanes(code, 1)
        total = one.cast(total, lane, fold.dtype)
        if fold.partial or any(fold.gone[:-1]):
            total = combine(one, fold.kind, fold.dtype, code.load(target, fold.dtype), total)
        code.store(total, target, fold.dtype)
