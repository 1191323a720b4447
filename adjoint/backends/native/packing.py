"""How the factors of a matrix product come near: parts of them packed for the tiles, and asked for before they are needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from adjoint.backends.native.blocking import Layout, Product
from adjoint.backends.native.code import Code
from adjoint.backends.native.tiles import LINE, Ask, Factor, Span, Tiler

#: From, to: each a number or the name of one.
Terms = tuple[Any, Any]


@dataclass(frozen=True)
class Place:
    """Which tile of the result: where it begins, its rows, its vectors, and how many lanes of the last are in use."""

    row: Any
    column: Any
    rows: int
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
        low, high = code.mul(i, count), code.mul(code.add(i, 1), count)
        return code.put(f"udiv i64 {low}, {parts}"), code.put(f"udiv i64 {high}, {parts}")

    def _over(self, span: Span, limits: Terms) -> Terms:
        return self.tiler.most(limits[0], span.first), self.tiler.least(limits[1], span.first + span.count)

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
                with self.code.loop(*self._over(panel, columns)) as across:
                    to = self._packed_panel(across.i, terms[0])
                    self._pack_panel(b, terms, panel, used, across.i, to)

    def _pack_rows(self, a: Factor, terms: Terms, rows: Terms, batch: Any, first: Any) -> None:
        """Some terms of some tiles of A, each the transpose of some rows; tile `first` comes first in memory."""
        turned = Factor(a.pointer, a.across, a.down)
        for tile in self.layout.rows:
            with self.code.loop(*self._over(tile, rows)) as at:
                source = turned.at(self.code, 0, tile.begin(self.code, at.i), self.p.dtype)
                to = self._packed_tile(batch, self.tiler.minus(at.i, first), terms[0])
                self.tiler.pack(source, to, tile.size, tile.size, *terms, self.p.k)

    def _pack_panel(self, b: Factor, terms: Terms, panel: Span, used: int, number: Any, to: str) -> Factor:
        """Some terms of a panel of B."""
        plan = self.layout
        column = self.code.mul(panel.begin(self.code, number), plan.width)
        count, line = (panel.size - 1) * plan.width + used, panel.size * plan.width
        return self.tiler.pack(b.at(self.code, 0, column, self.p.dtype), to, count, line, *terms, self.p.k)

    def _packed_tile(self, batch: Any, tile: Any, low: Any) -> str:
        """Where the terms from `low` on of a tile of A lie when it is packed."""
        code, plan = self.code, self.layout
        place = code.mul(tile, plan.deep)
        if plan.left == "ahead":
            ahead = code.add(code.mul(batch, plan.tiles * plan.padded(self.p)), code.mul(low, plan.tiles))
            place = code.add(ahead, place)
        return code.element(self.packed_a, code.mul(place, plan.high), self.p.dtype)

    def _packed_panel(self, panel: Any, low: Any) -> str:
        """Where the terms from `low` on of a panel of B lie when it is packed ahead."""
        code, plan = self.code, self.layout
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
            with self.code.loop(0, p.k, plan.deep) as turn:
                yield turn.i, self.tiler.least(self.code.add(turn.i, plan.deep), p.k)

    def _coming(
        self, a: Factor, b: Factor, terms: Terms, first: Any, place: Place, share: tuple[Any, Any]
    ) -> Ask | None:
        """Asks for a share of what this part packs next, the following terms of its rows or of its panel.

        `first` is its first tile, `share` says which panel and which of its tiles it asks from.
        """
        p, code, plan = self.p, self.code, self.layout
        tiles = -(-plan.tiles // plan.row_parts)
        after = self.tiler.least(code.add(terms[0], plan.deep), plan.padded(p) - plan.deep)
        if plan.deep < p.k and plan.left == "part":
            block = a.at(code, plan.rows[0].begin(code, first), after, p.dtype)
            number, of = code.add(code.mul(share[0], tiles), share[1]), plan.panels * tiles
            high, wide = tiles * plan.high, plan.deep
        elif plan.deep < p.k and plan.right == "part" and plan.column_parts == plan.panels:
            block = b.at(code, after, place.column, p.dtype)
            number, of = share[1], tiles
            high, wide = plan.deep, place.columns * plan.width
        else:
            return None
        if block.across != 1:
            high, wide = wide, high
        each = LINE // p.dtype.itemsize
        lines = -(-wide // each)
        several = -(-high * lines // (of * plan.high))

        def ask(row: Any) -> None:
            begin = code.mul(code.add(code.mul(number, plan.high), row), several)
            for k in range(several):
                down, line = self._split(code.add(begin, k), lines)
                offset = code.add(code.mul(down, max(block.down, block.across)), code.mul(line, each))
                self.tiler.ask(code.element(block.pointer, offset, p.dtype), "L2")

        return ask
