"""Matrix products written for their sizes: register tiles, packed panels, chunks for threads.

Chunks depend on sizes alone, and one chunk computes each element of the result, its terms in a fixed order: results do
not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from adjoint.backends.native import threads
from adjoint.backends.native.blocking import Layout, Product, layout
from adjoint.backends.native.code import Code
from adjoint.backends.native.lanes import Lanes
from adjoint.backends.native.lines import get, put
from adjoint.backends.native.tiles import Factor, Span, Tiler, mask_of
from adjoint.core.spec import bool_

LINE = 64  # bytes that come from memory together


@dataclass(frozen=True)
class Spot:
    """Where an epilogue works: a vector of the result from (row, column) on, `row` counted through the whole batch."""

    lanes: Lanes
    dtype: np.dtype
    row: Any
    column: Any
    columns: int
    mask: str | None
    captured: tuple[str, ...]

    def along_columns(self, index: int) -> str:
        """What captured array `index`, with one element for each column, holds here."""
        return self._read(self.captured[index])

    def everywhere(self, index: int) -> str:
        """What captured array `index`, of the result's shape, holds here."""
        code = self.lanes.code
        return self._read(code.element(self.captured[index], code.mul(self.row, self.columns), self.dtype))

    def _read(self, begin: str) -> str:
        return get(self.lanes.code, begin, 1, str(self.column), self.dtype, self.lanes.width, self.mask)


@dataclass(frozen=True)
class Place:
    """Which tile of the result: where it begins, its rows, its vectors, and how many lanes of the last are in use."""

    row: Any
    column: Any
    rows: int
    columns: int
    used: int


#: From, to: each a number or the name of one.
Terms = tuple[Any, Any]
#: What becomes of a finished value before it is stored.
Epilogue = Callable[[Spot, str], str]


def emit_gemm(
    frame: Any,
    wanted: Product,
    a: str,
    b: str,
    c: str,
    *,
    epilogue: Epilogue | None = None,
    captured: Sequence[str] = (),
) -> None:
    """Write a product into the code of a frame: a function of its own, and its call.

    The epilogue is given each finished vector before it is stored; `captured` are addresses that it may read.
    """
    p = wanted.simplified()
    if epilogue is None and p.n == 1 and p.m > 1:
        p, a, b = p.flipped(), b, a
    shared, code = frame.shared, frame.code
    plan = layout(p, shared.bits)
    values = [a, b, c, *captured]
    if plan.pack_rows:
        values.append(frame.scratch(plan.packed(p) * p.dtype.itemsize))
    function = GemmFunction(shared.module, p, plan, epilogue, len(values))
    context = shared.alloca(f"[{len(values)} x ptr]")
    for k, value in enumerate(values):
        code.do(f"store ptr {value}, ptr {code.put(f'getelementptr ptr, ptr {context}, i64 {k}')}")
    for name, chunks in function.calls:
        if chunks > 1:
            shared.parallel = True
            shared.module.declarations[threads.DECLARE] = None
            code.do(f"call void @{threads.SYMBOL}(ptr @{name}, ptr {context}, i64 {chunks})")
        else:
            code.do(f"call void @{name}(ptr {context}, i64 0)")


