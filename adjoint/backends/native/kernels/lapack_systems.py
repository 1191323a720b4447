"""Factors of large matrices and systems of equations, by LAPACK."""

from __future__ import annotations

from typing import Any

from adjoint.backends.native.kernels.lapack_calls import Lapack, Room, parts_of
from adjoint.backends.native.kernels.matrix_code import Matrix, MatrixCode
from adjoint.backends.native.kernels.matrix_factors import copy, put_lower, put_symmetric, swap_rows
from adjoint.core.spec import float64, int32, int64

INVERSE_COLUMNS = 32  # that LAPACK inverts at a time


def rooms(rows: int, columns: int) -> list[Room]:
    """Scratch memory for what LAPACK swapped, and for a matrix."""
    return [Room(rows, int32), Room(rows * columns, float64)]


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
    calls, (swaps, rest) = Lapack(b, scratch), parts_of(b, rooms(rows, rows), scratch)
    factors = Matrix(rest, rows, 1, b.dtype)
    copy(b, a, factors, rows, rows)
    calls.checked("getrf", rows, rows, factors.address, rows, swaps)
    if columns == 1:
        calls.checked("getrs", "T", rows, 1, factors.address, rows, swaps, y.address, rows)
        return
    for triangle, diagonal in ("UN", "LU"):
        sizes = columns, rows, 1.0, factors.address, rows, y.address, columns
        calls.call("trsm", "R", triangle, "N", diagonal, *sizes)
    b.downwards(rows, lambda i: swap_rows(b, y, i, _other_row(b, swaps, i), columns))


def _other_row(b: MatrixCode, swaps: str, i: Any) -> str:
    """The row that LAPACK swapped with row i."""
    place = b.lanes.cast(b.code.load(b.code.element(swaps, i, int32), int32), int32, int64)
    return str(b.code.add(place, -1))


def inverse(b: MatrixCode, x: Matrix, y: Matrix, rows: int, scratch: str) -> None:
    calls, (swaps, rest) = Lapack(b, scratch), parts_of(b, rooms(rows, INVERSE_COLUMNS), scratch)
    copy(b, x, y, rows, rows)
    calls.checked("getrf", rows, rows, y.address, rows, swaps)
    calls.checked("getri", rows, y.address, rows, swaps, rest, INVERSE_COLUMNS * rows)


def eliminated(b: MatrixCode, x: Matrix, rows: int, scratch: str, may_be_singular: bool) -> tuple[Matrix, str]:
    """A triangular matrix with the determinant of x, but for a sign, and that sign."""
    calls, (swaps, rest) = Lapack(b, scratch), parts_of(b, rooms(rows, rows), scratch)
    factors = Matrix(rest, rows, 1, b.dtype)
    copy(b, x, factors, rows, rows)
    given = rows, rows, factors.address, rows, swaps
    if may_be_singular:
        calls.call("getrf", *given, calls.info)
    else:
        calls.checked("getrf", *given)

    def step(i: Any, values: list[str]) -> list[str]:
        same = b.code.put(f"icmp eq i64 {_other_row(b, swaps, i)}, {i}")
        return [b.select(same, values[0], b.code.put(f"fneg {b.kind} {values[0]}"))]

    return factors, b.fold(0, rows, [(b.kind, b.number(1))], step)[0]
