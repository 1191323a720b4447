"""Kernels of orthogonal factors by LAPACK: QR, eigenvalues of symmetric matrices, singular values.

They make the calls that NumPy makes, on the same columns, so that signs of vectors are the same too.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.kernel_registry import KernelRule
from adjoint.backends.native.kernels.lapack_calls import Lapack, Room, parts_of, scratch_bytes
from adjoint.backends.native.kernels.matrix_batches import MatrixKernel, write_batch
from adjoint.backends.native.kernels.matrix_code import Matrix, MatrixCode
from adjoint.backends.native.kernels.matrix_factors import column, put_symmetric
from adjoint.backends.native.kernels.square_matrices import has_elements
from adjoint.core.spec import float64, int32
from adjoint.graph.node import Node
from adjoint.ops.decompose import QR, Complement
from adjoint.ops.spectral import SVD, Eigh, Eigvalsh, Pinv, SVDVals

AT_A_TIME = 32  # columns that LAPACK works on together


def _write(emitter: GraphEmitter, node: Node, op: Any, core: tuple[int, ...], rooms: Sequence[Room], write: Any) -> Any:
    """The code of a node, given what is written for one matrix with its parts of the scratch memory."""

    def one(b: MatrixCode, inputs: Sequence[Matrix], results: Sequence[Matrix], scratch: str) -> None:
        write(b, inputs[0], results, Lapack(b, scratch), *parts_of(b, rooms, scratch))

    room = scratch_bytes(rooms)
    return write_batch(emitter, node, MatrixKernel(op, one, core, room, may_fail=True))


def _columns(address: str, rows: int) -> Matrix:
    """A matrix with contiguous columns, as LAPACK sees it."""
    return Matrix(address, 1, rows, float64)


def _move(b: MatrixCode, x: Matrix, y: Matrix, rows: int, columns: int) -> None:
    """Copy the elements of a matrix that may lie otherwise."""
    b.each(0, rows, lambda i: b.each(0, columns, lambda j: b.put(b.get(x, i, j), y, i, j)))


def _sizes(node: Node) -> tuple[int, int]:
    rows, columns = node.inputs[0].shape[-2:]
    return rows, columns


# ---------------------------------------------------------------- eigenvalues


def write_eigenvalues(emitter: GraphEmitter, node: Node, op: Any) -> Any:
    rows, _ = _sizes(node)
    vectors = isinstance(op, Eigh)
    work = 1 + 6 * rows + 2 * rows * rows if vectors else 2 * rows + AT_A_TIME * rows
    integers = 3 + 5 * rows

    def write(
        b: MatrixCode, x: Matrix, results: Sequence[Matrix], calls: Lapack, a: str, more: str, counts: str
    ) -> None:
        square, values = Matrix(a, rows, 1, float64), results[0]

        put_symmetric(b, x, square, rows)
        room = more, work, counts, integers
        calls.checked(
            "syevd", "V" if vectors else "N", "U" if vectors and op.upper else "L", rows, a, rows, values.address, *room
        )
        need_number(b, values)
        if vectors:
            _move(b, square.transposed, results[1], rows, rows)

    rooms = [Room(rows * rows, float64), Room(work, float64), Room(integers, int32)]
    return _write(emitter, node, op, (1, 2) if vectors else (1,), rooms, write)


def need_number(b: MatrixCode, values: Matrix) -> None:
    """Note a failure if the first value is NaN."""
    first = b.get(values, 0, 0)
    b.need(b.compare("eq", first, first))


# ---------------------------------------------------------------- singular values


class _Singular:
    """The singular values of one matrix, and its vectors if they are wanted."""

    def __init__(self, node: Node, vectors: bool) -> None:
        self.rows, self.columns = _sizes(node)
        self.vectors = vectors
        self.least = k = min(self.rows, self.columns)
        self.work = 4 * k * k + 7 * k + AT_A_TIME * (self.rows + self.columns)
        room = [self.rows * self.columns, self.rows * k, k * self.columns, self.work]
        self.rooms = [*(Room(n, float64) for n in room), Room(8 * k, int32)]

    def find(self, b: MatrixCode, x: Matrix, values: Matrix, calls: Lapack, *parts: str) -> tuple[Matrix, Matrix]:
        """Put the values in their place; gives the vectors on the left and the right."""
        a, u, v, work, integers = parts
        _move(b, x, _columns(a, self.rows), self.rows, self.columns)
        sizes = self.rows, self.columns, a, self.rows, values.address, u, self.rows, v, self.least
        calls.checked("gesdd", "S" if self.vectors else "N", *sizes, work, self.work, integers)
        need_number(b, values)
        return _columns(u, self.rows), _columns(v, self.least)


def write_singular(emitter: GraphEmitter, node: Node, op: Any) -> Any:
    vectors = isinstance(op, SVD)
    found = _Singular(node, vectors)

    def write(b: MatrixCode, x: Matrix, results: Sequence[Matrix], calls: Lapack, *parts: str) -> None:
        u, v = found.find(b, x, results[vectors], calls, *parts)
        if vectors:
            _move(b, u, results[0], found.rows, found.least)
            _move(b, v, results[2], found.least, found.columns)

    return _write(emitter, node, op, (2, 1, 2) if vectors else (1,), found.rooms, write)


def write_pseudo_inverse(emitter: GraphEmitter, node: Node, op: Any) -> Any:
    found = _Singular(node, vectors=True)
    rows, columns = found.rows, found.columns
    limit = max(rows, columns) * float(np.finfo(node.spec.dtype).eps) if op.rtol is None else op.rtol

    def write(b: MatrixCode, x: Matrix, results: Sequence[Matrix], calls: Lapack, *parts: str) -> None:
        values = column(parts[0], float64)
        u, v = found.find(b, x, values, calls, *parts[1:])
        least = b.mul(b.number(limit), b.get(values, 0, 0))

        def invert(k: Any) -> None:
            value = b.get(values, k, 0)
            counts = b.compare("gt", value, least)
            b.put(b.select(counts, b.reciprocal(value), b.number(0)), values, k, 0)

        def element(i: Any, j: Any) -> None:
            def step(k: Any, sums: list[str]) -> list[str]:
                return [b.plus_product(sums[0], b.get(v, k, i), b.mul(b.get(values, k, 0), b.get(u, j, k)))]

            b.put(b.fold(0, found.least, [(b.kind, b.number(0))], step)[0], results[0], i, j)

        b.each(0, found.least, invert)
        b.each(0, columns, lambda i: b.each(0, rows, lambda j: element(i, j)))

    return _write(emitter, node, op, (2,), [Room(found.least, float64), *found.rooms], write)


# ---------------------------------------------------------------- orthonormal columns


def write_qr(emitter: GraphEmitter, node: Node, op: Any) -> Any:
    rows, columns = _sizes(node)

    def write(b: MatrixCode, x: Matrix, results: Sequence[Matrix], calls: Lapack, a: str, more: str, work: str) -> None:
        factors = _columns(a, rows)
        _move(b, x, factors, rows, columns)
        calls.checked("geqrf", rows, columns, a, rows, more, work, AT_A_TIME * columns)

        def upper(i: Any) -> None:
            b.each(0, i, lambda j: b.put(b.number(0), results[1], i, j))
            b.each(i, columns, lambda j: b.put(b.get(factors, i, j), results[1], i, j))

        b.each(0, columns, upper)
        calls.checked("orgqr", rows, columns, columns, a, rows, more, work, AT_A_TIME * columns)
        _move(b, factors, results[0], rows, columns)

    rooms = [Room(rows * columns, float64), Room(columns, float64), Room(AT_A_TIME * columns, float64)]
    return _write(emitter, node, op, (2, 2), rooms, write)


def complement_fits(node: Node) -> bool:
    """The columns may be complete already: then the result has no elements."""
    return node.spec.dtype.kind == "f" and prod(node.inputs[0].shape) > 0  # of complex columns they are complex


def write_complement(emitter: GraphEmitter, node: Node, op: Any) -> Any:
    rows, columns = _sizes(node)
    if rows == columns:
        return emitter.memory_for(node)

    def write(b: MatrixCode, x: Matrix, results: Sequence[Matrix], calls: Lapack, a: str, more: str, work: str) -> None:
        factors = _columns(a, rows)
        _move(b, x, factors, rows, columns)
        calls.checked("geqrf", rows, columns, a, rows, more, work, AT_A_TIME * rows)
        calls.checked("orgqr", rows, rows, columns, a, rows, more, work, AT_A_TIME * rows)
        rest = _columns(b.code.element(a, rows * columns, float64), rows)
        _move(b, rest, results[0], rows, rows - columns)

    rooms = [Room(rows * rows, float64), Room(columns, float64), Room(AT_A_TIME * rows, float64)]
    return _write(emitter, node, op, (2,), rooms, write)


KERNELS: dict[type, KernelRule] = {
    Eigh: KernelRule(write_eigenvalues, has_elements, standalone=False),
    Eigvalsh: KernelRule(write_eigenvalues, has_elements, standalone=False),
    SVD: KernelRule(write_singular, has_elements, standalone=False),
    SVDVals: KernelRule(write_singular, has_elements, standalone=False),
    Pinv: KernelRule(write_pseudo_inverse, has_elements, standalone=False),
    QR: KernelRule(write_qr, has_elements, standalone=False),
    Complement: KernelRule(write_complement, complement_fits, standalone=False),
}
