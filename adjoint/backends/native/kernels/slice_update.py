"""Slices with indices known when the code is written: setting, placing into zeros, concatenation and stacking."""

from __future__ import annotations

from math import prod
from typing import Any

from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.kernel_registry import plain
from adjoint.backends.native.kernels.in_place import updated_memory
from adjoint.graph.node import Node
from adjoint.ops.joining import Concat
from adjoint.ops.slicing import written_out
from adjoint.ops.stacking import Stack


def _slice_ranges(op: Any, shape: tuple[int, ...]) -> tuple[list[tuple[int, int, int]], int]:
    """The part [index] of an array as (start, step, count) for each axis."""
    parts = []
    sizes = iter(shape)
    for part in written_out(op.key, len(shape)):
        if part is None:  # a new axis moves nothing
            continue
        n = next(sizes)
        if isinstance(part, slice):
            start, stop, step = part.indices(n)
            parts.append((start, step, len(range(start, stop, step))))
        else:
            parts.append((part % n, 1, 1))
    parts += [(0, 1, n) for n in sizes]
    return parts, prod(c for _, _, c in parts)


def slice_fits(node: Node) -> bool:
    op = plain(node.op)
    v = node.inputs[-1]
    fits = not v.shape or v.shape == op.picked(node.shape)
    return fits and node.shape != ()


def _write_slice(emitter: GraphEmitter, node: Node, target: str, v: Node) -> str:
    """Put v at the part of the target that the op names."""
    code, lanes, dtype = emitter.code, Lanes(emitter.code, 1), node.spec.dtype
    parts, count = _slice_ranges(plain(node.op), node.shape)
    if not count:
        return target
    source = emitter.value(v)

    def go(axis: int, at: Any, read: Any) -> None:
        if axis == len(parts):
            value = code.load(code.element(source, read, v.spec.dtype), v.spec.dtype) if v.shape else source
            code.store(lanes.cast(value, v.spec.dtype, dtype), code.element(target, at, dtype), dtype)
            return
        start, step, n = parts[axis]
        stride = prod(node.shape[axis + 1 :])
        inner = prod(c for _, _, c in parts[axis + 1 :])
        if n == 1:
            go(axis + 1, code.add(at, start * stride), read)
            return
        whole = parts[axis + 1 :] == [(0, 1, size) for size in node.shape[axis + 1 :]]
        if step == 1 and whole and v.shape and v.spec.dtype == dtype:  # one piece of memory
            to = code.element(target, code.add(at, start * stride), dtype)
            code.copy(to, code.element(source, read, dtype), n * inner * dtype.itemsize)
            return
        with code.loop(0, n) as iteration:
            go(
                axis + 1,
                code.add(code.add(at, start * stride), code.mul(iteration.i, step * stride)),
                code.add(read, code.mul(iteration.i, inner)),
            )

    go(0, 0, 0)
    return target


def write_set_item(emitter: GraphEmitter, node: Node, op: Any) -> str:
    return _write_slice(emitter, node, updated_memory(emitter, node), node.inputs[1])


def write_put_item(emitter: GraphEmitter, node: Node, op: Any) -> str:
    target = emitter.memory_for(node)
    emitter.code.zero(target, prod(node.shape) * node.spec.dtype.itemsize)
    return _write_slice(emitter, node, target, node.inputs[0])


def write_joined(emitter: GraphEmitter, node: Node, op: Concat | Stack) -> str:
    """Inputs side by side along an axis: for each row in front of it, one copy of each."""
    code, dtype = emitter.code, node.spec.dtype
    axis = op.axis % node.ndim
    target = emitter.memory_for(node)
    rows = prod(node.shape[:axis])
    behind = prod(node.shape[axis:])
    sizes = [prod(i.shape) // max(rows, 1) for i in node.inputs]

    def row(r: Any) -> None:
        start = 0
        for i, n in zip(node.inputs, sizes, strict=True):
            to = code.element(target, code.add(code.mul(r, behind), start), dtype)
            if not i.shape:
                code.store(Lanes(code, 1).cast(emitter.value(i), i.spec.dtype, dtype), to, dtype)
            elif n:
                code.copy(to, code.element(emitter.value(i), code.mul(r, n), dtype), n * dtype.itemsize)
            start += n

    if rows == 1:
        row(0)
    elif rows and behind:
        with code.loop(0, rows) as iteration:
            row(iteration.i)
    return target


def same_dtypes(node: Node) -> bool:
    return all(i.spec.dtype == node.spec.dtype or not i.shape for i in node.inputs) and node.shape != ()
