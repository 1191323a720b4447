"""Calls of LAPACK and BLAS from a kernel.

They take columns that are contiguous, ours are matrices with contiguous rows: what they see is the transpose.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.backends.native.kernels.matrix_code import MatrixCode
from adjoint.backends.native.runtime import lapack
from adjoint.core.spec import bool_, int32

ALIGN = 16  # bytes at which parts of scratch memory begin, and those of the first, for what a call returns beside its results


class Room(NamedTuple):
    """Scratch memory: so many numbers of some dtype."""

    length: int
    dtype: np.dtype

    def bytes(self) -> int:
        return -(-self.length * self.dtype.itemsize // ALIGN) * ALIGN


def scratch_bytes(rooms: Sequence[Room]) -> int:
    """The size of scratch memory with these rooms."""
    return ALIGN + sum(room.bytes() for room in rooms)


def parts_of(b: MatrixCode, rooms: Sequence[Room], scratch: str) -> list[str]:
    """Where the rooms are in scratch memory."""
    begins = itertools.accumulate((room.bytes() for room in rooms[:-1]), initial=ALIGN)
    return [b.code.element(scratch, begin, bool_) for begin in begins]


class Lapack:
    """Writes calls for float64. `scratch` begins with room for what they return."""

    def __init__(self, b: MatrixCode, scratch: str) -> None:
        self.b, self.code, self.info = b, b.code, scratch

    def call(self, name: str, *given: Any) -> None:
        """Call a function, named without the letter of its dtype: letters and numbers become addresses of constants."""
        name = "d" + name
        module = self.code.module
        symbol = lapack.symbol(name)
        module.declare(f"void @{symbol}({', '.join(['ptr'] * len(given))})")
        module.externals[symbol] = lapack.address(name)
        self.code.do(f"call void @{symbol}({', '.join(f'ptr {self._argument(x)}' for x in given)})")

    def checked(self, name: str, *given: Any) -> None:
        """The same for a function whose last argument says whether it succeeded."""
        self.call(name, *given, self.info)
        returned = self.code.load(self.info, int32)
        self.b.need(self.code.put(f"icmp eq i32 {returned}, 0"))

    def _argument(self, x: Any) -> str:
        module = self.code.module
        if isinstance(x, int):
            return module.constant(np.array(x, np.int32))
        if isinstance(x, float):
            return module.constant(np.array(x, np.float64))
        return str(x) if x[0] in "%@" else module.constant(np.array(ord(x), np.uint8))
