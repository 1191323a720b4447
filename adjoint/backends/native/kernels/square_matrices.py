"""Kernels of the linear algebra of square matrices: Cholesky factors, systems of equations, inverses, determinants."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from math import prod
from typing import Any

from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.kernel_registry import KernelRule
from adjoint.backends.native.kernels import lapack_systems
from adjoint.backends.native.kernels.lapack_calls import scratch_bytes
from adjoint.backends.native.kernels.matrix_batches import MatrixKernel, result_specs, write_batch
from adjoint.backends.native.kernels.matrix_code import WRITTEN_OUT, Matrix, MatrixCode
from adjoint.backends.native.kernels.matrix_factors import (
    back_substitute,
    column,
    copy,
    eliminate,
    put_scales,
    write_cholesky,
    write_large_cholesky,
    write_triangular,
)
from adjoint.core.spec import float64
from adjoint.graph.node import Node
from adjoint.ops.decompose import Cholesky
from adjoint.ops.determinant import Cofactor, Det, SLogDet, condition_limit
from adjoint.ops.linalg import Inv, Solve, TriangularSolve

LARGE = 256  # rows from which on LAPACK, which has blocks for the cache, is faster


def has_elements(node: Node) -> bool:
    """Whether every matrix and every result has elements, all of them real, and results are floating-point numbers."""
    results = result_specs(node)
    return all(s.dtype.kind == "f" and prod(s.shape) for s in results) and all(
        i.spec.dtype.kind != "c" and prod(i.shape) for i in node.inputs
    )


def _rows(node: Node) -> int:
    return int(node.inputs[0].shape[-1])


def _by_lapack(emitter: GraphEmitter, node: Node) -> bool:
    """Whether LAPACK is called: for large matrices, where there is Python and so SciPy."""
    return _rows(node) >= LARGE and not emitter.shared.standalone


def _square(b: MatrixCode, rows: int, address: str) -> Matrix:
    return Matrix(address, rows, 1, b.dtype)


class _Workspace:
    """A copy of a square matrix in scratch memory, and a number for each of its columns."""

    def __init__(self, b: MatrixCode, x: Matrix, rows: int, scratch: str) -> None:
        self.matrix = _square(b, rows, scratch)
        self.scales = column(b.code.element(scratch, rows * rows, b.dtype), b.dtype)
        copy(b, x, self.matrix, rows, rows)
        put_scales(b, self.matrix, self.scales, rows)

    @staticmethod
    def size(rows: int) -> int:
        return (rows + 1) * rows * float64.itemsize


def write_cholesky_node(emitter: GraphEmitter, node: Node, op: Any) -> Any:
    rows, large = _rows(node), _by_lapack(emitter, node)

    def write(b: MatrixCode, inputs: Sequence[Matrix], results: Sequence[Matrix], scratch: str) -> None:
        write_one(b, inputs[0], results[0], rows, scratch)

    if large:
        write_one, room = lapack_systems.cholesky, scratch_bytes([])
    elif rows > WRITTEN_OUT:
        write_one, room = write_large_cholesky, rows * rows * float64.itemsize
    else:
        write_one, room = write_cholesky, rows * float64.itemsize
    return write_batch(emitter, node, MatrixKernel((op, large), write, (2,), room, may_fail=True))


def write_triangular_node(emitter: GraphEmitter, node: Node, op: Any) -> Any:
    rows, columns = node.shape[-2:]
    large = _by_lapack(emitter, node)
    same = node.inputs[0].spec.dtype == float64

    def write(b: MatrixCode, inputs: Sequence[Matrix], results: Sequence[Matrix], scratch: str) -> None:
        (a, right), (y,) = inputs, results
        if not large:
            write_triangular(b, a, right, y, rows, columns, op)
            return
        if not same:
            copy(b, a, _square(b, rows, scratch), rows, rows)
            a = _square(b, rows, scratch)
        copy(b, right, y, rows, columns)
        lapack_systems.triangular(b, a, y, rows, columns, op)

    room = 0 if same or not large else rows * rows * float64.itemsize
    return write_batch(emitter, node, MatrixKernel((op, large), write, (2,), room, may_fail=not op.unit))


def write_solve(emitter: GraphEmitter, node: Node, op: Any) -> Any:
    rows, columns = node.shape[-2:]
    large = _by_lapack(emitter, node)

    def write(b: MatrixCode, inputs: Sequence[Matrix], results: Sequence[Matrix], scratch: str) -> None:
        (a, right), (y,) = inputs, results
        copy(b, right, y, rows, columns)
        if large:
            lapack_systems.solve(b, a, y, rows, columns, scratch)
            return
        work = _Workspace(b, a, rows, scratch)
        eliminate(b, work.matrix, rows, work.scales, [(y, columns)])
        back_substitute(b, work.matrix, y, rows, columns, work.scales)

    room = _room(rows, rows, large)
    return write_batch(emitter, node, MatrixKernel((op, large), write, (2,), room, may_fail=True))


def _room(rows: int, columns: int, large: bool) -> int:
    """Bytes of scratch memory for an elimination."""
    return scratch_bytes(lapack_systems.rooms(rows, columns)) if large else _Workspace.size(rows)


def write_inverse(emitter: GraphEmitter, node: Node, op: Any) -> Any:
    rows, large = _rows(node), _by_lapack(emitter, node)

    def write(b: MatrixCode, inputs: Sequence[Matrix], results: Sequence[Matrix], scratch: str) -> None:
        if large:
            lapack_systems.inverse(b, inputs[0], results[0], rows, scratch)
        else:
            invert(b, _Workspace(b, inputs[0], rows, scratch), results[0], rows)

    room = _room(rows, lapack_systems.INVERSE_COLUMNS, large)
    return write_batch(emitter, node, MatrixKernel((op, large), write, (2,), room, may_fail=True))


def invert(b: MatrixCode, work: _Workspace, y: Matrix, rows: int) -> str:
    """Put the inverse into y; gives the sign of the row swaps."""
    b.each(0, rows, lambda i: b.each(0, rows, lambda j: b.put(b.number(0), y, i, j)))
    b.each(0, rows, lambda i: b.put(b.number(1), y, i, i))
    sign = eliminate(b, work.matrix, rows, work.scales, [(y, rows)])
    back_substitute(b, work.matrix, y, rows, rows, work.scales)
    return sign


# ---------------------------------------------------------------- determinants


def write_determinant(emitter: GraphEmitter, node: Node, op: Any) -> Any:
    rows, large = _rows(node), _by_lapack(emitter, node)

    def write(b: MatrixCode, inputs: Sequence[Matrix], results: Sequence[Matrix], scratch: str) -> None:
        if large:
            factors, sign = lapack_systems.eliminated(b, inputs[0], rows, scratch, may_be_singular=True)
        else:
            factors = _square(b, rows, scratch)
            copy(b, inputs[0], factors, rows, rows)
            sign = eliminate(b, factors, rows, None, [])
        det = diagonal_product(b, factors, rows, sign)
        b.put(b.two("fadd", det, b.number(0)), results[0], 0, 0)  # -0.0 becomes 0.0

    room = _room(rows, rows, large)
    return write_batch(emitter, node, MatrixKernel((op, large), write, (0,), room))


def diagonal_product(b: MatrixCode, x: Matrix, rows: int, first: str) -> str:
    return b.fold(0, rows, [(b.kind, first)], lambda k, values: [b.mul(values[0], b.get(x, k, k))])[0]


def write_sign_and_logarithm(emitter: GraphEmitter, node: Node, op: Any) -> Any:
    rows, large = _rows(node), _by_lapack(emitter, node)

    def write(b: MatrixCode, inputs: Sequence[Matrix], results: Sequence[Matrix], scratch: str) -> None:
        if large:
            factors, sign = lapack_systems.eliminated(b, inputs[0], rows, scratch, may_be_singular=False)
        else:
            work = _Workspace(b, inputs[0], rows, scratch)
            factors, sign = work.matrix, eliminate(b, work.matrix, rows, work.scales, [])

        def step(k: Any, values: list[str]) -> list[str]:
            pivot = b.get(factors, k, k)
            turned = b.code.put(f"fneg {b.kind} {values[0]}")
            positive = b.compare("gt", pivot, b.number(0))
            log = b.lanes.maths("log", b.dtype, b.size(pivot))
            return [b.select(positive, values[0], turned), b.two("fadd", values[1], log)]

        found = b.fold(0, rows, [(b.kind, sign), (b.kind, b.number(0))], step)
        for value, result in zip(found, results, strict=True):
            b.put(value, result, 0, 0)

    room = _room(rows, rows, large)
    return write_batch(emitter, node, MatrixKernel((op, large), write, (0, 0), room, may_fail=True))


# ---------------------------------------------------------------- cofactors


SMALL = 3  # rows of matrices whose cofactors are written as the polynomials that they are


def cofactor_fits(node: Node) -> bool:
    """Derivatives of cofactors have code for small matrices only."""
    return has_elements(node) and (_rows(node) <= SMALL or len(node.inputs) == 1)


def write_cofactor(emitter: GraphEmitter, node: Node, op: Any) -> Any:
    rows, key = _rows(node), (op, len(node.inputs))
    if rows <= SMALL:
        return write_batch(emitter, node, MatrixKernel(key, partial(write_small_cofactor, rows), (2,)))

    def write(b: MatrixCode, inputs: Sequence[Matrix], results: Sequence[Matrix], scratch: str) -> None:
        work = _Workspace(b, inputs[0], rows, scratch)
        inverse = _square(b, rows, b.code.element(scratch, rows * (rows + 1), b.dtype))
        sign = invert(b, work, inverse, rows)
        det = diagonal_product(b, work.matrix, rows, sign)
        condition = b.mul(largest_column(b, inputs[0], rows), largest_column(b, inverse, rows))
        b.need(b.compare("lt", condition, b.number(condition_limit(b.dtype))))
        b.each(0, rows, lambda i: b.each(0, rows, lambda j: b.put(b.mul(det, b.get(inverse, j, i)), results[0], i, j)))

    room = (2 * rows + 1) * rows * float64.itemsize
    return write_batch(emitter, node, MatrixKernel(key, write, (2,), room, may_fail=True))


def largest_column(b: MatrixCode, x: Matrix, rows: int) -> str:
    """The largest sum of sizes in a column."""

    def over_columns(j: Any, values: list[str]) -> list[str]:
        def over_rows(i: Any, sums: list[str]) -> list[str]:
            return [b.two("fadd", sums[0], b.size(b.get(x, i, j)))]

        (total,) = b.fold(0, rows, [(b.kind, b.number(0))], over_rows)
        return [b.larger(values[0], total)]

    return b.fold(0, rows, [(b.kind, b.number(0))], over_columns)[0]


def write_small_cofactor(
    rows: int, b: MatrixCode, inputs: Sequence[Matrix], results: Sequence[Matrix], scratch: str
) -> None:
    """Cofactors, polynomials of degree `rows` - 1, differentiated along all inputs but the first."""
    (x, *ts), (y,) = inputs, results
    factors = [*ts, *[x] * (rows - 1 - len(ts))]  # of each term, in some order
    for i, j in product(range(rows), repeat=2):
        if len(ts) >= rows:
            value = b.number(0)
        elif rows == 1:
            value = b.number(1)
        elif rows == 2:
            value = b.mul(b.number((-1) ** (i + j)), b.get(factors[0], 1 - i, 1 - j))
        else:
            value = _minor(b, factors, (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3)
        b.put(value, y, i, j)


def _minor(b: MatrixCode, factors: Sequence[Matrix], i: int, k: int, j: int, m: int) -> str:
    """The determinant of rows i, k and columns j, m; of two different matrices, the derivative of the one along the other."""
    one, other = factors

    def term(x: Matrix, y: Matrix) -> str:
        return b.minus_product(b.mul(b.get(x, i, j), b.get(y, k, m)), b.get(x, i, m), b.get(y, k, j))

    return term(one, other) if one is other else b.two("fadd", term(one, other), term(other, one))


KERNELS: dict[type, KernelRule] = {
    Cholesky: KernelRule(write_cholesky_node, has_elements),
    TriangularSolve: KernelRule(write_triangular_node, has_elements),
    Solve: KernelRule(write_solve, has_elements),
    Inv: KernelRule(write_inverse, has_elements),
    Det: KernelRule(write_determinant, has_elements),
    SLogDet: KernelRule(write_sign_and_logarithm, has_elements),
    Cofactor: KernelRule(write_cofactor, cofactor_fits),
}
