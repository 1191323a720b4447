"""How a convolution lies in vectors: which lanes it uses, what each vector of a row reads, and copies that fit.

Lanes lie along the width of the result, or along images, which are then transposed in blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.emit.llvm_ir import Code
from adjoint.backends.native.emit.vector_access import lane_mask
from adjoint.backends.native.kernels.window_loops import linear, region, transpose, unravel

NEAR = 1 << 17  # bytes of rows that a row of results reads again and again


# ---------------------------------------------------------------- what is computed


@dataclass(frozen=True)
class ConvolutionAxis:
    """One axis of a convolution: sizes of the input and the result, and the geometry."""

    size: int
    count: int
    window: int
    stride: int
    padding: tuple[int, int]
    dilation: int

    @property
    def trivial(self) -> bool:
        return self.window == self.stride == 1 and not any(self.padding)


@dataclass(frozen=True)
class Problem:
    """A convolution as depth, height and width; missing axes have size 1."""

    samples: int
    groups: int
    inputs: int  # channels of a group
    outputs: int  # filters of a group
    lines: tuple[ConvolutionAxis, ConvolutionAxis, ConvolutionAxis]
    dtype: np.dtype

    def pixels(self, forward: bool) -> int:
        """Places of a channel of the result (forward) or of the input."""
        return prod(line.count if forward else line.size for line in self.lines)

    @property
    def window(self) -> tuple[int, ...]:
        return tuple(line.window for line in self.lines)


def problem(op: Any, x: tuple[int, ...], w: tuple[int, ...], result: tuple[int, ...], dtype: np.dtype) -> Problem:
    """The convolution of inputs of shape x with filters of shape w."""
    lines = [
        ConvolutionAxis(*parts)
        for parts in zip(x[2:], result[2:], w[2:], op.stride, op.padding, op.dilation, strict=True)
    ]
    while len(lines) > 1 and lines[-1].trivial and lines[-2].trivial:  # a matrix product over all places
        last, other = lines.pop(), lines.pop()
        lines.append(replace(last, size=last.size * other.size, count=last.count * other.count))
    lines = [ConvolutionAxis(1, 1, 1, 1, (0, 0), 1)] * (3 - len(lines)) + lines
    return Problem(x[0], op.groups, w[1], w[0] // op.groups, (lines[0], lines[1], lines[2]), dtype)


# ---------------------------------------------------------------- lanes along the last axis


@dataclass(frozen=True)
class ResultVector:
    """A vector of results: its place, which taps meet which place of the source there, which lanes count."""

    place: int
    taps: tuple[tuple[int, int], ...]
    mask: str | None = None


@dataclass(frozen=True)
class Segment:
    """Tiles of units, all alike but for where they lie."""

    units: tuple[ResultVector, ...]
    count: int = 1
    place_step: int = 0
    source_step: int = 0


@dataclass(frozen=True)
class Columns:
    """The last axis of source and result, for one choice of lanes: along `width` images, or along `width` places."""

    line: ConvolutionAxis
    forward: bool
    images: bool
    width: int

    @property
    def size(self) -> int:
        """Places of a row of the result."""
        return self.line.count if self.forward else self.line.size

    @property
    def source_size(self) -> int:
        return self.line.size if self.forward else self.line.count

    @property
    def unit(self) -> int:
        """Elements from one place to the next."""
        return self.width if self.images else 1

    @property
    def slots(self) -> int:
        """What a load counts: vectors of places mostly lie across two cache lines."""
        return 1 if self.images else 2

    @property
    def margin(self) -> int:
        """Zeros in front of a copied row of cotangents."""
        return max((self.line.window - 1) * self.line.dilation - self.line.padding[0], 0)

    @cached_property
    def phase(self) -> int:
        """Places of a copied row: for each remainder modulo the stride, if that is how rows are laid out."""
        line, most = self.line, max(self.size, self.width)
        if self.forward:
            return (line.window - 1) * line.dilation // line.stride + most
        return most + line.padding[0] + self.margin

    @property
    def in_place(self) -> bool:
        """Whether rows serve as they are."""
        begin = self.line.padding[0] + (0 if self.forward else self.margin)
        return self.images or (begin == 0 and self.line.stride == 1 and self.phase <= self.source_size)

    @property
    def row(self) -> int:
        """Places from one row of the source to the next."""
        if self.in_place:
            return self.source_size
        return self.phase * (self.line.stride if self.forward else 1)

    def runs(self) -> Iterator[tuple[int, int, int, int, int]]:
        """How to copy a row: (to, step, from, step, count), into zeros."""
        line = self.line
        if not self.forward:
            yield self.margin, line.stride, 0, 1, min(self.source_size, -(-(self.phase - self.margin) // line.stride))
            return
        for r in range(line.stride):
            first = -(-max(line.padding[0] - r, 0) // line.stride)
            end = min(self.phase, -(-max(line.size + line.padding[0] - r, 0) // line.stride))
            begin = first * line.stride + r - line.padding[0]
            yield r * self.phase + first, 1, begin, line.stride, end - first

    def meets(self, place: int, tap: int) -> int | None:
        """The place of the source that a tap meets, None for one outside."""
        line = self.line
        reach = tap * line.dilation
        if self.images and self.forward:
            at = place * line.stride + reach - line.padding[0]
        elif self.images:
            at, rest = divmod(place + line.padding[0] - reach, line.stride)
            at = -1 if rest else at
        elif self.forward:
            return place + reach // line.stride + reach % line.stride * self.phase
        else:
            return place + line.padding[0] + self.margin - reach
        return at if 0 <= at < self.source_size else None

    def places(self) -> list[tuple[int, str | None]]:
        """Where the vectors of a row start. The last one overlaps another, or is longer than the row: see its mask."""
        if self.images:
            return [(k, None) for k in range(self.size)]
        found: list[tuple[int, str | None]] = [(k, None) for k in range(0, self.size - self.width + 1, self.width)]
        rest = self.size % self.width
        if rest:
            start = max(self.size - self.width, 0)
            new = range(self.width - rest, self.width) if found else range(rest)
            found.append((start, lane_mask(self.width, new)))
        return found

    def units(self) -> list[ResultVector]:
        taps = range(self.line.window)
        met = [(p, [(k, self.meets(p, k)) for k in taps], mask) for p, mask in self.places()]
        return [ResultVector(p, tuple((k, at) for k, at in pairs if at is not None), mask) for p, pairs, mask in met]

    def segments(self, tile: int) -> list[Segment]:
        """The units of a row in tiles, runs of like tiles together."""
        units = self.units()
        found: list[Segment] = []
        for k in range(0, len(units), tile):
            new = tuple(units[k : k + tile])
            joined = _joined(found[-1], new) if found else None
            if joined is None:
                found.append(Segment(new))
            else:
                found[-1] = joined
        return found

    def cost(self, samples: int) -> float:
        """Vector instructions of a row of all images, for one pair of channels and one row of a window."""
        return sum(len(u.taps) for u in self.units()) * samples / self.unit


def _joined(segment: Segment, units: tuple[ResultVector, ...]) -> Segment | None:
    """The segment with one more tile, if that tile is like its others."""
    first = segment.units
    place = units[0].place - first[0].place
    sources = [
        (a, b) for u, v in zip(first, units, strict=False) for (_, a), (_, b) in zip(u.taps, v.taps, strict=False)
    ]
    source = sources[0][1] - sources[0][0] if sources else 0
    n = segment.count
    if n > 1 and (place, source) != (n * segment.place_step, n * segment.source_step):
        return None
    moved = tuple(ResultVector(u.place + place, tuple((k, at + source) for k, at in u.taps), u.mask) for u in first)
    if moved != units:
        return None
    return Segment(first, n + 1, place // n, source // n)


def choose(p: Problem, forward: bool, bits: int) -> Columns:
    """The lanes with which a row takes the fewest instructions, the moving of data included."""
    line = p.lines[2]
    pixels = [p.pixels(f) * (p.inputs if not f else p.outputs) * p.groups for f in (True, False)]
    pairs = p.inputs * p.outputs * p.groups * prod(p.window[:2])
    channels = p.inputs if forward else p.outputs
    rows = prod(part.count if forward else part.size for part in p.lines[:2])
    options = []
    width = bits // 8 // p.dtype.itemsize
    while width > 1:
        near = channels * p.window[1] * line.size * width * p.dtype.itemsize <= NEAR
        if near and p.samples % width == 0 and min(pixels) >= width and (forward or line.stride <= 4):
            options.append((Columns(line, forward, True, width), 0.5 * p.samples * sum(pixels)))
        options.append((Columns(line, forward, False, width), 0.1 * p.samples * pixels[forward]))
        width //= 2
    return min(options, key=lambda o: o[0].cost(p.samples) * pairs * rows + o[1])[0]


@dataclass(frozen=True)
class ConvolutionSource:
    """Where the elements of a convolution's source lie: by channels, or in a copy with the rows of all channels together."""

    columns: Columns
    problem: Problem
    together: bool

    @property
    def channels(self) -> int:
        p = self.problem
        return p.groups * (p.inputs if self.columns.forward else p.outputs)

    @property
    def rows(self) -> int:
        """Rows of a channel."""
        return self.problem.pixels(not self.columns.forward) // self.columns.source_size

    @property
    def strides(self) -> tuple[int, int, int]:
        """Elements from a channel to the next, from a row to the next, and from an image (or block of images) to the next."""
        row = self.columns.row * self.columns.unit
        whole = row * self.rows * self.channels
        together = self.together and not self.columns.in_place
        return (row, row * self.channels, whole) if together else (row * self.rows, row, whole)

    def copy(self, emitter: GraphEmitter, x: str) -> str:
        """The memory in which a source lies as the columns want it."""
        p, columns, dtype = self.problem, self.columns, self.problem.dtype
        size = columns.source_size
        if columns.images:
            pixels = self.channels * self.rows * size
            target = emitter.scratch(p.samples * pixels * dtype.itemsize)
            transpose(emitter, x, target, p.samples // columns.width, columns.width, pixels, dtype)
            return target
        if columns.in_place:
            return x
        target = emitter.scratch(p.samples * self.strides[2] * dtype.itemsize)
        sizes = p.samples, self.channels, self.rows
        with region(emitter, prod(sizes), 4 + columns.row / 4, (x, target)) as chunk:
            code = chunk.code
            with code.loop(chunk.low, chunk.high) as iteration:
                block, channel, row = unravel(code, iteration.i, sizes)
                by_channel, by_row, whole = self.strides
                to = linear(code, 0, (block, whole), (channel, by_channel), (row, by_row))
                begin = code.element(chunk.pointers[0], code.mul(iteration.i, size), dtype)
                end = code.element(chunk.pointers[1], to, dtype)
                code.zero(end, columns.row * dtype.itemsize)
                for run in columns.runs():
                    _copy(code, end, begin, run, dtype)
        return target


def _copy(code: Code, row: str, begin: str, run: tuple[int, int, int, int, int], dtype: np.dtype) -> None:
    to, to_step, start, step, count = run
    if count <= 0:
        return
    if to_step == step == 1:
        code.copy(code.element(row, to, dtype), code.element(begin, start, dtype), count * dtype.itemsize)
        return
    with code.loop(0, count) as iteration:
        value = code.load(code.element(begin, linear(code, start, (iteration.i, step)), dtype), dtype)
        code.store(value, code.element(row, linear(code, to, (iteration.i, to_step)), dtype), dtype)
