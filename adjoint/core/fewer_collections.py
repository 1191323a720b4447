"""While a graph is made and compiled, Python looks for cycles of garbage seldom: it would go through all nodes again and again."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = (200_000, 20, 100)  # thresholds, the first in objects: a graph of ten thousand nodes has about a million

_lock = threading.Lock()
_before: list[tuple[int, int, int]] = []  # the thresholds outside of each thread that compiles


@contextmanager
def fewer_collections() -> Iterator[None]:
    """Inside, the collector runs seldom; it stays off where it is off, and as it is where it runs even less."""
    with _lock:
        _before.append(gc.get_threshold())  # type: ignore[arg-type]
        if 0 < _before[0][0] < SELDOM[0]:
            gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        with _lock:
            before = _before.pop()
            if not _before and gc.get_threshold() == SELDOM:
                gc.set_threshold(*before)
