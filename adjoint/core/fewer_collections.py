"""While a graph is made and compiled, or a long tape recorded, Python looks for cycles of garbage seldom: it would go through all
nodes again and again."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

Thresholds = tuple[int, int, int]
SELDOM: Thresholds = (200_000, 20, 100)  # the first in objects: a graph of ten thousand nodes has about a million
#: While functions of the user's run, which may leave cycles of garbage that hold large arrays.
WHILE_RECORDING: Thresholds = (20_000, 20, 100)

_lock = threading.Lock()
_before: list[Thresholds] = []  # the thresholds outside of each block that is active, in any thread


@contextmanager
def fewer_collections(thresholds: Thresholds = SELDOM) -> Iterator[None]:
    """Inside, the collector runs seldom; it stays off where it is off, and as it is where it runs even less."""
    with _lock:
        _before.append(gc.get_threshold())  # type: ignore[arg-type]
        if 0 < _before[-1][0] < thresholds[0]:
            gc.set_threshold(*thresholds)
    try:
        yield
    finally:
        with _lock:
            before = _before.pop()
            if not _before and gc.get_threshold() in (SELDOM, WHILE_RECORDING):
                gc.set_threshold(*before)
