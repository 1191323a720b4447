"""Windows without filters: largest elements, sums, the windows themselves, and their transposes.

Lanes lie along the windows of a row. An item of the parallel loop is a plane: all places in space for one index of the axes
before them. With padding, planes are copied into larger ones first, and results are cut out of larger ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.native.code import Code, in_memory, in_register
from adjoint.backends.native.lanes import Lanes, extremum
from adjoint.backends.native.nest import fill
from adjoint.backends.native.windows import linear, nested, region, shuffle, unravel
from adjoint.core.spec import bool_, int64
from adjoint.graph.node import Node
from adjoint.ops.pool import (
    Fold,
    MaxPool,
    MaxPoolIndex,
    MaxPoolPull,
    MaxPoolPush,
    Pool,
    SumPool,
    SumPoolPull,
    Unfold,
    lowest,
)

UNROLLED = 16  # taps of a window that are written out one by one; more are a loop

Tap = tuple[Any, Any, Any]


@dataclass(frozen=True)
class Geometry:
    """Windows over planes as depth, height and width; missing axes have size 1."""

    planes: int
    space: tuple[int, int, int]
    count: tuple[int, int, int]
    window: tuple[int, int, int]
    stride: tuple[int, int, int]
    padding: tuple[tuple[int, int], ...]
    dilation: tuple[int, int, int]

    @property
    def padded(self) -> tuple[int, ...]:
        return tuple(n + lo + hi for n, (lo, hi) in zip(self.space, self.padding, strict=True))

    @property
    def unrolled(self) -> bool:
        return prod(self.window) <= UNROLLED

    @property
    def apart(self) -> bool:
        """Whether windows lie side by side, so that no place is under two of them."""
        return all(k == s or n == 1 for k, s, n in zip(self.window, self.stride, self.count, strict=True)) and all(
            d == 1 or k == 1 for k, d in zip(self.window, self.dilation, strict=True)
        )

    @property
    def covering(self) -> bool:
        """Whether every place is under one window."""
        sizes = (s * n for s, n in zip(self.window, self.count, strict=True))
        return self.apart and tuple(sizes) == self.padded

    def taps(self) -> list[Tap]:
        return [unravel_known(k, self.window) for k in range(prod(self.window))]

    def source(self, code: Code, rounds: Sequence[Any], tap: Tap) -> Any:
        """Where an element of a window lies in a padded plane, for the window at `rounds`."""
        total: Any = 0
        for axis, n in enumerate(self.padded):
            met = linear(code, 0, (rounds[axis], self.stride[axis]), (tap[axis], self.dilation[axis]))
            total = linear(code, met, (total, n))
        return total


def unravel_known(k: int, sizes: Sequence[int]) -> Tap:
    a, b, c = (int(i) for i in np.unravel_index(k, tuple(sizes)))
    return a, b, c


def geometry(op: Pool, shape: tuple[int, ...]) -> Geometry:
    """The windows of an op over an input of this shape."""
    lead, space = op.split(shape)
    more = 3 - op.rank
    ones, zeros = (1,) * more, ((0, 0),) * more
    count = op.pooled(shape)[len(lead) :]
    parts: Any = [ones + tuple(p) for p in (space, count, op.window, op.stride)]
    return Geometry(prod(lead), *parts, zeros + op.padding, ones + tuple(op.dilation))  # type: ignore[arg-type]


# ---------------------------------------------------------------- vectors along a row of windows


class Row:
    """A vector of neighbouring windows: their elements in a plane."""

    def __init__(self, code: Code, shape: Geometry, rounds: Sequence[Any], width: int) -> None:
        self.code, self.shape, self.rounds, self.width = code, shape, rounds, width
        self.lanes = Lanes(code, width)

    def load(self, plane: str, tap: Tap, dtype: np.dtype) -> str:
        """An element of each window."""
        code, shape, width = self.code, self.shape, self.width
        stride = shape.stride[2]
        begin = shape.source(code, self.rounds, tap)
        if width == 1 or stride == 1:
            return code.load(code.element(plane, begin, dtype), dtype, width)
        back = min(tap[2] * shape.dilation[2], stride - 1) if isinstance(tap[2], int) else 0
        if isinstance(tap[2], int) and (shape.window[2] - 1) * shape.dilation[2] >= stride - 1:
            # All elements from the first to the last, begun so early that nothing behind the last window is read.
            whole = code.load(code.element(plane, code.add(begin, -back), dtype), dtype, width * stride)
            return shuffle(code, whole, whole, in_register(dtype, width * stride), range(back, width * stride, stride))
        value = "poison"
        for k in range(width):
            one = code.load(code.element(plane, code.add(begin, k * stride), dtype), dtype)
            value = code.put(f"insertelement {self.lanes.type(dtype)} {value}, {in_register(dtype)} {one}, i32 {k}")
        return value

    def fold(self, first: Sequence[tuple[str, str]], step: Callable[[Tap, list[str]], list[str]]) -> list[str]:
        """Go through the taps of the windows in order."""
        shape = self.shape
        if shape.unrolled:
            values = [value for _, value in first]
            for tap in shape.taps():
                values = step(tap, values)
            return values
        ranges = [(0, n) for n in shape.window]
        return nested(self.code, ranges, first, lambda at, values: step((at[0], at[1], at[2]), values))

    def largest(self, plane: str, dtype: np.dtype) -> str:
        first = self.lanes.number(lowest(dtype), dtype)

        def step(tap: Tap, best: list[str]) -> list[str]:
            return [extremum(self.lanes, "gt", dtype, best[0], self.load(plane, tap, dtype))]

        return self.fold([(self.lanes.type(dtype), first)], step)[0]

    def is_peak(self, plane: str, tap: Tap, best: str, dtype: np.dtype) -> str:
        """Where an element is the largest of its window; a window with NaN has nothing else."""
        less = self.lanes.compare("lt", self.load(plane, tap, dtype), best, dtype)
        kind = self.lanes.type(bool_)
        return self.code.put(f"xor {kind} {less}, {self.lanes.number(True, bool_)}")

    def peaks(self, plane: str, best: str, dtype: np.dtype, result: np.dtype) -> str:
        """How many largest elements each window has."""
        lanes = self.lanes

        def step(tap: Tap, count: list[str]) -> list[str]:
            hit = lanes.cast(self.is_peak(plane, tap, best, dtype), bool_, result)
            return [self.code.put(f"fadd {lanes.type(result)} {count[0]}, {hit}")]

        return self.fold([(lanes.type(result), lanes.number(0, result))], step)[0]

    def windows(self, plane: str, dtype: np.dtype, channel: Any = 0) -> str:
        """What a plane with one element for each window holds."""
        return self.code.load(self.place(plane, dtype, channel), dtype, self.width)

    def place(self, plane: str, dtype: np.dtype, channel: Any = 0) -> str:
        counts = self.shape.count
        at = linear(self.code, 0, (channel, counts[0]), (self.rounds[0], 1))
        at = linear(self.code, self.rounds[1], (at, counts[1]))
        return self.code.element(plane, linear(self.code, self.rounds[2], (at, counts[2])), dtype)

    def channel(self, tap: Tap) -> Any:
        """The number of a tap."""
        a, b, c = tap
        inner = linear(self.code, b, (a, self.shape.window[1]))
        return linear(self.code, c, (inner, self.shape.window[2]))


def widths(count: int, most: int, overlapping: bool) -> Iterator[tuple[int, int, int]]:
    """How to go through a row of windows: (first, end, width). Vectors overlap at the end where that does no harm."""
    first = 0
    width = most
    while first < count:
        while width > count - first:
            width //= 2
        end = first + (count - first) // width * width
        yield first, end, width
        first = end
        if overlapping and first < count:
            yield count - width, count, width
            return


def each_row(
    code: Code, shape: Geometry, width: int, overlapping: bool, body: Callable[[Row], None]
) -> None:
    """Write the code for all windows of a plane."""

    def row(at: list[Any], values: list[str]) -> list[str]:
        for first, end, wide in widths(shape.count[2], width, overlapping):
            if end == first + wide:
                body(Row(code, shape, (*at, first), wide))
            else:
                with code.loop(first, end, wide) as turn:
                    body(Row(code, shape, (*at, turn.i), wide))
        return []

    nested(code, [(0, n) for n in shape.count[:2]], [], row)


# ---------------------------------------------------------------- padding


def each_padded_row(code: Code, shape: Geometry, body: Callable[[Any, Any], None]) -> None:
    """For each row of a plane: where it lies, and where in the padded plane."""

    def row(at: list[Any], values: list[str]) -> list[str]:
        places = [code.add(i, lo) for i, (lo, _) in zip(at, shape.padding, strict=False)]
        inside = linear(code, at[1], (at[0], shape.space[1]))
        outside = linear(code, places[1], (places[0], shape.padded[1]))
        body(
            code.mul(inside, shape.space[2]),
            linear(code, shape.padding[2][0], (outside, shape.padded[2])),
        )
        return []

    nested(code, [(0, n) for n in shape.space[:2]], [], row)


def planes(frame: Any, shape: Geometry, x: str, dtype: np.dtype, value: Any) -> str:
    """The planes with `value` around them."""
    if shape.padded == shape.space:
        return x
    size = prod(shape.padded)
    larger = frame.scratch(shape.planes * size * dtype.itemsize)
    with region(frame, shape.planes, size / 4, (x, larger)) as chunk, chunk.code.loop(chunk.low, chunk.high) as turn:
        code = chunk.code
        source = code.element(chunk.pointers[0], code.mul(turn.i, prod(shape.space)), dtype)
        target = code.element(chunk.pointers[1], code.mul(turn.i, size), dtype)
        fill(code, target, size, value, dtype)

        def row(inside: Any, outside: Any) -> None:
            to, begin = code.element(target, outside, dtype), code.element(source, inside, dtype)
            code.copy(to, begin, shape.space[2] * dtype.itemsize)

        each_padded_row(code, shape, row)
    return larger


def cut_out(frame: Any, shape: Geometry, larger: str, result: str, dtype: np.dtype) -> None:
    """The planes without what is around them."""
    size = prod(shape.padded)
    with region(frame, shape.planes, size / 4, (larger, result)) as chunk, chunk.code.loop(chunk.low, chunk.high) as turn:
        code = chunk.code
        source = code.element(chunk.pointers[0], code.mul(turn.i, size), dtype)
        target = code.element(chunk.pointers[1], code.mul(turn.i, prod(shape.space)), dtype)

        def row(inside: Any, outside: Any) -> None:
            to, begin = code.element(target, inside, dtype), code.element(source, outside, dtype)
            code.copy(to, begin, shape.space[2] * dtype.itemsize)

        each_padded_row(code, shape, row)


# ---------------------------------------------------------------- one result for each window


def _gathering(
    body: Callable[..., None], around: Callable[[np.dtype], Any], channels: bool = False, scalar: bool = False
) -> Any:
    """A writer for an op with a result (or, with `channels`, a result for each tap) for each window."""

    def write(frame: Any, node: Node, op: Any) -> str:
        shape = geometry(op, node.inputs[-1].shape)
        dtypes = [i.spec.dtype for i in node.inputs]
        target = frame.place(node)
        sources = [
            planes(frame, shape, frame.value(i), i.spec.dtype, around(i.spec.dtype) if i is node.inputs[-1] else 0)
            for i in node.inputs
        ]
        size = prod(shape.count) * (prod(shape.window) if channels else 1)
        work = prod(shape.count) * prod(shape.window) / 4
        width = 1 if scalar else _width(frame, (*dtypes, node.spec.dtype))
        with region(frame, shape.planes, work, (*sources, target)) as chunk:
            code = chunk.code
            with code.loop(chunk.low, chunk.high) as turn:
                *pointers, result = chunk.pointers
                inside = [
                    code.element(p, code.mul(turn.i, prod(shape.padded)), dtype)
                    for p, dtype in zip(pointers, dtypes, strict=True)
                ]
                result = code.element(result, code.mul(turn.i, size), node.spec.dtype)
                each_row(code, shape, width, True, lambda row: body(row, node, inside, result))
        return target

    return write


def _width(frame: Any, dtypes: Sequence[np.dtype]) -> int:
    return max(frame.shared.bits // 8 // max(d.itemsize for d in dtypes), 1)


def _max(row: Row, node: Node, planes: list[str], result: str) -> None:
    dtype = node.spec.dtype
    row.code.store(row.largest(planes[0], dtype), row.place(result, dtype), dtype, row.width)


def _sum(row: Row, node: Node, planes: list[str], result: str) -> None:
    dtype = node.spec.dtype
    word = "fadd" if dtype.kind == "f" else "add"

    def step(tap: Tap, total: list[str]) -> list[str]:
        return [row.code.put(f"{word} {row.lanes.type(dtype)} {total[0]}, {row.load(planes[0], tap, dtype)}")]

    total = row.fold([(row.lanes.type(dtype), row.lanes.number(0, dtype))], step)[0]
    row.code.store(total, row.place(result, dtype), dtype, row.width)


def _push(row: Row, node: Node, planes: list[str], result: str) -> None:
    (t, x), dtype, lanes = planes, node.spec.dtype, row.lanes
    best = row.largest(x, dtype)
    kind, zero = lanes.type(dtype), lanes.number(0, dtype)

    def step(tap: Tap, total: list[str]) -> list[str]:
        here = lanes.select(row.is_peak(x, tap, best, dtype), row.load(t, tap, dtype), zero, dtype)
        return [row.code.put(f"fadd {kind} {total[0]}, {here}")]

    total = row.fold([(kind, zero)], step)[0]
    mean = row.code.put(f"fdiv {kind} {total}, {row.peaks(x, best, dtype, dtype)}")
    row.code.store(mean, row.place(result, dtype), dtype, row.width)


def _index(row: Row, node: Node, planes: list[str], result: str) -> None:
    """Scalar: the first largest element, and where it stands without the padding."""
    code, shape, lanes, dtype = row.code, row.shape, row.lanes, node.inputs[0].spec.dtype

    def step(tap: Tap, values: list[str]) -> list[str]:
        best, found = values
        value = row.load(planes[0], tap, dtype)
        place: Any = 0
        inside = "true"
        for axis, n in enumerate(shape.space):
            met = linear(
                code,
                -shape.padding[axis][0],
                (row.rounds[axis], shape.stride[axis]),
                (tap[axis], shape.dilation[axis]),
            )
            place = linear(code, met, (place, n))
            if any(shape.padding[axis]):
                inside = code.put(f"and i1 {inside}, {code.put(f'icmp ult i64 {met}, {n}')}")
        place = lanes.select(inside, str(place), "-1", int64)
        tests = [lanes.compare("gt", value, best, dtype), code.put(f"icmp slt i64 {found}, 0")]
        if dtype.kind == "f":
            known = lanes.compare("eq", best, best, dtype)
            tests.append(code.put(f"and i1 {lanes.compare('ne', value, value, dtype)}, {known}"))
        better = tests[0]
        for test in tests[1:]:
            better = code.put(f"or i1 {better}, {test}")
        return [lanes.select(better, value, best, dtype), lanes.select(better, place, found, int64)]

    first = [(in_register(dtype), lanes.number(lowest(dtype), dtype)), ("i64", "-1")]
    code.store(row.fold(first, step)[1], row.place(result, int64), int64)


def _unfold(row: Row, node: Node, planes: list[str], result: str) -> None:
    dtype = node.spec.dtype

    def step(tap: Tap, values: list[str]) -> list[str]:
        place = row.place(result, dtype, row.channel(tap))
        row.code.store(row.load(planes[0], tap, dtype), place, dtype, row.width)
        return []

    row.fold([], step)


# ---------------------------------------------------------------- windows laid back


def _scattering(part: Callable[..., Callable[[Tap], str]], channels: bool = False) -> Any:
    """A writer for an op that lays a value for each tap of each window back where the tap was, and adds them up."""

    def write(frame: Any, node: Node, op: Any) -> str:
        dtype = node.spec.dtype
        shape = geometry(op, node.shape)
        size = prod(shape.count) * (prod(shape.window) if channels else 1)
        sources = [frame.value(node.inputs[0])]
        sizes = [size, prod(shape.padded)]
        if len(node.inputs) > 1:
            x = node.inputs[1]
            sources.append(planes(frame, shape, frame.value(x), x.spec.dtype, lowest(x.spec.dtype)))
        target = frame.place(node)
        whole = shape.padded == shape.space
        larger = target if whole else frame.scratch(shape.planes * prod(shape.padded) * dtype.itemsize)
        work = prod(shape.count) * prod(shape.window) / 2
        with region(frame, shape.planes, work, (*sources, larger)) as chunk:
            code = chunk.code
            with code.loop(chunk.low, chunk.high) as turn:
                *pointers, result = chunk.pointers
                inside = [
                    code.element(p, code.mul(turn.i, n), i.spec.dtype)
                    for p, n, i in zip(pointers, sizes, node.inputs, strict=False)
                ]
                result = code.element(result, code.mul(turn.i, prod(shape.padded)), dtype)
                if not shape.covering:
                    code.zero(result, prod(shape.padded) * dtype.itemsize)

                def body(row: Row) -> None:
                    _lay_back(row, part(row, node, inside), result, dtype)

                each_row(code, shape, _width(frame, (dtype,)), shape.apart, body)
        if not whole:
            cut_out(frame, shape, larger, target, dtype)
        return target

    return write


def _lay_back(row: Row, part: Callable[[Tap], str], result: str, dtype: np.dtype) -> None:
    """Put the parts of a vector of windows where they belong."""
    code, shape, width = row.code, row.shape, row.width
    window, stride = shape.window[2], shape.stride[2]
    if shape.apart and shape.unrolled and window == stride and width > 1:
        for k in range(0, prod(shape.window), window):
            taps = shape.taps()[k : k + window]
            begin = code.element(result, shape.source(code, row.rounds, taps[0]), dtype)
            code.store(_interleaved(code, [part(tap) for tap in taps], dtype, width), begin, dtype, width * window)
        return
    word = "fadd" if dtype.kind == "f" else "add"

    def step(tap: Tap, values: list[str]) -> list[str]:
        begin, value = shape.source(code, row.rounds, tap), part(tap)
        if width == 1 or stride == 1:
            place = code.element(result, begin, dtype)
            total = code.put(f"{word} {row.lanes.type(dtype)} {code.load(place, dtype, width)}, {value}")
            code.store(total, place, dtype, width)
            return []
        for k in range(width):
            place = code.element(result, code.add(begin, k * stride), dtype)
            one = code.put(f"extractelement {row.lanes.type(dtype)} {value}, i32 {k}")
            total = code.put(f"{word} {in_register(dtype)} {code.load(place, dtype)}, {one}")
            code.store(total, place, dtype)
        return []

    row.fold([], step)


def _interleaved(code: Code, values: list[str], dtype: np.dtype, width: int) -> str:
    """The first lane of each value, then the second of each, and so on."""
    n = len(values)
    joined, size = values[0], width
    for value in values[1:]:
        # A shuffle takes two vectors of one size: the new one is made longer first.
        padding = [k if k < width else -1 for k in range(size)]
        wide = _widened(code, value, dtype, width, padding)
        joined = shuffle(code, joined, wide, in_register(dtype, size), range(size + width))
        size += width
    places = [k % n * width + k // n for k in range(n * width)]
    return joined if n == 1 else shuffle(code, joined, joined, in_register(dtype, size), places)


def _widened(code: Code, value: str, dtype: np.dtype, width: int, places: list[int]) -> str:
    if len(places) == width:
        return value
    chosen = ", ".join("i32 poison" if k < 0 else f"i32 {k}" for k in places)
    kind = in_memory(dtype, width)
    return code.put(f"shufflevector {kind} {value}, {kind} poison, <{len(places)} x i32> <{chosen}>")
