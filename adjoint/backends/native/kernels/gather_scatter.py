"""Nodes with code of their own: matrix products, indexing with run-time numbers, joining, branches and loops."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.native.emit import control_flow
from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.emit.llvm_ir import is_known
from adjoint.backends.native.kernels import argmax_cumsum, matmul
from adjoint.core.spec import int64
from adjoint.graph.control import Cond, Loop
from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Node, Pick
from adjoint.ops.contract import MatMul
from adjoint.ops.index import Gather, ScatterAdd, ScatterSet
from adjoint.ops.joining import Concat
from adjoint.ops.slicing import PutItem, SetItem, written_out
from adjoint.ops.stacking import Stack


def plain(op: Any) -> Any:
    return op.op if isinstance(op, InPlace) else op


def takes(node: Node) -> bool:
    """Whether there is code for this node."""
    op = plain(node.op)
    if isinstance(op, (Loop, Cond)):
        return control_flow.takes(node)
    if isinstance(op, Pick) or not _has_writer(type(op)):
        return False
    specs = [node.spec, *(i.spec for i in node.inputs)]
    if isinstance(node.spec, tuple) or not all(is_known(s.dtype) and all(n >= 0 for n in s.shape) for s in specs):
        return False
    return TESTS.get(type(op), lambda node: True)(node)


def _has_writer(kind: type) -> bool:
    """Whether there is code for such an op; what few programs need is loaded when it is first asked for."""
    if kind not in WRITERS and kind.__module__ in SELDOM:
        more = import_module(SELDOM[kind.__module__])
        WRITERS.update(more.WRITERS)
        TESTS.update(more.TESTS)
    return kind in WRITERS


def reads(node: Node) -> list[Node]:
    """The nodes whose memory or registers the code uses."""
    if isinstance(plain(node.op), MatMul):
        return [matmul.operand(i)[0] for i in node.inputs]
    return list(node.inputs)


def write(frame: Any, node: Node) -> Any:
    """Write the code; gives the value, or a list of them for several results."""
    op = plain(node.op)
    if isinstance(op, Loop):
        return control_flow.write_loop(frame, node)
    if isinstance(op, Cond):
        return control_flow.write_cond(frame, node)
    return WRITERS[type(op)](frame, node, op)


# ---------------------------------------------------------------- indexing with run-time numbers


def checked_index(frame: Any, i: str, dtype: np.dtype, size: int) -> str:
    """An index as an offset: negative ones count from the end; one out of range is noted, and 0 is used in its place."""
    code, lanes = frame.code, Lanes(frame.code, 1)
    i = lanes.cast(i, dtype, int64)
    wrapped = lanes.select(lanes.compare("lt", i, "0", int64), code.put(f"add i64 {i}, {size}"), i, int64)
    fine = code.put(f"icmp ult i64 {wrapped}, {size}")
    frame.shared.checks = True
    old = code.load("%status", int64)
    code.store(lanes.select(fine, old, "1", int64), "%status", int64)
    return lanes.select(fine, wrapped, "0", int64)


def _parts(node: Node) -> tuple[Node, Node | None, list[Node]]:
    """The array, the values put into it if any, and the indices."""
    if isinstance(plain(node.op), Gather):
        base, *indices = node.inputs
        return base, None, indices
    base, v, *indices = node.inputs
    return base, v, indices


def _indices_fit(node: Node) -> bool:
    base, v, indices = _parts(node)
    shapes = {i.shape for i in indices if i.shape}
    part = (*(shapes or {()}).pop(), *base.shape[len(indices) :]) if len(shapes) < 2 else None
    fits = part is not None and (v is None or not v.shape or v.shape == part)
    return fits and all(n > 0 for n in base.shape)


def _places(frame: Any, node: Node, each: Callable[[Any, Any], None]) -> None:
    """For each place that the indices name: its number, and the offset of base[indices]."""
    base, _, indices = _parts(node)
    code = frame.code
    count = max([prod(i.shape) for i in indices])

    def at(k: Any) -> Any:
        total: Any = 0
        for axis, i in enumerate(indices):
            value = frame.value(i)
            if i.shape:
                value = code.load(code.element(value, k, i.spec.dtype), i.spec.dtype)
            place = checked_index(frame, value, i.spec.dtype, base.shape[axis])
            total = code.add(total, code.mul(place, prod(base.shape[axis + 1 :])))
        return total

    if all(not i.shape for i in indices):
        each(0, at(0))
    elif count:
        with code.loop(0, count) as turn:
            each(turn.i, at(turn.i))


def _gather(frame: Any, node: Node, op: Any) -> str:
    base, _, indices = _parts(node)
    code, dtype, source = frame.code, node.spec.dtype, frame.value(base)
    size = prod(base.shape[len(indices) :])
    if not node.shape:
        found: list[str] = []
        _places(frame, node, lambda k, at: found.append(code.load(code.element(source, at, dtype), dtype)))
        return found[0]
    target = frame.place(node)

    def each(k: Any, at: Any) -> None:
        to = code.element(target, code.mul(k, size), dtype)
        if size == 1:
            code.store(code.load(code.element(source, at, dtype), dtype), to, dtype)
        else:
            code.copy(to, code.element(source, at, dtype), size * dtype.itemsize)

    _places(frame, node, each)
    return target


def _updated(frame: Any, node: Node) -> str:
    """The memory of an updated array: the old one if nothing needs it, else a copy."""
    base = node.inputs[0]
    if isinstance(node.op, InPlace) and frame.dies_here(base) and node not in frame.targets:
        value = frame.value(base)
        _hand_over(frame, base, node)
        return value
    target = frame.place(node)
    frame.code.copy(target, frame.value(base), prod(node.shape) * node.spec.dtype.itemsize)
    return target


def _hand_over(frame: Any, old: Node, new: Node) -> None:
    """The new node has the old one's memory."""
    from adjoint.backends.native.plan.units import same_memory

    memory = same_memory(old)
    if memory in frame.places:
        frame.places[new] = frame.places.pop(memory)
    else:
        frame.owned |= {new}


