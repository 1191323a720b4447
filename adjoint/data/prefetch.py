"""Reading ahead in a thread of its own."""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Iterator
from typing import Any

from adjoint.core import random_counters

_END = object()


def read_ahead(source: Iterator[Any], count: int) -> Iterator[Any]:
    """The items of `source`, read by another thread up to `count` ahead. Its errors are raised where they are due.

    >>> list(read_ahead(iter("abc"), 2))
    ['a', 'b', 'c']
    """
    ready: queue.Queue[tuple[Any, BaseException | None, bool]] = queue.Queue(count)
    wanted = threading.Event()
    wanted.set()
    giver = random_counters.source.get()
    counters = random_counters.ThreadCounters(giver)
    drew = False

    def put(item: Any, error: BaseException | None = None) -> bool:
        """Wait for a free place, unless nobody reads any more."""
        while wanted.is_set():
            try:
                ready.put((item, error, counters.used), timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for item in source:
                if not put(item):
                    break
        except BaseException as error:
            put(_END, error)
        else:
            put(_END)

    # The thread sees the settings of the program around it: the mode, the backend. What it draws is its own, or the numbers would depend on
    # which of the two comes first.
    settings = contextvars.copy_context()
    settings.run(random_counters.source.set, counters)
    thread = threading.Thread(target=settings.run, args=(work,), name="read ahead", daemon=True)
    thread.start()
    try:
        while True:
            item, error, drew = ready.get()
            if error is not None:
                raise error
            if item is _END:
                return
            yield item
    finally:
        wanted.clear()
        thread.join()
        if drew:  # another pass has other numbers
            giver.take()
