"""How a matrix product is cut up: tiles for the registers, panels for the cache, chunks for the threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from adjoint.backends.native.emit.vector_access import registers
from adjoint.backends.native.kernels.gemm_tiles import Span, spans

PANEL = 32 * 1024  # bytes of a packed panel; it should stay in the first cache
FEW = 6  # rows for which a transposed factor is read as it lies, not packed
SIDE_BY_SIDE = 8  # rows of B that are read along their whole length together, where that is all there is to do
CHUNK = 20_000  # nanoseconds of work in a chunk, at least
MOST = 64  # chunks
PIECE = 2048  # bytes of a row of B that are worth a part of their own
MANY = 256  # rows for which it pays to pack A
FAR = 2048  # bytes between rows of A from which they crowd the same places of a cache
APART = 512  # the same of its columns, where these lie along memory: then there are as many places as terms
TALL = 1024  # rows of A that are gone through again and again for the panels of a part
HIGH = 256  # rows of a part that packs its own
TILES = 4  # in a part at least: for fewer, a panel would hardly be in the cache before the next one is wanted
COPY = 65536  # bytes to copy that are worth a chunk
AHEAD = 4 << 20  # bytes that are packed ahead in one go, hardly more
SCARCE = 1 << 19  # the same where memory is scarce


@dataclass(frozen=True)
class Product:
    """C[m, n] = alpha · A[m, k] · B[k, n] (+ C), once for each index of `batch`; C is contiguous.

    Strides are in elements: of A by row and term, of B by term and column, and of both along each axis of the batch.
    """

    dtype: np.dtype
    m: int
    n: int
    k: int
    a: tuple[int, int]
    b: tuple[int, int]
    batch: tuple[int, ...] = ()
    a_batch: tuple[int, ...] = ()
    b_batch: tuple[int, ...] = ()
    alpha: float = 1.0
    accumulate: bool = False

    def simplified(self) -> Product:
        """The same product with fewer axes: those of the batch joined, and made rows where B is the same for all."""
        axes = [x for x in zip(self.batch, self.a_batch, self.b_batch, strict=True) if x[0] > 1]
        joined: list[tuple[int, int, int]] = []
        for n, a, b in axes:
            if joined and joined[-1][1] == n * a and joined[-1][2] == n * b:
                joined[-1] = (joined[-1][0] * n, a, b)
            else:
                joined.append((n, a, b))
        m, row = self.m, self.a[0]
        if joined and joined[-1][2] == 0 and (m == 1 or joined[-1][1] == m * row):
            n, a, _ = joined.pop()
            m, row = m * n, (a if m == 1 else row)
        batch, a_batch, b_batch = zip(*joined, strict=True) if joined else ((), (), ())
        down, across = self.b
        if self.n == 1:
            across = 1
        if self.k == 1:
            down = 1
        return replace(self, m=m, a=(row, self.a[1]), b=(down, across), batch=batch, a_batch=a_batch, b_batch=b_batch)

    def flipped(self) -> Product:
        """A column as a row: Cᵀ = Bᵀ·Aᵀ lies in memory as C does."""
        return replace(
            self, m=self.n, n=self.m, a=self.b[::-1], b=self.a[::-1], a_batch=self.b_batch, b_batch=self.a_batch
        )


def tile_shape(m: int, vectors: int, available: int, dealt: bool = False) -> tuple[int, int]:
    """Rows and vectors of a tile: what takes the fewest cycles a term, by a simple count.

    Panels that are `dealt` to threads should come out even.
    """

    def cycles(rows: int, wide: int) -> float:
        # Two multiply-adds a cycle, each waiting four for the one before it on the same sum; loads go beside them.
        tiles = [(r, c) for r in spans(m, rows) for c in spans(vectors, wide)]
        total = sum(
            r.count * c.count * (max(r.size * c.size / 2, (r.size + c.size) / 2, 4) + (r.size + c.size) / 4)
            for r, c in tiles
        )
        panels = [s.size for s in spans(vectors, wide) for _ in range(s.count)]
        uneven = 2 * sum(panels[::2]) / vectors if dealt else 1
        return total * uneven * (1 + len(tiles) / 50)  # each kind of tile is code to generate

    shapes = [
        (rows, wide)
        for wide in range(1, min(vectors, 15 if m < 8 else 3) + 1)
        for rows in range(1, min(m, 16) + 1)
        if rows * wide + wide + 2 <= available
    ]
    return min(shapes, key=lambda s: cycles(*s))


@dataclass(frozen=True)
class Layout:
    """How a product is cut up."""

    width: int
    dots: bool  # lanes along the terms, not along the columns
    left: str  # A is read as it lies (""), or packed tile by tile: by each "part" for itself, or "ahead" of all parts
    right: str  # the same of B and its panels; a "part" packs one panel after the other
    deep: int  # terms in one go
    rows: tuple[Span, ...]
    columns: tuple[tuple[Span, int], ...]  # panels of vectors, and how many columns their last vector has
    row_parts: int = 1
    column_parts: int = 1
    units: int = 1
    per: int = 1  # units in a chunk
    slice: int = 0  # terms that are packed ahead in one go, 0 for all

    @property
    def tiles(self) -> int:
        return sum(s.count for s in self.rows)

    @property
    def panels(self) -> int:
        return sum(s.count for s, _ in self.columns)

    @property
    def high(self) -> int:
        """Rows of the largest tile."""
        return max(s.size for s in self.rows)

    @property
    def line(self) -> int:
        """Elements in a row of a packed panel."""
        return max(s.size for s, _ in self.columns) * self.width

    @property
    def chunks(self) -> int:
        return -(-self.units // self.per)

    def padded(self, p: Product) -> int:
        """Terms of all blocks together."""
        return -(-p.k // self.deep) * self.deep

    def packed_terms(self, p: Product) -> int:
        """Terms of all blocks that are packed ahead in one go."""
        return self.slice or self.padded(p)

    def copied_rows(self, p: Product) -> int:
        """Elements of A when it is packed ahead."""
        return prod(p.batch) * self.tiles * self.high * self.packed_terms(p)

    def row_copies(self, p: Product) -> int:
        """Chunks in which A is packed ahead."""
        return prod(p.batch) * max(min(p.m * (self.slice or p.k) * p.dtype.itemsize // COPY, self.tiles), 1)

    def column_copies(self, p: Product) -> int:
        """Chunks in which B is packed ahead."""
        return max(min((self.slice or p.k) * p.n * p.dtype.itemsize // COPY, self.panels), 1)

    def copied_columns(self, p: Product) -> int:
        """Elements of B when it is packed ahead."""
        return self.panels * self.line * self.packed_terms(p)


def layout(p: Product, bits: int, again: bool = False, scarce: bool = False) -> Layout:
    """Decide from the sizes; `again` says that other products of the same form have the same B, `scarce` that memory is."""
    width = bits // 8 // p.dtype.itemsize
    lying = p.b[1] != 1  # columns of B lie along memory
    dots = p.a[1] == 1 and p.b[0] == 1 and ((p.m <= FEW and lying) or p.n == 1)
    streams = p.m <= 2 and not lying and p.k * p.n * p.dtype.itemsize > PANEL  # B is read once, from afar
    if dots:
        rows, columns = spans(p.m, registers(bits) // 8), [(s, width) for s in spans(p.n, 4)]
        return _divided(p, Layout(width, True, "", "", p.k, tuple(rows), tuple(columns)))
    while width > 2 and width >= 2 * p.n:
        width //= 2
    vectors = -(-p.n // width)
    upright = p.m >= p.n and not p.batch  # cut into rows rather than columns
    high, wide = tile_shape(p.m, vectors, registers(bits), _pieces(p) > 1 and not upright)
    if streams:
        wide = min(wide, SIDE_BY_SIDE)
    rows, columns = spans(p.m, high), _panels(p.n, spans(vectors, wide), width)
    left, right, deep = "", "", SIDE_BY_SIDE if streams else p.k
    many = p.m > (2 if again else 4 * high)  # rows that make up for packing
    if lying or (many and p.k * p.n * p.dtype.itemsize > 16384):
        far = max(p.a) * p.dtype.itemsize >= (FAR if p.a[1] == 1 else APART)
        right = "ahead" if not p.batch and (upright or again) else "part"
        if p.m >= MANY and vectors >= 8 and far:
            left = "part" if upright else "ahead"
        deep = _depth(p.k, PANEL // (max(s.size for s, _ in columns) * width * p.dtype.itemsize), width)
    cut = _divided(p, Layout(width, False, left, right, deep, tuple(rows), tuple(columns)))
    if right == "ahead" and cut.units == 1 and not again:  # there are no other parts to pack for
        cut = replace(cut, left="ahead" if left else "", right="part")
    return cut if again else _sliced(p, cut, SCARCE if scarce else AHEAD)


def _sliced(p: Product, cut: Layout, most: int) -> Layout:
    """The same, packed ahead in slices of the terms where all would take much more than `most` bytes."""
    packed = cut.copied_rows(p) * (cut.left == "ahead") + cut.copied_columns(p) * (cut.right == "ahead")
    blocks, size = cut.padded(p) // cut.deep, packed * p.dtype.itemsize
    if size < 1.5 * most or blocks == 1:
        return cut
    slices = min(-(-size // most), blocks)
    return replace(cut, slice=-(-blocks // slices) * cut.deep)


def _depth(k: int, most: int, width: int) -> int:
    """Terms in one go: hardly more than `most`, and about the same number each time."""
    blocks = max(-(-k * 9 // (most * 10)), 1)
    return -(-k // (blocks * width)) * width if blocks > 1 else k


def _divided(p: Product, cut: Layout) -> Layout:
    """The same with its parts decided."""
    row_parts, column_parts, per = _parts(p, cut)
    units = prod(p.batch) * row_parts * column_parts
    return replace(cut, row_parts=row_parts, column_parts=column_parts, units=units, per=per)


def _parts(p: Product, cut: Layout) -> tuple[int, int, int]:
    """Parts of the rows, parts of the columns, and how many units make a chunk."""
    batch, pieces = prod(p.batch), _pieces(p)
    if pieces == 1:
        wanted = _wanted(p)
        return 1, 1, -(-batch // wanted) if wanted > 2 else batch
    if cut.right == "ahead" and p.m >= p.n:
        return max(_even(min(pieces, cut.tiles // TILES)), -(-p.m // HIGH)), 1, 1
    if cut.right:  # each part packs panels of its own: few parts of the rows, lest the same panel is packed often
        row_parts = max(-(-p.m // TALL), min(-(-8 // cut.panels), p.m // 128), 1)
        column_parts = -(-cut.panels // max(cut.panels * row_parts // _even(pieces), 1))
    else:
        row_parts = min(cut.tiles, pieces)
        column_parts = min(cut.panels, -(-pieces // row_parts), -(-p.n * p.dtype.itemsize // PIECE))
    return row_parts, column_parts, 1


def _wanted(p: Product) -> int:
    """Chunks that there should be."""
    return min(int(nanoseconds(p) // CHUNK), MOST)


def _pieces(p: Product) -> int:
    """Parts that one product of the batch should have."""
    wanted, batch = _wanted(p), prod(p.batch)
    return 1 if wanted < 3 else -(-wanted // batch)


def _even(parts: int) -> int:
    """So many that threads have the same to do."""
    return parts // 8 * 8 if parts >= 8 else max(parts // 2 * 2, 1)


def _panels(n: int, vectors: Sequence[Span], width: int) -> list[tuple[Span, int]]:
    """Panels of vectors, the one with an unfilled vector apart."""
    found = [(s, width) for s in vectors]
    if n % width:
        last, _ = found.pop()
        if last.count > 1:
            found.append((replace(last, count=last.count - 1), width))
        before = last.count - 1
        found.append((Span(last.size, last.first + before, 1, last.start + before * last.size), n % width))
    return found


def nanoseconds(p: Product) -> float:
    """About how long a product takes on one core: 100 operations on float32 a nanosecond, and 10 bytes from memory."""
    batch, size = prod(p.batch), p.dtype.itemsize
    operations, elements = 2 * p.m * p.n * p.k, p.m * p.k + p.k * p.n + p.m * p.n
    return batch * size * max(operations / 400, elements / 10)