def _scatter(frame: Any, node: Node, op: Any) -> str:
    base, v, indices = _parts(node)
    assert v is not None
    code, lanes, dtype = frame.code, Lanes(frame.code, 1), node.spec.dtype
    size = prod(base.shape[len(indices) :])
    source, target = frame.value(v), _updated(frame, node)

    def store(address: str, value: str) -> None:
        value = lanes.cast(value, v.spec.dtype, dtype)
        if isinstance(op, ScatterAdd):
            word = "fadd" if dtype.kind == "f" else "add"
            value = code.put(f"{word} {lanes.type(dtype)} {code.load(address, dtype)}, {value}")
        code.store(value, address, dtype)

    def each(k: Any, at: Any) -> None:
        to = code.element(target, at, dtype)

        def one(r: Any) -> None:
            value = source
            if v.shape:
                value = code.load(code.element(source, code.add(code.mul(k, size), r), v.spec.dtype), v.spec.dtype)
            store(code.element(to, r, dtype), value)

        if size == 1:
            one(0)
        else:
            with code.loop(0, size) as turn:
                one(turn.i)

    _places(frame, node, each)
    return target


def _scatter_fits(node: Node) -> bool:
    return _indices_fit(node) and node.spec.dtype.kind in "fi"


# ---------------------------------------------------------------- parts with known indices


def _region(op: Any, shape: tuple[int, ...]) -> tuple[list[tuple[int, int, int]], int]:
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


def _part_fits(node: Node) -> bool:
    op = plain(node.op)
    v = node.inputs[-1]
    fits = not v.shape or v.shape == op.picked(node.shape)
    return fits and node.shape != () and node.spec.dtype.kind in "fib"


def _write_part(frame: Any, node: Node, target: str, v: Node) -> str:
    """Put v at the part of the target that the op names."""
    code, lanes, dtype = frame.code, Lanes(frame.code, 1), node.spec.dtype
    parts, count = _region(plain(node.op), node.shape)
    if not count:
        return target
    source = frame.value(v)

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
        with code.loop(0, n) as turn:
            go(
                axis + 1,
                code.add(code.add(at, start * stride), code.mul(turn.i, step * stride)),
                code.add(read, code.mul(turn.i, inner)),
            )

    go(0, 0, 0)
    return target


def _set_item(frame: Any, node: Node, op: Any) -> str:
    return _write_part(frame, node, _updated(frame, node), node.inputs[1])


def _put_item(frame: Any, node: Node, op: Any) -> str:
    target = frame.place(node)
    frame.code.zero(target, prod(node.shape) * node.spec.dtype.itemsize)
    return _write_part(frame, node, target, node.inputs[0])


def _joined(frame: Any, node: Node, axis: int) -> str:
    """Inputs side by side along an axis: for each row in front of it, one copy of each."""
    code, dtype = frame.code, node.spec.dtype
    target = frame.place(node)
    rows = prod(node.shape[:axis])
    behind = prod(node.shape[axis:])
    sizes = [prod(i.shape) // max(rows, 1) for i in node.inputs]

    def row(r: Any) -> None:
        start = 0
        for i, n in zip(node.inputs, sizes, strict=True):
            to = code.element(target, code.add(code.mul(r, behind), start), dtype)
            if not i.shape:
                code.store(Lanes(code, 1).cast(frame.value(i), i.spec.dtype, dtype), to, dtype)
            elif n:
                code.copy(to, code.element(frame.value(i), code.mul(r, n), dtype), n * dtype.itemsize)
            start += n

    if rows == 1:
        row(0)
    elif rows and behind:
        with code.loop(0, rows) as turn:
            row(turn.i)
    return target


def _same_dtypes(node: Node) -> bool:
    return all(i.spec.dtype == node.spec.dtype or not i.shape for i in node.inputs) and node.shape != ()


Writer = Callable[[Any, Node, Any], Any]
WRITERS: dict[type, Writer] = {
    MatMul: matmul.write,
    Gather: _gather,
    ScatterSet: _scatter,
    ScatterAdd: _scatter,
    SetItem: _set_item,
    PutItem: _put_item,
    Concat: lambda frame, node, op: _joined(frame, node, op.axis % node.ndim),
    Stack: lambda frame, node, op: _joined(frame, node, op.axis % node.ndim),
}
TESTS: dict[type, Callable[[Node], bool]] = {
    MatMul: matmul.fits,
    Gather: _indices_fit,
    ScatterSet: _scatter_fits,
    ScatterAdd: _scatter_fits,
    SetItem: _part_fits,
    PutItem: _part_fits,
    Concat: _same_dtypes,
    Stack: _same_dtypes,
}
WRITERS |= argmax_cumsum.WRITERS
TESTS |= argmax_cumsum.TESTS
#: Where the code of other ops is, by the module of their cards.
SELDOM = {
    "adjoint.ops.conv": "adjoint.backends.native.kernels.direct_convolution",
    "adjoint.ops.pool": "adjoint.backends.native.kernels.window_pooling",
}
