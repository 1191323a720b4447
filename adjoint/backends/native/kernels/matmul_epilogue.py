"""The code of a matrix product's epilogue, written for a row of a finished tile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adjoint.backends.native.emit.expression_code import ExpressionValues, expression_dtype
from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.emit.llvm_ir import Code
from adjoint.backends.native.emit.vector_access import put
from adjoint.backends.native.kernels import gemm
from adjoint.backends.native.kernels.gemm_tiles import FinishedVectors
from adjoint.backends.native.node_facts import same_memory
from adjoint.backends.native.plan import matmul_operands
from adjoint.backends.native.plan.coalesce_axes import loads_of
from adjoint.backends.native.plan.epilogue_fusion import FusedMatMul
from adjoint.backends.native.plan.loop_expressions import Expr


def sums_place(emitter: GraphEmitter, unit: FusedMatMul) -> str | None:
    """Memory of the product's shape in which its sums may be: its own, or that of a root which nothing is read from."""
    if unit.kept:
        emitter.values[unit.node] = emitter.memory_for(unit.node)
        return emitter.values[unit.node]
    read = {emitter.value(n) for n in unit.reads()}
    own = [emitter.value(r) for r in unit.roots if r.spec.dtype == unit.node.spec.dtype]
    return next((place for place in own if place not in read), None)


def written(emitter: GraphEmitter, unit: FusedMatMul) -> gemm.GemmEpilogue:
    """The code of the epilogue."""
    leaves = unit.reads()
    arrays = [*leaves, *unit.roots]
    line = (matmul_operands.columns(unit.node), 1)
    alike = {e.leaf for e in loads_of(unit.roots.values()) if (e.offset, unit.rows[id(e)]) == (0, line)}

    def write(spot: FinishedVectors) -> None:
        code, width = spot.code, spot.width
        values = dict(zip(arrays, spot.captured, strict=True))

        def begin(pointer: str, offset: int, row_step: int, step: int, dtype: Any) -> str:
            at = code.add(offset, code.add(code.mul(spot.row, row_step), code.mul(spot.column, step)))
            return code.element(pointer, at, dtype)

        bases = {
            id(e): spot.sums
            if same_memory(e.leaf) is unit.node
            else begin(values[e.leaf], e.offset, *unit.rows[id(e)], e.leaf.spec.dtype)
            for e in loads_of(unit.roots.values())
        }
        targets = [
            begin(values[root], 0, matmul_operands.columns(unit.node), 1, root.spec.dtype) for root in unit.roots
        ]
        point = ExpressionValues(EpilogueRow(code, values, unit.rows), bases, {})
        for e in unit.roots.values():
            point.hoist(e)
        for v, mask in enumerate(spot.masks):
            at = point.at(str(v * width), width, mask)
            found = [at(e) for e in unit.roots.values()]  # before the first store, which may be over an input
            for (root, e), value, target in zip(unit.roots.items(), found, targets, strict=True):
                value = Lanes(code, width).cast(value, expression_dtype(e), root.spec.dtype)
                put(code, value, target, 1, str(v * width), root.spec.dtype, width, mask)

    given = [(emitter.value(n), None if n.shape else n.spec.dtype) for n in arrays]
    near = [(k, n.spec.dtype) for k, n in enumerate(arrays) if n in alike or n in unit.roots]
    return gemm.GemmEpilogue(write, given, near)


@dataclass(frozen=True)
class EpilogueRow:
    """What a point has to know: where numbers are, and how loads go on along the row."""

    code: Code
    values: dict[Any, str]
    strides: dict[int, tuple[int, int]]

    def chosen(self, e: Expr) -> Expr:
        return e
