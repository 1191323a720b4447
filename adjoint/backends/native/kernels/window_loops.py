"""What convolution, pooling and sorting share: parallel regions, nested loops, how results and sources meet along an axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.emit.llvm_ir import Code
from adjoint.core.spec import int64

WORK = 8_000  # vector instructions that are worth a thread
CHUNKS = 64


@dataclass
class Chunk:
    """The part of a region that one call does: its code, the pointers it was given, its first item and the end."""

    code: Code
    pointers: list[str]
    low: Any
    high: Any


def chunked(items: int, work: float, most: int = CHUNKS) -> tuple[int, int]:
    """How many items of `work` instructions each a chunk has, and how many chunks there are."""
    wanted = max(min(int(items * work / WORK), items, most), 1)
    per = -(-items // wanted)
    return per, -(-items // per)


@contextmanager
def region(
    emitter: GraphEmitter, items: int, work: float, pointers: Sequence[str], most: int = CHUNKS
) -> Iterator[Chunk]:
    """Write a function for `items` items of `work` instructions each, and call it for chunks that depend on these alone."""
    shared, outer = emitter.shared, emitter.code
    per, chunks = chunked(items, work, most)
    code = Code(shared.module)
    inside = []
    for k in range(len(pointers)):
        inside.append(code.put(f"load ptr, ptr {code.put(f'getelementptr ptr, ptr %ctx, i64 {k}')}"))
    low = code.mul("%chunk", per) if chunks > 1 else 0
    high: Any = items
    if chunks > 1:
        high = code.add(low, per)
        if items % per:
            high = Lanes(code, 1).intrinsic("smin", int64, high, str(items))
    yield Chunk(code, inside, low, high)
    name = shared.module.function("windows", "ptr noalias %ctx, i64 %chunk", code.lines)
    context = shared.slots.alloca(f"[{len(pointers)} x ptr]")
    for k, pointer in enumerate(pointers):
        outer.do(f"store ptr {pointer}, ptr {outer.put(f'getelementptr ptr, ptr {context}, i64 {k}')}")
    shared.call(name, context, chunks)


def nested(
    code: Code,
    ranges: Sequence[tuple[Any, Any]],
    carry: Sequence[tuple[str, str]],
    body: Callable[[list[Any], list[str]], list[str]],
    indices: Sequence[Any] = (),
) -> list[str]:
    """Loops inside each other, the first outermost; `body` takes the indices and what is carried, and gives its new values."""
    values = [first for _, first in carry]
    if not ranges:
        return body(list(indices), values)
    low, high = ranges[0]
    if isinstance(low, int) and isinstance(high, int):
        if low >= high:
            return values
        if high == low + 1:
            return nested(code, ranges[1:], carry, body, (*indices, low))
    with code.loop(low, high, 1, carry) as iteration:
        inner = [(kind, value) for (kind, _), value in zip(carry, iteration.values, strict=True)]
        iteration.next = nested(code, ranges[1:], inner, body, (*indices, iteration.i))
    return iteration.results


def unravel(code: Code, i: Any, sizes: Sequence[int]) -> list[Any]:
    """The indices of the i-th item of an array of these sizes."""
    found: list[Any] = []
    for k, n in reversed(list(enumerate(sizes))):
        if n == 1:
            found.append(0)
        elif k == 0 or all(m == 1 for m in sizes[:k]):
            found.append(i)
        elif isinstance(i, int):
            found.append(i % n)
            i //= n
        else:
            found.append(code.put(f"urem i64 {i}, {n}"))
            i = code.put(f"udiv i64 {i}, {n}")
    return found[::-1]


def linear(code: Code, start: Any, *terms: tuple[Any, int]) -> Any:
    """start + the sum of index times stride."""
    for index, stride in terms:
        start = code.add(start, code.mul(index, stride))
    return start


def split(n: int, most: int) -> list[tuple[int, int, int]]:
    """n as tiles of at most `most`, as even as can be: (where they start, how many, of which size)."""
    tiles = -(-n // most)
    size, larger = divmod(n, tiles)
    parts = [(0, larger, size + 1), (larger * (size + 1), tiles - larger, size)]
    return [p for p in parts if p[1]]


# ---------------------------------------------------------------- axes


@dataclass(frozen=True)
class Axis:
    """Along one axis, tap `tap + tap_step * t` at place `first + step * j` of the result meets place
    `scale * j + slope * t + shift` of the source, if there is one.
    """

    size: int  # of the source
    positions: int  # of j
    taps: int  # of t
    scale: int
    slope: int
    shift: int
    first: int = 0
    step: int = 1
    tap: int = 0
    tap_step: int = 1

    def source(self, code: Code, j: Any, t: Any) -> Any:
        return linear(code, self.shift, (j, self.scale), (t, self.slope))

    def tap_range(self, code: Code, j: Any) -> tuple[Any, Any]:
        """The t that meet something at j."""
        if not self.taps:
            return 0, 0
        ends = [self.scale * j + self.shift for j in (0, self.positions - 1)]
        return _inside(code, self.slope, ends, linear(code, self.shift, (j, self.scale)), self.size, self.taps)

    def position_range(self, code: Code, t: Any) -> tuple[Any, Any]:
        """The j that meet something with t."""
        ends = [self.slope * t + self.shift for t in (0, self.taps - 1)]
        return _inside(code, self.scale, ends, linear(code, self.shift, (t, self.slope)), self.size, self.positions)


def _inside(code: Code, slope: int, ends: list[int], offset: Any, size: int, limit: int) -> tuple[Any, Any]:
    """The range of v below `limit` with 0 <= slope * v + offset < size; `ends` are the least and largest offset."""
    if all(0 <= slope * v + end < size for v in (0, limit - 1) for end in ends):
        return 0, limit
    if slope < 0:
        slope, offset = (
            -slope,
            size - 1 - offset if isinstance(offset, int) else code.put(f"sub i64 {size - 1}, {offset}"),
        )
    if isinstance(offset, int):
        low, high = -(-max(-offset, 0) // slope), -(-max(size - offset, 0) // slope)
        return low, min(high, limit)
    lanes = Lanes(code, 1)

    def rounded_up(n: Any) -> Any:
        positive = lanes.intrinsic("smax", int64, n, "0")
        return positive if slope == 1 else code.put(f"udiv i64 {code.add(positive, slope - 1)}, {slope}")

    low = rounded_up(code.put(f"sub i64 0, {offset}"))
    high = rounded_up(code.put(f"sub i64 {size}, {offset}"))
    return low, lanes.intrinsic("smin", int64, high, str(limit))


def forward_axis(size: int, window: int, stride: int, padding: tuple[int, int], dilation: int, count: int) -> Axis:
    """Windows over a source."""
    return Axis(size, count, window, stride, dilation, -padding[0])


def backward_axes(
    size: int, window: int, stride: int, padding: tuple[int, int], dilation: int, count: int
) -> list[Axis]:
    """Places that were under windows, in classes modulo the stride: those of a class meet the same taps."""
    axes = []
    for first in range(min(stride, size)):
        taps = [k for k in range(window) if (first + padding[0] - k * dilation) % stride == 0]
        positions = -(-(size - first) // stride)
        apart = taps[1] - taps[0] if len(taps) > 1 else 1
        tap = taps[0] if taps else 0
        shift = (first + padding[0] - tap * dilation) // stride
        slope = -(apart * dilation) // stride if len(taps) > 1 else -1
        axes.append(Axis(count, positions, len(taps), 1, slope, shift, first, stride, tap, apart))
    return axes


# ---------------------------------------------------------------- transposition


def transpose(
    emitter: GraphEmitter, source: str, target: str, blocks: int, rows: int, columns: int, dtype: np.dtype
) -> None:
    """For each block, (rows, columns) in memory becomes (columns, rows). One of the two is the number of lanes."""
    wide = min(rows, columns)
    per = 16  # squares of an item
    long = max(rows, columns)
    items = -(-long // (per * wide))
    with region(emitter, blocks * items, per * wide * 4, (source, target)) as chunk:
        code = chunk.code
        with code.loop(chunk.low, chunk.high) as iteration:
            block, item = unravel(code, iteration.i, (blocks, items))
            base = code.mul(block, rows * columns)
            begin, end = (code.element(p, base, dtype) for p in chunk.pointers)

            def square(at: Any) -> None:
                froms = [
                    code.element(begin, code.add(code.mul(at, 1 if rows == wide else columns), k * columns), dtype)
                    for k in range(wide)
                ]
                values = Lanes(code, wide).transposed([code.load(p, dtype, wide) for p in froms], dtype)
                for k, value in enumerate(values):
                    place = code.add(code.mul(at, rows if rows == wide else 1), k * rows)
                    code.store(value, code.element(end, place, dtype), dtype, wide)

            low = code.mul(item, per * wide)
            high = Lanes(code, 1).intrinsic("smin", int64, str(code.add(low, per * wide)), str(long))
            with code.loop(low, high, wide) as at:
                # The last square is moved back so that it ends where the array does.
                square(Lanes(code, 1).intrinsic("smin", int64, at.i, str(long - wide)) if long % wide else at.i)
