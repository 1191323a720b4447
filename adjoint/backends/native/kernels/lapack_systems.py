"""Factors of large matrices and systems of equations, by LAPACK."""

from __future__ import annotations

from typing import Any

from adjoint.backends.native.kernels.lapack_calls import INTEGERS, Lapack
from adjoint.backends.native.kernels.matrix_code import Matrix, MatrixCode
from adjoint.backends.native.kernels.matrix_factors import column, copy, put_lower, put_symmetric, swap_rows
from adjoint.core.spec import float64, int32, int64

INVERSE_COLUMNS = 32  # that LAPACK inverts at a time


def scratch_bytes(rows: int, columns: int) -> int:
    """What the functions below need for matrices of this size: integers, numbers of rows, a matrix."""
    return INTEGERS + -(-rows * int32.itemsize // INTEGERS) * INTEGERS + rows * columns * float64.itemsize


class _Scratch:
    """The parts of scratch memory."""

    def __init__(self, b: MatrixCode, rows: int, scratch: str) -> None:
        self.calls = Lapack(b, scratch)
        self.swaps = column(b.code.element(scratch, INTEGERS // int32.itemsize, int32), int32)
        behind = scratch_bytes(rows, 0) // float64.itemsize
        self.rest = b.code.element(scratch, behind, b.dtype)


def cholesky(b: MatrixCode, x: Matrix, y: Matrix, rows: int, scratch: str) -> None:
    """The lower triangular factor of the symmetric part of x."""
    put_symmetric(b, x, y, rows)
    put_lower(b, y, y, rows)
    Lapack(b, scratch).checked("potrf", "U", rows, y.address, rows)


def triangular(b: MatrixCode, a: Matrix, y: Matrix, rows: int, columns: int, flags: Any) -> None:
    """The solution of a triangular system in place of its right side."""
    if not flags.unit:
        b.each(0, rows, lambda i: b.need(b.compare("ne", b.get(a, i, i), b.number(0))))
    calls = Lapack(b, "")
    triangle, diagonal = "U" if flags.lower else "L", "U" if flags.unit else "N"
    if columns == 1:
        calls.call("trsv", triangle, "N" if flags.adjoint else "T", diagonal, rows, a.address, rows, y.address, 1)
    else:
        way = "T" if flags.adjoint else "N"
        sizes = columns, rows, 1.0, a.address, rows, y.address, columns
        calls.call("trsm", "R", triangle, way, diagonal, *sizes)


def solve(b: MatrixCode, a: Matrix, y: Matrix, rows: int, columns: int, scratch: str) -> None:
    """The solution of a system in place of its right side."""
    parts = _Scratch(b, rows, scratch)
    calls, swaps = parts.calls, parts.swaps.address
    factors = Matrix(parts.rest, rows, 1, b.dtype)
    copy(b, a, factors, rows, rows)
    calls.checked("getrf", rows, rows, factors.address, rows, swaps)
    if columns == 1:
        calls.checked("getrs", "T", rows, 1, factors.address, rows, swaps, y.address, rows)
        return
    for triangle, diagonal in ("UN", "LU"):
        sizes = columns, rows, 1.0, factors.address, rows, y.address, columns
        calls.call("trsm", "R", triangle, "N", diagonal, *sizes)
    b.downwards(rows, lambda i: swap_rows(b, y, i, _other_row(b, parts.swaps, i), columns))


def _other_row(b: MatrixCode, swaps: Matrix, i: Any) -> str:
    """The row that LAPACK swapped with row i."""
    place = b.lanes.cast(b.code.load(b.at(swaps, i, 0), int32), int32, int64)
    return str(b.code.add(place, -1))


def inverse(b: MatrixCode, x: Matrix, y: Matrix, rows: int, scratch: str) -> None:
    parts = _Scratch(b, rows, scratch)
    copy(b, x, y, rows, rows)
    parts.calls.checked("getrf", rows, rows, y.address, rows, parts.swaps.address)
    room = INVERSE_COLUMNS * rows
    parts.calls.checked("getri", rows, y.address, rows, parts.swaps.address, parts.rest, room)


def eliminated(b: MatrixCode, x: Matrix, rows: int, scratch: str, may_be_singular: bool) -> tuple[Matrix, str]:
    """A triangular matrix with the determinant of x, but for a sign, and that sign."""
    parts = _Scratch(b, rows, scratch)
    factors = Matrix(parts.rest, rows, 1, b.dtype)
    copy(b, x, factors, rows, rows)
    given = rows, rows, factors.address, rows, parts.swaps.address
    if may_be_singular:
        parts.calls.call("getrf", *given, parts.calls.info)
    else:
        parts.calls.checked("getrf", *given)

    def step(i: Any, values: list[str]) -> list[str]:
        same = b.code.put(f"icmp eq i64 {_other_row(b, parts.swaps, i)}, {i}")
        return [b.select(same, values[0], b.code.put(f"fneg {b.kind} {values[0]}"))]

    return factors, b.fold(0, rows, [(b.kind, b.number(1))], step)[0]
