"""LLVM IR of what is computed at one point of a nest, and of what one thread does: the same text for GPUs and for this CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.backends.gpu_kernels.branch_free import FlaggingLanes
from adjoint.backends.gpu_kernels.thread_layout import THREADS, WARP, WARPS, ThreadLayout
from adjoint.backends.native.emit.expression_code import expression_dtype
from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.emit.llvm_ir import Code, Module, in_memory, in_register
from adjoint.backends.native.emit.loop_nest import combine, neutral
from adjoint.backends.native.plan.loop_expressions import Apply, Expr, Immediate, Load
from adjoint.core.spec import bool_
from adjoint.graph.node import Node


def struct(kinds: Sequence[str]) -> str:
    """The type of several values together."""
    return "{ " + ", ".join(kinds) + " }" if kinds else "void"


class ThreadFunction:
    """Writes `@point`, the roots of a nest at one point, and `@thread`: the points of one thread and its parts of reductions."""

    def __init__(self, module: Module, geometry: ThreadLayout) -> None:
        self.module, self.geometry = module, geometry
        g = geometry
        #: The types of what a thread leaves for its block.
        self.parts = [in_register(f.total) for f in g.folds]
        self.wanted = {**{n: n.spec.dtype for n in g.stores}, **{f.node: f.lane for f in g.folds}}
        self.flagged: set[str] = set()  # functions that set a flag for rare arguments
        self.rare = self._write_point("point", FlaggingLanes)
        if self.rare:
            self._write_point("any_point", lambda code: Lanes(code, 1))
        self._write_thread()

    # ------------------------------------------------------------ one point

    def _write_point(self, name: str, make: Callable[[Code], Lanes]) -> bool:
        """The function `@point`, of what is read at a point: the roots there, and a flag where it has one; says whether it has."""
        g, code = self.geometry, Code(self.module)
        lanes = make(code)
        names: dict[Any, str] = {id(e): f"%x{k}" for k, e in enumerate(g.loads)}
        names |= {node: f"%s{k}" for k, node in enumerate(g.scalars)}
        known: dict[int, str] = {}

        def value(e: Expr) -> str:
            if id(e) not in known:
                if isinstance(e, Immediate):
                    known[id(e)] = lanes.number(e.value, e.dtype)
                elif isinstance(e, Apply):
                    known[id(e)] = lanes.apply(e.node, [value(a) for a in e.args])
                else:
                    known[id(e)] = names[id(e)] if isinstance(e, Load) else names[e.leaf]  # type: ignore[union-attr]
            return known[id(e)]

        values = [lanes.cast(value(e := g.roots[n]), expression_dtype(e), d) for n, d in self.wanted.items()]
        flags = lanes.flags if isinstance(lanes, FlaggingLanes) else []
        kinds = [in_register(d) for d in self.wanted.values()]
        if flags:
            flag = flags[0]
            for other in flags[1:]:
                flag = code.put(f"or i1 {flag}, {other}")
            values, kinds = [*values, flag], [*kinds, "i1"]
        if isinstance(lanes, FlaggingLanes):
            self.flagged |= lanes.used
        total, kind = "poison", struct(kinds)
        for k, (x, own) in enumerate(zip(values, kinds, strict=True)):
            total = code.put(f"insertvalue {kind} {total}, {own} {x}, {k}")
        given = ", ".join(f"{t} {n}" for t, n in zip(self._arguments(), names.values(), strict=True))
        how = "alwaysinline" if name == "point" else "noinline"
        head = f"define internal {kind} @{name}({given}) {how} nounwind {{"
        self.module.functions.append("\n".join([head, "entry:", *code.lines, f"  ret {kind} {total}", "}"]))
        return bool(flags)

    def _arguments(self) -> list[str]:
        g = self.geometry
        return [in_register(n.spec.dtype) for n in (*(e.leaf for e in g.loads), *g.scalars)]

    # ------------------------------------------------------------ one thread

    def _write_thread(self) -> None:
        g, code = self.geometry, Code(self.module)
        pointers = [f"%in{k}" for k in range(len(g.inputs))]
        self.pointer = dict(zip(g.inputs, pointers, strict=True))
        self.target = {node: f"%out{k}" for k, node in enumerate(g.stores)}
        self.scalars = [code.load(self.pointer[n], n.spec.dtype) for n in g.scalars]
        totals = self._rows(code) if g.kind == "rows" else self._everywhere(code)
        total, kind = "poison", struct(self.parts)
        for k, value in enumerate(totals):
            total = code.put(f"insertvalue {kind} {total}, {self.parts[k]} {value}, {k}")
        given = ", ".join(f"ptr {p}" for p in (*pointers, *self.target.values()))
        head = f"define internal {kind} @thread({given}, i32 %block, i32 %thread) alwaysinline nounwind {{"
        end = f"  ret {kind} {total}" if self.parts else "  ret void"
        self.module.functions.append("\n".join([head, "entry:", *code.lines, end, "}"]))

    def _everywhere(self, code: Code) -> list[str]:
        """All points: this thread's vectors, a grid apart, and what is left of a single axis."""
        g = self.geometry
        first = code.put(f"add i32 {code.put(f'mul i32 %block, {THREADS}')}, %thread")
        with _Steps(code, g, first, str(g.items), g.blocks * THREADS, g.width) as steps:
            steps.after(self._points(code, ThreadIndex.of(code, g, steps.i), g.width, steps.sums))
        totals = self._totals(code, steps.sums, g.width)
        if g.left:
            with _Steps(code, g, first, str(g.left), g.blocks * THREADS, 1) as steps:
                index = code.put(f"add i32 {steps.i}, {g.space[-1] - g.left}")
                steps.after(self._points(code, ThreadIndex((), index), 1, steps.sums))
            left = self._totals(code, steps.sums, 1)
            one = Lanes(code, 1)
            totals = [combine(one, f.kind, f.total, x, y) for f, x, y in zip(g.folds, totals, left, strict=True)]
        return totals

    def _rows(self, code: Code) -> list[str]:
        """The row of this thread's warp or block: its vectors, a warp or a block apart."""
        g = self.geometry
        row, lane, step = "%block", "%thread", THREADS
        count = str(g.space[-1] // g.width)
        if g.warp_rows:
            warp = code.put(f"lshr i32 %thread, {WARP.bit_length() - 1}")
            row = code.put(f"add i32 {code.put(f'mul i32 %block, {WARPS}')}, {warp}")
            lane, step = code.put(f"and i32 %thread, {WARP - 1}"), WARP
            there = code.put(f"icmp ult i32 {row}, {g.rows}")
            count = code.put(f"select i1 {there}, i32 {count}, i32 0")
        outer = split_index(code, row, g.space[:-1])
        with _Steps(code, g, lane, count, step, g.width) as steps:
            place = ThreadIndex(outer, code.put(f"mul i32 {steps.i}, {g.width}"))
            steps.after(self._points(code, place, g.width, steps.sums))
        return self._totals(code, steps.sums, g.width)

    def _totals(self, code: Code, sums: list[str], width: int) -> list[str]:
        """The lanes of sums together, halves with halves."""
        found = []
        for fold, value in zip(self.geometry.folds, sums, strict=True):
            size = width
            value = Lanes(code, size).cast(value, fold.lane, fold.total)
            while size > 1:
                size //= 2
                parts = Lanes(code, 2 * size).halves(value, fold.total)
                if size == 1:
                    parts = [code.put(f"extractelement <1 x {in_register(fold.total)}> {p}, i32 0") for p in parts]
                value = combine(Lanes(code, size), fold.kind, fold.total, *parts)
            found.append(value)
        return found

    def _points(self, code: Code, place: ThreadIndex, width: int, sums: list[str]) -> list[str]:
        """The roots at some neighbouring points; gives the new sums."""
        g = self.geometry
        inputs = [self._loaded(code, e, place, width) for e in g.loads]
        made = self._computed(code, [*inputs, *([x] * width for x in self.scalars)], width)
        joined = [self._joined(code, xs, d) for xs, d in zip(made, self.wanted.values(), strict=True)]
        for (node, strides), value in zip(g.stores.items(), joined, strict=False):
            self._stored(code, node, strides, value, place, width)
        folded = zip(g.folds, sums, joined[len(g.stores) :], strict=True)
        return [combine(Lanes(code, width), f.kind, f.lane, old, new) for f, old, new in folded]

    def _computed(self, code: Code, inputs: list[list[str]], width: int) -> list[list[str]]:
        """The roots, lane by lane: once without branches, and where an argument was rare again."""
        kinds = [in_register(d) for d in self.wanted.values()]
        types = self._arguments()
        given = [", ".join(f"{t} {xs[k]}" for t, xs in zip(types, inputs, strict=True)) for k in range(width)]

        def called(name: str, kind: str, count: int) -> list[list[str]]:
            found = [code.put(f"call {kind} @{name}({args})") for args in given]
            return [[code.put(f"extractvalue {kind} {x}, {k}") for x in found] for k in range(count)]

        if not self.rare:
            return called("point", struct(kinds), len(kinds))
        *fast, flags = called("point", struct([*kinds, "i1"]), len(kinds) + 1)
        flag = flags[0]
        for other in flags[1:]:
            flag = code.put(f"or i1 {flag}, {other}")
        again, after, before = code.new_label("rare"), code.new_label("after"), code.label
        code.branch(flag, again, after)
        code.begin(again)
        slow = called("any_point", struct(kinds), len(kinds))
        code.jump(after)
        code.begin(after)
        pairs = zip(kinds, fast, slow, strict=True)
        return [
            [code.put(f"phi {kind} [ {x}, %{before} ], [ {y}, %{again} ]") for x, y in zip(xs, ys, strict=True)]
            for kind, xs, ys in pairs
        ]

    def _joined(self, code: Code, xs: list[str], dtype: np.dtype) -> str:
        """One element of each lane as a vector."""
        if len(xs) == 1:
            return xs[0]
        total, kind = "poison", in_register(dtype, len(xs))
        for lane, x in enumerate(xs):
            total = code.put(f"insertelement {kind} {total}, {in_register(dtype)} {x}, i32 {lane}")
        return total

    def _loaded(self, code: Code, e: Load, place: ThreadIndex, width: int) -> list[str]:
        g, dtype = self.geometry, e.leaf.spec.dtype
        strides = g.strides[id(e)]
        address = place.address(code, self.pointer[e.leaf], e.offset, strides, dtype)
        if width == 1 or strides[-1] == 0:
            return [code.load(address, dtype)] * width
        if strides[-1] != 1:
            return [code.load(code.element(address, lane * strides[-1], dtype), dtype) for lane in range(width)]
        wide = in_memory(dtype, width)
        vector = code.put(f"load {wide}, ptr {address}, align {g.alignment(strides, e.offset, dtype)}")
        found = [code.put(f"extractelement {wide} {vector}, i32 {lane}") for lane in range(width)]
        return [code.put(f"icmp ne i8 {x}, 0") for x in found] if dtype == bool_ else found

    def _stored(
        self, code: Code, node: Node, strides: tuple[int, ...], value: str, place: ThreadIndex, width: int
    ) -> None:
        dtype = node.spec.dtype
        address = place.address(code, self.target[node], 0, strides, dtype)
        if width == 1:
            code.store(value, address, dtype)
            return
        wide = in_memory(dtype, width)
        if dtype == bool_:
            value = code.put(f"zext <{width} x i1> {value} to {wide}")
        code.do(f"store {wide} {value}, ptr {address}, align {self.geometry.alignment(strides, 0, dtype)}")


@dataclass(frozen=True)
class ThreadIndex:
    """Where a thread stands: the indices of all axes but the last, and where along the last."""

    outer: tuple[Any, ...]
    last: str

    @staticmethod
    def of(code: Code, g: ThreadLayout, item: str) -> ThreadIndex:
        """The place of a vector, by its number."""
        per = g.space[-1] // g.width
        if len(g.space) == 1:
            return ThreadIndex((), code.put(f"mul i32 {item}, {g.width}"))
        row, vector = code.put(f"udiv i32 {item}, {per}"), code.put(f"urem i32 {item}, {per}")
        return ThreadIndex(split_index(code, row, g.space[:-1]), code.put(f"mul i32 {vector}, {g.width}"))

    def address(self, code: Code, pointer: str, offset: int, strides: Sequence[int], dtype: Any) -> str:
        """Where an array is read or written here."""
        total: Any = offset
        for index, stride in zip((*self.outer, self.last), strides, strict=True):
            if stride:
                wide = code.put(f"zext i32 {index} to i64")
                total = code.add(total, code.mul(wide, stride))
        return code.element(pointer, total, dtype)


def split_index(code: Code, index: str, sizes: Sequence[int]) -> tuple[str, ...]:
    """The indices along some axes, of a number that counts them all."""
    found: list[str] = []
    for axis in range(len(sizes) - 1, 0, -1):
        found.append(code.put(f"urem i32 {index}, {sizes[axis]}"))
        index = code.put(f"udiv i32 {index}, {sizes[axis]}")
    return (index, *reversed(found)) if sizes else ()


class _Steps:
    """A loop from `first` while below `count`, in steps; sums of each reduction are carried from one to the next."""

    def __init__(self, code: Code, g: ThreadLayout, first: str, count: str, step: int, width: int) -> None:
        self.code, self.first, self.count, self.step = code, first, count, step
        lanes = Lanes(code, width)
        self.start = [(lanes.type(f.lane), lanes.number(neutral(f.kind, f.lane), f.lane)) for f in g.folds]

    def __enter__(self) -> _Steps:
        code = self.code
        self._head, self._after = code.new_label("head"), code.new_label("after")
        body, before = code.new_label("body"), code.label
        code.jump(self._head)
        code.begin(self._head)
        self.i, self._place = code.phi("i32", (self.first, before))
        self._phis = [code.phi(kind, (first, before)) for kind, first in self.start]
        self.sums = [name for name, _ in self._phis]
        code.branch(code.put(f"icmp ult i32 {self.i}, {self.count}"), body, self._after)
        code.begin(body)
        return self

    def after(self, sums: list[str]) -> None:
        """What the sums are after a step."""
        self._new = sums

    def __exit__(self, *problem: Any) -> None:
        if problem[0] is not None:
            return
        code = self.code
        following = code.put(f"add i32 {self.i}, {self.step}")
        end = code.label
        code.jump(self._head)
        code.arrive(self._place, following, end)
        for (_, place), value in zip(self._phis, self._new, strict=True):
            code.arrive(place, value, end)
        code.begin(self._after)
