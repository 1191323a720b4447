"""The innermost part of a matrix product: tiles of the result, added up in registers.

Most of a tile's code does not depend on the sizes of its product, so there is a function for each form of tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.emit.llvm_ir import Code
from adjoint.backends.native.emit.vector_access import get, lane_mask, put
from adjoint.core.spec import int64

LINE = 64  # bytes that come from memory together
CALL = 512  # multiply-adds of vectors in a tile that are worth a call
PARAMETERS = "ptr %a, i64 %a_step, ptr %b, i64 %b_step, ptr %c, i64 %c_step, i64 %depth, i1 %more, ptr %prefetches"


@dataclass(frozen=True)
class Span:
    """Neighbouring parts of equal size along an axis: parts number `first` to `first + count - 1`, from element `start`."""

    size: int
    first: int
    count: int
    start: int

    def begin(self, code: Code, part: Any) -> Any:
        """Where a part begins."""
        return code.add(code.mul(part, self.size), self.start - self.first * self.size)


def spans(n: int, largest: int) -> list[Span]:
    """An axis cut into as few parts as can be, their sizes as equal as can be."""
    parts = -(-n // largest)
    size, longer = divmod(n, parts)
    found = [Span(size + 1, 0, longer, 0), Span(size, longer, parts - longer, longer * (size + 1))]
    return [s for s in found if s.count]


def mask_of(width: int, used: int) -> str | None:
    """The mask of a vector whose first `used` lanes are in use, None when all are."""
    return None if used == width else lane_mask(width, range(used))


@dataclass(frozen=True)
class Factor:
    """A matrix in memory: its address and the distances, in elements, between neighbours along its two axes."""

    pointer: str
    down: Any
    across: Any

    def at(self, code: Code, row: Any, column: Any, dtype: np.dtype) -> Factor:
        """The part that begins at an element."""
        offset = code.add(code.mul(row, self.down), code.mul(column, self.across))
        return Factor(code.element(self.pointer, offset, dtype), self.down, self.across)


@dataclass(frozen=True)
class FinishedVectors:
    """Where an epilogue works: finished vectors in memory, side by side from (row, column) of the result on.

    `row` is counted through the whole batch. There is a vector for each mask.
    """

    code: Code
    width: int
    row: Any
    column: Any
    sums: str
    masks: Sequence[str | None]
    captured: Sequence[str]


@dataclass(frozen=True)
class PrefetchSoon:
    """Lines of memory to bring near for each row of a tile: so many, and so many bytes from those of the row before."""

    pointer: str
    step: int
    lines: int


@dataclass(frozen=True)
class PrefetchLater:
    """Lines of memory that will be needed later: `each` for each row of a tile.

    They are part of a block of rows `step` bytes apart, each of so many `lines`: the lines go on from line number `line` of
    a row, at the pointer.
    """

    pointer: str
    line: Any
    lines: int
    step: int
    each: int


@dataclass(frozen=True)
class Prefetches:
    """Where it is written down what a tile prefetches, and how many lines for each of its rows: those of several arrays that
    are needed soon, and those that are needed later.
    """

    at: str
    near: tuple[int, ...]
    far: int

    @property
    def size(self) -> int:
        """How many bytes that takes."""
        return 8 * (4 + 2 * len(self.near))


def write_prefetches(code: Code, at: str, near: Sequence[PrefetchSoon], far: PrefetchLater | None) -> Prefetches:
    """Write down what a tile prefetches while it adds up terms."""

    def slot(k: int) -> str:
        return code.element(at, k, int64)

    if far:
        code.do(f"store <2 x i64> <i64 {far.lines}, i64 {far.step - (far.lines - 1) * LINE}>, ptr {at}, align 8")
        code.do(f"store ptr {far.pointer}, ptr {slot(2)}")
        code.do(f"store i64 {far.line}, ptr {slot(3)}")
    for k, lines in enumerate(near):
        code.do(f"store ptr {lines.pointer}, ptr {slot(4 + 2 * k)}")
        code.do(f"store i64 {lines.step}, ptr {slot(5 + 2 * k)}")
    return Prefetches(at, tuple(soon.lines for soon in near), far.each if far else 0)


@dataclass(frozen=True)
class Tile:
    """What the code of a tile depends on, apart from where its factors and its result are."""

    dtype: np.dtype
    width: int
    dots: bool  # lanes along the terms, not along the columns
    rows: int
    columns: int  # vectors, or numbers with `dots`
    used: int  # lanes of the last vector that are in the result
    filled: bool  # whether all of its lanes may be read
    apart: int  # terms that add up on their own
    alpha: float = 1.0

    def write(
        self, code: Code, a: Factor, b: Factor, c: Factor, depth: Any, more: Any, prefetches: Prefetches | None
    ) -> None:
        """Some terms: sums in registers, then into the result, and `more` says whether it holds something to add to."""
        tiler, step = Tiler(code, self.dtype, self.width), 1 if self.dots else self.width
        masks: list[str | None] = [None] * self.columns
        if self.dots:
            sums = tiler.dots(a, b, self.rows, self.columns, depth, self.apart)
        else:
            masks[-1] = mask_of(self.width, self.used)
            read = [None] * self.columns if self.filled else masks
            sums = tiler.outer(a, b, self.rows, read, depth, self.apart, prefetches)
        lanes = Lanes(code, step)
        kind = lanes.type(self.dtype)
        places = [
            code.element(c.pointer, code.add(code.mul(r, c.down), v * step), self.dtype)
            for r in range(self.rows)
            for v in range(self.columns)
        ]
        if self.alpha != 1:
            sums = [code.put(f"fmul {kind} {value}, {lanes.number(self.alpha, self.dtype)}") for value in sums]
        if more is not False:
            sums = self._added(code, lanes, sums, places, masks, more)
        for k, (value, place) in enumerate(zip(sums, places, strict=True)):
            put(code, value, place, 1, "0", self.dtype, step, masks[k % self.columns])

    def _added(
        self, code: Code, lanes: Lanes, sums: list[str], places: list[str], masks: list[str | None], more: Any
    ) -> list[str]:
        """The sums and what is there already, if it counts."""
        kind, before = lanes.type(self.dtype), code.label
        some, after = code.new_label("some"), code.new_label("after")
        code.branch("true" if more is True else more, some, after)
        code.begin(some)
        total = []
        for k, (value, place) in enumerate(zip(sums, places, strict=True)):
            old = get(code, place, 1, "0", self.dtype, lanes.width, masks[k % self.columns])
            total.append(code.put(f"fadd {kind} {old}, {value}"))
        code.jump(after)
        code.begin(after)
        return [code.put(f"phi {kind} [ {x}, %{before} ], [ {y}, %{some} ]") for x, y in zip(sums, total, strict=True)]

    def call(
        self, code: Code, a: Factor, b: Factor, c: Factor, depth: Any, more: Any, prefetches: Prefetches | None
    ) -> None:
        """The same by a function that is there for all tiles of this form."""
        lying = a.down == 1  # its columns lie along memory

        def write(inner: Code) -> None:
            left = Factor("%a", 1, "%a_step") if lying else Factor("%a", "%a_step", 1)
            given = replace(prefetches, at="%prefetches") if prefetches else None
            self.write(inner, left, Factor("%b", "%b_step", 1), Factor("%c", "%c_step", 1), "%depth", "%more", given)

        name = code.module.once(("tile", self, lying, prefetches), "tile", PARAMETERS, write)
        code.do(
            f"call void @{name}(ptr {a.pointer}, i64 {a.across if lying else a.down}, ptr {b.pointer}, i64 {b.down}, "
            f"ptr {c.pointer}, i64 {c.down}, i64 {depth}, i1 {str(more).lower() if isinstance(more, bool) else more}, "
            f"ptr {prefetches.at if prefetches else 'null'})"
        )


@dataclass(frozen=True)
class Tiler:
    """Writes tiles of some dtype and number of lanes."""

    code: Code
    dtype: np.dtype
    width: int

    @property
    def lanes(self) -> Lanes:
        return Lanes(self.code, self.width)

    def fma(self, x: str, y: str, z: str) -> str:
        return self.lanes.intrinsic("fmuladd", self.dtype, x, y, z)

    def zeros(self, count: int) -> list[tuple[str, str]]:
        return [(self.lanes.type(self.dtype), self.lanes.number(0, self.dtype))] * count

    # ------------------------------------------------------------ lanes along the columns of the result

    def outer(
        self,
        a: Factor,
        b: Factor,
        rows: int,
        masks: Sequence[str | None],
        depth: Any,
        apart: int,
        prefetches: Prefetches | None,
    ) -> list[str]:
        """A tile of a·b: for each row a vector for each mask. Terms that are `apart` from each other add up on their own.

        While terms are added up it prefetches other things, a little for each row.
        """
        columns = len(masks)
        down = self._multiples(a.down, rows)

        def add(sums: Sequence[str], k: Any) -> list[str]:
            left = a.at(self.code, 0, k, self.dtype).pointer
            line = b.at(self.code, k, 0, self.dtype).pointer
            right = [
                get(self.code, line, 1, str(v * self.width), self.dtype, self.width, mask)
                for v, mask in enumerate(masks)
            ]
            found = []
            for r in range(rows):
                wide = self.lanes.spread(self.code.load(self._below(left, r, a.down, down), self.dtype), self.dtype)
                found += [self.fma(wide, right[v], sums[r * columns + v]) for v in range(columns)]
            return found

        if prefetches is None:
            return self._sums(add, rows * columns, depth, 1, apart)
        kind = self.lanes.type(self.dtype)
        far = (
            [("ptr", self._noted(prefetches, 2, "ptr")), ("i64", self._noted(prefetches, 3))] if prefetches.far else []
        )
        with self.code.loop(0, rows, 1, [*far, *self.zeros(rows * columns)]) as part:
            place, first = part.values[: len(far)], part.values[len(far) :]
            self._prefetch_near(prefetches, part.i)
            later = self._prefetch_far(prefetches, *place) if far else []
            low, high = (self._quotient(self.code.mul(i, depth), rows) for i in (part.i, self.code.add(part.i, 1)))
            with self.code.loop(low, high, 1, [(kind, value) for value in first]) as iteration:
                iteration.next = add(iteration.values, iteration.i)
            part.next = [*later, *iteration.results]
        return part.results[len(far) :]

    def _multiples(self, down: Any, rows: int) -> list[str]:
        """1, 3, 5 … times the bytes between rows that are known at run time. LLVM would compute them again for each term."""
        if isinstance(down, int):
            return []
        odd = [self.code.mul(r * self.dtype.itemsize, down) for r in range(1, rows, 2)]
        return [self.code.put(f'call i64 asm "", "=r,0"(i64 {n})') for n in odd]

    def _below(self, address: str, row: int, down: Any, multiples: Sequence[str]) -> str:
        """The address of the same column of a later row."""
        if row == 0 or not multiples:
            return self.code.element(address, self.code.mul(row, down), self.dtype)
        twice = (row & -row).bit_length() - 1  # a processor's addresses have a factor of up to 8
        offset = multiples[row >> twice + 1]
        if twice:
            offset = self.code.put(f"shl i64 {offset}, {twice}")
        return self.code.put(f"getelementptr i8, ptr {address}, i64 {offset}")

    def _noted(self, prefetches: Prefetches, k: int, kind: str = "i64") -> str:
        return self.code.put(f"load {kind}, ptr {self.code.element(prefetches.at, k, int64)}")

    def _prefetch_near(self, prefetches: Prefetches, row: str) -> None:
        """Ask for what will be needed soon: as much as belongs to a row."""
        code = self.code
        for k, lines in enumerate(prefetches.near):
            pointer, step = self._noted(prefetches, 4 + 2 * k, "ptr"), self._noted(prefetches, 5 + 2 * k)
            begin = code.put(f"getelementptr i8, ptr {pointer}, i64 {code.mul(row, step)}")
            for v in range(lines):
                self._prefetch(code.put(f"getelementptr i8, ptr {begin}, i64 {v * LINE}"), "i32 1, i32 3")

    def _prefetch_far(self, prefetches: Prefetches, address: str, line: str) -> list[str]:
        """Ask for what will be needed later: as much as belongs to a row; gives where the next one goes on."""
        code = self.code
        lines, back = self._noted(prefetches, 0), self._noted(prefetches, 1)
        for _ in range(prefetches.far):
            self._prefetch(address, "i32 0, i32 2")
            line = code.add(line, 1)
            last = code.put(f"icmp eq i64 {line}, {lines}")
            step = code.put(f"select i1 {last}, i64 {back}, i64 {LINE}")
            address = code.put(f"getelementptr i8, ptr {address}, i64 {step}")
            line = code.put(f"select i1 {last}, i64 0, i64 {line}")
        return [address, line]

    def _prefetch(self, address: str, where: str) -> None:
        """Have a line of memory brought to the first cache, where it will be changed too, or to the second."""
        self.code.module.declare("void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.code.do(f"call void @llvm.prefetch.p0(ptr {address}, {where}, i32 1)")

    def _quotient(self, x: Any, y: int) -> str:
        return self.code.put(f"udiv i64 {x}, {y}")

    # ------------------------------------------------------------ lanes along the axis that is summed over

    def dots(self, a: Factor, b: Factor, rows: int, columns: int, depth: int, apart: int) -> list[str]:
        """A tile of a·b where rows of `a` and columns of `b` lie along memory: one number for each element."""

        def add(sums: Sequence[str], k: Any, mask: str | None = None) -> list[str]:
            left = [self._along(a.pointer, r * a.down, k, mask) for r in range(rows)]
            right = [self._along(b.pointer, c * b.across, k, mask) for c in range(columns)]
            return [
                self.fma(left[r], right[c], sums[r * columns + c]) for r in range(rows) for c in range(columns)
            ]  # fmt: skip

        full = depth // self.width * self.width
        sums = [first for _, first in self.zeros(rows * columns)]
        if full:
            sums = self._sums(add, rows * columns, full, self.width, apart)
        if full < depth:
            sums = add(sums, full, mask_of(self.width, depth - full))
        return [self.lanes.total(s, self.dtype) for s in sums]

    def _along(self, pointer: str, line: int, k: Any, mask: str | None) -> str:
        return get(self.code, self.code.element(pointer, line, self.dtype), 1, str(k), self.dtype, self.width, mask)

    def _sums(self, add: Any, count: int, depth: Any, step: int, apart: int) -> list[str]:
        """`count` sums over 0, step, 2·step … below `depth`, in `apart` interleaved series that are added up at the end."""
        series = [[first for _, first in self.zeros(count)] for _ in range(apart)]
        whole = depth if apart == 1 else depth // (step * apart) * (step * apart)
        if whole != 0:
            with self.code.loop(0, whole, step * apart, self.zeros(count * apart)) as iteration:
                for s in range(apart):
                    iteration.next += add(
                        iteration.values[s * count : (s + 1) * count], self.code.add(iteration.i, s * step)
                    )
            series = [iteration.results[s * count : (s + 1) * count] for s in range(apart)]
        if apart > 1:
            for s, k in enumerate(range(whole, depth, step)):
                series[s] = add(series[s], k)
        while len(series) > 1:
            half = len(series) // 2
            series = [self._added(series[s], series[s + half]) for s in range(half)] + series[2 * half :]
        return series[0]

    def _added(self, x: Sequence[str], y: Sequence[str]) -> list[str]:
        kind = self.lanes.type(self.dtype)
        return [self.code.put(f"fadd {kind} {p}, {q}") for p, q in zip(x, y, strict=True)]

    def minus(self, x: Any, y: Any) -> Any:
        if isinstance(y, int):
            return self.code.add(x, -y)
        return self.code.put(f"sub i64 {x}, {y}")

    def least(self, x: Any, y: Any) -> Any:
        return self._choice("smin", min, x, y)

    def most(self, x: Any, y: Any) -> Any:
        return self._choice("smax", max, x, y)

    def _choice(self, name: str, known: Any, x: Any, y: Any) -> Any:
        if isinstance(x, int) and isinstance(y, int):
            return known(x, y)
        return Lanes(self.code, 1).intrinsic(name, int64, str(x), str(y))
