"""What the machine can do: rates of matrix products and of copying, measured like a contender, in the same rounds."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Ceiling:
    """A step that does `amount` operations, or moves that many bytes, as fast as the machine can."""

    amount: float
    step: Callable[[], Any]


def ceiling(kind: str, threads: int, tiny: bool = False) -> Ceiling:
    """The ceiling of a kind of work."""
    if kind == "copy":
        return copying(threads, 2**12 if tiny else 2**25)
    return product(np.dtype("float32" if kind == "sgemm" else "float64"), 32 if tiny else 1024)


def product(dtype: np.dtype, n: int) -> Ceiling:
    """NumPy's matrix product, on the threads of its BLAS."""
    a, b, c = (np.ones((n, n), dtype) for _ in range(3))
    return Ceiling(2.0 * n**3, lambda: np.matmul(a, b, out=c))


def copying(threads: int, size: int) -> Ceiling:
    """Each thread copies a part of arrays that no cache holds. Read and written bytes count."""
    parts = [(np.ones(size // threads, np.uint8), np.zeros(size // threads, np.uint8)) for _ in range(threads)]
    pool = ThreadPoolExecutor(threads)

    def step() -> None:
        list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), parts))

    return Ceiling(2.0 * sum(source.nbytes for source, _ in parts), step)
