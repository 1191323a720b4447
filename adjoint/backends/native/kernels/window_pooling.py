"""Windows without filters: largest elements, sums, the windows themselves, and their transposes.

An item of the parallel loop is a plane, or a row of windows where planes are few. With padding, planes are copied into larger
ones first, and results are cut out of larger ones.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.emit.lanes import shuffle
from adjoint.backends.native.emit.llvm_ir import Code, in_register
from adjoint.backends.native.kernel_registry import KernelRule
from adjoint.backends.native.kernels.pooling_geometry import Tap, WindowRow, cut_out, each_row, geometry, planes
from adjoint.backends.native.kernels.window_loops import linear, region, unravel
from adjoint.core.spec import int64
from adjoint.graph.node import Node
from adjoint.ops.pool import MaxPool, MaxPoolIndex, MaxPoolPull, MaxPoolPush, lowest
from adjoint.ops.sum_pool import SumPool, SumPoolPull
from adjoint.ops.unfolding import Fold, Unfold

# ---------------------------------------------------------------- one result for each window


def _gathering(
    body: Callable[..., None], around: Callable[[np.dtype], Any], channels: bool = False, scalar: bool = False
) -> Any:
    """A writer for an op with a result (or, with `channels`, a result for each tap) for each window."""

    def write(emitter: GraphEmitter, node: Node, op: Any) -> str:
        shape = geometry(op, node.inputs[-1].shape)
        dtypes = [i.spec.dtype for i in node.inputs]
        target = emitter.memory_for(node)
        sources = [
            planes(emitter, shape, emitter.value(i), i.spec.dtype, around(i.spec.dtype) if i is node.inputs[-1] else 0)
            for i in node.inputs
        ]
        size = prod(shape.count) * (prod(shape.window) if channels else 1)
        work = prod(shape.count) * prod(shape.window) / 4
        bits = 8 if scalar else emitter.shared.bits
        widest = max(d.itemsize for d in (*dtypes, node.spec.dtype))
        items = shape.items(work)
        with region(emitter, prod(items), work / items[1], (*sources, target)) as chunk:
            code = chunk.code
            with code.loop(chunk.low, chunk.high) as iteration:
                *pointers, result = chunk.pointers
                plane, line = unravel(code, iteration.i, items)
                inside = [
                    code.element(p, code.mul(plane, prod(shape.padded)), dtype)
                    for p, dtype in zip(pointers, dtypes, strict=True)
                ]
                result = code.element(result, code.mul(plane, size), node.spec.dtype)
                only = line if items[1] > 1 else None
                each_row(code, shape, bits, widest, True, lambda row: body(row, node, inside, result), only)
        return target

    return write


def _max(row: WindowRow, node: Node, planes: list[str], result: str) -> None:
    dtype = node.spec.dtype
    row.write(row.largest(planes[0], dtype), row.place(result, dtype), dtype)


def _sum(row: WindowRow, node: Node, planes: list[str], result: str) -> None:
    dtype = node.spec.dtype
    word = "fadd" if dtype.kind == "f" else "add"

    def step(tap: Tap, total: list[str]) -> list[str]:
        return [row.code.put(f"{word} {row.lanes.type(dtype)} {total[0]}, {row.load(planes[0], tap, dtype)}")]

    total = row.fold([(row.lanes.type(dtype), row.lanes.number(0, dtype))], step)[0]
    row.write(total, row.place(result, dtype), dtype)


def _push(row: WindowRow, node: Node, planes: list[str], result: str) -> None:
    (t, x), dtype, lanes = planes, node.spec.dtype, row.lanes
    best = row.largest(x, dtype)
    kind, zero = lanes.type(dtype), lanes.number(0, dtype)

    def step(tap: Tap, total: list[str]) -> list[str]:
        here = lanes.select(row.is_peak(x, tap, best, dtype), row.load(t, tap, dtype), zero, dtype)
        return [row.code.put(f"fadd {kind} {total[0]}, {here}")]

    total = row.fold([(kind, zero)], step)[0]
    mean = row.code.put(f"fdiv {kind} {total}, {row.peaks(x, best, dtype, dtype)}")
    row.write(mean, row.place(result, dtype), dtype)


def _index(row: WindowRow, node: Node, planes: list[str], result: str) -> None:
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
                (row.position[axis], shape.stride[axis]),
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


def _unfold(row: WindowRow, node: Node, planes: list[str], result: str) -> None:
    dtype = node.spec.dtype

    def step(tap: Tap, values: list[str]) -> list[str]:
        place = row.place(result, dtype, row.channel(tap))
        row.write(row.load(planes[0], tap, dtype), place, dtype)
        return []

    row.fold([], step)


# ---------------------------------------------------------------- windows laid back


def _scattering(part: Callable[..., Callable[[Tap], str]], channels: bool = False) -> Any:
    """A writer for an op that lays a value for each tap of each window back where the tap was, and adds them up."""

    def write(emitter: GraphEmitter, node: Node, op: Any) -> str:
        dtype = node.spec.dtype
        shape = geometry(op, node.shape)
        size = prod(shape.count) * (prod(shape.window) if channels else 1)
        sources = [emitter.value(node.inputs[0])]
        sizes = [size, prod(shape.padded)]
        if len(node.inputs) > 1:
            x = node.inputs[1]
            sources.append(planes(emitter, shape, emitter.value(x), x.spec.dtype, lowest(x.spec.dtype)))
        target = emitter.memory_for(node)
        whole = shape.padded == shape.space
        larger = target if whole else emitter.scratch(shape.planes * prod(shape.padded) * dtype.itemsize)
        work = prod(shape.count) * prod(shape.window) / 2
        items = shape.items(work) if shape.covering else (shape.planes, 1)
        with region(emitter, prod(items), work / items[1], (*sources, larger)) as chunk:
            code = chunk.code
            with code.loop(chunk.low, chunk.high) as iteration:
                *pointers, result = chunk.pointers
                plane, line = unravel(code, iteration.i, items)
                inside = [
                    code.element(p, code.mul(plane, n), i.spec.dtype)
                    for p, n, i in zip(pointers, sizes, node.inputs, strict=False)
                ]
                result = code.element(result, code.mul(plane, prod(shape.padded)), dtype)
                if not shape.covering:
                    code.zero(result, prod(shape.padded) * dtype.itemsize)

                def body(row: WindowRow) -> None:
                    _lay_back(row, part(row, node, inside), result, dtype)

                only = line if items[1] > 1 else None
                each_row(code, shape, emitter.shared.bits, dtype.itemsize, shape.apart, body, only)
        if not whole:
            cut_out(emitter, shape, larger, target, dtype)
        return target

    return write


def _lay_back(row: WindowRow, part: Callable[[Tap], str], result: str, dtype: np.dtype) -> None:
    """Put the parts of a vector of windows where they belong."""
    code, shape, width = row.code, row.shape, row.width
    window, stride = shape.window[2], shape.stride[2]
    if shape.apart and shape.unrolled and window == stride and width > 1:
        for k in range(0, prod(shape.window), window):
            taps = shape.taps()[k : k + window]
            begin = code.element(result, shape.source(code, row.position, taps[0]), dtype)
            row.write(_interleaved(code, [part(tap) for tap in taps], dtype, width), begin, dtype, window)
        return
    word = "fadd" if dtype.kind == "f" else "add"

    def step(tap: Tap, values: list[str]) -> list[str]:
        begin, value = shape.source(code, row.position, tap), part(tap)
        if width == 1 or stride == 1:
            place = code.element(result, begin, dtype)
            if not shape.apart:
                value = code.put(f"{word} {row.lanes.type(dtype)} {row.read(place, dtype)}, {value}")
            row.write(value, place, dtype)
            return []
        for k in range(row.valid):
            place = code.element(result, code.add(begin, k * stride), dtype)
            one = code.put(f"extractelement {row.lanes.type(dtype)} {value}, i32 {k}")
            if not shape.apart:
                one = code.put(f"{word} {in_register(dtype)} {code.load(place, dtype)}, {one}")
            code.store(one, place, dtype)
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
    kind = in_register(dtype, width)
    return code.put(f"shufflevector {kind} {value}, {kind} poison, <{len(places)} x i32> <{chosen}>")


def _shares(row: WindowRow, node: Node, planes: list[str]) -> Callable[[Tap], str]:
    (g, x), dtype, lanes = planes, node.spec.dtype, row.lanes
    best = row.largest(x, dtype)
    count = row.peaks(x, best, dtype, dtype)
    share = row.code.put(f"fdiv {lanes.type(dtype)} {row.windows(g, dtype)}, {count}")
    return lambda tap: lanes.select(row.is_peak(x, tap, best, dtype), share, lanes.number(0, dtype), dtype)


def _same(row: WindowRow, node: Node, planes: list[str]) -> Callable[[Tap], str]:
    value = row.windows(planes[0], node.spec.dtype)
    return lambda tap: value


def _own(row: WindowRow, node: Node, planes: list[str]) -> Callable[[Tap], str]:
    return lambda tap: row.windows(planes[0], node.spec.dtype, row.channel(tap))


# ---------------------------------------------------------------- the table


def _zero(dtype: np.dtype) -> int:
    return 0


def _fits(node: Node) -> bool:
    """Numbers of one dtype, up to three axes in space, nothing empty. Shares of the largest are of floats."""
    op = node.op
    specs = [i.spec for i in node.inputs] + ([] if isinstance(op, MaxPoolIndex) else [node.spec])
    same = all(s.dtype == specs[0].dtype for s in specs)
    kinds = "f" if isinstance(op, (MaxPoolPush, MaxPoolPull)) else "fi"
    some = all(n > 0 for v in (node, *node.inputs) for n in v.shape)
    return same and specs[0].dtype.kind in kinds and some and op.rank <= 3


_WRITERS: dict[type, Any] = {
    MaxPool: _gathering(_max, lowest),
    MaxPoolPush: _gathering(_push, lowest),
    MaxPoolIndex: _gathering(_index, lowest, scalar=True),
    SumPool: _gathering(_sum, _zero),
    Unfold: _gathering(_unfold, _zero, channels=True),
    MaxPoolPull: _scattering(_shares),
    SumPoolPull: _scattering(_same),
    Fold: _scattering(_own, channels=True),
}
KERNELS = {card: KernelRule(write, _fits) for card, write in _WRITERS.items()}
