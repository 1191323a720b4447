"""Matrix products written for their sizes: register tiles, packed panels, chunks for threads.

Chunks depend on sizes alone, and one chunk computes each element of the result, its terms in a fixed order: results do
not depend on the number of threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.emit.llvm_ir import Code, Module
from adjoint.backends.native.kernels.gemm_blocking import Layout, Product, layout
from adjoint.backends.native.kernels.gemm_packing import Packing, Terms, TilePosition
from adjoint.backends.native.kernels.gemm_tiles import (
    CALL,
    LINE,
    Factor,
    FinishedVectors,
    Prefetches,
    PrefetchLater,
    PrefetchSoon,
    Tile,
    Tiler,
    mask_of,
    write_prefetches,
)
from adjoint.core.spec import int64

FAR = 64  # terms to add up until something arrives from memory
PARAMETERS = "ptr noalias %ctx, i64 %chunk"

#: Memory for what is made once, of so many bytes and known by a key: where it is, and whether it has been made.
Keep = Callable[[Any, int], tuple[str, bool]]


@dataclass(frozen=True)
class GemmEpilogue:
    """Makes something of finished vectors, and stores it.

    It is given what is captured: addresses, and numbers with their dtypes. Those captured arrays that are `near`, each with
    its dtype, have the result's shape and are prefetched.
    """

    write: Callable[[FinishedVectors], None]
    captured: Sequence[tuple[str, np.dtype | None]] = ()
    near: Sequence[tuple[int, np.dtype]] = ()


def emit_gemm(
    emitter: GraphEmitter,
    wanted: Product,
    a: str,
    b: str,
    c: str | None,
    *,
    epilogue: GemmEpilogue | None = None,
    again: Keep | None = None,
    scarce: bool = False,
) -> None:
    """Write a product into the code of a emitter: a function of its own, and its call.

    The epilogue is given every row of a tile when it is finished; without C, nothing else has the sums. `again` is there
    when other products have the same B: it keeps what is made of it once. Where memory is `scarce`, less is packed ahead.
    """
    p = wanted.simplified()
    if epilogue is None and p.n == 1 and p.m > 1:
        p, a, b, again = p.flipped(), b, a, None
    shared = emitter.shared
    plan = layout(p, shared.bits, again is not None, scarce)
    if c is None and plan.deep < p.k:
        c = emitter.scratch(prod(p.batch) * p.m * p.n * p.dtype.itemsize)
    function = GemmFunction(shared.module, p, plan, epilogue, c is not None)
    values: list[tuple[str, np.dtype | None]] = [(a, None), (b, None), (c or "null", None)]
    calls = [*function.calls, function.multiply()]
    if plan.left == "ahead":
        values.append((emitter.scratch(plan.copied_rows(p) * p.dtype.itemsize), None))
    if plan.right == "ahead":
        place, there = _copied(emitter, p, plan, again)
        values.append((place, None))
        if there:
            calls.remove(function.columns)
    captured = epilogue.captured if epilogue else ()
    if plan.slice:
        with emitter.code.loop(0, p.k, plan.slice) as iteration:
            _call(emitter, [*values, (iteration.i, int64), *captured], calls)
    else:
        _call(emitter, [*values, *captured], calls)


def sums_are_whole(wanted: Product, bits: int, again: bool) -> bool:
    """Whether a product adds up all terms of a tile in one go, so that no sums are in memory meanwhile."""
    p = wanted.simplified()
    return layout(p, bits, again).deep >= p.k


def pack_ahead(emitter: GraphEmitter, wanted: Product, b: str, again: Keep) -> None:
    """Pack B for products that follow, if they want it so."""
    p = wanted.simplified()
    plan = layout(p, emitter.shared.bits, True)
    if plan.right == "ahead" and p.n > 1:
        place, there = _copied(emitter, p, plan, again)
        values: list[tuple[str, np.dtype | None]] = [("null", None)] * (4 if plan.left == "ahead" else 3)
        values[1] = (b, None)
        if not there:
            _call(emitter, [*values, (place, None)], [GemmFunction(emitter.shared.module, p, plan, None, True).columns])


def _copied(emitter: GraphEmitter, p: Product, plan: Layout, again: Keep | None) -> tuple[str, bool]:
    """Memory for B packed ahead, and whether it is there already."""
    size = plan.copied_columns(p) * p.dtype.itemsize
    return (emitter.scratch(size), False) if again is None else again((plan.line, plan.deep), size)


def _call(
    emitter: GraphEmitter, values: Sequence[tuple[str, np.dtype | None]], calls: Iterable[tuple[str, int]]
) -> None:
    """Call functions with a context of addresses and numbers."""
    shared, code = emitter.shared, emitter.code
    context = shared.slots.alloca(f"[{len(values)} x i64]")
    for k, (value, dtype) in enumerate(values):
        address = code.put(f"getelementptr i64, ptr {context}, i64 {k}")
        if dtype is None:
            code.do(f"store ptr {value}, ptr {address}")
        else:
            code.store(value, address, dtype)
    for name, chunks in calls:
        shared.call(name, context, chunks)


class GemmFunction(Packing):
    """Writes a product as a function `void gemm(ptr ctx, i64 chunk)`; equal products share one.

    What it is given: A, B, C, where A and B are packed ahead if they are, the first term if that is done in slices, and what is captured.
    """

    def __init__(self, module: Module, p: Product, plan: Layout, epilogue: GemmEpilogue | None, stored: bool) -> None:
        super().__init__(p, plan)
        self.module, self.epilogue = module, epilogue
        self.stored = stored  # whether there is a C
        self.name = _name(p, plan)
        #: What to call before, one after the other, and how many chunks each has.
        self.calls: list[tuple[str, int]] = []
        if plan.left == "ahead":
            self.calls.append((f"{self.name}_rows", plan.row_copies(p)))
            self._define(self.calls[-1][0], self._copy_rows)
        if plan.right == "ahead":
            self.columns = (f"{self.name}_columns", plan.column_copies(p))
            self.calls.append(self.columns)
            self._define(self.columns[0], self._copy_columns)

    def _define(self, name: str, write: Callable[[], None]) -> None:
        head = f"define internal void @{name}({PARAMETERS}) nounwind {{"
        if not any(text.startswith(head) for text in self.module.functions):
            self._begin()
            write()
            self.module.functions.append("\n".join([head, "entry:", *self.code.lines, "  ret void", "}"]))

    def multiply(self) -> tuple[str, int]:
        """The function that multiplies, and its chunks."""
        if self.epilogue is None:
            self._define(self.name, self._chunk)
            return self.name, self.layout.chunks
        self._begin()
        self._chunk()
        return self.module.function("gemm", PARAMETERS, self.code.lines), self.layout.chunks

    def _begin(self) -> None:
        """A new function, with the names of what it is given."""
        self.code = Code(self.module)
        self.tiler = Tiler(self.code, self.p.dtype, self.layout.width)
        self.a, self.b, self.c = (self._slot(k, None) for k in range(3))
        slots = itertools.count(3)
        self.packed_a = self._slot(next(slots), None) if self.layout.left == "ahead" else "%tiles"
        self.packed_b = self._slot(next(slots), None) if self.layout.right == "ahead" else "%panel"
        self.slice = self._slot(next(slots), int64) if self.layout.slice else 0
        self.captured = [self._slot(next(slots), d) for _, d in (self.epilogue.captured if self.epilogue else ())]

    def _room(self) -> None:
        """Memory on the stack: for what a part packs itself, and for a tile of which there is no C."""
        p, plan = self.p, self.layout
        rooms = {
            "%panel": plan.line * plan.deep * (plan.right == "part"),
            "%tiles": -(-plan.tiles // plan.row_parts) * plan.high * plan.deep * (plan.left == "part"),
            "%tile": plan.high * plan.line * (not self.stored),
        }
        for name, size in rooms.items():
            if size:
                self.code.do(f"{name} = alloca [{size * p.dtype.itemsize} x i8], align 64")

    def _slot(self, k: int, dtype: np.dtype | None) -> str:
        address = self.code.put(f"getelementptr i64, ptr %ctx, i64 {k}")
        return self.code.put(f"load ptr, ptr {address}") if dtype is None else self.code.load(address, dtype)

    # ------------------------------------------------------------ from chunks to panels

    def _chunk(self) -> None:
        """The units of this chunk."""
        plan = self.layout
        self.prefetch_bytes = 0  # of what is written down to prefetch
        self._room()
        if plan.units == 1:
            self._unit(0)
        elif plan.per == 1:
            self._unit("%chunk")
        else:
            low = self.code.mul("%chunk", plan.per)
            high = self.tiler.least(self.code.add(low, plan.per), plan.units)
            with self.code.loop(0 if plan.chunks == 1 else low, plan.units if plan.chunks == 1 else high) as iteration:
                self._unit(iteration.i)
        if self.prefetch_bytes:
            self.code.lines.insert(0, f"  %prefetches = alloca [{self.prefetch_bytes} x i8], align 8")

    def _unit(self, unit: Any) -> None:
        """Part of one product of the batch: some rows by some columns."""
        p, code, plan = self.p, self.code, self.layout
        rest, column_part = self._split(unit, plan.column_parts)
        self.batch, row_part = self._split(rest, plan.row_parts) if p.batch else (0, rest)
        a, b = self._factors(self.batch)
        c = Factor(code.element(self.c, code.mul(self.batch, p.m * p.n), p.dtype), p.n, 1)
        rows = self._part(row_part, plan.row_parts, plan.tiles)
        columns = self._part(column_part, plan.column_parts, plan.panels)
        first = rows[0] if plan.left == "part" else 0
        for terms in self._depths():
            if plan.left == "part":
                self._pack_rows(a, terms, rows, 0, first)
            self._block(a, b, c, terms, rows, columns, first)

    def _block(self, a: Factor, b: Factor, c: Factor, terms: Terms, rows: Terms, columns: Terms, first: Any) -> None:
        """Some terms of all tiles of a unit."""
        p, code, plan = self.p, self.code, self.layout
        step = 1 if plan.dots else plan.width
        for panel, used in plan.columns:
            with code.loop(*self._over(panel, columns, plan.panels)) as across:
                column = code.mul(panel.begin(code, across.i), step)
                if plan.right == "part":
                    right = self._pack_panel(b, terms, panel, used, across.i, self.packed_b)
                elif plan.right == "ahead":
                    right = Factor(self._packed_panel(across.i, terms[0]), panel.size * plan.width, 1)
                else:
                    right = b.at(code, terms[0], column, p.dtype)
                with code.loop(*rows) as down:
                    place = TilePosition(down.i, self._row_of(down.i), column, panel.size, used)
                    coming = self._coming(a, b, terms, rows, across.i, place) if self._calls(panel.size) else None
                    self._tile(a, right, c, terms, place, first, coming)

    # ------------------------------------------------------------ one tile

    def _tile(
        self,
        a: Factor,
        b: Factor,
        c: Factor,
        terms: Terms,
        place: TilePosition,
        first: Any,
        coming: PrefetchLater | None,
    ) -> None:
        """Some terms of a tile. Meanwhile it prefetches what is needed later."""
        p, code, plan = self.p, self.code, self.layout
        step = 1 if plan.dots else plan.width
        tile = c.at(code, place.row, place.column, p.dtype) if self.stored else Factor("%tile", place.columns * step, 1)
        depth = self.tiler.minus(*reversed(terms))
        calls = self._calls(place.columns)
        prefetches = self._prefetches(self._needed(tile, place), coming) if calls else None
        more: Any = p.accumulate
        if not more and not isinstance(terms[0], int):
            more = code.put(f"icmp ne i64 {terms[0]}, 0")
        if plan.left:
            left = Factor(self._packed_tile(self.batch, self.tiler.minus(place.tile, first), terms[0]), 1, 0)
        else:
            left = a.at(code, place.row, terms[0], p.dtype)

        def write(rows: int) -> None:
            apart = max(min(8 // (rows * place.columns), p.k), 1) if plan.deep >= p.k else 1
            # Behind a packed panel's columns there is something to read.
            sizes = (rows, place.columns, place.used)
            form = Tile(p.dtype, plan.width, plan.dots, *sizes, bool(plan.right), apart, p.alpha)
            here = replace(left, across=rows) if plan.left else left
            if calls and apart == 1:
                form.call(code, here, b, tile, depth, more, prefetches)
            else:
                form.write(code, here, b, tile, depth, more, None)

        self._by_size(place.tile, write)
        if self.epilogue is not None:
            self._finish(self.epilogue, tile, terms, place)

    def _calls(self, columns: int) -> bool:
        """Whether tiles are worth a call."""
        plan = self.layout
        return not plan.dots and plan.high * columns * min(plan.deep, self.p.k) >= CALL

    def _by_size(self, tile: str, write: Callable[[int], None]) -> None:
        """Code for tiles with as many rows as this one has."""
        code, (*larger, last) = self.code, self.layout.rows
        if not larger:
            write(last.size)
            return
        yes, no, after = (code.new_label(name) for name in ("larger", "smaller", "after"))
        code.branch(code.put(f"icmp slt i64 {tile}, {last.first}"), yes, no)
        for label, size in ((yes, larger[0].size), (no, last.size)):
            code.begin(label)
            write(size)
            code.jump(after)
        code.begin(after)

    def _height(self, tile: str) -> Any:
        """How many rows a tile has."""
        code, (*larger, last) = self.code, self.layout.rows
        if not larger:
            return last.size
        return code.add(code.put(f"zext i1 {code.put(f'icmp slt i64 {tile}, {last.first}')} to i64"), last.size)

    def _prefetches(self, near: Sequence[PrefetchSoon], far: PrefetchLater | None) -> Prefetches | None:
        """What to prefetch, written down."""
        if not near and not far:
            return None
        prefetches = write_prefetches(self.code, "%prefetches", near, far)
        self.prefetch_bytes = max(self.prefetch_bytes, prefetches.size)
        return prefetches

    def _finish(self, epilogue: GemmEpilogue, tile: Factor, terms: Terms, place: TilePosition) -> None:
        """The epilogue of a tile, if these are its last terms."""
        p, code = self.p, self.code
        after = ""
        if not isinstance(terms[1], int):
            whole, after = code.new_label("whole"), code.new_label("after")
            code.branch(code.put(f"icmp eq i64 {terms[1]}, {p.k}"), whole, after)
            code.begin(whole)
        row, width = self._row(place), 1 if self.layout.dots else self.layout.width
        masks = [None] * (place.columns - 1) + [None if self.layout.dots else mask_of(width, place.used)]
        with code.loop(0, self._height(place.tile)) as iteration:
            sums = tile.at(code, iteration.i, 0, p.dtype).pointer
            epilogue.write(
                FinishedVectors(code, width, code.add(row, iteration.i), place.column, sums, masks, self.captured)
            )
        if after:
            code.jump(after)
            code.begin(after)

    def _row(self, place: TilePosition) -> Any:
        """The first row of a tile, counted through the whole batch."""
        return self.code.add(self.code.mul(self.batch, self.p.m), place.row)

    def _needed(self, tile: Factor, place: TilePosition) -> list[PrefetchSoon]:
        """What will be read or written when terms have been added up, and is far away."""
        p, code, plan = self.p, self.code, self.layout
        if not plan.right or p.k < FAR:
            return []
        if plan.deep < p.k:
            tiles = [(tile.pointer, p.dtype)]
        else:
            begin = code.add(code.mul(self._row(place), p.n), place.column)
            near = self.epilogue.near if self.epilogue else []
            tiles = [(code.element(self.captured[k], begin, dtype), dtype) for k, dtype in near]
        wide = place.columns * plan.width
        return [PrefetchSoon(at, p.n * dtype.itemsize, -(-wide * dtype.itemsize // LINE)) for at, dtype in tiles]


def _name(p: Product, plan: Layout) -> str:
    """A name that says all that the code depends on."""
    parts = [p.dtype.name, p.m, p.n, p.k, *p.a, *p.b]
    for axis in zip(p.batch, p.a_batch, p.b_batch, strict=True):
        parts += ["by", *axis]
    parts += ["ahead"] * (plan.right == "ahead") + [f"by_{plan.slice}"] * (plan.slice > 0)
    scale = p.dtype.type(p.alpha).tobytes().hex() if p.alpha != 1 else ""
    return f"gemm_{'_'.join(map(str, parts))}{scale and '_times_' + scale}{'_added' * p.accumulate}"
