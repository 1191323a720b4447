"""A gradient that runs out of memory says what it held, and what would hold less."""

from __future__ import annotations

import gc
from math import ceil, sqrt
from typing import Any

import numpy as np

from adjoint.backends.memory_report import shown
from adjoint.core.errors import AdjointError
from adjoint.transforms.records import Record

MANY = 9  # results from which "sqrt" holds much less


def out_of_memory(what: str, error: MemoryError) -> MemoryError:
    """The error with what was kept for the backward pass, while it is still there; itself if it says enough."""
    if getattr(error, "explained", False) or isinstance(error, AdjointError) or "can be had" in str(error):
        return error
    text = str(error) or "there is no memory for a result"
    first, line, place = text.partition("\n    called at ")
    count, size = kept_results()
    found = MemoryError(
        f"{what}: {first}. {shown(size)} are kept for the backward pass, in {count} arrays. {_advice(count, size)}{line}{place}"
    )
    found.explained = True  # type: ignore[attr-defined]
    return found


def _advice(count: int, size: int) -> str:
    about = f" (of what is kept so far, about {shown(ceil(2 * size / sqrt(count)))})" if count >= MANY else ""
    return (
        f'Keep less with `grad(f, checkpoint="sqrt")`{about} or `ad.checkpoint` around parts of the function, or cut the batch into k parts '
        "with `GradientAccumulation(k).value_and_grad`, which keep a k-th each"
    )


def kept_results() -> tuple[int, int]:
    """How many arrays the records of all tapes hold, and their bytes."""
    arrays: dict[int, int] = {}
    try:
        for record in gc.get_objects():
            if isinstance(record, Record):
                for x in (record.y, *record.xs):
                    _note(x, arrays)
    except MemoryError:  # for the count itself: what was found so far
        pass
    return len(arrays), sum(arrays.values())


def _note(x: Any, arrays: dict[int, int]) -> None:
    """The memory of an array, once for all views of it."""
    if isinstance(x, tuple):
        for part in x:
            _note(part, arrays)
    while isinstance(base := getattr(x, "base", None), np.ndarray):
        x = base
    if isinstance(x, np.ndarray):
        arrays[id(x)] = x.nbytes
