"""Direct convolution for known shapes: Conv, and its gradients by the input and by the filters.

Windows that reach beyond the input: rows there are left out; columns there are left out when lanes are images, and are
zeros in a copy otherwise. Each sum is made by one thread in one order, so results do not depend on the number of threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import prod
from typing import Any

from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.emit.llvm_ir import Code, in_register
from adjoint.backends.native.emit.vector_access import get, put, registers
from adjoint.backends.native.kernel_registry import KernelRule
from adjoint.backends.native.kernels.convolution_lanes import (
    ConvolutionAxis,
    ConvolutionSource,
    Problem,
    ResultVector,
    Segment,
    choose,
    problem,
)
from adjoint.backends.native.kernels.window_loops import (
    Axis,
    Chunk,
    backward_axes,
    forward_axis,
    linear,
    nested,
    region,
    split,
    transpose,
    unravel,
)
from adjoint.graph.node import Node
from adjoint.ops.conv import Conv, ConvFilter, ConvInput
from adjoint.ops.wide_windows import WIDEST

NEAR = 1 << 15  # bytes of a filter gradient's operands that stay near the processor
PARTS = 16  # pieces that a filter gradient is cut into at least, if it can be


def best_tile(
    rows: int, columns: int, fits: Callable[[int, int], bool], per: Callable[[int, int], float]
) -> tuple[int, int]:
    """The size of tiles that cover rows times columns at the least cost; `per` is that of a tile."""

    def cost(tile: tuple[int, int]) -> float:
        parts = itertools.product(split(rows, tile[0]), split(columns, tile[1]))
        return sum(n * m * per(a, b) for (_, n, a), (_, m, b) in parts)

    tiles = itertools.product(range(1, min(rows, 32) + 1), range(1, min(columns, 32) + 1))
    return min((t for t in tiles if t == (1, 1) or fits(*t)), key=cost)


def tile_cost(products: int, loads: int) -> float:
    """Half cycles for a step of a tile: it waits for its products, for its loads, or for the latency of the sums."""
    return max(products, loads, 8) + loads / 4


def _classes(line: ConvolutionAxis, forward: bool) -> list[Axis]:
    """An axis of the result, in classes of places that meet the same taps."""
    sizes = line.size, line.window, line.stride, line.padding, line.dilation, line.count
    return [forward_axis(*sizes)] if forward else backward_axes(*sizes)


# ---------------------------------------------------------------- results that gather from a source


class Gathering:
    """Each result is a sum over channels of the source and taps of the window: Conv, and its gradient by the input."""

    def __init__(self, emitter: GraphEmitter, p: Problem, forward: bool) -> None:
        self.emitter, self.p, self.forward, self.dtype = emitter, p, forward, p.dtype
        self.columns = choose(p, forward, emitter.shared.bits)
        self.source = ConvolutionSource(self.columns, p, together=True)
        self.depths, self.heights = (_classes(line, forward) for line in p.lines[:2])
        self.channels, self.filters = (p.inputs, p.outputs) if forward else (p.outputs, p.inputs)
        taps = prod(p.window)
        #: Steps in the filters: by channel of the result, and of the source.
        self.by_result, self.by_source = (p.inputs * taps, taps) if forward else (taps, p.inputs * taps)
        vectors = len(self.columns.units())
        limit, stride = registers(emitter.shared.bits), 1 if forward or not self.columns.images else p.lines[2].stride
        self.tile, units = best_tile(
            self.filters,
            -(-vectors // stride),
            lambda a, b: a * b * stride + b * stride + 1 <= limit,
            lambda a, b: tile_cost(a * b * stride, a + self.columns.slots * b * stride),
        )
        self.segments = self.columns.segments(units * stride)

    def write(self, source: str, filters: str, result: str) -> None:
        """Code for all of it."""
        p, columns, itemsize = self.p, self.columns, self.dtype.itemsize
        source = self.source.copy(self.emitter, source)
        pixels = p.groups * self.filters * p.pixels(self.forward)
        target = self.emitter.scratch(p.samples * pixels * itemsize) if columns.images else result
        for tiles, depth, height in itertools.product(split(self.filters, self.tile), self.depths, self.heights):
            self._part(tiles, [depth, height], (source, filters, target))
        if columns.images:
            transpose(self.emitter, target, result, p.samples // columns.width, pixels, columns.width, self.dtype)

    def _part(self, tiling: tuple[int, int, int], axes: list[Axis], pointers: tuple[str, ...]) -> None:
        """Tiles of one size, for one class of places along depth and height. An item is a row of the result."""
        p, unit, (start, tiles, size) = self.p, self.columns.unit, tiling
        sizes = (p.samples // unit, p.groups, tiles, axes[0].positions, axes[1].positions)
        work = size * self.channels * axes[0].taps * axes[1].taps * self.columns.cost(unit)
        with (
            region(self.emitter, prod(sizes), work + 8, pointers) as chunk,
            chunk.code.loop(chunk.low, chunk.high) as iteration,
        ):
            self._row(chunk, unravel(chunk.code, iteration.i, sizes), start, size, axes)

    def _row(self, chunk: Chunk, item: list[Any], start: int, size: int, axes: list[Axis]) -> None:
        code, p, columns, dtype = chunk.code, self.p, self.columns, self.dtype
        source, filters, target = chunk.pointers
        block, group, tile, *positions = item
        high = p.lines[1]
        source_high = high.size if self.forward else high.count
        pixels = p.pixels(self.forward) * columns.unit
        by_channel, by_row, whole = self.source.strides
        first = linear(code, start, (tile, size))
        channel = linear(code, first, (group, self.filters))
        places = [linear(code, axis.first, (j, axis.step)) for axis, j in zip(axes, positions, strict=True)]
        row = linear(code, 0, (places[0], high.count if self.forward else high.size), (places[1], 1))
        to = linear(code, 0, (block, p.groups * self.filters * pixels), (channel, pixels))
        to = linear(code, to, (row, columns.size * columns.unit))
        target = code.element(target, to, dtype)
        begin = linear(code, 0, (block, whole), (group, self.channels * by_channel))
        source = code.element(source, begin, dtype)
        weights = linear(code, 0, (group, p.outputs * p.inputs * prod(p.window)), (first, self.by_result))
        filters = code.element(filters, weights, dtype)
        taps = [axis.tap_range(code, j) for axis, j in zip(axes, positions, strict=True)]

        for segment in self.segments:

            def tile_of(indices: list[Any], values: list[str], segment: Segment = segment) -> list[str]:
                def add(at: list[Any], sums: list[str]) -> list[str]:
                    *ts, c = at
                    met = [axis.source(code, j, t) for axis, j, t in zip(axes, positions, ts, strict=True)]
                    line = linear(code, 0, (met[0], source_high), (met[1], 1))
                    offset = linear(code, 0, (c, by_channel), (line, by_row))
                    offset = linear(code, offset, (indices[0], segment.source_step * columns.unit))
                    chosen = [linear(code, a.tap, (t, a.tap_step)) for a, t in zip(axes, ts, strict=True)]
                    tap = linear(code, 0, (chosen[0], p.window[1]), (chosen[1], 1))
                    weight = linear(code, 0, (c, self.by_source), (tap, p.window[2]))
                    here, there = code.element(source, offset, dtype), code.element(filters, weight, dtype)
                    return self._products(code, here, there, segment.units, size, sums)

                kind = in_register(dtype, columns.width)
                carry = [(kind, "zeroinitializer")] * (size * len(segment.units))
                sums = nested(code, [*taps, (0, self.channels)], carry, add)
                at = code.mul(indices[0], segment.place_step * columns.unit)
                self._store(code, code.element(target, at, dtype), segment.units, pixels, sums)
                return []

            nested(code, [(0, segment.count)], [], tile_of)

    def _products(
        self, code: Code, source: str, filters: str, units: tuple[ResultVector, ...], size: int, sums: list[str]
    ) -> list[str]:
        """Add the products of one row of a window, for every unit of a tile and `size` filters."""
        lanes, columns, dtype = Lanes(code, self.columns.width), self.columns, self.dtype
        loaded: dict[int, str] = {}
        for tap in range(columns.line.window):
            users = [(k, dict(unit.taps)[tap]) for k, unit in enumerate(units) if tap in dict(unit.taps)]
            for _, at in users:
                if at not in loaded:
                    loaded[at] = code.load(code.element(source, at * columns.unit, dtype), dtype, columns.width)
            for o in range(size if users else 0):
                weight = lanes.spread(code.load(code.element(filters, o * self.by_result + tap, dtype), dtype), dtype)
                for k, at in users:
                    j = o * len(units) + k
                    sums[j] = lanes.intrinsic("fmuladd", dtype, loaded[at], weight, sums[j])
        return sums

    def _store(self, code: Code, target: str, units: tuple[ResultVector, ...], pixels: int, sums: list[str]) -> None:
        columns = self.columns
        for k, value in enumerate(sums):
            o, unit = divmod(k, len(units))
            place, whole = units[unit].place * columns.unit, columns.size >= columns.width or columns.images
            base = code.element(target, o * pixels + place, self.dtype)
            put(code, value, base, 1, "0", self.dtype, columns.width, None if whole else units[unit].mask)


# ---------------------------------------------------------------- gradients by the filters


class Correlation:
    """The gradient by the filters: for every tap a sum over images and places.

    Where there are few channels, images are shared out as well: each part has sums of its own, which are added in order.
    """

    def __init__(self, emitter: GraphEmitter, p: Problem) -> None:
        self.emitter, self.p, self.dtype = emitter, p, p.dtype
        self.columns = choose(p, True, emitter.shared.bits)
        self.source = ConvolutionSource(self.columns, p, together=False)
        self.axes = [_classes(line, True)[0] for line in p.lines[:2]]
        self.segments = self.columns.segments(1)
        taps, limit = p.window[2], registers(emitter.shared.bits)
        self.tile = best_tile(
            p.outputs,
            p.inputs,
            lambda a, b: a * b * taps + a + 1 <= limit,
            lambda a, b: tile_cost(a * b * taps, self.columns.slots * (a + b * taps)),
        )
        self.size = p.groups * p.outputs * p.inputs * prod(p.window)
        blocks = p.samples // self.columns.unit
        tiles = p.groups * -(-p.outputs // self.tile[0]) * -(-p.inputs // self.tile[1])
        self.parts = max(n for n in range(1, max(PARTS // tiles, 1) + 1) if blocks % n == 0)
        self.blocks = blocks // self.parts  # of a part

    def write(self, x: str, g: str, result: str) -> None:
        """Code for all of it."""
        p, columns, dtype = self.p, self.columns, self.dtype
        x = self.source.copy(self.emitter, x)
        if columns.images:
            pixels = p.groups * p.outputs * p.pixels(True)
            flat = self.emitter.scratch(p.samples * pixels * dtype.itemsize)
            transpose(self.emitter, g, flat, p.samples // columns.width, columns.width, pixels, dtype)
            g = flat
        sums = result if self.parts == 1 else self.emitter.scratch(self.parts * self.size * dtype.itemsize)
        self.emitter.code.zero(sums, self.parts * self.size * dtype.itemsize)
        for outputs, inputs in itertools.product(split(p.outputs, self.tile[0]), split(p.inputs, self.tile[1])):
            self._tiles(outputs, inputs, (x, g, sums))
        if self.parts > 1:
            self._together(sums, result)

    def _together(self, sums: str, result: str) -> None:
        code, dtype = self.emitter.code, self.dtype
        with code.loop(0, self.size) as iteration:
            total = code.load(code.element(sums, iteration.i, dtype), dtype)
            for k in range(1, self.parts):
                more = code.load(code.element(sums, code.add(iteration.i, k * self.size), dtype), dtype)
                total = code.put(f"fadd {in_register(dtype)} {total}, {more}")
            code.store(total, code.element(result, iteration.i, dtype), dtype)

    def _tiles(self, outputs: tuple[int, int, int], inputs: tuple[int, int, int], pointers: tuple[str, ...]) -> None:
        """Tiles of one size. An item is a tile of pairs of channels; its images are taken in turns that stay near."""
        p, columns = self.p, self.columns
        sizes = (self.parts, p.groups, outputs[1], inputs[1])
        near = (outputs[2] * p.pixels(True) + inputs[2] * p.pixels(False)) * columns.unit * self.dtype.itemsize
        turns = min(-(-self.blocks * near // NEAR), self.blocks)
        work = outputs[2] * inputs[2] * columns.cost(p.samples) * p.lines[0].count * p.lines[1].count
        work *= prod(p.window[:2]) / self.parts
        with region(self.emitter, prod(sizes), work, pointers) as chunk:
            code = chunk.code
            for start, count, size in split(self.blocks, -(-self.blocks // turns)):

                def some(at: list[Any], values: list[str], start: int = start, size: int = size) -> list[str]:
                    with code.loop(chunk.low, chunk.high) as iteration:
                        part, *item = unravel(code, iteration.i, sizes)
                        low = linear(code, start, (at[0], size), (part, self.blocks))
                        sums = code.element(chunk.pointers[2], code.mul(part, self.size), self.dtype)
                        here = (chunk.pointers[0], chunk.pointers[1], sums)

                        def row_of_window(taps: list[Any], values: list[str]) -> list[str]:
                            self._row_of_window(code, here, [*item, *taps], (low, code.add(low, size)), outputs, inputs)
                            return []

                        nested(code, [(0, n) for n in p.window[:2]], [], row_of_window)
                    return []

                nested(code, [(0, count)], [], some)

    def _row_of_window(
        self,
        code: Code,
        pointers: tuple[str, str, str],
        item: list[Any],
        blocks: tuple[Any, Any],
        outputs: tuple[int, ...],
        inputs: tuple[int, ...],
    ) -> None:
        """Add what some images give for one row of the window."""
        p, columns, dtype = self.p, self.columns, self.dtype
        x, g, result = pointers
        group, out, into, *taps = item
        width, unit = columns.width, columns.unit
        pixels = p.pixels(True) * unit
        by_channel, by_row, whole = self.source.strides
        o = linear(code, outputs[0], (group, p.outputs), (out, outputs[2]))
        i = linear(code, inputs[0], (into, inputs[2]))
        x = code.element(x, linear(code, 0, (group, p.inputs * by_channel), (i, by_channel)), dtype)
        g = code.element(g, code.mul(o, pixels), dtype)
        ranges = [axis.position_range(code, t) for axis, t in zip(self.axes, taps, strict=True)]

        def row(at: list[Any], sums: list[str]) -> list[str]:
            block, *positions = at
            met = [axis.source(code, j, t) for axis, j, t in zip(self.axes, positions, taps, strict=True)]
            line = linear(code, 0, (met[0], p.lines[1].size), (met[1], 1))
            below = linear(code, 0, (block, whole), (line, by_row))
            place = linear(code, 0, (positions[0], p.lines[1].count), (positions[1], 1))
            above = linear(code, 0, (block, p.groups * p.outputs * pixels), (place, columns.size * unit))
            for segment in self.segments:

                def add(q: list[Any], sums: list[str], segment: Segment = segment) -> list[str]:
                    here = linear(code, below, (q[0], segment.source_step * unit))
                    there = linear(code, above, (q[0], segment.place_step * unit))
                    pair = code.element(x, here, dtype), code.element(g, there, dtype)
                    return self._products(code, *pair, segment.units[0], (outputs[2], inputs[2]), sums)

                carry = [(in_register(dtype, width), value) for value in sums]
                sums = nested(code, [(0, segment.count)], carry, add)
            return sums

        count = outputs[2] * inputs[2] * p.window[2]
        carry = [(in_register(dtype, width), "zeroinitializer")] * count
        sums = nested(code, [blocks, *ranges], carry, row)
        tap = linear(code, 0, (taps[0], p.window[1]), (taps[1], 1))
        where = linear(code, 0, (o, p.inputs * prod(p.window)), (i, prod(p.window)), (tap, p.window[2]))
        result = code.element(result, where, dtype)
        for k, value in enumerate(sums):
            a, b, tap = unravel(code, k, (outputs[2], inputs[2], p.window[2]))
            place = code.element(result, (a * p.inputs + b) * prod(p.window) + tap, dtype)
            total = Lanes(code, width).total(value, dtype)
            total = code.put(f"fadd {in_register(dtype)} {code.load(place, dtype)}, {total}")
            code.store(total, place, dtype)

    def _products(
        self, code: Code, x: str, g: str, unit: ResultVector, size: tuple[int, int], sums: list[str]
    ) -> list[str]:
        """Add the products of one vector of places, for a tile of pairs of channels and a row of the window."""
        columns, dtype, sums = self.columns, self.dtype, list(sums)
        lanes = Lanes(code, columns.width)
        pixels = self.p.pixels(True) * columns.unit

        def lane_values(base: str, offset: int) -> str:
            """Lanes that do not count are zero in both factors: what lies there may be infinite."""
            return get(code, code.element(base, offset, dtype), 1, "0", dtype, columns.width, unit.mask)

        gs = [lane_values(g, k * pixels + unit.place * columns.unit) for k in range(size[0])]
        for c in range(size[1]):
            for tap, place in unit.taps:
                value = lane_values(x, c * self.source.strides[0] + place * columns.unit)
                for k in range(size[0]):
                    j = (k * size[1] + c) * columns.line.window + tap
                    sums[j] = lanes.intrinsic("fmuladd", dtype, value, gs[k], sums[j])
        return sums


# ---------------------------------------------------------------- the table


def _conv(emitter: GraphEmitter, node: Node, op: Any) -> str:
    x, w = node.inputs
    target = emitter.memory_for(node)
    p = problem(op, x.shape, w.shape, node.shape, node.spec.dtype)
    Gathering(emitter, p, True).write(emitter.value(x), emitter.value(w), target)
    return target


def _conv_input(emitter: GraphEmitter, node: Node, op: Any) -> str:
    g, w = node.inputs
    target = emitter.memory_for(node)
    p = problem(op, node.shape, w.shape, g.shape, node.spec.dtype)
    Gathering(emitter, p, False).write(emitter.value(g), emitter.value(w), target)
    return target


def _conv_filter(emitter: GraphEmitter, node: Node, op: Any) -> str:
    x, g = node.inputs
    target = emitter.memory_for(node)
    p = problem(op, x.shape, node.shape, g.shape, node.spec.dtype)
    Correlation(emitter, p).write(emitter.value(x), emitter.value(g), target)
    return target


def _fits(node: Node) -> bool:
    """One float dtype, up to three axes in space, nothing empty, a window that is not too wide."""
    op = node.op
    filters = node if isinstance(op, ConvFilter) else node.inputs[1]
    same = all(i.spec.dtype == node.spec.dtype for i in node.inputs) and node.spec.dtype.kind == "f"
    some = all(n > 0 for v in (node, *node.inputs) for n in v.shape)
    return same and some and op.rank <= 3 and filters.shape[-1] <= WIDEST


KERNELS = {
    Conv: KernelRule(_conv, _fits),
    ConvInput: KernelRule(_conv_input, _fits),
    ConvFilter: KernelRule(_conv_filter, _fits),
}
