"""How the factors of a matrix product come into the cache: parts of them packed for the tiles, and prefetched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from adjoint.backends.native.emit.llvm_ir import Code
from adjoint.backends.native.kernels.gemm_blocking import Layout, Product
from adjoint.backends.native.kernels.gemm_panels import define_pack
from adjoint.backends.native.kernels.gemm_tiles import LINE, Factor, PrefetchLater, Span, Tiler

#: From, to: each a number or the name of one.
Terms = tuple[Any, Any]


@dataclass(frozen=True)
class TilePosition:
    """Which tile of the result: its number, where it begins, its vectors, and how many lanes of the last are in use."""

    tile: str
    row: Any
    column: Any
    columns: int
    used: int


class Packing:
    """What a product's functions have in common: where their parts are, and how these are packed."""

    code: Code
    tiler: Tiler
    a: str  # addresses of A and B, and of where they are packed
    b: str
    packed_a: str
    packed_b: str
    batch: Any  # which product of the batch
    slice: Any  # the first term of what is packed ahead

    def __init__(self, p: Product, plan: Layout) -> None:
        self.p, self.layout = p, plan

    def _split(self, i: Any, n: int) -> tuple[Any, Any]:
        """Quotient and rest."""
        if n == 1:
            return i, 0
        if isinstance(i, int):
            return divmod(i, n)
        return self.code.put(f"udiv i64 {i}, {n}"), self.code.put(f"urem i64 {i}, {n}")

    def _part(self, i: Any, parts: int, count: int) -> Terms:
        """Which of `count` things belong to part i, in order and evenly."""
        if parts == 1:
            return 0, count
        code = self.code
        if count % parts == 0:
            low = code.mul(i, count // parts)
            return low, code.add(low, count // parts)
        low, high = code.mul(i, count), code.mul(code.add(i, 1), count)
        return code.put(f"udiv i64 {low}, {parts}"), code.put(f"udiv i64 {high}, {parts}")

    def _over(self, span: Span, limits: Terms, count: int) -> Terms:
        """Those parts of a span, out of `count` in all, that are within limits."""
        low, high = limits
        if span.first:
            low = self.tiler.most(low, span.first)
        if span.first + span.count < count:
            high = self.tiler.least(high, span.first + span.count)
        return low, high

    def _copy_rows(self) -> None:
        """Some tiles of A for all parts."""
        chunks = self.layout.row_copies(self.p)
        parts = chunks // prod(self.p.batch)
        batch, part = self._split("%chunk" if chunks > 1 else 0, parts)
        a, _ = self._factors(batch)
        rows = self._part(part, parts, self.layout.tiles)
        for terms in self._depths():
            self._pack_rows(a, terms, rows, batch, 0)

    def _copy_columns(self) -> None:
        """Some panels of B for all parts."""
        chunks = self.layout.column_copies(self.p)
        _, b = self._factors(0)
        columns = self._part("%chunk" if chunks > 1 else 0, chunks, self.layout.panels)
        for terms in self._depths():
            for panel, used in self.layout.columns:
                with self.code.loop(*self._over(panel, columns, self.layout.panels)) as across:
                    to = self._packed_panel(across.i, terms[0])
                    self._pack_panel(b, terms, panel, used, across.i, to)

    def _pack_rows(self, a: Factor, terms: Terms, rows: Terms, batch: Any, first: Any) -> None:
        """Some terms of some tiles of A, each the transpose of some rows; tile `first` comes first in memory."""
        transposed = Factor(a.pointer, a.across, a.down)
        for tile in self.layout.rows:
            with self.code.loop(*self._over(tile, rows, self.layout.tiles)) as at:
                source = transposed.at(self.code, terms[0], tile.begin(self.code, at.i), self.p.dtype)
                to = self._packed_tile(batch, self.tiler.minus(at.i, first), terms[0])
                self._pack(source, to, tile.size, tile.size, terms)

    def _pack_panel(self, b: Factor, terms: Terms, panel: Span, used: int, number: Any, to: str) -> Factor:
        """Some terms of a panel of B."""
        plan = self.layout
        column = self.code.mul(panel.begin(self.code, number), plan.width)
        count, line = (panel.size - 1) * plan.width + used, panel.size * plan.width
        self._pack(b.at(self.code, terms[0], column, self.p.dtype), to, count, line, terms)
        return Factor(to, line, 1)

    def _pack(self, source: Factor, to: str, columns: int, line: int, terms: Terms) -> None:
        assert 1 in (source.down, source.across), "a factor that lies along neither axis"
        along, rows = source.across == 1, self.tiler.minus(*reversed(terms))
        name = define_pack(self.code.module, self.p.dtype, self.layout.width, along, columns, line)
        step = source.down if along else source.across
        self.code.do(f"call void @{name}(ptr {source.pointer}, i64 {step}, ptr {to}, i64 {rows})")

    def _packed_tile(self, batch: Any, tile: Any, low: Any) -> str:
        """Where the terms from `low` on of a tile of A lie when it is packed."""
        code, plan = self.code, self.layout
        place = code.mul(tile, plan.deep)
        if plan.left == "ahead":
            low = self.tiler.minus(low, self.slice)
            ahead = code.add(code.mul(batch, plan.tiles * plan.packed_terms(self.p)), code.mul(low, plan.tiles))
            place = code.add(ahead, place)
        return code.element(self.packed_a, code.mul(place, plan.high), self.p.dtype)

    def _packed_panel(self, panel: Any, low: Any) -> str:
        """Where the terms from `low` on of a panel of B lie when it is packed ahead."""
        code, plan = self.code, self.layout
        low = self.tiler.minus(low, self.slice)
        place = code.add(code.mul(low, plan.panels), code.mul(panel, plan.deep))
        return code.element(self.packed_b, code.mul(place, plan.line), self.p.dtype)

    def _factors(self, index: Any) -> tuple[Factor, Factor]:
        """A and B of one product of the batch."""
        p, code = self.p, self.code
        a_at: Any = 0
        b_at: Any = 0
        for n, a_step, b_step in reversed(list(zip(p.batch, p.a_batch, p.b_batch, strict=True))):
            index, i = self._split(index, n)
            a_at, b_at = code.add(a_at, code.mul(i, a_step)), code.add(b_at, code.mul(i, b_step))
        a = Factor(code.element(self.a, a_at, p.dtype), *p.a)
        return a, Factor(code.element(self.b, b_at, p.dtype), *p.b)

    def _depths(self) -> Iterator[Terms]:
        """The terms that are added up in one go: from, to."""
        p, plan = self.p, self.layout
        if plan.deep >= p.k:
            yield 0, p.k
        else:
            end = self.tiler.least(self.code.add(self.slice, plan.slice), p.k) if plan.slice else p.k
            with self.code.loop(self.slice, end, plan.deep) as iteration:
                yield iteration.i, self.tiler.least(self.code.add(iteration.i, plan.deep), p.k)

    def _coming(
        self, a: Factor, b: Factor, terms: Terms, rows: Terms, panel: Any, place: TilePosition
    ) -> PrefetchLater | None:
        """A share of what this part packs next, the following terms of its rows or of its panel."""
        p, code, plan = self.p, self.code, self.layout
        tiles = -(-plan.tiles // plan.row_parts)
        if plan.deep >= p.k or not (plan.left == "part" or (plan.right == "part" and plan.column_parts == plan.panels)):
            return None
        after = self.tiler.least(code.add(terms[0], plan.deep), plan.padded(p) - plan.deep)
        number = self.tiler.minus(place.tile, rows[0])
        if plan.left == "part":
            block = a.at(code, self._row_of(rows[0]), after, p.dtype)
            number, of = code.add(code.mul(panel, tiles), number), plan.panels * tiles
            high, wide = tiles * plan.high, plan.deep
        else:
            block = b.at(code, after, place.column, p.dtype)
            of = tiles
            high, wide = plan.deep, place.columns * plan.width
        if block.across != 1:
            high, wide = wide, high
        each = LINE // p.dtype.itemsize
        lines = -(-wide // each)
        several = -(-high * lines // (of * plan.high))
        down, line = self._split(code.mul(number, plan.high * several), lines)
        step = max(block.down, block.across)
        offset = code.add(code.mul(down, step), code.mul(line, each))
        return PrefetchLater(
            code.element(block.pointer, offset, p.dtype), line, lines, step * p.dtype.itemsize, several
        )

    def _row_of(self, tile: Any) -> Any:
        """Where a tile begins: one row further for each larger one before it."""
        last = self.layout.rows[-1]
        before = self.tiler.least(tile, last.first) if last.first else 0
        return self.code.add(self.code.mul(tile, last.size), before)
