"""Factors of small matrices and systems of equations, as loops: Cholesky, elimination, substitution.

Where rounding decides whether a matrix has an inverse or a factor at all, a failure is noted: the interpreter then says, or computes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.backends.native.kernels.matrix_code import Matrix, MatrixCode


def column(address: str, dtype: np.dtype) -> Matrix:
    """Numbers one after the other."""
    return Matrix(address, 1, 0, dtype)


def doubtful(b: MatrixCode, rows: int, scale: str) -> str:
    """How small a number may be before nothing of it is certain, if it is what is left of numbers of this size."""
    return b.mul(b.number(rows * float(np.finfo(b.dtype).eps)), scale)


# ---------------------------------------------------------------- Cholesky


def write_cholesky(b: MatrixCode, x: Matrix, y: Matrix, rows: int, scratch: str) -> None:
    """The lower triangular factor of the symmetric part of x."""
    scales = column(scratch, b.dtype)

    def symmetric(i: Any, j: Any) -> str:
        return b.mul(b.number(0.5), b.two("fadd", b.get(x, i, j), b.get(x, j, i)))

    def without_products(first: str, i: Any, j: Any) -> str:
        def step(k: Any, values: list[str]) -> list[str]:
            return [b.minus_product(values[0], b.get(y, i, k), b.get(y, j, k))]

        return b.fold(0, j, [(b.kind, first)], step)[0]

    def row(i: Any) -> None:
        def below(j: Any) -> None:
            rest = without_products(symmetric(i, j), i, j)
            b.put(b.mul(rest, b.get(scales, j, 0)), y, i, j)

        b.each(0, i, below)
        given = b.get(x, i, i)
        square = without_products(given, i, i)
        b.need(b.compare("gt", square, doubtful(b, rows, given)))
        root = b.root(square)
        b.put(root, y, i, i)
        b.put(b.reciprocal(root), scales, i, 0)
        b.each(b.code.add(i, 1), rows, lambda j: b.put(b.number(0), y, i, j))

    b.each(0, rows, row)


def write_large_cholesky(b: MatrixCode, x: Matrix, y: Matrix, rows: int, scratch: str) -> None:
    """The same with the transposed factor in scratch memory, whose rows are computed as vectors."""
    upper = Matrix(scratch, rows, 1, b.dtype)

    def row(i: Any) -> None:
        def subtract(w: MatrixCode, places: list[Any]) -> None:
            def step(k: Any, values: list[str]) -> list[str]:
                factor = w.spread(b.get(upper, k, i))
                return [w.minus_product(v, factor, w.get(upper, k, j)) for v, j in zip(values, places, strict=True)]

            rest = w.fold(0, i, [(w.kind, w.get(upper, i, j)) for j in places], step)
            for value, j in zip(rest, places, strict=True):
                w.put(value, upper, i, j)

        b.each_part(rows, subtract, first=i)
        square = b.get(upper, i, i)
        b.need(b.compare("gt", square, doubtful(b, rows, b.get(x, i, i))))
        root = b.root(square)
        scale = b.reciprocal(root)

        def divide(w: MatrixCode, places: list[Any]) -> None:
            for j in places:
                w.put(w.mul(w.get(upper, i, j), w.spread(scale)), upper, i, j)

        b.each_part(rows, divide, first=i)
        b.put(root, upper, i, i)

    put_symmetric(b, x, upper, rows)
    b.each(0, rows, row)
    put_lower(b, upper.transposed, y, rows)


def put_symmetric(b: MatrixCode, x: Matrix, y: Matrix, rows: int) -> None:
    """Put the symmetric part of x into y."""

    def element(i: Any, j: Any) -> None:
        value = b.mul(b.number(0.5), b.two("fadd", b.get(x, i, j), b.get(x, j, i)))
        b.put(value, y, i, j)

    b.each(0, rows, lambda i: b.each(0, rows, lambda j: element(i, j)))


def put_lower(b: MatrixCode, x: Matrix, y: Matrix, rows: int) -> None:
    """Put the lower triangle of x into y, with zeros above."""

    def row(i: Any) -> None:
        after = b.code.add(i, 1)
        b.each(0, after, lambda j: b.put(b.get(x, i, j), y, i, j))
        b.each(after, rows, lambda j: b.put(b.number(0), y, i, j))

    b.each(0, rows, row)


# ---------------------------------------------------------------- triangles


def write_triangular(b: MatrixCode, a: Matrix, right: Matrix, y: Matrix, rows: int, columns: int, flags: Any) -> None:
    """The y with a y = right, for the lower or upper triangle of a, transposed or not, with or without its diagonal."""
    factor = a.transposed if flags.adjoint else a
    forwards = flags.lower != flags.adjoint

    def row(i: Any) -> None:
        scale = b.number(1)
        if not flags.unit:
            pivot = b.get(factor, i, i)
            b.need(b.compare("ne", pivot, b.number(0)))
            scale = b.reciprocal(pivot)
        low, high = (0, i) if forwards else (b.code.add(i, 1), rows)
        substitute(b, factor, right, y, i, (low, high), columns, scale)

    if forwards:
        b.each(0, rows, row)
    else:
        b.downwards(rows, row)


def substitute(
    b: MatrixCode, a: Matrix, right: Matrix, y: Matrix, i: Any, known: tuple[Any, Any], columns: int, scale: str
) -> None:
    """Row i of y, whose rows in a range are known."""

    def part(w: MatrixCode, places: list[Any]) -> None:
        def step(k: Any, values: list[str]) -> list[str]:
            factor = w.spread(b.get(a, i, k))
            return [w.minus_product(v, factor, w.get(y, k, j)) for v, j in zip(values, places, strict=True)]

        rest = w.fold(*known, [(w.kind, w.get(right, i, j)) for j in places], step)
        for value, j in zip(rest, places, strict=True):
            w.put(w.mul(value, w.spread(scale)), y, i, j)

    b.each_part(columns, part)


# ---------------------------------------------------------------- elimination


def copy(b: MatrixCode, x: Matrix, y: Matrix, rows: int, columns: int) -> None:
    """Put the elements of x, whose rows are contiguous, into y."""

    def part(w: MatrixCode, i: Any, places: list[Any]) -> None:
        for j in places:
            w.put(w.get(x, i, j), y, i, j)

    b.each(0, rows, lambda i: b.each_part(columns, lambda w, places: part(w, i, places)))


def put_scales(b: MatrixCode, x: Matrix, scales: Matrix, rows: int) -> None:
    """The size of the largest element of each column."""

    def part(w: MatrixCode, places: list[Any]) -> None:
        def step(i: Any, values: list[str]) -> list[str]:
            return [w.larger(w.size(w.get(x, i, j)), v) for v, j in zip(values, places, strict=True)]

        largest = w.fold(0, rows, [(w.kind, w.number(0))] * len(places), step)
        for value, j in zip(largest, places, strict=True):
            w.put(value, Matrix(scales.address, 0, 1, scales.dtype), 0, j)

    b.each_part(rows, part)


def eliminate(b: MatrixCode, x: Matrix, rows: int, scales: Matrix | None, beside: Sequence[tuple[Matrix, int]]) -> str:
    """Make x upper triangular, by operations on rows that are done to the matrices beside it too; gives the sign of the swaps.

    Given the scales of the columns it is noted where x may be singular, and each scale becomes the reciprocal of a pivot.
    """

    def one(k: Any, values: list[str]) -> list[str]:
        after = b.code.add(k, 1)
        place, size = _pivot(b, x, k, rows)
        if scales is not None:
            b.need(b.compare("gt", size, doubtful(b, rows, b.get(scales, k, 0))))
        for matrix, columns in ((x, rows), *beside):
            swap_rows(b, matrix, k, place, columns)
        pivot = b.get(x, k, k)
        inverse = b.reciprocal(pivot)
        if scales is not None:
            b.put(inverse, scales, k, 0)
        else:
            inverse = b.select(b.compare("eq", pivot, b.number(0)), b.number(0), inverse)

        def below(i: Any) -> None:
            factor = b.mul(b.get(x, i, k), inverse)

            def subtract(matrix: Matrix) -> Any:
                def part(w: MatrixCode, places: list[Any]) -> None:
                    times = w.spread(factor)
                    for j in places:
                        w.put(w.minus_product(w.get(matrix, i, j), times, w.get(matrix, k, j)), matrix, i, j)

                return part

            for matrix, columns in ((x, rows), *beside):
                b.each_part(columns, subtract(matrix), after if matrix is x else 0)

        b.each(after, rows, below)
        same = b.code.put(f"icmp eq i64 {place}, {k}")
        return [b.select(same, values[0], b.code.put(f"fneg {b.kind} {values[0]}"))]

    return b.fold(0, rows, [(b.kind, b.number(1))], one)[0]


def _pivot(b: MatrixCode, x: Matrix, k: Any, rows: int) -> tuple[str, str]:
    """The row from k on with the largest element in column k, and the size of that."""

    def step(i: Any, values: list[str]) -> list[str]:
        size = b.size(b.get(x, i, k))
        better = b.compare("gt", size, values[1])
        return [b.code.put(f"select i1 {better}, i64 {i}, i64 {values[0]}"), b.select(better, size, values[1])]

    place, size = b.fold(b.code.add(k, 1), rows, [("i64", str(k)), (b.kind, b.size(b.get(x, k, k)))], step)
    return place, size


def swap_rows(b: MatrixCode, x: Matrix, i: Any, j: Any, columns: int) -> None:
    def part(w: MatrixCode, places: list[Any]) -> None:
        for c in places:
            one, other = w.get(x, i, c), w.get(x, j, c)
            w.put(other, x, i, c)
            w.put(one, x, j, c)

    b.each_part(columns, part)


def back_substitute(b: MatrixCode, x: Matrix, y: Matrix, rows: int, columns: int, inverses: Matrix) -> None:
    """The solution of an upper triangular system in place of its right side."""

    def row(i: Any) -> None:
        substitute(b, x, y, y, i, (b.code.add(i, 1), rows), columns, b.get(inverses, i, 0))

    b.downwards(rows, row)
