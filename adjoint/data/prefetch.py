"""Reading ahead in a thread of its own."""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Iterator
from typing import Any

_END = object()


def read_ahead(source: Iterator[Any], count: int) -> Iterator[Any]:
    """The items of `source`, read by another thread up to `count` ahead. Its errors are raised where they are due.

    >>> list(read_ahead(iter("abc"), 2))
    ['a', 'b', 'c']
    """
    ready: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(count)
    wanted = threading.Event()
    wanted.set()

    def put(item: Any, error: BaseException | None = None) -> bool:
        """Wait for a free place, unless nobody reads any more."""
        while wanted.is_set():
            try:
                ready.put((item, error), timeout=0.1)
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

    # The thread sees the settings of the program around it: the mode, the backend.
    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), name="read ahead", daemon=True)
    thread.start()
    try:
        while True:
            item, error = ready.get()
            if error is not None:
                raise error
            if item is _END:
                return
            yield item
    finally:
        wanted.clear()
        thread.join()
