"""Discrete Fourier transforms along an axis: Stockham's stages, from one place to another and in order.

TransformStage by stage a transform of n = r m numbers becomes r m of length r, and leaves s times as many places that are treated alike. Lanes
are neighbours behind the axis, or rows in front of it, or else lie along the axis itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import log2, prod
from typing import Any

import numpy as np

from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.emit.lanes import Lane, LaneEmitter, Lanes
from adjoint.backends.native.emit.llvm_ir import Code, Module
from adjoint.backends.native.kernel_registry import KernelRule
from adjoint.backends.native.kernels.fourier_butterflies import Butterflies, Number
from adjoint.backends.native.kernels.window_loops import chunked, linear, nested, region, unravel
from adjoint.backends.native.rewrite.fourier_steps import FourierStep, factors, unit_roots
from adjoint.graph.node import Node

LINE = 64  # bytes that are read from memory at once
NEAR = 1 << 15  # bytes of a block of rows that are put into lanes


def radices(n: int) -> list[int]:
    """The lengths of the stages: fours, an eight for what twos are left, then the odd factors."""
    primes = factors(n)
    twos = primes.count(2)
    odd = [p for p in primes if p != 2]
    if twos == 1:
        return [2, *odd] if not odd else [*odd, 2]
    return [4] * (twos // 2 - twos % 2) + odd + [8] * (twos % 2)


def power_of_two(most: int) -> int:
    """The largest power of two that is no larger."""
    return 1 << (most.bit_length() - 1)


@dataclass(frozen=True)
class TransformStage:
    """One stage: `radix` numbers at a distance of `count`, so many times, for `alike` places each."""

    radix: int
    count: int
    alike: int


def stages(n: int) -> list[TransformStage]:
    """The stages of a transform."""
    found, alike = [], 1
    for radix in radices(n):
        found.append(TransformStage(radix, n // (radix * alike), alike))
        alike *= radix
    return found


@dataclass(frozen=True)
class Numbers:
    """Where the numbers of a transform are: both parts, and the distance from one to the next."""

    re: str
    im: str
    dtype: np.dtype
    step: int = 1

    def moved(self, code: Code, place: Any, rest: int = 0) -> Numbers:
        """What begins with the number at a place, `rest` elements further on."""
        begin = linear(code, rest, (place, self.step))
        re, im = (code.element(part, begin, self.dtype) for part in (self.re, self.im))
        return replace(self, re=re, im=im)


class StageWriter:
    """Writes stages into a function."""

    def __init__(self, code: Code, dtype: np.dtype, bits: int) -> None:
        self.code, self.dtype, self.widest = code, dtype, bits // (8 * dtype.itemsize)

    def across(self, stage: TransformStage, source: Numbers, target: Numbers, width: int, vectors: int = 1) -> None:
        """A stage whose lanes are transforms side by side, in so many vectors."""
        r, m, s = stage.radix, stage.count, stage.alike

        def write(at: list[Any], _: list[str]) -> list[str]:
            p, q = at
            begin, end = linear(self.code, q, (p, s)), linear(self.code, q, (p, s * r))
            roots = self._roots(stage, p, width)
            for k in range(vectors):
                here, there = source.moved(self.code, begin, k * width), target.moved(self.code, end, k * width)
                self._butterfly(stage, here, there, roots, width)
            return []

        nested(self.code, [(0, m), (0, s)], [], write)

    def along(self, stage: TransformStage, source: Numbers, target: Numbers) -> None:
        """A stage whose lanes are places of one transform."""
        if stage.alike == 1:
            self._first_along(stage, source, target)
            return
        r, m, s = stage.radix, stage.count, stage.alike
        width = power_of_two(min(s, self.widest))

        def write(at: list[Any], _: list[str]) -> list[str]:
            p, block = at
            q = _overlapping(self.code, block, width, s)
            here = source.moved(self.code, linear(self.code, q, (p, s)))
            there = target.moved(self.code, linear(self.code, q, (p, s * r)))
            self._butterfly(stage, here, there, self._roots(stage, p, width), width)
            return []

        nested(self.code, [(0, m), (0, -(-s // width))], [], write)

    def _butterfly(
        self, stage: TransformStage, source: Numbers, target: Numbers, roots: Sequence[Number], width: int
    ) -> None:
        """A transform of `radix` numbers, each result times its power of the root."""
        b = Butterflies(_lanes(self.code, width))
        apart = stage.alike * stage.count
        found = b.transform(self._load(source, [k * apart for k in range(stage.radix)], width))
        turned = [found[0], *(b.times(x, w) for x, w in zip(found[1:], roots, strict=True))] if roots else found
        self._store(turned, target, [j * stage.alike for j in range(stage.radix)], width)

    def _first_along(self, stage: TransformStage, source: Numbers, target: Numbers) -> None:
        """The first stage: lanes are transforms of neighbouring numbers, whose results do not lie side by side."""
        r, m = stage.radix, stage.count
        even = r == power_of_two(r)
        width = power_of_two(min(m, self.widest, r if even else m))
        lanes = Lanes(self.code, width)

        def write(at: list[Any], _: list[str]) -> list[str]:
            p = _overlapping(self.code, at[0], width, m)
            b = Butterflies(lanes.emitter())
            found = b.transform(self._load(source.moved(self.code, p), [k * m for k in range(r)], width))
            if m > 1:
                table = self._table(stage, by_place=False)
                for j in range(1, r):
                    w = [self._at(table, linear(self.code, (2 * (j - 1) + part) * m, (p, 1)), width) for part in (0, 1)]
                    found[j] = b.times(found[j], (w[0], w[1]))
            begin = self.code.mul(p, r)
            if width == r:
                for part, pointer in enumerate((target.re, target.im)):
                    for k, row in enumerate(lanes.transposed([x[part].text for x in found], self.dtype)):
                        self._put(Lane(row, self.dtype), pointer, linear(self.code, k * r, (begin, 1)), width)
            else:
                self._scatter(found, target, begin, width)
            return []

        nested(self.code, [(0, -(-m // width))], [], write)

    def _scatter(self, found: Sequence[Number], target: Numbers, begin: Any, width: int) -> None:
        """Put lane after lane where it belongs."""
        kind = Lanes(self.code, width).type(self.dtype)
        for j, number in enumerate(found):
            for part, pointer in zip(number, (target.re, target.im), strict=True):
                for lane in range(width):
                    value = part.text
                    if width > 1:
                        value = self.code.put(f"extractelement {kind} {value}, i32 {lane}")
                    self._put(Lane(value, self.dtype), pointer, linear(self.code, lane * len(found) + j, (begin, 1)), 1)

    # ------------------------------------------------------------ numbers in memory

    def _at(self, pointer: str, place: Any, width: int) -> Lane:
        return Lane(self.code.load(self.code.element(pointer, place, self.dtype), self.dtype, width), self.dtype)

    def _put(self, value: Lane, pointer: str, place: Any, width: int) -> None:
        self.code.store(value.text, self.code.element(pointer, place, self.dtype), self.dtype, width)

    def _load(self, numbers: Numbers, places: Sequence[int], width: int) -> list[Number]:
        places = [k * numbers.step for k in places]
        return [(self._at(numbers.re, k, width), self._at(numbers.im, k, width)) for k in places]

    def _store(self, found: Sequence[Number], numbers: Numbers, places: Sequence[int], width: int) -> None:
        for number, k in zip(found, places, strict=True):
            for part, pointer in zip(number, (numbers.re, numbers.im), strict=True):
                self._put(part, pointer, k * numbers.step, width)

    # ------------------------------------------------------------ roots of unity

    def _roots(self, stage: TransformStage, p: Any, width: int) -> list[Number]:
        """The powers of the root by which the results at a place are turned; none if they are all 1."""
        if stage.count == 1:
            return []
        lanes, count = Lanes(self.code, width), 2 * (stage.radix - 1)
        base = self.code.element(self._table(stage, by_place=True), self.code.mul(p, count), self.dtype)
        parts = [Lane(lanes.spread(self._at(base, k, 1).text, self.dtype), self.dtype) for k in range(count)]
        return list(zip(parts[::2], parts[1::2], strict=True))

    def _table(self, stage: TransformStage, by_place: bool) -> str:
        """The powers of the root: for each place those of all results, or the other way round."""
        return table_of(self.code.module, stage.radix, stage.count, self.dtype, by_place)


def table_of(module: Module, radix: int, count: int, dtype: np.dtype, by_place: bool) -> str:
    """The name of a table of roots, made once for a module."""
    key = "roots of unity", radix, count, dtype, by_place
    if key not in module.written:
        powers = np.arange(1, radix)[:, None] * np.arange(count)[None, :]
        table = np.stack(unit_roots(powers, radix * count), axis=1).astype(dtype)  # result, part, place
        table = table.reshape(-1, count)
        module.written[key] = module.constant(table.T if by_place else table)
    return module.written[key]


def _lanes(code: Code, width: int) -> LaneEmitter:
    return Lanes(code, width).emitter()


def _overlapping(code: Code, block: Any, width: int, size: int) -> Any:
    """Where a block of lanes begins; the last one reaches back over the one before."""
    begin = code.mul(block, width)
    if size % width == 0 or isinstance(begin, int):
        return min(begin, size - width) if isinstance(begin, int) else begin
    return Lanes(code, 1).intrinsic("smin", np.dtype(np.int64), begin, str(size - width))


# ---------------------------------------------------------------- whole transforms


def write_fourier(emitter: GraphEmitter, node: Node, op: FourierStep) -> list[str]:
    """The transform along an axis; gives the addresses of both parts."""
    x, dtype = node.inputs[0], node.inputs[0].spec.dtype
    size = prod(x.shape) * dtype.itemsize
    places = [emitter.shared.arena.take(size, node, f"result {k}") for k in range(2)]
    results = [emitter.shared.address(place) for place in places]
    for k, place in enumerate(places):
        emitter.keep(node, k, place)
    sizes = prod(x.shape[: op.axis]), x.shape[op.axis], prod(x.shape[op.axis + 1 :])
    pointers = [*(emitter.value(i) for i in node.inputs), *results]
    widest = emitter.shared.bits // (8 * dtype.itemsize)
    rows, n, behind = sizes
    if behind > 1:
        _behind(emitter, sizes, power_of_two(min(behind, widest)), pointers, dtype)
    elif rows > 1 and n * widest * dtype.itemsize <= NEAR // 4:
        _in_front(emitter, sizes, power_of_two(min(rows, widest)), pointers, dtype)
    else:
        _one_by_one(emitter, sizes, pointers, dtype)
    return results


def work_of(n: int) -> float:
    """About how many instructions a transform takes."""
    return 3 * n * log2(n) + 8


def _through(
    write: Callable[[TransformStage, Numbers, Numbers], None],
    n: int,
    source: Numbers,
    target: Numbers,
    between: Sequence[Numbers],
) -> None:
    """All stages, by way of two places in turn; the last one of those is used last."""
    steps = stages(n)
    at = source
    for k, stage in enumerate(steps):
        left = len(steps) - 1 - k
        to = target if left == 0 else between[left % len(between)]
        write(stage, at, to)
        at = to


def _scratch(emitter: GraphEmitter, items: int, work: float, size: int, parts: int, dtype: np.dtype) -> str:
    """Memory between stages: `parts` pieces of `size` numbers for each chunk."""
    return emitter.scratch(chunked(items, work)[1] * size * parts * dtype.itemsize)


def _pieces(code: Code, pointer: str, size: int, parts: int, dtype: np.dtype) -> list[str]:
    """The pieces of this chunk."""
    begin = code.element(pointer, code.mul("%chunk", size * parts), dtype)
    return [code.element(begin, k * size, dtype) for k in range(parts)]


def _behind(
    emitter: GraphEmitter, sizes: tuple[int, int, int], width: int, pointers: list[str], dtype: np.dtype
) -> None:
    """Lanes are neighbours behind the axis: as many as are read from memory at once."""
    rows, n, behind = sizes
    vectors = max(LINE // (width * dtype.itemsize), 1)
    vectors = vectors if behind >= vectors * width else 1
    block = width * vectors
    blocks = -(-behind // block)
    work = work_of(n) * vectors
    scratch = _scratch(emitter, rows * blocks, work, n * block, 4, dtype)
    with region(emitter, rows * blocks, work, [*pointers, scratch]) as chunk:
        code = chunk.code
        a, b, c, d = _pieces(code, chunk.pointers[4], n * block, 4, dtype)
        writer = StageWriter(code, dtype, emitter.shared.bits)
        with code.loop(chunk.low, chunk.high) as item:
            row, place = unravel(code, item.i, (rows, blocks))
            begin = linear(code, _overlapping(code, place, block, behind), (row, n * behind))
            re, im, to_re, to_im = (code.element(p, begin, dtype) for p in chunk.pointers[:4])
            _through(
                lambda stage, source, target: writer.across(stage, source, target, width, vectors),
                n,
                Numbers(re, im, dtype, behind),
                Numbers(to_re, to_im, dtype, behind),
                [Numbers(a, b, dtype, block), Numbers(c, d, dtype, block)],
            )


def _in_front(
    emitter: GraphEmitter, sizes: tuple[int, int, int], width: int, pointers: list[str], dtype: np.dtype
) -> None:
    """Lanes are rows in front of the axis, which are transposed into memory of their own."""
    rows, n, _ = sizes
    blocks = -(-rows // width)
    work = work_of(n) + 4 * n
    scratch = _scratch(emitter, blocks, work, n * width, 4, dtype)
    with region(emitter, blocks, work, [*pointers, scratch]) as chunk:
        code = chunk.code
        a, b, c, d = _pieces(code, chunk.pointers[4], n * width, 4, dtype)
        writer = StageWriter(code, dtype, emitter.shared.bits)
        with code.loop(chunk.low, chunk.high) as item:
            begin = code.mul(_overlapping(code, item.i, width, rows), n)
            near, far = Numbers(a, b, dtype, width), Numbers(c, d, dtype, width)
            for source, target in zip(chunk.pointers[:2], (a, b), strict=True):
                _transpose(code, code.element(source, begin, dtype), target, n, width, dtype, into_lanes=True)
            last = far if len(stages(n)) % 2 else near
            _through(
                lambda stage, source, target: writer.across(stage, source, target, width),
                n,
                near,
                last,
                [last, far if last is near else near],
            )
            for source, target in zip((last.re, last.im), chunk.pointers[2:4], strict=True):
                _transpose(code, source, code.element(target, begin, dtype), n, width, dtype, into_lanes=False)


def _transpose(code: Code, source: str, target: str, n: int, width: int, dtype: np.dtype, into_lanes: bool) -> None:
    """So many rows of n numbers into lanes, or out of them."""
    step = power_of_two(min(n, width))
    if step < width:  # rows shorter than there are lanes
        for row in range(width):
            for k in range(n):
                places = row * n + k, k * width + row
                read, written = places if into_lanes else places[::-1]
                number = code.load(code.element(source, read, dtype), dtype)
                code.store(number, code.element(target, written, dtype), dtype)
        return
    lanes = Lanes(code, width)
    with code.loop(0, -(-n // width)) as block:
        begin = _overlapping(code, block.i, width, n)
        apart = [linear(code, row * n, (begin, 1)) for row in range(width)]
        lane = [linear(code, row * width, (begin, width)) for row in range(width)]
        reads, writes = (apart, lane) if into_lanes else (lane, apart)
        loaded = [code.load(code.element(source, place, dtype), dtype, width) for place in reads]
        for place, vector in zip(writes, lanes.transposed(loaded, dtype), strict=True):
            code.store(vector, code.element(target, place, dtype), dtype, width)


def _one_by_one(emitter: GraphEmitter, sizes: tuple[int, int, int], pointers: list[str], dtype: np.dtype) -> None:
    """Lanes lie along the axis."""
    rows, n, _ = sizes
    work = work_of(n) / 2
    scratch = _scratch(emitter, rows, work, n, 2, dtype)
    with region(emitter, rows, work, [*pointers, scratch]) as chunk:
        code = chunk.code
        a, b = _pieces(code, chunk.pointers[4], n, 2, dtype)
        writer = StageWriter(code, dtype, emitter.shared.bits)
        with code.loop(chunk.low, chunk.high) as item:
            begin = code.mul(item.i, n)
            re, im, to_re, to_im = (code.element(p, begin, dtype) for p in chunk.pointers[:4])
            target = Numbers(to_re, to_im, dtype)
            _through(writer.along, n, Numbers(re, im, dtype), target, [target, Numbers(a, b, dtype)])


def fits(node: Node) -> bool:
    return prod(node.inputs[0].shape) > 0 and node.inputs[0].shape[node.op.axis] > 1


KERNELS: dict[type, KernelRule] = {FourierStep: KernelRule(write_fourier, fits)}
