"""Windows over planes: geometry, vectors of neighbouring windows, and padding.

A plane holds all places in space for one index of the axes before them. Lanes lie along the windows of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.emit.lanes import Lanes, extremum, shuffle
from adjoint.backends.native.emit.llvm_ir import Code, in_register
from adjoint.backends.native.emit.vector_access import fill, get, lane_mask, put
from adjoint.backends.native.kernels.window_loops import CHUNKS, WORK, linear, nested, region, unravel
from adjoint.core.spec import Shape, bool_
from adjoint.ops.pool import Pool, lowest
from adjoint.ops.windows import Padding

UNROLLED = 16  # taps of a window that are written out one by one; more are a loop

Tap = tuple[Any, Any, Any]


@dataclass(frozen=True)
class Geometry:
    """Windows over planes as depth, height and width; missing axes have size 1."""

    planes: int
    space: Shape
    count: Shape
    window: Shape
    stride: Shape
    padding: Padding
    dilation: Shape

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

    def items(self, work: float) -> tuple[int, int]:
        """What threads share where rows of windows do not meet: planes, each of so much work, and the rows of each where planes are few."""
        few = self.planes < min(self.planes * work / WORK, CHUNKS)
        return self.planes, prod(self.count[:2]) if few else 1

    def taps(self) -> list[Tap]:
        return [unravel_known(k, self.window) for k in range(prod(self.window))]

    def source(self, code: Code, position: Sequence[Any], tap: Tap) -> Any:
        """Where an element of a window lies in a padded plane, for the window at `position`."""
        total: Any = 0
        for axis, n in enumerate(self.padded):
            met = linear(code, 0, (position[axis], self.stride[axis]), (tap[axis], self.dilation[axis]))
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
    space, count, window, stride, dilation = ((*ones, *p) for p in (space, count, op.window, op.stride, op.dilation))
    return Geometry(prod(lead), space, count, window, stride, zeros + op.padding, dilation)


# ---------------------------------------------------------------- vectors along a row of windows


class WindowRow:
    """A vector of neighbouring windows, the first `valid` lanes of it in use: their elements in a plane."""

    def __init__(self, code: Code, shape: Geometry, position: Sequence[Any], width: int, valid: int) -> None:
        self.code, self.shape, self.position, self.width, self.valid = code, shape, position, width, valid
        self.lanes = Lanes(code, width)

    def _mask(self, times: int) -> str | None:
        """Which of the elements of `times` vectors are in use."""
        if self.valid == self.width:
            return None
        return lane_mask(self.width * times, range(self.valid * times))

    def read(self, address: str, dtype: np.dtype, times: int = 1) -> str:
        """Elements that lie side by side, `times` for each window."""
        return get(self.code, address, 1, "0", dtype, self.width * times, self._mask(times))

    def write(self, value: str, address: str, dtype: np.dtype, times: int = 1) -> None:
        put(self.code, value, address, 1, "0", dtype, self.width * times, self._mask(times))

    def load(self, plane: str, tap: Tap, dtype: np.dtype) -> str:
        """An element of each window."""
        code, shape, width = self.code, self.shape, self.width
        stride = shape.stride[2]
        begin = shape.source(code, self.position, tap)
        if width == 1 or stride == 1:
            return self.read(code.element(plane, begin, dtype), dtype)
        back = min(tap[2] * shape.dilation[2], stride - 1) if isinstance(tap[2], int) else 0
        if isinstance(tap[2], int) and (shape.window[2] - 1) * shape.dilation[2] >= stride - 1:
            # All elements from the first to the last, begun so early that nothing behind the last window is read.
            whole = self.read(code.element(plane, code.add(begin, -back), dtype), dtype, stride)
            return shuffle(code, whole, whole, in_register(dtype, width * stride), range(back, width * stride, stride))
        value = "zeroinitializer"
        for k in range(self.valid):
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
        return self.read(self.place(plane, dtype, channel), dtype)

    def place(self, plane: str, dtype: np.dtype, channel: Any = 0) -> str:
        counts = self.shape.count
        at = linear(self.code, 0, (channel, counts[0]), (self.position[0], 1))
        at = linear(self.code, self.position[1], (at, counts[1]))
        return self.code.element(plane, linear(self.code, self.position[2], (at, counts[2])), dtype)

    def channel(self, tap: Tap) -> Any:
        """The number of a tap."""
        a, b, c = tap
        inner = linear(self.code, b, (a, self.shape.window[1]))
        return linear(self.code, c, (inner, self.shape.window[2]))


def widths(count: int, most: int, overlapping: bool, masked: bool) -> Iterator[tuple[int, int, int, int]]:
    """How to go through a row of windows: (first, end, width, lanes in use).

    At the end vectors overlap where that does no harm, and get shorter elsewhere. A row that is shorter than a vector is one
    with lanes left out, if the machine is good at that.
    """
    if masked and overlapping and count < most:
        yield 0, count, 1 << (count - 1).bit_length(), count
        return
    first = 0
    width = most
    while first < count:
        while width > count - first:
            width //= 2
        end = first + (count - first) // width * width
        yield first, end, width, width
        first = end
        if overlapping and first < count:
            yield count - width, count, width, width
            return


def each_row(
    code: Code,
    shape: Geometry,
    bits: int,
    size: int,
    overlapping: bool,
    body: Callable[[WindowRow], None],
    only: Any = None,
) -> None:
    """Write the code for all windows of a plane, or of one row of it; `size` is that of the largest element in bytes."""
    most = max(bits // 8 // size, 1)

    def row(at: list[Any], values: list[str]) -> list[str]:
        for first, end, wide, valid in widths(shape.count[2], most, overlapping, bits > 128):
            if end <= first + wide:
                body(WindowRow(code, shape, (*at, first), wide, valid))
            else:
                with code.loop(first, end, wide) as iteration:
                    body(WindowRow(code, shape, (*at, iteration.i), wide, valid))
        return []

    if only is None:
        nested(code, [(0, n) for n in shape.count[:2]], [], row)
    else:
        row(unravel(code, only, shape.count[:2]), [])


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


def planes(emitter: GraphEmitter, shape: Geometry, x: str, dtype: np.dtype, value: Any) -> str:
    """The planes with `value` around them."""
    if shape.padded == shape.space:
        return x
    size = prod(shape.padded)
    larger = emitter.scratch(shape.planes * size * dtype.itemsize)
    with (
        region(emitter, shape.planes, size / 4, (x, larger)) as chunk,
        chunk.code.loop(chunk.low, chunk.high) as iteration,
    ):
        code = chunk.code
        source = code.element(chunk.pointers[0], code.mul(iteration.i, prod(shape.space)), dtype)
        target = code.element(chunk.pointers[1], code.mul(iteration.i, size), dtype)
        fill(code, target, size, value, dtype)

        def row(inside: Any, outside: Any) -> None:
            to, begin = code.element(target, outside, dtype), code.element(source, inside, dtype)
            code.copy(to, begin, shape.space[2] * dtype.itemsize)

        each_padded_row(code, shape, row)
    return larger


def cut_out(emitter: GraphEmitter, shape: Geometry, larger: str, result: str, dtype: np.dtype) -> None:
    """The planes without what is around them."""
    size = prod(shape.padded)
    with (
        region(emitter, shape.planes, size / 4, (larger, result)) as chunk,
        chunk.code.loop(chunk.low, chunk.high) as iteration,
    ):
        code = chunk.code
        source = code.element(chunk.pointers[0], code.mul(iteration.i, size), dtype)
        target = code.element(chunk.pointers[1], code.mul(iteration.i, prod(shape.space)), dtype)

        def row(inside: Any, outside: Any) -> None:
            to, begin = code.element(target, inside, dtype), code.element(source, outside, dtype)
            code.copy(to, begin, shape.space[2] * dtype.itemsize)

        each_padded_row(code, shape, row)
