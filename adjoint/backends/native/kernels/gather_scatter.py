"""Indexing with indices known at run time: gather, scatter and scatter-add."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.kernel_registry import plain
from adjoint.backends.native.kernels.in_place import updated_memory
from adjoint.graph.node import Node
from adjoint.ops.index import Gather, ScatterAdd


def _parts(node: Node) -> tuple[Node, Node | None, list[Node]]:
    """The array, the values put into it if any, and the indices."""
    if isinstance(plain(node.op), Gather):
        base, *indices = node.inputs
        return base, None, indices
    base, v, *indices = node.inputs
    return base, v, indices


def indices_fit(node: Node) -> bool:
    base, v, indices = _parts(node)
    shapes = {i.shape for i in indices if i.shape}
    part = (*(shapes or {()}).pop(), *base.shape[len(indices) :]) if len(shapes) < 2 else None
    fits = part is not None and (v is None or not v.shape or v.shape == part)
    return fits and all(n > 0 for n in base.shape)


def _each_index(emitter: GraphEmitter, node: Node, each: Callable[[Any, Any], None]) -> None:
    """For each set of indices: its number, and the offset of base[indices]."""
    base, _, indices = _parts(node)
    code = emitter.code
    count = max([prod(i.shape) for i in indices])

    def at(k: Any) -> Any:
        total: Any = 0
        for axis, i in enumerate(indices):
            value = emitter.value(i)
            if i.shape:
                value = code.load(code.element(value, k, i.spec.dtype), i.spec.dtype)
            place = emitter.checked_index(value, i.spec.dtype, base.shape[axis])
            total = code.add(total, code.mul(place, prod(base.shape[axis + 1 :])))
        return total

    if all(not i.shape for i in indices):
        each(0, at(0))
    elif count:
        with code.loop(0, count) as iteration:
            each(iteration.i, at(iteration.i))


def write_gather(emitter: GraphEmitter, node: Node, op: Any) -> str:
    base, _, indices = _parts(node)
    code, dtype, source = emitter.code, node.spec.dtype, emitter.value(base)
    size = prod(base.shape[len(indices) :])
    if not node.shape:
        found: list[str] = []
        _each_index(emitter, node, lambda k, at: found.append(code.load(code.element(source, at, dtype), dtype)))
        return found[0]
    target = emitter.memory_for(node)

    def each(k: Any, at: Any) -> None:
        to = code.element(target, code.mul(k, size), dtype)
        if size == 1:
            code.store(code.load(code.element(source, at, dtype), dtype), to, dtype)
        else:
            code.copy(to, code.element(source, at, dtype), size * dtype.itemsize)

    _each_index(emitter, node, each)
    return target


def write_scatter(emitter: GraphEmitter, node: Node, op: Any) -> str:
    base, v, indices = _parts(node)
    assert v is not None
    code, lanes, dtype = emitter.code, Lanes(emitter.code, 1), node.spec.dtype
    size = prod(base.shape[len(indices) :])
    source, target = emitter.value(v), updated_memory(emitter, node)

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
            with code.loop(0, size) as iteration:
                one(iteration.i)

    _each_index(emitter, node, each)
    return target


def scatter_fits(node: Node) -> bool:
    return indices_fit(node) and node.spec.dtype.kind != "b"
