"""Ops that run along one axis from element to element: the index of the largest or smallest, cumulative sums."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.emit.lanes import Lanes
from adjoint.core.spec import bool_, int64
from adjoint.graph.node import Node


def _each_line(emitter: GraphEmitter, x: Node, axis: int, write: Callable[[Any, Any], None]) -> None:
    """Call `write(number of the line, offset of its first element)` for every line along the axis."""
    code = emitter.code
    rows, inner = prod(x.shape[:axis]), prod(x.shape[axis + 1 :])
    length = x.shape[axis]

    def across(row: Any) -> None:
        if inner == 1:
            write(row, code.mul(row, length))
            return
        with code.loop(0, inner) as column:
            write(
                code.add(code.mul(row, inner), column.i),
                code.add(code.mul(row, length * inner), column.i),
            )

    if rows == 1:
        across(0)
        return
    with code.loop(0, rows) as row:
        across(row.i)


def argument_writer(kind: str) -> Callable[[GraphEmitter, Node, Any], str]:
    """The first largest (gt) or smallest (lt) element; the first NaN if there is one."""

    def write(emitter: GraphEmitter, node: Node, op: Any) -> str:
        [x] = node.inputs
        code, lanes, dtype = emitter.code, Lanes(emitter.code, 1), x.spec.dtype
        axis = op.axis % x.ndim
        step = prod(x.shape[axis + 1 :])
        source = emitter.value(x)
        found: list[str] = []

        def line(number: Any, begin: Any) -> None:
            index = "0"
            if x.shape[axis] > 1:
                first = code.load(code.element(source, begin, dtype), dtype)
                with code.loop(1, x.shape[axis], 1, [("i64", "0"), (lanes.type(dtype), first)]) as iteration:
                    index, best = iteration.values
                    value = code.load(code.element(source, code.add(begin, code.mul(iteration.i, step)), dtype), dtype)
                    better = lanes.compare(kind, value, best, dtype)
                    if dtype.kind == "f":
                        undefined = lanes.compare("ne", value, value, dtype)
                        first_one = lanes.select(undefined, lanes.compare("eq", best, best, dtype), "false", bool_)
                        better = code.put(f"or i1 {better}, {first_one}")
                    iteration.next = [
                        lanes.select(better, iteration.i, index, int64),
                        lanes.select(better, value, best, dtype),
                    ]
                index = iteration.results[0]
            if node.shape:
                code.store(index, code.element(target, number, int64), int64)
            found.append(index)

        target = emitter.memory_for(node) if node.shape else ""
        _each_line(emitter, x, axis, line)
        return target or found[0]

    return write


def write_cumsum(emitter: GraphEmitter, node: Node, op: Any) -> str:
    [x] = node.inputs
    code, lanes = emitter.code, Lanes(emitter.code, 1)
    old, new = x.spec.dtype, node.spec.dtype
    axis = op.axis % x.ndim
    length, step = x.shape[axis], prod(x.shape[axis + 1 :])
    source, target = emitter.value(x), emitter.memory_for(node)
    start = lanes.number(-0.0 if new.kind == "f" else 0, new)  # the sum of nothing that leaves -0.0 as it is

    def line(number: Any, begin: Any) -> None:
        with code.loop(0, length, 1, [(lanes.type(new), start)]) as iteration:
            at = code.put(f"sub i64 {length - 1}, {iteration.i}") if op.reverse else iteration.i
            place = code.add(begin, code.mul(at, step))
            value = lanes.cast(code.load(code.element(source, place, old), old), old, new)
            total = code.put(f"{'fadd' if new.kind == 'f' else 'add'} {lanes.type(new)} {iteration.values[0]}, {value}")
            code.store(total, code.element(target, place, new), new)
            iteration.next = [total]

    _each_line(emitter, x, axis, line)
    return target


def has_elements(node: Node) -> bool:
    return prod(node.inputs[0].shape) > 0