class GemmFunction:
    """Writes a product as a function `void gemm(ptr ctx, i64 chunk)`; equal products share one."""

    def __init__(self, module: Any, p: Product, plan: Layout, epilogue: Epilogue | None, slots: int) -> None:
        self.p, self.layout, self.epilogue = p, plan, epilogue
        name = _name(p) if epilogue is None else module.fresh("gemm")
        panel = max(s.size for s, _ in plan.columns) * plan.width * plan.deep
        room = f"  %panel = alloca [{panel * p.dtype.itemsize} x i8], align 64\n" if plan.pack else ""
        #: What to call, one after the other, and how many chunks each has.
        self.calls = [(name, plan.chunks)]
        self._define(module, name, slots, self._chunk, room)
        if plan.pack_rows:
            self.calls.insert(0, (f"{name}_rows", plan.units // plan.column_parts))
            self._define(module, f"{name}_rows", slots, self._pack_rows, "")

    def _define(self, module: Any, name: str, slots: int, write: Callable[[], None], room: str) -> None:
        head = f"define internal void @{name}(ptr noalias %ctx, i64 %chunk) nounwind noinline {{"
        if any(text.startswith(head) for text in module.functions):
            return
        self.code = Code(module)
        self.tiler = Tiler(self.code, self.p.dtype, self.layout.width)
        self.pointers = [self._slot(k) for k in range(slots)]
        write()
        text = "\n".join(self.code.lines)
        module.functions.append(f"{head}\nentry:\n{room}{text}\n  ret void\n}}")

    def _slot(self, k: int) -> str:
        return self.code.put(f"load ptr, ptr {self.code.put(f'getelementptr ptr, ptr %ctx, i64 {k}')}")

    # ------------------------------------------------------------ from chunks to panels

    def _chunk(self) -> None:
        """The units of this chunk."""
        plan = self.layout
        if plan.units == 1:
            self._unit(0)
        elif plan.per == 1:
            self._unit("%chunk")
        else:
            low = self.code.mul("%chunk", plan.per)
            high = self.tiler.least(self.code.add(low, plan.per), plan.units)
            with self.code.loop(0 if plan.chunks == 1 else low, plan.units if plan.chunks == 1 else high) as turn:
                self._unit(turn.i)

    def _split(self, i: Any, n: int) -> tuple[Any, Any]:
        """Quotient and rest."""
        if n == 1:
            return i, 0
        if isinstance(i, int):
            return divmod(i, n)
        return self.code.put(f"udiv i64 {i}, {n}"), self.code.put(f"urem i64 {i}, {n}")

    def _pack_rows(self) -> None:
        """The rows of A that a chunk takes, tile by tile, each the transpose of some rows."""
        p, plan = self.p, self.layout
        rest, part = self._split("%chunk" if plan.units > plan.column_parts else 0, plan.row_parts)
        a, _ = self._factors(rest)
        turned = Factor(a.pointer, a.across, a.down)
        rows = self._part(part, plan.row_parts, plan.tiles)
        for terms in self._depths():
            for tile in plan.rows:
                with self.code.loop(*self._over(tile, rows)) as at:
                    source = turned.at(self.code, 0, tile.begin(self.code, at.i), p.dtype)
                    self.tiler.pack(source, self._packed(rest, at.i, terms[0]), tile.size, tile.size, *terms, p.k)

    def _packed(self, batch: Any, tile: Any, low: Any) -> str:
        """Where the terms from `low` on of a tile of A lie when it is packed."""
        code, plan = self.code, self.layout
        line = max(s.size for s in plan.rows)
        blocks = -(-self.p.k // plan.deep) * plan.deep
        place = code.add(code.mul(batch, plan.tiles * blocks), code.mul(low, plan.tiles))
        return code.element(self.pointers[-1], code.mul(code.add(place, code.mul(tile, plan.deep)), line), self.p.dtype)

    def _factors(self, index: Any) -> tuple[Factor, Factor]:
        """A and B of one product of the batch."""
        p, code = self.p, self.code
        a_at: Any = 0
        b_at: Any = 0
        for n, a_step, b_step in reversed(list(zip(p.batch, p.a_batch, p.b_batch, strict=True))):
            index, i = self._split(index, n)
            a_at, b_at = code.add(a_at, code.mul(i, a_step)), code.add(b_at, code.mul(i, b_step))
        a = Factor(code.element(self.pointers[0], a_at, p.dtype), *p.a)
        return a, Factor(code.element(self.pointers[1], b_at, p.dtype), *p.b)

    def _depths(self) -> Iterator[Terms]:
        """The terms that are added up in one go: from, to."""
        p, plan = self.p, self.layout
        if plan.deep >= p.k:
            yield 0, p.k
        else:
            with self.code.loop(0, p.k, plan.deep) as turn:
                yield turn.i, self.tiler.least(self.code.add(turn.i, plan.deep), p.k)

    def _unit(self, unit: Any) -> None:
        """Part of one product of the batch: some rows by some columns."""
        p, code, plan = self.p, self.code, self.layout
        rest, column_part = self._split(unit, plan.column_parts)
        self.batch, row_part = self._split(rest, plan.row_parts)
        a, b = self._factors(self.batch)
        c = Factor(code.element(self.pointers[2], code.mul(self.batch, p.m * p.n), p.dtype), p.n, 1)
        rows = self._part(row_part, plan.row_parts, plan.tiles)
        columns = self._part(column_part, plan.column_parts, plan.panels)
        for terms in self._depths():
            self._block(a, b, c, terms, rows, columns)

    def _part(self, i: Any, parts: int, count: int) -> Terms:
        """Which of `count` things belong to part i, in order and evenly."""
        if parts == 1:
            return 0, count
        code = self.code
        low, high = code.mul(i, count), code.mul(code.add(i, 1), count)
        return code.put(f"udiv i64 {low}, {parts}"), code.put(f"udiv i64 {high}, {parts}")

    def _over(self, span: Span, limits: Terms) -> Terms:
        return self.tiler.most(limits[0], span.first), self.tiler.least(limits[1], span.first + span.count)

    def _block(self, a: Factor, b: Factor, c: Factor, terms: Terms, rows: Terms, columns: Terms) -> None:
        """Some terms of all tiles of a unit."""
        p, code, plan = self.p, self.code, self.layout
        step = 1 if plan.dots else plan.width
        for panel, used in plan.columns:
            with code.loop(*self._over(panel, columns)) as across:
                column = code.mul(panel.begin(code, across.i), step)
                right = b.at(code, 0 if plan.pack else terms[0], column, p.dtype)
                if plan.pack:
                    count, line = (panel.size - 1) * plan.width + used, panel.size * plan.width
                    right = self.tiler.pack(right, "%panel", count, line, *terms, p.k)
                for tile in plan.rows:
                    with code.loop(*self._over(tile, rows)) as down:
                        row = tile.begin(code, down.i)
                        if plan.pack_rows:
                            left = Factor(self._packed(self.batch, down.i, terms[0]), 1, tile.size)
                        else:
                            left = a.at(code, row, terms[0], p.dtype)
                        self._tile(left, right, c, terms, Place(row, column, tile.size, panel.size, used))

    # ------------------------------------------------------------ one tile

    def _tile(self, a: Factor, b: Factor, c: Factor, terms: Terms, place: Place) -> None:
        """Some terms of a tile: sums in registers, then into the result."""
        p, plan, rows, columns = self.p, self.layout, place.rows, place.columns
        corner = c.at(self.code, place.row, place.column, p.dtype).pointer
        if plan.pack and plan.deep < p.k:
            self._fetch(corner, rows, columns * plan.width)
        apart = max(min(8 // (rows * columns), p.k), 1) if plan.deep >= p.k else 1
        masks: list[str | None] = [None] * columns
        if plan.dots:
            sums = self.tiler.dots(a, b, rows, columns, p.k, apart)
            lanes = Lanes(self.code, 1)
        else:
            masks[-1] = mask_of(plan.width, place.used)
            read = (
                [None] * columns if plan.pack else masks
            )  # behind a packed panel's columns there is something to read
            sums = self.tiler.outer(a, b, rows, read, self.tiler.minus(*reversed(terms)), apart)
            lanes = self.tiler.lanes
        before = self._before(lanes, masks, terms)
        for i, value in enumerate(sums):
            r, v = divmod(i, columns)
            target = self.code.element(corner, r * p.n + v * lanes.width, p.dtype)
            if before is not None:
                old = get(self.code, target, 1, "0", p.dtype, lanes.width, before[v])
                value = lanes.intrinsic("fmuladd", p.dtype, value, lanes.number(p.alpha, p.dtype), old)
            elif p.alpha != 1:
                value = self.code.put(f"fmul {lanes.type(p.dtype)} {value}, {lanes.number(p.alpha, p.dtype)}")
            if self.epilogue is not None:
                value = self._through(self.epilogue, self._spot(lanes, place, r, v, masks[v]), value, terms)
            put(self.code, value, target, 1, "0", p.dtype, lanes.width, masks[v])

    def _fetch(self, corner: str, rows: int, columns: int) -> None:
        """Ask for the tile of the result while its terms are added up: it went to memory some time ago."""
        self.code.module.declare("void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        for r, v in product(range(rows), range(0, columns, LINE // self.p.dtype.itemsize)):
            address = self.code.element(corner, r * self.p.n + v, self.p.dtype)
            self.code.do(f"call void @llvm.prefetch.p0(ptr {address}, i32 1, i32 3, i32 1)")

    def _before(self, lanes: Lanes, masks: Sequence[str | None], terms: Terms) -> Sequence[str | None] | None:
        """Under which masks the result already holds something to add to: nothing before the first terms."""
        if self.p.accumulate:
            return masks
        if isinstance(terms[0], int):
            return None
        kind = lanes.type(bool_)
        later = lanes.spread(self.code.put(f"icmp ne i64 {terms[0]}, 0"), bool_)
        return [later if m is None else self.code.put(f"and {kind} {later}, {m}") for m in masks]

    def _spot(self, lanes: Lanes, place: Place, r: int, v: int, mask: str | None) -> Spot:
        row = self.code.add(self.code.mul(self.batch, self.p.m), self.code.add(place.row, r))
        column = self.code.add(place.column, v * lanes.width)
        return Spot(lanes, self.p.dtype, row, column, self.p.n, mask, tuple(self.pointers[3:]))

    def _through(self, epilogue: Epilogue, spot: Spot, value: str, terms: Terms) -> str:
        """A value through the epilogue, if these are its last terms."""
        code = self.code
        if isinstance(terms[1], int):
            return epilogue(spot, value)
        whole, after, before = code.new_label("whole"), code.new_label("after"), code.label
        code.branch(code.put(f"icmp eq i64 {terms[1]}, {self.p.k}"), whole, after)
        code.begin(whole)
        new = epilogue(spot, value)
        end = code.label
        code.jump(after)
        code.begin(after)
        return code.put(f"phi {spot.lanes.type(spot.dtype)} [ {value}, %{before} ], [ {new}, %{end} ]")


def _name(p: Product) -> str:
    """A name that says all that the code depends on."""
    parts = [p.dtype.name, p.m, p.n, p.k, *p.a, *p.b]
    for axis in zip(p.batch, p.a_batch, p.b_batch, strict=True):
        parts += ["by", *axis]
    scale = p.dtype.type(p.alpha).tobytes().hex() if p.alpha != 1 else ""
    return f"gemm_{'_'.join(map(str, parts))}{scale and '_times_' + scale}{'_added' * p.accumulate}"
