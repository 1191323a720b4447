"""Writing algorithms on small matrices: elements in registers, loops that are written out where they are short."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.emit.llvm_ir import Code, in_register
from adjoint.backends.native.emit.polling import FAILED_STATUS
from adjoint.core.spec import bool_, int64

WRITTEN_OUT = 4  # iterations that are written out
TOGETHER = 4  # vectors that are computed at the same time


class Matrix(NamedTuple):
    """A matrix in memory: its address, the elements from row to row and from column to column, and its dtype."""

    address: str
    down: Any
    across: Any
    dtype: np.dtype

    @property
    def transposed(self) -> Matrix:
        return Matrix(self.address, self.across, self.down, self.dtype)


class MatrixCode:
    """Writes code on elements of one dtype, a few neighbours of a row at a time if it is wide."""

    def __init__(self, code: Code, dtype: np.dtype, bits: int, status: str, width: int = 1) -> None:
        self.code, self.dtype, self.bits, self.status, self.width = code, dtype, bits, status, width
        self.lanes = Lanes(code, width)
        self.kind = self.lanes.type(dtype)

    def wide(self, width: int) -> MatrixCode:
        """The same for so many elements at a time."""
        return MatrixCode(self.code, self.dtype, self.bits, self.status, width)

    # ------------------------------------------------------------ loops

    def fold(
        self, low: Any, high: Any, first: Sequence[tuple[str, str]], step: Callable[[Any, list[str]], Sequence[str]]
    ) -> list[str]:
        """What becomes of values, given with their types, when `step` has made the next ones of them for each counter."""
        values = [value for _, value in first]
        known = isinstance(low, int) and isinstance(high, int)
        if known and high - low <= WRITTEN_OUT:
            for i in range(low, high):
                values = list(step(i, values))
            return values
        with self.code.loop(low, high, 1, first) as iteration:
            iteration.next = list(step(iteration.i, iteration.values))
        return iteration.results

    def each(self, low: Any, high: Any, do: Callable[[Any], None]) -> None:
        """Code for each counter."""

        def step(i: Any, values: list[str]) -> list[str]:
            do(i)
            return []

        self.fold(low, high, [], step)

    def each_part(self, columns: int, do: Callable[[MatrixCode, list[Any]], None], first: Any = 0) -> None:
        """Code for the columns of a matrix with rows in memory, at the least from `first` on: `do` is given the begins of a few vectors.

        There are `TOGETHER` of them, then those that are left, then shorter ones: always the same, so that what is written as
        a vector is read as one.
        """
        begin, width = 0, self.bits // (8 * self.dtype.itemsize)
        while begin < columns:
            while width > columns - begin:
                width //= 2
            vectors = (columns - begin) // width
            together = TOGETHER if vectors >= TOGETHER else vectors
            groups, step, wide = vectors // together, together * width, self.wide(width)

            def part(i: Any, wide: MatrixCode = wide, begin: int = begin, step: int = step) -> None:
                at = self.code.add(begin, self.code.mul(i, step))
                do(wide, [self.code.add(at, k) for k in range(0, step, wide.width)])

            self.each(self._group(first, step, groups) if begin == 0 else 0, groups, part)
            begin += groups * step

    def _group(self, column: Any, step: int, groups: int) -> Any:
        """In which of the first groups of so many columns one is; without a group of their own the first one."""
        if isinstance(column, int):
            return min(column // step, groups)
        return 0 if groups == 1 else self.code.put(f"udiv i64 {column}, {step}")

    def downwards(self, count: int, do: Callable[[Any], None]) -> None:
        """Code for each of so many counters, the last one first."""
        self.each(0, count, lambda i: do(self.less(count - 1, i)))

    def less(self, a: Any, b: Any) -> Any:
        """A difference of counters."""
        return a - b if isinstance(a, int) and isinstance(b, int) else self.code.put(f"sub i64 {a}, {b}")

    # ------------------------------------------------------------ elements

    def at(self, x: Matrix, i: Any, j: Any) -> str:
        """The address of an element."""
        offset = self.code.add(self.code.mul(i, x.down), self.code.mul(j, x.across))
        return self.code.element(x.address, offset, x.dtype)

    def get(self, x: Matrix, i: Any, j: Any) -> str:
        """An element, or as many as the code is wide, in the dtype of the code."""
        return self.lanes.cast(self.code.load(self.at(x, i, j), x.dtype, self.width), x.dtype, self.dtype)

    def put(self, value: str, x: Matrix, i: Any, j: Any) -> None:
        self.code.store(self.lanes.cast(value, self.dtype, x.dtype), self.at(x, i, j), x.dtype, self.width)

    def number(self, value: float) -> str:
        return self.lanes.number(value, self.dtype)

    def spread(self, value: str) -> str:
        """One element in every lane."""
        return self.lanes.spread(value, self.dtype)

    # ------------------------------------------------------------ arithmetic

    def two(self, word: str, x: str, y: str) -> str:
        """An instruction with two operands."""
        return self.code.put(f"{word} {self.kind} {x}, {y}")

    def mul(self, x: str, y: str) -> str:
        return self.two("fmul", x, y)

    def reciprocal(self, x: str) -> str:
        return self.two("fdiv", self.number(1), x)

    def minus_product(self, x: str, y: str, z: str) -> str:
        """x - y z, rounded once where the processor can."""
        return self.lanes.intrinsic("fmuladd", self.dtype, self.code.put(f"fneg {self.kind} {y}"), z, x)

    def plus_product(self, x: str, y: str, z: str) -> str:
        return self.lanes.intrinsic("fmuladd", self.dtype, y, z, x)

    def size(self, x: str) -> str:
        return self.lanes.intrinsic("fabs", self.dtype, x)

    def root(self, x: str) -> str:
        return self.lanes.intrinsic("sqrt", self.dtype, x)

    def compare(self, kind: str, x: str, y: str) -> str:
        return self.lanes.compare(kind, x, y, self.dtype)

    def select(self, test: str, yes: str, no: str) -> str:
        return self.lanes.select(test, yes, no, self.dtype)

    def larger(self, x: str, y: str) -> str:
        """The larger of two numbers; y if one is NaN."""
        return self.select(self.compare("gt", x, y), x, y)

    def need(self, fine: str) -> None:
        """Note a failure unless a condition holds."""
        plain = Lanes(self.code, 1)
        old = self.code.load(self.status, int64)
        self.code.store(plain.select(fine, old, str(FAILED_STATUS), int64), self.status, int64)

    def both(self, x: str, y: str) -> str:
        return self.code.put(f"and {in_register(bool_)} {x}, {y}")
