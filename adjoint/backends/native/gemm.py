"""Matrix products written for their sizes: register tiles, packed panels, chunks for threads.

Chunks depend on sizes alone, and one chunk computes each element of the result, its terms in a fixed order: results do
not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.backends.native import threads
from adjoint.backends.native.blocking import Layout, Product, layout
from adjoint.backends.native.code import Code
from adjoint.backends.native.lanes import Lanes
from adjoint.backends.native.nest import get, put
from adjoint.backends.native.tiles import Factor, Span, Tiler, mask_of
from adjoint.core.spec import bool_

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


#: What becomes of a finished value before it is stored.
Epilogue = Callable[[Spot, str], str]


def emit_gemm(
    frame: Any,
    product: Product,
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
    p = product.simplified()
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
        for low, high in self._depths():
            for tile in plan.rows:
                with self.code.loop(*self._over(tile, rows)) as at:
                    source = turned.at(self.code, 0, tile.begin(self.code, at.i), p.dtype)
                    self.tiler.pack(source, self._packed(rest, at.i, low), tile.size, tile.size, low, high, p.k)

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

    def _depths(self) -> Iterator[tuple[Any, Any]]:
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
        for low, high in self._depths():
            self._block(a, b, c, low, high, rows, columns)

    def _part(self, i: Any, parts: int, count: int) -> tuple[Any, Any]:
        """Which of `count` things belong to part i, in order and evenly."""
        if parts == 1:
            return 0, count
        code = self.code
        low, high = code.mul(i, count), code.mul(code.add(i, 1), count)
        return code.put(f"udiv i64 {low}, {parts}"), code.put(f"udiv i64 {high}, {parts}")

    def _over(self, span: Span, limits: tuple[Any, Any]) -> tuple[Any, Any]:
        return self.tiler.most(limits[0], span.first), self.tiler.least(limits[1], span.first + span.count)

    def _block(self, a: Factor, b: Factor, c: Factor, low: Any, high: Any, rows: Any, columns: Any) -> None:
        """The terms `low` to `high` of all tiles of a unit."""
        p, code, plan = self.p, self.code, self.layout
        for panel, used in plan.columns:
            step = 1 if plan.dots else plan.width
            with code.loop(*self._over(panel, columns)) as at:
                column = code.mul(panel.begin(code, at.i), step)
                right = b.at(code, 0, column, p.dtype)
                if plan.pack:
                    count = (panel.size - 1) * plan.width + used
                    right = self.tiler.pack(right, "%panel", count, panel.size * plan.width, low, high, p.k)
                else:
                    right = right.at(code, low, 0, p.dtype)
                for tile in plan.rows:
                    with code.loop(*self._over(tile, rows)) as down:
                        row = tile.begin(code, down.i)
                        if plan.pack_rows:
                            left = Factor(self._packed(self.batch, down.i, low), 1, tile.size)
                        else:
                            left = a.at(code, row, low, p.dtype)
                        self._tile(left, right, c, row, column, low, high, tile, panel, used)

    # ------------------------------------------------------------ one tile

    def _tile(
        self, a: Factor, b: Factor, c: Factor, row: Any, column: Any, low: Any, high: Any, tile: Span, panel: Span, used: int
    ) -> None:
        p, plan = self.p, self.layout
        depth = high - low if isinstance(low, int) and isinstance(high, int) else self.code.put(f"sub i64 {high}, {low}")
        apart = max(min(8 // (tile.size * panel.size), p.k), 1) if plan.deep >= p.k else 1
        if plan.dots:
            sums = self.tiler.dots(a, b, tile.size, panel.size, p.k, apart)
            masks: list[str | None] = [None] * panel.size
            step, lanes = 1, Lanes(self.code, 1)
        else:
            last = None if used == plan.width else used
            masks = [None] * (panel.size - 1) + [mask_of(plan.width, last or plan.width)]
            given = [None] * panel.size if plan.pack else masks
            sums = self.tiler.outer(a, b, tile.size, given, depth, apart)
            step, lanes = plan.width, self.tiler.lanes
        for i, value in enumerate(sums):
            r, v = divmod(i, panel.size)
            place = (self.code.add(row, r), self.code.add(column, v * step))
            self._finish(lanes, value, c.at(self.code, *place, p.dtype).pointer, place, masks[v], low, high)

    def _finish(
        self, lanes: Lanes, value: str, target: str, place: tuple[Any, Any], mask: str | None, low: Any, high: Any
    ) -> None:
        """A sum of terms into the result: added to what came before, and through the epilogue when it is complete."""
        p, code = self.p, self.code
        first = isinstance(low, int)
        if p.accumulate or not first:
            old = self._before(lanes, target, mask, low)
            value = lanes.intrinsic("fma", p.dtype, value, lanes.number(p.alpha, p.dtype), old)
        elif p.alpha != 1:
            value = code.put(f"fmul {lanes.type(p.dtype)} {value}, {lanes.number(p.alpha, p.dtype)}")
        if self.epilogue is not None:
            value = self._through(self.epilogue, lanes, value, place, mask, high)
        put(code, value, target, 1, "0", p.dtype, lanes.width, mask)

    def _before(self, lanes: Lanes, target: str, mask: str | None, low: Any) -> str:
        """What the result holds already: nothing when these are the first terms of a product that is not added to it."""
        code, p = self.code, self.p
        if not p.accumulate:
            later = lanes.spread(code.put(f"icmp ne i64 {low}, 0"), bool_)
            kind = lanes.type(bool_)
            mask = later if mask is None else code.put(f"and {kind} {later}, {mask}")
        return get(code, target, 1, "0", p.dtype, lanes.width, mask)

    def _through(
        self, epilogue: Epilogue, lanes: Lanes, value: str, place: tuple[Any, Any], mask: str | None, high: Any
    ) -> str:
        code, p = self.code, self.p
        row = code.add(code.mul(self.batch, p.m), place[0])
        spot = Spot(lanes, p.dtype, row, place[1], p.n, mask, tuple(self.pointers[3:]))
        if isinstance(high, int):
            return epilogue(spot, value)
        whole, after, before = code.new_label("whole"), code.new_label("after"), code.label
        code.branch(code.put(f"icmp eq i64 {high}, {p.k}"), whole, after)
        code.begin(whole)
        new = epilogue(spot, value)
        end = code.label
        code.jump(after)
        code.begin(after)
        return code.put(f"phi {lanes.type(p.dtype)} [ {value}, %{before} ], [ {new}, %{end} ]")


def _name(p: Product) -> str:
    """A name that says all that the code depends on."""
    parts = [p.dtype.name, p.m, p.n, p.k, *p.a, *p.b]
    for axis in zip(p.batch, p.a_batch, p.b_batch, strict=True):
        parts += ["by", *axis]
    scale = p.dtype.type(p.alpha).tobytes().hex() if p.alpha != 1 else ""
    return f"gemm_{'_'.join(map(str, parts))}{scale and '_times_' + scale}{'_added' * p.accumulate}"
