"""A kernel on matrices, run for each of a batch: a function that does some of them, and its call.

All is computed in float64, as in NumPy: results of another dtype are rounded once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.emit.llvm_ir import Code
from adjoint.backends.native.kernel_registry import plain
from adjoint.backends.native.kernels.matrix_code import Matrix, MatrixCode
from adjoint.backends.native.kernels.matrix_factors import copy
from adjoint.core.spec import Spec, bool_, float64
from adjoint.graph.node import Node

PARAMETERS = "ptr noalias %ctx, i64 %chunk"
CHUNK = 1 << 16  # operations that are worth a chunk of their own
ALIGN = 64


@dataclass(frozen=True)
class MatrixKernel:
    """What is written for one matrix of a batch.

    `write` is given inputs, results and memory of `scratch` bytes; `key` says what its code depends on beside the shapes and
    dtypes of inputs and results. The last `core` axes of each result belong to one matrix.
    """

    key: Hashable
    write: Callable[[MatrixCode, Sequence[Matrix], Sequence[Matrix], str], None]
    core: tuple[int, ...]
    scratch: int = 0
    may_fail: bool = False


def result_specs(node: Node) -> tuple[Spec, ...]:
    """The Specs of all results of a node."""
    return node.spec if isinstance(node.spec, tuple) else (node.spec,)


def write_batch(emitter: GraphEmitter, node: Node, one: MatrixKernel) -> Any:
    """The code of a node: the values of its results."""
    shared, code = emitter.shared, emitter.code
    specs = result_specs(node)
    lead = specs[0].shape[: len(specs[0].shape) - one.core[0]]
    function = _BatchFunction(node, one, lead, shared.bits)
    targets = _memory(emitter, node)
    values = [*(emitter.value(i) for i in node.inputs), *targets]
    values += [emitter.scratch(function.chunks * function.room)] if function.room else []
    values += ["%status"]
    name = shared.module.once(function.key, "matrices", PARAMETERS, function.write)
    context = shared.slots.alloca(f"[{len(values)} x ptr]")
    for k, value in enumerate(values):
        code.do(f"store ptr {value}, ptr {code.put(f'getelementptr ptr, ptr {context}, i64 {k}')}")
    shared.call(name, context, function.chunks)
    if one.may_fail:
        shared.polls.leave_if_failed()
    found = [t if s.shape else code.load(t, s.dtype) for t, s in zip(targets, specs, strict=True)]
    return found if isinstance(node.spec, tuple) else found[0]


def _memory(emitter: GraphEmitter, node: Node) -> list[str]:
    """Memory for the results of a node."""
    if not isinstance(node.spec, tuple):
        return [emitter.memory_for(node) if node.shape else emitter.scratch(ALIGN)]
    targets = []
    for k, spec in enumerate(node.spec):
        place = emitter.shared.arena.take(max(prod(spec.shape), 1) * spec.dtype.itemsize, node, f"result {k}")
        emitter.keep(node, k, place)
        targets.append(emitter.shared.address(place))
    return targets


def _aligned(size: int) -> int:
    return -(-size // ALIGN) * ALIGN


class _BatchFunction:
    """Writes `void matrices(ptr ctx, i64 chunk)`, given the addresses of inputs, results, scratch memory and the status."""

    def __init__(self, node: Node, one: MatrixKernel, lead: tuple[int, ...], bits: int) -> None:
        self.one, self.lead, self.bits, self.count = one, lead, bits, prod(lead)
        self.inputs = [Spec(i.spec.shape, i.spec.dtype) for i in node.inputs]
        self.results = [Spec(s.shape, s.dtype) for s in result_specs(node)]
        chunks = max(1, min(self.count, plain(node.op).flops(node.spec, *self.inputs) // CHUNK))
        self.wide: dict[int, int] = {}  # where in scratch memory results are that are rounded at the end
        self.room = _aligned(one.scratch)
        for k, spec in enumerate(self.results):
            if spec.dtype != float64:
                self.wide[k] = self.room
                self.room += _aligned(prod(self._core(k)) * float64.itemsize)
        self.each = -(-self.count // chunks)
        self.chunks = -(-self.count // self.each)
        self.key = ("matrices", one.key, *((s.shape, s.dtype) for s in (*self.inputs, *self.results)))

    def write(self, code: Code) -> None:
        self.code = code
        slots = len(self.inputs) + len(self.results) + bool(self.room) + 1
        addresses = [code.put(f"load ptr, ptr {self._slot(k)}") for k in range(slots)]
        if self.count == 1:
            self._one(addresses, 0)
            return
        low = code.mul("%chunk", self.each) if self.chunks > 1 else 0
        high: Any = self.count
        if self.chunks > 1:
            end = code.add(low, self.each)
            inside = code.put(f"icmp slt i64 {end}, {self.count}")
            high = code.put(f"select i1 {inside}, i64 {end}, i64 {self.count}")
        with code.loop(low, high) as iteration:
            self._one(addresses, iteration.i)

    def _slot(self, k: int) -> str:
        return self.code.put(f"getelementptr ptr, ptr %ctx, i64 {k}")

    def _one(self, addresses: Sequence[str], index: Any) -> None:
        """The code for one matrix of the batch."""
        n, m = len(self.inputs), len(self.results)
        inputs = [self._matrix(a, s, index) for a, s in zip(addresses, self.inputs, strict=False)]
        results = [self._result(addresses[n + k], k, index) for k in range(m)]
        scratch = ""
        if self.room:
            offset = self.code.mul("%chunk", self.room) if self.chunks > 1 else 0
            scratch = self.code.element(addresses[n + m], offset, bool_)
        computed = list(results)
        for k, at in self.wide.items():
            computed[k] = results[k]._replace(address=self.code.element(scratch, at, bool_), dtype=float64)
        b = MatrixCode(self.code, float64, self.bits, addresses[-1])
        self.one.write(b, inputs, computed, scratch)
        for k in self.wide:
            *rows, columns = (1, *self._core(k))
            copy(b, computed[k], results[k], prod(rows), columns)

    def _matrix(self, address: str, spec: Spec, index: Any) -> Matrix:
        """The matrix of an input, whose leading axes may be fewer and shorter than those of the batch."""
        *own, rows, columns = spec.shape
        own = [1] * (len(self.lead) - len(own)) + own
        offset: Any = 0
        if tuple(own) == self.lead:
            offset = self.code.mul(index, rows * columns)
        elif prod(own) > 1:
            step = rows * columns
            for size, mine in zip(reversed(self.lead), reversed(own), strict=True):
                index, at = self._split(index, size)
                if mine > 1:
                    offset = self.code.add(offset, self.code.mul(at, step))
                    step *= mine
        return Matrix(self.code.element(address, offset, spec.dtype), columns, 1, spec.dtype)

    def _split(self, index: Any, size: int) -> tuple[Any, Any]:
        if isinstance(index, int):
            return divmod(index, size)
        return self.code.put(f"udiv i64 {index}, {size}"), self.code.put(f"urem i64 {index}, {size}")

    def _core(self, k: int) -> tuple[int, ...]:
        """The shape of what belongs to one matrix in a result."""
        shape = self.results[k].shape
        return shape[len(shape) - self.one.core[k] :]

    def _result(self, address: str, k: int, index: Any) -> Matrix:
        """The part of a result that belongs to one matrix; a vector is a column."""
        shape, dtype = self._core(k), self.results[k].dtype
        offset = self.code.mul(index, prod(shape))
        return Matrix(self.code.element(address, offset, dtype), shape[1] if len(shape) == 2 else 1, 1, dtype)
