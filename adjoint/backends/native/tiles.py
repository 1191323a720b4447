"""The innermost part of a matrix product: tiles of the result in registers, and panels of a factor packed for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.backends.native.code import Code, Module
from adjoint.backends.native.lanes import Lanes
from adjoint.backends.native.lines import get, put
from adjoint.core.spec import int64

LINE = 64  # bytes that come from memory together
#: Writes code that asks for something that is needed later, given which row of a tile it does so for.
Ask = Callable[[Any], None]


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
    if used == width:
        return None
    return "<" + ", ".join(f"i1 {'true' if k < used else 'false'}" for k in range(width)) + ">"


@dataclass(frozen=True)
class Factor:
    """A matrix in memory: its address and the distances, in elements, between neighbours along its two axes."""

    pointer: str
    down: int
    across: int

    def at(self, code: Code, row: Any, column: Any, dtype: np.dtype) -> Factor:
        """The part that begins at an element."""
        offset = code.add(code.mul(row, self.down), code.mul(column, self.across))
        return Factor(code.element(self.pointer, offset, dtype), self.down, self.across)


@dataclass(frozen=True)
class Spot:
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
        asks: Sequence[Ask] = (),
    ) -> list[str]:
        """A tile of a·b: for each row a vector for each mask. Terms that are `apart` from each other add up on their own.

        While terms are added up it asks for other things, a little for each row.
        """
        columns = len(masks)

        def add(sums: Sequence[str], k: Any) -> list[str]:
            left = a.at(self.code, 0, k, self.dtype)
            line = b.at(self.code, k, 0, self.dtype).pointer
            right = [
                get(self.code, line, 1, str(v * self.width), self.dtype, self.width, mask)
                for v, mask in enumerate(masks)
            ]
            found = []
            for r in range(rows):
                one = self.code.load(self.code.element(left.pointer, r * a.down, self.dtype), self.dtype)
                wide = self.lanes.spread(one, self.dtype)
                found += [self.fma(wide, right[v], sums[r * columns + v]) for v in range(columns)]
            return found

        if not asks:
            return self._sums(add, rows * columns, depth, 1, apart)
        with self.code.loop(0, rows, 1, self.zeros(rows * columns)) as part:
            for ask in asks:
                ask(part.i)
            low, high = (self._quotient(self.code.mul(i, depth), rows) for i in (part.i, self.code.add(part.i, 1)))
            kind = self.lanes.type(self.dtype)
            with self.code.loop(low, high, 1, [(kind, value) for value in part.values]) as turn:
                turn.next = add(turn.values, turn.i)
            part.next = turn.results
        return part.results

    def ask(self, address: str, cache: str) -> None:
        """Have a line of memory brought near: to the first cache, where it will be changed too, or to the second."""
        self.code.module.declare("void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.code.do(
            f"call void @llvm.prefetch.p0(ptr {address}, {'i32 1, i32 3' if cache == 'L1' else 'i32 0, i32 2'}, i32 1)"
        )

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
        return [self._total(s) for s in sums]

    def _along(self, pointer: str, line: int, k: Any, mask: str | None) -> str:
        return get(self.code, self.code.element(pointer, line, self.dtype), 1, str(k), self.dtype, self.width, mask)

    def _total(self, vector: str) -> str:
        """The lanes added up, halves first."""
        width = self.width
        kind = Lanes(self.code, 1).type(self.dtype)
        while width > 1:
            half, wide = width // 2, Lanes(self.code, width).type(self.dtype)
            low, high = (
                self.code.put(
                    f"shufflevector {wide} {vector}, {wide} poison, <{half} x i32> <{', '.join(f'i32 {k}' for k in part)}>"
                )
                for part in (range(half), range(half, width))
            )
            vector = self.code.put(f"fadd <{half} x {kind}> {low}, {high}")
            width = half
        return self.code.put(f"extractelement <1 x {kind}> {vector}, i32 0")

    def _sums(self, add: Any, count: int, depth: Any, step: int, apart: int) -> list[str]:
        """`count` sums over 0, step, 2·step … below `depth`, in `apart` interleaved series that are added up at the end."""
        series = [[first for _, first in self.zeros(count)] for _ in range(apart)]
        whole = depth if apart == 1 else depth // (step * apart) * (step * apart)
        if whole != 0:
            with self.code.loop(0, whole, step * apart, self.zeros(count * apart)) as turn:
                for s in range(apart):
                    turn.next += add(turn.values[s * count : (s + 1) * count], self.code.add(turn.i, s * step))
            series = [turn.results[s * count : (s + 1) * count] for s in range(apart)]
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

    # ------------------------------------------------------------ packing

    def pack(self, b: Factor, to: str, columns: int, line: int, low: Any, high: Any, last: int) -> Factor:
        """Rows `low` to `high` of a panel of b, each `line` elements from the next. What is behind its columns is of no use.

        `last` is how many rows b has, and `low` a multiple of the width.
        """
        if b.across == 1:
            self._copy(b, to, columns, line, low, high)
            return Factor(to, line, 1)
        assert b.down == 1, "a factor that lies along neither axis"
        whole = last // self.width * self.width
        if whole:
            with self.code.loop(low, self.least(high, whole), self.width) as turn:
                target = self._line(to, line, turn.i, low)
                with self.code.loop(0, columns, self.width) as at:
                    self._turn(b.at(self.code, turn.i, at.i, self.dtype), target, at.i, columns, line)
        if whole < last:
            self._gather(b, to, columns, line, self.most(low, whole), high, low)
        return Factor(to, line, 1)

    def _copy(self, b: Factor, to: str, columns: int, line: int, low: Any, high: Any) -> None:
        with self.code.loop(low, high) as turn:
            source = b.at(self.code, turn.i, 0, self.dtype).pointer
            target = self._line(to, line, turn.i, low)
            for v in range(0, columns, self.width):
                mask = mask_of(self.width, min(self.width, columns - v))
                value = get(self.code, source, 1, str(v), self.dtype, self.width, mask)
                room = mask_of(self.width, min(self.width, line - v))
                put(self.code, value, target, 1, str(v), self.dtype, self.width, room)

    def _gather(self, b: Factor, to: str, columns: int, line: int, begin: Any, high: Any, low: Any) -> None:
        """The rows that fill no square block, element by element."""
        with self.code.loop(begin, high) as turn:
            source = b.at(self.code, turn.i, 0, self.dtype).pointer
            target = self._line(to, line, turn.i, low)
            with self.code.loop(0, columns) as at:
                value = self.code.load(self.code.element(source, self.code.mul(at.i, b.across), self.dtype), self.dtype)
                self.code.store(value, self.code.element(target, at.i, self.dtype), self.dtype)
            zero = Lanes(self.code, 1).number(0, self.dtype)
            for lane in range(columns, line):
                self.code.store(zero, self.code.element(target, lane, self.dtype), self.dtype)

    def _line(self, to: str, line: int, k: Any, low: Any) -> str:
        return self.code.element(to, self.code.mul(self.minus(k, low), line), self.dtype)

    def _turn(self, b: Factor, target: str, column: str, columns: int, line: int) -> None:
        """A square block, or what there is of one, transposed."""
        code = self.code
        name = define_turn(code.module, self.dtype, self.width)
        left = code.put(f"sub i64 {columns}, {column}")
        room = self.width if line % self.width == 0 else code.put(f"sub i64 {line}, {column}")
        to = code.element(target, column, self.dtype)
        code.do(f"call void @{name}(ptr {b.pointer}, i64 {b.across}, i64 {left}, ptr {to}, i64 {line}, i64 {room})")

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


def define_turn(module: Module, dtype: np.dtype, width: int) -> str:
    """The function that transposes a square block: `left` lines of it are there, and `room` lanes of each are stored."""
    name = f"turn_{dtype.name}_{width}"
    head = f"define internal void @{name}(ptr %from, i64 %apart, i64 %left, ptr %to, i64 %line, i64 %room) nounwind noinline {{"
    if any(text.startswith(head) for text in module.functions):
        return name
    code = Code(module)
    lanes, one = Lanes(code, width), Lanes(code, 1)
    final = code.put("add i64 %left, -1")
    block = []
    for k in range(width):  # a line that is not there is read as the last one
        place = one.intrinsic("smin", int64, str(k), final)
        block.append(code.load(code.element("%from", code.mul(place, "%apart"), dtype), dtype, width))
    counted = "<" + ", ".join(f"i64 {k}" for k in range(width)) + ">"
    mask = code.put(f"icmp slt <{width} x i64> {counted}, {lanes.spread('%room', int64)}")
    for k, value in enumerate(transposed(lanes, block, dtype)):
        put(code, value, code.element("%to", code.mul("%line", k), dtype), 1, "0", dtype, width, mask)
    text = "\n".join(code.lines)
    module.functions.append(f"{head}\nentry:\n{text}\n  ret void\n}}")
    return name


def transposed(lanes: Lanes, rows: Sequence[str], dtype: np.dtype) -> list[str]:
    """As many vectors as they have lanes, rows for columns: blocks of 1, 2, 4 … change places across the diagonal."""
    rows, wide, width = list(rows), lanes.type(dtype), lanes.width
    step = 1
    while step < width:
        for i in range(width):
            if not i & step:
                x, y = rows[i], rows[i + step]
                upper = [j if not j & step else width + j - step for j in range(width)]
                lower = [j + step if not j & step else width + j for j in range(width)]
                rows[i], rows[i + step] = (
                    lanes.code.put(
                        f"shufflevector {wide} {x}, {wide} {y}, <{width} x i32> <{', '.join(f'i32 {j}' for j in places)}>"
                    )
                    for places in (upper, lower)
                )
        step *= 2
    return rows
